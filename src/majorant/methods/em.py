"""The EM loop: E step, M step and objective of a model, repeated until its parameters stop moving, with acceleration.

Acceleration is SQUAREM (Varadhan & Roland 2008): two plain steps, then a leap in the direction of their change. The
next step evaluates the objective anyway, so checking a leap costs nothing; one that lowers the objective is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from majorant.errors import ConfigError
from majorant.methods.fit import Fit
from majorant.methods.tables import (
    ExpectedCounts,
    Tables,
    VoteData,
    confusion_tables,
    expect,
    share_counts,
    vote_rows,
)
from majorant.values import TINY, FloatArray
from majorant.votes import Votes

P = TypeVar("P", bound=tuple[Any, ...])
Parts = Sequence[FloatArray]
Norm = Callable[[Parts], Sequence[Any]]  # a length for each part, which broadcasts to it: of all, or per problem


class EmModel(Protocol[P]):
    """What the EM loop needs of a model: a dataclass of settings; parameters are a (named) tuple of arrays."""

    @property
    def max_iter(self) -> int:
        """Maximum number of steps."""

    @property
    def tol(self) -> float:
        """Stop when no parameter moves by more than this (relative to its size, if that is above 1)."""

    @property
    def accelerate(self) -> bool:
        """Whether to try SQUAREM steps."""

    def e_step(self, data: VoteData, params: P) -> Any:
        """E step: expected statistics of the items under the parameters."""

    def m_step(self, expected: Any, params: P) -> P:
        """New parameters; `params` are the old ones."""

    def objective(self, params: P, expected: Any) -> float:
        """The objective at `params`; `expected` is their E step."""


@dataclass(frozen=True, slots=True)
class Solution(Generic[P]):
    """Result of the loop; `trace[t]` is the objective at the parameters of step t."""

    params: P
    trace: tuple[float, ...] = ()
    converged: bool = False
    n_iter: int = 0

    @property
    def steps(self) -> dict[str, Any]:
        """Convergence facts for a Fit."""
        return {"trace": self.trace, "converged": self.converged, "n_iter": self.n_iter}


Stop = Callable[[Any, P, float], bool]  # given an E step, the parameters that follow from it, and the objective


def run_em(
    model: EmModel[P], data: VoteData, start: P, *, positive: bool = True, stop: Stop[P] | None = None
) -> Solution[P]:
    """Repeat E and M steps from `start` until the parameters stop moving; the objective never falls.

    With `positive`, no leap may make a parameter 0 or negative. With `stop`, all steps are plain, and the result are
    the parameters of the E step at which it first says so.
    """
    require_steps(model.max_iter)
    params, trace = start, list[float]()
    history: list[P] = []  # up to two previous parameters, since the last leap
    fallback: P | None = None  # the result of the plain step, until the objective shows whether the leap was good
    for n_iter in range(1, model.max_iter + 1):
        expected = model.e_step(data, params)
        objective = float(model.objective(params, expected))
        if fallback is not None and not objective >= trace[-1]:  # also if it is NaN
            params, fallback, history = fallback, None, []
            continue
        updated = model.m_step(expected, params)
        fallback = None
        trace.append(objective)
        if data.progress is not None:
            data.progress(n_iter, objective)
        if stop is not None and stop(expected, updated, objective):
            return Solution(params, tuple(trace), True, n_iter)
        moved = largest_change(params, updated).item()
        if moved <= model.tol:
            return Solution(updated, tuple(trace), True, n_iter)
        history = [*history, params][-2:]
        # Leaps wait until no parameter moves by more than .01, so that they cannot jump to another optimum.
        if model.accelerate and stop is None and len(history) == 2 and moved < 0.01:
            leap = _leap(history[0], history[1], updated, positive=positive)
            params, fallback, history = (leap, updated, []) if leap is not None else (updated, None, history)
        else:
            params = updated
    return Solution(params if fallback is None else fallback, tuple(trace), False, model.max_iter)


def run_starts(model: EmModel[P], data: VoteData, starts: Iterable[P]) -> Solution[P]:
    """Run EM from several starts and return the best result; the first start wins ties.

    All starts run for a few steps. Then the first one runs to the end, and the best of the others for as long as it
    can still end up higher, judging by its latest progress.
    """
    scout_steps = 10
    require_steps(model.max_iter)

    def run(so_far: Solution[P], steps: int) -> Solution[P]:
        limited: Any = replace(cast("Any", model), max_iter=min(steps, model.max_iter - so_far.n_iter))
        more = run_em(limited, data, so_far.params)
        return Solution(more.params, so_far.trace + more.trace, more.converged, so_far.n_iter + more.n_iter)

    scouts = [run(Solution(start), scout_steps) for start in starts]
    best = scouts[0]
    while not best.converged and best.n_iter < model.max_iter:
        best = run(best, model.max_iter)
    other = max(scouts[1:], key=lambda scout: scout.trace[-1], default=best)
    while not other.converged and other.n_iter < model.max_iter:
        pace = other.trace[-1] - other.trace[max(len(other.trace) - scout_steps, 0)]
        if other.trace[-1] + 100 * pace < best.trace[-1]:
            break
        other = run(other, scout_steps)
    # A rise by less than one millionth of the objective does not count.
    return other if other.trace[-1] > best.trace[-1] + 1e-6 * abs(best.trace[-1]) else best


def largest_change(old: Parts, new: Parts, n_problems: int = 1) -> FloatArray:
    """The largest change of a parameter, for each problem (the last axis); relative if a parameter is above 1.

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


