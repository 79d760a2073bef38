"""What kind of votes these are: the only place that tells a panel from a crowd.

The case decides what is written without labels and which rule is compared with majority vote (docs/decide.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from majorant.items import sample_items
from majorant.known import KnownJudges, known_judges
from majorant.tally import Patterns, find_patterns, votes_by_worker
from majorant.values import Estimate
from majorant.votes import NoteKind, Votes

FEWEST_VOTES = 10  # average votes per worker; with fewer, models cannot tell good workers from bad ones
TEAMS = 20  # fixed teams: at most this many sets of workers label most of the items
SCALES = tuple(
    tuple(names.split("; "))
    for names in (
        "very low; low; medium; high; very high",
        "very low; low; moderate; high; very high",
        "low; mid; high",
        "very poor; poor; fair; average; good; very good; excellent",
        "very bad; bad; ok; good; very good",
        "very bad; bad; neutral; good; very good",
        "none; mild; moderate; severe; very severe",
        "minor; moderate; major",
        "never; rarely; sometimes; often; always",
        "not at all; slightly; somewhat; moderately; very; extremely",
        "strongly disagree; disagree; somewhat disagree; neutral; somewhat agree; agree; strongly agree",
        "strongly disagree; disagree; slightly disagree; neither agree nor disagree; slightly agree; agree; "
        "strongly agree",
        "very unlikely; unlikely; neutral; likely; very likely",
        "very dissatisfied; dissatisfied; neutral; satisfied; very satisfied",
    )
)


class Case(StrEnum):
    """The cases, in the order in which they apply."""

    ONE_CLASS = "one-class voters"  # such as labelling functions: each votes for one class or not at all
    GRADES = "grades"  # classes with an order
    KNOWN_JUDGES = "known judges"  # a panel of models that the world knows
    CHANCE = "agreement not above chance"  # a crowd
    CROWD = "crowd"  # with enough votes per worker to learn from
    PANEL = "panel"  # or a crowd with few votes per worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the votes show without gold labels.

    Attributes
    ----------
    panel : bool
        The same few judges vote on nearly everything: the votes fill at least half of the table of the workers and
        items that have any, or at most 20 fixed teams label four fifths of the items.
    votes_per_worker : float
        Average number of votes per worker.
    one_class : bool
        At least nine tenths of the votes come from workers with ten votes or more who use one label each.
    order : tuple of int
        Codes of the labels from lowest to highest, if they are grades.
    kappa : Estimate or None
        Fleiss' kappa of a crowd with its 95% interval over items; None for panels and without items that have two
        votes.
    judges : KnownJudges or None
        Who the judges of a panel are; their votes are weighed by ratings if enough of them are known.
    """

    panel: bool
    votes_per_worker: float
    one_class: bool = False
    order: tuple[int, ...] = ()
    kappa: Estimate | None = None
    judges: KnownJudges | None = None

    @classmethod
    def of(cls, votes: Votes) -> Setting:
        """Look at the votes; gold labels are not used.

        >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1], items="ab", workers="wx", labels="ny")
        >>> str(Setting.of(votes).case)
        'panel'
        """
        patterns, votes_jl = find_patterns(votes), votes_by_worker(votes)
        votes_j = votes_jl.sum(axis=1)
        n_votes, n_workers = int(votes_j.sum()), max(int((votes_j > 0).sum()), 1)
        n_items = int(patterns.items_p[patterns.votes_p > 0].sum())
        panel = n_votes >= 0.5 * n_items * n_workers or has_fixed_teams(sample_items(votes).votes)
        n_labels = int((votes_jl.sum(axis=0) > 0).sum())
        one_label_j = (votes_j >= FEWEST_VOTES) & (votes_jl.max(axis=1, initial=0) == votes_j)
        return cls(
            panel=panel,
            votes_per_worker=n_votes / n_workers,
            one_class=n_labels > 1 and bool(votes_j[one_label_j].sum() >= 0.9 * n_votes),
            order=find_order(votes),
            kappa=None if panel else fleiss_kappa(patterns),
            judges=known_judges(votes) if panel else None,
        )

    @property
    def case(self) -> Case:
        """The first case that applies."""
        if self.one_class:
            return Case.ONE_CLASS
        if self.order:
            return Case.GRADES
        if self.judges is not None and self.judges.decide:
            return Case.KNOWN_JUDGES
        if self.at_chance:
            return Case.CHANCE
        return Case.CROWD if self.teaches else Case.PANEL

    @property
    def at_chance(self) -> bool:
        """Whether the votes of a crowd do not clearly agree more often than by chance."""
        return not self.panel and self.kappa is not None and (self.kappa.low is None or self.kappa.low <= 0)

    @property
    def teaches(self) -> bool:
        """Whether this is a crowd with enough votes per worker to tell good workers from bad ones."""
        return not self.panel and self.votes_per_worker >= FEWEST_VOTES

    @property
    def thin(self) -> bool:
        """Whether this is a crowd with few votes per worker."""
        return not self.panel and not self.teaches


