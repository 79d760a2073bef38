"""What experts said of the items of a design: one class for each, or that they cannot tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.io.tasks import ExpertAnswer

UNASKED = -2  # no answer: nobody was asked, or the expert has not come so far
SKIPPED = -1  # the expert cannot tell
EXPERTS = ("majority", "unanimous")  # what counts where several experts label an item
CANNOT_TELL = ("?", "skip", "cannot tell", "can't tell", "don't know", "unsure")


@dataclass(frozen=True, slots=True)
class Counted:
    """One code per item of the order, and what there is to say about the answers."""

    answer_d: NDArray[np.int64]  # a class code, SKIPPED or UNASKED
    ignored: tuple[Any, ...]  # labelled items that the order does not hold
    unknown: tuple[Any, ...]  # labels that are no class
    relabelled: tuple[Any, ...]  # items that an expert labelled more than once
    disagreed: tuple[Any, ...]  # items on which experts do not agree


def count_answers(
    answers: Iterable[ExpertAnswer],
    order: Sequence[Any],
    labels: Sequence[Any],
    *,
    asked: Sequence[int],
    experts: str = "majority",
) -> Counted:
    """The last answer of an expert on an item counts, experts count as `experts` says.

    `asked` are positions of the order, as the rows stand in the file.  Rows are to be labelled from the top: an item
    without an answer above one that has it counts as skipped.

    >>> said = [ExpertAnswer("b", "yes"), ExpertAnswer("a", "no"), ExpertAnswer("a", "yes")]
    >>> count_answers(said, ("c", "a", "b"), ("no", "yes"), asked=(0, 1, 2)).answer_d.tolist()
    [-1, 1, 1]
    """
    place, code = {str(item): position for position, item in enumerate(order)}, _Classes(labels)
    said: dict[int, dict[str, int]] = {}
    ignored, unknown, relabelled = [], [], []
    for answer in answers:
        if answer.label is None and not answer.cannot_tell:
            continue
        position = place.get(str(answer.item), _by_draw(answer, order, asked))
        if position is None:
            ignored.append(answer.item)
            continue
        value = SKIPPED if answer.cannot_tell else code.of(answer.label)
        if value is None:
            unknown.append(answer.label)
            value = SKIPPED
        own = said.setdefault(position, {})
        if own.get(answer.expert, value) != value:
            relabelled.append(order[position])
        own[answer.expert] = value
    answer_d, disagreed = np.full(len(order), UNASKED, dtype=np.int64), []
    for position, by_expert in said.items():
        answer_d[position], apart = _agreed([*by_expert.values()], experts)
        if apart:
            disagreed.append(order[position])
    answered = [row for row, position in enumerate(asked) if answer_d[position] != UNASKED]
    for position in asked[: max(answered, default=0)]:
        if answer_d[position] == UNASKED:
            answer_d[position] = SKIPPED
    return Counted(answer_d, _once(ignored), _once(unknown), _once(relabelled), _once(disagreed))


def _by_draw(answer: ExpertAnswer, order: Sequence[Any], asked: Sequence[int]) -> int | None:
    """The position by the draw, where a spreadsheet has rewritten the item as a number: 007 as 7."""
    if answer.draw is None or not 0 < answer.draw <= len(asked):
        return None
    position = asked[answer.draw - 1]
    return position if _same_number(order[position], answer.item) else None


class _Classes:
    """The class that a label as an expert writes it means."""

    def __init__(self, labels: Sequence[Any]) -> None:
        self.exact = {str(label): code for code, label in enumerate(labels)}
        folded = [str(label).strip().casefold() for label in labels]
        self.alike = {text: code for code, text in enumerate(folded) if folded.count(text) == 1}
        self.numbers = {float(label): code for code, label in enumerate(labels) if _is_number(label)}

    def of(self, label: Any) -> int | None:
        """Its code, SKIPPED where it says that the expert cannot tell, None where it is no class."""
        text = str(label).strip()
        if text in self.exact:
            return self.exact[text]
        if text.casefold() in self.alike:
            return self.alike[text.casefold()]
        if text.casefold() in CANNOT_TELL:
            return SKIPPED
        try:
            return self.numbers.get(float(text))
        except ValueError:
            return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same_number(one: Any, other: Any) -> bool:
    try:
        return float(one) == float(other)
    except (TypeError, ValueError):
        return False


def _agreed(codes: Sequence[int], experts: str) -> tuple[int, bool]:
    """The label that experts agree on, SKIPPED where they do not, and whether they differ."""
    given = [code for code in codes if code >= 0]
    if not given:
        return SKIPPED, False
    most = max(set(given), key=given.count)
    enough = given.count(most) * 2 > len(given) if experts == "majority" else given.count(most) == len(given)
    return (most, False) if enough else (SKIPPED, True)


def _once(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))
