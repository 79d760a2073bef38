"""certify_counts: verdicts, numbers, refusals."""

import numpy as np
import pytest
from scipy.optimize import minimize

from majorant.errors import ConfigError
from majorant.evidence.certificate.anonymous import certify_counts
from majorant.evidence.certificate.assumption_tests import independence_gate
from majorant.evidence.certificate.count_models import (
    class_logs,
    contradictions,
    flatten,
    log_likelihood,
    sides,
    suprema,
)
from majorant.evidence.certificate.independent import ratio_cut, split
from majorant.evidence.certificate.likelihood_region import binomial_region, count_loss, loss_interval
from majorant.theory.accuracy import gap, majority_accuracy, map_accuracy
from majorant.theory.margin import majority_margin
from majorant.theory.two_class import handicap
from oracles.histograms import Crowd, HardItems


def drawn(crowd, seed=0):
    return {h: table[0] for h, table in crowd.draw(1, np.random.default_rng(seed)).items()}


GOOD = Crowd("good", 0.5, 0.8, 0.2, {3: 4000})
SKEWED = Crowd("skewed", 0.93, 0.8, 0.2, {5: 8000})


def test_a_good_crowd_is_proved_where_independence_can_be_tested():
    claim = certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, {5: 4000})), rng=0).anonymous
    assert claim.verdict == "proved"
    assert dict(claim.by_votes) == {5: "proved"}
    assert claim.tested
    assert claim.gates[0].passed
    assert claim.breakdown > 0


def test_three_votes_cannot_test_independence_so_nothing_is_proved_without_a_condition():
    claim = certify_counts(drawn(GOOD), rng=0).anonymous
    assert claim.verdict == "supported"
    assert dict(claim.by_votes) == {3: "supported"}
    assert not claim.tested
    condition = "votes on an item are independent given its class, which 3 votes per item cannot test"
    assert claim.conditions == (condition,)
    assert claim.why.startswith(f"If {condition}, majority vote is as good as")
    assert claim.evidence["e_value"] >= 20
    assert claim.items_certified == 1
    assert claim.more_items == 0
    assert claim.loss.value == 0
    assert claim.gates[0].passed is None  # three votes fit always
    assert "not testable" in claim.gates[0].text


def test_a_skewed_crowd_is_refuted_and_its_loss_found():
    certificate = certify_counts(drawn(SKEWED), rng=0)
    claim = certificate.anonymous
    assert claim.verdict == "refuted"
    assert claim.evidence["e_value_against"] >= 20
    assert claim.gates[0].passed
    assert claim.loss.low <= SKEWED.loss() <= claim.loss.high
    assert claim.loss.low > 0
    assert "would gain about" in certificate.why
    assert 0.5 < claim.items_certified < 1


def test_margin_and_handicap_are_those_of_theory_at_the_estimate():
    claim = certify_counts(drawn(SKEWED), rng=0).anonymous
    nu, a, b = (claim.evidence[name] for name in ("prior_0", "accuracy_0", "accuracy_1"))
    prior, confusion = [nu, 1 - nu], [[a, 1 - a], [1 - b, b]]
    assert claim.margin == pytest.approx(majority_margin(prior, confusion, 5), abs=1e-9)
    assert claim.handicap == pytest.approx(handicap(prior, confusion, 5), abs=1e-9)
    assert claim.loss.value == pytest.approx(gap(prior, confusion, 5), abs=1e-12)
    assert claim.evidence["majority_accuracy"] == pytest.approx(majority_accuracy(prior, confusion, 5), abs=1e-12)
    assert claim.evidence["best_accuracy"] == pytest.approx(map_accuracy(prior, confusion, 5), abs=1e-12)


