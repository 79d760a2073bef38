"""BWA equals its formulas written as loops; two classes need one column; unanimous votes do no harm."""

import numpy as np
import pytest

from crowds import coins, random_votes, votes_of
from majorant.methods.bwa import BWA
from majorant.votes import Votes
from oracles.kernels import ballots


def by_loops(votes, n_iter, a=15.0, pull=1.0):
    """(scores, precisions) of each class against the rest."""
    I, J, K = votes.shape
    ballot_i = [ballot for ballot, _ in ballots(votes)]
    z, v = np.zeros((I, K)), np.zeros((J, K))
    for k in range(K):
        for i, ballot in enumerate(ballot_i):
            z[i, k] = np.mean([l == k for _, l in ballot]) if ballot else 1 / K
        b = (
            a
            * np.mean([z[i, k] * (1 - z[i, k]) for i, ballot in enumerate(ballot_i) for _ in ballot])
            * 4
            * (1 - 1 / K)
        )
        for _ in range(n_iter):
            mu = z[:, k].mean()
            for j in range(J):
                errors = [((l == k) - z[i, k]) ** 2 for i, ballot in enumerate(ballot_i) for w, l in ballot if w == j]
                v[j, k] = (a + len(errors)) / (b + sum(errors))
            for i, ballot in enumerate(ballot_i):
                z[i, k] = (pull * mu + sum(v[j, k] * (l == k) for j, l in ballot)) / (
                    pull + sum(v[j, k] for j, _ in ballot)
                )
    return z, v


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_equals_its_formulas_written_as_loops(n_classes):
    votes = random_votes(np.random.default_rng(0), n_items=25, n_classes=n_classes, n_votes=100)
    ours = BWA(tol=1e-12).fit(votes)
    z, v = by_loops(votes, 60)
    np.testing.assert_allclose(ours.posterior, z / z.sum(axis=1, keepdims=True), atol=1e-8)
    np.testing.assert_allclose(ours.skill, v.mean(axis=1), rtol=1e-6)


def test_the_objective_never_falls_and_precise_workers_are_found():
    skill = np.linspace(0.5, 0.95, 10)
    votes, truth = votes_of(np.random.default_rng(1), coins(skill, 3), n_items=3_000, n_votes=7)
    answer = BWA(accelerate=False).fit(votes)
    assert (np.diff(answer.trace) >= -1e-9 * np.abs(answer.trace[0])).all()
    assert (np.argsort(answer.skill) == np.arange(10)).mean() > 0.7
    plain = np.array([np.bincount(votes.label_n[votes.item_n == i], minlength=3).argmax() for i in range(3_000)])
    assert (answer.codes("first") == truth).mean() > (plain == truth).mean()


def test_unanimous_votes_have_no_spread_and_do_no_harm():
    votes = Votes.from_codes([0, 0, 1, 1], [0, 1] * 2, [0, 0, 1, 1], items="ab", workers="xy", labels="01")
    answer = BWA().fit(votes)
    assert answer.labels() == ["0", "1"]
    assert np.isfinite(answer.skill).all()
    assert answer.converged
