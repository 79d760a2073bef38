"""Tables of votes: the distinct ways in which items were labelled, and models with one row of logarithms per class.

Voters alike are one voter who votes several times, so that one code serves a crowd (vote counts) and a panel (ballots).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.theory.checks import FloatArray

LOG_ZERO = -1e6  # the logarithm of a probability of 0: times no vote it is 0, times a vote it rules the class out


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """What was said, `said_pf`: how often pattern p holds label l of voter h, f = h * n_classes + l."""

    said_pf: FloatArray
    n_classes: int

    @property
    def n_voters(self) -> int:
        """Voters told apart: 1 for a crowd."""
        return int(self.said_pf.shape[1]) // self.n_classes


class Models(NamedTuple):
    """Many models: log P(class k), (B, K), and log P(label of voter | class k), (B, K, F)."""

    log_prior_bk: FloatArray
    log_table_bkf: FloatArray

    def take(self, index: NDArray[Any]) -> Models:
        """The models at these places."""
        return Models(self.log_prior_bk[index], self.log_table_bkf[index])


def joined(parts: list[Models]) -> Models:
    """Models one after the other."""
    return Models(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def model(prior: FloatArray, confusion: FloatArray) -> Models:
    """One model, from prior (K,) and the confusion matrix of each voter, (J, K, K), or of all, (K, K)."""
    table_kf = np.moveaxis(confusion.reshape(-1, *confusion.shape[-2:]), 0, 1).reshape(len(prior), -1)
    return Models(logarithm(prior)[None], logarithm(table_kf)[None])


def logarithm(probability: FloatArray) -> FloatArray:
    """log, with LOG_ZERO for 0."""
    positive = probability > 0
    return np.where(positive, np.log(np.where(positive, probability, 1.0)), LOG_ZERO)


def log_sum(score: FloatArray, axis: int) -> FloatArray:
    """log of the sum of exponentials along an axis."""
    top = score.max(axis=axis, keepdims=True)
    return np.asarray((top + np.log(np.exp(score - top).sum(axis=axis, keepdims=True))).squeeze(axis))


def class_scores(table: Table, models: Models) -> FloatArray:
    """log P(class, pattern), (B, K, P), one order of the votes."""
    return np.asarray(models.log_prior_bk[:, :, None] + models.log_table_bkf @ table.said_pf.T)


def log_likelihood(table: Table, items_bp: FloatArray, models: Models) -> FloatArray:
    """Of each row of items under its model, without the constant of the orders of votes."""
    log_bp = log_sum(class_scores(table, models), axis=1)
    return np.asarray(np.where(items_bp > 0, items_bp * log_bp, 0.0).sum(axis=1))
