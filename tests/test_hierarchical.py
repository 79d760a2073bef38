"""Hierarchical: the crowd's fixed point rises, its strength is recovered, and it moves between alike and apart."""

import numpy as np
import pytest

import oracles.variational as oracle
from crowds import random_votes, votes_of
from majorant.estimate.dawid_skene import DawidSkene
from majorant.estimate.hierarchical import Hierarchical
from majorant.estimate.shared import SharedConfusion

CROWD = np.array([[0.75, 0.15, 0.1], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])


def crew(rng, strength, n_workers=60):
    return np.array([[rng.dirichlet(strength * row) for row in CROWD] for _ in range(n_workers)])


def log_marginal(model, votes_jkl, crowd_kl):
    """The log-posterior of a crowd given counts, term by term."""
    J, K, _ = votes_jkl.shape
    strength = crowd_kl.sum(axis=1)[: 1 if model.tied else K]
    base = np.where(np.eye(K, dtype=bool), model.right, model.wrong)
    total = ((model.shape - 1) * np.log(strength) - model.rate * strength).sum()
    total += (base * np.log(crowd_kl / crowd_kl.sum(axis=1, keepdims=True))).sum()
    return total + sum(oracle.log_polya(votes_jkl[j, k], crowd_kl[k]) for j in range(J) for k in range(K))


@pytest.mark.parametrize("tied", [True, False])
def test_the_fixed_point_climbs_to_the_true_strength(tied):
    rng = np.random.default_rng(0)
    votes_jkl = np.array([[rng.multinomial(40, row) for row in rows] for rows in crew(rng, 8.0, 150)], dtype=float)
    model = Hierarchical(tied=tied)
    crowd_kl = np.full((3, 3), 1.0)
    values = [log_marginal(model, votes_jkl, crowd_kl)]
    for steps in (1, 1, 1, 2, 5, 10, 30, 250):
        for _ in range(steps):
            crowd_kl = model.raise_crowd(votes_jkl, crowd_kl)
        values.append(log_marginal(model, votes_jkl, crowd_kl))
    assert (np.diff(values) >= -1e-8).all()
    np.testing.assert_allclose(crowd_kl.sum(axis=1), 8, atol=2)
    np.testing.assert_allclose(crowd_kl / crowd_kl.sum(axis=1, keepdims=True), CROWD, atol=0.03)
    for k in range(3):  # a summit: a step along the strength or the mean leads down
        for shift in (1.02 * crowd_kl, 0.98 * crowd_kl, np.roll(crowd_kl, 1, axis=1) * 0.02 + 0.98 * crowd_kl):
            moved = shift if tied else np.where(np.arange(3)[:, None] == k, shift, crowd_kl)
            assert log_marginal(model, votes_jkl, moved) < values[-1]


@pytest.mark.parametrize("tied", [True, False])
def test_the_objective_is_the_bound_written_out(tied):
    votes = random_votes(np.random.default_rng(1), n_items=8, n_workers=3, n_votes=30)
    model = Hierarchical(tied=tied, max_iter=3, tol=0, accelerate=False)
    first = model.fit(votes)
    again = Hierarchical(tied=tied, max_iter=1).fit(votes, start=first)
    crowd_kl = first.learned["crowd_kl"]
    bound = oracle.ibcc_bound(votes, first.learned["votes_jkl"], first.learned["items_k"], crowd_kl, np.ones(3))
    np.testing.assert_allclose(again.trace[0], bound + log_marginal(model, np.zeros((0, 3, 3)), crowd_kl), rtol=1e-10)


def error(answer, confusion):
    return np.abs(answer.confusion - confusion).mean()


def test_it_moves_between_all_alike_and_each_its_own():
    rng = np.random.default_rng(2)
    alike, apart = crew(rng, 1e4), crew(rng, 3.0)
    for confusion in (alike, apart):
        votes, _ = votes_of(rng, confusion, n_items=1_500, n_votes=6)
        ours, each, all_one = (m.fit(votes) for m in (Hierarchical(), DawidSkene(), SharedConfusion()))
        if confusion is alike:
            assert ours.learned["strength"].min() > 25
            assert error(ours, confusion) < 0.5 * error(each, confusion)
            assert error(ours, confusion) < error(all_one, confusion) + 0.02
        else:
            np.testing.assert_allclose(ours.learned["strength"].mean(), 3, atol=1)
            assert error(ours, confusion) < 1.02 * error(each, confusion)
            assert error(ours, confusion) < 0.5 * error(all_one, confusion)


def test_the_bound_never_falls():
    for seed in range(4):
        for tied in (True, False):
            trace = Hierarchical(tied=tied).fit(random_votes(np.random.default_rng(seed))).trace
            assert (np.diff(trace) >= -1e-8).all()
