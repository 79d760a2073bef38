"""Numeric and ordered labels: agreement by distance, and the mean, median and majority of each item."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from majorant.defaults import LEVEL
from majorant.errors import ConfigError, use
from majorant.read import Reading, as_votes
from majorant.results.agreement.coefficients import with_interval
from majorant.results.agreement.measure import N_BOOT, label_numbers
from majorant.tabular import Tabular
from majorant.values import Estimate, FloatArray, Missing, as_generator, as_level, lock
from majorant.votes import Votes

SCORE_RULES = ("majority", "median", "mean")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scores(Tabular):
    """Agreement by distance, and the mean, median and majority of each item.

    Distances are between numbers, or between ranks if labels have only an order.
    """

    interval_alpha: Estimate  # Krippendorff's alpha with squared distances
    icc: Estimate  # one-way random effects, single votes
    icc_agreement: Estimate  # two-way random effects, absolute agreement; needs every worker on every item
    weighted_kappa: Estimate  # quadratic weights; mean over pairs of workers with ten items in common
    distance: dict[str, Estimate]  # mean distance of each rule from gold
    nearer: dict[str, Estimate]  # how much nearer to gold each rule is than majority vote, on the same items
    items: Sequence[Hashable]
    mean_i: FloatArray  # NaN if an item has no votes
    median_i: FloatArray
    majority_i: FloatArray  # NaN if votes are tied
    votes_i: NDArray[np.int64]
    ranked: bool  # whether scores are ranks in a given order, not numbers
    level: float

    def __post_init__(self) -> None:
        lock(self)

    def __repr__(self) -> str:
        shown = {"alpha": self.interval_alpha, "ICC": self.icc, "weighted kappa": self.weighted_kappa}
        values = [f"{name} {one.value:.3f}" for name, one in shown.items() if one.value is not None]
        return f"Scores of {len(self.items):,} items: {', '.join(values) or 'nothing to compare'}\nmean_i, median_i"

    def table(self) -> dict[str, Any]:
        """One row per item."""
        return {
            "item": self.items,
            "mean": self.mean_i,
            "median": self.median_i,
            "majority": self.majority_i,
            "votes": self.votes_i,
        }

    @property
    def closest(self) -> str | None:
        """The rule with the smallest mean distance from gold; None without gold."""
        known = {rule: distance.value for rule, distance in self.distance.items() if distance.value is not None}
        return min(known, key=lambda rule: known[rule]) if known else None


def scores(
    votes: Any, *, rng: int | np.random.Generator = 0, level: float = LEVEL, n_boot: int = N_BOOT,
    **reading: Unpack[Reading],
) -> Scores:  # fmt: skip
    """Measure agreement by distance, and the mean, median and majority of each item, for numeric or ordered labels.

    Parameters
    ----------
    votes : Any
        Anything `mj.read` accepts, with the same keyword arguments; `order=` is the order of non-numeric labels.
    rng : int or numpy Generator
        Random seed.
    level : float
        Confidence level of the intervals.
    n_boot : int
        Number of bootstrap resamples.

    Returns
    -------
    Scores
        Coefficients with percentile intervals from resampled items, and a mean, median and majority per item.

    Examples
    --------
    >>> found = scores({"item": [1, 1, 2, 2, 3, 3], "worker": ["a", "b"] * 3, "label": [1, 2, 4, 5, 3, 3]})
    >>> round(found.interval_alpha.value, 3), found.mean_i.tolist()
    (0.833, [1.5, 4.5, 3.0])
    """
    as_level(level)
    table = as_votes(votes, **reading)
    value_k = _label_values(table)
    score_n = value_k[table.label_n]
    sums_is = _sums(table, score_n)
    generator = as_generator(rng)
    weight_bi = generator.multinomial(len(sums_is), np.full(len(sums_is), 1 / max(len(sums_is), 1)), size=n_boot)
    drawn_bs = weight_bi.astype(np.float64)
    mean_i, median_i, majority_i = _rules(table, score_n, value_k)
    distance, nearer = _distances(table, value_k, (majority_i, median_i, mean_i), level, n_boot, generator)
    return Scores(
        interval_alpha=_by_items(interval_alpha, sums_is, drawn_bs, level),
        icc=_by_items(one_way_icc, sums_is, drawn_bs, level),
        icc_agreement=_two_way(table, score_n, drawn_bs, level),
        weighted_kappa=_weighted_kappa(table, value_k, drawn_bs, level),
        distance=distance,
        nearer=nearer,
        items=table.items,
        mean_i=mean_i,
        median_i=median_i,
        majority_i=majority_i,
        votes_i=table.votes_i,
        ranked=table.ordered,
        level=level,
    )


def _label_values(votes: Votes) -> FloatArray:
    """The score of each label: its number, or its rank if an order is given."""
    if votes.ordered:
        return np.arange(len(votes.labels), dtype=np.float64)
    value_k = label_numbers(votes.labels)
    if value_k is None:
        shown = ",".join(map(str, votes.labels[:6]))
        raise ConfigError(
            f"These labels are not numbers. Give their order, from lowest to highest: {use('order', shown)}."
        )
    return value_k


def _sums(votes: Votes, score_n: FloatArray) -> FloatArray:
    """Number of votes, sum, and sum of squares of each item with at least two votes."""
    n_items = len(votes.items)
    centred_n = score_n - (score_n.mean() if len(score_n) else 0.0)  # for the precision of the squares
    total_i = np.bincount(votes.item_n, weights=centred_n, minlength=n_items)
    square_i = np.bincount(votes.item_n, weights=centred_n**2, minlength=n_items)
    kept = votes.votes_i >= 2
    return np.stack([votes.votes_i[kept].astype(np.float64), total_i[kept], square_i[kept]], axis=1)


def interval_alpha(sums_is: FloatArray, weight_bi: FloatArray) -> FloatArray:
    """Krippendorff's alpha with squared distances, for each row of item weights."""
    m_i, total_i, square_i = sums_is.T
    within_i = 2 * (m_i * square_i - total_i**2) / (m_i - 1)
    n_b, total_b, square_b = weight_bi @ m_i, weight_bi @ total_i, weight_bi @ square_i
    observed_b = weight_bi @ within_i / n_b
    expected_b = 2 * (n_b * square_b - total_b**2) / (n_b * (n_b - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - observed_b / expected_b)


def one_way_icc(sums_is: FloatArray, weight_bi: FloatArray) -> FloatArray:
    """ICC(1): the share of the variance that is between items, from a one-way analysis of variance."""
    m_i, total_i, square_i = sums_is.T
    n_b, items_b = weight_bi @ m_i, weight_bi.sum(axis=1)
    between_b = weight_bi @ (total_i**2 / m_i) - (weight_bi @ total_i) ** 2 / n_b
    within_b = weight_bi @ (square_i - total_i**2 / m_i)
    with np.errstate(invalid="ignore", divide="ignore"):
        size_b = (n_b - weight_bi @ m_i**2 / n_b) / (items_b - 1)
        ms_between_b, ms_within_b = between_b / (items_b - 1), within_b / (n_b - items_b)
        return np.asarray((ms_between_b - ms_within_b) / (ms_between_b + (size_b - 1) * ms_within_b))


def _estimate(
    statistic: Callable[[FloatArray], FloatArray], drawn_bi: FloatArray, level: float, missing: Missing
) -> Estimate:
    """A statistic of item weights with its interval; `missing` is the reason if it is undefined."""
    value = float(statistic(np.ones((1, drawn_bi.shape[1])))[0])
    return with_interval(value, statistic(drawn_bi), level) if np.isfinite(value) else Estimate(None, reason=missing)


def _by_items(
    statistic: Callable[[FloatArray, FloatArray], FloatArray], sums_is: FloatArray, drawn_bi: FloatArray, level: float
) -> Estimate:
    if len(sums_is) < 2:
        return Estimate(None, reason=Missing.ONE_PAIRED_ITEM)
    return _estimate(partial(statistic, sums_is), drawn_bi, level, Missing.NO_VARIANCE)


def _two_way(votes: Votes, score_n: FloatArray, drawn_bi: FloatArray, level: float) -> Estimate:
    """ICC(A,1), if every worker labels every item once."""
    n_items, n_workers = len(votes.items), len(votes.workers)
    table_ij = np.full((n_items, n_workers) if len(score_n) == n_items * n_workers else (0, 0), np.nan)
    if table_ij.size:
        table_ij[votes.item_n, votes.worker_n] = score_n
    if min(table_ij.shape) < 2 or np.isnan(table_ij).any():
        return Estimate(None, reason=Missing.INCOMPLETE_TABLE)
    table_ij -= table_ij.mean()  # for the precision of the squares
    return _estimate(partial(two_way_icc, table_ij), drawn_bi, level, Missing.NO_VARIANCE)


def two_way_icc(table_ij: FloatArray, weight_bi: FloatArray) -> FloatArray:
    """ICC(A,1) from a two-way analysis of variance of items and workers, for each row of item weights."""
    n_workers = table_ij.shape[1]
    n_b, mean_i = weight_bi.sum(axis=1), table_ij.mean(axis=1)
    grand_b, worker_bj = weight_bi @ mean_i / n_b, weight_bi @ table_ij / n_b[:, None]
    rows_b = n_workers * (weight_bi @ mean_i**2 - n_b * grand_b**2)
    columns_b = n_b * ((worker_bj - grand_b[:, None]) ** 2).sum(axis=1)
    total_b = weight_bi @ (table_ij**2).sum(axis=1) - n_b * n_workers * grand_b**2
    error_b = (total_b - rows_b - columns_b) / ((n_b - 1) * (n_workers - 1))
    rows_b, columns_b = rows_b / (n_b - 1), columns_b / (n_workers - 1)
    scale_b = rows_b + (n_workers - 1) * error_b + n_workers * (columns_b - error_b) / n_b
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(scale_b > 1e-12, (rows_b - error_b) / scale_b, np.nan)


def _weighted_kappa(votes: Votes, value_k: FloatArray, drawn_bi: FloatArray, level: float) -> Estimate:
    """Cohen's kappa with quadratic weights, averaged over pairs of workers with enough items in common."""
    n_workers = len(votes.workers)
    if n_workers > 200:  # too many pairs to compare one by one
        return Estimate(None, reason=Missing.TOO_MANY_WORKERS)
    place_i = np.cumsum(votes.votes_i >= 2) - 1  # positions among the items that are resampled
    by_worker = [dict(zip(votes.item_n[own], value_k[votes.label_n[own]], strict=True)) for own in _rows(votes)]
    pairs = []
    for a in range(n_workers):
        for b in range(a + 1, n_workers):
            common = [i for i in by_worker[a] if i in by_worker[b]]
            if len(common) >= 10:
                x, y = (np.array([by_worker[worker][i] for i in common]) for worker in (a, b))
                pairs.append((place_i[common], x, y))
    if not pairs:
        return Estimate(None, reason=Missing.FEW_COMMON_ITEMS)
    affordable = int(2e8 / sum(len(items) for items, _, _ in pairs))
    estimate = _estimate(partial(mean_kappa, pairs), drawn_bi[:affordable], level, Missing.FEW_COMMON_ITEMS)
    if affordable < 200 and estimate.value is not None:
        return Estimate(estimate.value, reason=Missing.WORKERS_NOT_RESAMPLED)
    return estimate


def mean_kappa(pairs: Sequence[tuple[NDArray[np.intp], FloatArray, FloatArray]], weight_bi: FloatArray) -> FloatArray:
    """Mean kappa of pairs (their items, and the scores of both), weighted by items, for each row of item weights."""
    total_b, weight_b = np.zeros(len(weight_bi)), np.zeros(len(weight_bi))
    for items, x, y in pairs:
        w_bi = weight_bi[:, items]
        n_b = w_bi.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean_x, mean_y = w_bi @ x / n_b, w_bi @ y / n_b
            spread_b = w_bi @ x**2 / n_b - mean_x**2 + w_bi @ y**2 / n_b - mean_y**2
            kappa_b = 1 - (w_bi @ (x - y) ** 2 / n_b) / (spread_b + (mean_x - mean_y) ** 2)
        known_b = np.isfinite(kappa_b)
        total_b += np.where(known_b, kappa_b * n_b, 0.0)
        weight_b += np.where(known_b, n_b, 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total_b / weight_b)


def _rows(votes: Votes) -> list[NDArray[np.intp]]:
    order = np.argsort(votes.worker_n, kind="stable")
    ends = np.cumsum(np.bincount(votes.worker_n, minlength=len(votes.workers)))
    return np.split(order, ends[:-1])


def _rules(votes: Votes, score_n: FloatArray, value_k: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    n_items = len(votes.items)
    mean_i, median_i, majority_i = (np.full(n_items, np.nan) for _ in range(3))
    for i in np.flatnonzero(votes.votes_i):
        own = score_n[votes.offsets_i[i] : votes.offsets_i[i + 1]]
        mean_i[i], median_i[i] = own.mean(), np.median(own)
        counts_k = np.bincount(votes.label_n[votes.offsets_i[i] : votes.offsets_i[i + 1]], minlength=len(value_k))
        top = np.flatnonzero(counts_k == counts_k.max())
        majority_i[i] = value_k[top[0]] if len(top) == 1 else np.nan
    return mean_i, median_i, majority_i


def _distances(
    votes: Votes,
    value_k: FloatArray,
    rules: Sequence[FloatArray],
    level: float,
    n_boot: int,
    rng: np.random.Generator,
) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
    """Mean distance of each rule from gold on items that all rules decide, and how much nearer than majority vote."""
    others = SCORE_RULES[1:]

    def unknown(reason: Missing) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
        nothing = Estimate(None, reason=reason)
        return dict.fromkeys(SCORE_RULES, nothing), dict.fromkeys(others, nothing)

    if votes.gold_i is None:
        return unknown(Missing.NO_GOLD)
    known = (votes.gold_i >= 0) & np.all([np.isfinite(answer) for answer in rules], axis=0)
    if known.sum() < 2:
        return unknown(Missing.ONE_GOLD_ITEM)
    gold = value_k[votes.gold_i[known]]
    n = int(known.sum())
    weight_bi = rng.multinomial(n, np.full(n, 1 / n), size=n_boot) / n
    error_ri = np.abs(np.array([value_i[known] for value_i in rules]) - gold)
    lead_ri = error_ri[0] - error_ri[1:]

    def mean(value_i: FloatArray) -> Estimate:
        return with_interval(float(value_i.mean()), weight_bi @ value_i, level)

    return dict(zip(SCORE_RULES, map(mean, error_ri), strict=True)), dict(zip(others, map(mean, lead_ri), strict=True))
