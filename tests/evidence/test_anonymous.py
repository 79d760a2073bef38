"""certify_counts: verdicts, numbers and rejected input."""

import numpy as np
import pytest
from scipy.special import expit

from majorant.errors import ConfigError
from majorant.evidence.certificate.anonymous import certify_counts, count_loss, deciding_sizes, divergence_cut, weigh
from majorant.evidence.certificate.assumption_tests import check_independence
from majorant.evidence.certificate.count_models import (
    flatten,
    main_sizes,
    resampled_models,
    suprema,
)
from majorant.evidence.evidence import Assumption, Status
from majorant.theory.accuracy import gap, majority_accuracy
from majorant.theory.margin import majority_margin
from oracles.histograms import Crowd, HardItems, all_histograms, multinomial


def drawn(crowd, seed=0):
    return {h: table[0] for h, table in crowd.draw(1, np.random.default_rng(seed)).items()}


GOOD = Crowd("good", 0.5, 0.8, 0.2, {3: 4000})
SKEWED = Crowd("skewed", 0.93, 0.8, 0.2, {5: 8000})


def test_a_good_crowd_is_proved_where_independence_can_be_tested():
    claim = certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, {5: 4000})), rng=0).anonymous
    assert (claim.verdict, claim.certainty, claim.reason) == ("optimal", "proved", None)
    assert claim.status(Assumption.INDEPENDENT_VOTES) == Status.PASSED
    assert claim.status(Assumption.EXCHANGEABLE_WORKERS) == Status.UNTESTED
    assert claim.more_items == 0
    assert claim.loss.ends == (0, 0, 0)


def test_verdict_is_open_if_three_votes_cannot_test_independence():
    claim = certify_counts(drawn(GOOD), rng=0).anonymous
    assert (claim.verdict, claim.certainty, claim.reason) == ("open", None, "cannot be tested")
    assert claim.status(Assumption.INDEPENDENT_VOTES) == Status.UNTESTABLE
    assert claim.margin > 1
    assert claim.loss.ends == (0, 0, 0)


def test_independence_is_untestable_with_too_few_items():
    """100 items with 5 votes pass any test of independence, so passing says nothing."""
    claim = certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, {5: 100})), rng=0).anonymous
    assert claim.status(Assumption.INDEPENDENT_VOTES) == Status.UNTESTABLE
    assert claim.verdict == "open"


def test_skewed_crowd_is_not_optimal_and_loss_interval_covers():
    claim = certify_counts(drawn(SKEWED), rng=0).anonymous
    assert (claim.verdict, claim.certainty) == ("not optimal", "supported")
    assert 0 < claim.loss.low <= SKEWED.loss() <= claim.loss.high
    assert claim.margin < 0


def test_margin_and_accuracy_match_theory_at_the_true_model():
    claim = certify_counts({5: np.round(1e7 * sum(SKEWED.cells(5)))}, rng=0).anonymous
    prior, confusion = [0.93, 0.07], [[0.8, 0.2], [0.2, 0.8]]
    assert claim.margin == pytest.approx(majority_margin(prior, confusion, 5), abs=1e-3)
    assert claim.accuracy == pytest.approx(majority_accuracy(prior, confusion, 5), abs=1e-4)
    assert claim.loss.value == pytest.approx(SKEWED.loss(), abs=1e-4)


@pytest.mark.parametrize("nu", [0.5, 0.7])
def test_ties_are_left_out_of_verdict_and_loss(nu):
    """At a prior of .7 a fair draw on ties loses 3 points, but how ties are broken is not majority vote's decision."""
    claim = certify_counts(drawn(Crowd("", nu, 0.8, 0.2, {4: 40_000})), rng=0).anonymous
    assert (claim.verdict, claim.certainty) == ("optimal", "proved")
    assert claim.loss.ends == (0, 0, 0)
    assert claim.tied_share == pytest.approx(0.1536, abs=0.01)


def test_swapping_the_classes_changes_nothing():
    histograms = {4: [40, 60, 50, 120, 90], 5: [50, 90, 60, 80, 170, 160]}
    one = certify_counts(histograms, rng=0).anonymous
    assert one == certify_counts({h: row[::-1] for h, row in histograms.items()}, rng=0).anonymous


