"""Matrices of votes in the shapes of scikit-learn and cleanlab."""

import warnings

import numpy as np
import pandas as pd
import pytest

from majorant.compat.cleanlab import get_label_quality_multiannotator

MATRIX = np.array([[1, 1, 0], [0, 0, np.nan], [1, np.nan, 1], [0, 1, 1], [0, 0, 0], [np.nan, np.nan, np.nan]])


class TestScikitLearn:
    sklearn = pytest.importorskip("sklearn")

    @pytest.mark.parametrize(
        "check",
        [
            "check_estimator_cloneable",
            "check_estimator_repr",
            "check_get_params_invariance",
            "check_mixin_order",
            "check_no_attributes_set_in_init",
            "check_parameters_default_constructible",
            "check_set_params",
            "check_estimator_tags_renamed",
            "check_valid_tag_types",
            "check_fit2d_predict1d",
            "check_fit1d",
            "check_fit2d_1sample",
            "check_n_features_in",
            "check_n_features_in_after_fitting",
            "check_dict_unchanged",
            "check_estimators_pickle",
            "check_estimators_overwrite_params",
            "check_f_contiguous_array_estimator",
            "check_estimators_fit_returns_self",
            "check_complex_data",
            "check_estimators_empty_data_messages",
            "check_dtype_object",
            "check_readonly_memmap_input",
            "check_estimator_sparse_tag",
            "check_positive_only_tag_during_fit",
            "check_estimators_unfitted",
            "check_pipeline_consistency",
            "check_fit_idempotent",
        ],
    )
    def test_the_checks_of_scikit_learn_that_apply_pass(self, check):
        from sklearn.utils import estimator_checks

        from majorant.compat.sklearn import VoteAggregator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn's own
            getattr(estimator_checks, check)("VoteAggregator", VoteAggregator("majority"))

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

    def test_a_fit_leaves_its_input_and_comes_before_labels(self):
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
    assert list(stats.columns) == ["annotator_quality", "agreement_with_consensus", "num_examples_labeled"]
    assert quality["consensus_label"].tolist() == [1, 0, 1, 1, 0]
    np.testing.assert_allclose(quality["annotator_agreement"], [2 / 3, 1, 1, 2 / 3, 1])
    assert stats.index.tolist() == ["ana", "bo", "cy"]
    np.testing.assert_allclose(stats["agreement_with_consensus"], [4 / 5, 1, 3 / 4])
    assert stats["num_examples_labeled"].tolist() == [5, 4, 4]
