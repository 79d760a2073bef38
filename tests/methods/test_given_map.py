"""MAP with given confusion matrices equals the products of probabilities written out."""

import numpy as np
import pytest

from crowds import random_votes
from majorant.errors import ConfigError
from majorant.methods.known_workers import GivenMap
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes


def bayes(votes, confusion_jkl, prior):
    posterior = np.tile(np.asarray(prior, float), (len(votes.items), 1))
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        posterior[i] *= confusion_jkl[j][:, l]
    return posterior / posterior.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("per_worker", [False, True])
def test_it_is_the_bayes_rule(n_classes, per_worker):
    rng = np.random.default_rng(n_classes)
    votes = random_votes(rng, n_classes=n_classes)
    confusion = rng.dirichlet(np.ones(n_classes), size=(9, n_classes) if per_worker else n_classes)
    prior = rng.dirichlet(np.ones(n_classes))
    each = np.broadcast_to(confusion, (9, n_classes, n_classes))
    answer = GivenMap(confusion=confusion, prior=prior).fit(votes)
    np.testing.assert_allclose(answer.posterior, bayes(votes, each, prior), atol=1e-12)
    np.testing.assert_array_equal(answer.confusion, confusion)
    even = GivenMap(confusion=confusion).fit(votes)
    np.testing.assert_allclose(even.posterior, bayes(votes, each, np.ones(n_classes)), atol=1e-12)


def test_zero_probabilities_exclude_a_class():
    votes = Votes.from_codes([0, 0, 1, 1], [0, 1] * 2, [0, 1, 1, 1], items="ab", workers="xy", labels="01")
    certain = GivenMap(confusion=[[1, 0], [0.5, 0.5]]).fit(votes)
    assert certain.labels() == ["1", "1"]
    impossible = GivenMap(confusion=np.eye(2)).fit(votes)
    assert impossible.labels() == [None, "1"]  # no class gives both labels


def test_the_best_worker_decides_where_theory_says_so():
    crew = one_coin_workers([0.95, 0.7, 0.6])  # 19 to 1 against 7 to 3 times 3 to 2
    votes, truth = simulate([0.5, 0.5], crew, n_items=20_000, n_votes=3, rng=0)
    right_j = np.zeros(3)
    np.add.at(right_j, votes.worker_n, np.array(votes.labels)[votes.label_n] == truth[votes.item_n])
    confusion = np.empty_like(crew)
    confusion[np.argsort(-right_j)] = crew  # workers come in order of appearance
    answer = GivenMap(confusion=confusion).fit(votes)
    assert np.mean(np.array(answer.labels()) == truth) == pytest.approx(0.95, abs=0.006)


def test_invalid_settings_are_reported_by_name():
    votes = random_votes(np.random.default_rng(0), n_classes=2)
    with pytest.raises(ConfigError, match="give confusion"):
        GivenMap().fit(votes)
    with pytest.raises(ConfigError, match="3 matrices, but these votes have 9 workers"):
        GivenMap(confusion=[np.eye(2)] * 3).fit(votes)
    with pytest.raises(ConfigError, match="prior has 3 classes"):
        GivenMap(confusion=np.eye(2), prior=[0.2, 0.3, 0.5]).fit(votes)
    with pytest.raises(ConfigError, match=r"sums to 0\.9"):
        GivenMap(confusion=[[0.5, 0.4], [0, 1]]).fit(votes)
