"""Agreement coefficients from sums over items, and Cohen's kappa from pairs of workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from majorant.tally import KEY_LIMIT, PairCounts, Patterns, pair_counts
from majorant.values import Estimate, FloatArray, Missing, lock
from majorant.votes import IntArray, Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

VOTED, PAIRED, SAME_SHARE, SAME, CLASSES_FROM = range(5)  # first columns of the features, before two per class
MOST_UNITS = 4096  # more items than this are resampled in groups, which changes an interval's width by about 1%
ENTRIES_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class PairKappas:
    """Cohen's kappa of the pairs of workers with the most items in common (codes into `votes.workers`, a < b).

    `kappa_p` is NaN, and `defined_p` False, if both workers always gave the same single label.
    """

    worker_a_p: IntArray
    worker_b_p: IntArray
    items_p: IntArray  # number of items in common
    agreed_p: NDArray[np.float64]  # share of these on which they agree
    kappa_p: NDArray[np.float64]
    defined_p: NDArray[np.bool_]
    n_pairs: int  # number of pairs with an item in common; only the largest are listed
    n_averaged: int  # number of pairs behind the mean kappa: kappa is defined and there are enough common items

    def __post_init__(self) -> None:
        lock(self)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Agreement:
    """How well workers agree: coefficients are 1 for perfect and, except for `percent`, 0 for chance agreement."""

    percent: Estimate  # probability that two random votes on a random item agree
    cohen: Estimate  # mean over pairs of workers, weighted by their common votes
    fleiss: Estimate
    krippendorff: Estimate  # nominal alpha
    krippendorff_ordinal: Estimate
    gwet: Estimate  # AC1
    pairs: PairKappas | None  # None if there are too many pairs of votes
    n_items: int  # number of items with votes
    n_paired: int  # number of items with at least two votes; only these show agreement
    n_classes: int  # number of labels in use
    level: float
    cohen_items: int | None  # number of sampled items behind Cohen's kappa; None if all were used

    def __repr__(self) -> str:
        shown = {"alpha": self.krippendorff, "kappa": self.fleiss, "AC1": self.gwet, "percent": self.percent}
        values = [f"{name} {estimate.value:.3f}" for name, estimate in shown.items() if estimate.value is not None]
        return (
            f"Agreement on {self.n_paired:,} items with two votes or more\n{', '.join(values) or 'nothing to compare'}"
        )


def features(counts_pk: IntArray) -> FloatArray:
    """Terms that an item with these counts adds to each sum, (P, 4 + 2 K).

    Columns: has a vote; has two votes; probability that two of its votes agree; ordered agreeing pairs per other vote;
    share of each class; votes for each class if there are at least two votes.
    """
    n_classes = counts_pk.shape[1]
    count_pk = counts_pk.astype(float)
    ones_k = np.ones(n_classes)
    votes_p = count_pk @ ones_k
    paired_p = votes_p >= 2
    per_other_p = (count_pk * (count_pk - 1)) @ ones_k / np.maximum(votes_p - 1, 1)
    feature_pf = np.empty((len(count_pk), CLASSES_FROM + 2 * n_classes))
    feature_pf[:, VOTED] = votes_p > 0
    feature_pf[:, PAIRED] = paired_p
    feature_pf[:, SAME_SHARE] = per_other_p / np.maximum(votes_p, 1)
    feature_pf[:, SAME] = per_other_p
    feature_pf[:, CLASSES_FROM : CLASSES_FROM + n_classes] = count_pk / np.maximum(votes_p, 1)[:, None]
    feature_pf[:, CLASSES_FROM + n_classes :] = count_pk * paired_p[:, None]
    return feature_pf


def coincidences(counts_pk: IntArray, items_p: IntArray | None = None) -> FloatArray:
    """Krippendorff's coincidences: pairs of votes (k, l) on an item, divided by its votes minus one, (K, K).

    The diagonal also pairs each vote with itself, which does not matter because the distance is 0.
    """
    count_pk = counts_pk.astype(float)
    votes_p = count_pk @ np.ones(count_pk.shape[1])
    weight_p = (votes_p >= 2) / np.maximum(votes_p - 1, 1)
    if items_p is not None:
        weight_p *= items_p
    if counts_pk.shape[1] <= 500:
        return np.asarray((count_pk * weight_p[:, None]).T @ count_pk)
    from scipy.sparse import csr_array  # few of thousands of scores occur on an item

    return (csr_array(count_pk * weight_p[:, None]).T @ csr_array(count_pk)).toarray()


def coefficients(sum_bf: FloatArray, coincidence_bkl: FloatArray | None) -> dict[str, FloatArray]:
    """All coefficients of each resample b, from its sums; NaN if undefined.  Formulas: docs/agreement.md.

    `krippendorff_ordinal` uses the order of the columns, and is missing without coincidences.
    """
    n_classes = (sum_bf.shape[1] - CLASSES_FROM) // 2
    share_bk = sum_bf[:, CLASSES_FROM : CLASSES_FROM + n_classes] / np.maximum(sum_bf[:, VOTED], 1)[:, None]
    votes_bk = sum_bf[:, CLASSES_FROM + n_classes :]
    observed_b = _ratio(sum_bf[:, SAME_SHARE], sum_bf[:, PAIRED])
    fleiss_chance_b = (share_bk**2).sum(axis=1)
    gwet_chance_b = _ratio((share_bk * (1 - share_bk)).sum(axis=1), np.full(len(sum_bf), n_classes - 1.0))
    total_b = votes_bk.sum(axis=1)
    expected_b = _ratio(total_b**2 - (votes_bk**2).sum(axis=1), total_b - 1)
    coefficient = {
        "percent": observed_b,
        "fleiss": _beyond_chance(observed_b, fleiss_chance_b),
        "gwet": _beyond_chance(observed_b, gwet_chance_b),
        "krippendorff": 1 - _ratio(total_b - sum_bf[:, SAME], expected_b),
    }
    if coincidence_bkl is not None:
        coefficient["krippendorff_ordinal"] = _ordinal_alpha(coincidence_bkl, votes_bk)
    return coefficient


def _ordinal_alpha(coincidence_bkl: FloatArray, votes_bk: FloatArray) -> FloatArray:
    """Krippendorff's alpha; the distance of two classes is the squared number of votes between their midpoints."""
    rank_bk = np.cumsum(votes_bk, axis=1) - votes_bk / 2
    total_b = votes_bk.sum(axis=1)
    middle_b = (votes_bk * rank_bk).sum(axis=1) / np.maximum(total_b, 1)
    rank_bk = rank_bk - middle_b[:, None]  # for the precision of the squares
    # Sums of (r_k - r_l)^2 without a table of all distances, which is slow with thousands of scores.
    row_bk, column_bk = coincidence_bkl.sum(axis=2), coincidence_bkl.sum(axis=1)
    mixed_b = (np.matmul(rank_bk[:, None, :], coincidence_bkl)[:, 0] * rank_bk).sum(axis=1)
    observed_b = ((row_bk + column_bk) * rank_bk**2).sum(axis=1) - 2 * mixed_b
    expected_b = 2 * total_b * (votes_bk * rank_bk**2).sum(axis=1)  # the centred ranks sum to 0
    return 1 - _ratio(observed_b * (total_b - 1), expected_b)