def squarem(old: Parts, first: Parts, second: Parts, norm: Norm, longest: float) -> tuple[list[FloatArray], list[Any]]:
    """Leap ahead from three successive points of a fixed-point iteration (SQUAREM).

    Varadhan and Roland, Scandinavian Journal of Statistics 35 (2008), scheme S3: with the step r = x1 - x0 and the
    curvature v = (x2 - x1) - r, the leap ends at x0 + 2 a r + a^2 v with a = |r| / |v|; a = 1 is x2 itself. Returns
    the end point, part by part, and the lengths a, between 1 and `longest`.

    >>> ends, lengths = squarem([np.array([0.])], [np.array([.5])], [np.array([.75])], norm_of_all, 100.)
    >>> [end.tolist() for end in ends], [float(length) for length in lengths]
    ([[1.0]], [2.0])
    """
    step = [np.asarray(b - a) for a, b in zip(old, first, strict=True)]
    curvature = [np.asarray(c - b) for b, c in zip(first, second, strict=True)]
    for v, r in zip(curvature, step, strict=True):
        v -= r  # in place: these may be large
    lengths = [  # 1 if the steps no longer change
        np.where(v > 0, np.clip(r / np.maximum(v, TINY), 1.0, longest), 1.0)
        for r, v in zip(norm(step), norm(curvature), strict=True)
    ]
    for a, r, v, length in zip(old, step, curvature, lengths, strict=True):  # r becomes the end point
        r *= 2 * length
        r += a
        v *= length**2
        r += v
    return step, lengths


def norm_of_all(parts: Parts) -> list[float]:
    """The Euclidean length of all parts together, repeated for each part."""
    return [float(np.sqrt(sum(float((part * part).sum()) for part in parts)))] * len(parts)


def _leap(first: P, second: P, third: P, *, positive: bool) -> P | None:
    """The leap from three successive points; None if it goes no further than they do or leaves the allowed range."""
    leap, lengths = squarem(first, second, third, norm_of_all, longest=1e4)  # longer leaps would be mostly rounding
    if not max(lengths) > 1.0:
        return None
    if positive:
        if any((x <= 0).any() for x in leap):
            return None
        leap = [_keep_sums(a, c, x) for a, c, x in zip(first, third, leap, strict=True)]
    return type(first)(*leap) if hasattr(first, "_fields") else type(first)(leap)


def _keep_sums(first: FloatArray, third: FloatArray, leap: FloatArray) -> FloatArray:
    """Restore the sums of the leap's last axis if plain steps keep them, as rows of probabilities do.

    A leap multiplies small differences, and so their rounding errors, by its squared length. Rows that add up to more
    than before would raise the objective.
    """
    total = third.sum(axis=-1, keepdims=True) if third.ndim else third
    if not third.ndim or not np.allclose(first.sum(axis=-1, keepdims=True), total, rtol=1e-9, atol=0):
        return leap
    return np.asarray(leap * (total / leap.sum(axis=-1, keepdims=True)))


def require_steps(max_iter: int) -> None:
    """Raise an error unless a method may take at least one step."""
    if max_iter < 1:
        raise ConfigError(f"max_iter must be at least 1, not {max_iter}.")


