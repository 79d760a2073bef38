"""The named claim and its loss keep their level at the boundary, and have power away from it."""

import numpy as np
import pytest

from guarantees.levels import ALPHA, assert_loss_covered, assert_rarely_decided, claims, untied_gap, verdict_counts
from majorant.evidence.certificate.bootstrap import bootstrap, most_nonpositive
from majorant.evidence.certificate.bootstrap_claims import PanelModels, count_cells, panel_claim
from majorant.evidence.certificate.design import WorkerSets, worker_sets
from majorant.items import merge_equal_items
from majorant.simulate import one_coin_workers, simulate
from majorant.theory import panel_margin
from majorant.theory.panel import panel_margins
from panels import all_patterns, boundary_pool, case_of, fit_panel, pattern_joint
from sizes import many


def coins(*skill):
    return one_coin_workers(skill)


def assert_level_at_the_boundary(n_workers, n_items, cell, runs):
    rng = np.random.default_rng([n_workers, n_items, cell])
    prior, crew = boundary_pool(rng, n_workers)
    assert abs(panel_margin(prior, crew)) < 1e-9
    found = list(claims(rng, prior, crew, n_items, runs))
    assert_rarely_decided(f"{n_workers} workers, {n_items} items, cell {cell}", found)


@pytest.mark.parametrize("n_workers", [3, 5])
def test_boundary_pools_are_rarely_certified(n_workers):
    assert_level_at_the_boundary(n_workers, 10_000, 0, runs=many(30, quick=10))


@pytest.mark.long
@pytest.mark.parametrize("cell", range(4))
@pytest.mark.parametrize("n_items", [500, 2_000, 10_000])
@pytest.mark.parametrize("n_workers", [3, 5])
def test_boundary_pools_are_certified_no_more_often_than_the_level(n_workers, n_items, cell):
    assert_level_at_the_boundary(n_workers, n_items, cell, runs=500)


def test_clear_panels_are_decided():
    rng = np.random.default_rng(0)
    equal = verdict_counts(claims(rng, [0.5, 0.5], coins(0.75, 0.75, 0.75, 0.75, 0.75), 10_000, 10))
    unlike = verdict_counts(claims(rng, [0.5, 0.5], coins(0.55, 0.6, 0.6, 0.7, 0.95), 10_000, 10))
    assert equal["optimal"] >= 8
    assert unlike["not optimal"] >= 8


LOSSES = {
    "boundary of 3": None,
    "boundary of 5": None,
    "unlike 5": ([0.5, 0.5], coins(0.6, 0.65, 0.7, 0.8, 0.9)),
    "skewed 5": ([0.8, 0.2], coins(0.7, 0.7, 0.75, 0.75, 0.8)),
    "tied 4": ([0.4, 0.6], coins(0.6, 0.7, 0.8, 0.9)),
    "nearly 5": ([0.5, 0.5], coins(0.68, 0.7, 0.72, 0.8, 0.82)),
}


def assert_loss_is_covered(name, n_items, runs):
    rng = np.random.default_rng([len(name), n_items])
    prior, crew = LOSSES[name] or boundary_pool(rng, int(name[-1]))
    truth = untied_gap(prior, crew)
    found = list(claims(rng, prior, crew, n_items, runs))
    assert_loss_covered(f"{name}, {n_items} items", found, truth)


@pytest.mark.parametrize("name", ["boundary of 5", "unlike 5"])
def test_the_loss_lies_in_its_interval(name):
    assert_loss_is_covered(name, 2_000, runs=many(30, quick=10))


@pytest.mark.long
@pytest.mark.parametrize("n_items", [500, 2_000, 10_000])
@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_lies_in_its_interval_at_the_level(name, n_items):
    assert_loss_is_covered(name, n_items, runs=300)


