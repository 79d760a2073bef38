"""The one loop behind every table model: expected counts, new parameters, until they stand still; and its leaps.

Three loops leap by `squarem`.  `climb` follows one problem whose step tells the objective too, so that a leap costs no
step of its own: two steps, a leap, two steps.  `resampled` and `certify.constrained_likelihood` follow many problems at
once, which know no objective or must pay for it, and take a step from where a leap ends before they go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError
from majorant.items import Merged, merge_equal_items
from majorant.kernels import ITEMS_PER_BLOCK, Block, Engine, in_memory
from majorant.methods.fit import Fit, fit_of
from majorant.methods.tables import ExpectedCounts, Tables, Totals, count_totals, expect, posterior, share_counts
from majorant.values import TINY, FloatArray
from majorant.votes import Votes

P = TypeVar("P", bound=tuple[Any, ...])
Progress = Callable[[int, float], None]  # step, objective
Parts = Sequence[FloatArray]
Norm = Callable[[Parts], Sequence[Any]]  # for each part a length that broadcasts to it: one for all, or one per problem
MERGE_FROM_ITEMS = 4_096  # below this a pass costs less than looking for equal items
LONGEST_LEAP = 1e4  # beyond this a leap is mostly rounding
SETTLED = 0.01  # acceleration waits until no parameter moves by more, so that it cannot jump to another optimum
SCOUT_STEPS = 10  # of several starts, the most promising after so many steps is followed further
PATIENCE = 100  # a start that lies behind is given up if so many times the present pace would not catch up
HIGHER = 1e-6  # a rise by less, relative to the objective, is none


class Limits(Protocol):
    """When the loop ends, and whether it may hurry."""

    @property
    def max_iter(self) -> int:
        """The largest number of steps."""

    @property
    def tol(self) -> float:
        """Stop when no parameter moves by more (by more than this share of it, where it is above 1)."""

    @property
    def accelerate(self) -> bool:
        """Whether SQUAREM steps are tried."""


class Steps(NamedTuple):
    """Limits other than the model's own."""

    max_iter: int
    tol: float
    accelerate: bool


class TableModel(Limits, Protocol[P]):
    """What a model adds to the loop; `params` is a (named) tuple of arrays of probabilities or of their parameters."""

    def tables(self, params: P) -> Tables:
        """The tables of the E step."""

    def m_step(self, counts: ExpectedCounts, params: P | None) -> P:
        """New parameters from expected counts; `params` are the old ones, None at the start."""

    def log_prior(self, params: P, tables: Tables) -> float:
        """What the objective adds to the evidence: a log-density, or minus a divergence; `tables` are the params'."""


@dataclass(frozen=True, slots=True)
class Solution(Generic[P]):
    """Where the loop ended; `trace[t]` is the objective at the parameters of step t."""

    params: P
    trace: tuple[float, ...]
    converged: bool
    n_iter: int

    @property
    def steps(self) -> dict[str, Any]:
        """What a Fit says of the loop."""
        return {"trace": self.trace, "converged": self.converged, "n_iter": self.n_iter}


class Climb(NamedTuple):
    """All that the loop goes on from."""

    n_iter: int
    params: Any
    trace: tuple[float, ...] = ()
    history: tuple[Any, ...] = ()  # plain steps since the last accelerated one
    fallback: Any = None  # where a plain step would have led, while an accelerated one is on trial
    converged: bool = False


@runtime_checkable
class Keeper(Protocol):
    """A `progress` that also remembers, so that a loop which was cut off goes on where it was."""

    def __call__(self, step: int, objective: float) -> None:
        """Called after each step."""

    def recall(self, begin: Climb) -> Climb:
        """Where this loop was last, or `begin`; called once by each loop of a fit, in their order."""

    def keep(self, climb: Climb) -> None:
        """Called after each step with all that the next one needs."""


class Prepared(NamedTuple):
    """The votes as the loop sees them: an engine, and how its rows map back to the user's items."""

    engine: Engine
    totals: Totals
    pattern_i: NDArray[np.int32] | None

    def posterior(self, tables: Tables) -> FloatArray:
        """The probability of each latent class for each of the user's items."""
        return self.rows(lambda block: posterior(block, tables))

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """What `fn` says about each item of a block, for each of the user's items."""
        rows = self.engine.rows(fn)
        return rows if self.pattern_i is None else rows[self.pattern_i]


