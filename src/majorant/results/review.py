"""The labels to check first, and who voted for what.

For crowds whose workers differ, items are ordered by how much the models doubt the written label: one minus the median
of their probabilities for it.  For panels, where models mislead, and for crowds of similar workers, they are ordered by
confidence.  docs/decide.md says how many wrong labels the list finds.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.items import names_at, rows_of_parts, take_items
from majorant.methods.fit import NO_LABEL
from majorant.results.labels import FILE_DIGITS
from majorant.tabular import Tabular
from majorant.tally import counts, tied
from majorant.values import FloatArray, lock
from majorant.votes import IntArray, Named, Votes

MOST_TO_REVIEW = 100


class Reason(StrEnum):
    """Why a label is doubtful: the first reason that applies."""

    TIE = "tie"
    ONE_VOTE = "only 1 vote"
    OVERTURNED = "rule overturns majority"
    GOOD_WORKERS_DISAGREE = "good workers disagree"
    NEAR_TIE = "near-tie"
    TWO_VOTES = "only 2 votes"
    VOTES_DISAGREE = "votes disagree"
    WEAK_WORKERS = "weak workers"  # all votes agree


class Said(NamedTuple):
    """A label of an item, and the workers who gave it."""

    label: Hashable
    workers: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Review(Tabular):
    """The labels to check first; axis p.

    Attributes
    ----------
    item_p : array of int
        Codes of the items, the most doubtful first.
    label_p, runner_up_p : array of int
        The written label, and the label with the most votes among the others (-1 if there is none).
    confidence_p : array of float
        Probability that the label is right.
    said : tuple of tuple of Said
        Who voted for which label, starting with the written one.
    reason : tuple of Reason
        Why each label is doubtful.
    gain : float
        Expected increase in accuracy, over all items, if an expert checks the whole list.
    by_models : bool
        Whether items are ordered by the models' doubt rather than by confidence.
    """

    item_p: IntArray
    label_p: IntArray
    runner_up_p: IntArray
    confidence_p: FloatArray
    votes_p: IntArray
    said: tuple[tuple[Said, ...], ...]
    reason: tuple[Reason, ...]
    gain: float
    by_models: bool
    items: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]
    text: tuple[str | None, ...] = ()  # of each item, if the votes came with texts
    label_type: Any = None

    def __post_init__(self) -> None:
        lock(self)

    def table(self) -> dict[str, Any]:
        """One row per item: label, confidence, runner-up, votes, who voted for which label, and the reason."""
        return {
            "item": list(self.items),
            "label": Named(self.label_p, self.labels),
            "confidence": self.confidence_p.round(FILE_DIGITS),
            "runner_up": Named(self.runner_up_p, self.labels),
            "votes": self.votes_p,
            "said": ["; ".join(map(_said_text, said)) for said in self.said],
            "reason": [str(reason) for reason in self.reason],
            **({"text": list(self.text)} if any(self.text) else {}),
        }

    @property
    def _label_type(self) -> Any:
        return self.label_type


def _said_text(said: Said) -> str:
    """A label and the first ten workers who gave it, as a table cell.

    >>> _said_text(Said("yes", ("ann", "bob")))
    'yes: ann, bob'
    """
    more = f" and {len(said.workers) - 10} more" if len(said.workers) > 10 else ""
    return f"{said.label}: {', '.join(map(str, said.workers[:10]))}{more}"


def review(
    votes: Votes,
    label_i: IntArray,
    confidence_i: FloatArray,
    *,
    models: Sequence[FloatArray] = (),
    by_models: bool = False,
    good: NDArray[np.bool_] | None = None,
    most: int = MOST_TO_REVIEW,
) -> Review:
    """List the labels to check first.

    Parameters
    ----------
    votes : Votes
        The votes; items with a gold label are not listed.
    label_i : array of int
        Code of the written label of each item, -1 for none.
    confidence_i : array of float
        Probability that the label is right.
    models : sequence of arrays
        Probabilities of each model, or the vote shares, (items, classes), by which the items are ordered; if empty,
        they are ordered by confidence.
    by_models : bool
        Whether these are probabilities of models.
    good : array of bool, optional
        Which workers are good; used for the reasons.
    most : int
        How many items to list.

    Returns
    -------
    Review
        The most doubtful labels, in order.
    """
    doubt_i = rows_of_parts(_doubt_of_part, votes, label_i, confidence_i, *models)
    item_p = _most_doubtful(votes, doubt_i, most)
    listed = take_items(votes, item_p)
    n_voted = np.count_nonzero(votes.votes_i)
    label_p = label_i[item_p]
    # On public data, the median list has 1.3 times as many wrong labels as its confidence implies (truth.py).  A list
    # cannot hold more wrong labels than there are.
    wrong = float(np.minimum(1.3 * (1 - confidence_i[item_p]), 1).sum())
    missing = float(np.nansum(1 - confidence_i))
    return Review(
        item_p=item_p,
        label_p=label_p,
        runner_up_p=_runners_up(listed, label_p),
        confidence_p=confidence_i[item_p],
        votes_p=listed.votes_i,
        said=_who_said_what(listed, label_p),
        reason=_reasons(listed, label_p, good),
        gain=min(wrong, missing) / max(int(n_voted), 1),
        by_models=by_models,
        items=tuple(listed.items),
        labels=votes.labels,
        text=() if votes.text is None else tuple(votes.text(listed.items)),
        label_type=votes.label_type,
    )


def _doubt_of_part(votes: Votes, label_i: IntArray, confidence_i: FloatArray, *models: FloatArray) -> FloatArray:
    return label_doubt(votes, label_i, confidence_i, models)


def label_doubt(
    votes: Votes, label_i: IntArray, confidence_i: FloatArray, models: Sequence[FloatArray] = ()
) -> FloatArray:
    """How doubtful each label is: one minus the median of the models' probabilities, or one minus the confidence.

    It is minus infinity for items without a label and for items with gold.

    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 0, 1], items="ab", workers="wx", labels="ny")
    >>> label_doubt(votes, np.array([1, 1]), np.array([.5, .75])).round(3).tolist()
    [0.5, 0.25]
    >>> label_doubt(votes, np.array([1, 1]), np.ones(2), [np.array([[.8, .2], [.1, .9]])] * 3).round(3).tolist()
    [0.8, 0.1]
    """
    rows, first_i = np.arange(len(label_i)), np.maximum(label_i, 0)
    sure_i = np.median([np.asarray(model)[rows, first_i] for model in models], axis=0) if models else confidence_i
    # Models that are certain give equal doubts; confidence breaks these ties.
    doubt_i = (1 - sure_i).round(FILE_DIGITS) - 1e-10 * confidence_i.round(6)
    return np.where((label_i >= 0) & (votes.votes_i > 0) & (votes.truth_i < 0), doubt_i, -np.inf)


def _runners_up(votes: Votes, label_p: IntArray) -> IntArray:
    """The label with the most votes apart from the written one; -1 if there is none."""
    count_pk = counts(votes)
    count_pk[np.arange(len(label_p)), label_p] = 0
    return np.where(count_pk.max(axis=1, initial=0) > 0, count_pk.argmax(axis=1), NO_LABEL)


def _who_said_what(votes: Votes, label_p: IntArray) -> tuple[tuple[Said, ...], ...]:
    """Each item's labels with the workers who gave them: the written label first, then by votes."""
    said = []
    for p, (start, stop) in enumerate(zip(votes.offsets_i[:-1], votes.offsets_i[1:], strict=True)):
        by_label: dict[int, list[Hashable]] = {}
        for j, k in zip(votes.worker_n[start:stop].tolist(), votes.label_n[start:stop].tolist(), strict=True):
            by_label.setdefault(k, []).append(votes.workers[j])
        order = sorted(by_label, key=lambda k: (k != label_p[p], -len(by_label[k]), k))
        said.append(tuple(Said(votes.labels[k], tuple(by_label[k])) for k in order))
    return tuple(said)


