"""Claims about named workers, panels and many classes: hand-worked cases, and what must be refused."""

from dataclasses import replace

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.evidence.certificate import bootstrap as bootstrap_module
from majorant.evidence.certificate.assumption_tests import _places, _shuffled, workers_differ
from majorant.evidence.certificate.bootstrap import (
    FEW_REPLICATES,
    FEWEST_REPLICATES,
    N_REPLICATES,
    affordable_replicates,
    as_likely_passed,
    bootstrap,
    clearly_negative,
    drawn_items,
    lower_limit,
    majority_losses,
    majority_right,
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
from majorant.items import merge_equal_items
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.fit import Refits
from majorant.simulate import one_coin_crew, simulate
from majorant.theory import crew_accuracy, crew_margin
from majorant.theory.panel import panel_margins
from majorant.votes import Votes
from panels import all_patterns, case_of, fit_panel, pattern_joint, seen

EQUAL, UNLIKE = one_coin_crew([0.75] * 5), one_coin_crew([0.55, 0.6, 0.6, 0.7, 0.95])


def panel(crew, n_items=10_000, prior=(0.5, 0.5), seed=0):
    """Votes, copies and fit of a panel drawn from a model."""
    chance_p = pattern_joint(prior, crew).sum(axis=1)
    copies_p = np.random.default_rng(seed).multinomial(n_items, chance_p)
    votes, copies = seen(all_patterns(len(crew), len(prior)), copies_p)
    return votes, copies, fit_panel(votes, copies)


def shared_fit(votes, weights=None):
    """One confusion matrix for all votes, as a single worker who gave them all."""
    alone = replace(votes, worker_n=np.zeros(votes.n_votes, int), workers=("all",))
    fit = DawidSkene().fit(alone, weights=weights)
    return replace(fit, confusion=fit.confusion[0])


def test_merged_and_single_items_give_one_claim():
    votes = simulate([0.5, 0.5], UNLIKE, 600, 5, rng=1).votes
    merged = merge_equal_items(votes)
    fit, fit_m = fit_panel(votes, None), fit_panel(merged.votes, merged.weight_p)
    one = named_claim(case_of(votes, fit), level=0.95, rng=0)
    two = named_claim(case_of(merged.votes, fit_m, merged.weight_p), level=0.95, rng=0)
    assert np.isclose(one.margin, two.margin, atol=1e-3)
    assert np.isclose(one.loss.value, two.loss.value, atol=1e-4)
    assert one.by_votes == two.by_votes


def test_margin_is_the_crews_own_and_loss_is_worked_out_by_hand():
    votes, copies, fit = panel(UNLIKE)
    claim = named_claim(case_of(votes, fit, copies), level=0.95, rng=0)
    right, best = (claim.evidence[name] for name in ("majority_accuracy", "best_accuracy"))
    assert right == pytest.approx(crew_accuracy(fit.prior, fit.confusion), abs=0.003)
    assert best == pytest.approx(crew_accuracy(fit.prior, fit.confusion, rule="map"), abs=0.003)
    assert best - right == pytest.approx(claim.loss.value)
    assert np.isclose(claim.margin, crew_margin(fit.prior, fit.confusion))
    majority = (votes.label_n.reshape(-1, 5).sum(axis=1) > 2).astype(int)
    lost = fit.posterior.max(axis=1) - fit.posterior[np.arange(len(majority)), majority]
    assert np.isclose(claim.loss.value, np.average(lost, weights=copies))
    assert claim.verdict == "refuted"
    assert claim.loss.low > 0
    assert claim.by_votes == {5: "refuted"}


def test_combinations_decided_otherwise_are_those_with_a_tie_and_those_without():
    votes, copies, fit = panel(one_coin_crew([0.9, 0.6, 0.6, 0.6]), n_items=100_000)
    claim = named_claim(case_of(votes, fit, copies), level=0.95, rng=0)
    assert "decides 8 combinations of votes otherwise" in claim.why  # 2 against the expert, 6 even ones


@pytest.mark.parametrize(("n_classes", "countable"), [(2, True), (9, False), (900, False)])
def test_votes_that_fall_in_too_many_ways_are_not_counted(n_classes, countable):
    votes = Votes.from_codes([0] * 5, range(5), [0] * 5, items="a", workers="vwxyz", labels=range(n_classes))
    assert can_count(votes) is countable


def test_equal_workers_are_supported_for_all_items():
    votes, copies, fit = panel(EQUAL)
    claim = named_claim(case_of(votes, fit, copies), level=0.95, rng=0)
    assert (claim.verdict, claim.items_certified, claim.loss.low) == ("supported", 1.0, 0.0)
    assert claim.evidence["margin low"] > 0


def test_a_refit_one_by_one_serves_as_well():
    votes, copies, fit = panel(EQUAL, n_items=2_000)

    def refit(weights, start):
        fits = [DawidSkene().fit(votes, weights=weight_i, start=start) for weight_i in weights]
        prior, confusion, converged = zip(*((fit.prior, fit.confusion, fit.converged) for fit in fits), strict=True)
        return Refits(prior_bk=np.array(prior), confusion=np.array(confusion), converged_b=np.array(converged))

    slow = bootstrap(replace(case_of(votes, fit, copies), refit=refit), rng=0, n_replicates=5)
    fast = bootstrap(case_of(votes, fit, copies), rng=0, n_replicates=5)
    np.testing.assert_allclose(slow.confusion, fast.confusion, atol=5e-3)
    np.testing.assert_allclose(slow.loss_b, fast.loss_b, atol=1e-3)


def test_workers_without_an_error_are_not_taken_for_perfect():
    votes, copies = seen(all_patterns(3), np.array([100, 0, 0, 0, 0, 0, 0, 100]))
    fit = fit_panel(votes, copies)
    replicates = bootstrap(case_of(votes, fit, copies), rng=0)
    assert (np.quantile(replicates.confusion[:, :, 0, 1], 0.95, axis=0) > 1 / 200).all()
    assert named_claim(case_of(votes, fit, copies, replicates), level=0.95, rng=0).verdict == "undecided"


def test_thin_crowds_get_no_verdict_and_no_loss():
    votes = simulate([0.5, 0.5], one_coin_crew(np.linspace(0.6, 0.9, 90)), 300, 3, rng=0).votes
    claim = named_claim(case_of(votes, DawidSkene().fit(votes)), level=0.95, rng=0)
    assert (claim.verdict, claim.loss.value) == ("undecided", None)
    assert "11 votes" in claim.why


def test_a_crowds_margin_is_not_that_of_its_worst_set():
    crew = np.concatenate([np.repeat(one_coin_crew([0.8]), 11, axis=0), one_coin_crew([0.2])])
    votes = simulate([0.5, 0.5], crew[:11], 3_000, 3, rng=0).votes
    rare = Votes.from_codes(
        [*votes.item_n, 3000, 3000, 3000], [*votes.worker_n, 0, 1, 11], [*votes.label_n, 0, 0, 1],
        items=range(3001), workers=range(12), labels=(0, 1),
    )  # fmt: skip
    fit = DawidSkene().fit(rare)
    replicates = bootstrap(case_of(rare, fit), rng=0, n_replicates=50)
    claim = named_claim(case_of(rare, fit, replicates=replicates), level=0.95, rng=0)
    assert claim.items_certified < 1
    assert claim.margin > -1


@pytest.mark.parametrize("make", [named_claim, panel_claim])
def test_too_few_votes_or_the_wrong_fit(make):
    votes = simulate([0.5, 0.5], one_coin_crew([0.8] * 4), 50, 2, rng=0).votes
    assert make(case_of(votes, DawidSkene().fit(votes)), level=0.95, rng=0).verdict == "unidentified"
    votes, copies, fit = panel(EQUAL, n_items=300)
    with pytest.raises(ConfigError, match="level"):
        make(case_of(votes, fit, copies), level=1.0, rng=0)
    with pytest.raises(ConfigError, match="matri"):
        make(case_of(votes, replace(fit, confusion=None), copies), level=0.95, rng=0)
    with pytest.raises(ConfigError, match="copies"):
        make(case_of(votes, fit, copies + 0.5), level=0.95, rng=0)


def test_odds_of_votes_by_hand():
    votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [0, 0, 1], items="a", workers="xyz", labels="ny")
    crew = one_coin_crew([0.6, 0.6, 0.9])
    found = vote_odds(votes, np.array([0]), leaders(votes).argmax(axis=1)[[0]], np.array([[0.5, 0.5]]), crew[None])
    assert np.isclose(found[0, 0], 2 * np.log(1.5) - np.log(9))