def _beyond_chance(observed_b: FloatArray, chance_b: FloatArray) -> FloatArray:
    room_b = 1 - chance_b
    return _ratio(observed_b - chance_b, np.where(room_b > 1e-12, room_b, 0))  # smaller values are rounding errors


def _ratio(above_b: FloatArray, below_b: FloatArray) -> FloatArray:
    """Ratio above / below; NaN unless below is positive."""
    return np.asarray(np.divide(above_b, below_b, out=np.full(len(below_b), np.nan), where=below_b > 0))


def resampled_coefficients(
    patterns: Patterns, n_boot: int, rng: np.random.Generator, *, ordinal: bool, most_entries: int = 20_000_000
) -> dict[str, FloatArray]:
    """All coefficients in each of `n_boot` resamples of the items; no ordinal alpha if that needs too much memory.

    Patterns of counts are drawn in proportion to their number of items, which is the exact bootstrap.  If there are too
    many patterns, random groups of items are drawn instead.  `most_entries` limits units x K x K for the ordinal alpha.
    """
    counts_pk = patterns.counts_pk
    n_classes = counts_pk.shape[1]
    most_units = min(MOST_UNITS, most_entries // n_classes**2) if ordinal else MOST_UNITS
    if most_units < 512:  # too few groups for an interval
        ordinal, most_units = False, MOST_UNITS
    copies_u, groups = patterns.items_p, [row_k[None] for row_k in counts_pk]
    if len(counts_pk) > most_units:
        pattern_i = np.repeat(np.arange(len(counts_pk)), patterns.items_p)
        rng.shuffle(pattern_i)
        copies_u, groups = np.ones(most_units, np.int64), [counts_pk[p] for p in np.array_split(pattern_i, most_units)]
    feature_uf = np.stack([features(counts_gk).sum(axis=0) for counts_gk in groups])
    coincidence_uc = np.stack([coincidences(counts_gk).ravel() for counts_gk in groups]) if ordinal else None
    parts = []
    for weight_bu in draw_weights(copies_u, n_boot, 250, rng):
        coincidence_bkl = None
        if coincidence_uc is not None:
            coincidence_bkl = (weight_bu @ coincidence_uc).reshape(-1, n_classes, n_classes)
        parts.append(coefficients(weight_bu @ feature_uf, coincidence_bkl))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def draw_weights(copies_u: IntArray, n_boot: int, at_once: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Number of times that each unit is drawn in each of `n_boot` resamples, (B, U), in batches of `at_once`."""
    n_copies = int(copies_u.sum())
    for start in range(0, n_boot, at_once):
        size = min(at_once, n_boot - start)
        yield rng.multinomial(n_copies, copies_u / n_copies, size=size).astype(float)


def with_interval(value: float, resampled_b: FloatArray, level: float) -> Estimate:
    """The value with its percentile interval, or with the reason why there is none.

    Resamples of few items are biased, so an interval that excludes the value is extended to include it.

    >>> with_interval(2., np.linspace(0, 4, 101), level=.5)
    Estimate(value=2.0, low=1.0, high=3.0, reason=None)
    >>> with_interval(3.5, np.linspace(0, 4, 101), level=.5)
    Estimate(value=3.5, low=1.0, high=3.5, reason=None)
    """
    defined_b = resampled_b[~np.isnan(resampled_b)]
    if len(defined_b) < 0.95 * len(resampled_b):  # an interval from the others would mislead
        return Estimate(value, reason=Missing.UNDEFINED_RESAMPLES)
    low, high = np.quantile(defined_b, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, min(float(low), value), max(float(high), value))


def pair_kappas(votes: Votes, min_common: int, *, most_listed: int = 100_000) -> tuple[float | None, PairKappas]:
    """The mean kappa over pairs of workers (None if undefined for all), and the pairs with most items in common.

    The mean is weighted by pairs of votes, which is the number of common items unless workers vote repeatedly.  Pairs
    with fewer than `min_common` are left out: with one item, kappa is 0 or undefined, so the mean would be too low.
    """
    weighted_sum, weight, n_pairs, n_averaged = 0.0, 0.0, 0, 0
    listed: list[NDArray[Any]] = [np.zeros(0, np.int64)] * 3 + [np.zeros(0)] * 2
    for pairs in pair_counts(votes):
        total_p, agreed_p, chance_p = _pair_sums(pairs)
        kappa_p = kappa(total_p, agreed_p, chance_p)
        averaged_p = ~np.isnan(kappa_p) & (total_p >= min_common)
        weighted_sum += float(total_p[averaged_p] @ kappa_p[averaged_p])
        weight += float(total_p[averaged_p].sum())
        n_pairs, n_averaged = n_pairs + len(kappa_p), n_averaged + int(averaged_p.sum())
        chunk = (pairs.worker_a_p, pairs.worker_b_p, pairs.items_p, agreed_p / total_p, kappa_p)
        listed = [np.concatenate(both) for both in zip(listed, chunk, strict=True)]
        kept_p = np.sort(np.argsort(-listed[2], kind="stable")[:most_listed])
        listed = [column_p[kept_p] for column_p in listed]
    mean = weighted_sum / weight if weight else None
    a_p, b_p, items_p, share_p, kappa_p = listed
    return mean, PairKappas(a_p, b_p, items_p, share_p, kappa_p, ~np.isnan(kappa_p), n_pairs, n_averaged)


def kappa(total: FloatArray, agreed: FloatArray, chance: FloatArray) -> FloatArray:
    """Kappa from numbers of pairs of votes, numbers of agreeing pairs, and sums over labels of products of margins.

    It is NaN if both workers always gave the same single label or have no items in common.  All inputs are integers
    below 2**53, so `room > 0` is exact.

    >>> kappa(np.array([50.]), np.array([35.]), np.array([25 * 30 + 25 * 20.])).round(3).tolist()
    [0.4]
    """
    room = total * total - chance
    return np.asarray(np.divide(total * agreed - chance, room, out=np.full(room.shape, np.nan), where=room > 0))


def resampled_mean(
    votes: Votes, min_common: int, n_boot: int, rng: np.random.Generator, *, most_pairs: int = 50_000_000
) -> FloatArray | None:
    """Mean kappa in resamples of the items with votes; fewer resamples, or None, if there are too many votes.

    At most `most_pairs` pairs of votes can be resampled, because they are listed one by one.
    """
    n_workers, n_classes = votes.shape[1:]
    voted_i = votes.votes_i > 0
    n_voted = int(voted_i.sum())
    n_groups = min(n_voted, MOST_UNITS)
    group_v = np.arange(n_voted) % max(n_groups, 1)
    if n_voted > MOST_UNITS:
        rng.shuffle(group_v)
    group_i = np.zeros(len(voted_i), dtype=np.int64)
    group_i[voted_i] = group_v
    n_cells = n_groups * (n_workers * n_classes) ** 2
    n_pairs = float(votes.votes_i.astype(float) @ (votes.votes_i - 1)) / 2
    # 20 million cells, or 200 million pairs of votes times resamples, take some seconds.
    n_fit = n_boot if n_cells <= 20_000_000 else int(min(n_boot, 200_000_000 / max(n_pairs, 1)))
    if n_pairs > most_pairs or n_fit < min(n_boot, 200) or n_cells > KEY_LIMIT:
        return None
    cell_c, entry_cu = _cells(votes, group_i, n_groups)
    sums = _cell_sums(cell_c, n_workers, n_classes)
    averaged_p = sums[0] @ entry_cu.sum(axis=1) >= min_common  # the same pairs in every resample
    averaged_c = np.flatnonzero(sums[0].T @ averaged_p)
    cell_c, entry_cu = cell_c[averaged_c], entry_cu[averaged_c]
    is_full = entry_cu.nnz > 0.1 * len(cell_c) * n_groups  # dense products are faster then
    table_cu = entry_cu.toarray() if is_full else entry_cu
    sums = _cell_sums(cell_c, n_workers, n_classes)
    at_once = max(1, ENTRIES_AT_ONCE // max(len(cell_c), n_groups))
    draws = draw_weights(np.ones(n_groups, dtype=np.int64), n_fit, at_once, rng)
    return np.concatenate([_mean_kappa(table_cu @ weight_bu.T, sums) for weight_bu in draws])


def _mean_kappa(cell_cb: FloatArray, sums: list[csr_array[Any]]) -> FloatArray:
    """Weighted mean kappa over pairs in each resample, from the cells of their tables; NaN if none is defined."""
    total_pb, agreed_pb, row_qb, column_qb = (matrix @ cell_cb for matrix in sums)
    row_qb *= column_qb
    chance_pb = row_qb.reshape(len(total_pb), -1, cell_cb.shape[1]).sum(axis=1)
    kappa_pb = kappa(total_pb, agreed_pb, chance_pb)
    total_pb[np.isnan(kappa_pb)] = 0
    weight_b = total_pb.sum(axis=0)
    above_b = np.einsum("pb,pb->b", total_pb, np.nan_to_num(kappa_pb))
    return np.asarray(np.divide(above_b, weight_b, out=np.full(len(weight_b), np.nan), where=weight_b > 0))


def _pair_sums(pairs: PairCounts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each pair of workers: pairs of votes, agreeing pairs, and products of the margins summed over labels."""
    from scipy.sparse import csr_array

    table = pairs.table_pc.tocoo()
    n_classes = round(table.shape[1] ** 0.5)
    # Margins stay sparse: a pair with three items in common has at most three labels.
    row_pk, column_pk = (
        csr_array((table.data.astype(float), (table.row, label)), shape=(table.shape[0], n_classes))
        for label in np.divmod(table.col, n_classes)
    )
    chance_p = np.asarray(row_pk.multiply(column_pk).sum(axis=1), dtype=float)
    return pairs.vote_pairs_p.astype(float), pairs.agreed_p.astype(float), chance_p.ravel()


def _cells(votes: Votes, group_i: IntArray, n_groups: int) -> tuple[IntArray, csr_array[Any]]:
    """Codes of the occupied cells in the tables of all pairs, and their counts in each group of items."""
    from scipy.sparse import csr_array

    keys, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for item_e, cell_e in _vote_pairs(votes):
        key, size = np.unique(cell_e * n_groups + group_i[item_e], return_counts=True)
        keys.append(key)
        sizes.append(size)
    key_e, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    size_e = np.bincount(inverse, weights=np.concatenate(sizes), minlength=len(key_e))
    cell_c, row_e = np.unique(key_e // max(n_groups, 1), return_inverse=True)
    return cell_c, csr_array((size_e, (row_e, key_e % max(n_groups, 1))), shape=(len(cell_c), n_groups))


def _vote_pairs(votes: Votes) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield batches of pairs of votes by different workers on an item: the items, and the cells (columns a, b)."""
    n_classes = len(votes.labels)
    n_columns = len(votes.workers) * n_classes
    column_n = votes.worker_n.astype(np.int64) * n_classes + votes.label_n
    later_n = votes.offsets_i[1:][votes.item_n] - 1 - np.arange(votes.n_votes)  # votes that follow on the same item
    end_n = np.concatenate([[0], np.cumsum(later_n)])
    start = 0
    while start < votes.n_votes:
        stop = max(start + 1, int(np.searchsorted(end_n, end_n[start] + ENTRIES_AT_ONCE, side="right")) - 1)
        first_e = np.repeat(np.arange(start, stop), later_n[start:stop])
        second_e = np.arange(end_n[start], end_n[stop]) - end_n[first_e] + first_e + 1
        other_e = votes.worker_n[first_e] != votes.worker_n[second_e]
        one_e, two_e = column_n[first_e[other_e]], column_n[second_e[other_e]]
        yield votes.item_n[first_e[other_e]], np.minimum(one_e, two_e) * n_columns + np.maximum(one_e, two_e)
        start = stop


def _cell_sums(cell_c: IntArray, n_workers: int, n_classes: int) -> list[csr_array[Any]]:
    """Matrices that sum cells per pair (P, C): all and agreeing; and per pair and label (P * K, C): of a and of b."""
    from scipy.sparse import csr_array

    one_c, two_c = np.divmod(cell_c, n_workers * n_classes)
    pair_key_c = one_c // n_classes * n_workers + two_c // n_classes
    distinct, pair_c = np.unique(pair_key_c, return_inverse=True)
    label_a_c, label_b_c = one_c % n_classes, two_c % n_classes
    index_c, n_pairs = np.arange(len(cell_c)), len(distinct)

    def summing(value_c: FloatArray, row_c: IntArray, n_rows: int) -> csr_array[Any]:
        return csr_array((value_c, (row_c, index_c)), shape=(n_rows, len(cell_c)))

    ones_c = np.ones(len(cell_c))
    return [
        summing(ones_c, pair_c, n_pairs),
        summing((label_a_c == label_b_c).astype(float), pair_c, n_pairs),
        summing(ones_c, pair_c * n_classes + label_a_c, n_pairs * n_classes),
        summing(ones_c, pair_c * n_classes + label_b_c, n_pairs * n_classes),
    ]
