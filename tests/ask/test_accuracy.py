"""Bounds on the share of right labels: against the definition in exact arithmetic, and over every path."""

from fractions import Fraction
from itertools import permutations
from math import comb

import numpy as np
import pytest

from majorant.ask.accuracy import AIM, SHIFTS, Known, bound_accuracy, planned_labels
from majorant.errors import ConfigError
from sizes import many


def refuted(right, n, total, n_items, shifts, tail):
    """Whether a look refutes `total` from below, by the definition, in fractions."""

    def chance(t):
        return Fraction(comb(t, right) * comb(n_items - t, n - right), comb(n_items, n))

    rivals = [chance(min(total + shift, n_items)) for shift in shifts]
    return sum(rivals) >= len(shifts) * chance(total) / Fraction(tail)


def by_definition(answers, n_items, aim, tail):
    """The totals that no look refutes from either side, one label after the other."""
    shifts = [max(1, round(shift * aim * n_items)) for shift in SHIFTS]
    low, high, right = 0, n_items, 0
    for n, answer in enumerate(answers, start=1):
        right += answer
        possible = range(right, n_items - n + right + 1)
        low = max(low, min(t for t in possible if not refuted(right, n, t, n_items, shifts, tail)))
        wrong_kept = [t for t in possible if not refuted(n - right, n, n_items - t, n_items, shifts, tail)]
        high = min(high, max(wrong_kept))
    return low, high


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(20, 60))
    answers = rng.permutation((np.arange(n_items) < rng.integers(n_items + 1)).astype(int))[: rng.integers(5, 20)]
    share = bound_accuracy(answers, n_items=n_items, aim=0.1, level=0.8).share
    low, high = by_definition(answers.tolist(), n_items, 0.1, Fraction(1, 10))
    if low <= high:
        assert (round(share.low * n_items), round(share.high * n_items)) == (low, high)


def chance_of_ever_missing(total, n_items, aim, tail):
    """By dynamic programming over all paths that look after every label: P(some look refutes the true total)."""
    shifts = [max(1, round(shift * aim * n_items)) for shift in SHIFTS]
    alive = {0: 1.0}  # by number right
    missed = 0.0
    for n in range(1, n_items + 1):
        after: dict[int, float] = {}
        for right, chance in alive.items():
            up = (total - right) / (n_items - n + 1)
            for k, p in ((right + 1, chance * up), (right, chance * (1 - up))):
                if p > 0:
                    after[k] = after.get(k, 0.0) + p
        alive = {}
        for right, chance in after.items():
            if refuted(right, n, total, n_items, shifts, tail) or refuted(
                n - right, n, n_items - total, n_items, shifts, tail
            ):
                missed += chance
            else:
                alive[right] = chance
    return missed


@pytest.mark.parametrize(("n_items", "aim"), [(12, 0.1), (24, 0.06), (24, 0.2)])
def test_no_total_is_ever_missed_more_often_than_promised(n_items, aim):
    misses = [chance_of_ever_missing(total, n_items, aim, Fraction(1, 20)) for total in range(n_items + 1)]
    assert max(misses) <= 0.1
    assert max(misses) > 0.02  # the level is used, not wasted


@pytest.mark.long
@pytest.mark.parametrize("aim", [0.03, 0.1])
def test_no_total_is_ever_missed_more_often_than_promised_among_sixty(aim):
    assert max(chance_of_ever_missing(total, 60, aim, Fraction(1, 40)) for total in range(61)) <= 0.05


def test_over_all_orders_of_seven_items_bounds_miss_no_more_than_promised():
    for total in range(8):
        truth = [1] * total + [0] * (7 - total)
        orders = list(permutations(range(7)))
        seen = {}
        for order in orders:
            path = tuple(truth[i] for i in order)
            if path not in seen:
                shares = [bound_accuracy(path[:n], n_items=7, aim=0.2, level=0.6).share for n in range(1, 8)]
                seen[path] = all(s.low - 1e-12 <= total / 7 <= s.high + 1e-12 for s in shares)
        covered = sum(seen[tuple(truth[i] for i in order)] for order in orders) / len(orders)
        assert covered >= 0.6


def test_far_from_what_was_seen_likelihoods_underflow_and_bounds_stand():
    answers = np.random.default_rng(0).permutation(np.repeat([1, 0], [540, 60]))
    n_items, tail = 5_000, Fraction(1, 40)
    shifts = [round(shift * AIM * n_items) for shift in SHIFTS]
    share = bound_accuracy(answers, n_items=n_items).share
    assert 0.85 < share.low < 0.9 < share.high < 0.94
    low = round(share.low * n_items)
    looks = [(int(answers[:n].sum()), n) for n in range(1, 601)]
    assert not any(refuted(right, n, low, n_items, shifts, tail) for right, n in looks[::20])
    assert any(refuted(right, n, low - 1, n_items, shifts, tail) for right, n in looks)