def test_a_panel_can_lose_to_names_and_not_to_counts():
    votes, copies, fit = panel(UNLIKE)
    anonymous = panel_claim(case_of(votes, fit, copies), level=0.95, rng=0)
    assert anonymous.verdict == "supported"
    assert anonymous.loss.value == 0
    right = crew_accuracy(fit.prior, fit.confusion)
    assert anonymous.evidence["majority_accuracy"] == anonymous.evidence["best_accuracy"] == pytest.approx(right)


def test_a_skewed_panel_loses_to_counts():
    votes, copies, fit = panel(one_coin_crew([0.6, 0.6, 0.65, 0.65, 0.6]), prior=(0.9, 0.1), n_items=50_000)
    claim = panel_claim(case_of(votes, fit, copies), level=0.95, rng=0)
    assert claim.verdict == "refuted"
    assert claim.evidence["majority_accuracy"] == pytest.approx(crew_accuracy(fit.prior, fit.confusion))
    assert claim.evidence["best_accuracy"] == pytest.approx(claim.evidence["majority_accuracy"] + claim.loss.value)


def test_panel_or_crowd():
    assert design(panel(EQUAL)[0], panel(EQUAL)[1]).kind == "panel"
    crowd = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 500, 3, rng=0).votes
    assert design(crowd).kind == "crowd"
    assert "crowd" in design(crowd).text
    few = simulate([0.5, 0.5], one_coin_crew([0.8] * 40), 15, 3, rng=0).votes
    assert design(few).kind == "crowd"
    assert design(few).text == "Taken for a crowd: 15 items are too few to judge 15 sets of workers as a panel."
    one = simulate([0.5, 0.5], one_coin_crew([0.8] * 3), 8, 3, rng=0).votes
    assert design(one).text == "Taken for a crowd: 8 items are too few to judge 1 set of workers as a panel."


