"""Matrices of votes in the shape of scikit-learn."""

import warnings

import numpy as np
import pytest

MATRIX = np.array([[1, 1, 0], [0, 0, np.nan], [1, np.nan, 1], [0, 1, 1], [0, 0, 0], [np.nan, np.nan, np.nan]])


class TestScikitLearn:
    sklearn = pytest.importorskip("sklearn")

    def test_passes_scikit_learn_estimator_checks(self):
        from sklearn.utils.estimator_checks import check_estimator

        from majorant.compat.sklearn import VoteAggregator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn's own
            found = check_estimator(VoteAggregator("majority"), on_skip=None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found += check_estimator(VoteAggregator(), on_skip=None)
        assert len(found) >= 78
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

    def test_the_only_vote_of_a_row_is_its_label(self):
        from majorant.compat.sklearn import VoteAggregator

        rng = np.random.default_rng(0)
        truth, column = (rng.random(300) < 0.6) * 1.0, rng.integers(0, 10, 300)
        matrix = np.full((300, 10), np.nan)
        matrix[np.arange(300), column] = np.where(rng.random(300) < 0.85, truth, 1 - truth)
        for model in (VoteAggregator(), VoteAggregator("dawid-skene"), VoteAggregator("one-coin")):
            assert (model.fit_predict(matrix) == np.nanmax(matrix, axis=1)).all()
        three = np.array([[1, np.nan], [1, np.nan], [np.nan, 0]])
        assert VoteAggregator().fit_predict(three).tolist() == [1, 1, 0]

    def test_tied_rows_may_abstain(self):
        from majorant.compat.sklearn import VoteAggregator

        matrix = np.array([[1, 0], [1, 1]])
        assert VoteAggregator("majority").fit_predict(matrix).tolist() == [0, 1]
        labels = VoteAggregator("majority", ties="abstain").fit_predict(matrix)
        assert np.isnan(labels[0])
        assert labels[1] == 1
        with pytest.raises(ValueError, match="first or abstain"):
            VoteAggregator(ties="random").fit(matrix)

    def test_fit_keeps_its_input_and_is_required_before_labels(self):
        from sklearn.exceptions import NotFittedError

        from majorant.compat.sklearn import VoteAggregator

        with pytest.raises(NotFittedError):
            VoteAggregator().get_labels()
        before = MATRIX.copy()
        VoteAggregator().fit(MATRIX)
        np.testing.assert_array_equal(before, MATRIX)
