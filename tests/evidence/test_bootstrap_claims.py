"""Claims about named workers, panels and many classes: worked examples and rejected input."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.evidence.certificate import bootstrap as bootstrap_module
from majorant.evidence.certificate import weighted_em
from majorant.evidence.certificate.assumption_tests import check_exchangeable, shuffle_within_items
from majorant.evidence.certificate.bootstrap import (
    bootstrap,
    clearly_negative,
    majority_losses,
    most_nonpositive,
    resample_items,
    vote_odds,
)
from majorant.evidence.certificate.bootstrap_claims import (
    align,
    can_count,
    multiclass_claim,
    named_claim,
    panel_claim,
    set_margins,
)
from majorant.evidence.certificate.dependence import dependence
from majorant.evidence.certificate.design import design, leaders, worker_sets
from majorant.evidence.certificate.weighted_em import fit_weightings
from majorant.items import merge_equal_items
from majorant.methods.dawid_skene import DawidSkene
from majorant.simulate import one_coin_workers, simulate
from majorant.theory import panel_accuracy, panel_margin
from majorant.votes import Votes
from panels import all_patterns, case_of, fit_panel, pattern_joint, seen

EQUAL, UNLIKE = one_coin_workers([0.75] * 5), one_coin_workers([0.55, 0.6, 0.6, 0.7, 0.95])


def panel(crew, n_items=10_000, prior=(0.5, 0.5), seed=0):
    """Votes, copies and fit of a panel drawn from a model."""
    chance_p = pattern_joint(prior, crew).sum(axis=1)
    copies_p = np.random.default_rng(seed).multinomial(n_items, chance_p)
    votes, copies = seen(all_patterns(len(crew), len(prior)), copies_p)
    return votes, copies, fit_panel(votes, copies)


def claim_of(make, case, rng=0):
    """The claim with its bootstrap."""
    return make(case, bootstrap(case, rng=rng), level=0.95)


def shared_fit(votes, weights=None):
    """One confusion matrix for all votes, as a single worker who gave them all."""
    alone = replace(votes, worker_n=np.zeros(votes.n_votes, int), workers=("all",))
    fit = DawidSkene(smoothing=0.01, min_rise=None).fit(alone, weights=weights)
    return replace(fit, confusion=fit.confusion[0])


def test_merged_and_single_items_give_one_claim():
    votes = simulate([0.5, 0.5], UNLIKE, 600, 5, rng=1).votes
    merged = merge_equal_items(votes)
    fit, fit_m = fit_panel(votes, None), fit_panel(merged.votes, merged.weight_p)
    one = claim_of(named_claim, case_of(votes, fit))
    two = claim_of(named_claim, case_of(merged.votes, fit_m, merged.weight_p))
    assert np.isclose(one.margin, two.margin, atol=1e-3)
    assert np.isclose(one.loss.value, two.loss.value, atol=1e-4)
    assert one.verdict == two.verdict


def test_margin_matches_the_panel_and_loss_matches_hand_calculation():
    votes, copies, fit = panel(UNLIKE)
    claim = claim_of(named_claim, case_of(votes, fit, copies))
    assert claim.accuracy == pytest.approx(panel_accuracy(fit.prior, fit.confusion), abs=0.003)
    best = panel_accuracy(fit.prior, fit.confusion, rule="map")
    assert claim.accuracy + claim.loss.value == pytest.approx(best, abs=0.003)
    assert np.isclose(claim.margin, panel_margin(fit.prior, fit.confusion))
    majority = (votes.label_n.reshape(-1, 5).sum(axis=1) > 2).astype(int)
    lost = fit.posterior.max(axis=1) - fit.posterior[np.arange(len(majority)), majority]
    assert np.isclose(claim.loss.value, np.average(lost, weights=copies))
    assert (claim.verdict, claim.certainty) == ("not optimal", "supported")
    assert claim.loss.low > 0


def test_a_claim_without_replicates_is_a_point_estimate():
    votes, copies, fit = panel(EQUAL)
    case = case_of(votes, fit, copies)
    for make in (named_claim, panel_claim):
        point, whole = make(case, None, level=0.95), claim_of(make, case)
        assert (point.verdict, point.loss.high) == ("open", None)
        assert (point.margin, point.loss.value, point.accuracy) == (whole.margin, whole.loss.value, whole.accuracy)


@pytest.mark.parametrize(("n_classes", "countable"), [(2, True), (9, False), (900, False)])
def test_votes_that_fall_in_too_many_ways_are_not_counted(n_classes, countable):
    votes = Votes.from_codes([0] * 5, range(5), [0] * 5, items="a", workers="vwxyz", labels=range(n_classes))
    assert can_count(votes) is countable


def test_equal_workers_are_supported_for_all_items():
    votes, copies, fit = panel(EQUAL)
    claim = claim_of(named_claim, case_of(votes, fit, copies))
    assert (claim.verdict, claim.loss.low) == ("optimal", 0.0)
    assert claim.margin > 0


def resampled(votes, copies, n):
    return resample_items(copies, n, np.random.default_rng(0))


def assert_same_fits(votes, weight_bi, start, *, atol):
    """Refitting all weightings at once ends where refitting each on its own does."""
    prior_bk, confusion = fit_weightings(votes, weight_bi, start)
    slow = [
        DawidSkene(smoothing=0.01, min_rise=None, tol=1e-8, max_iter=5_000).fit(votes, weights=weight_i, start=start)
        for weight_i in weight_bi
    ]
    np.testing.assert_allclose(prior_bk, [fit.prior for fit in slow], atol=atol)
    np.testing.assert_allclose(confusion, [fit.confusion for fit in slow], atol=atol)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_refitting_one_replicate_at_a_time_gives_the_same_bootstrap(n_classes, monkeypatch):
    crew = one_coin_workers([0.75, 0.7, 0.8, 0.65, 0.9], n_classes)
    votes, copies, fit = panel(crew, n_items=3_000, prior=np.full(n_classes, 1 / n_classes))
    assert_same_fits(votes, resampled(votes, copies, 6), fit, atol=2e-3)
    monkeypatch.setattr(weighted_em, "ENTRIES", 1)  # one weighting at a time
    assert_same_fits(votes, resampled(votes, copies, 3), fit, atol=2e-3)


def test_a_shared_matrix_is_refitted_like_one_worker_who_gave_all_votes():
    votes = simulate([0.3, 0.7], [[0.8, 0.2], [0.3, 0.7]], 300, 5, rng=1).votes
    alone = replace(votes, worker_n=np.zeros(votes.n_votes, int), workers=("all",))
    fit, weight_bi = DawidSkene(smoothing=0.01, min_rise=None, tol=1e-9).fit(alone), resampled(votes, np.ones(300), 4)
    one = fit_weightings(alone, weight_bi, fit)
    shared = fit_weightings(votes, weight_bi, replace(fit, confusion=fit.confusion[0]))
    np.testing.assert_allclose(one[0], shared[0])
    np.testing.assert_allclose(one[1][:, 0], shared[1])


def test_workers_without_errors_are_not_assumed_perfect():
    votes, copies = seen(all_patterns(3), np.array([100, 0, 0, 0, 0, 0, 0, 100]))
    fit = fit_panel(votes, copies)
    replicates = bootstrap(case_of(votes, fit, copies), rng=0)
    assert (np.quantile(replicates.confusion[:, :, 0, 1], 0.95, axis=0) > 1 / 200).all()
    assert named_claim(case_of(votes, fit, copies), replicates, level=0.95).verdict == "open"


def test_thin_crowds_get_no_verdict_and_no_loss():
    votes = simulate([0.5, 0.5], one_coin_workers(np.linspace(0.6, 0.9, 90)), 300, 3, rng=0).votes
    claim = claim_of(named_claim, case_of(votes, DawidSkene(smoothing=0.01, min_rise=None).fit(votes)))
    assert (claim.reason, claim.loss.value) == ("not identified", None)


def test_crowd_margin_excludes_a_rare_worker_set():
    crew = np.concatenate([np.repeat(one_coin_workers([0.8]), 11, axis=0), one_coin_workers([0.2])])
    votes = simulate([0.5, 0.5], crew[:11], 3_000, 3, rng=0).votes
    rare = Votes.from_codes(
        [*votes.item_n, 3000, 3000, 3000], [*votes.worker_n, 0, 1, 11], [*votes.label_n, 0, 0, 1],
        items=range(3001), workers=range(12), labels=(0, 1),
    )  # fmt: skip
    fit = DawidSkene(smoothing=0.01, min_rise=None).fit(rare)
    claim = named_claim(case_of(rare, fit), None, level=0.95)
    assert claim.margin > -1


@pytest.mark.parametrize("make", [named_claim, panel_claim])
def test_too_few_votes_or_the_wrong_fit(make):
    votes = simulate([0.5, 0.5], one_coin_workers([0.8] * 4), 50, 2, rng=0).votes
    assert (
        make(case_of(votes, DawidSkene(smoothing=0.01, min_rise=None).fit(votes)), None, level=0.95).reason
        == "not identified"
    )
    votes, copies, fit = panel(EQUAL, n_items=300)
    with pytest.raises(ConfigError, match="matri"):
        make(case_of(votes, replace(fit, confusion=None), copies), None, level=0.95)
    with pytest.raises(ConfigError, match="copies"):
        make(case_of(votes, fit, copies + 0.5), None, level=0.95)


def test_odds_of_votes_by_hand():
    votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [0, 0, 1], items="a", workers="xyz", labels="ny")
    crew = one_coin_workers([0.6, 0.6, 0.9])
    found = vote_odds(votes, np.array([0]), leaders(votes).argmax(axis=1)[[0]], np.array([[0.5, 0.5]]), crew[None])
    assert np.isclose(found[0, 0], 2 * np.log(1.5) - np.log(9))


def test_a_panel_can_lose_to_names_and_not_to_counts():
    votes, copies, fit = panel(UNLIKE)
    anonymous = claim_of(panel_claim, case_of(votes, fit, copies))
    assert anonymous.verdict == "optimal"
    assert anonymous.loss.value == 0
    assert anonymous.accuracy == pytest.approx(panel_accuracy(fit.prior, fit.confusion))


def test_majority_is_not_optimal_on_a_skewed_panel():
    votes, copies, fit = panel(one_coin_workers([0.6, 0.6, 0.65, 0.65, 0.6]), prior=(0.9, 0.1), n_items=50_000)
    claim = claim_of(panel_claim, case_of(votes, fit, copies))
    assert claim.verdict == "not optimal"
    assert claim.accuracy == pytest.approx(panel_accuracy(fit.prior, fit.confusion))


def test_panel_or_crowd():
    assert design(panel(EQUAL)[0], panel(EQUAL)[1]).kind == "panel"
    crowd = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 500, 3, rng=0).votes
    assert design(crowd).kind == "crowd"
    few = simulate([0.5, 0.5], one_coin_workers([0.8] * 40), 15, 3, rng=0).votes
    assert (design(few).kind, design(few).n_items) == ("crowd", 15)  # too few items to judge 15 sets of workers


def test_sets_count_every_item_once():
    votes = simulate([0.5, 0.5], one_coin_workers([0.8] * 6), 200, ([0, 2, 3], [0.2, 0.4, 0.4]), rng=0).votes
    sets = worker_sets(votes)
    assert sum(one.items_s.sum() for one in sets) == (votes.votes_i > 0).sum()
    wanted = {tuple(sorted(votes.worker_n[votes.item_n == i])) for i in range(200)} - {()}
    assert {tuple(row) for one in sets for row in one.worker_sh.tolist()} == wanted


def test_three_workers_of_two_classes_cannot_be_tested():
    votes, copies, fit = panel(one_coin_workers([0.7, 0.8, 0.9]))
    found = dependence(votes, fit, copies=copies, rng=0)
    assert (found.tested.status, found.n_eff.value) == ("untestable", None)


def test_unanimous_votes_say_nothing_about_workers():
    votes = Votes.from_codes([0, 0, 1, 1], [0, 1] * 2, [0, 0, 1, 1], items="ab", workers="wx", labels="ny")
    assert check_exchangeable(votes, rng=0).status == "untestable"


NOISE = np.array([[0.7, 0.2, 0.1], [0.15, 0.75, 0.1], [0.1, 0.2, 0.7]])


def merged_counts(prior, n_items, n_votes, seed=0):
    """The vote counts of a crowd, each one item, and how often they came up."""
    votes = simulate(prior, NOISE, n_items, n_votes, rng=seed).votes
    merged = merge_equal_items(replace(votes, worker_n=np.zeros(votes.n_votes, int), workers=("all",)), at_most=1)
    return merged.votes, merged.weight_p


@pytest.mark.parametrize(("prior", "verdict"), [([0.3, 0.4, 0.3], "optimal"), ([0.9, 0.05, 0.05], "not optimal")])
def test_many_classes_optimal_and_not(prior, verdict):
    votes, copies = merged_counts(prior, 30_000, 5)
    claim = claim_of(multiclass_claim, case_of(votes, shared_fit(votes, copies), copies))
    assert claim.verdict == verdict
    assert (claim.loss.low > 0) == (verdict == "not optimal")
    assert claim.tied_share > 0.05


def test_classes_are_named_by_the_diagonal():
    votes = simulate([0.3, 0.4, 0.3], NOISE, 500, 5, rng=0).votes
    fit = shared_fit(votes)
    order = [2, 0, 1]
    mixed = replace(fit, posterior=fit.posterior[:, order], prior=fit.prior[order], confusion=fit.confusion[order])
    np.testing.assert_array_equal(align(mixed).confusion, fit.confusion)
    np.testing.assert_array_equal(align(mixed).posterior, fit.posterior)


def test_loss_without_votes_is_not_a_number():
    votes = Votes.from_codes([0, 0], [0, 1], [0, 1], items="ab", workers="wx", labels="ny")
    models = np.array([[0.5, 0.5]]), one_coin_workers([0.7, 0.7])[None]
    found = majority_losses(votes, leaders(votes), np.array([[0, 1]]), *models)
    assert np.isnan(found).all()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shared", [False, True])
def test_losses_match_the_posteriors_item_by_item(n_classes, shared, monkeypatch):
    monkeypatch.setattr(bootstrap_module, "_scores", partial(bootstrap_module._scores, entries=100))
    rng = np.random.default_rng(n_classes)
    prior, crew = rng.dirichlet(np.ones(n_classes), size=4), rng.dirichlet(np.ones(n_classes), size=(4, 6, n_classes))
    votes = simulate(prior[0], one_coin_workers(np.full(6, 0.6), n_classes), 80, ([1, 2, 4], [1, 1, 1]), rng=rng).votes
    top, weight = leaders(votes), rng.integers(0, 3, size=(4, 80))
    tied = top.sum(axis=1) > 1
    assert tied.any()
    found = majority_losses(votes, top, weight, prior, crew[:, 0] if shared else crew)
    for b in range(4):
        q = np.tile(prior[b], (80, 1))
        for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
            q[i] *= crew[b, 0 if shared else j, :, l]
        q /= q.sum(axis=1, keepdims=True)
        drawn = (q * top).sum(axis=1) / top.sum(axis=1)
        lost = weight[b] * (q.max(axis=1) - drawn) / weight[b].sum()
        assert np.isclose(found[b], lost[~tied].sum())
    assert (found > 0).all()


def test_items_are_drawn_with_replacement_whichever_way():
    copies = np.array([1.0, 3.0, 6.0])
    few = resample_items(copies, 20_000, np.random.default_rng(0))
    many = resample_items(10 * copies, 20_000, np.random.default_rng(0))
    for drawn, n_items in ((few, 10), (many, 100)):
        assert (drawn.sum(axis=1) == n_items).all()
        np.testing.assert_allclose(drawn.mean(axis=0), n_items * copies / 10, rtol=0.03)
        np.testing.assert_allclose(np.cov(drawn.T)[0, 1], -n_items * 0.1 * 0.3, rtol=0.1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_margin_of_each_worker_set_matches_its_panel(n_classes):
    votes = simulate(
        np.full(n_classes, 1 / n_classes),
        one_coin_workers(np.linspace(0.6, 0.9, 7), n_classes),
        150,
        ([3, 4], [1, 1]),
        rng=0,
    ).votes
    fit, sets = DawidSkene(smoothing=0.01, min_rise=None).fit(votes), worker_sets(votes)
    found = set_margins(sets, fit)
    wanted = [panel_margin(fit.prior, fit.confusion[worker_h]) for worker_h in found.worker]
    np.testing.assert_allclose(found.margin_s, wanted, atol=1e-9)
    assert found.items_s.sum() == 150


def test_large_crowds_of_many_classes_skip_assignment_problems():
    votes = simulate(np.full(4, 0.25), one_coin_workers(np.full(60, 0.7), 4), 100, 20, rng=0).votes
    fit = DawidSkene(smoothing=0.01, min_rise=None).fit(votes)
    margins = set_margins(worker_sets(votes), fit)
    assert np.isnan(margins.margin_s).all()
    assert margins.binding is None


def test_a_shuffle_mixes_the_votes_of_each_item_evenly_and_no_others():
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 300, ([2, 3, 4], [1, 1, 1]), n_workers=9, rng=0)
    rng, seen = np.random.default_rng(0), np.zeros((votes.n_votes, votes.n_votes))
    for _ in range(400):
        order_n = shuffle_within_items(votes.item_n, rng)
        assert (votes.item_n[order_n] == votes.item_n).all()
        assert len(np.unique(order_n)) == votes.n_votes
        seen[np.arange(votes.n_votes), order_n] += 1
    size_n = votes.votes_i[votes.item_n]
    place = seen[np.arange(votes.n_votes), votes.offsets_i[votes.item_n]]  # how often each place got the first vote
    standard = (place - 400 / size_n) / np.sqrt(400 / size_n * (1 - 1 / size_n))
    assert abs(standard.mean()) < 4 / np.sqrt(len(standard))
    assert np.abs(standard).max() < 4.5
    assert 0.85 < standard.std() < 1.15


@pytest.mark.parametrize("n_replicates", [100, 200])
def test_a_margin_within_monte_carlo_error_of_zero_is_not_above_it(n_replicates):
    """If 5% of all replicates are at or below 0, hardly any sample of them puts the margin above 0."""
    against = np.random.default_rng(0).binomial(n_replicates, 0.05, size=100_000)
    assert (against <= most_nonpositive(n_replicates, 0.95)).mean() < 0.025


def test_a_spread_by_replicates_refutes_no_more_often_than_the_level():
    rng, n_runs = np.random.default_rng(1), 100_000
    value_p = rng.normal(size=n_runs)
    value_bp = value_p + rng.normal(size=(100, n_runs))
    assert clearly_negative(value_p, value_bp, n_tried=10, level=0.95).mean() < 0.005