def test_the_same_seed_gives_the_same_certificate_and_the_input_stays():
    histograms = drawn(GOOD)
    before = {h: row.copy() for h, row in histograms.items()}
    one, two = (certify_counts(histograms, rng=7) for _ in range(2))
    assert one == two
    assert all((histograms[h] == before[h]).all() for h in before)


def test_a_higher_level_asks_for_more():
    histograms = drawn(Crowd("", 0.6, 0.75, 0.3, {7: 900}), 3)
    at_95, at_999 = (certify_counts(histograms, level=level, rng=0).anonymous for level in (0.95, 0.999999))
    assert at_95.verdict == "optimal"
    assert (at_999.verdict, at_999.reason) == ("open", "too few items")
    assert at_999.more_items > 0


def test_more_items_would_have_decided():
    """The planning number: with that many items in all, the likelihood ratio decides in about 80 of 100 runs."""
    few = Crowd("", 0.7, 0.75, 0.3, {5: 300})
    needed = next(
        claim.more_items
        for seed in range(20)
        if (claim := certify_counts(drawn(Crowd("", 0.7, 0.75, 0.3, {5: 1200}), seed), rng=0).anonymous).more_items
    )
    exact = {5: np.round(needed * sum(few.cells(5)))}
    again = certify_counts(exact, rng=0).anonymous
    assert again.verdict == "optimal"


