"""Accuracies that would take too long to enumerate: proven bounds for two classes, simulation otherwise.

Bounds: voters are added one at a time on a lattice of log-odds.  For each class, a cell keeps the probability of the
patterns rounded into it, with the smallest and largest of their true log-odds.  If these have the same sign, the cell's
decision is exact; otherwise it is bracketed.  Patterns beyond the lattice are nearly certain, and counted separately.
Proof: docs/theory/accuracy.md.

Simulation, with an interval that is valid for any number of draws: instead of scoring each drawn item as right or
wrong, we score the probability, given its votes, that the rule is right.  This removes the randomness of the truth, so
the interval is much shorter for the same number of draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from majorant.defaults import LEVEL
from majorant.errors import ConfigError
from majorant.theory.accuracy import scaled_panel, scaled_shared
from majorant.theory.checks import Bracket, Ties, as_ties, as_vote_count
from majorant.theory.patterns import EPS, IntArray, deficits, log_kernel, most_votes, shares
from majorant.values import FloatArray, as_generator, as_level, safe_log

REACH = 37.0  # half-width of the lattice in nats; beyond, at most exp(-37) is in doubt
BLOCK = 2**16  # items drawn at a time
Rng = int | np.random.Generator
Rule = Literal["majority", "map", "gap"]
# a class for each of B items -> their vote counts (K, B) and log P(votes | class) (K, B)
Vote = Callable[[np.random.Generator, IntArray], tuple[IntArray, FloatArray]]


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """Cell s holds patterns with log-odds (s - middle) step + carry + e, where drift_low_s <= e <= drift_high_s."""

    joint_ks: FloatArray  # P(class k and a pattern in cell s)
    drift_low_s: FloatArray
    drift_high_s: FloatArray
    carry: float
    above_k: FloatArray  # P(class k and a pattern above the lattice)
    below_k: FloatArray
    step: float


def panel_accuracy_bracket(prior: ArrayLike, confusions: ArrayLike, n_cells: int = 2**16) -> Bracket:
    """Bounds on the accuracy of the optimal rule and their midpoint, for two classes and any number of voters.

    Parameters
    ----------
    prior, confusions
        As for `panel_accuracy`.
    n_cells : int
        Number of cells in the lattice of log-odds. The bounds are valid for any number. The gap between them
        shrinks with its square, and run time is proportional to voters times cells.

    Returns
    -------
    Bracket
        Value, low, high. The bounds include rounding errors.

    Notes
    -----
    For majority vote, use `panel_accuracy`, which is exact.

    Examples
    --------
    >>> panel = [[[.5 + h / 100, .5 - h / 100], [.4, .6]] for h in range(31)]
    >>> value, low, high = panel_accuracy_bracket([.5, .5], panel)
    >>> round(value, 4), high - low < 1e-6
    (0.9383, True)
    """
    prior_k, confusion_hkl = scaled_panel(prior, confusions)
    if len(prior_k) != 2:
        raise ConfigError(
            f"panel_accuracy_bracket is for two classes, not {len(prior_k)}: use estimate_panel_accuracy."
        )
    if n_cells < 1:
        raise ConfigError(f"n_cells must be at least 1, not {n_cells}.")
    if (prior_k == 0).any():
        return Bracket(1.0, 1.0, 1.0)
    # A label that only one class can give settles the item; from here on, only labels that both can give matter.
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
    """A lattice with all probability in the cell of the prior log-odds (or in an end cell if they are beyond it)."""
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
    """Add one voter; the labels are those that both classes can give: two, one or none.

    The rounding of the first label's step goes into the carry, which all patterns share; only the other's is a drift.
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
    """The destination and source of a shift by `cells`, and the source cells that it moves off the lattice."""
    kept = max(n_cells - abs(cells), 0)
    if cells > 0:
        return slice(n_cells - kept, n_cells), slice(0, kept), slice(kept, n_cells)
    return slice(0, kept), slice(n_cells - kept, n_cells), slice(0, n_cells - kept)