def test_a_tie_is_a_fair_draw():
    claim = certify_counts(drawn(Crowd("", 0.8, 0.8, 0.4, {4: 3000})), rng=0).anonymous
    nu, a, b = (claim.evidence[name] for name in ("prior_0", "accuracy_0", "accuracy_1"))
    prior, confusion = [nu, 1 - nu], [[a, 1 - a], [1 - b, b]]
    assert claim.loss.value == pytest.approx(gap(prior, confusion, 4, ties="random"), abs=1e-12)
    assert claim.evidence["majority_accuracy"] == pytest.approx(majority_accuracy(prior, confusion, 4), abs=1e-12)
    assert claim.evidence["best_accuracy"] == pytest.approx(map_accuracy(prior, confusion, 4), abs=1e-12)
    assert 0 <= claim.tie_loss.low <= claim.tie_loss.value <= claim.tie_loss.high


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_four_votes_lose_what_a_fair_draw_on_ties_loses(seed):
    """Review S2: prior .7, accuracy .8, four votes: 3.1 points, all of them on ties."""
    crowd = Crowd("", 0.7, 0.8, 0.2, {4: 40_000})
    claim = certify_counts(drawn(crowd, seed), rng=0).anonymous
    exact = gap([0.7, 0.3], [[0.8, 0.2], [0.2, 0.8]], 4, ties="random")
    assert claim.loss.value == pytest.approx(exact, abs=0.003)
    assert claim.tie_loss.value == pytest.approx(exact, abs=0.003)
    assert claim.verdict == "refuted"
    assert claim.untied == "proved"
    assert claim.tied_share == pytest.approx(0.1536, abs=0.01)
    assert claim.items_certified == pytest.approx(1 - claim.tied_share)
    assert "of the items are tied, and a fair draw on them loses" in claim.why


def test_even_ties_cost_nothing_and_refute_nothing():
    claim = certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, {4: 4000})), rng=0).anonymous
    assert claim.verdict == "proved"
    assert claim.tie_loss.low == claim.loss.low == 0
    assert "apart from ties" in claim.why


def test_swapping_the_classes_changes_nothing():
    histograms = {4: [40, 60, 50, 120, 90], 5: [50, 90, 60, 80, 170, 160]}
    one = certify_counts(histograms, rng=0).anonymous
    other = certify_counts({h: row[::-1] for h, row in histograms.items()}, rng=0).anonymous
    assert one.margin == pytest.approx(other.margin, abs=1e-4)
    assert one.handicap == pytest.approx(-other.handicap, abs=1e-4)
    assert one.loss.high == pytest.approx(other.loss.high, rel=1e-2, abs=1e-9)
    assert one.evidence["likelihood_ratio"] == pytest.approx(other.evidence["likelihood_ratio"], abs=1e-5)


def test_the_same_seed_gives_the_same_certificate_and_the_input_stays():
    histograms = drawn(GOOD)
    before = {h: row.copy() for h, row in histograms.items()}
    one, two = (certify_counts(histograms, rng=7) for _ in range(2))
    assert one == two
    assert all((histograms[h] == before[h]).all() for h in before)


def test_a_higher_level_asks_for_more():
    histograms = drawn(Crowd("", 0.5, 0.8, 0.2, {3: 700}))
    at_95, at_999 = (certify_counts(histograms, level=level, rng=0).anonymous for level in (0.95, 0.9999))
    assert at_95.verdict == "supported"
    assert at_999.verdict == "undecided"
    assert ratio_cut(0.9999) > at_95.evidence["likelihood_ratio"] > ratio_cut(0.95)
    assert at_999.more_items > 0


def test_more_items_would_have_decided():
    """The planning number: with that many items in all, the likelihood ratio decides in about 80 of 100 runs."""
    few = Crowd("", 0.6, 0.75, 0.3, {5: 300})
    exact = {5: np.round(2_000_000 * sum(few.cells(5))).astype(int)}
    needed = certify_counts(exact, rng=0).anonymous.evidence["items_needed"]
    crowd = Crowd("", few.nu, few.a, few.r, {5: round(needed)})
    table = crowd.draw(200, np.random.default_rng(0))[5].astype(float)
    cells, _ = flatten({5: table[0]})
    best, null = suprema(cells, table)[0][:, 0], suprema(cells, table, contradictions([5]))[0].max(axis=1)
    assert 0.65 < (best - null > ratio_cut(0.95)).mean() < 0.93


def test_nested_patterns_grow_from_the_narrowest_majority_to_the_unanimous():
    cells, items_c = flatten(drawn(SKEWED))
    cut_up = split(cells, items_c[None], np.random.default_rng(0))
    for sign, counts in ((-1, (3, 4, 5)), (1, (2, 1, 0))):
        log_e = cut_up.log_e_values(cells, sides([(5, k, sign) for k in counts]))[0]
        assert (np.diff(log_e) >= -1e-6).all()


