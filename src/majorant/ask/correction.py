"""A rule learned from a few expert labels, for a crowd that leans, and the question whether it is better.

Where all workers prefer a class, no rule that sees votes alone can know.  Labels of items drawn uniformly show it, and
teach a correction: models reweighted, and an offset for each class.  A learned rule may do harm, so it is frozen with
the labels that it gives, and compared with the present one on a fresh random order of the items that were not labelled
and on which the two differ, as in `race`: given the labels it learned from, it is a fixed rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.ask.question import Codes, Outcome
from majorant.ask.race import Race
from majorant.backend import Backend
from majorant.errors import ConfigError
from majorant.kernels import Block, rows_in
from majorant.methods.fit import Fit
from majorant.values import FloatArray, lock

IntArray = NDArray[np.int64]

LABELS = 60  # to learn from, of a hundred in all: the others are for the comparison
LEAST_BELIEF = 0.02  # of a probability, so that no model is sure of anything
# How strongly offsets are drawn to 0 and weights to equal ones: chosen on eleven public sets, as was LABELS.
OFFSET_PENALTY, WEIGHT_PENALTY = 1.0, 3.0
CORRECTED = "corrected"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Correction:
    """Score class k of an item by sum_m weight_m log p_mk + offset_k, where p_m is what model m believes."""

    weight_m: FloatArray
    offset_k: FloatArray
    n_labels: int  # that it was learned from

    def __post_init__(self) -> None:
        lock(self)


def learn(posterior: ArrayLike, truth: ArrayLike) -> Correction:
    """The correction under which the expert's labels are likeliest, drawn to equal weights and offsets of zero.

    `posterior` (models, labelled items, classes), `truth` (labelled items) class codes.  The items should be a uniform
    sample; the models must not have seen the labels.  Without labels every model counts alike.

    >>> posterior = np.array([[[.6, .4]] * 12 + [[.9, .1]] * 8])
    >>> learn(posterior, [1] * 11 + [0] * 9).offset_k.round(2).tolist()
    [-0.67, 0.67]
    """
    log_mnk, truth_n = _logs(posterior), np.asarray(truth, dtype=np.int64)
    n_models, n_labels, n_classes = log_mnk.shape
    if len(truth_n) != n_labels:
        raise ConfigError(f"truth= holds {len(truth_n)} labels for {n_labels} rows of posterior=.")
    if n_labels and not 0 <= truth_n.min() <= truth_n.max() < n_classes:
        raise ConfigError(f"truth= must hold class codes 0..{n_classes - 1}; leave out items that the expert skipped.")
    from scipy.optimize import minimize

    start = np.concatenate([np.full(n_models, 1 / n_models), np.zeros(n_classes)])
    penalty = np.concatenate([np.full(n_models, WEIGHT_PENALTY), np.full(n_classes, OFFSET_PENALTY)])

    def objective(value: FloatArray) -> tuple[float, FloatArray]:
        score_nk = np.tensordot(value[:n_models], log_mnk, axes=1) + value[n_models:]
        score_nk -= score_nk.max(axis=1, keepdims=True)
        log_nk = score_nk - np.log(np.exp(score_nk).sum(axis=1, keepdims=True))
        surplus_nk = np.exp(log_nk)
        surplus_nk[np.arange(n_labels), truth_n] -= 1
        slope = np.concatenate([np.einsum("nk,mnk->m", surplus_nk, log_mnk), surplus_nk.sum(axis=0)])
        loss = -log_nk[np.arange(n_labels), truth_n].sum() + (penalty * (value - start) ** 2).sum()
        return float(loss), slope + 2 * penalty * (value - start)

    value = minimize(objective, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-12, "gtol": 1e-8}).x
    return Correction(weight_m=value[:n_models], offset_k=value[n_models:], n_labels=n_labels)


def relabel(correction: Correction, posterior: ArrayLike) -> IntArray:
    """The class that the corrected rule gives each item; `posterior` (models, items, classes), the models in order.

    >>> posterior = np.array([[[.6, .4], [.9, .1]]])
    >>> relabel(Correction(weight_m=np.ones(1), offset_k=np.array([-.6, .6]), n_labels=20), posterior).tolist()
    [1, 0]
    """
    return np.asarray(scores(correction, posterior).argmax(axis=1), dtype=np.int64)


def scores(correction: Correction, posterior: ArrayLike) -> FloatArray:
    """The score of each class of each item, (items, classes): a log-probability up to a constant of the item."""
    return np.asarray(np.tensordot(correction.weight_m, _logs(posterior), axes=1) + correction.offset_k)


def _logs(posterior: ArrayLike) -> FloatArray:
    return np.asarray(np.log(np.maximum(np.asarray(posterior, dtype=float), LEAST_BELIEF)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CorrectedRule:
    """The present rule and the corrected one on the items where they differ, and what the correction is.

    Only items that taught nothing count: those that the expert had labelled or skipped before are left out.
    """

    kind: ClassVar[str] = "correct"
    race: Race
    correction: Correction
    members: tuple[str, ...]  # the models that are reweighted

    @property
    def size(self) -> int:
        """How many items the order holds."""
        return self.race.size

    @property
    def strata(self) -> Codes:
        """One: the order is kept."""
        return self.race.strata

    def expected(self) -> int | None:
        """About how many labels should settle it."""
        return self.race.expected()

    def next_items(self, answer_d: Codes) -> Codes:
        """The items in their order."""
        return self.race.next_items(answer_d)

    def evaluate(self, answer_d: Codes) -> Outcome:
        """How the corrected rule stands to the present one: better, worse, same or open."""
        outcome = self.race.evaluate(answer_d)
        correction = self.correction
        learned = {
            "learned_from": correction.n_labels,
            "weights": dict(zip(self.members, correction.weight_m.tolist(), strict=True)),
            "offsets": correction.offset_k.tolist(),
        }
        return replace(outcome, kind=self.kind, facts={**outcome.facts, **learned})

    def to_dict(self) -> dict[str, Any]:
        """The content as plain data for JSON."""
        return {
            "race": self.race.to_dict(),
            "members": list(self.members),
            "weights": self.correction.weight_m.tolist(),
            "offsets": self.correction.offset_k.tolist(),
            "learned_from": self.correction.n_labels,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The question that `to_dict` wrote."""
        correction = Correction(
            weight_m=np.array(content["weights"], dtype=float),
            offset_k=np.array(content["offsets"], dtype=float),
            n_labels=int(content["learned_from"]),
        )
        return cls(race=Race.from_dict(content["race"]), correction=correction, members=tuple(content["members"]))


def corrected_fit(backend: Backend, members: Mapping[str, Fit], correction: Correction) -> Fit:
    """What the corrected rule believes of every item; the models must be those that it was learned with, in order."""
    first = next(iter(members.values()))
    rows = tuple(fit.posterior for fit in members.values())
    return replace(
        first,
        method=CORRECTED,
        posterior=backend.rows(partial(_beliefs, rows, correction)),
        confusion=None,
        skill=None,
        learned={"weights": correction.weight_m, "offsets": correction.offset_k},
        trace=(),
        resume=None,
    )


def _beliefs(rows: tuple[FloatArray, ...], correction: Correction, block: Block) -> FloatArray:
    score_ik = scores(correction, np.array([rows_in(posterior, block) for posterior in rows]))
    belief_ik = np.exp(score_ik - score_ik.max(axis=1, keepdims=True))
    return np.asarray(belief_ik / belief_ik.sum(axis=1, keepdims=True))