def has_fixed_teams(votes: Votes) -> bool:
    """Whether at most 20 sets of workers, with ten items each on average, label four fifths of the items.

    >>> pairs = [(i, 3 * (i % 4) + j) for i in range(80) for j in range(3)]
    >>> item, worker = zip(*pairs)
    >>> names = {"items": range(80), "workers": range(12), "labels": "ny"}
    >>> has_fixed_teams(Votes.from_codes(item, worker, [0, 1, 1] * 80, **names))
    True
    """
    voted_i = votes.votes_i > 0
    if not voted_i.any():
        return False
    # The sum of random 64-bit numbers, one per worker, identifies a set of workers.
    key_j = np.random.default_rng(0).integers(1 << 63, size=len(votes.workers), dtype=np.uint64)
    key_i = np.add.reduceat(key_j[votes.worker_n], np.asarray(votes.offsets_i[:-1])[voted_i])
    items_s = np.sort(np.unique(key_i, return_counts=True)[1])[::-1]
    top = int(items_s[:TEAMS].sum())
    return bool(top >= 0.8 * items_s.sum() and top >= 10 * min(TEAMS, len(items_s)))


def find_order(votes: Votes) -> tuple[int, ...]:
    """Codes of the labels from lowest to highest, if the user gave an order or the names are one; else empty.

    Numbers are never taken for grades, because they may be codes of topics.

    >>> names = {"items": "a", "workers": "wxy", "labels": ("high", "low", "medium")}
    >>> find_order(Votes.from_codes([0, 0, 0], [0, 1, 2], [0, 1, 2], **names))
    (1, 2, 0)
    """
    if any(note.kind is NoteKind.ORDER for note in votes.account.notes):
        return tuple(range(len(votes.labels))) if len(votes.labels) > 2 else ()
    names = [" ".join(str(label).casefold().replace("_", " ").replace("-", " ").split()) for label in votes.labels]
    for scale in SCALES:
        if len(names) > 2 and set(names) <= set(scale):
            return tuple(sorted(range(len(names)), key=lambda k: scale.index(names[k])))
    return ()


def fleiss_kappa(patterns: Patterns) -> Estimate | None:
    """Fleiss' kappa over the items with two votes or more, with its 95% interval if items are resampled.

    The interval is the large-sample limit of the bootstrap's, which needs no random numbers.  None if no item has two
    votes, or if all votes are the same.

    >>> same, both = [[2, 0], [0, 2]], [[2, 0], [0, 2], [1, 1]]
    >>> fleiss_kappa(Patterns(np.array(same), np.array([50, 50]))).value
    1.0
    >>> found = fleiss_kappa(Patterns(np.array(both), np.array([25, 25, 50])))
    >>> round(found.value, 3), found.low < 0 < found.high
    (0.0, True)
    """
    several = patterns.votes_p > 1
    count_pk, items_p, votes_p = patterns.counts_pk[several], patterns.items_p[several], patterns.votes_p[several]
    if not items_p.sum():
        return None
    count_pk, n_items = count_pk.astype(float), items_p.sum()
    agreed_p = ((count_pk**2).sum(axis=1) - votes_p) / (votes_p * (votes_p - 1))
    agreed, mean_votes = items_p @ agreed_p / n_items, items_p @ votes_p / n_items
    share_k = items_p @ count_pk / (n_items * mean_votes)
    chance = float((share_k**2).sum())
    if chance > 1 - 1e-9:
        return None
    # The derivative of kappa with respect to the weight of each item.
    chance_p = 2 * ((count_pk - votes_p[:, None] * share_k) @ share_k) / mean_votes
    influence_p = (agreed_p - agreed) / (1 - chance) - chance_p * (1 - agreed) / (1 - chance) ** 2
    error = 1.96 * np.sqrt(float(items_p @ influence_p**2)) / n_items
    value = float((agreed - chance) / (1 - chance))
    return Estimate(value, float(value - error), float(value + error))
