"""Bounds on the share of right labels, checked over every order of a few items and by simulation after each label."""

from itertools import permutations

import numpy as np
import pytest

from majorant.ask.accuracy import AIM, WrittenLabels, bound_accuracy, is_reached, planned_labels
from majorant.errors import ConfigError
from majorant.evidence.betting import SMALL_BETS_F, evidence_above
from sizes import many


def test_over_all_orders_of_seven_items_bounds_miss_no_more_than_promised():
    for total in range(8):
        truth = [1] * total + [0] * (7 - total)
        orders = list(permutations(range(7)))
        seen = {}
        for order in orders:
            path = tuple(truth[i] for i in order)
            if path not in seen:
                shares = [bound_accuracy(path[:n], n_items=7, level=0.6) for n in range(1, 8)]
                seen[path] = all(s.low - 1e-12 <= total / 7 <= s.high + 1e-12 for s in shares)
        covered = sum(seen[tuple(truth[i] for i in order)] for order in orders) / len(orders)
        assert covered >= 0.6


def test_labelling_every_item_gives_the_exact_share():
    truth = np.repeat([1, 0], [33, 17])
    for seed in range(20):
        share = bound_accuracy(np.random.default_rng(seed).permutation(truth), n_items=50, level=0.6)
        assert share.low == share.value == share.high == 33 / 50


def test_skipped_items_widen_the_interval_and_never_help():
    rng = np.random.default_rng(3)
    answers = (rng.random(150) < 0.85).astype(int)
    full = bound_accuracy(answers, n_items=600)
    skipped = bound_accuracy(np.where(rng.random(150) < 0.1, -1, answers), n_items=600)
    assert skipped.low <= full.low
    assert skipped.high >= full.high
    every = bound_accuracy(np.where(np.arange(600) % 6 == 0, -1, 1), n_items=600)
    assert (every.low, every.high) == (pytest.approx(500 / 600), 1.0)


def ever_missed(right_bt, total, n_items, level):
    """Whether some look at these orders refutes the true total, from either side."""
    price = -np.log((1 - level) / 2)
    low_b = evidence_above(right_bt, n_items, total / n_items, SMALL_BETS_F)
    high_b = evidence_above(1 - right_bt, n_items, 1 - total / n_items, SMALL_BETS_F)
    return np.maximum(low_b, high_b) >= price


def random_orders(total, n_items, n_runs, rng):
    return rng.permuted(np.tile(np.arange(n_items) < total, (n_runs, 1)), axis=1).astype(float)


@pytest.mark.parametrize("share", [0.5, 0.75, 0.9, 0.98, 1.0])
def test_level_with_a_look_after_every_label(share):
    n_items, runs, rng = 300, many(4_000, quick=600), np.random.default_rng(1)
    right_bt = random_orders(round(n_items * share), n_items, runs, rng)
    missed_b = ever_missed(right_bt, round(n_items * share), n_items, 0.95)
    assert missed_b.mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)
    assert missed_b.mean() > 0.005 or share > 0.95  # the level is used, not wasted
    for right_t in right_bt[~missed_b][:3]:
        bounded = bound_accuracy(right_t[: rng.integers(1, n_items)], n_items=n_items)
        assert bounded.low - 1e-9 <= share <= bounded.high + 1e-9


def missed_after_choosing(n_runs, rng, *, fresh=True, n_rules=20, n_items=120, first=30, level=0.8):
    """In how many runs the accuracy of the rule that leads after some labels is ever missed by those that follow.

    The rules are right on 84 items each; `fresh`: the other items are in a new random order, else the first labels stay
    in the sample that the choice was made by, as if the rule had been fixed before.
    """
    total, rule_b = 84, np.arange(n_runs)
    truth_bri = rng.permuted(np.tile(np.arange(n_items) < total, (n_runs, n_rules, 1)), axis=2)
    path_bt = truth_bri[rule_b, truth_bri[:, :, :first].sum(axis=2).argmax(axis=1)].astype(float)
    if not fresh:
        return float(ever_missed(path_bt, total, n_items, level).mean())
    known_b, rest_bt = path_bt[:, :first].sum(axis=1), rng.permuted(path_bt[:, first:], axis=1)
    missed = [ever_missed(rest_bt[known_b == k], total - k, n_items - first, level).sum() for k in np.unique(known_b)]
    return sum(missed) / n_runs


def test_selecting_the_best_rule_keeps_the_level_with_a_fresh_order():
    """The best of twenty equal rules on 30 labels is frozen, and a fresh order is drawn: the old labels flatter it."""
    limit = 0.2 + 2 * np.sqrt(0.2 * 0.8 / 2_000)
    assert missed_after_choosing(2_000, np.random.default_rng(11)) <= limit
    assert missed_after_choosing(2_000, np.random.default_rng(12), fresh=False) > limit


@pytest.mark.long
def test_selecting_the_best_rule_keeps_the_level_in_many_runs():
    assert missed_after_choosing(20_000, np.random.default_rng(13)) <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 20_000)


@pytest.mark.parametrize("share", [0.8, 0.95, 1.0])
def test_planned_number_of_labels_is_roughly_right(share):
    truth, taken = np.arange(2000) < share * 2000, []
    for seed in range(7):
        path = np.random.default_rng(seed).permutation(truth).astype(int)
        looks = range(80, 2001, 40)
        taken.append(next(n for n in looks if is_reached(bound_accuracy(path[:n], n_items=2000), AIM)))
    assert 0.75 <= np.median(taken) / planned_labels(share, n_items=2000) <= 1.25


def test_target_width_is_checked():
    question = WrittenLabels(rule="majority", label_d=np.zeros(1000, int), n_items=1000)
    for labels, verdict in ((0, "open"), (30, "open"), (300, "reached")):
        outcome = question.evaluate(np.where(np.arange(1000) < labels, 0, -2))
        assert (outcome.verdict, outcome.decided, outcome.labels) == (verdict, verdict == "reached", labels)
        assert (outcome.more == 0) == outcome.decided
    nothing = bound_accuracy([], n_items=100)
    assert (nothing.value, nothing.low, nothing.high) == (None, 0.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"right": [1] * 11, "n_items": 10}, "right="),
        ({"right": [2], "n_items": 10}, "right="),
        ({"right": [], "n_items": 0}, "right="),
        ({"right": [1], "n_items": 10, "level": 1}, "level"),
    ],
)
def test_impossible_values_are_rejected(arguments, message):
    with pytest.raises(ConfigError, match=message):
        bound_accuracy(**arguments)
