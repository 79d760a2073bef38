"""The label of every item: the expert's or gold label if there is one, otherwise the rule's."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.ask.design import Design
from majorant.items import names_at, rows_of_parts, sum_parts
from majorant.methods.fit import NO_LABEL, TIE_TOLERANCE, Fit, Ties, toss_coins
from majorant.methods.majority import Majority
from majorant.read.tasks import ExpertAnswer
from majorant.tabular import Tabular
from majorant.tally import counts, tied
from majorant.values import FloatArray
from majorant.votes import IntArray, Named, Votes

TiePolicy = Ties | Literal["coin"]
FILE_DIGITS = 9  # for probabilities in files; later digits are rounding errors


class LabelSource(StrEnum):
    """Where a label comes from."""

    RULE = "rule"
    TIE = "tie"  # the votes are tied; the rule for ties or a coin decided
    GOLD = "gold"
    EXPERT = "expert"


@dataclass(frozen=True, slots=True)
class Known:
    """Labels that override those of a rule, by the text of the item's name."""

    expert: Mapping[str, Hashable] = field(default_factory=dict)
    gold: bool = True  # whether gold labels that came with the votes override the rule


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Labels(Tabular):
    """The labels that `check` writes, as a table with the columns of labels.csv.

    `fit` holds the calibrated probabilities of the rule, without the known labels.
    """

    votes: Votes
    fit: Fit
    confidence_i: FloatArray
    majority: Fit
    weighted: Fit | None
    known: Known

    @property
    def _label_type(self) -> Any:
        return self.fit._label_type

    def table(self) -> dict[str, Any]:
        """One row per item: label, source, confidence, labels of both rules, runner-up, votes, tied, changed."""
        return label_table(
            self.votes, self.fit, self.majority, self.weighted, known=self.known, confidence_i=self.confidence_i
        )


def label_table(
    votes: Votes,
    fit: Fit,
    majority: Fit | None = None,
    weighted: Fit | None = None,
    *,
    known: Known | None = None,
    confidence_i: FloatArray | None = None,
    ties: TiePolicy = "coin",
    rng: int | np.random.Generator = 0,
) -> dict[str, Any]:
    """The columns of labels.csv for these items, under fits to the same items.

    The columns of `majority` and `weighted` are empty where they are tied.  Ties in `fit` are decided by `ties`: a coin
    toss determined by the item's name, or a policy of `Fit.codes`.  Items without votes have no label unless one is
    known.
    `confidence_i` is the probability that each label is right, by default according to the fit.
    """
    known = known or Known(gold=False)
    majority = Majority().fit(votes) if majority is None else majority
    voted_i, rows = fit.votes_i > 0, np.arange(len(fit.votes_i))
    label_i, majority_i = decided_labels(fit, votes, ties, rng), majority.codes()
    values = list(fit.label_values)
    source_i = np.where(tied(counts(votes)) & voted_i, _code(LabelSource.TIE), _code(LabelSource.RULE))
    if known.gold:
        label_i = np.where(votes.truth_i >= 0, votes.truth_i, label_i)
        source_i = np.where(votes.truth_i >= 0, _code(LabelSource.GOLD), source_i)
    if known.expert:
        expert = [known.expert.get(str(item)) for item in votes.items]
        place = {value: k for k, value in enumerate(values)}
        text = {str(value): k for value, k in place.items()}
        for i, value in enumerate(expert):
            if value is not None:
                k = place.get(value, text.get(str(value), len(values)))
                if k == len(values):  # a label without votes
                    values.append(value)
                    text[str(value)] = k
                label_i[i], source_i[i] = k, _code(LabelSource.EXPERT)
    sure_i = np.isin(source_i, [_code(LabelSource.GOLD), _code(LabelSource.EXPERT)])
    more = len(values) - fit.posterior.shape[1]  # labels given only by an expert
    posterior_ik = np.pad(np.asarray(fit.posterior), ((0, 0), (0, more)))
    first_i = np.where(label_i >= 0, label_i, posterior_ik.argmax(axis=1))
    others_ik = posterior_ik.copy()
    others_ik[rows, first_i] = -1.0
    second_i = others_ik.argmax(axis=1)
    has_second_i = voted_i & (posterior_ik[rows, second_i] > 0) & (second_i != first_i)
    probable_i = posterior_ik[rows, first_i] if confidence_i is None else confidence_i
    confidence_i = np.where(sure_i, 1.0, probable_i.round(FILE_DIGITS))
    names = tuple(values)
    return {
        "item": list(votes.items),
        "label": Named(label_i, names),
        "source": Named(np.where(label_i >= 0, source_i, NO_LABEL), tuple(LabelSource)),
        "confidence": np.where(voted_i | sure_i, confidence_i, np.nan),
        "majority": Named(majority_i, names),
        "weighted_vote": Named(np.full(len(rows), NO_LABEL, np.int32) if weighted is None else weighted.codes(), names),
        "runner_up": Named(np.where(has_second_i, second_i, NO_LABEL), names),
        "votes": fit.votes_i,
        "tied": tied(counts(votes)) & voted_i,
        "changed": (label_i != majority_i) & (majority_i >= 0) & (label_i >= 0),
    }