def test_unanimous_items_are_not_certified_on_patterns_never_seen():
    claim = certify_counts({3: [2500, 0, 0, 2500]}, rng=0).anonymous
    assert claim.verdict == "undecided"
    assert claim.items_certified == 1
    assert claim.loss.high < 1e-5


def test_a_number_of_votes_that_few_items_hold_has_no_say():
    histograms = drawn(GOOD) | drawn(Crowd("", 0.5, 0.8, 0.2, {9: 20}), 1)
    claim = certify_counts(histograms, rng=0).anonymous
    assert set(claim.by_votes) == {3}
    assert dict(claim.without_say) == {9: pytest.approx(20 / 4020)}


def test_the_loss_interval_reaches_as_far_as_a_constrained_optimiser():
    histograms = {5: [30, 50, 200, 200, 200, 100]}
    cells, items_c = flatten(histograms)

    def loss(theta):
        return count_loss(class_logs(cells, theta), cells, np.full(6, 780.0)).total

    best, theta = suprema(cells, items_c[None])
    _, near = suprema(cells, items_c[None], contradictions([5]))
    found = loss_interval(binomial_region(cells, items_c, theta[0, 0], 1.92), [theta[0, 0], *near[0]], loss)
    rules = [
        {"type": "ineq", "fun": lambda q: float(log_likelihood(cells, items_c, q)) - best[0, 0] + 1.92},
        {"type": "ineq", "fun": lambda q: q[0] - q[1]},
    ]
    rng, highest = np.random.default_rng(0), 0.0
    for _ in range(8):
        end = minimize(lambda q: -float(loss(q)), theta[0, 0] + rng.normal(size=3) / 2, constraints=rules)
        if min(rule["fun"](end.x) for rule in rules) > -1e-6:
            highest = max(highest, -end.fun)
    assert found.high == pytest.approx(highest, rel=1e-3)
    assert found.low == 0


def test_hard_items_are_seen_and_allowed_for():
    crowd = HardItems("", 0.5, 0.85, 0.15, {7: 6000}, 4.0)
    claim = certify_counts(drawn(crowd), rng=0).anonymous
    assert claim.gates[0].passed is False
    assert claim.model == "item difficulty"
    assert claim.verdict in ("supported", "undecided")
    assert claim.evidence["concentration_0"] == pytest.approx(4, rel=0.5)
    assert "item difficulty" in claim.why


def test_votes_that_depend_in_another_way_are_void_with_numbers_kept():
    histograms = {7: [900, 30, 200, 30, 30, 200, 30, 900]}
    claim = certify_counts(histograms, rng=0).anonymous
    assert claim.verdict == "void"
    assert dict(claim.by_votes) == {7: "void"}
    assert claim.margin is not None
    assert claim.loss.value is not None
    assert "If votes were independent" in claim.why
    assert "gold labels" in claim.why


@pytest.mark.parametrize("n_items", [20_000, 2_000_000])
def test_how_far_votes_are_from_independent_does_not_grow_with_the_items(n_items):
    """A small departure voids the verdict where items are many, and is said to be small."""
    shares_k = np.sum(HardItems("", 0.5, 0.8, 0.2, {5: 1}, 300.0).cells(5), axis=0)
    claim = certify_counts({5: np.round(n_items * shares_k)}, rng=0).anonymous
    assert (claim.verdict == "void") == (n_items > 1e6)
    if claim.verdict == "void":
        assert claim.evidence["misplaced_items"] == pytest.approx(0.003, abs=0.0005)
        assert "Independent votes would look different on 0.29 % of the items." in claim.why


@pytest.mark.parametrize(
    ("histograms", "said"),
    [
        ({5: [0, 1000, 0, 0, 1000, 0]}, "majority vote would be the best rule, with no loss."),
        ({5: [0, 0, 3000, 3000, 0, 0]}, "majority vote would not be the best rule, with a loss of 50.0 points ["),
    ],
)
def test_a_void_claim_says_what_would_hold_if_votes_were_independent(histograms, said):
    claim = certify_counts(histograms, rng=0).anonymous
    assert claim.verdict == "void"
    assert said in claim.why


def test_numbers_of_votes_apart_where_they_go_with_difficulty():
    easy, hard = Crowd("", 0.5, 0.9, 0.1, {4: 4000}), Crowd("", 0.5, 0.7, 0.3, {7: 4000})
    claim = certify_counts(drawn(easy) | drawn(hard, 1), rng=0).anonymous
    assert claim.gates[0].passed is False
    assert claim.model == "independent votes, each number of votes apart"
    assert claim.verdict in ("proved", "supported")


