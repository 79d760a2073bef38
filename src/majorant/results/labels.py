"""The label of each item with what stands behind it, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.backend import Backend, of_fit
from majorant.methods.fit import NO_LABEL, Fit, Ties
from majorant.methods.majority import Majority
from majorant.votes import IntArray, Named, Votes

CHANGES = ("no", "yes", "tie settled", "tie opened")
FILE_DIGITS = 9  # probabilities in files; the digits beyond are rounding


def label_table(votes: Votes, fit: Fit, *, ties: Ties = "flag", rng: int | np.random.Generator = 0) -> dict[str, Any]:
    """Columns item, label, confidence, runner_up, margin, votes, tied and changed, a row for each item.

    `confidence` is the probability of the label, `runner_up` the next most probable class if there is any, `margin`
    the lead over it in probability.  An item without votes has none of them; a tie that is left open has no label.
    `changed` is "yes" where majority vote gives another label, "tie settled" where majority vote is tied and the fit is
    not, "tie opened" where it is the other way round, else "no".
    """
    return {"item": list(votes.items), **label_columns(fit, changes(votes, fit), fit.codes(ties, rng))}


def label_sets(table: Mapping[str, Any], *, between: str = " | ") -> dict[str, list[Any]]:
    """Yes and no on each label put together again: a row per item with the labels that it is given.

    `confidence` is that of the least sure of its answers, `doubtful` the label that it is about; a tie that is left
    open gives no label.

    >>> label_sets({"item": ["1 | a", "1 | b", "2 | a"], "label": ["yes", "no", "no"], "confidence": [.9, .6, .8]})
    {'item': ['1', '2'], 'labels': ['a', ''], 'confidence': [0.6, 0.8], 'doubtful': ['b', 'a']}
    """
    given: dict[str, list[str]] = {}
    least: dict[str, tuple[float, str]] = {}
    for name, answer, confidence in zip(table["item"], table["label"], table["confidence"], strict=True):
        item, label = str(name).rsplit(between, 1)
        given.setdefault(item, []).extend([label] if answer == "yes" else [])
        sure = 0.0 if confidence != confidence else float(confidence)
        least[item] = min(least.get(item, (2.0, "")), (sure, label))
    return {
        "item": list(given),
        "labels": ["|".join(labels) for labels in given.values()],
        "confidence": [least[item][0] for item in given],
        "doubtful": [least[item][1] for item in given],
    }


def label_columns(fit: Fit, change_i: NDArray[np.int8], label_i: NDArray[np.int32]) -> dict[str, Any]:
    """The columns of the table behind the items' names, for the labels with these codes."""
    first_i, second_i = two_best(fit.posterior, label_i)
    rows = np.arange(len(label_i))
    confidence_i, next_i = fit.posterior[rows, first_i], fit.posterior[rows, second_i]
    next_i = np.where(second_i == first_i, 0.0, next_i)  # a single class has no runner-up
    voted_i = fit.votes_i > 0
    return {
        "label": Named(label_i, fit.label_values),
        "confidence": np.where(voted_i, confidence_i.round(FILE_DIGITS), np.nan),
        "runner_up": Named(np.where(voted_i & (next_i > 0), second_i, NO_LABEL), fit.label_values),
        "margin": np.where(voted_i, (confidence_i - next_i).round(FILE_DIGITS), np.nan),
        "votes": fit.votes_i,
        "tied": fit.tied_i,
        "changed": Named(change_i, CHANGES),
    }


def changes(votes: Votes, fit: Fit, majority: Fit | None = None) -> NDArray[np.int8]:
    """How each label compares with majority vote: its place in CHANGES.

    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 0, 1], items="ab", workers="wx", labels="ny")
    >>> from dataclasses import replace
    >>> rare = replace(Majority().fit(votes), posterior=np.array([[.6, .4], [.9, .1]]))
    >>> [CHANGES[c] for c in changes(votes, rare)]
    ['tie settled', 'yes']
    """
    before_i = (Majority().fit(votes) if majority is None else majority).codes()
    after_i = fit.codes()
    kind_i = np.zeros(len(after_i), dtype=np.int8)
    kind_i[(before_i != after_i) & (fit.votes_i > 0)] = CHANGES.index("yes")
    kind_i[(before_i == NO_LABEL) & (after_i != NO_LABEL)] = CHANGES.index("tie settled")
    kind_i[(before_i != NO_LABEL) & (after_i == NO_LABEL)] = CHANGES.index("tie opened")
    return kind_i


class LabelCounts(NamedTuple):
    """Items by label, tied ones and those without votes; the counts of parts of the items add up."""

    items_k: IntArray
    tied: int
    without_votes: int


class LabelChanges(NamedTuple):
    """What becomes of the items by majority vote and by a rule; the outcomes of parts of the items add up."""

    majority: LabelCounts
    rule: LabelCounts
    flow_kl: IntArray  # items by label of majority vote and of the rule, (K + 1, K + 1); the last stands for a tie

    @property
    def changed(self) -> int:
        """Items to which the rule gives another label."""
        apart_kl = self.flow_kl[:-1, :-1]
        return int(apart_kl.sum() - np.trace(apart_kl))

    @property
    def settled(self) -> int:
        """Items that majority vote leaves tied and the rule does not."""
        return int(self.flow_kl[-1, :-1].sum())


def labels_of_fit(fit: Fit) -> LabelCounts:
    """How many items of a fit got which label, and how many none."""
    code_i = fit.codes()
    items_k = np.bincount(code_i[code_i >= 0], minlength=len(fit.label_values))
    return LabelCounts(items_k, int(fit.tied_i.sum()), int((fit.votes_i == 0).sum()))


def compare_labels(majority: Fit, fit: Fit) -> LabelChanges:
    """What becomes of the items of two fits."""
    size = len(majority.label_values) + 1
    voted_i = majority.votes_i > 0
    before_i, after_i = majority.codes()[voted_i] % size, fit.codes()[voted_i] % size  # NO_LABEL is -1
    flow_kl = np.bincount(before_i * np.int64(size) + after_i, minlength=size * size).reshape(size, size)
    return LabelChanges(labels_of_fit(majority), labels_of_fit(fit), flow_kl)


def outcome(backend: Backend, fit: Fit) -> LabelChanges:
    """What becomes of all items by majority vote and by a fit, wherever they lie."""
    return backend.sum(of_fit(lambda votes, part: compare_labels(Majority().fit(votes), part), fit), doing="counting")


def count_labels(backend: Backend, fit: Fit) -> LabelCounts:
    """How many of all items got which label, wherever they lie."""
    return backend.sum(of_fit(lambda _, part: labels_of_fit(part), fit), doing="counting")


def two_best(posterior_ik: NDArray[np.float64], label_i: NDArray[np.int32]) -> tuple[NDArray[np.int64], ...]:
    """The chosen class (the most probable where none was chosen) and the most probable of the others."""
    rows = np.arange(len(label_i))
    first_i = np.where(label_i >= 0, label_i, posterior_ik.argmax(axis=1))
    others_ik = posterior_ik.copy()
    others_ik[rows, first_i] = -1.0
    return first_i, others_ik.argmax(axis=1)
