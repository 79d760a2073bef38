"""Cohen's kappa of every pair of workers, and its mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from majorant.agreement.coefficients import FloatArray, bag_of_items, weights
from majorant.agreement.result import PairKappas
from majorant.tally import PairCounts, pair_counts
from majorant.votes import IntArray, Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PAIRS_LISTED = 100_000
MOST_VOTE_PAIRS = 1_000_000_000  # ordered pairs of votes on one item: about ten seconds of work
MOST_RESAMPLED_PAIRS = 50_000_000  # unordered ones, listed one by one for the resampling
RESAMPLING_WORK = 200_000_000  # entries of the sparse tables times resamples: some seconds
DENSE_ENTRIES = 20_000_000  # tables of up to so many entries are multiplied densely, which is twenty times faster
FEWEST_RESAMPLES = 200
ENTRIES_AT_ONCE = 2_000_000
KEY_LIMIT = 1 << 62


def pair_kappas(votes: Votes, min_common: int) -> tuple[float | None, PairKappas]:
    """The mean kappa over pairs of workers (None if no pair defines one) and the pairs with most items in common.

    A pair counts in the mean with its number of pairs of votes: the items in common, unless workers repeat votes.
    Those with fewer than `min_common` are left out: with one item kappa is 0 for a different label and not defined for
    the same one, so that a mean over all pairs would be far too low.
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
        found = (pairs.worker_a_p, pairs.worker_b_p, pairs.items_p, agreed_p / total_p, kappa_p)
        listed = [np.concatenate(both) for both in zip(listed, found, strict=True)]
        kept_p = np.sort(np.argsort(-listed[2], kind="stable")[:PAIRS_LISTED])
        listed = [column_p[kept_p] for column_p in listed]
    mean = weighted_sum / weight if weight else None
    a_p, b_p, items_p, share_p, kappa_p = listed
    return mean, PairKappas(a_p, b_p, items_p, share_p, kappa_p, ~np.isnan(kappa_p), n_pairs, n_averaged)


def kappa(total: FloatArray, agreed: FloatArray, chance: FloatArray) -> FloatArray:
    """Kappa from the number of pairs of votes, of agreeing ones, and the sum over labels of the margins' products.

    NaN where both workers gave one and the same label throughout, or nothing in common.  Whole numbers below 2**53
    keep the comparison exact.

    >>> kappa(np.array([50.]), np.array([35.]), np.array([25 * 30 + 25 * 20.])).round(3).tolist()
    [0.4]
    """
    room = total * total - chance
    return np.asarray(np.divide(total * agreed - chance, room, out=np.full(room.shape, np.nan), where=room > 0))


def too_many_pairs(votes: Votes) -> str:
    """Why the kappas of pairs are not computed; empty where they are."""
    n_pairs = float(votes.votes_i.astype(float) @ votes.votes_i)
    if n_pairs <= MOST_VOTE_PAIRS:
        return ""
    return f"not computed: {n_pairs:.1e} pairs of votes on the same item, more than {MOST_VOTE_PAIRS:.0e}"


