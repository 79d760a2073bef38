"""Spectral skills equal dense linear algebra, and both ways of finding the vector agree."""

import numpy as np
import pytest

from crowds import informed_votes, random_votes
from majorant.errors import ConfigError, NotIdentified
from majorant.methods.two_class import Spectral, leading_vector
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes


def dense(votes, weight):
    """Signs (0 where there is no vote; repeated votes add up) and whether there is a vote."""
    sign = np.zeros((len(votes.items), len(votes.workers)))
    np.add.at(sign, (votes.item_n, votes.worker_n), 2.0 * votes.label_n - 1)
    count = np.zeros_like(sign)
    np.add.at(count, (votes.item_n, votes.worker_n), 1)
    return sign, count


@pytest.mark.parametrize("dense_up_to", [0, 64], ids=["arpack", "dense"])
def test_leading_vector_belongs_to_the_largest_eigenvalue(dense_up_to):
    matrix = np.random.default_rng(0).normal(size=(9, 9))
    matrix += matrix.T
    vector = np.linalg.eigh(matrix)[1][:, -1]
    found = leading_vector(lambda value: matrix @ value, 9, dense_up_to=dense_up_to)
    np.testing.assert_allclose(found, vector * np.sign(vector.sum()), atol=1e-8)


def test_skills_are_the_scaled_leading_eigenvector_of_the_agreements():
    votes = informed_votes(np.random.default_rng(0), n_classes=2)
    sign, count = dense(votes, None)
    mean, voted = sign / np.maximum(count, 1), (count > 0).astype(float)
    common = voted.T @ voted
    matrix = np.where(common > 0, mean.T @ mean / np.maximum(common, 1), 0)
    np.fill_diagonal(matrix, 0)
    vector = np.linalg.eigh(matrix)[1][:, -1]
    vector *= np.sign(vector.sum())
    product = np.outer(vector, vector)
    np.fill_diagonal(product, 0)
    product[common == 0] = 0
    theta = vector * np.sqrt((product * matrix).sum() / (product**2).sum())
    np.testing.assert_allclose(Spectral().fit(votes).skill, theta, atol=1e-8)


def test_skills_are_recovered_for_any_number_of_votes():
    skill = np.random.default_rng(0).uniform(0.55, 0.95, size=40)
    votes, truth = simulate([0.5, 0.5], one_coin_workers(skill), n_items=5_000, n_votes=40, rng=0)
    kept = (np.random.default_rng(1).random(votes.n_votes) < 0.2) | (votes.worker_n % 2 == 0)  # half vote less often
    names = {"items": votes.items, "workers": votes.workers, "labels": votes.labels}
    fewer = Votes.from_codes(votes.item_n[kept], votes.worker_n[kept], votes.label_n[kept], **names)
    right = np.bincount(fewer.worker_n, weights=np.array(fewer.labels)[fewer.label_n] == truth[fewer.item_n])
    counted = 2 * right / np.bincount(fewer.worker_n) - 1
    np.testing.assert_allclose(Spectral().fit(fewer).skill, counted, atol=0.06)


def test_all_items_tie_if_the_sign_is_undetermined():
    votes = Votes.from_codes([0, 0], [0, 1], [0, 1], items="a", workers="xy", labels="01")
    assert Spectral().fit(votes).labels() == [None]


def test_votes_that_do_not_identify_skills_are_refused():
    alone = Votes.from_codes([0, 1], [0, 1], [0, 1], items="ab", workers="xy", labels="01")
    with pytest.raises(NotIdentified, match="spectral compares workers on common items"):
        Spectral().fit(alone)
    with pytest.raises(ConfigError, match="two classes, but these votes have 3"):
        Spectral().fit(random_votes(np.random.default_rng(0)))
