"""What became of a user's table on its way to Votes: read, dropped, merged, and which column was taken for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Note:
    """Something a careful reader would want to know about the input; `kind` is stable, `text` is for people."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Every row is accounted for: rows = votes + merged + dropped + abstained.

    >>> Account(source="votes.csv", rows=5, votes=4, merged=1).balanced
    True
    """

    source: str
    format: str = ""  # "CSV, comma-separated, UTF-8"
    columns: Mapping[str, str] = field(default_factory=dict)  # role -> the user's column name
    ignored: tuple[str, ...] = ()  # columns that were not used
    rows: int = 0  # rows read
    votes: int = 0  # rows that count
    abstained: int = 0  # rows with an empty label or a status other than ok: declared voters without a vote
    merged: int = 0  # exact copies of an earlier vote
    dropped: int = 0  # repeats left out by the policy first or last
    repeats: str = "error"  # the policy that was in force
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    @property
    def balanced(self) -> bool:
        """Whether every row read is either a vote or named among those that are not."""
        return self.rows == self.votes + self.abstained + self.merged + self.dropped