class ConfusionParams(NamedTuple):
    """P(label l | class k) of each worker, (J, K, K), and the probability of each class, (K,)."""

    confusion_jkl: FloatArray
    prior_k: FloatArray


def pseudo_votes(counts: ExpectedCounts) -> float:
    """A worker's pseudo-votes from the crowd: half a vote, more if workers gave fewer than ten votes per class."""
    votes_j = np.asarray(counts.votes_jgl.sum(axis=(1, 2)))
    per_worker = float(votes_j.sum()) / max(int((votes_j > 0).sum()), 1)
    return max(0.5, 5.0 * float(counts.votes_jgl.shape[2]) / max(per_worker, 1.0))


def stop_early(data: VoteData, tables: Callable[[P], Tables], min_rise: float) -> Stop[P]:
    """Stop EM at the first step that raises the bound on the evidence by less than `min_rise` per vote.

    EM improves labels in its first steps, when it corrects the workers' biases, and often harms them later, when it
    rewards workers who merely agree with each other. Late steps of that kind even out the classes. The bound therefore
    counts the log-probability of an item's class once for each of its votes, as if class shares were known, and it
    stops rising when more likelihood is gained only by making the classes more equal.
    """
    last = -np.inf
    n_votes = max(float(data.totals.votes_c.sum()), 1.0)

    def stop(counts: ExpectedCounts, params: P, objective: float) -> bool:  # noqa: ARG001
        nonlocal last
        assert counts.tables is not None
        votes_cg, new = vote_rows(counts.votes_jgl), tables(params)
        entropy = counts.evidence - weigh_logs(votes_cg, counts.tables.log_vote_cg)
        entropy -= weigh_logs(counts.items_g, counts.tables.log_prior_g)
        bound = weigh_logs(votes_cg, new.log_vote_cg) + weigh_logs(votes_cg.sum(axis=0), new.log_prior_g) + entropy
        rise, last = bound / n_votes - last, bound / n_votes
        return bool(rise < min_rise)

    return stop


def stop_when_flat(data: VoteData, min_rise: float) -> Stop[P]:
    """Stop EM at the first step that raises the objective by less than `min_rise` per vote."""
    last, n_votes = -np.inf, max(float(data.totals.votes_c.sum()), 1.0)

    def stop(expected: Any, params: P, objective: float) -> bool:  # noqa: ARG001
        nonlocal last
        rise, last = (objective - last) / n_votes, objective
        return bool(rise < min_rise)

    return stop


def weigh_logs(weight: FloatArray, log_value: FloatArray) -> float:
    """The sum of weights times logarithms, where a weight of 0 cancels a logarithm of 0."""
    return float((weight * np.where(weight > 0, log_value, 0.0)).sum())


def start_counts(data: VoteData) -> ExpectedCounts:
    """Initial expected counts, from the confusion matrices of an earlier fit or else from the vote shares."""
    if data.start is None:
        return share_counts(data)
    return expect(data, confusion_tables(*start_confusions(data.start, data.votes)))


def start_confusions(start: Fit, votes: Votes) -> ConfusionParams:
    """The confusion matrices and the prior of an earlier fit for the same workers and classes."""
    _, n_workers, n_classes = votes.shape
    if start.confusion is None or start.confusion.shape[-1] != n_classes:
        raise ConfigError(f"start: a {start.method} fit has no confusion matrices for these {n_classes} classes.")
    shape = (n_workers, n_classes, n_classes)
    if start.confusion.ndim == 3 and start.confusion.shape != shape:
        raise ConfigError(f"start: was fitted to {len(start.confusion)} workers, these votes have {n_workers}.")
    return ConfusionParams(np.broadcast_to(start.confusion, shape), start.prior)


def start_params(data: VoteData, method: str, *names: str) -> tuple[FloatArray, ...] | None:
    """Arrays that an earlier fit of the same method learned; None without one. The first has a row per worker."""
    start, votes = data.start, data.votes
    if start is None or start.method != method or not start.learned:
        return None
    learned = tuple(start.learned[name] for name in names)
    if len(start.label_values) != len(votes.labels):
        raise ConfigError(
            f"start: was fitted to {len(start.label_values)} classes, these votes have {len(votes.labels)}."
        )
    if len(learned[0]) != len(votes.workers):
        raise ConfigError(f"start: was fitted to {len(learned[0])} workers, these votes have {len(votes.workers)}.")
    return learned
