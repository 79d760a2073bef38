"""Scores and ordered labels: coefficients against direct formulas and another library, the rules, the threshold."""

import krippendorff
import numpy as np
import pytest

import majorant as mj
from majorant.agreement.scores import quadratic_kappa, scores
from majorant.errors import ConfigError, DataError


@pytest.fixture
def ratings():
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 6, 60)
    return np.clip(truth[:, None] + rng.integers(-1, 2, (60, 4)), 1, 5)


def holes(ratings):
    table = ratings.astype(float)
    table[np.random.default_rng(2).random(table.shape) < 0.3] = np.nan
    return table


def test_interval_alpha_is_krippendorffs(ratings):
    table = holes(ratings)
    found = scores(mj.from_matrix(table))
    expected = krippendorff.alpha(table.T, level_of_measurement="interval")
    assert found.interval_alpha.value == pytest.approx(expected, abs=1e-12)
    assert found.interval_alpha.low < expected < found.interval_alpha.high


def test_icc_is_the_analysis_of_variance(ratings):
    found = scores(mj.from_matrix(ratings))
    n, k = ratings.shape
    between = k * ratings.mean(axis=1).var(ddof=1)
    within = ratings.var(axis=1, ddof=1).mean()
    assert found.icc.value == pytest.approx((between - within) / (between + (k - 1) * within))
    columns = n * ratings.mean(axis=0).var(ddof=1)
    rest = ratings - ratings.mean(axis=1, keepdims=True) - ratings.mean(axis=0) + ratings.mean()
    error = (rest**2).sum() / ((n - 1) * (k - 1))
    expected = (between - error) / (between + (k - 1) * error + k * (columns - error) / n)
    assert found.icc_agreement.value == pytest.approx(expected)
    assert scores(mj.from_matrix(holes(ratings))).icc_agreement.value is None


def test_quadratic_kappa_is_that_of_the_table_of_weights(ratings):
    a, b = ratings[:, 0], ratings[:, 1]
    joint = np.zeros((5, 5))
    np.add.at(joint, (a - 1, b - 1), 1 / len(a))
    weight = (np.arange(5)[:, None] - np.arange(5)) ** 2
    expected = 1 - (weight * joint).sum() / (weight * np.outer(joint.sum(1), joint.sum(0))).sum()
    assert quadratic_kappa(a, b) == pytest.approx(expected)


def test_rules_and_their_distance_from_gold():
    table = {"item": [1] * 3 + [2] * 3 + [3] * 2, "worker": [*"abcabcab"], "label": [1, 1, 5, 2, 3, 4, 1, 5],
             "gold": [2] * 3 + [3] * 3 + [3] * 2}  # fmt: skip
    found = scores(table)
    assert found.mean_i.tolist() == [pytest.approx(7 / 3), 3, 3]
    assert found.median_i.tolist() == [1, 3, 3]
    assert np.isnan(found.majority_i[1:]).all()
    assert found.closest is None  # one gold item on which majority vote says anything
    clear = scores({**table, "label": [1, 1, 5, 3, 3, 4, 3, 3]})
    assert clear.distance["mean"].value == pytest.approx((1 / 3 + 1 / 3 + 0) / 3)
    assert clear.closest == "mean"


def test_an_order_makes_ranks_and_reaches_the_ordinal_alpha():
    table = {"item": [1, 1, 2, 2, 3, 3], "worker": [*"ababab"], "label": ["low", "low", "high", "mid", "mid", "mid"]}
    with pytest.raises(ConfigError, match="order='high,low,mid'"):
        scores(table)
    assert scores(table, order="low,mid,high").mean_i.tolist() == [0, 1.5, 1]
    votes = mj.read(table, order=["low", "mid", "high"])
    assert votes.labels == ("low", "mid", "high")
    by_votes = mj.agreement(votes).krippendorff_ordinal.value
    assert by_votes == mj.agreement(mj.read(table), order=["low", "mid", "high"]).krippendorff_ordinal.value
    with pytest.raises(DataError, match="label 'mid' is not in order='low,high'"):
        mj.read(table, order="low,high")


def test_a_threshold_makes_votes_of_scores():
    votes = mj.read(
        {"item": [1, 1, 2], "worker": [*"aba"], "label": [0.5, 0.49, 0.9], "gold": [0.7, 0.7, 0.1]}, threshold=0.5
    )
    assert votes.labels == ("below 0.5", "at least 0.5")
    assert votes.label_n.tolist() == [1, 0, 1]
    assert votes.gold_i.tolist() == [1, 0]
    many = {"item": list(range(3000)), "worker": ["a"] * 3000, "label": np.linspace(0, 1, 3000)}
    assert mj.read(many, threshold=0.5).shape == (3000, 1, 2)
    with pytest.raises(DataError, match="'x' is no number"):
        mj.read({"item": [1], "worker": ["a"], "label": ["x"]}, threshold=0.5)
