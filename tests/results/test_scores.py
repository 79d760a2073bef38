"""Scores and ordered labels: coefficients against direct formulas and another library, the rules, the threshold."""

import krippendorff
import numpy as np
import pytest

import majorant as mj
from majorant.errors import ConfigError, DataError
from majorant.render.summary import result_summary
from majorant.results.agreement.scores import mean_kappa, scores, two_way_icc


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


def quadratic_kappa(a, b):
    """Of two raters, by the table of weights."""
    joint = np.zeros((6, 6))
    np.add.at(joint, (a.astype(int), b.astype(int)), 1 / len(a))
    weight = (np.arange(6)[:, None] - np.arange(6)) ** 2
    return 1 - (weight * joint).sum() / (weight * np.outer(joint.sum(1), joint.sum(0))).sum()


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
    with pytest.raises(DataError, match="'x' is not a number"):
        mj.read({"item": [1], "worker": ["a"], "label": ["x"]}, threshold=0.5)


def test_weighted_sums_are_the_coefficients_of_the_items_drawn(ratings):
    """An item with weight two counts as two items."""
    table = ratings.astype(float)
    weight = np.random.default_rng(4).multinomial(60, np.full(60, 1 / 60)).astype(float)
    drawn = np.repeat(table, weight.astype(int), axis=0)
    assert two_way_icc(table, weight[None])[0] == pytest.approx(two_way_icc(drawn, np.ones((1, 60)))[0])
    pairs = [(np.arange(60), table[:, a], table[:, b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    expected = np.mean([quadratic_kappa(drawn[:, a], drawn[:, b]) for a, b in ((0, 1), (0, 2), (1, 2))])
    assert mean_kappa(pairs, weight[None])[0] == pytest.approx(expected)


def test_interval_coverage_matches_the_level():
    """Normal scores of fixed workers on random items: both coefficients are about 1 / (1 + .5) there."""
    rng = np.random.default_rng(6)
    held = np.zeros(2)
    n_runs = 60
    for _ in range(n_runs):
        table = 9 + rng.normal(size=(80, 1)) + np.sqrt(0.5) * rng.normal(size=(80, 3))
        found = scores(mj.from_matrix(table.round(3), max_classes=1000), n_boot=300, level=0.9)
        held += [one.low <= 2 / 3 <= one.high for one in (found.icc_agreement, found.weighted_kappa)]
    assert (held / n_runs > 0.75).all()


def test_rule_closer_to_gold_is_reported():
    rng = np.random.default_rng(7)
    gold = rng.integers(1, 6, 200)
    given = np.clip(gold[:, None] + rng.integers(-2, 3, (200, 5)), 1, 5)
    votes = mj.read({"item": np.repeat(np.arange(200), 5), "worker": np.tile(np.arange(5), 200), "label": given.ravel(),
                     "gold": np.repeat(gold, 5)})  # fmt: skip
    found = scores(votes)
    assert found.nearer["median"].value == pytest.approx(
        found.distance["majority"].value - found.distance["median"].value
    )
    assert found.nearer["median"].low > 0


@pytest.mark.parametrize(
    ("label", "more", "words"),
    [
        ("score", {"threshold": 0.5}, "whether a score is at least 0.5"),
        ("grade", {"order": "low,mid,high"}, "the exact label (low < mid < high)"),
    ],
)
def test_claims_state_what_they_are_about(label, more, words):
    values = [0.1, 0.9, 0.6] if label == "score" else ["low", "high", "mid"]
    table = {"item": np.repeat(np.arange(30), 3), "worker": [*"abc"] * 30, label: values * 30}
    summary = result_summary(mj.check(table, **more))
    assert words in summary["answer"]["evidence"]
