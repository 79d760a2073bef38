"""Which column is what: by name, by the caller's word, or by position; a doubt is an error that names the flag."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from majorant.errors import ConfigError, DataError

ALIASES: Mapping[str, tuple[frozenset[str], ...]] = {  # the names of the first set go before those of the next
    "item": (
        frozenset(["item", "task", "example", "unit", "question", "id"]),
        frozenset(["sample", "doc", "document", "case", "testcase", "prompt", "query", "record", "instance", "hit",
                   "subject", "image"]),
    ),
    "worker": (
        frozenset(["worker", "annotator", "rater", "judge", "coder", "labeler", "labeller", "user"]),
        frozenset(["performer", "grader", "evaluator", "reviewer", "scorer", "assessor", "juror", "judgemodel",
                   "judgename", "gradermodel", "evaluatormodel", "annotatorname", "workername", "username"]),
        frozenset(["model"]),
    ),
    "label": (
        frozenset(["label", "answer", "rating", "vote", "response", "value", "verdict", "winner", "judgment",
                   "judgement", "decision", "preference"]),
        frozenset(["score", "grade", "choice", "category", "class", "annotation", "outcome", "result", "pass",
                   "passed", "iscorrect"]),
    ),
    "gold": (
        frozenset(["gold", "truth", "expected", "goldlabel", "groundtruth", "truelabel"]),
        frozenset(["human", "humanlabel", "humanverdict", "humanrating", "humanscore", "goldstandard", "expertlabel"]),
    ),
    "status": (frozenset(["status"]),),
    "seconds": (frozenset(["seconds"]),),
    "slice": (),  # only where the caller names it
}  # fmt: skip
JUDGES = frozenset(
    ["judge", "grader", "evaluator", "scorer", "juror", "judgemodel", "judgename", "gradermodel", "evaluatormodel"]
)
JUDGED = frozenset(["answer", "response", "value", "expected"])  # beside a judge, this is what was judged
POSITION = frozenset((
    "position", "order", "swapped", "isswapped", "swap", "presentationorder", "displayorder", "shownfirst",
    "firstshown", "pairorder", "aborder", "permutation",
))  # fmt: skip
VOTE_ROLES = ("item", "worker", "label")
GOLD_ROLES = ("item", "gold")
SKIPPED_COLUMN = "_"
ROW_NAMES = "(row names)"  # a first column without a name, as R writes it


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the caller said about columns; `needed` are the roles that must be found."""

    named: Mapping[str, str]  # role -> column name; "" means: no such column
    columns: tuple[str, ...] | None = None  # role of each position, for tables without names
    needed: tuple[str, ...] = VOTE_ROLES

    @classmethod
    def of(cls, columns: str | Sequence[str] | None = None, **named: str | None) -> Choice:
        """The caller's words, checked."""
        if columns is not None:
            roles = tuple(str(c).strip() for c in (columns.split(",") if isinstance(columns, str) else columns))
            _refuse_bad_positions(roles)
            columns = roles
        return cls(named={role: name for role, name in named.items() if name is not None}, columns=columns)


def _refuse_bad_positions(roles: tuple[str, ...]) -> None:
    unknown = [role for role in roles if role != SKIPPED_COLUMN and role not in ALIASES]
    if unknown:
        raise ConfigError(
            f"columns=: {unknown[0]!r} is not one of {', '.join(ALIASES)} (or _ for a column to skip), "
            f"in the order of the file, e.g. columns='worker,item,label,gold'."
        )
    twice = [role for role in roles if role != SKIPPED_COLUMN and roles.count(role) > 1]
    if twice:
        raise ConfigError(f"columns= names {twice[0]!r} twice.")