def test_all_labels_give_the_share_itself():
    truth = np.repeat([1, 0], [33, 17])
    for seed in range(20):
        share = bound_accuracy(np.random.default_rng(seed).permutation(truth), n_items=50, level=0.6).share
        assert share.low == share.value == share.high == 33 / 50


def test_skipped_items_widen_the_interval_and_never_help():
    rng = np.random.default_rng(3)
    answers = (rng.random(150) < 0.85).astype(int)
    full = bound_accuracy(answers, n_items=600).share
    some = np.where(rng.random(150) < 0.1, -1, answers)
    skipped = bound_accuracy(some, n_items=600)
    assert skipped.share.low <= full.low
    assert skipped.share.high >= full.high
    assert skipped.n_skipped + skipped.n_labels == 150
    every = bound_accuracy(np.where(np.arange(600) % 6 == 0, -1, 1), n_items=600).share
    assert (every.low, every.high) == (500 / 600, 1.0)


def test_items_known_before_count_exactly():
    answers = np.repeat([1, 0], [90, 10])[np.random.default_rng(0).permutation(100)]
    rest = bound_accuracy(answers, n_items=400, aim=0.05).share
    known = bound_accuracy(answers, n_items=500, aim=0.04, known=Known(n_items=100, n_right=40, n_skipped=5))
    assert known.share.low == pytest.approx((40 + 400 * rest.low) / 500)
    assert known.share.high == pytest.approx((45 + 400 * rest.high) / 500)
    assert known.share.value == pytest.approx((40 + 400 * 0.9) / 500)
    everything = bound_accuracy([], n_items=100, known=Known(n_items=100, n_right=80)).share
    assert (everything.low, everything.value, everything.high) == (0.8, 0.8, 0.8)


def first_misses(right_bt, total, n_items, aim, tail):
    """For each order the first number of labels that refutes the true total, from either side; 0: none does.

    By the definition, with a table of log factorials: all looks of all orders at once.
    """
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n_items + 1)))])

    def log_chance(right_bt, n_t, t):
        left, other_left = t - right_bt, n_items - t - (n_t - right_bt)
        possible = (left >= 0) & (other_left >= 0)
        value = log_factorial[t] - log_factorial[np.maximum(left, 0)]
        value = value + log_factorial[n_items - t] - log_factorial[np.maximum(other_left, 0)]
        return np.where(possible, value, -np.inf)

    n_t, refuted_bt = np.arange(1, right_bt.shape[1] + 1), np.zeros(right_bt.shape, dtype=bool)
    for own_bt, own_total in ((right_bt, total), (1 - right_bt, n_items - total)):
        count_bt = np.cumsum(own_bt, axis=1)
        rivals = [min(own_total + max(1, round(shift * aim * n_items)), n_items) for shift in SHIFTS]
        ratio_bt = np.logaddexp.reduce([log_chance(count_bt, n_t, rival) for rival in rivals])
        refuted_bt |= ratio_bt - log_chance(count_bt, n_t, own_total) >= np.log(len(SHIFTS) / tail)
    return np.where(refuted_bt.any(axis=1), refuted_bt.argmax(axis=1) + 1, 0)


def ever_missed(total, n_runs, rng, *, n_items=500, aim=AIM, level=0.95, chunk=100):
    """In how many random orders the bounds ever miss, looking after every label until all are given."""
    misses, truth_t = 0, (np.arange(n_items) < total).astype(np.int64)
    for start in range(0, n_runs, chunk):
        right_bt = rng.permuted(np.tile(truth_t, (min(chunk, n_runs - start), 1)), axis=1)
        first_b = first_misses(right_bt, total, n_items, aim, (1 - level) / 2)
        for b in [*np.flatnonzero(first_b), *np.flatnonzero(first_b == 0)[:2]]:
            looks = int(first_b[b]) or int(rng.integers(1, n_items))
            share = bound_accuracy(right_bt[b, :looks], n_items=n_items, aim=aim, level=level).share
            missed = not share.low - 1e-12 <= total / n_items <= share.high + 1e-12
            # Beyond what is possible a bound is cut, so one that refuted the truth may still hold it at that look.
            assert missed <= (first_b[b] > 0)
            misses += missed
    return misses / n_runs


