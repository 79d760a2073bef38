"""A vote pattern that shows how close majority vote and the optimal rule come to disagreeing, or that they do."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

BOUNDARY = 1e-12  # nats; a margin this close to 0 is 0 up to rounding


def verdict(margin: float) -> str:
    """The margin's sign in words.

    >>> [verdict(margin) for margin in (.3, -1e-16, -2.)]
    ['optimal', 'boundary', 'not optimal']
    """
    if abs(margin) <= BOUNDARY:
        return "boundary"
    return "optimal" if margin > 0 else "not optimal"


@dataclass(frozen=True, slots=True)
class Witness:
    """The votes on which majority comes closest to, or goes furthest against, the optimal rule.

    It reads as the sequence of its counts: `list(witness)`, `numpy.array(witness)`.  Where the margin is positive,
    `optimal` equals `majority`; at a margin of 0 both `majority` and `optimal` are optimal.

    >>> witness = Witness(counts=(2, 1), majority=0, optimal=1, margin=-.5)
    >>> list(witness), witness.words(["cat", "dog"])
    ([2, 1], '2 x cat, 1 x dog: majority says cat, the optimal rule says dog')
    """

    counts: tuple[int, ...]  # votes for each class
    majority: int
    optimal: int
    margin: float  # nats, log-odds of majority's class against the best other
    ballot: tuple[int, ...] | None = None  # who said what, where voters differ

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, index: int) -> int:
        return self.counts[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self.counts)

    @property
    def tied(self) -> bool:
        """Whether no class has more votes than every other."""
        return self.counts.count(max(self.counts)) > 1

    def words(self, labels: Sequence[Hashable] | None = None, voters: Sequence[Hashable] | None = None) -> str:
        """The pattern in one sentence, with the user's names of the classes (and of the voters of a crew)."""
        name_k = [str(label) for label in labels] if labels is not None else _numbered("class", len(self.counts))
        majority, optimal = name_k[self.majority], name_k[self.optimal]
        says = f"the tie can go to {majority}" if self.tied else f"majority says {majority}"
        if verdict(self.margin) == "boundary":
            return f"{self._votes(name_k, voters)}: {says}, {optimal} is just as good"
        if self.margin > 0:
            return f"{self._votes(name_k, voters)}: {says}, and so does the optimal rule"
        return f"{self._votes(name_k, voters)}: {says}, the optimal rule says {optimal}"

    def _votes(self, name_k: Sequence[str], voters: Sequence[Hashable] | None) -> str:
        by_count = sorted(range(len(self.counts)), key=lambda k: (k != self.majority, -self.counts[k]))
        present = [k for k in by_count if self.counts[k]]
        if self.ballot is None:
            return ", ".join(f"{self.counts[k]} x {name_k[k]}" for k in present)
        name_h = list(voters) if voters is not None else list(range(1, len(self.ballot) + 1))
        groups = []
        for k in present:
            who = [str(name_h[h]) for h, label in enumerate(self.ballot) if label == k]
            groups.append(f"{name_k[k]} from {' '.join(who)}")
        return ", ".join(groups)


def _numbered(word: str, count: int) -> list[str]:
    return [f"{word} {k}" for k in range(count)]
