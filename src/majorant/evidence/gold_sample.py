"""Can the labelled items be a random sample?  The votes on them tell.

A list of reported errors, or the items that somebody found doubtful, would teach a rule to contradict the judges
everywhere.  In a random sample, the number of disputed items (split votes), of tied items and of items that another
rule overturns is hypergeometric.  Each is tested exactly, in both directions, and the tests share an error of 5%.
Comparing majority's accuracy on the labels with the agreement of the votes would be no test: judges who share mistakes
agree more than they are right, and random labels of such panels are those from which most is learned.

If majority vote is wrong on every one of ten or more labels, that is the other sign: a list of its errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

LEAST_LABELS = 10  # below this number, labels that `ask` did not draw teach and prove nothing
ERROR = 0.05  # probability that a random sample is called none


class Kind(StrEnum):
    """Kinds of items that are too frequent or too rare among the labelled ones."""

    SPLIT = "split"  # the votes disagree
    TIED = "tied"
    OVERTURNED = "overturned"  # another rule gives them another label than majority vote


@dataclass(frozen=True, slots=True)
class Count:
    """Number of items of one kind among the labelled items and among all items."""

    labelled: int
    items: int


@dataclass(frozen=True, slots=True)
class GoldSample:
    """What the votes say about the choice of the labelled items.

    Attributes
    ----------
    n_labels, n_items : int
        Number of labelled items with votes, and of all items with votes.
    counts : mapping
        The counts of each kind of items.
    p_value : float
        Of the tests together.
    worst : Kind or None
        The kind of items that differs most.
    all_wrong : bool
        Whether majority vote is wrong on every one of at least ten labels.
    """

    n_labels: int
    n_items: int
    counts: Mapping[Kind, Count]
    p_value: float
    worst: Kind | None
    all_wrong: bool

    @property
    def is_random(self) -> bool:
        """Whether the labelled items may be a random sample."""
        return self.p_value >= ERROR and not self.all_wrong


def examine_sample(n_labels: int, n_items: int, counts: Mapping[Kind, Count], right: float) -> GoldSample:
    """Test whether labelled items can be a random sample of all items.

    Parameters
    ----------
    n_labels, n_items : int
        Number of labelled items, and of all items, with votes.
    counts : mapping
        Number of split, tied and overturned items among both.
    right : float
        Number of labels that majority vote gets right; ties count by their share.

    Examples
    --------
    >>> sample = examine_sample(60, 600, {Kind.SPLIT: Count(49, 204)}, 20)
    >>> sample.is_random, sample.worst
    (False, <Kind.SPLIT: 'split'>)
    """
    varying = {kind: count for kind, count in counts.items() if 0 < count.items < n_items}
    distinct = {(count.labelled, count.items) for count in varying.values()}  # of two judges, every split item is tied
    p_values = {kind: _two_sided(count, n_labels, n_items) for kind, count in varying.items()}
    worst = min(p_values, key=lambda kind: p_values[kind], default=None)
    p_value = 1.0 if worst is None else min(1.0, len(distinct) * p_values[worst])
    return GoldSample(n_labels, n_items, counts, p_value, worst, all_wrong=right <= 0 and n_labels >= LEAST_LABELS)


def _two_sided(count: Count, n_labels: int, n_items: int) -> float:
    """Exact p-value of a hypergeometric count, in both directions."""
    from scipy.stats import hypergeom

    of_sample = hypergeom(n_items, count.items, n_labels)
    return float(min(1.0, 2 * min(of_sample.cdf(count.labelled), of_sample.sf(count.labelled - 1))))
