"""Draw the items whose labels teach most: ten, then five at a time, each chosen for what it would change.

The first ten are drawn where the judges differ:  chance ~ .1 + 1 - margin of the vote shares.  From ten labels on, the
learned rule chooses:  chance ~ .1 + (u + c)^2, where u = 1 - margin of its probabilities, and c is how much of the
item's majority label it changes.  The margin is the largest share minus the second largest.

Every item keeps a positive chance, and the chance of each draw is recorded, so that the labels still measure accuracy
without bias (`evidence/drawn.py`).  The rule is fitted without weights: it models the label given the votes, and only
votes and earlier labels decide what is drawn.

Drawing is a race.  Every item gets an exponential time with its chance as the rate, and the first to arrive are drawn.
That is drawing one after the other without replacement with these chances.  The times are hashes of the item's place in
the design, the seed and the number of items drawn before, so the same labels lead to the same items, in whatever order
they came and on every platform.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from majorant.ask.question import Codes
from majorant.evidence.earn import changed_labels
from majorant.items import mix_bits
from majorant.values import FloatArray, lock

FIRST_DRAW, NEXT_DRAW = 10, 5  # labels drawn at first, and then at a time
FLOOR = 0.1  # every item keeps this relative chance


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Items drawn one after the other."""

    place_t: Codes
    chance_t: FloatArray  # the chance of each among the items that were left
    least_t: FloatArray  # the smallest chance that any of them had

    def __post_init__(self) -> None:
        lock(self)

    def then(self, later: Drawn) -> Drawn:
        """These draws, followed by later ones."""
        return Drawn(
            np.append(self.place_t, later.place_t),
            np.append(self.chance_t, later.chance_t),
            np.append(self.least_t, later.least_t),
        )


def nothing_drawn() -> Drawn:
    """No draw yet."""
    return Drawn(np.empty(0, np.int64), np.empty(0), np.empty(0))


def margin(q_ik: FloatArray) -> FloatArray:
    """For each item, the largest share minus the second largest.

    >>> margin(np.array([[.5, .3, .2], [.5, .5, 0]])).round(2).tolist()
    [0.2, 0.0]
    """
    two_ik = np.partition(q_ik, -2, axis=1)[:, -2:] if q_ik.shape[1] > 1 else np.c_[0 * q_ik, q_ik]
    return np.asarray(two_ik[:, 1] - two_ik[:, 0])


def sizes_of_votes(share_ik: FloatArray) -> FloatArray:
    """The relative chance of each item before labels have taught a rule."""
    return np.asarray((FLOOR + 1 - margin(share_ik)).round(4))


def sizes_of_rule(learned_ik: FloatArray, share_ik: FloatArray) -> FloatArray:
    """The relative chance of each item once labels have taught a rule.

    It is rounded, because rules that were fitted on different machines differ in the last digits.
    """
    return np.asarray((FLOOR + (1 - margin(learned_ik) + changed_labels(share_ik, learned_ik)) ** 2).round(4))


def draw_to_teach(size_d: FloatArray, drawn: Codes, n: int, seed: int) -> Drawn:
    """Draw up to n items without replacement.

    Parameters
    ----------
    size_d : array
        The relative chance of each item of a design, all above 0.
    drawn : array
        Places of the items drawn before.
    n : int
        Number of items to draw.
    seed : int
        Random seed of the design; every batch is drawn anew.

    Examples
    --------
    >>> share_dk = np.array([[1., 0], [.5, .5], [.6, .4], [1, 0]])
    >>> drawn = draw_to_teach(sizes_of_votes(share_dk), np.array([0]), 2, seed=0)
    >>> drawn.place_t.tolist(), drawn.chance_t.round(2).tolist(), drawn.least_t.round(2).tolist()
    ([2, 1], [0.43, 0.92], [0.05, 0.08])
    """
    left_d = np.ones(len(size_d), dtype=bool)
    left_d[drawn] = False
    left = np.flatnonzero(left_d)
    n = min(n, len(left))
    if not n:
        return nothing_drawn()
    salt = mix_bits(mix_bits(np.array([seed % 2**64], dtype=np.uint64)) + np.uint64(len(drawn)))
    hash_p = mix_bits(mix_bits(left.astype(np.uint64) + salt))
    uniform_p = ((hash_p >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53
    arrival_p = -np.log(uniform_p) / size_d[left]
    first_p = np.argpartition(arrival_p, n - 1)[:n]
    place_t = left[first_p[np.argsort(arrival_p[first_p])]]
    left_t = size_d[left].sum() - np.concatenate([[0.0], np.cumsum(size_d[place_t])[:-1]])
    return Drawn(place_t, size_d[place_t] / left_t, size_d[left].min() / left_t)