def prepare(
    votes: Votes,
    engine: Engine | None,
    weights: ArrayLike | None,
    *,
    clamp_gold: bool,
    merge: bool = True,
    usual_items: int = ITEMS_PER_BLOCK,
) -> Prepared:
    """The votes on an engine, in blocks of the usual size; equal items are merged where that pays."""
    if clamp_gold and votes.gold_i is None:
        raise ConfigError("clamp_gold needs gold labels: give a gold column or a gold file when reading.")
    if engine is not None:
        if weights is not None:
            raise ConfigError("weights are part of the engine: give them to in_memory(votes, weights=...).")
        return Prepared(engine, count_totals(engine), None)
    merged = merge_equal_items(votes) if merge and len(votes.items) >= MERGE_FROM_ITEMS else None
    if merged is None:
        engine = in_memory(votes, weights=weights, clamp_gold=clamp_gold, usual_items=usual_items)
        return Prepared(engine, count_totals(engine), None)
    weight_p = _pattern_weights(merged, weights)
    engine = in_memory(merged.votes, weights=weight_p, clamp_gold=clamp_gold, usual_items=usual_items)
    return Prepared(engine, count_totals(engine), merged.pattern_i)


def run_em(
    model: TableModel[P],
    prepared: Prepared,
    start: P | None = None,
    progress: Progress | None = None,
    limits: Limits | None = None,
) -> Solution[P]:
    """Alternate E and M steps from `start` (by default from the vote shares) until the parameters stand still."""

    def step(params: P) -> tuple[float, P]:
        tables = model.tables(params)
        counts = expect(prepared.engine, tables, prepared.totals)
        return float(counts.evidence + model.log_prior(params, tables)), model.m_step(counts, params)

    if start is None:
        start = model.m_step(share_counts(prepared.engine, prepared.totals), None)
    return climb(step, start, limits or model, progress)


def run_starts(
    model: TableModel[P], prepared: Prepared, starts: Iterable[P], progress: Progress | None = None
) -> Solution[P]:
    """The highest of several climbs; the first start is preferred where others reach as high.

    All starts are followed for a few steps, the first to the end, and the most promising of the others as long as it
    may still come out higher at the pace of its last steps.
    """
    scouted = [_go_on(model, prepared, None, start, SCOUT_STEPS, progress) for start in starts]
    best = scouted[0]
    while not best.converged and best.n_iter < model.max_iter:
        best = _go_on(model, prepared, best, best.params, model.max_iter, progress)
    other = max(scouted[1:], key=lambda climbed: climbed.trace[-1], default=best)
    while not other.converged and other.n_iter < model.max_iter:
        pace = other.trace[-1] - other.trace[max(len(other.trace) - SCOUT_STEPS, 0)]
        if other.trace[-1] + PATIENCE * pace < best.trace[-1]:
            break
        other = _go_on(model, prepared, other, other.params, SCOUT_STEPS, progress)
    return other if other.trace[-1] > best.trace[-1] + HIGHER * abs(best.trace[-1]) else best


def climb(
    step: Callable[[P], tuple[float, P]],
    start: P,
    limits: Limits,
    progress: Progress | None = None,
    *,
    positive: bool = True,
) -> Solution[P]:
    """Repeat `step` (parameters -> their objective, better parameters) until the parameters stand still.

    The objective never falls: an accelerated step (SQUAREM, Varadhan & Roland 2008) that lowers it is taken back.
    `positive` says that parameters must stay above 0, wherever acceleration would lead.
    """
    keeper = progress if isinstance(progress, Keeper) else None
    begin = Climb(0, start) if keeper is None else keeper.recall(Climb(0, start))
    if begin.converged:
        return Solution(begin.params, begin.trace, True, begin.n_iter)
    params, trace, history, fallback = begin.params, list(begin.trace), list(begin.history), begin.fallback
    for n_iter in range(begin.n_iter + 1, limits.max_iter + 1):
        objective, updated = step(params)
        if fallback is not None and not objective >= trace[-1]:
            params, fallback, history = fallback, None, []
            continue
        fallback = None
        trace.append(objective)
        if progress is not None:
            progress(n_iter, objective)
        moved = largest_change(params, updated).item()
        if moved <= limits.tol:
            if keeper is not None:
                keeper.keep(Climb(n_iter, updated, tuple(trace), converged=True))
            return Solution(updated, tuple(trace), True, n_iter)
        history = [*history, params][-2:]
        if limits.accelerate and len(history) == 2 and moved < SETTLED:
            leap = _leap(history[0], history[1], updated, positive=positive)
            params, fallback, history = (leap, updated, []) if leap is not None else (updated, None, history)
        else:
            params = updated
        if keeper is not None:
            keeper.keep(Climb(n_iter, params, tuple(trace), tuple(history), fallback))
    return Solution(params if fallback is None else fallback, tuple(trace), False, limits.max_iter)


def _go_on(
    model: TableModel[P],
    prepared: Prepared,
    so_far: Solution[P] | None,
    params: P,
    steps: int,
    progress: Progress | None,
) -> Solution[P]:
    """Some steps more, as one climb with those before."""
    trace, n_iter = ((), 0) if so_far is None else (so_far.trace, so_far.n_iter)
    limits = Steps(min(steps, model.max_iter - n_iter), model.tol, model.accelerate)
    more = run_em(model, prepared, params, progress, limits)
    return Solution(more.params, trace + more.trace, more.converged, n_iter + more.n_iter)


