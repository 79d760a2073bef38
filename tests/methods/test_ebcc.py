"""EBCC: the objective is the evidence lower bound and never falls; correlated errors are recognised."""

import numpy as np
import pytest

import oracles.variational as oracle
from crowds import random_votes
from majorant.methods.ebcc import EBCC
from majorant.methods.ibcc import IBCC
from majorant.methods.tables import ExpectedCounts, prepare, share_counts
from majorant.votes import Votes


def test_the_objective_is_the_bound_written_out():
    votes = random_votes(np.random.default_rng(0), n_items=6, n_workers=3, n_classes=3, n_votes=20)
    model = EBCC(subtypes=2, max_iter=3, tol=0, accelerate=False)
    first = model.fit(votes)
    again = EBCC(subtypes=2, max_iter=1).fit(votes, start=first)
    learned = [first.learned[name] for name in ("votes_jkml", "subtypes_km", "items_k")]
    base_kl = np.where(np.eye(3, dtype=bool), 4.0, 1.0)
    written_out = oracle.ebcc_bound(votes, *learned, base_kl, np.full(2, 0.05), first.learned["base_k"])
    np.testing.assert_allclose(again.trace[0], written_out, rtol=1e-12)
    np.testing.assert_allclose(first.learned["subtypes"].sum(axis=2), first.posterior)


def test_with_one_subtype_it_is_ibcc_with_another_class_prior():
    votes = random_votes(np.random.default_rng(1))
    single = EBCC(subtypes=1, tol=1e-8).fit(votes)
    share_k = single.learned["base_k"]
    np.testing.assert_allclose(share_k.sum(), len(votes.items))
    start = IBCC(tol=1e-8).fit(votes)
    assert single.confusion.shape == start.confusion.shape
    base_kl = np.where(np.eye(3, dtype=bool), 4.0, 1.0)
    bound = oracle.ibcc_bound(votes, single.learned["votes_jkml"][:, :, 0], single.learned["items_k"], base_kl, share_k)
    np.testing.assert_allclose(single.trace[-1], bound, rtol=1e-8)


@pytest.mark.parametrize("accelerate", [True, False])
def test_bound_never_decreases(accelerate):
    for seed in range(3):
        votes = random_votes(np.random.default_rng(seed))
        trace = EBCC(accelerate=accelerate, max_iter=200).fit(votes).trace
        assert (np.diff(trace) >= -1e-9).all()


def test_the_m_step_by_hand():
    votes_jgl = np.arange(8.0).reshape(1, 4, 2)  # classes 0, 0, 1, 1
    start = EBCC(subtypes=2).m_step(ExpectedCounts(votes_jgl, np.array([1.0, 2.0, 3.0, 4.0]), 0.0), None)
    np.testing.assert_allclose(start.votes_jkml, [[[[4, 2], [6, 4]], [[5, 9], [7, 11]]]])
    np.testing.assert_allclose(start.subtypes_km, [[1.05, 2.05], [3.05, 4.05]])
    np.testing.assert_allclose(start.items_k, [4, 8])


def test_a_thousand_votes_on_an_item_do_not_overflow():
    votes = random_votes(np.random.default_rng(0), n_items=3, n_workers=1_000, n_votes=3_000)
    answer = EBCC().fit(votes)
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
    alone, together = IBCC().fit(votes), EBCC().fit(votes)
    accuracy = [(answer.codes("first") == truth).mean() for answer in (alone, together)]
    assert accuracy[1] > accuracy[0] + 0.02
    group = 2 * truth + hard
    found = together.learned["subtypes"].reshape(len(truth), -1).argmax(axis=1)
    purity = sum(np.bincount(found[group == g]).max() for g in range(4)) / len(truth)
    assert purity > 0.85


def test_the_start_by_difficulty_wins_where_items_have_subtypes():
    votes, _, _ = crowd_with_subtypes(np.random.default_rng(4), n_items=400)
    one, several = (EBCC(subtypes=subtypes).fit(votes) for subtypes in (1, 2))
    assert several.trace[-1] > one.trace[-1] + 1


def test_second_start_groups_items_by_agreement():
    names = {"items": range(40), "workers": range(5), "labels": range(2)}
    wrong_i = np.arange(40) % 3  # none, one or two of five votes are for the other label
    label_ij = (np.arange(40) % 2)[:, None] ^ (np.arange(5) < wrong_i[:, None])
    votes = Votes.from_codes(np.repeat(range(40), 5), np.tile(range(5), 40), label_ij.ravel().astype(int), **names)
    data = prepare(votes)
    counts, model = share_counts(data), EBCC()
    _, second = model.starts(data, counts, counts.items_g)
    easier_i = data.posterior(model.tables(second)).reshape(40, 2, 2)[np.arange(40), np.arange(40) % 2, 1]
    share = [easier_i[wrong_i == wrong].mean() for wrong in (0, 1, 2)]
    assert share[0] > share[1] > share[2]
