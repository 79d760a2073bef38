"""The one loop behind every table model: expected counts, new parameters, until they stand still."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.blocks import Engine, in_memory
from majorant.errors import ConfigError
from majorant.estimate.fit import Fit
from majorant.estimate.tables import Counts, Tables, Totals, count_totals, expect, posterior, share_counts
from majorant.kernels import FloatArray
from majorant.merge import Merged, merge_equal_items
from majorant.votes import Votes

P = TypeVar("P", bound=tuple[Any, ...])
Progress = Callable[[int, float], None]  # step, objective
MERGE_FROM_ITEMS = 4_096  # below this a pass costs less than looking for equal items
SETTLED = 0.01  # acceleration waits until no parameter moves by more, so that it cannot jump to another optimum


class TableModel(Protocol[P]):
    """What a model adds to the loop; `params` is a (named) tuple of arrays of probabilities or of their parameters."""

    @property
    def name(self) -> str:
        """The model's name in ESTIMATORS."""

    @property
    def max_iter(self) -> int:
        """The largest number of steps."""

    @property
    def tol(self) -> float:
        """Stop when no parameter moves by more."""

    @property
    def accelerate(self) -> bool:
        """Whether SQUAREM steps are tried."""

    def tables(self, params: P) -> Tables:
        """The tables of the E step."""

    def m_step(self, counts: Counts, params: P | None) -> P:
        """New parameters from expected counts; `params` are the old ones, None at the start."""

    def log_prior(self, params: P) -> float:
        """What the objective adds to the evidence: a log-density, or minus a divergence."""


@dataclass(frozen=True, slots=True)
class Solution(Generic[P]):
    """Where the loop ended; `trace[t]` is the objective at the parameters of step t."""

    params: P
    trace: tuple[float, ...]
    converged: bool
    n_iter: int


class Prepared(NamedTuple):
    """The votes as the loop sees them: an engine, and how its rows map back to the user's items."""

    engine: Engine
    totals: Totals
    pattern_i: NDArray[np.int32] | None

    def posterior(self, tables: Tables) -> FloatArray:
        """The probability of each latent class for each of the user's items."""
        rows = np.concatenate(list(self.engine.map_blocks(lambda block: posterior(block, tables))))
        return rows if self.pattern_i is None else rows[self.pattern_i]


def prepare(votes: Votes, engine: Engine | None, weights: ArrayLike | None, *, clamp_gold: bool) -> Prepared:
    """The votes on an engine; equal items are merged where that pays."""
    if clamp_gold and votes.gold_i is None:
        raise ConfigError("clamp_gold needs gold labels: give a gold column or a gold file when reading.")
    if engine is not None:
        if weights is not None:
            raise ConfigError("weights are part of the engine: give them to in_memory(votes, weights=...).")
        return Prepared(engine, count_totals(engine), None)
    merged = merge_equal_items(votes) if len(votes.items) >= MERGE_FROM_ITEMS else None
    if merged is None:
        engine = in_memory(votes, weights=weights, clamp_gold=clamp_gold)
        return Prepared(engine, count_totals(engine), None)
    engine = in_memory(merged.votes, weights=_pattern_weights(merged, weights), clamp_gold=clamp_gold)
    return Prepared(engine, count_totals(engine), merged.pattern_i)


def run_em(
    model: TableModel[P], prepared: Prepared, start: P | None = None, progress: Progress | None = None
) -> Solution[P]:
    """Alternate E and M steps from `start` (by default from the vote shares) until the parameters stand still.

    The objective never falls: an accelerated step (SQUAREM, Varadhan & Roland 2008) that lowers it is taken back.
    """
    params = model.m_step(share_counts(prepared.engine, prepared.totals), None) if start is None else start
    trace: list[float] = []
    history: list[P] = []  # plain steps since the last accelerated one
    fallback: P | None = None  # where a plain step would have led, while an accelerated one is on trial
    for step in range(1, model.max_iter + 1):
        counts = expect(prepared.engine, model.tables(params), prepared.totals)
        objective = float(counts.evidence + model.log_prior(params))
        if fallback is not None and not objective >= trace[-1]:
            params, fallback, history = fallback, None, []
            continue
        fallback = None
        trace.append(objective)
        if progress is not None:
            progress(step, objective)
        updated = model.m_step(counts, params)
        moved = _largest_change(params, updated)
        if moved <= model.tol:
            return Solution(updated, tuple(trace), True, step)
        history = [*history, params][-2:]
        if model.accelerate and len(history) == 2 and moved < SETTLED:
            leap = _leap(history[0], history[1], updated)
            params, fallback, history = (leap, updated, []) if leap is not None else (updated, None, history)
        else:
            params = updated
    return Solution(params, tuple(trace), False, model.max_iter)


def table_fit(model: Any, votes: Votes, prepared: Prepared, solution: Solution[Any], **learned: Any) -> Fit:
    """The Fit of a table model whose latent classes are the user's classes."""
    return Fit(
        method=model.name,
        posterior=prepared.posterior(model.tables(solution.params)),
        votes_i=votes.votes_i,
        label_values=votes.labels,
        trace=solution.trace,
        converged=solution.converged,
        n_iter=solution.n_iter,
        **learned,
    )


def _pattern_weights(merged: Merged, weights: ArrayLike | None) -> FloatArray:
    if weights is None:
        return merged.weight_p
    weight_i = np.asarray(weights, dtype=float)
    return np.bincount(merged.pattern_i, weights=weight_i, minlength=len(merged.weight_p)).astype(float)


def _largest_change(old: tuple[Any, ...], new: tuple[Any, ...]) -> float:
    return max(float(np.abs(a - b).max(initial=0.0)) for a, b in zip(old, new, strict=True))


def _leap(first: P, second: P, third: P) -> P | None:
    """The SQUAREM step from three successive points, or None where it leaves the range of probabilities."""
    rise = [b - a for a, b in zip(first, second, strict=True)]
    bend = [c - b - r for b, c, r in zip(second, third, rise, strict=True)]
    size = np.sqrt(sum(float((r * r).sum()) for r in rise)), np.sqrt(sum(float((v * v).sum()) for v in bend))
    length = size[0] / size[1] if size[1] > 0 else 0.0
    if not 1.0 < length < np.inf:
        return None
    leap = [a + 2 * length * r + length**2 * v for a, r, v in zip(first, rise, bend, strict=True)]
    if any((x <= 0).any() for x in leap):
        return None
    return type(first)(*leap) if hasattr(first, "_fields") else type(first)(leap)