def _code(source: LabelSource) -> int:
    return list(LabelSource).index(source)


def decided_labels(
    fit: Fit, votes: Votes, ties: TiePolicy = "coin", rng: int | np.random.Generator = 0
) -> NDArray[np.int32]:
    """The class of each item; -1 for items without votes and for ties that the policy leaves open."""
    if ties != "coin":
        return fit.codes(ties, rng)
    code_i = fit.codes()
    open_t = np.flatnonzero((code_i == NO_LABEL) & (fit.votes_i > 0))
    if len(open_t):
        posterior_tk = np.asarray(fit.posterior)[open_t]
        best_tk = posterior_tk >= posterior_tk.max(axis=1, keepdims=True) - TIE_TOLERANCE
        code_i[open_t] = toss_coins(best_tk, names_at(votes.items, open_t))
    return code_i


def decide_coins(fit: Fit, votes: Votes) -> Fit:
    """Break ties by putting the chosen class ahead by a tiny margin."""
    open_t = np.flatnonzero(fit.tied_i)
    if not len(open_t):
        return fit
    return replace(fit, posterior=rows_of_parts(_with_coins, votes, fit))


def _with_coins(votes: Votes, fit: Fit) -> FloatArray:
    open_t, posterior_ik = np.flatnonzero(fit.tied_i), np.array(fit.posterior)
    posterior_ik[open_t, decided_labels(fit, votes)[open_t]] += 4 * TIE_TOLERANCE
    return np.asarray(posterior_ik / posterior_ik.sum(axis=1, keepdims=True))


def label_sets(table: Mapping[str, Any], *, between: str = " | ") -> dict[str, list[Any]]:
    """Combine yes/no answers about labels into one row per item with all its labels.

    `confidence` is the lowest confidence among its answers, and `doubtful` the label with that answer.

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


class LabelCounts(NamedTuple):
    """Numbers of items by label, with ties, and without votes; counts of parts of the items can be added."""

    items_k: IntArray
    tied: int
    without_votes: int


class LabelChanges(NamedTuple):
    """Cross-tabulation of majority vote's labels and the rule's; tables for disjoint sets of items can be summed."""

    majority: LabelCounts
    rule: LabelCounts
    flow_kl: IntArray  # items by labels of majority vote and of the rule, (K + 1, K + 1); last: ties

    @property
    def changed(self) -> int:
        """Number of items whose label the rule changes."""
        labelled_kl = self.flow_kl[:-1, :-1]
        return int(labelled_kl.sum() - np.trace(labelled_kl))


def count_labels(_: Votes, fit: Fit) -> LabelCounts:
    """Count the items of a fit by label."""
    code_i = fit.codes()
    items_k = np.bincount(code_i[code_i >= 0], minlength=len(fit.label_values))
    return LabelCounts(items_k, int(fit.tied_i.sum()), int((fit.votes_i == 0).sum()))


def compare_labels(votes: Votes, majority: Fit, fit: Fit) -> LabelChanges:
    """Cross-tabulate the labels of two fits to the same items."""
    size = len(majority.label_values) + 1
    voted_i = majority.votes_i > 0
    before_i, after_i = majority.codes()[voted_i] % size, fit.codes()[voted_i] % size  # NO_LABEL is -1
    flow_kl = np.bincount(before_i * np.int64(size) + after_i, minlength=size * size).reshape(size, size)
    return LabelChanges(count_labels(votes, majority), count_labels(votes, fit), flow_kl)


def count_all_labels(votes: Votes, fit: Fit) -> LabelCounts:
    """Count all items by label."""
    return sum_parts(count_labels, votes, fit)


def label_changes(votes: Votes, majority: Fit, fit: Fit) -> LabelChanges:
    """Cross-tabulate the labels of majority vote and another rule on all items."""
    return sum_parts(compare_labels, votes, majority, fit)


def with_known(fit: Fit, votes: Votes) -> Fit:
    """The fit with probability 1 for known gold labels."""
    return fit if votes.gold_i is None else replace(fit, posterior=rows_of_parts(_known_rows, votes, fit))


def _known_rows(votes: Votes, fit: Fit) -> FloatArray:
    known, posterior_ik = np.flatnonzero(votes.truth_i >= 0), np.array(fit.posterior)
    posterior_ik[known] = np.eye(posterior_ik.shape[1])[votes.truth_i[known]]
    return posterior_ik


def expert_labels(design: Design, answers: Sequence[ExpertAnswer]) -> dict[str, Hashable]:
    """Labels of experts for the items of a design, by the text of the item's name, except where experts disagree.

    They include labels that are not classes of the votes.
    """
    code_d = design.codes(answers)
    label_by_item = {str(design.order[d]): design.labels[code_d[d]] for d in np.flatnonzero(code_d >= 0)}
    unknown = set(map(str, design.judge(answers).unknown))
    return label_by_item | {str(one.item): one.label for one in answers if str(one.label) in unknown}