def test_the_narrowest_majorities_of_all_sizes_follow_from_the_smallest_and_largest():
    """Where majority vote is optimal for the deciding sizes, it is for all: margins are linear in the size."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b, nu = rng.uniform([0.5, 0.5, 0.02], [0.99, 0.99, 0.98])
        sizes = sorted(rng.choice(np.arange(1, 16), size=6, replace=False).tolist())
        margins = {h: majority_margin([nu, 1 - nu], [[a, 1 - a], [1 - b, b]], h) for h in sizes}
        assert (min(margins.values()) > 0) == (min(margins[h] for h in deciding_sizes(sizes)) > 0)


def test_likelihood_ratio_depends_only_on_the_deciding_sizes():
    histograms = drawn(Crowd("", 0.7, 0.75, 0.3, dict.fromkeys((3, 5, 7, 9), 400)))
    cells, items_c = flatten(histograms)
    every, few = (weigh(cells, items_c[None], sizes) for sizes in ([3, 5, 7, 9], [3, 9]))
    assert every.ratio_b[0] == pytest.approx(few.ratio_b[0], abs=1e-4)


def test_unanimous_items_are_not_certified_on_patterns_never_seen():
    claim = certify_counts({5: [2500, 0, 0, 0, 0, 2500]}, rng=0).anonymous
    assert claim.verdict == "open"
    assert claim.loss.high < 1e-5


def test_rare_numbers_of_votes_do_not_affect_the_verdict():
    histograms = drawn(Crowd("", 0.5, 0.8, 0.2, {5: 4000})) | drawn(Crowd("", 0.5, 0.8, 0.2, {1: 20}), 1)
    assert main_sizes(histograms) == [5]
    assert certify_counts(histograms, rng=0).anonymous.verdict == "optimal"


def test_the_loss_of_a_resampled_model_matches_its_gap():
    """The loss of each bootstrap model is the gap of theory for that model, and its spread is that of the models."""
    cells, items_c = flatten({5: [30, 50, 200, 200, 200, 100]})
    best_3 = suprema(cells, items_c[None])[1][0, 0]
    model_b3 = resampled_models(cells, items_c, best_3, 50, np.random.default_rng(0))
    loss_b = count_loss(model_b3, cells, cells.totals(items_c))
    for theta_3, loss in zip(model_b3, loss_b, strict=True):
        a, r, nu = expit(theta_3)
        assert loss == pytest.approx(gap([nu, 1 - nu], [[a, 1 - a], [r, 1 - r]], 5, "exclude"), abs=1e-12)
    again_b3 = suprema(cells, np.tile(items_c, (1, 1)))[1][:, 0]
    np.testing.assert_allclose(again_b3[0], best_3, atol=1e-3)
    assert model_b3.std(axis=0).min() > 0.05


def test_hard_items_leave_the_verdict_open():
    claim = certify_counts(drawn(HardItems("", 0.5, 0.85, 0.15, {7: 6000}, 4.0)), rng=0).anonymous
    assert (claim.verdict, claim.reason) == ("open", "assumption failed")
    assert claim.status(Assumption.INDEPENDENT_VOTES) == Status.FAILED


def test_other_dependence_leaves_the_verdict_open_but_keeps_numbers():
    claim = certify_counts({7: [900, 30, 200, 30, 30, 200, 30, 900]}, rng=0).anonymous
    assert (claim.verdict, claim.certainty, claim.reason) == ("open", None, "assumption failed")
    assert claim.status(Assumption.INDEPENDENT_VOTES) == Status.FAILED
    assert claim.margin is not None
    assert claim.loss.value is not None
    assert claim.loss.high is None  # an interval by a model that failed would be one of nothing


def test_vote_counts_correlated_with_difficulty_leave_the_verdict_open():
    easy, hard = Crowd("", 0.5, 0.9, 0.1, {4: 4000}), Crowd("", 0.5, 0.7, 0.3, {7: 4000})
    claim = certify_counts(drawn(easy) | drawn(hard, 1), rng=0).anonymous
    assert claim.reason == "assumption failed"
    assert claim.status(Assumption.VOTES_PER_ITEM) == Status.FAILED


@pytest.mark.parametrize("histograms", [{}, {3: [0, 0, 0, 0]}, {1: [5, 6]}, {1: [5, 6], 2: [3, 4, 5]}])
def test_claim_is_open_without_enough_votes_to_identify_the_model(histograms):
    claim = certify_counts(histograms, rng=0).anonymous
    assert (claim.verdict, claim.reason) == ("open", "not identified")
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
    assert claim.verdict == "open"
    assert 0 <= claim.loss.low <= claim.loss.high <= 1
    assert claim.more_items is None or claim.more_items <= 1e9


@pytest.mark.parametrize(("concentration", "status"), [(4.0, "failed"), (1e6, "passed")])
def test_hard_items_are_seen_where_most_cells_are_empty(concentration, status):
    """Forty votes on each of 150 items: chi-square would pass anything, refitted simulations do not."""
    cells, items_c = flatten(drawn(HardItems("", 0.5, 0.8, 0.2, {40: 150}, concentration), 1))
    _, theta = suprema(cells, items_c[None])
    assert check_independence(cells, items_c, theta[0, 0], np.random.default_rng(0)).status == status


@pytest.mark.parametrize(
    ("n_items", "certainty"),
    [({3: 3000, 5: 3000}, "proved"), ({4: 3000}, "proved"), ({7: 500}, "supported"), ({7: 1500}, "proved")],
)
def test_a_proof_takes_more_items_than_support(n_items, certainty):
    claim = certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, n_items)), rng=0).anonymous
    assert (claim.verdict, claim.certainty) == ("optimal", certainty)


def test_the_divergence_exceeds_its_cut_less_often_than_promised():
    """By enumeration of every histogram of a few items; and a third of the cut would not do."""
    broken = False
    for n_items, cell_c in ((12, [0.4, 0.1, 0.2, 0.3]), (9, [0.9, 0.05, 0.03, 0.02]), (30, [0.5, 0.2, 0.3])):
        histogram_bc = all_histograms(n_items, len(cell_c))
        share = histogram_bc / n_items
        with np.errstate(divide="ignore", invalid="ignore"):
            nats = (histogram_bc * np.where(share > 0, np.log(share / np.array(cell_c)), 0.0)).sum(axis=1)
        chance = multinomial(histogram_bc, np.array(cell_c))
        assert chance.sum() == pytest.approx(1)
        for error in (0.3, 0.05, 0.001):
            cut = divergence_cut(len(cell_c) - 1, error)
            assert chance[nats > cut].sum() <= error
            broken |= chance[nats > cut / 3].sum() > error
    assert broken
