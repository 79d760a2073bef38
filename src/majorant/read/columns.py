"""Which column is what, by its name or the caller's word; a doubt is an error that names the option to give."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from majorant.errors import ConfigError, DataError

ALIASES: Mapping[str, tuple[frozenset[str], ...]] = {  # names of an earlier set win over those of a later one
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
        frozenset(["gold", "truth", "expected", "goldlabel", "groundtruth", "truelabel", "gt", "ytrue"]),
        frozenset(["human", "humanlabel", "humanverdict", "humanrating", "humanscore", "goldstandard", "expertlabel"]),
    ),
    "status": (frozenset(["status"]),),
    "seconds": (frozenset(["seconds"]),),
    "slice": (),  # only if the caller names it
}  # fmt: skip
JUDGES = frozenset(
    ["judge", "grader", "evaluator", "scorer", "juror", "judgemodel", "judgename", "gradermodel", "evaluatormodel"]
)
JUDGED = frozenset(["answer", "response", "value", "expected"])  # next to a judge, these are what was judged
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

    named: Mapping[str, str | tuple[str, ...]]  # role -> column; "" for none; several columns name an item together
    columns: tuple[str, ...] | None = None  # role of each position, for tables without names
    needed: tuple[str, ...] = VOTE_ROLES

    @classmethod
    def of(
        cls, columns: str | Sequence[str] | None = None, item: str | Sequence[str] | None = None, **named: str | None
    ) -> Choice:
        """Check what the caller said."""
        if columns is not None:
            roles = tuple(str(c).strip() for c in (columns.split(",") if isinstance(columns, str) else columns))
            _check_positions(roles)
            columns = roles
        key = item if item is None or isinstance(item, str) else tuple(map(str, item))
        key = key[0] if isinstance(key, tuple) and len(key) == 1 else key
        if key == ():
            raise ConfigError("item=[]: give the name of a column.")
        given = {role: name for role, name in {"item": key, **named}.items() if name is not None}
        return cls(named=given, columns=columns)

    def key_columns(self, names: Sequence[str]) -> tuple[str, ...] | None:
        """The columns that name an item together, where the caller gave several.

        >>> Choice.of(item="question, system").key_columns(["question", "system", "judge"])
        ('question', 'system')
        >>> Choice.of(item="a,b").key_columns(["a,b", "c"]) is None
        True
        """
        key = self.named.get("item")
        if isinstance(key, str):
            key = None if "," not in key or key in names else tuple(part.strip() for part in key.split(","))
        return key


def _check_positions(roles: tuple[str, ...]) -> None:
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
    roles = {}
    for role, candidates in candidate_roles(names, choice, source).items():
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
        roles["gold"] = roles.pop("label")  # a gold file may call its only answer a label
    elif missing:
        raise _missing_roles(names, missing, source)
    return roles


def candidate_roles(names: Sequence[str], choice: Choice, source: str) -> dict[str, list[int]]:
    """The columns that could have each role, by name; one, where the caller named it."""
    roles: dict[str, list[int]] = {
        role: [_named_column(names, role, str(word), source)] for role, word in choice.named.items() if word
    }
    for role in ALIASES:
        if role in roles or choice.named.get(role) == "":
            continue
        taken = {p for some in roles.values() if len(some) == 1 for p in some}
        free = [p for p in range(len(names)) if p not in taken]
        judged = any(bare_word(names[p]) in JUDGES for p in roles.get("worker", []))
        roles[role] = _candidates(names, free, role, judged=judged)
    return {role: roles[role] for role in ALIASES if role in roles}


def _candidates(names: Sequence[str], free: Sequence[int], role: str, *, judged: bool) -> list[int]:
    """The columns in the first set of names that matches any.

    Next to a judge, an answer or a response is what was judged and not a label, unless nothing else could be one.
    """
    ranked = [[p for p in free if _among(names[p], words)] for words in ALIASES[role]]
    if judged and role in ("label", "gold"):
        kept = [[p for p in some if bare_word(names[p]) not in JUDGED] for some in ranked]
        ranked = kept if any(kept) or role == "gold" else ranked
    return next((some for some in ranked if some), [])


def bare_word(name: str) -> str:
    """A column's name without case, blanks, signs and a final id."""
    return letters(name).removesuffix("id")


def letters(name: str) -> str:
    """A column's name without case, blanks and signs."""
    return re.sub(r"[\W_]+", "", name).casefold()


def name_words(name: str) -> list[str]:
    """The words of a column's name.

    >>> name_words("annotatorEmail 2"), name_words("image_path")
    (['annotator', 'email', '2'], ['image', 'path'])
    """
    return re.findall(r"[^\W\d_]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold())


def _among(name: str, words: frozenset[str]) -> bool:
    return bool({letters(name), bare_word(name)} & words)


def means(name: str, role: str) -> bool:
    """Whether a column of this name could have the role."""
    return any(_among(name, words) for words in ALIASES[role])


def _by_position(choice: Choice, source: str) -> dict[str, int]:
    roles = choice.columns or ()
    missing = [role for role in choice.needed if role not in roles]
    if missing:
        raise ConfigError(f"{source}: columns='{','.join(roles)}' lacks {' and '.join(missing)}.")
    return {role: roles.index(role) for role in ALIASES if role in roles}


def _named_column(names: Sequence[str], role: str, word: str, source: str) -> int:
    exact = [p for p, name in enumerate(names) if name == word]
    hits = exact or [p for p, name in enumerate(names) if name.strip().casefold() == word.strip().casefold()]
    if len(hits) == 1:
        return hits[0]
    what = "has no column" if not hits else "has several columns"
    raise ConfigError(f"{source} {what} {word!r} to take for the {role}. Its columns are {list_names(names)}.")


def _missing_roles(names: Sequence[str], missing: Sequence[str], source: str) -> DataError:
    roles = " or the ".join(missing)
    flags = " ".join(f"{role}='NAME'" for role in missing)
    return DataError(
        f"{source}: cannot tell which column is the {roles}. Its columns are {list_names(names)}. "
        f"Say {flags}; if the file has no header, give the order instead, e.g. columns='worker,item,label'."
        " If each worker has a column, name these columns: workers='ana,bo,cy' or workers='Dr_*'."
        + (" If each worker has a file, say worker='file'." if "worker" in missing else "")
    )


def list_names(names: Sequence[str], most: int = 12) -> str:
    """The first names of a table's columns, for a message."""
    shown = ", ".join(repr(name if len(name) <= 40 else name[:39] + "…") for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def looks_like_header(cells: Sequence[str], choice: Choice) -> bool:
    """Whether the first row of a file that should have no header names at least two of its own columns."""
    roles = choice.columns or ()
    pairs = zip(cells, roles, strict=False)
    return sum(role != SKIPPED_COLUMN and means(cell, role) for cell, role in pairs) >= 2


def says_position(name: str) -> bool:
    """Whether a column of this name may say in which order two candidates were shown.

    >>> says_position("is_swapped"), says_position("label")
    (True, False)
    """
    return letters(name) in POSITION
