"""Several votes of one worker on one item: found in one linear pass, and resolved by a policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError
from majorant.io.vocabulary import Codes

POLICIES = ("error", "first", "last", "each")


@dataclass(frozen=True, slots=True)
class Resolved:
    """Which votes stay (None: all), and how many went as exact copies and as repeats that differ."""

    kept_n: NDArray[np.bool_] | None = None
    merged: int = 0
    dropped: int = 0


def check_policy(repeats: str) -> None:
    """Refuse a policy that is not known."""
    if repeats not in POLICIES:
        raise ConfigError(f"repeats={repeats!r}: choose one of {', '.join(POLICIES)}.")


def resolve(
    item_n: Codes, worker_n: Codes, label_n: Codes, *, n_items: int, n_workers: int, policy: str,
    refuse: Callable[[int, int], None],
) -> Resolved:  # fmt: skip
    """Apply the policy to votes that are sorted by item; `refuse(earlier, later)` is called on votes that differ."""
    if policy == "each" or not _any_repeat(item_n, worker_n, n_items, n_workers):
        return Resolved()
    vote_m, starts_m = _groups(item_n, worker_n, n_items, n_workers)
    group_m = np.cumsum(starts_m) - 1
    first_g = vote_m[starts_m]
    if policy == "error":
        differs = np.flatnonzero(label_n[vote_m] != label_n[first_g[group_m]])
        if len(differs):
            worst = differs[np.argmin(vote_m[differs])]
            refuse(int(first_g[group_m[worst]]), int(vote_m[worst]))
    keep_g = first_g if policy != "last" else vote_m[np.append(np.flatnonzero(starts_m)[1:], len(vote_m)) - 1]
    gone_m = vote_m != keep_g[group_m]
    copies = gone_m & (label_n[vote_m] == label_n[keep_g[group_m]])
    kept_n = np.ones(len(item_n), dtype=bool)
    kept_n[vote_m[gone_m]] = False
    return Resolved(kept_n, int(copies.sum()), int(gone_m.sum() - copies.sum()))


def _by_worker(
    item_n: Codes, worker_n: Codes, n_items: int, n_workers: int, data_n: NDArray[np.generic]
) -> tuple[Codes, NDArray[np.generic], Codes]:
    """Votes regrouped by worker, items rising within: transposing a sparse matrix is a stable counting sort."""
    from scipy.sparse import csr_array

    offsets_i = np.concatenate([[0], np.cumsum(np.bincount(item_n, minlength=n_items))])
    by_worker = csr_array((data_n, worker_n, offsets_i), shape=(n_items, n_workers)).tocsc()
    return by_worker.indices, by_worker.data, by_worker.indptr


def _same_as_before(item_m: Codes, indptr_j: Codes) -> NDArray[np.bool_]:
    same_m = np.zeros(len(item_m), dtype=bool)
    np.equal(item_m[1:], item_m[:-1], out=same_m[1:])
    same_m[indptr_j[:-1][indptr_j[:-1] < len(item_m)]] = False
    return same_m


def _any_repeat(item_n: Codes, worker_n: Codes, n_items: int, n_workers: int) -> bool:
    item_m, _, indptr_j = _by_worker(item_n, worker_n, n_items, n_workers, np.ones(len(item_n), dtype=np.int8))
    return bool(_same_as_before(item_m, indptr_j).any())


def _groups(item_n: Codes, worker_n: Codes, n_items: int, n_workers: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The votes of repeated pairs, pair by pair in the order of the table, and where each pair starts."""
    votes = np.arange(len(item_n), dtype=np.int64)
    item_m, vote_m, indptr_j = _by_worker(item_n, worker_n, n_items, n_workers, votes)
    same_m = _same_as_before(item_m, indptr_j)
    repeated_m = same_m.copy()
    repeated_m[:-1] |= same_m[1:]
    return vote_m[repeated_m].astype(np.intp), ~same_m[repeated_m]