def _reasons(votes: Votes, label_p: IntArray, good_j: NDArray[np.bool_] | None) -> tuple[Reason, ...]:
    """The first reason that applies to each item."""
    count_pk, votes_p, rows = counts(votes), votes.votes_i, np.arange(len(label_p))
    own_p, other_pk = count_pk[rows, label_p], count_pk.copy()
    other_pk[rows, label_p] = 0
    lead_p = own_p - other_pk.max(axis=1, initial=0)
    good_pk = np.zeros(count_pk.shape, dtype=bool)
    if good_j is not None:
        good_n = good_j[votes.worker_n]
        good_pk[votes.item_n[good_n], votes.label_n[good_n]] = True
    reasons = {
        Reason.TIE: tied(count_pk),
        Reason.ONE_VOTE: votes_p == 1,
        Reason.OVERTURNED: lead_p < 0,
        Reason.GOOD_WORKERS_DISAGREE: good_pk.sum(axis=1) > 1,
        Reason.NEAR_TIE: lead_p == 1,
        Reason.TWO_VOTES: votes_p == 2,
        Reason.VOTES_DISAGREE: own_p < votes_p,
    }
    names = np.select(list(reasons.values()), [str(reason) for reason in reasons], str(Reason.WEAK_WORKERS))
    return tuple(map(Reason, names.tolist()))


def _most_doubtful(votes: Votes, doubt_i: FloatArray, most: int) -> NDArray[np.int64]:
    """The most doubtful items, in order; names decide between equals, so that the order of the rows does not matter."""
    item_p = np.argsort(-doubt_i, kind="stable")
    item_p = item_p[np.isfinite(doubt_i[item_p])]
    if len(item_p) > most:
        least = doubt_i[item_p[most - 1]]
        item_p = item_p[: np.searchsorted(-doubt_i[item_p], -least, side="right")]
    rising_p = np.sort(item_p)
    by_name = np.argsort(np.array([str(name) for name in names_at(votes.items, rising_p)], dtype=object), kind="stable")
    item_p = rising_p[by_name]
    return np.asarray(item_p[np.argsort(-doubt_i[item_p], kind="stable")][:most], dtype=np.int64)
