"""The race among rules: Theorem A over all orders of small sets and by simulation, and what labels may do to it."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from majorant.gold.question import SKIPPED, UNASKED
from majorant.gold.race import Race


def two_rules(x_d, n_items, **settings):
    """Majority says 0 and the other rule 1 on every item; x is what the second rule gains: truth 1, 0, or neither."""
    truth_d = np.select([np.asarray(x_d) == 1, np.asarray(x_d) == -1], [1, 0], default=2)
    label_rd = np.stack([np.zeros(len(x_d), int), np.ones(len(x_d), int)])
    return Race.of(("majority", "auto"), label_rd, n_items=n_items, **settings), truth_d


def accuracies(label_rd, truth_d):
    return (label_rd == truth_d).sum(axis=1)


SMALL = {  # labels of three rules on six items, and the truth
    "one better": ([[0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 0, 1], [1, 1, 0, 0, 0, 0]], [1, 1, 1, 1, 1, 1]),
    "even": ([[0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0], [1, 1, 1, 0, 0, 0]], [0, 0, 0, 1, 1, 1]),
    "neither": ([[0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0], [2, 2, 0, 0, 2, 2]], [2, 2, 0, 1, 3, 3]),
}


@pytest.mark.parametrize("tolerance", [0.0, 0.1])
@pytest.mark.parametrize("name", SMALL)
def test_over_all_orders_the_best_rule_stays_and_the_winner_is_near_it(name, tolerance):
    label_rd, truth_d = np.array(SMALL[name][0]), np.array(SMALL[name][1])
    right_r, level = accuracies(label_rd, truth_d), 0.6
    dropped = wrong = orders = 0
    for order in list(permutations(range(6)))[:: 6 if tolerance else 1]:
        order_d = list(order)
        race = Race.of(tuple("abc"), label_rd[:, order_d], n_items=12, tolerance=tolerance, level=level)
        ever_dropped = ever_wrong = False
        for t in (3, 5):
            standing = race.standing(np.r_[truth_d[order_d][:t], np.full(6 - t, UNASKED)])
            ever_dropped |= not standing.alive_r[right_r == right_r.max()].any()
            ended = not len(standing.open_rules)
            ever_wrong |= ended and right_r[standing.leader] < right_r.max() - 12 * tolerance - 1e-9
        dropped, wrong, orders = dropped + ever_dropped, wrong + ever_wrong, orders + 1
    assert dropped / orders <= 1 - level
    assert wrong / orders <= 1 - level


@given(x=st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=25))
def test_all_labels_give_the_exact_lead(x):
    race, truth_d = two_rules(x, n_items=40)
    outcome = race.evaluate(truth_d)
    assert outcome.value.value == pytest.approx(sum(x) / 40)
    assert (outcome.value.low, outcome.value.high) == pytest.approx((sum(x) / 40, sum(x) / 40))
    right = {"same"} if sum(x) == 0 else {"better", "same"} if sum(x) > 0 else {"worse", "same"}
    assert outcome.verdict in right
    assert outcome.decided
    assert outcome.more == 0


def test_rules_that_hardly_differ_need_no_label():
    race, _ = two_rules([1, -1, 1], n_items=300)
    outcome = race.evaluate(np.full(3, UNASKED))
    assert (outcome.verdict, race.expected(), outcome.more) == ("same", 0, 0)
    assert outcome.value.high == pytest.approx(0.01)
    several = Race.of(("a", "b", "c"), np.array([[0, 0, 1], [1, 0, 1], [1, 1, 1]]), n_items=300)
    outcome = several.evaluate(np.full(3, UNASKED))
    assert (outcome.verdict, several.expected()) == ("within", 0)
    assert outcome.below <= 0.01


def random_race(seed, n_rules=4, size=60, n_items=200, skill=(0.9, 0.7, 0.65, 0.5), **settings):
    rng = np.random.default_rng(seed)
    truth_d = rng.integers(3, size=size)
    label_rd = np.where(rng.random((n_rules, size)) < np.array(skill)[:n_rules, None], truth_d, (truth_d + 1) % 3)
    keep = (label_rd != label_rd[0]).any(axis=0)
    return Race.of(tuple("abcdefgh"[:n_rules]), label_rd[:, keep], n_items=n_items, **settings), truth_d[keep]


@settings(max_examples=30)
@given(seed=st.integers(0, 200), data=st.data())
def test_more_labels_only_add_claims_whatever_their_sequence(seed, data):
    race, truth_d = random_race(seed, size=24)
    asked = data.draw(st.permutations(range(race.size)))
    answer_d, before = np.full(race.size, UNASKED), None
    for position in asked[: race.size - 1 : 3]:
        answer_d = answer_d.copy()
        answer_d[position] = truth_d[position]
        now = race.standing(answer_d)
        if before is not None:
            certain = race.standing(truth_d)  # what all labels refute may go
            assert not (before.beats_qr & certain.beats_qr & ~now.beats_qr).any()
        before = now


@settings(max_examples=30)
@given(seed=st.integers(0, 100), at=st.integers(0, 30), gone=st.sampled_from([SKIPPED, UNASKED]))
def test_a_missing_answer_never_helps_a_claim(seed, at, gone):
    race, truth_d = random_race(seed, size=30)
    answer_d = np.where(np.arange(race.size) < 20, truth_d, UNASKED)
    full = race.standing(answer_d)
    answer_d[min(at, race.size - 1)] = gone
    less = race.standing(answer_d)
    assert not (less.beats_qr & ~full.beats_qr).any()
    assert not (less.within_qr & ~full.within_qr).any()


def test_an_answer_behind_a_gap_counts_as_if_the_gap_went_against_every_claim():
    race, truth_d = two_rules([1] * 30, n_items=100)
    gap_d = np.r_[[UNASKED], truth_d[1:8], np.full(22, UNASKED)]
    against_d = np.r_[[0], truth_d[1:8], np.full(22, UNASKED)]
    for_d = np.r_[truth_d[:8], np.full(22, UNASKED)]
    low = {name: race.evaluate(d).value.low for name, d in (("gap", gap_d), ("against", against_d), ("for", for_d))}
    assert low["gap"] == pytest.approx(low["against"])
    assert low["gap"] < low["for"]


def test_a_rule_listed_twice_changes_nothing():
    race, truth_d = random_race(3, n_rules=3)
    twice = Race.of(("a", "b", "again", "c"), race.label_rd[[0, 1, 1, 2]], n_items=race.n_items)
    answer_d = np.where(np.arange(race.size) < 25, truth_d, UNASKED)
    one, two = race.evaluate(answer_d), twice.evaluate(answer_d)
    assert (one.verdict, one.leader, one.alive, one.more, one.below) == (
        two.verdict,
        two.leader,
        two.alive,
        two.more,
        two.below,
    )
    assert two.facts["same_as"] == {"again": "b"}


def test_identical_rules_are_the_same():
    race = Race.of(("a", "b"), np.zeros((2, 0), int), n_items=10)
    outcome = race.evaluate(np.zeros(0, int))
    assert (outcome.verdict, outcome.value.value, race.expected(), outcome.alive) == ("same", 0.0, 0, ("a",))


def test_the_favourite_leads_until_labels_tell():
    race, truth_d = random_race(5, n_rules=4, favourite=2)
    assert race.evaluate(np.full(race.size, UNASKED)).leader == "c"
    assert race.evaluate(truth_d).leader == "a"


def test_settled_rules_are_skipped():
    rng = np.random.default_rng(0)
    size = 300
    truth_d = rng.integers(2, size=size)
    good = np.where(rng.random(size) < 0.9, truth_d, 1 - truth_d)
    alike = good.copy()
    alike[:100] = 1 - alike[:100]
    bad = 1 - truth_d
    race = Race.of(("good", "alike", "bad"), np.stack([good, alike, bad]), n_items=1000)
    answer_d = np.full(race.size, UNASKED)
    answer_d[:20] = truth_d[:20]
    standing = race.standing(answer_d)
    assert not standing.alive_r[2]
    order = race.next_items(answer_d)
    assert len(order) == race.size - 20
    separating = (race.label_rd[0] != race.label_rd[1])[order]
    assert separating[: separating.sum()].all()


@pytest.mark.parametrize("seed", range(6))
def test_a_standing_goes_on_from_an_earlier_one(seed):
    race, truth_d = random_race(seed)
    answer_d, earlier = np.full(race.size, -2), None
    for d in range(race.size):
        answer_d[d] = truth_d[d]
        earlier, anew = race.standing(answer_d, earlier), race.standing(answer_d)
        assert earlier.alive_r.tolist() == anew.alive_r.tolist()
        assert (earlier.leader, earlier.open_rules.tolist()) == (anew.leader, anew.open_rules.tolist())


def test_content_survives_json():
    import json

    race, truth_d = random_race(9, lead_qr=np.array([[np.nan] * 4] * 4), decisive_qr=np.ones((4, 4)))
    again = Race.from_dict(json.loads(json.dumps(race.to_dict())))
    assert again.evaluate(truth_d).right == race.evaluate(truth_d).right
    assert again.to_dict() == race.to_dict()


def test_the_plan_is_about_what_it_takes():
    """ROBUST: 9.4 (s - d^2) / d^2 + 6 is about the median number of labels for two rules."""
    x = np.repeat([1, -1, 0], [140, 40, 20])
    taken = []
    for seed in range(40):
        race, truth_d = two_rules(np.random.default_rng(seed).permutation(x), n_items=1000)
        for t in range(5, 200, 3):
            if race.standing(np.where(np.arange(200) < t, truth_d, UNASKED)).of_two() != "open":
                break
        taken.append(t)
    planned = Race.of(
        ("a", "b"),
        np.stack([np.zeros(200, int), np.ones(200, int)]),
        n_items=1000,
        lead_qr=np.array([[0, -0.5], [0.5, 0]]),
        decisive_qr=np.full((2, 2), 0.9),
    ).expected()
    assert 0.6 < planned / np.median(taken) < 1.6


def false_claims(x, n_items, runs, rng, wrong, **settings):
    """In how many random orders a claim is false at some number of labels; they only grow until all are given."""
    count = 0
    for _ in range(runs):
        race, truth_d = two_rules(rng.permutation(x), n_items, **settings)
        count += wrong(race.standing(np.r_[truth_d[:-1], [UNASKED]]))
    return count / runs


EDGES = {
    "lead 0": (np.repeat([1, -1], 50), lambda s: s.beats_qr.any()),
    "lead 0, mostly neither": (np.repeat([1, -1, 0], [8, 8, 84]), lambda s: s.beats_qr.any()),
    "just above the tolerance": (np.repeat([1, -1], [56, 44]), lambda s: s.within_qr[0, 1]),
    "just below minus the tolerance": (np.repeat([1, -1], [44, 56]), lambda s: s.within_qr[1, 0]),
}


@pytest.mark.parametrize("name", EDGES)
def test_two_rules_at_the_edge(name):
    x, wrong = EDGES[name]
    runs, alpha = 2000, 0.05
    rate = false_claims(x, 1150, runs, np.random.default_rng(4), wrong, tolerance=0.01)
    assert rate <= alpha + 2 * np.sqrt(alpha * (1 - alpha) / runs)


def alike_rules(n_rules, size, behind, rng):
    """The first rule is right most often, the others a little less; on each item one rule is wrong."""
    truth_d, label_rd = np.zeros(size, int), np.zeros((n_rules, size), int)
    share = np.r_[size // n_rules - behind * (n_rules - 1) // n_rules, np.zeros(n_rules - 1, int)]
    share[1:] = (size - share[0]) // (n_rules - 1)
    wrong_d = np.repeat(np.arange(n_rules), share)
    label_rd[wrong_d, np.arange(len(wrong_d))] = 1
    order = rng.permutation(len(wrong_d))
    return label_rd[:, order], truth_d[: len(wrong_d)]


def race_errors(runs, rng, n_rules=5, size=200, behind=25, n_items=1000):
    dropped = wrong = 0
    for _ in range(runs):
        label_rd, truth_d = alike_rules(n_rules, size, behind, rng)
        race = Race.of(tuple("abcde"[:n_rules]), label_rd, n_items=n_items, tolerance=0.01)
        standing = race.standing(np.where(np.arange(race.size) < 0.8 * race.size, truth_d, UNASKED))
        right_r = accuracies(label_rd, truth_d)
        dropped += not standing.alive_r[0]
        near_r = right_r >= right_r.max() - 0.01 * n_items
        wrong += bool(standing.within_qr[~near_r, 0].any())
    return dropped / runs, wrong / runs


def test_several_rules_at_the_edge():
    dropped, wrong = race_errors(400, np.random.default_rng(6))
    limit = 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
    assert dropped <= limit
    assert wrong <= limit


@pytest.mark.long
def test_levels_in_many_runs():
    limit = 0.05 + 2 * np.sqrt(0.05 * 0.95 / 20_000)
    for x, wrong in EDGES.values():
        assert false_claims(x, 1150, 20_000, np.random.default_rng(14), wrong, tolerance=0.01) <= limit
    assert max(race_errors(20_000, np.random.default_rng(16))) <= limit
