"""Matrices of votes in the shapes of scikit-learn and cleanlab."""

import warnings

import numpy as np
import pandas as pd
import pytest

from majorant.compat.cleanlab import get_label_quality_multiannotator

MATRIX = np.array([[1, 1, 0], [0, 0, np.nan], [1, np.nan, 1], [0, 1, 1], [0, 0, 0], [np.nan, np.nan, np.nan]])


class TestScikitLearn:
    sklearn = pytest.importorskip("sklearn")

    def test_passes_scikit_learn_estimator_checks(self):
        from sklearn.utils.estimator_checks import check_estimator

        from majorant.compat.sklearn import VoteAggregator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn's own
            found = check_estimator(VoteAggregator("majority"), on_skip=None)
        assert len(found) >= 39
        assert {one["check_name"] for one in found if one["status"] != "passed"} <= {"check_array_api_input"}

    def test_rows_get_labels_and_probabilities(self):
        from majorant.compat.sklearn import VoteAggregator

        model = VoteAggregator("ds")
        labels = model.fit_predict(MATRIX)
        assert labels[:5].tolist() == [1, 0, 1, 1, 0]
        assert np.isnan(labels[5])
        assert model.fit_predict_proba(MATRIX).shape == (6, 2)
        assert model.classes_.tolist() == [0, 1]
        assert model.n_features_in_ == 3
        assert model.get_labels() is model.labels_

    def test_fit_keeps_its_input_and_is_required_before_labels(self):
        from sklearn.exceptions import NotFittedError

        from majorant.compat.sklearn import VoteAggregator

        with pytest.raises(NotFittedError):
            VoteAggregator().get_labels()
        before = MATRIX.copy()
        VoteAggregator().fit(MATRIX)
        np.testing.assert_array_equal(before, MATRIX)


def test_tables_have_the_columns_of_cleanlab():
    frame = pd.DataFrame(MATRIX[:5], columns=["ana", "bo", "cy"])
    found = get_label_quality_multiannotator(frame, method="majority")
    quality, stats = found["label_quality"], found["annotator_stats"]
    assert list(quality.columns) == [
        "consensus_label",
        "consensus_quality_score",
        "annotator_agreement",
        "num_annotations",
    ]
    assert list(stats.columns) == [
        "annotator_quality",
        "agreement_with_consensus",
        "worst_class",
        "num_examples_labeled",
    ]
    assert quality["consensus_label"].tolist() == [1, 0, 1, 1, 0]
    np.testing.assert_allclose(quality["annotator_agreement"], [2 / 3, 1, 1, 2 / 3, 1])
    assert stats["annotator_quality"].is_monotonic_increasing
    stats = stats.loc[["ana", "bo", "cy"]]
    np.testing.assert_allclose(stats["agreement_with_consensus"], [4 / 5, 1, 3 / 4])
    assert stats["num_examples_labeled"].tolist() == [5, 4, 4]
    assert stats["worst_class"].tolist() == [0, 0, 0]  # ana: one of three 0s is against the consensus; bo: none, ties

    detailed = found["detailed_label_quality"]
    assert list(detailed.columns) == ["quality_annotator_ana", "quality_annotator_bo", "quality_annotator_cy"]
    np.testing.assert_allclose(detailed.iloc[0], [2 / 3, 2 / 3, 1 / 3])
    assert detailed.isna().to_numpy().tolist() == np.isnan(MATRIX[:5]).tolist()


def test_tables_can_be_left_out():
    found = get_label_quality_multiannotator(MATRIX[:5], return_detailed_quality=False, return_annotator_stats=False)
    assert list(found) == ["label_quality"]