def table_fit(
    model: Any, votes: Votes, prepared: Prepared, solution: Solution[Any], tables: Tables | None = None, **learned: Any
) -> Fit:
    """The Fit of a table model whose latent classes are the user's classes; `tables`, if labels need others."""
    posterior_ik = prepared.posterior(tables or model.tables(solution.params))
    return fit_of(model.name, votes, posterior=posterior_ik, **solution.steps, **learned)


def _pattern_weights(merged: Merged, weights: ArrayLike | None) -> FloatArray:
    if weights is None:
        return merged.weight_p
    weight_i = np.asarray(weights, dtype=float)
    return np.bincount(merged.pattern_i, weights=weight_i, minlength=len(merged.weight_p)).astype(float)


def _leap(first: P, second: P, third: P, *, positive: bool) -> P | None:
    """The SQUAREM step from three successive points, or None where it is none or leaves the range allowed."""
    leap, lengths = squarem(first, second, third, whole_norm, LONGEST_LEAP)
    if not max(lengths) > 1.0:
        return None
    if positive:
        if any((x <= 0).any() for x in leap):
            return None
        leap = [_as_proper_as(a, c, x) for a, c, x in zip(first, third, leap, strict=True)]
    return type(first)(*leap) if hasattr(first, "_fields") else type(first)(leap)


def _as_proper_as(first: FloatArray, third: FloatArray, leap: FloatArray) -> FloatArray:
    """The leap with the sums of its last axis kept where plain steps keep them, as rows of probabilities do.

    A leap adds up small differences times its square, and the rounding would raise the objective.
    """
    total = third.sum(axis=-1, keepdims=True) if third.ndim else third
    if not third.ndim or not np.allclose(first.sum(axis=-1, keepdims=True), total, rtol=1e-9, atol=0):
        return leap
    return np.asarray(leap * (total / leap.sum(axis=-1, keepdims=True)))


def whole_norm(parts: Parts) -> list[float]:
    """One length of all parts together."""
    return [float(np.sqrt(sum(float((part * part).sum()) for part in parts)))] * len(parts)


def squarem(old: Parts, first: Parts, second: Parts, norm: Norm, longest: float) -> tuple[list[FloatArray], list[Any]]:
    """SQUAREM: from three successive points of a fixed-point iteration, a leap as far as their change suggests.

    Varadhan and Roland, Scandinavian Journal of Statistics 35 (2008), scheme S3: with the step r = x1 - x0 and the
    curvature v = (x2 - x1) - r, the leap ends at x0 + 2 a r + a^2 v with a = |r| / |v|; a = 1 is x2 itself.  Returns
    where it ends, part by part, and the lengths a, between 1 and `longest`.

    >>> ends, lengths = squarem([np.array([0.])], [np.array([.5])], [np.array([.75])], whole_norm, 100.)
    >>> [end.tolist() for end in ends], [float(length) for length in lengths]
    ([[1.0]], [2.0])
    """
    step = [np.asarray(b - a) for a, b in zip(old, first, strict=True)]
    curvature = [np.asarray(c - b) for b, c in zip(first, second, strict=True)]
    for v, r in zip(curvature, step, strict=True):
        v -= r  # in place: these may be large
    lengths = [_length(r, v, longest) for r, v in zip(norm(step), norm(curvature), strict=True)]
    for a, r, v, length in zip(old, step, curvature, lengths, strict=True):
        r *= 2 * length
        r += a
        v *= length**2
        r += v
    return step, lengths


def largest_change(old: Parts, new: Parts, n_problems: int = 1) -> FloatArray:
    """By how much a parameter has moved at most, for each problem, the last axis; relative where it is above 1.

    >>> largest_change([np.array([0.5, 0.25])], [np.array([0.5, 0.5])]).tolist()
    [0.25]
    >>> largest_change([np.array([[0.5, 8.0]])], [np.array([[0.25, 10.0]])], n_problems=2).tolist()
    [0.25, 0.2]
    """
    change_b = np.zeros(n_problems)
    for a, b in zip(old, new, strict=True):
        moved_xb, size_xb = np.abs(a - b).reshape(-1, n_problems), np.abs(b).reshape(-1, n_problems)
        if size_xb.max(initial=0.0) > 1.0:
            moved_xb = moved_xb / np.maximum(size_xb, 1.0)
        np.maximum(change_b, moved_xb.max(axis=0, initial=0.0), out=change_b)
    return change_b


def _length(step: Any, curvature: Any, longest: float) -> Any:
    """No leap where steps no longer change."""
    return np.where(curvature > 0, np.clip(step / np.maximum(curvature, TINY), 1.0, longest), 1.0)