def anonymous_boundary(rng, n_workers):
    """A panel of unlike workers and the prior at which its count margin is exactly 0."""
    while True:
        right_h2 = rng.uniform(0.6, 0.9, size=(n_workers, 2))
        crew = np.array([[[a, 1 - a], [1 - b, b]] for a, b in right_h2])
        at_half = _count_odds([0.5, 0.5], crew)
        odds = -at_half[: len(at_half) // 2].max(), -at_half[len(at_half) // 2 :].min()
        shift = odds[rng.integers(2)]
        prior = np.array([1 / (1 + np.exp(-shift)), 1 / (1 + np.exp(shift))])
        if 0.1 < prior[0] < 0.9 and abs(_count_margin(prior, crew)) < 1e-9:
            return prior, crew


def _count_odds(prior, crew):
    """Log-odds of class 0 given each number of votes for it, by adding up all ballots."""
    joint_pk, ballots = pattern_joint(prior, crew), all_patterns(len(crew))
    zeros_p = (ballots.label_n.reshape(-1, len(crew)) == 0).sum(axis=1)
    joint_ck = np.array([joint_pk[zeros_p == c].sum(axis=0) for c in range(len(crew) + 1)])
    return np.log(joint_ck[:, 0] / joint_ck[:, 1])


def _count_margin(prior, crew):
    odds_c = _count_odds(prior, crew)
    half = len(odds_c) // 2
    return min(-odds_c[:half].max(), odds_c[half:].min())


def test_count_margin_of_a_panel_matches_enumerating_its_ballots():
    rng = np.random.default_rng(5)
    for n_workers in (3, 5):
        prior, crew = boundary_pool(rng, n_workers)
        sets = WorkerSets(n_votes=n_workers, worker_sh=np.arange(n_workers)[None], items_s=np.ones(1))
        model = PanelModels(prior[None], crew[None])
        assert np.isclose(count_cells(sets, model).margin_b[0], _count_margin(prior, crew))


def assert_panel_level(n_workers, n_items, cell, runs):
    rng = np.random.default_rng([n_workers, n_items, cell, 7])
    prior, crew = anonymous_boundary(rng, n_workers)
    found = list(claims(rng, prior, crew, n_items, runs, claim=panel_claim))
    name = f"panel, {n_workers} workers, {n_items} items, cell {cell}"
    assert_rarely_decided(name, found)
    assert_loss_covered(name, found, truth=0.0)


def test_panels_at_the_anonymous_boundary_are_rarely_certified():
    assert_panel_level(5, 5_000, 0, runs=many(30, quick=10))


@pytest.mark.long
@pytest.mark.parametrize("cell", range(3))
@pytest.mark.parametrize("n_items", [500, 2_000, 10_000])
@pytest.mark.parametrize("n_workers", [3, 5])
def test_panels_at_the_anonymous_boundary_are_certified_no_more_often_than_the_level(n_workers, n_items, cell):
    assert_panel_level(n_workers, n_items, cell, runs=300)


def certified_sets(seed, n_items=20_000):
    """A crowd of 8 in threes, drawn at random: for each worker set whether it is certified, and its true margin."""
    rng = np.random.default_rng(seed)
    crew, prior = one_coin_workers(rng.uniform(0.65, 0.85, 8)), np.array([0.5, 0.5])
    merged = merge_equal_items(simulate(prior, crew, n_items, 3, rng=rng).votes)
    votes, copies = merged.votes, merged.weight_p
    fit = fit_panel(votes, copies)
    replicates = bootstrap(case_of(votes, fit, copies), rng=rng)
    [sets] = worker_sets(votes, copies)
    margin_bs = panel_margins(replicates.prior_bk, replicates.confusion, sets.worker_sh)
    certified_s = (margin_bs <= 0).sum(axis=0) <= most_nonpositive(len(margin_bs), 1 - ALPHA)
    return certified_s, panel_margins(prior, crew, sets.worker_sh)


def test_each_worker_set_is_certified_at_the_level():
    found = [certified_sets(seed) for seed in range(8)]
    certified, margin = (np.concatenate(part) for part in zip(*found, strict=True))
    wrong, right = certified[margin < 0].mean(), certified[margin > 0].mean()
    print(f"certified: {wrong:.3f} of the wrong sets, {right:.3f} of the right")
    assert wrong <= ALPHA
    assert certified[margin > 0.5].mean() > 0.5