def _bounds(lattice: Lattice, slack: float) -> tuple[float, float]:
    """The lower bound is the best rule that sees only the cell; the upper bound, the best case within each cell.

    If r is the odds of class 1 given a pattern, the optimal rule gets max(1, r) times the pattern's joint probability
    with class 0. That is convex in r, so for a given mean of r in a cell it is at most the chord over its range.
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


def estimate_accuracy(
    prior: ArrayLike,
    confusion: ArrayLike,
    n_votes: int,
    rule: str = "majority",
    ties: str = "random",
    *,
    rng: Rng,
    n_draws: int = 100_000,
    level: float = LEVEL,
) -> Bracket:
    """`majority_accuracy` or `map_accuracy` for any number of classes and votes, by Monte Carlo.

    Parameters
    ----------
    prior, confusion, n_votes, ties
        As for `majority_accuracy`.
    rule : {"majority", "map"}
        Majority vote, or the optimal rule: the likeliest class given who voted what.
    rng : int or numpy.random.Generator
        Random seed.
    n_draws : int
        Number of items to simulate.
    level : float
        Probability that the interval contains the exact value.

    Returns
    -------
    Bracket
        Value, low, high: an empirical Bernstein interval.

    Examples
    --------
    >>> value, low, high = estimate_accuracy([.9, .1], [[.6, .4], [.1, .9]], 3, rng=0)
    >>> low < 0.6804 < high
    True
    """
    prior_k, vote = _shared(prior, confusion, n_votes)
    return _simulate(prior_k, vote, _as_rule(rule), as_ties(ties), rng, n_draws, level)


def estimate_gap(
    prior: ArrayLike,
    confusion: ArrayLike,
    n_votes: int,
    ties: str = "random",
    *,
    rng: Rng,
    n_draws: int = 100_000,
    level: float = LEVEL,
) -> Bracket:
    """`gap` for any number of classes and votes, by Monte Carlo; draws on which the rules agree count exactly 0.

    Parameters
    ----------
    prior, confusion, n_votes, ties
        As for `majority_accuracy`.
    rng, n_draws, level
        As for `estimate_accuracy`.

    Returns
    -------
    Bracket
        Value, low, high: an empirical Bernstein interval.

    Examples
    --------
    >>> value, low, high = estimate_gap([.9, .1], [[.6, .4], [.1, .9]], 3, rng=0)
    >>> low < 0.2349 < high
    True
    """
    prior_k, vote = _shared(prior, confusion, n_votes)
    return _simulate(prior_k, vote, "gap", as_ties(ties), rng, n_draws, level)


def estimate_panel_accuracy(
    prior: ArrayLike,
    confusions: ArrayLike,
    rule: str = "majority",
    ties: str = "random",
    *,
    rng: Rng,
    n_draws: int = 100_000,
    level: float = LEVEL,
) -> Bracket:
    """`panel_accuracy` for any panel, by Monte Carlo.

    Parameters
    ----------
    prior, confusions, rule, ties
        As for `panel_accuracy`.
    rng, n_draws, level
        As for `estimate_accuracy`.

    Returns
    -------
    Bracket
        Value, low, high: an empirical Bernstein interval.

    Examples
    --------
    >>> panel = [[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]]]
    >>> value, low, high = estimate_panel_accuracy([.5, .5], panel, rng=0)
    >>> low < 0.792 < high
    True
    """
    prior_k, vote = _panel(prior, confusions)
    return _simulate(prior_k, vote, _as_rule(rule), as_ties(ties), rng, n_draws, level)


def estimate_panel_gap(
    prior: ArrayLike,
    confusions: ArrayLike,
    ties: str = "random",
    *,
    rng: Rng,
    n_draws: int = 100_000,
    level: float = LEVEL,
) -> Bracket:
    """`panel_gap` for any panel, by Monte Carlo.

    Parameters
    ----------
    prior, confusions, ties
        As for `panel_accuracy`.
    rng, n_draws, level
        As for `estimate_accuracy`.

    Returns
    -------
    Bracket
        Value, low, high: an empirical Bernstein interval.

    Examples
    --------
    >>> panel = [[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]]]
    >>> value, low, high = estimate_panel_gap([.5, .5], panel, rng=0)
    >>> low < 0.108 < high
    True
    """
    prior_k, vote = _panel(prior, confusions)
    return _simulate(prior_k, vote, "gap", as_ties(ties), rng, n_draws, level)


def _as_rule(rule: str) -> Rule:
    if rule not in ("majority", "map"):
        raise ConfigError(f"rule must be majority or map, not {rule!r}.")
    return rule  # type: ignore[return-value]


def _shared(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> tuple[FloatArray, Vote]:
    prior_k, confusion_kl = scaled_shared(prior, confusion)
    n_votes = as_vote_count(n_votes)

    def vote(rng: np.random.Generator, truth_b: IntArray) -> tuple[IntArray, FloatArray]:
        count_lb = rng.multinomial(n_votes, confusion_kl[truth_b]).T
        return count_lb, log_kernel(count_lb, confusion_kl)

    return prior_k, vote


def _panel(prior: ArrayLike, confusions: ArrayLike) -> tuple[FloatArray, Vote]:
    prior_k, confusion_hkl = scaled_panel(prior, confusions)

    def vote(rng: np.random.Generator, truth_b: IntArray) -> tuple[IntArray, FloatArray]:
        count_lb = np.zeros((len(prior_k), len(truth_b)), dtype=np.int32)
        log_given_kb = np.zeros(count_lb.shape)
        for confusion_kl in confusion_hkl:
            below_kl = np.cumsum(confusion_kl, axis=1)[:, :-1]
            label_b = (rng.random(len(truth_b)) >= below_kl[truth_b].T).sum(axis=0)
            count_lb[label_b, np.arange(len(truth_b))] += 1
            log_given_kb += safe_log(confusion_kl)[:, label_b]
        return count_lb, log_given_kb

    return prior_k, vote


def _simulate(prior_k: FloatArray, vote: Vote, rule: Rule, ties: Ties, rng: Rng, n_draws: int, level: float) -> Bracket:
    """The mean score and its interval."""
    if n_draws < 2:
        raise ConfigError(f"n_draws must be at least 2, not {n_draws}.")
    as_level(level)
    generator = as_generator(rng)
    scores = []
    for start in range(0, n_draws, BLOCK):
        truth_b = generator.choice(len(prior_k), size=min(BLOCK, n_draws - start), p=prior_k)
        count_lb, log_given_kb = vote(generator, truth_b)
        deficit_kb = deficits(log_given_kb + safe_log(prior_k)[:, None])
        scores.append(_score(deficit_kb, shares(most_votes(count_lb), ties, prior_k), rule))
    return _interval(np.concatenate(scores), level)


def _score(deficit_kb: FloatArray, share_kb: FloatArray, rule: Rule) -> FloatArray:
    """P(rule is right | votes), or what majority loses for the gap; votes left out as ties are dropped."""
    kept_b = share_kb.any(axis=0)
    deficit_kb, share_kb = deficit_kb[:, kept_b], share_kb[:, kept_b]
    relative_kb = np.exp(-deficit_kb)
    per_item = {"map": 1.0, "majority": (share_kb * relative_kb).sum(axis=0)}
    per_item["gap"] = -(share_kb * np.expm1(-deficit_kb)).sum(axis=0)
    return np.asarray(per_item[rule] / relative_kb.sum(axis=0))


def _interval(score_b: FloatArray, level: float) -> Bracket:
    """Empirical Bernstein interval for scores in 0..1, with (1 - level) / 2 on each side (Maurer and Pontil 2009)."""
    n = len(score_b)
    if n < 2:
        raise ConfigError("all but one of the drawn votes were ties: raise n_draws, or do not exclude ties.")
    log_term = float(np.log(4 / (1 - level)))
    value = float(score_b.mean())
    reach = float(np.sqrt(2 * score_b.var(ddof=1) * log_term / n)) + 7 * log_term / (3 * (n - 1))
    return Bracket(value, max(value - reach, 0.0), min(value + reach, 1.0))
