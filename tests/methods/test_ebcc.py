"""EBCC: its bound is the bound, never falls, survives many votes; restarts differ; correlated errors are seen."""

from itertools import combinations

import numpy as np
import pytest

import oracles.variational as oracle
from crowds import random_votes
from majorant.methods.ebcc import EBCC
from majorant.methods.em import prepare, thinned
from majorant.methods.ibcc import IBCC
from majorant.methods.tables import ExpectedCounts, share_counts
from majorant.votes import Votes


def test_the_objective_is_the_bound_written_out():
    votes = random_votes(np.random.default_rng(0), n_items=6, n_workers=3, n_classes=3, n_votes=20)
    model = EBCC(subtypes=2, max_iter=3, tol=0, accelerate=False, restarts=1)
    first = model.fit(votes, rng=0)
    again = EBCC(subtypes=2, max_iter=1).fit(votes, start=first, rng=0)
    learned = [first.learned[name] for name in ("votes_jkml", "subtypes_km", "items_k")]
    base_kl = np.where(np.eye(3, dtype=bool), 4.0, 1.0)
    written_out = oracle.ebcc_bound(votes, *learned, base_kl, np.full(2, 0.05), first.learned["base_k"])
    np.testing.assert_allclose(again.trace[0], written_out, rtol=1e-12)
    np.testing.assert_allclose(first.learned["subtypes"].sum(axis=2), first.posterior)


def test_with_one_subtype_it_is_ibcc_with_another_class_prior():
    votes = random_votes(np.random.default_rng(1))
    single = EBCC(subtypes=1, restarts=0, tol=1e-8).fit(votes, rng=0)
    share_k = single.learned["base_k"]
    np.testing.assert_allclose(share_k.sum(), len(votes.items))
    start = IBCC(tol=1e-8).fit(votes)
    assert single.confusion.shape == start.confusion.shape
    base_kl = np.where(np.eye(3, dtype=bool), 4.0, 1.0)
    bound = oracle.ibcc_bound(votes, single.learned["votes_jkml"][:, :, 0], single.learned["items_k"], base_kl, share_k)
    np.testing.assert_allclose(single.trace[-1], bound, rtol=1e-8)


@pytest.mark.parametrize("accelerate", [True, False])
def test_the_bound_never_falls(accelerate):
    for seed in range(3):
        votes = random_votes(np.random.default_rng(seed))
        trace = EBCC(accelerate=accelerate, max_iter=200).fit(votes, rng=seed).trace
        assert (np.diff(trace) >= -1e-9).all()


def test_the_m_step_by_hand():
    votes_jgl = np.arange(8.0).reshape(1, 4, 2)  # classes 0, 0, 1, 1
    start = EBCC(subtypes=2).m_step(ExpectedCounts(votes_jgl, np.array([1.0, 2.0, 3.0, 4.0]), 0.0), None)
    np.testing.assert_allclose(start.votes_jkml, [[[[4, 2], [6, 4]], [[5, 9], [7, 11]]]])
    np.testing.assert_allclose(start.subtypes_km, [[1.05, 2.05], [3.05, 4.05]])
    np.testing.assert_allclose(start.items_k, [4, 8])


def test_a_thousand_votes_on_an_item_leave_numbers():
    votes = random_votes(np.random.default_rng(0), n_items=3, n_workers=1_000, n_votes=3_000)
    answer = EBCC().fit(votes, rng=0)
    assert answer.converged
    assert np.isfinite(answer.posterior).all()
    assert np.isfinite(answer.trace).all()


def crowd_with_subtypes(rng, n_items=1_500, n_workers=20, n_votes=12):
    """Two kinds of items in each class: all workers see through the easy ones, half of them fail on the hard ones."""
    truth, hard = rng.integers(2, size=n_items), (rng.random(n_items) < 0.4).astype(int)
    right_jkm = np.full((n_workers, 2, 2), 0.92)
    right_jkm[: n_workers // 2, 0, 1] = right_jkm[n_workers // 2 :, 1, 1] = 0.25
    item = np.repeat(np.arange(n_items), n_votes)
    worker = np.concatenate([rng.permutation(n_workers)[:n_votes] for _ in range(n_items)])
    right = rng.random(len(item)) < right_jkm[worker, truth[item], hard[item]]
    names = {"items": range(n_items), "workers": range(n_workers), "labels": range(2)}
    return Votes.from_codes(item, worker, np.where(right, truth[item], 1 - truth[item]), **names), truth, hard


def test_it_finds_the_subtypes_it_was_simulated_with():
    votes, truth, hard = crowd_with_subtypes(np.random.default_rng(3))
    alone, together = IBCC().fit(votes), EBCC().fit(votes, rng=0)
    accuracy = [(answer.codes("first") == truth).mean() for answer in (alone, together)]
    assert accuracy[1] > accuracy[0] + 0.02
    group = 2 * truth + hard
    found = together.learned["subtypes"].reshape(len(truth), -1).argmax(axis=1)
    purity = sum(np.bincount(found[group == g]).max() for g in range(4)) / len(truth)
    assert purity > 0.85


def test_restarts_differ_and_the_highest_bound_wins():
    votes, _, _ = crowd_with_subtypes(np.random.default_rng(4), n_items=400)
    bound = [EBCC(restarts=restarts).fit(votes, rng=0).trace[-1] for restarts in (0, 5)]
    assert bound[1] > bound[0] + 1
    prepared = prepare(votes, None, None, clamp_gold=False)
    counts = share_counts(prepared.engine, prepared.totals)
    drawn = [
        params.votes_jkml
        for seed in (0, 1)
        for params in list(EBCC(restarts=2).starts(counts, counts.items_g, prepared, np.random.default_rng(seed)))[1:]
    ]
    assert min(np.abs(a - b).max() for a, b in combinations(drawn, 2)) > 0.1


def test_of_many_votes_some_items_choose_the_drawn_start_and_the_same_optimum_is_found(monkeypatch):
    votes, _, _ = crowd_with_subtypes(np.random.default_rng(3))
    everywhere = EBCC().fit(votes, rng=0)
    monkeypatch.setattr("majorant.methods.ebcc.SCOUTED_VOTES", votes.n_votes // 4)
    fit = EBCC().fit(votes, rng=0)
    np.testing.assert_allclose(fit.trace[-1], everywhere.trace[-1], rtol=1e-4)
    assert (fit.codes() == everywhere.codes()).mean() > 0.99


def test_the_items_that_choose_a_start_are_the_same_where_equal_items_are_merged():
    votes = random_votes(np.random.default_rng(5), n_items=5_000, n_workers=3, n_classes=2, n_votes=12_000)
    merged = prepare(votes, None, None, clamp_gold=False)
    apart = prepare(votes, None, None, clamp_gold=False, merge=False)
    assert merged.pattern_i is not None
    assert apart.pattern_i is None
    sums = [share_counts(few.engine, few.totals) for few in (thinned(merged, 3_000), thinned(apart, 3_000))]
    np.testing.assert_allclose(sums[0].votes_jgl, sums[1].votes_jgl)
    assert 2_500 < sums[0].votes_jgl.sum() < 3_500
    assert thinned(apart, 12_000) is None
