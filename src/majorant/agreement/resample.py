"""The bootstrap over items, at a cost that does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from majorant.agreement.coefficients import FeatureSums, FloatArray, coefficients, coincidences, features
from majorant.interval import Estimate
from majorant.tally import Patterns
from majorant.votes import IntArray

MOST_UNITS = 4096  # beyond, items go into bags: an interval's width is then off by about 1 %
FEWEST_UNITS = 512
COINCIDENCE_ENTRIES = 20_000_000  # units x K x K, the memory that the ordinal alpha may take
RESAMPLES_AT_ONCE = 250
MOST_UNDEFINED = 0.05  # of the resamples; an interval over the others would pass over what they say


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What is drawn: patterns of items, or bags of items, each with its number of equal copies."""

    feature_uf: FloatArray
    coincidence_ukl: FloatArray | None
    copies_u: IntArray


def unit_limit(n_classes: int, *, ordinal: bool) -> int:
    """How many units to draw from at most; less than FEWEST_UNITS if ordinal resampling would take too much memory."""
    return min(MOST_UNITS, COINCIDENCE_ENTRIES // n_classes**2) if ordinal else MOST_UNITS


def units(patterns: Patterns, rng: np.random.Generator, *, ordinal: bool) -> Units:
    """Each pattern on its own while they are few, which is the exact bootstrap; else bags of items."""
    limit = unit_limit(patterns.counts_pk.shape[1], ordinal=ordinal)
    counts_pk = patterns.counts_pk
    if len(counts_pk) <= limit:
        coincidence_ukl = np.stack([coincidences(row_k[None]) for row_k in counts_pk]) if ordinal else None
        return Units(features(counts_pk), coincidence_ukl, patterns.items_p)
    pattern_i = np.repeat(np.arange(len(counts_pk)), patterns.items_p)
    rng.shuffle(pattern_i)
    bags = [counts_pk[pattern_b] for pattern_b in np.array_split(pattern_i, limit)]
    feature_uf = np.stack([features(counts_bk).sum(axis=0) for counts_bk in bags])
    coincidence_ukl = np.stack([coincidences(counts_bk) for counts_bk in bags]) if ordinal else None
    return Units(feature_uf, coincidence_ukl, np.ones(limit, dtype=np.int64))


def bag_of_items(n_items: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], int]:
    """A bag for each item and the number of bags: each item its own while they are few, else drawn by lot."""
    n_bags = min(n_items, MOST_UNITS)
    bag_i = np.arange(n_items, dtype=np.int32) % np.int32(max(n_bags, 1))
    if n_items > MOST_UNITS:
        rng.shuffle(bag_i)
    return bag_i, n_bags


def weights(copies_u: IntArray, n_boot: int, at_once: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """How often each unit is drawn in each of `n_boot` resamples, (B, U), some resamples at a time."""
    n_copies = int(copies_u.sum())
    for start in range(0, n_boot, at_once):
        size = min(at_once, n_boot - start)
        yield rng.multinomial(n_copies, copies_u / n_copies, size=size).astype(float)


def resampled_coefficients(drawn: Units, n_boot: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Every coefficient in each of `n_boot` resamples."""
    parts = []
    for weight_bu in weights(drawn.copies_u, n_boot, RESAMPLES_AT_ONCE, rng):
        coincidence_bkl = None
        if drawn.coincidence_ukl is not None:
            n_units, n_classes, _ = drawn.coincidence_ukl.shape
            coincidence_bkl = weight_bu @ drawn.coincidence_ukl.reshape(n_units, -1)
            coincidence_bkl = coincidence_bkl.reshape(-1, n_classes, n_classes)
        parts.append(coefficients(FeatureSums(weight_bu @ drawn.feature_uf, coincidence_bkl)))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def with_interval(value: float, resampled_b: FloatArray, level: float) -> Estimate:
    """The percentile interval, or the reason why the resamples give none.

    Resamples of few items lean to one side; where they leave out the value, the interval is stretched to it.

    >>> with_interval(2., np.linspace(0, 4, 101), level=.5)
    Estimate(value=2.0, low=1.0, high=3.0, reason='')
    >>> with_interval(3.5, np.linspace(0, 4, 101), level=.5)
    Estimate(value=3.5, low=1.0, high=3.5, reason='')
    """
    defined_b = resampled_b[~np.isnan(resampled_b)]
    missing = len(resampled_b) - len(defined_b)
    if missing > MOST_UNDEFINED * len(resampled_b):
        reason = f"no interval: {missing} of {len(resampled_b)} resamples of the items leave the coefficient undefined"
        return Estimate(value, reason=reason)
    low, high = np.quantile(defined_b, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, min(float(low), value), max(float(high), value))
