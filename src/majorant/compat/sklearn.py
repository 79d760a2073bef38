"""A scikit-learn estimator over a matrix of votes: a row for each item, a column for each worker, NaN for no vote.

Only this module needs scikit-learn.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from majorant.defaults import MAJORITY
from majorant.errors import ConfigError, DataError
from majorant.evidence.rules import AUTO
from majorant.pipeline import aggregate
from majorant.read import from_matrix

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise ConfigError("majorant.compat.sklearn needs scikit-learn 1.6 or newer: pip install scikit-learn.") from None


class VoteAggregator(BaseEstimator):  # type: ignore[misc]
    """One label for each row of a matrix of votes, computed by any of our methods; `y` is ignored.

    By default, the labels are those that `mj.check` writes (majority vote if there are too many classes for it).
    `labels_` are numbers as in the matrix, `probabilities_` has a column for each of `classes_`, and `skill_` is the
    skill of each column, if the method learns it. A tied row gets the first of its classes or, with `ties="abstain"`,
    NaN; so does a row without votes.

    >>> matrix = np.array([[1, 1, 0], [0, 0, np.nan], [1, np.nan, 1]])
    >>> VoteAggregator("majority").fit_predict(matrix).tolist()
    [1.0, 0.0, 1.0]
    """

    def __init__(self, method: str = AUTO, ties: str = "first", random_state: int = 0) -> None:
        self.method = method
        self.ties = ties
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Fit to a matrix of votes, items by workers."""
        if self.ties not in ("first", "abstain"):
            raise ConfigError(f"ties must be first or abstain, not {self.ties!r}.")
        matrix = validate_data(self, X, ensure_all_finite="allow-nan", dtype=np.float64)
        votes = from_matrix(np.where(matrix == -1, np.nan, matrix))
        try:
            fit = aggregate(votes, self.method, rng=self.random_state)
        except DataError:  # too many classes
            if self.method != AUTO:
                raise
            fit = aggregate(votes, MAJORITY)
        self.classes_ = np.array(fit.label_values, dtype=float)
        code_i = fit.codes("first" if self.ties == "first" else "flag")
        self.labels_ = np.where(code_i < 0, np.nan, self.classes_[code_i])
        self.probabilities_ = np.array(fit.posterior)
        self.skill_ = None if fit.skill is None else np.array(fit.skill)
        self.n_iter_ = max(1, fit.n_iter)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the label of each row."""
        return self.fit(X, y).labels_

    def fit_predict_proba(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the probability of each of `classes_` for each row."""
        return self.fit(X, y).probabilities_

    def get_labels(self) -> Any:
        """The labels of the rows that were fitted."""
        check_is_fitted(self)
        return self.labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
