"""Agreement and rates of continuous scores, and of labels that nobody used."""

import json

import numpy as np
import pytest

import majorant as mj


def judges(n_items=600, n_judges=3):
    """Scores with a thousand and more distinct values, and the truth behind them."""
    rng = np.random.default_rng(0)
    truth = rng.random(n_items)
    return [
        (i, f"j{j}", float(np.clip(truth[i] + rng.normal(0, 0.1), 0, 1)))
        for i in range(n_items)
        for j in range(n_judges)
    ], truth


@pytest.mark.filterwarnings("ignore::majorant.errors.DataNote")
def test_continuous_scores_are_measured():
    krippendorff = pytest.importorskip("krippendorff")
    votes, truth = judges()
    table = np.array([label for _, _, label in votes]).reshape(-1, 3).T
    found = mj.agreement(votes, rng=None)
    assert found.n_classes > 1_000
    expected = krippendorff.alpha(table[:, :150], level_of_measurement="ordinal")
    assert mj.agreement(votes[:450], rng=None).krippendorff_ordinal.value == pytest.approx(expected, abs=1e-9)
    expected = krippendorff.alpha(table[:, :150], level_of_measurement="interval")
    assert mj.scores(votes[:450], n_boot=100).interval_alpha.value == pytest.approx(expected, abs=1e-9)
    assert mj.scores(votes, n_boot=100).interval_alpha.value > 0.8
    rate = mj.rate(votes, {i: float(truth[i]) for i in range(60)})
    assert rate.low < truth.mean() < rate.high


def test_many_names_are_still_refused():
    with pytest.raises(mj.DataError, match="probably not the column of labels"):
        mj.agreement([(i, "w", f"name {i}") for i in range(1_001)])


def test_labels_that_nobody_used_count_as_classes():
    votes = [(1, "a", 1), (1, "b", 1), (2, "a", 2), (2, "b", 1)]
    plain, ordered, declared = (
        mj.agreement(votes, rng=None, **how) for how in ({}, {"order": [1, 2, 3]}, {"classes": [3]})
    )
    # Gwet: chance is the sum of p (1 - p), here .375, over the number of classes minus 1.
    assert plain.gwet.value == pytest.approx((0.5 - 0.375) / (1 - 0.375))
    for found in (ordered, declared):
        assert found.gwet.value == pytest.approx((0.5 - 0.375 / 2) / (1 - 0.375 / 2))
        assert found.krippendorff.value == pytest.approx(plain.krippendorff.value)
        assert found.n_classes == 3


def test_a_json_file_of_items_is_read_like_the_dict(tmp_path):
    answers = {"a": {"u": "x", "v": "y"}, "b": {"u": "x", "v": "x"}, "c": {"v": "y"}}
    path = tmp_path / "answers.json"
    for indent in (None, 2):
        path.write_text(json.dumps(answers, indent=indent))
        votes = mj.read(path)
        assert (votes.items, votes.workers, votes.labels) == (("a", "b", "c"), ("u", "v"), ("x", "y"))
        assert votes.label_n.tolist() == mj.read(answers).label_n.tolist()