def resampled_mean(
    votes: Votes, min_common: int, n_boot: int, rng: np.random.Generator
) -> tuple[FloatArray | None, str]:
    """The mean kappa in resamples of the items that hold votes; None where there is too much work, and the reason.

    Within bounded work: as many resamples as fit, at least FEWEST_RESAMPLES, or none at all.
    """
    n_workers, n_classes = votes.shape[1:]
    bag_i, n_bags = _bag_voted_items(votes, rng)
    n_cells = n_bags * (n_workers * n_classes) ** 2
    n_pairs = float(votes.votes_i.astype(float) @ (votes.votes_i - 1)) / 2
    dense = n_cells <= DENSE_ENTRIES
    n_fit = n_boot if dense else int(min(n_boot, RESAMPLING_WORK / max(n_pairs, 1)))
    if n_pairs > MOST_RESAMPLED_PAIRS or n_fit < min(n_boot, FEWEST_RESAMPLES) or n_cells > KEY_LIMIT:
        return None, f"no interval: {n_pairs:.1e} pairs of votes on the same item are too many to resample"
    cell_c, entry_cu = (_dense_cells if dense else _sparse_cells)(votes, bag_i, n_bags)
    sums = _cell_sums(cell_c, n_workers, n_classes)
    averaged_p = sums[0] @ entry_cu.sum(axis=1) >= min_common  # the same pairs in every resample, and no others
    averaged_c = np.flatnonzero(sums[0].T @ averaged_p)
    cell_c, entry_cu = cell_c[averaged_c], entry_cu[averaged_c]
    sums = _cell_sums(cell_c, n_workers, n_classes)
    at_once = max(1, ENTRIES_AT_ONCE // max(len(cell_c), n_bags))
    draws = weights(np.ones(n_bags, dtype=np.int64), n_fit, at_once, rng)
    mean_b = np.concatenate([_mean_kappa(entry_cu @ weight_bu.T, sums) for weight_bu in draws])
    bagged = n_bags < np.count_nonzero(votes.votes_i)
    return mean_b, f"{n_fit} resamples of {n_bags} {'bags of items' if bagged else 'items'}"


def _mean_kappa(cell_cb: FloatArray, sums: list[csr_array[Any]]) -> FloatArray:
    """The weighted mean over pairs in each resample, from the cells of their tables; NaN where no kappa is defined."""
    total_pb, agreed_pb, row_qb, column_qb = (matrix @ cell_cb for matrix in sums)
    row_qb *= column_qb
    chance_pb = row_qb.reshape(len(total_pb), -1, cell_cb.shape[1]).sum(axis=1)
    kappa_pb = kappa(total_pb, agreed_pb, chance_pb)
    total_pb[np.isnan(kappa_pb)] = 0
    weight_b = total_pb.sum(axis=0)
    above_b = np.einsum("pb,pb->b", total_pb, np.nan_to_num(kappa_pb))
    return np.asarray(np.divide(above_b, weight_b, out=np.full(len(weight_b), np.nan), where=weight_b > 0))


def _pair_sums(pairs: PairCounts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Pairs of votes, agreeing ones, and the products of the margins summed over labels."""
    from scipy.sparse import eye_array, kron

    n_pairs, n_cells = pairs.table_pc.shape
    n_classes = round(n_cells**0.5)
    if n_pairs * n_cells <= DENSE_ENTRIES:
        table_pkl = pairs.table_pc.toarray().reshape(n_pairs, n_classes, n_classes).astype(float)
        row_pk, column_pk = np.einsum("pkl->pk", table_pkl), np.einsum("pkl->pl", table_pkl)
        agreed_p, chance_p = np.einsum("pkk->p", table_pkl), np.einsum("pk,pk->p", row_pk, column_pk)
        return np.einsum("pk->p", row_pk), agreed_p, chance_p
    same, ones = eye_array(n_classes), np.ones((n_classes, 1))
    # Margins stay sparse: a pair with three items in common has at most three labels, whatever the classes.
    row_pk, column_pk = pairs.table_pc @ kron(same, ones).tocsr(), pairs.table_pc @ kron(ones, same).tocsr()
    chance_p = np.asarray(row_pk.multiply(column_pk).sum(axis=1), dtype=float)
    return pairs.vote_pairs_p.astype(float), pairs.agreed_p.astype(float), chance_p.ravel()


def _bag_voted_items(votes: Votes, rng: np.random.Generator) -> tuple[IntArray, int]:
    """A bag for each item; those without votes share a bag with others, to which they add nothing."""
    voted_i = votes.votes_i > 0
    bag_i = np.zeros(len(voted_i), dtype=np.int32)
    bag_i[voted_i], n_bags = bag_of_items(int(voted_i.sum()), rng)
    return bag_i, n_bags


def _dense_cells(votes: Votes, bag_i: IntArray, n_bags: int) -> tuple[IntArray, FloatArray]:
    """The occupied cells of all pairs' tables as numbers, and how often each occurs in each bag, (cells, bags)."""
    size = n_bags * (len(votes.workers) * len(votes.labels)) ** 2
    count_e = np.zeros(size, dtype=np.int64)
    for item_e, cell_e in _vote_pairs(votes):
        count_e += np.bincount(cell_e * n_bags + bag_i[item_e], minlength=size)
    count_cu = count_e.reshape(-1, max(n_bags, 1))
    cell_c = np.flatnonzero(count_cu.any(axis=1))
    return cell_c, count_cu[cell_c].astype(float)


def _sparse_cells(votes: Votes, bag_i: IntArray, n_bags: int) -> tuple[IntArray, csr_array[Any]]:
    """The same where most cells stay empty in most bags."""
    from scipy.sparse import csr_array

    keys, sizes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for item_e, cell_e in _vote_pairs(votes):
        key, size = np.unique(cell_e * n_bags + bag_i[item_e], return_counts=True)
        keys.append(key)
        sizes.append(size)
    key_e, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    size_e = np.bincount(inverse, weights=np.concatenate(sizes), minlength=len(key_e))
    cell_c, row_e = np.unique(key_e // n_bags, return_inverse=True)
    return cell_c, csr_array((size_e, (row_e, key_e % n_bags)), shape=(len(cell_c), n_bags))


def _vote_pairs(votes: Votes) -> Iterator[tuple[IntArray, IntArray]]:
    """Every two votes of different workers on an item, some at a time: the item, and the cell (column a, column b)."""
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
    """Matrices that add cells up to pairs (P, C): all, the agreeing; and to pairs and labels (P * K, C): a's, b's."""
    from scipy.sparse import csr_array

    one_c, two_c = np.divmod(cell_c, n_workers * n_classes)
    pair_key_c = one_c // n_classes * n_workers + two_c // n_classes
    distinct, pair_c = np.unique(pair_key_c, return_inverse=True)
    label_a_c, label_b_c = one_c % n_classes, two_c % n_classes
    index_c, n_pairs = np.arange(len(cell_c)), len(distinct)

    def adds(value_c: FloatArray, row_c: IntArray, n_rows: int) -> csr_array[Any]:
        return csr_array((value_c, (row_c, index_c)), shape=(n_rows, len(cell_c)))

    ones_c = np.ones(len(cell_c))
    return [
        adds(ones_c, pair_c, n_pairs),
        adds((label_a_c == label_b_c).astype(float), pair_c, n_pairs),
        adds(ones_c, pair_c * n_classes + label_a_c, n_pairs * n_classes),
        adds(ones_c, pair_c * n_classes + label_b_c, n_pairs * n_classes),
    ]
