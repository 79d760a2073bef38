"""Inputs of a rate: the quantity to average, and the labelled items."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.ask.design import Design, Recognised, recognise
from majorant.ask.question import UNASKED
from majorant.errors import ConfigError, DataError, use
from majorant.evidence.learn import gold_labels
from majorant.read.build import match_labels
from majorant.read.gold import read_gold
from majorant.read.options import ReadOptions
from majorant.read.pair_orders import TIE, is_tie
from majorant.read.pairs import Pairs
from majorant.read.reshape import join_key, split_key
from majorant.values import FloatArray
from majorant.votes import NoteKind, Votes

Codes = NDArray[np.int64]


class Measure(StrEnum):
    """The quantity that is averaged over items."""

    SHARE = "share"  # the share of a class
    SCORE = "score"
    WIN = "win rate"  # a tie counts half


class Order(StrEnum):
    """How much is known about the order of the labels."""

    DRAWN = "drawn"  # by `majorant ask`
    GIVEN = "given"  # as the caller passed them
    SHUFFLED = "shuffled"  # a sample without an order, such as a sorted file or a column of the votes


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The quantity to average: a number in [0, 1] for each label, possibly different in each slice."""

    measure: Measure
    label: Hashable | None
    limits: tuple[float, float]
    value_sk: FloatArray  # (slices or 1, labels)
    wins: tuple[tuple[Hashable, Hashable], ...] = ()  # for win rates, the two candidates of each slice
    ties: frozenset[Hashable] = frozenset()

    def of_votes(self, votes: Votes) -> FloatArray:
        """The numbers that votes stand for."""
        return np.asarray(self.value_sk[self._row(votes, votes.item_n), votes.label_n])

    def of_classes(self, votes: Votes, chance_ik: FloatArray) -> FloatArray:
        """The expected number of each item, given class probabilities."""
        rows = self._row(votes, np.arange(len(votes.items)))
        return np.asarray(np.einsum("ik,ik->i", chance_ik, self.value_sk[rows]))

    def _row(self, votes: Votes, item_n: Any) -> Any:
        if len(self.value_sk) == 1 or votes.slice_i is None:
            return np.zeros(len(item_n), dtype=np.int64)
        return votes.slice_i[item_n]

    def of_gold(self, votes: Votes, item: int, value: Any) -> float:
        """The number that an expert's label stands for."""
        low, high = self.limits
        if self.measure is Measure.SCORE:
            number = _as_number(value)
            if number is None or not low <= number <= high:
                raise DataError(
                    f"Label {value!r} of item {votes.items[item]!r} is not a score from {low:g} to {high:g}. "
                    f"Give the range with {use('limits')}."
                )
            return (number - low) / (high - low)
        if self.measure is Measure.SHARE:
            return float(value == self.label)
        first, second = self.wins[int(votes.slice_i[item])] if votes.slice_i is not None else self.wins[0]
        if value in (first, second):
            return float(value == first)
        if value in self.ties or is_tie(value):
            return 0.5
        raise DataError(f"Label {value!r} of item {votes.items[item]!r} is not {first!r}, {second!r} or a tie.")


def find_target(votes: Votes, pairs: Pairs | None, label: Any, limits: tuple[float, float] | None) -> Target:
    """Find what to average from the caller's choice and the labels of the votes."""
    labels = votes.labels
    if pairs is not None and label is None:
        win_sk = np.array([[1.0 if k == a else 0.0 if k == b else 0.5 for k in labels] for a, b in pairs.candidates])
        ties = frozenset(k for k in labels if all(k not in both for both in pairs.candidates)) | {TIE}
        return Target(Measure.WIN, None, (0.0, 1.0), win_sk, pairs.candidates, ties)
    if label is not None:
        matched = match_labels([label], labels)[0]
        if matched not in labels:
            shown = ", ".join(repr(one) for one in labels[:8])
            raise ConfigError(f"{use('label', label)} is not a label of these votes. The labels are {shown}.")
        return _class_target(votes, matched)
    value_k = [_as_number(one) for one in labels]
    if _are_scores(value_k) or (limits is not None and None not in value_k):
        return _score_target(np.array(value_k, dtype=float), limits)
    likely = obvious_class(labels)
    if likely is not None:
        return _class_target(votes, likely)
    shown = ", ".join(repr(one) for one in labels[:8])
    if None not in value_k:
        raise ConfigError(
            f"Choose the class to measure with {use('label')}. The labels are {shown}. If they are "
            "scores, give their range "
            f"with {use('limits')}."
        )
    raise ConfigError(f"Choose the class to measure with {use('label')}. The labels are {shown}.")


