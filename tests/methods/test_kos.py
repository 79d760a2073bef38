"""KOS equals message passing on dense matrices, stays finite, and reports a zero as a tie."""

import numpy as np
import pytest

from crowds import random_votes
from majorant.errors import ConfigError
from majorant.methods.two_class import KOS
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes


def dense_scores(sign, start, rounds):
    """Karger, Oh & Shah with a full matrix of messages; sign is 0 where there is no vote."""
    n_items, n_workers = sign.shape
    to_item = start.copy()
    for _ in range(rounds):
        to_worker, new = np.zeros_like(sign), np.zeros_like(sign)
        for i in range(n_items):
            for j in range(n_workers):
                if sign[i, j]:
                    to_worker[i, j] = sum(sign[i, b] * to_item[i, b] for b in range(n_workers) if b != j)
        for i in range(n_items):
            for j in range(n_workers):
                if sign[i, j]:
                    new[i, j] = sum(sign[a, j] * to_worker[a, j] for a in range(n_items) if a != i)
        to_item = new / np.sqrt(np.mean(new[sign != 0] ** 2))
    return to_item


@pytest.mark.parametrize("rounds", [1, 4])
def test_it_equals_dense_message_passing(rounds):
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 0.0, 1.0], size=(12, 6))
    item, worker = np.nonzero(sign)
    label = (sign[item, worker] > 0).astype(int)
    votes = Votes.from_codes(item, worker, label, items=range(12), workers=range(6), labels="01")
    start = np.zeros_like(sign)
    start[item, worker] = 1.0
    message = dense_scores(sign, start, rounds)
    answer = KOS(max_iter=rounds).fit(votes)
    toward = sign * message
    expected = np.maximum(toward, 0).sum(axis=1) / np.abs(toward).sum(axis=1)
    np.testing.assert_allclose(answer.posterior[:, 1], expected, atol=1e-12)
    assert answer.n_iter == rounds


def test_it_recovers_labels_of_spammers_and_hammers():
    skill = np.where(np.arange(60) % 2, 0.5, 0.95)
    votes, truth = simulate([0.5, 0.5], one_coin_workers(skill), n_items=600, n_votes=9, rng=0)
    answer = KOS().fit(votes)
    assert answer.converged
    assert np.mean(np.array(answer.labels()) == truth) > 0.98


def test_many_rounds_and_busy_workers_stay_finite():
    votes = random_votes(np.random.default_rng(0), n_items=3, n_workers=2_000, n_classes=2, n_votes=6_000)
    answer = KOS(max_iter=500, tol=0).fit(votes)
    assert np.isfinite(answer.posterior).all()
    assert np.isfinite(answer.skill).all()


def test_zero_score_is_a_tie():
    # Nobody votes twice, so no worker has anything to tell but what the item itself told him.
    votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels="01")
    answer = KOS().fit(votes)
    assert answer.posterior.tolist() == [[0.5, 0.5]]
    assert answer.labels() == [None]


def test_more_than_two_classes_are_refused():
    with pytest.raises(ConfigError, match="kos is for two classes, but these votes have 3"):
        KOS().fit(random_votes(np.random.default_rng(0)))
