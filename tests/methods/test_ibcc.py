"""iBCC: the objective is the evidence lower bound, stays below the evidence and never falls."""

import numpy as np
import pytest

import oracles.variational as oracle
from crowds import random_votes, votes_of
from majorant.errors import ConfigError
from majorant.methods.ibcc import IBCC
from majorant.methods.tables import ExpectedCounts


def prior(n_classes):
    return np.where(np.eye(n_classes, dtype=bool), 4.0, 1.0), np.ones(n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_objective_is_the_bound_written_out_and_below_the_evidence(n_classes):
    votes = random_votes(np.random.default_rng(0), n_items=5, n_workers=3, n_classes=n_classes, n_votes=12)
    first = IBCC(max_iter=3, tol=0, accelerate=False).fit(votes)
    again = IBCC(max_iter=1, tol=0).fit(votes, start=first)  # its one objective is that of the parameters of `first`
    base_kl, base_k = prior(n_classes)
    written_out = oracle.ibcc_bound(votes, first.learned["votes"], first.learned["items"], base_kl, base_k)
    np.testing.assert_allclose(again.trace[0], written_out, rtol=1e-12)
    best = IBCC().fit(votes)
    evidence = oracle.ibcc_evidence(votes, base_kl, base_k)
    assert best.trace[-1] < evidence
    assert best.trace[-1] > evidence - 5


def test_bound_never_decreases():
    for seed in range(5):
        for accelerate in (True, False):
            trace = IBCC(accelerate=accelerate, max_iter=300).fit(random_votes(np.random.default_rng(seed))).trace
            assert (np.diff(trace) >= -1e-9).all()


def test_the_m_step_by_hand():
    votes_jkl = np.array([[[3.0, 1.0], [0.5, 2.0]]])
    params = IBCC().m_step(ExpectedCounts(votes_jkl, np.array([4.0, 2.0]), 0.0), None)
    np.testing.assert_allclose(params.votes_jkl, [[[7, 2], [1.5, 6]]])
    np.testing.assert_allclose(params.items_k, [5, 3])


def test_it_recovers_workers_drawn_from_its_prior():
    rng = np.random.default_rng(1)
    confusion = np.array([[rng.dirichlet(row) for row in prior(3)[0]] for _ in range(12)])
    votes, truth = votes_of(rng, confusion, n_items=6_000, n_votes=8)
    answer = IBCC().fit(votes)
    np.testing.assert_allclose(answer.confusion, confusion, atol=0.05)
    assert (answer.codes("first") == truth).mean() > 0.85


def test_a_start_with_other_workers_is_refused():
    votes = random_votes(np.random.default_rng(0))
    other = IBCC().fit(random_votes(np.random.default_rng(0), n_workers=4))
    with pytest.raises(ConfigError, match="fitted to 4 workers, these votes have 9"):
        IBCC().fit(votes, start=other)
    fewer = IBCC().fit(random_votes(np.random.default_rng(0), n_classes=2))
    with pytest.raises(ConfigError, match="fitted to 2 classes, these votes have 3"):
        IBCC().fit(votes, start=fewer)
