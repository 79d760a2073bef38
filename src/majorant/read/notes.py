"""Notes on labels, ids and rows: what a careful reader would ask about a table."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from majorant.read.columns import name_words
from majorant.read.table import Known
from majorant.read.values import kind_key
from majorant.votes import Note, NoteKind

LISTED = 5  # how many items, workers or labels a note names
# Control characters, soft hyphen, zero-width characters, direction marks.
UNSEEN_SIGNS = "[\x00-\x08\x0e-\x1f\x7f\u00ad\u061c\u200b-\u200f\u2060-\u2064\ufeff]"
NO_ANSWER = frozenset((
    "na", "nan", "none", "null", "nil", "notapplicable", "unclear", "unsure", "notsure", "unknown", "cannottell",
    "canttell", "dontknow", "idk", "dk", "refused", "refusal", "noanswer", "abstain", "abstained", "skip", "skipped",
    "error", "parseerror", "timeout", "missing", "?", "-", "--", ".",
))  # fmt: skip


def fold(value: Any) -> str:
    """What two values share that look alike: no case, spaces, invisible characters or ways to compose accents.

    >>> fold(" Yes\\u200b") == fold("yes"), fold(1.0) == fold("1"), fold("e\\u0301") == fold("\\xe9"), fold("a b")
    (True, True, True, 'a b')
    """
    text = unicodedata.normalize("NFC", re.sub(UNSEEN_SIGNS, "", str(value)))
    text = " ".join(text.casefold().split())
    if text[:1] in "-+.0123456789" and len(text) <= 15:  # more digits than a float has are an id
        try:
            number = float(text)
        except ValueError:
            return text
        return f"{number:g}" if math.isfinite(number) and abs(number) < 1e6 else text
    return text


def alike(values: Sequence[Any]) -> list[list[Any]]:
    """Groups of different values that look alike.

    >>> alike(["Yes", "no", "yes", "yes "])
    [['Yes', 'yes', 'yes ']]
    """
    groups: dict[str, list[Any]] = {}
    for value in values:
        groups.setdefault(fold(value), []).append(value)
    return [group for group in groups.values() if len(group) > 1]


def label_notes(labels: Sequence[Any], votes_by_label: Mapping[Any, int], column: str) -> list[Note]:
    """Labels that may mean no vote, look alike, are of several types, or are scores."""
    notes = []
    missing = {str(label): votes_by_label[label] for label in labels if _means_no_answer(label)}
    if missing:
        notes.append(Note(NoteKind.MISSING_LABEL, {"labels": missing}))
    if groups := alike(labels):
        counted = [[[_shown(label), votes_by_label[label]] for label in group] for group in groups]
        notes.append(Note(NoteKind.LABEL_VARIANTS, {"groups": counted}))
    joined = [label for label in labels if isinstance(label, str) and re.search(r"\w ?[|;] ?\w|^\[.*,.*\]$", label)]
    if joined:
        notes.append(Note(NoteKind.SEVERAL_IN_CELL, {"example": joined[0], "labels": len(joined)}))
    kinds = {kind_key(label)[0] for label in labels}
    if len(kinds) > 1:
        notes.append(Note(NoteKind.MIXED_LABELS, {"kinds": sorted(kinds)}))
    if kinds == {"number"} and _look_like_scores(labels, column):
        facts = {"classes": len(labels), "low": float(min(labels)), "high": float(max(labels))}
        notes.append(Note(NoteKind.NUMBER_LABELS, facts))
    return notes


def _means_no_answer(label: Any) -> bool:
    text = str(label).strip().casefold()
    return isinstance(label, str) and (re.sub(r"[\W_]+", "", text) or text) in NO_ANSWER


def _look_like_scores(labels: Sequence[Any], column: str) -> bool:
    if len(labels) < 3:
        return False
    whole = all(float(label).is_integer() for label in labels)
    words = {"score", "scores", "rating", "stars", "grade", "likert", "points"}
    return not whole or len(labels) > 10 or not words.isdisjoint(name_words(column))


def _shown(value: Any) -> Any:
    """A value as JSON can hold it, numbers apart from text."""
    return value if isinstance(value, (str, bool, int, float)) else str(value)


def id_notes(role: str, column: str, known: Known) -> list[Note]:
    """Items or workers whose names look alike, or have lost digits in a spreadsheet.

    >>> id_notes("worker", "who", ["ana", "bo", "Ana "])[0].facts["groups"]
    [['Ana ', 'ana']]
    """
    rounded = _rounded(role, column, known)
    if not isinstance(known, (list, tuple)):
        if _all_differ(known):
            return rounded
        known = known.to_pylist()
    groups = [sorted(group, key=str) for group in alike([value for value in known if value is not None])]
    if not groups:
        return rounded
    shown = [[_shown(value) for value in group[:LISTED]] for group in sorted(groups, key=str)[:LISTED]]
    return [Note(NoteKind.ID_VARIANTS, {"role": role, "groups": shown, "count": len(groups)}), *rounded]


def _all_differ(known: Any) -> bool:
    """Whether names differ even when folded, by Arrow: there may be millions of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_large_string(known.type):
        return not pa.types.is_string(known.type)  # numbers
    text = known
    if not pc.all(pc.ascii_is_printable(known)).as_py():
        text = pc.utf8_normalize(pc.replace_substring_regex(known, UNSEEN_SIGNS, ""), "NFC")
    text = pc.utf8_trim_whitespace(pc.utf8_lower(text))
    return bool(pc.count_distinct(text, mode="all").as_py() == len(known))


def _rounded(role: str, column: str, known: Known) -> list[Note]:
    """Whole numbers that a spreadsheet wrote as 1.23457E+17."""
    import pyarrow as pa
    import pyarrow.compute as pc

    pattern = r"^[0-9](\.[0-9]+)?E\+[0-9]{2}$"
    if isinstance(known, (list, tuple)):
        example = next((value for value in known if isinstance(value, str) and re.match(pattern, value)), None)
    elif pa.types.is_large_string(known.type):
        found = known.filter(pc.match_substring_regex(known, pattern))
        example = found[0].as_py() if len(found) else None
    else:
        example = None
    return [Note(NoteKind.ROUNDED_IDS, {"role": role, "column": column, "example": example})] if example else []
