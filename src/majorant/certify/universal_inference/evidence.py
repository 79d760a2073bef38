"""Split e-values for and against majority vote being optimal, any number of classes, voters alike or named.

Valid at every number of items if the searches find the largest likelihoods: docs/theory/split.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.certify.anonymous.evidence import SPLITS, TRAIN_SHARE
from majorant.certify.universal_inference.comparison import Comparisons, margins
from majorant.certify.universal_inference.learn import learnt
from majorant.certify.universal_inference.optimal import TOWARDS_SAFE, optimal
from majorant.certify.universal_inference.search import likeliest, not_optimal
from majorant.certify.universal_inference.table import Table, log_likelihood
from majorant.theory.checks import FloatArray


class Weight(NamedTuple):
    """What the votes say for and against majority being optimal in every comparison; logarithms of e-values."""

    log_e: float  # against "not optimal"
    log_against: float  # against "optimal"
    ratio: float  # nats by which the likeliest model beats every one in which majority is not optimal
    margin: float  # at the likeliest model, in nats


def weigh_comparisons(table: Table, items_p: FloatArray, comparisons: Comparisons, rng: np.random.Generator) -> Weight:
    """The split e-values of one table of votes.

    Each item goes to training with probability TRAIN_SHARE in each of SPLITS splits; the e-value is the mean over the
    splits of the likelihood ratio of the test items, the mean of training's models against the likeliest of the null.
    Against "optimal" it is only worked out where the likeliest model speaks against it, and 0 elsewhere, as is safe.
    """
    train_sp = rng.binomial(items_p.astype(np.int64), TRAIN_SHARE, size=(SPLITS, len(items_p))).astype(float)
    test_sp = items_p - train_sp
    value_ms = np.array([log_likelihood(table, test_sp, models) for models in learnt(table, train_sp)])
    value_s = np.logaddexp.reduce(value_ms) - np.log(len(value_ms))
    null_b, _ = not_optimal(table, np.concatenate([test_sp, items_p[None]]), comparisons)
    top, top_b = likeliest(table, items_p[None])
    margin = float(margins(comparisons, top)[0])
    log_e = _log_mean(value_s - null_b[:-1])
    log_against = _log_against(table, test_sp, comparisons, value_s) if margin < 0 else -np.inf
    return Weight(log_e, log_against, max(0.0, float(top_b[0] - null_b[-1])), margin)


def _log_against(table: Table, test_sp: FloatArray, comparisons: Comparisons, value_s: FloatArray) -> float:
    """log of the e-value against "optimal"; once it is below 1, further climbs could only make it smaller."""
    top, _ = likeliest(table, test_sp)
    best_s = np.full(len(test_sp), -np.inf)
    for share in TOWARDS_SAFE:
        each = [optimal(table, test_sp[s], comparisons, top.take(np.array([s])), share) for s in range(len(test_sp))]
        best_s = np.maximum(best_s, each)
        found = np.isfinite(best_s)  # a climb that failed has no voice
        log_against = _log_mean(np.where(found, value_s - np.where(found, best_s, 0.0), -np.inf))
        if log_against < 0:
            break
    return log_against


def _log_mean(log_s: FloatArray) -> float:
    return float(np.logaddexp.reduce(log_s) - np.log(len(log_s)))