@pytest.mark.parametrize("histograms", [{}, {3: [0, 0, 0, 0]}, {1: [5, 6]}, {1: [5, 6], 2: [3, 4, 5]}])
def test_too_few_votes_are_unidentified(histograms):
    claim = certify_counts(histograms, rng=0).anonymous
    assert claim.verdict == "unidentified"
    assert claim.margin is None


@pytest.mark.parametrize(
    ("histograms", "level", "words"),
    [
        ({3: [1, 2, -3, 4]}, 0.95, "whole numbers"),
        ({3: [1, 2, 2.5, 4]}, 0.95, "whole numbers"),
        ({3: [1, 2, np.nan, 4]}, 0.95, "whole numbers"),
        ({3: [1, 2, 3]}, 0.95, "4 counts"),
        ({0: [1]}, 0.95, "not a number of votes"),
        ({2.5: [1, 2]}, 0.95, "not a number of votes"),
        ({"x": [1, 2]}, 0.95, "not a number of votes"),
        ({3: [1, 2, 3, 4], "5": [1] * 6}, 0.95, "not a number of votes"),
        ({None: [1, 2]}, 0.95, "not a number of votes"),
        ({float("inf"): [1, 2]}, 0.95, "not a number of votes"),
        ({3: ["a", 2, 3, 4]}, 0.95, "not a list of counts"),
        ({3: [1, 2, 3, 4j]}, 0.95, "not a list of counts"),
        ({3: [1, 2, 3, 1e300]}, 0.95, "at most"),
        ({3: [1, 2, 3, float("inf")]}, 0.95, "whole numbers"),
        ([1, 2, 3, 4], 0.95, "not a list"),
        ({3: [1, 2, 3, 4]}, "0.9", "level"),
        ({3: [1, 2, 3, 4]}, None, "level"),
        ({3: [1, 2, 3, 4]}, 1.0, "level"),
        ({3: [1, 2, 3, 4]}, 0.0, "level"),
        ({3: [1, 2, 3, 4]}, float("nan"), "level"),
    ],
)
def test_bad_input_is_refused(histograms, level, words):
    with pytest.raises(ConfigError, match=words):
        certify_counts(histograms, level=level, rng=0)


@pytest.mark.parametrize("histograms", [{3: [0, 0, 0, 1]}, {3: [0, 1, 0, 0]}, {3: [1, 0, 0, 0], 4: [0, 0, 1, 0, 0]}])
def test_one_or_two_items_decide_nothing(histograms):
    claim = certify_counts(histograms, rng=0).anonymous
    assert claim.verdict == "undecided"
    assert 0 <= claim.loss.low <= claim.loss.high <= 1
    assert f"at most {100 * claim.loss.high:.1f} points" in claim.why
    assert claim.more_items is None or claim.more_items <= 1e9


@pytest.mark.parametrize(("concentration", "passed"), [(4.0, False), (1e6, True)])
def test_the_gate_sees_hard_items_where_most_cells_are_empty(concentration, passed):
    """Forty votes on each of 150 items: chi-square would pass anything, refitted simulations do not."""
    cells, items_c = flatten(drawn(HardItems("", 0.5, 0.8, 0.2, {40: 150}, concentration), 1))
    _, theta = suprema(cells, items_c[None])
    assert independence_gate(cells, items_c, theta[0, 0], np.random.default_rng(0)).passed is passed


def test_a_split_trains_on_the_items_it_does_not_test():
    cells, items_c = flatten(drawn(SKEWED))
    cut_up = split(cells, items_c[None], np.random.default_rng(0))
    train_sc = items_c - cut_up.test_sbc[:, 0]
    assert (train_sc >= 0).all()
    assert train_sc.sum(axis=1) / items_c.sum() == pytest.approx(np.full(10, 0.25), abs=0.03)
    assert len({tuple(row) for row in train_sc.tolist()}) == 10
    _, theta = suprema(cells, train_sc)
    assert cut_up.value_sb[:, 0] == pytest.approx(log_likelihood(cells, cut_up.test_sbc[:, 0], theta[:, 0]), abs=1e-3)
