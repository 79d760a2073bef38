"""What labels will gain whose rule was learned from a few expert labels, and whether that may be announced.

The labels written are those of an average of two rules: the learned rule, and what is written without labels (`base`).
Each counts as far as it predicts the labels, each label being predicted by weights learned without it:

    p = w learned + (1 - w) base        w = L / (L + B), the likelihoods of the labels under the two, at least .01 each

Compared with a reference (majority vote, say), where ties count by their share:

    d, f    means over all items: labels that p changes, and gain that p itself expects
    h, e    sums over the n labels, held out: labels changed, and labels gained

    gain  = .9 (20 f + d e) / (20 + h)      p's own view counts as much as 20 changed labels
    range = d (2 B - 1)                     B: the 10% and 90% points of the Beta distribution with mean
                                            (1 + gain / d) / 2 and size 5 + h / 2

The labels of p are written if the gain is above 0.  The gain is announced if its 20% point is above 0, too, and it is
at least .6 / n, because n labels cannot show less.  Where two-class judges are little better than chance, labels failed
twice on public panels, so there it takes the 10% point.  The lead in cross-validation is never reported as the gain: it
was what the rule was chosen by.  The constants were fitted to public panels; benchmarks/learn.py measures the claims.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from majorant.methods.fit import chances
from majorant.values import FloatArray
from majorant.votes import IntArray


@dataclass(frozen=True, slots=True)
class Change:
    """How a rule changes the labels of a reference, in labels; changes of parts of the items add up."""

    changed: float  # labels changed: 1 where another label is chosen, 1/2 where a tie of two is decided
    gained: float  # labels gained: as the rule expects (all items), or as labels show (labelled items)

    def __add__(self, other: Change) -> Change:
        return Change(self.changed + other.changed, self.gained + other.gained)


NO_CHANGE = Change(0.0, 0.0)


class Expected(NamedTuple):
    """What a rule changes on some items, and what it expects; parts add up."""

    change: Change
    right: float  # labels of the reference that the rule expects to be right
    n_items: int


@dataclass(frozen=True, slots=True)
class Gain:
    """The expected gain in accuracy of labels over those of a reference, as a share of the items."""

    value: float
    low: float  # the 80% range
    high: float
    earned: bool  # whether the labels allow to announce that it is above 0


def weight_of_learned(learned_nk: FloatArray, base_nk: FloatArray, truth_n: IntArray) -> float:
    """The weight of the learned rule in the average, from probabilities of the labelled items, held out.

    >>> round(weight_of_learned(np.array([[.1, .9], [.8, .2]]), np.full((2, 2), .5), np.array([1, 0])), 3)
    0.742
    """
    from scipy.special import expit

    rows = np.arange(len(truth_n))
    learned, base = (np.log(np.maximum(q_nk[rows, truth_n], 0.01)).sum() for q_nk in (learned_nk, base_nk))
    return float(expit(learned - base))


def average(learned_ik: FloatArray, base_ik: FloatArray, weight: float) -> FloatArray:
    """Probabilities of the rule that is written: the average of the learned rule and the base."""
    return np.asarray(weight * learned_ik + (1 - weight) * base_ik)


def changed_labels(before_ik: FloatArray, after_ik: FloatArray) -> FloatArray:
    """For each item, how much of its label one rule changes: 1 if it is another label, 1/2 for a tie of two.

    >>> changed_labels(np.array([[.8, .2], [.8, .2], [.5, .5]]), np.array([[.9, .1], [.3, .7], [.3, .7]])).tolist()
    [0.0, 1.0, 0.5]
    """
    return np.asarray(np.abs(chances(after_ik) - chances(before_ik)).sum(axis=1) / 2)


def expected_change(before_ik: FloatArray, after_ik: FloatArray) -> Expected:
    """What a rule changes on these items, and what its own probabilities expect of both."""
    before_chance_ik = chances(before_ik)
    shift_ik = chances(after_ik) - before_chance_ik
    change = Change(float(np.abs(shift_ik).sum()) / 2, float((shift_ik * after_ik).sum()))
    return Expected(change, float((before_chance_ik * after_ik).sum()), len(after_ik))


def observed_change(before_nk: FloatArray, after_nk: FloatArray, truth_n: IntArray) -> Change:
    """What a rule changes on labelled items, and the gain that the labels show."""
    shift_nk = chances(after_nk) - chances(before_nk)
    return Change(float(np.abs(shift_nk).sum()) / 2, float(shift_nk[np.arange(len(truth_n)), truth_n].sum()))


def expected_gain(on_items: Expected, on_labels: Change, n_labels: int, *, n_classes: int) -> Gain:
    """The gain of a rule, from what it changes on all items and on the labelled ones.

    Parameters
    ----------
    on_items : Expected
        Changes on all items, with the gain that the rule expects.
    on_labels : Change
        Changes on the labelled items by rules learned without each of them, with the gain that the labels show.

    Examples
    --------
    >>> gain = expected_gain(Expected(Change(60, 30), 210, 300), Change(7, 5), 30, n_classes=2)
    >>> round(gain.value, 3), round(gain.low, 3), round(gain.high, 3), gain.earned
    (0.1, 0.021, 0.167, True)
    """
    from scipy.special import betaincinv

    own_view, least_size, shrink = 20, 5, 0.9
    n_items = max(on_items.n_items, 1)
    d, f = on_items.change.changed / n_items, on_items.change.gained / n_items
    value = shrink * (own_view * f + d * on_labels.gained) / (own_view + on_labels.changed)
    size = least_size + on_labels.changed / 2
    mean = float(np.clip((1 + value / max(d, 1e-9)) / 2, 0.01, 0.99))
    points = betaincinv(size * mean, size * (1 - mean), [0.1, 0.2, 0.9])
    low, fifth, high = (d * (2 * points - 1)).tolist()
    near_chance = n_classes == 2 and on_items.right < 0.6 * n_items
    earned = bool((low if near_chance else fifth) > 0 and value >= 0.6 / max(n_labels, 1))
    return Gain(value, min(low, value), max(high, value), earned)
