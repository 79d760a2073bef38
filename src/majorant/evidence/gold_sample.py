"""Can the labelled items be a random sample?  The votes on them tell.

A list of reported errors, or the items that somebody found doubtful, would teach a rule to contradict the judges
everywhere.  In a random sample, the number of disputed items (split votes), of tied items and of items that another
rule overturns is hypergeometric.  Each is tested exactly, in both directions, and the tests share an error of 5%.
Comparing majority's accuracy on the labels with the agreement of the votes would be no test: judges who share mistakes
agree more than they are right, and random labels of such panels are those from which most is learned.

There are two other signs.  If majority vote is wrong on every one of ten or more labels, they are a list of its errors.
If ten or more labels are all the same, and majority vote disagrees with five of them, somebody filled in a column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from majorant.methods.fit import TIE_TOLERANCE, Fit, chances
from majorant.votes import IntArray, Votes

LEAST_LABELS = 10  # below this number, labels that `ask` did not draw teach and prove nothing
MANY_DISPUTED = 5  # labels: on so many items, majority vote of any use is right at least once in 97% of files
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
    one_label : bool
        Whether at least ten labels are all the same, although the votes on five of these items are not.
    """

    n_labels: int
    n_items: int
    counts: Mapping[Kind, Count]
    p_value: float
    worst: Kind | None
    all_wrong: bool
    one_label: bool = False

    @property
    def is_random(self) -> bool:
        """Whether the labelled items may be a random sample, or are all items."""
        return self.n_labels == self.n_items or (self.p_value >= ERROR and not self.all_wrong and not self.one_label)

    @property
    def decides(self) -> bool:
        """Whether these labels may teach and prove."""
        return self.is_random and self.n_labels >= min(LEAST_LABELS, self.n_items)


def examine_sample(
    n_labels: int, n_items: int, counts: Mapping[Kind, Count], right: float, n_classes: int = 2
) -> GoldSample:
    """Test whether labelled items can be a random sample of all items.

    Parameters
    ----------
    n_labels, n_items : int
        Number of labelled items, and of all items, with votes.
    counts : mapping
        Number of split, tied and overturned items among both.
    right : float
        Number of labels that majority vote gets right; ties count by their share.
    n_classes : int
        Number of classes among the labels.

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
    enough = n_labels >= LEAST_LABELS
    one_label = enough and n_classes == 1 and n_labels - right >= MANY_DISPUTED
    return GoldSample(n_labels, n_items, counts, p_value, worst, enough and right <= 0, one_label)


def count_kinds(votes: Votes, majority: Fit, other: Fit) -> Census:
    """Count the kinds of items in votes in memory; counts of parts of the items add up."""
    voted_i = votes.votes_i > 0
    share_vk, other_vk = chances(majority.posterior[voted_i]), chances(other.posterior[voted_i])
    tied_v = (share_vk > 0).sum(axis=1) > 1
    split_v = majority.posterior[voted_i].max(axis=1, initial=0.0) < 1 - TIE_TOLERANCE
    overturned_v = ~tied_v & (share_vk != other_vk).any(axis=1)
    known_v = np.zeros(len(tied_v), bool) if votes.gold_i is None else votes.gold_i[voted_i] >= 0
    gold_g = np.empty(0, np.int64) if votes.gold_i is None else votes.gold_i[voted_i][known_v]
    kinds = np.array([split_v, tied_v, overturned_v])
    return Census(
        n_items=len(tied_v),
        items_c=kinds.sum(axis=1),
        labelled_c=kinds[:, known_v].sum(axis=1),
        n_labels=int(known_v.sum()),
        right=float(share_vk[known_v][np.arange(len(gold_g)), gold_g].sum()),
        labels_k=np.bincount(gold_g, minlength=len(votes.labels)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Census:
    """Numbers of items of each kind, in the order of `Kind`, and of labels that majority vote gets right."""

    n_items: int
    items_c: IntArray
    labelled_c: IntArray
    n_labels: int
    right: float
    labels_k: IntArray  # number of labels of each class

    def __add__(self, other: Census) -> Census:
        return Census(
            self.n_items + other.n_items,
            self.items_c + other.items_c,
            self.labelled_c + other.labelled_c,
            self.n_labels + other.n_labels,
            self.right + other.right,
            self.labels_k + other.labels_k,
        )

    @property
    def sample(self) -> GoldSample:
        """Whether the labelled items can be a random sample."""
        pairs = zip(Kind, self.labelled_c.tolist(), self.items_c.tolist(), strict=True)
        counts = {kind: Count(labelled, items) for kind, labelled, items in pairs}
        n_classes = int((self.labels_k > 0).sum())
        return examine_sample(self.n_labels, self.n_items, counts, self.right, n_classes)


def _two_sided(count: Count, n_labels: int, n_items: int) -> float:
    """Exact p-value of a hypergeometric count, in both directions."""
    from scipy.stats import hypergeom

    of_sample = hypergeom(n_items, count.items, n_labels)
    return float(min(1.0, 2 * min(of_sample.cdf(count.labelled), of_sample.sf(count.labelled - 1))))