SHARES = [0.5, 0.75, 0.9, 0.98, 1.0]


@pytest.mark.parametrize("share", SHARES)
def test_level_with_a_look_after_every_label(share):
    runs = many(2_000, quick=600)
    rate = ever_missed(round(500 * share), runs, np.random.default_rng(1))
    assert rate <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)
    assert rate > 0.01 or share > 0.95  # the level is used, not wasted


@pytest.mark.long
@pytest.mark.parametrize("share", SHARES)
def test_level_with_a_look_after_every_label_in_many_runs(share):
    rate = ever_missed(round(500 * share), 20_000, np.random.default_rng(2))
    assert rate <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 20_000)


def missed_after_choosing(n_runs, rng, *, fresh=True, n_rules=8, n_items=120, first=20, level=0.8):
    """In how many runs the accuracy of the rule that leads after some labels is ever missed by those that follow.

    The rules are right on 84 items each; `fresh`: the other items are drawn anew, else the first labels stay in the
    sample that the choice was made by, as if the rule had been fixed before.
    """
    misses, total = 0, 84
    truth_bri = rng.permuted(np.tile(np.arange(n_items) < total, (n_runs, n_rules, 1)), axis=2)
    winner_b = truth_bri[:, :, :first].sum(axis=2).argmax(axis=1)
    path_bt = truth_bri[np.arange(n_runs), winner_b].astype(np.int64)
    known_b = path_bt[:, :first].sum(axis=1)
    if not fresh:
        return float((first_misses(path_bt, total, n_items, 0.1, (1 - level) / 2) > 0).mean())
    rest_bt = rng.permuted(path_bt[:, first:], axis=1)
    for known in np.unique(known_b):
        own_bt, left, n_rest = rest_bt[known_b == known], total - int(known), n_items - first
        first_b = first_misses(own_bt, left, n_rest, 0.1 * n_items / n_rest, (1 - level) / 2)
        for b in np.flatnonzero(first_b):
            share = bound_accuracy(
                own_bt[b, : first_b[b]],
                n_items=n_items,
                aim=0.1,
                level=level,
                known=Known(n_items=first, n_right=int(known)),
            ).share
            misses += not share.low - 1e-12 <= total / n_items <= share.high + 1e-12
    return misses / n_runs


def test_choosing_the_best_rule_first_does_no_harm_where_the_second_order_is_fresh():
    """Eight rules alike; the winner of 20 labels is frozen and the rest drawn anew.  The old labels flatter it."""
    limit = 0.2 + 2 * np.sqrt(0.2 * 0.8 / 2_000)
    assert missed_after_choosing(2_000, np.random.default_rng(11)) <= limit
    assert missed_after_choosing(2_000, np.random.default_rng(12), fresh=False) > limit


@pytest.mark.long
def test_choosing_the_best_rule_first_does_no_harm_in_many_runs():
    assert missed_after_choosing(20_000, np.random.default_rng(13)) <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 20_000)


def test_plan_is_roughly_right():
    for share in (0.8, 0.95):
        truth, taken = np.arange(2000) < share * 2000, []
        for seed in range(11):
            path = np.random.default_rng(seed).permutation(truth).astype(int)
            taken.append(next(n for n in range(100, 2001, 50) if bound_accuracy(path[:n], n_items=2000).reached))
        planned = planned_labels(share, n_items=2000)
        assert 0.7 * planned <= np.median(taken) <= 1.1 * planned


def test_the_aim_is_reached_or_not():
    nothing = bound_accuracy([], n_items=100)
    assert (nothing.share.value, nothing.share.low, nothing.share.high) == (None, 0.0, 1.0)
    assert not nothing.reached
    assert not bound_accuracy([1] * 30, n_items=1000).reached
    assert bound_accuracy([1] * 300, n_items=1000).reached


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"right": [1] * 11, "n_items": 10}, "right="),
        ({"right": [2], "n_items": 10}, "right="),
        ({"right": [1], "n_items": 10, "aim": 0}, "aim"),
        ({"right": [], "n_items": 0}, "n_items"),
        ({"right": [1], "n_items": 10, "level": 1}, "level"),
    ],
)
def test_impossible_values_are_rejected(arguments, message):
    with pytest.raises(ConfigError, match=message):
        bound_accuracy(**arguments)


def test_known_items_must_add_up():
    with pytest.raises(ConfigError, match="known="):
        Known(n_items=3, n_right=3, n_skipped=1)
    with pytest.raises(ConfigError, match="share"):
        planned_labels(1.2, n_items=10)
