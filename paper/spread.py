"""Simulated numbers: the mean over several draws, compared with one printed draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from paper.item import Cell, Value, compare


def binomial_error(share: float, n: int) -> float:
    """The standard error of a share of n independent items."""
    return math.sqrt(share * (1 - share) / n)


def sampled(
    key: str,
    printed: Value,
    drawn: Sequence[float],
    *,
    exact: float | None = None,
    digits: int = 3,
    least_error: float = 0.0,
    own_error: float = 0.0,
    errata: tuple[int, ...] = (),
    why: str = "",
) -> Cell:
    """A cell for a number that the paper simulated once and we simulate several times, with the spread as a remark.

    The error of the printed number is that of a single draw of ours, and at least `least_error`, a known lower bound;
    if the exact value is known too, it is `least_error`.  `own_error` is the same for a draw of ours.

    >>> sampled("MV", .786, [.784, .782, .787]).why
    '3 draws, standard deviation 0.0025.'
    """
    spread = float(np.std(drawn, ddof=1)) if len(drawn) > 1 else 0.0
    error = max(spread, own_error or least_error)
    cell = compare(
        key,
        printed,
        float(np.mean(drawn)),
        exact=exact,
        digits=digits,
        error=error / math.sqrt(len(drawn)),
        printed_error=least_error if exact is not None and least_error else max(spread, least_error),
        errata=errata,
        why=why,
    )
    remark = f"{len(drawn)} draws, standard deviation {spread:.4f}."
    return replace(cell, why=f"{why} {remark}".strip())