def find_roles(names: Sequence[str], choice: Choice, source: str) -> dict[str, int]:
    """The position of each role among `names`.

    >>> find_roles(["Task ID", "annotator", "Answer", "comment"], Choice.of(), "votes.csv")
    {'item': 0, 'worker': 1, 'label': 2}
    >>> find_roles(["item", "task", "worker", "label"], Choice.of(), "votes.csv")
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: votes.csv: columns 'item' and 'task' could both be the item. Say which with item='NAME'.
    """
    if choice.columns is not None:
        return _by_position(choice, source)
    roles = {role: _by_word(names, role, word, source) for role, word in choice.named.items() if word}
    for role in ALIASES:
        if role in roles or choice.named.get(role) == "":
            continue
        free = [p for p in range(len(names)) if p not in roles.values()]
        judged = "worker" in roles and bare_word(names[roles["worker"]]) in JUDGES
        candidates = _candidates(names, free, role, judged=judged)
        if len(candidates) > 1:
            both = " and ".join(repr(names[p]) for p in candidates)
            quantity = "both" if len(candidates) == 2 else "all"
            raise DataError(
                f"{source}: columns {both} could {quantity} be the {role}. Say which with {role}='NAME'"
                + (f", or {role}=''." if role not in choice.needed else ".")
            )
        if candidates:
            roles[role] = candidates[0]
    missing = [role for role in choice.needed if role not in roles]
    if missing == ["gold"] and choice.needed == GOLD_ROLES and "label" in roles:
        roles["gold"] = roles.pop("label")  # a gold file may call its one answer a label
    elif missing:
        _refuse_missing(names, missing, source)
    return {role: roles[role] for role in ALIASES if role in roles}


def _candidates(names: Sequence[str], free: Sequence[int], role: str, *, judged: bool) -> list[int]:
    """The columns that could have a role, by the first set of names that any of them is in.

    Beside a judge, an answer or a response is what was judged and no label, unless nothing else could be one.
    """
    ranked = [[p for p in free if _among(names[p], words)] for words in ALIASES[role]]
    if judged and role in ("label", "gold"):
        kept = [[p for p in some if bare_word(names[p]) not in JUDGED] for some in ranked]
        ranked = kept if any(kept) or role == "gold" else ranked
    return next((some for some in ranked if some), [])


def bare_word(name: str) -> str:
    """A column's name without case, blanks, signs and a final id."""
    return _letters(name).removesuffix("id")


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _among(name: str, words: frozenset[str]) -> bool:
    return bool({_letters(name), bare_word(name)} & words)


def means(name: str, role: str) -> bool:
    """Whether a column of this name could have the role."""
    return any(_among(name, words) for words in ALIASES[role])


def _by_position(choice: Choice, source: str) -> dict[str, int]:
    roles = choice.columns or ()
    missing = [role for role in choice.needed if role not in roles]
    if missing:
        raise ConfigError(f"{source}: columns='{','.join(roles)}' lacks {' and '.join(missing)}.")
    return {role: roles.index(role) for role in ALIASES if role in roles}


def _by_word(names: Sequence[str], role: str, word: str, source: str) -> int:
    exact = [p for p, name in enumerate(names) if name == word]
    hits = exact or [p for p, name in enumerate(names) if name.strip().casefold() == word.strip().casefold()]
    if len(hits) == 1:
        return hits[0]
    what = "has no column" if not hits else "has several columns"
    raise ConfigError(f"{source} {what} {word!r} to take for the {role}. Its columns are {_list(names)}.")


def _refuse_missing(names: Sequence[str], missing: Sequence[str], source: str) -> None:
    roles = " or the ".join(missing)
    flags = " ".join(f"{role}='NAME'" for role in missing)
    raise DataError(
        f"{source}: no column can be told to be the {roles}. Its columns are {_list(names)}. "
        f"Say {flags}; if the file has no header, give the order instead, e.g. columns='worker,item,label'."
        " Of a table with one column per worker, name the workers' columns: workers='ana,bo,cy' or workers='Dr_*'."
        + (" Where each worker has a file, say worker='file'." if "worker" in missing else "")
    )


def _list(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name if len(name) <= 40 else name[:39] + "…") for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def looks_like_header(cells: Sequence[str], choice: Choice) -> bool:
    """Whether the first row of a file that is said to have no header names at least two of its own columns."""
    roles = choice.columns or ()
    pairs = zip(cells, roles, strict=False)
    return sum(role != SKIPPED_COLUMN and means(cell, role) for cell, role in pairs) >= 2


def says_position(name: str) -> bool:
    """Whether a column of this name may say in which order two candidates were shown.

    >>> says_position("is_swapped"), says_position("label")
    (True, False)
    """
    return _letters(name) in POSITION
