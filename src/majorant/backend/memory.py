"""Votes in memory: one part, which is all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from majorant.backend.base import Backend, Part, Table
from majorant.blocks import Engine, in_memory
from majorant.estimate import ESTIMATORS, estimator_named
from majorant.estimate.fit import Fit
from majorant.items import take_items
from majorant.output import Columns
from majorant.votes import IntArray, Votes

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class MemoryBackend(Backend):
    """Votes in memory: one part, which is all of them."""

    votes: Votes

    @property
    def whole(self) -> Votes:
        """All votes."""
        return self.votes

    @property
    def has_gold(self) -> bool:
        """Whether there are gold labels."""
        return self.votes.gold_i is not None

    @property
    def engine(self) -> Engine:
        """Blocks of the votes."""
        return in_memory(self.votes)

    @property
    def methods(self) -> Sequence[str]:
        """All estimators."""
        return tuple(ESTIMATORS)

    def refuse(self, method: str) -> None:
        """Nothing is refused: a method that these votes cannot bear says so itself."""

    def map(self, fn: Callable[[Part], T], *, doing: str) -> Iterator[T]:  # noqa: ARG002
        """What `fn` returns for all votes."""
        yield fn(Part(self.votes))

    def take(self, item_p: IntArray) -> Votes:
        """The votes of some items."""
        return take_items(self.votes, item_p)

    def fit(self, method: str, seed: int) -> Fit:
        """The fit of an estimator."""
        estimator = estimator_named(method)
        return estimator().fit(self.votes, **({"rng": seed} if estimator.stochastic else {}))

    def labelled(self, fit: Fit, table: Table) -> Columns:
        """One table."""
        return table(self.votes, fit)