def test_sets_count_every_item_once():
    votes = simulate([0.5, 0.5], one_coin_crew([0.8] * 6), 200, ([0, 2, 3], [0.2, 0.4, 0.4]), rng=0).votes
    sets = worker_sets(votes)
    assert sum(one.items_s.sum() for one in sets) == (votes.votes_i > 0).sum()
    wanted = {tuple(sorted(votes.worker_n[votes.item_n == i])) for i in range(200)} - {()}
    assert {tuple(row) for one in sets for row in one.worker_sh.tolist()} == wanted


def test_three_workers_of_two_classes_cannot_be_tested():
    votes, copies, fit = panel(one_coin_crew([0.7, 0.8, 0.9]))
    found = dependence(votes, fit, copies=copies, rng=0)
    assert (found.gate.passed, found.n_eff.value) == (None, None)


def test_unanimous_votes_say_nothing_about_workers():
    votes = Votes.from_codes([0, 0, 1, 1], [0, 1] * 2, [0, 0, 1, 1], items="ab", workers="wx", labels="ny")
    assert workers_differ(votes, rng=0).passed is None


NOISE = np.array([[0.7, 0.2, 0.1], [0.15, 0.75, 0.1], [0.1, 0.2, 0.7]])


def merged_counts(prior, n_items, n_votes, seed=0):
    """The vote counts of a crowd, each one item, and how often they came up."""
    votes = simulate(prior, NOISE, n_items, n_votes, rng=seed).votes
    merged = merge_equal_items(replace(votes, worker_n=np.zeros(votes.n_votes, int), workers=("all",)), at_most=1)
    return merged.votes, merged.weight_p


