"""Agreement coefficients that need only counts per item: sums of small features, then one formula each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from majorant.tally import Patterns
from majorant.values import Estimate
from majorant.votes import IntArray

FloatArray = NDArray[np.float64]
NAMES = ("percent", "fleiss", "gwet", "krippendorff", "krippendorff_ordinal")
VOTED, PAIRED, SAME_SHARE, SAME, FIXED = range(5)  # the first columns of the features; two per class follow
CHANCE_TOLERANCE = 1e-12  # 1 - chance agreement below this is rounding
MOST_UNITS = 4096  # beyond, items go into bags: an interval's width is then off by about 1 %
FEWEST_UNITS = 512
COINCIDENCE_ENTRIES = 20_000_000  # units x K x K, the memory that the ordinal alpha may take
RESAMPLES_AT_ONCE = 250
MOST_UNDEFINED = 0.05  # of the resamples; an interval over the others would pass over what they say


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSums:
    """Features added up over items, for one data set or resample after another (axis b)."""

    feature_bf: FloatArray
    coincidence_bkl: FloatArray | None  # only the ordinal alpha needs it


def features(counts_pk: IntArray) -> FloatArray:
    """What an item with these counts adds to each sum, (P, 4 + 2 K).

    Columns: has a vote; has two; probability that two of its votes agree; ordered agreeing pairs per other vote;
    the share of each class; the votes for each class where there are two or more.
    """
    n_classes = counts_pk.shape[1]
    count_pk = counts_pk.astype(float)
    ones_k = np.ones(n_classes)
    votes_p = count_pk @ ones_k
    paired_p = votes_p >= 2
    per_other_p = (count_pk * (count_pk - 1)) @ ones_k / np.maximum(votes_p - 1, 1)
    feature_pf = np.empty((len(count_pk), FIXED + 2 * n_classes))
    feature_pf[:, VOTED] = votes_p > 0
    feature_pf[:, PAIRED] = paired_p
    feature_pf[:, SAME_SHARE] = per_other_p / np.maximum(votes_p, 1)
    feature_pf[:, SAME] = per_other_p
    feature_pf[:, FIXED : FIXED + n_classes] = count_pk / np.maximum(votes_p, 1)[:, None]
    feature_pf[:, FIXED + n_classes :] = count_pk * paired_p[:, None]
    return feature_pf


def coincidences(counts_pk: IntArray, items_p: IntArray | None = None) -> FloatArray:
    """Pairs of votes (k, l) on one item, each vote counting once among the others of its item, (K, K).

    The diagonal also pairs each vote with itself: at distance 0 it adds nothing.
    """
    count_pk = counts_pk.astype(float)
    votes_p = count_pk @ np.ones(count_pk.shape[1])
    weight_p = (votes_p >= 2) / np.maximum(votes_p - 1, 1)
    if items_p is not None:
        weight_p *= items_p
    return np.asarray((count_pk * weight_p[:, None]).T @ count_pk)


def coefficients(sums: FeatureSums) -> dict[str, FloatArray]:
    """Every coefficient for every resample b; NaN where it is not defined.  Formulas: docs/agreement.md.

    `krippendorff_ordinal` takes the classes in the order of the columns, and is absent without coincidences.
    """
    sum_bf = sums.feature_bf
    n_classes = (sum_bf.shape[1] - FIXED) // 2
    share_bk = sum_bf[:, FIXED : FIXED + n_classes] / np.maximum(sum_bf[:, VOTED], 1)[:, None]
    votes_bk = sum_bf[:, FIXED + n_classes :]
    observed_b = _ratio(sum_bf[:, SAME_SHARE], sum_bf[:, PAIRED])
    fleiss_chance_b = (share_bk**2).sum(axis=1)
    gwet_chance_b = _ratio((share_bk * (1 - share_bk)).sum(axis=1), np.full(len(sum_bf), n_classes - 1.0))
    total_b = votes_bk.sum(axis=1)
    expected_b = _ratio(total_b**2 - (votes_bk**2).sum(axis=1), total_b - 1)
    found = {
        "percent": observed_b,
        "fleiss": _beyond_chance(observed_b, fleiss_chance_b),
        "gwet": _beyond_chance(observed_b, gwet_chance_b),
        "krippendorff": 1 - _ratio(total_b - sum_bf[:, SAME], expected_b),
    }
    if sums.coincidence_bkl is not None:
        found["krippendorff_ordinal"] = _ordinal_alpha(sums.coincidence_bkl, votes_bk)
    return found


def _ordinal_alpha(coincidence_bkl: FloatArray, votes_bk: FloatArray) -> FloatArray:
    """The distance of two classes is the number of votes from the middle of one to the middle of the other, squared."""
    rank_bk = np.cumsum(votes_bk, axis=1) - votes_bk / 2
    distance_bkl = (rank_bk[:, :, None] - rank_bk[:, None, :]) ** 2
    observed_b = np.einsum("bkl,bkl->b", coincidence_bkl, distance_bkl)
    expected_b = np.einsum("bk,bl,bkl->b", votes_bk, votes_bk, distance_bkl, optimize=True)
    return 1 - _ratio(observed_b * (votes_bk.sum(axis=1) - 1), expected_b)


def _beyond_chance(observed_b: FloatArray, chance_b: FloatArray) -> FloatArray:
    room_b = 1 - chance_b
    return _ratio(observed_b - chance_b, np.where(room_b > CHANCE_TOLERANCE, room_b, 0))


def _ratio(above_b: FloatArray, below_b: FloatArray) -> FloatArray:
    """above / below, NaN where below is not positive."""
    return np.asarray(np.divide(above_b, below_b, out=np.full(len(below_b), np.nan), where=below_b > 0))


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
