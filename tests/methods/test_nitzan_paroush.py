"""The weighted vote is the sum of Nitzan and Paroush's weights, with accuracies given or counted on gold items."""

import numpy as np
import pytest

from crowds import random_votes
from majorant.errors import ConfigError
from majorant.methods.known_workers import NitzanParoush
from majorant.votes import Votes


@pytest.mark.parametrize("n_classes", [2, 4])
def test_log_odds_are_sums_of_weights(n_classes):
    rng = np.random.default_rng(0)
    votes = random_votes(rng, n_classes=n_classes)
    accuracy, prior = rng.uniform(0.2, 0.95, size=9), rng.dirichlet(np.ones(n_classes))
    answer = NitzanParoush(accuracy=accuracy, prior=prior).fit(votes)
    weight = np.log(accuracy * (n_classes - 1) / (1 - accuracy))
    score = np.tile(np.log(prior), (len(votes.items), 1))
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        score[i, l] += weight[j]
    np.testing.assert_allclose(
        np.log(answer.posterior) - np.log(answer.posterior[:, :1]), score - score[:, :1], atol=1e-9
    )
    np.testing.assert_array_equal(answer.skill, accuracy)


def test_accuracies_are_gold_counts_shrunk_to_the_mean():
    votes = Votes.from_codes(
        [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 2, 1], [0, 0, 1, 0, 1, 1], items="abc", workers="xyz", labels="01",
        gold=[0, 1, -1],
    )  # fmt: skip
    answer = NitzanParoush(smoothing=2.0).fit(votes)
    crowd = (3 + 1) / (4 + 2)  # three of four votes on gold items are right
    expected = [(2 + 2 * crowd) / 4, (1 + 2 * crowd) / 4, crowd]
    np.testing.assert_allclose(answer.skill, expected)
    np.testing.assert_allclose(answer.prior, [0.5, 0.5])


def test_certain_worker_decides_and_two_opposed_ones_tie():
    votes = Votes.from_codes([0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [1, 0, 0, 1, 0], items="ab", workers="xyz", labels="01")
    assert NitzanParoush(accuracy=[1.0, 0.9, 0.9]).fit(votes).labels() == ["1", "1"]
    assert NitzanParoush(accuracy=[1.0, 1.0, 0.9]).fit(votes).labels() == [None, None]


def test_invalid_settings_are_reported_by_name():
    votes = random_votes(np.random.default_rng(0))
    with pytest.raises(ConfigError, match="nitzan-paroush learns from gold labels"):
        NitzanParoush().fit(votes)
    with pytest.raises(ConfigError, match=r"shape \(9,\)"):
        NitzanParoush(accuracy=[0.5]).fit(votes)
    with pytest.raises(ConfigError, match=r"accuracy\[2\] is 1.5"):
        NitzanParoush(accuracy=[0.5, 0.5, 1.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]).fit(votes)
    with pytest.raises(ConfigError, match="prior has 2 classes"):
        NitzanParoush(accuracy=[0.5] * 9, prior=[0.5, 0.5]).fit(votes)