@pytest.mark.parametrize(
    ("prior", "n_votes", "verdict"), [([0.3, 0.4, 0.3], 5, "supported"), ([0.9, 0.05, 0.05], 5, "refuted")]
)
def test_many_classes_supported_and_refuted(prior, n_votes, verdict):
    votes, copies = merged_counts(prior, 30_000, n_votes)
    claim = multiclass_claim(case_of(votes, shared_fit(votes, copies), copies), level=0.95, rng=0)
    assert claim.untied == verdict
    assert (claim.verdict, dict(claim.by_votes)) == ("refuted", {n_votes: "refuted"})  # ties go to the commonest class
    assert 0 < claim.tie_loss.low <= claim.loss.low


def test_classes_are_named_by_the_diagonal():
    votes = simulate([0.3, 0.4, 0.3], NOISE, 500, 5, rng=0).votes
    fit = shared_fit(votes)
    order = [2, 0, 1]
    mixed = replace(fit, posterior=fit.posterior[:, order], prior=fit.prior[order], confusion=fit.confusion[order])
    np.testing.assert_array_equal(align(mixed).confusion, fit.confusion)
    np.testing.assert_array_equal(align(mixed).posterior, fit.posterior)


def test_loss_without_votes_is_not_a_number():
    votes = Votes.from_codes([0, 0], [0, 1], [0, 1], items="ab", workers="wx", labels="ny")
    models = np.array([[0.5, 0.5]]), one_coin_crew([0.7, 0.7])[None]
    found = majority_losses(votes, leaders(votes), np.array([[0, 1]]), *models)
    assert np.isnan(found.all_b).all()
    assert np.isnan(found.tied_b).all()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shared", [False, True])
def test_losses_are_those_of_the_posteriors_item_by_item(n_classes, shared, monkeypatch):
    monkeypatch.setattr(bootstrap_module, "SCORES_AT_ONCE", 100)
    rng = np.random.default_rng(n_classes)
    prior, crew = rng.dirichlet(np.ones(n_classes), size=4), rng.dirichlet(np.ones(n_classes), size=(4, 6, n_classes))
    votes = simulate(prior[0], one_coin_crew(np.full(6, 0.6), n_classes), 80, ([1, 2, 4], [1, 1, 1]), rng=rng).votes
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
        assert np.isclose(found.all_b[b], lost.sum())
        assert np.isclose(found.tied_b[b], lost[tied].sum())
        assert np.allclose(majority_right(votes, top, prior[b], crew[b, 0] if shared else crew[b]), drawn)
    assert (found.all_b > found.tied_b).all()
    assert (found.tied_b > 0).all()


def test_items_are_drawn_with_replacement_whichever_way():
    copies = np.array([1.0, 3.0, 6.0])
    few = drawn_items(copies, 20_000, np.random.default_rng(0))
    many = drawn_items(10 * copies, 20_000, np.random.default_rng(0))
    for drawn, n_items in ((few, 10), (many, 100)):
        assert (drawn.sum(axis=1) == n_items).all()
        np.testing.assert_allclose(drawn.mean(axis=0), n_items * copies / 10, rtol=0.03)
        np.testing.assert_allclose(np.cov(drawn.T)[0, 1], -n_items * 0.1 * 0.3, rtol=0.1)


