"""The accuracy of the optimal rule for a crew too large to enumerate, between two proved bounds (two classes).

Votes are added one voter at a time on a lattice of log-odds.  A cell keeps, for each class, the probability of the
patterns rounded into it, and the smallest and largest true log-odds among them.  A cell whose log-odds have one sign is
decided without error; the others are bracketed.  Patterns that leave the lattice are nearly certain, and kept apart.
Proof: docs/theory/accuracy.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.accuracy import scaled_crew
from majorant.theory.binomial import EPS
from majorant.theory.checks import Bracket, FloatArray, safe_log

REACH = 37.0  # nats on either side of the lattice; patterns beyond leave at most exp(-37) in doubt
N_CELLS = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """Cell s holds patterns of log-odds (s - middle) step + carry + e, drift_low_s <= e <= drift_high_s."""

    joint_ks: FloatArray  # P(class k and a pattern of cell s)
    drift_low_s: FloatArray
    drift_high_s: FloatArray
    carry: float
    above_k: FloatArray  # P(class k and a pattern that left upwards)
    below_k: FloatArray
    step: float


def crew_accuracy_bracket(prior: ArrayLike, confusions: ArrayLike, n_cells: int = N_CELLS) -> Bracket:
    """Two bounds on the accuracy of the optimal rule, and their middle; two classes, any number of voters.

    The bounds hold whatever `n_cells` and allow for rounding; their distance falls with its square, and time is
    proportional to voters times cells.  Majority needs no bracket: `crew_accuracy` is exact for it.

    >>> crew = [[[.5 + h / 100, .5 - h / 100], [.4, .6]] for h in range(31)]
    >>> value, low, high = crew_accuracy_bracket([.5, .5], crew)
    >>> round(value, 4), high - low < 1e-6
    (0.9383, True)
    """
    prior_k, confusion_hkl = scaled_crew(prior, confusions)
    if len(prior_k) != 2:
        raise ConfigError(f"crew_accuracy_bracket is for two classes, not {len(prior_k)}: use estimate_crew_accuracy.")
    if n_cells < 1:
        raise ConfigError(f"n_cells must be at least 1, not {n_cells}.")
    if (prior_k == 0).any():
        return Bracket(1.0, 1.0, 1.0)
    # A label that only one class can give settles the item; what follows is about votes that both classes can give.
    open_hl = np.asarray((confusion_hkl > 0).all(axis=1))
    open_hk = (confusion_hkl * open_hl[:, None]).sum(axis=2)
    settled = float(prior_k @ -np.expm1(safe_log(np.minimum(open_hk, 1)).sum(axis=0)))
    lattice = _start(prior_k, n_cells)
    for confusion_kl, open_l in zip(confusion_hkl, open_hl, strict=True):
        lattice = _add_voter(lattice, confusion_kl[:, open_l])
    rarest = confusion_hkl.min(axis=1)[open_hl].min(initial=1)
    low, high = _bounds(lattice, slack=8 * EPS * (len(confusion_hkl) + 1) * (REACH - float(np.log(rarest))))
    rounding = 8 * EPS * (len(confusion_hkl) + 8)
    low, high = (low + settled) * (1 - rounding), min((high + settled) * (1 + rounding), 1.0)
    return Bracket((low + high) / 2, low, high)


def _start(prior_k: FloatArray, n_cells: int) -> Lattice:
    """All probability in the cell of the prior log-odds (the end cell if they lie beyond)."""
    step = 2 * REACH / n_cells
    log_odds = float(np.diff(safe_log(prior_k[::-1]))[0])
    cell = int(np.clip(n_cells // 2 + np.round(log_odds / step), 0, n_cells - 1))
    joint_ks = np.zeros((2, n_cells))
    joint_ks[:, cell] = prior_k
    drift_low_s, drift_high_s = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
    drift_low_s[cell] = drift_high_s[cell] = 0
    carry = log_odds - (cell - n_cells // 2) * step
    return Lattice(joint_ks, drift_low_s, drift_high_s, carry, np.zeros(2), np.zeros(2), step)


def _add_voter(lattice: Lattice, confusion_kl: FloatArray) -> Lattice:
    """One vote more; the labels are those that both classes can give: two, one or none.

    Rounding the first label's step goes into the carry, common to all patterns; only the other's is a drift.
    """
    joint_ks, low_s, high_s = np.zeros_like(lattice.joint_ks), lattice.drift_low_s, lattice.drift_high_s
    new_low_s, new_high_s = np.full_like(low_s, np.inf), np.full_like(high_s, -np.inf)
    above_k, below_k = (left_k * confusion_kl.sum(axis=1) for left_k in (lattice.above_k, lattice.below_k))
    carry = 0.0
    for l, given_k in enumerate(confusion_kl.T):
        exact = lattice.carry + float(np.log(given_k[0]) - np.log(given_k[1]))
        cells = int(np.round((exact - carry) / lattice.step))
        drift = exact - carry - cells * lattice.step
        if l == 0:
            carry, drift = drift, 0.0
        to, of, left = _shift(len(low_s), cells)
        joint_ks[:, to] += lattice.joint_ks[:, of] * given_k[:, None]
        new_low_s[to] = np.minimum(new_low_s[to], low_s[of] + drift)
        new_high_s[to] = np.maximum(new_high_s[to], high_s[of] + drift)
        left_k = lattice.joint_ks[:, left].sum(axis=1) * given_k
        above_k, below_k = (above_k + left_k, below_k) if cells > 0 else (above_k, below_k + left_k)
    return Lattice(joint_ks, new_low_s, new_high_s, carry, above_k, below_k, lattice.step)


def _shift(n_cells: int, cells: int) -> tuple[slice, slice, slice]:
    """Where a move by `cells` puts things, where it takes them from, and which of them it moves off the lattice."""
    kept = max(n_cells - abs(cells), 0)
    if cells > 0:
        return slice(n_cells - kept, n_cells), slice(0, kept), slice(kept, n_cells)
    return slice(0, kept), slice(n_cells - kept, n_cells), slice(0, n_cells - kept)


def _bounds(lattice: Lattice, slack: float) -> tuple[float, float]:
    """Lower bound: the best rule that sees only the cell.  Upper bound: the worst mixture of patterns within a cell.

    With r the odds of class 1 after a pattern, the optimal rule gets max(1, r) times the pattern's joint probability
    with class 0: convex in r, so given the cell's mean of r the most is the chord between the ends of its range.
    """
    joint_0s, joint_1s = lattice.joint_ks
    log_odds_s = (np.arange(len(joint_0s)) - len(joint_0s) // 2) * lattice.step + lattice.carry
    low_s, high_s = log_odds_s + lattice.drift_low_s - slack, log_odds_s + lattice.drift_high_s + slack
    best_s = np.maximum(joint_0s, joint_1s)
    mixed = (low_s < 0) & (high_s > 0)
    with np.errstate(over="ignore"):
        fall, rise = -np.expm1(-high_s[mixed]), np.expm1(-low_s[mixed])
    above_least = joint_1s[mixed] - joint_0s[mixed] + joint_0s[mixed] * fall
    most = joint_0s[mixed] + np.maximum(above_least, 0) / (1 + fall / rise)
    left_low = lattice.above_k.max() + lattice.below_k.max()
    left_high = lattice.above_k.sum() + lattice.below_k.sum()
    low = float(best_s.sum() + left_low)
    return low, low + float(np.maximum(most - best_s[mixed], 0).sum() + left_high - left_low)