def obvious_class(labels: Sequence[Hashable]) -> Hashable | None:
    """Default class of a rate with two classes; None if not obvious.

    >>> obvious_class(["fail", "pass"]), obvious_class([0, 1]), obvious_class([1, 2])
    ('pass', 1, None)
    """
    positive = ("pass", "passed", "yes", "true", "correct", "good", "win", "positive", "safe", "relevant", "1")
    words = {str(one).strip().casefold(): one for one in labels}
    likely = [words[word] for word in positive if word in words and (word != "1" or "0" in words)]
    likely += [one for one in labels if str(one).startswith("at least ")]  # scores cut at a threshold
    return likely[0] if len(labels) == 2 and likely else None


def needs_class(labels: Sequence[Hashable]) -> bool:
    """Whether the class must be specified."""
    return obvious_class(labels) is None and not _are_scores([_as_number(one) for one in labels])


def _are_scores(value_k: Sequence[float | None]) -> bool:
    """Whether labels are numbers on a scale; two whole numbers are treated as codes of two classes."""
    if any(value is None for value in value_k):
        return False
    known = {float(value) for value in value_k if value is not None}
    return len(known) > 2 or any(not value.is_integer() for value in known)


def _class_target(votes: Votes, label: Hashable) -> Target:
    return Target(Measure.SHARE, label, (0.0, 1.0), np.array([[float(one == label) for one in votes.labels]]))


def _score_target(value_k: FloatArray, limits: tuple[float, float] | None) -> Target:
    least, most = float(value_k.min()), float(value_k.max())
    usual = ((0.0, 1.0), (1.0, 5.0), (0.0, 5.0), (1.0, 10.0), (0.0, 10.0), (0.0, 100.0))
    fitting = [scale for scale in usual if scale[0] <= least and most <= scale[1]]
    if limits is None and not fitting:
        raise ConfigError(
            f"Scores range from {least:g} to {most:g}. Specify the possible range with limits=(LOW, HIGH)."
        )
    low, high = fitting[0] if limits is None else limits
    if not low <= least <= most <= high or low == high:
        raise ConfigError(
            f"limits=({low:g}, {high:g}) does not include all scores, which range from {least:g} to {most:g}."
        )
    return Target(Measure.SCORE, None, (float(low), float(high)), ((value_k - low) / (high - low))[None])


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Items in the order of labelling, with the expert's labels; None if a label is unknown."""

    item_t: Codes
    values: tuple[Any, ...]
    order: Order
    ignored: int = 0


def read_labelled(gold: Any, votes: Votes, how: ReadOptions, rng: np.random.Generator) -> Labelled:
    """Read labels from a file, frame, Series or dict, or take those that came with the votes."""
    if gold is None:
        skipped = sum(note.facts["items"] for note in votes.account.notes if note.kind is NoteKind.GOLD_SKIPPED)
        if skipped:
            raise DataError(
                f"Drawn items without a label ({skipped} here) must count as the worst case. Pass the "
                f"file as {use('gold')} "
                "instead of reading it with the votes; on a cluster, label these items first."
            )
        item_p, gold_p = gold_labels(votes)
        order_p = rng.permutation(len(item_p))
        return Labelled(item_p[order_p], tuple(votes.labels[code] for code in gold_p[order_p]), Order.SHUFFLED)
    recognised = gold if isinstance(gold, Recognised) else recognise(gold)
    if recognised is not None:
        return _drawn_labels(recognised.design, recognised.design.codes(recognised.answers), votes)
    key = tuple(votes.account.columns.get("item", "").split(","))  # the columns that together name an item
    found = read_gold(_as_table(gold), replace(how, gold_key=key).for_gold(), votes.items, what="label")
    item_t = np.array(list(found.value_by_item), dtype=np.int64)
    source = "labels" if isinstance(gold, Mapping) else str(gold)  # the text of a large dict would take seconds
    values = [how.scale.cut(value, source) for value in found.value_by_item.values()]
    values = _match_spelling(match_labels(values, votes.labels), votes.labels)
    order = Order.GIVEN
    question_i = next((code_i for code_i in find_questions(votes) if came_by_question(code_i, item_t)), None)
    if _is_sorted(item_t if question_i is None else np.array(list(dict.fromkeys(question_i[item_t])), dtype=np.int64)):
        order, place_t = Order.SHUFFLED, rng.permutation(len(item_t))
        item_t, values = item_t[place_t], [values[place] for place in place_t]
    return Labelled(
        item_t,
        tuple(values),
        order,
        sum(note.facts["count"] for note in found.notes if note.kind is NoteKind.GOLD_UNKNOWN_ITEMS),
    )