def test_sets_are_certified_by_the_lower_limit_of_their_margins():
    votes = simulate([0.5, 0.5], one_coin_crew(np.linspace(0.68, 0.8, 9)), 3_000, ([3, 4, 5], [1, 1, 1]), rng=0).votes
    fit = DawidSkene().fit(votes)
    replicates = bootstrap(case_of(votes, fit), rng=1)
    sets = worker_sets(votes)
    found = set_margins(sets, fit, replicates, 0.9)
    margin_bs = [panel_margins(replicates.prior_bk, replicates.confusion, one.worker_sh) for one in sets]
    wanted = np.concatenate([lower_limit(one, 0.9) > 0 for one in margin_bs])
    assert 0.1 < wanted.mean() < 0.9
    np.testing.assert_array_equal(found.certified_s, wanted)


def test_a_shuffle_mixes_the_votes_of_each_item_evenly_and_no_others():
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 300, ([2, 3, 4], [1, 1, 1]), n_workers=9, rng=0)
    rng, seen = np.random.default_rng(0), np.zeros((votes.n_votes, votes.n_votes))
    for _ in range(400):
        order_n = _shuffled(_places(votes), rng)
        assert (votes.item_n[order_n] == votes.item_n).all()
        assert len(np.unique(order_n)) == votes.n_votes
        seen[np.arange(votes.n_votes), order_n] += 1
    size_n = votes.votes_i[votes.item_n]
    place = seen[np.arange(votes.n_votes), votes.offsets_i[votes.item_n]]  # how often each place got the first vote
    standard = (place - 400 / size_n) / np.sqrt(400 / size_n * (1 - 1 / size_n))
    assert abs(standard.mean()) < 4 / np.sqrt(len(standard))
    assert np.abs(standard).max() < 4.5
    assert 0.85 < standard.std() < 1.15


def test_of_many_votes_fewer_replicates_are_drawn_and_their_ends_are_as_likely_to_be_passed(monkeypatch):
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=20, n_votes=3, n_workers=5, rng=0)
    assert affordable_replicates(votes, 0.95) == N_REPLICATES
    monkeypatch.setattr(bootstrap_module, "MOST_WORK", 120 * 150)
    assert affordable_replicates(votes, 0.95) == 150
    monkeypatch.setattr(bootstrap_module, "VERY_MUCH_WORK", 120 * 80)
    assert affordable_replicates(votes, 0.95) == 80
    monkeypatch.setattr(bootstrap_module, "VERY_MUCH_WORK", 0)
    assert [affordable_replicates(votes, level) for level in (0.95, 0.99)] == [FEWEST_REPLICATES, FEW_REPLICATES]
    rng, level = np.random.default_rng(0), 0.95
    passed = []
    for n_replicates in (FEWEST_REPLICATES, FEW_REPLICATES, N_REPLICATES):
        value_rb = rng.normal(size=(20_000, n_replicates + 1))
        low_r = np.quantile(value_rb[:, 1:], as_likely_passed((1 - level) / 2, n_replicates), axis=1)
        passed.append((value_rb[:, 0] < low_r).mean())
        assert (value_rb[:, 0] < lower_limit(value_rb[:, 1:].T, level)).mean() < 0.05 + 3 * np.sqrt(0.05 / 20_000)
    assert max(passed) - min(passed) < 4 * np.sqrt(2 * 0.03 * 0.97 / 20_000)


def test_a_spread_by_the_fewest_replicates_refutes_no_more_often_than_one_by_few():
    rng, n_runs = np.random.default_rng(1), 100_000
    rates = []
    for n_replicates in (FEWEST_REPLICATES, FEW_REPLICATES):
        value_p = rng.normal(size=n_runs)
        value_bp = value_p + rng.normal(size=(n_replicates, n_runs))
        rates.append(clearly_negative(value_p, value_bp, n_tried=10, level=0.95).mean())
    assert rates[0] <= rates[1] + 3 * np.sqrt(2 * 0.005 / n_runs)
    assert rates[1] < 0.01