def _drawn_labels(design: Design, answer_d: Codes, votes: Votes) -> Labelled:
    """The labels of a design's random sample up to the last one; missing labels before it are unknown."""
    answer_d = answer_d[: design.n_sample]
    if not design.n_sample:
        raise DataError(
            "These items were chosen because rules disagree on them, so their labels cannot measure a rate. Draw items "
            "uniformly with majorant ask --rate."
        )
    place = {str(item): i for i, item in enumerate(votes.items)}
    answered = np.flatnonzero(answer_d != UNASKED)
    last = int(answered[-1]) + 1 if len(answered) else 0
    if len(design.order) < np.count_nonzero(votes.votes_i) and len(design.order) < 20_000:
        raise DataError(
            "These votes include items that were missing when the design was drawn. Use the votes that it was drawn "
            "for, or draw new items."
        )
    try:
        item_t = np.array([place[str(item)] for item in design.order[:last]], dtype=np.int64)
    except KeyError as error:
        raise DataError(
            f"Item {error} of the design is not among these votes. Use the votes that the design was drawn for."
        ) from None
    values = tuple(None if code < 0 else design.labels[code] for code in answer_d[:last])
    return Labelled(item_t, tuple(match_labels(values, votes.labels)), Order.DRAWN)


def _match_spelling(values: Sequence[Any], labels: Sequence[Hashable]) -> list[Any]:
    """Replace each text that differs from exactly one label only in case or spaces by that label.

    >>> _match_spelling([" PASS", "fail", "unclear", 1], ["pass", "fail", "Fail"])
    ['pass', 'fail', 'unclear', 1]
    """
    by_word: dict[str, list[Hashable]] = {}
    for label in labels:
        by_word.setdefault(str(label).strip().casefold(), []).append(label)
    same = [by_word.get(value.strip().casefold(), []) if isinstance(value, str) else [] for value in values]
    return [some[0] if len(some) == 1 else value for value, some in zip(values, same, strict=True)]


def _as_table(gold: Any) -> Any:
    """Convert a dict or Series of item -> label to a table."""
    if isinstance(gold, Mapping) and not {"item", "gold", "label", "truth"} & {str(name) for name in gold}:
        pairs: Iterable[tuple[Any, Any]] = gold.items()
    elif (
        hasattr(gold, "index") and hasattr(gold, "items") and not hasattr(gold, "columns") and not isinstance(gold, str)
    ):
        pairs = gold.items()  # a pandas Series
    else:
        return gold
    named = [(join_key(item) if isinstance(item, tuple) else item, value) for item, value in pairs]
    return {"item": [item for item, _ in named], "gold": [value for _, value in named]}


def find_questions(votes: Votes) -> list[Codes]:
    """Find questions that items share if several columns name an item: codes of all parts of the name but one.

    If the items have slices, that part is the slice: answers of several systems to a question share the question.
    """
    keys = [split_key(str(item)) for item in votes.items]
    n_parts = len(keys[0]) if keys else 0
    if n_parts < 2 or any(len(key) != n_parts for key in keys):
        return []
    left_out = list(range(n_parts))
    if votes.slice_i is not None:
        own = [str(votes.slices[s]) if s >= 0 else "" for s in votes.slice_i]
        left_out = [p for p in left_out if all(key[p] == name for key, name in zip(keys, own, strict=True))]
    questions = []
    for p in left_out:
        names = [join_key([*key[:p], *key[p + 1 :]]) for key in keys]
        _, question_i = np.unique(names, return_inverse=True)
        if len(names) > question_i.max() + 1:
            questions.append(question_i.astype(np.int64))
    return questions


def came_by_question(question_i: Codes, item_t: Codes) -> bool:
    """Whether nearly all labelled questions are labelled in full, which is unlikely to happen by chance."""
    if not len(item_t) or len(item_t) > 0.8 * len(question_i):
        return False
    size_q = np.bincount(question_i)
    labelled_q = np.bincount(question_i[item_t], minlength=len(size_q))
    several = (labelled_q > 0) & (size_q > 1)
    return bool(several.any() and (labelled_q[several] == size_q[several]).mean() >= 0.8)


def _is_sorted(item_t: Codes) -> bool:
    """Whether the order is too regular to be random: hardly any descents between neighbours, or hardly any ascents."""
    n = len(item_t)
    if n < 5:
        return False
    descents = int((np.diff(item_t) < 0).sum())
    return bool(abs(descents - (n - 1) / 2) > 3.2 * np.sqrt((n + 1) / 12))
