"""What methods for two classes share: signs of votes, and agreement between workers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError, NotIdentified
from majorant.estimate.confusion import coin_confusions, confusion_tables
from majorant.estimate.em import prepare
from majorant.estimate.fit import Fit, fit_of
from majorant.estimate.tables import posterior
from majorant.estimate.weighted import item_rows
from majorant.kernels import FloatArray, shares
from majorant.votes import IntArray, Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WORKERS_PER_CHUNK = 256
PARTNERS = 64  # co-workers kept for each worker, those with the most items in common
DENSE_UP_TO = 64  # workers
NO_SIDE = 1e-9  # a vector of length 1 whose entries sum to less has no direction


class PairAgreement(NamedTuple):
    """Mean product of the signs of two workers over their common items, and how many these are; no diagonal."""

    mean_ab: csr_array[Any]
    items_ab: csr_array[Any]


def require_two_classes(name: str, votes: Votes) -> None:
    """Refuse votes with another number of classes than two."""
    if len(votes.labels) != 2:
        raise ConfigError(
            f"{name} is for two classes, these votes have {len(votes.labels)}: use dawid-skene or one-coin."
        )


def signs(votes: Votes) -> FloatArray:
    """-1 for each vote for the first label, +1 for the second."""
    return np.where(votes.label_n == 1, 1.0, -1.0)


def item_worker(votes: Votes, value_n: FloatArray) -> csr_array[Any]:
    """A sparse matrix, items x workers, of one value for each vote; repeated votes add up."""
    from scipy.sparse import csr_array

    shape = (len(votes.items), len(votes.workers))
    matrix_ij = csr_array((value_n, votes.worker_n, votes.offsets_i), shape=shape, copy=True)
    matrix_ij.sum_duplicates()
    return matrix_ij


def agreement(name: str, votes: Votes, weight_i: FloatArray) -> PairAgreement:
    """How each two workers agree on the items they share; NotIdentified where no two share one.

    A worker who votes more than once on an item counts there with the mean of his signs.  Of a worker's co-workers
    the PARTNERS with the most common items are kept.
    """
    from scipy.sparse import csr_array, vstack

    sign_ij, voted_ij = item_worker(votes, signs(votes)), item_worker(votes, np.ones(votes.n_votes))
    sign_ij.data /= voted_ij.data
    voted_ij.data[:] = 1.0
    weighted_ji = [csr_array(matrix.T.tocsr() * weight_i) for matrix in (sign_ij, voted_ij)]
    parts = []
    for start in range(0, len(votes.workers), WORKERS_PER_CHUNK):
        rows = slice(start, start + WORKERS_PER_CHUNK)
        # Products with a sum of 0 would vanish from a sparse matrix, so 2 is added to each mean until they are aligned.
        items_ab = csr_array(weighted_ji[1][rows] @ voted_ij)
        parts.append(_most_shared(items_ab, csr_array(weighted_ji[0][rows] @ sign_ij + 2 * items_ab), start))
    items_ab, raised_ab = vstack([part[0] for part in parts]), vstack([part[1] for part in parts])
    items_ab, raised_ab = csr_array(items_ab.maximum(items_ab.T)), csr_array(raised_ab.maximum(raised_ab.T))
    if not items_ab.nnz:
        raise NotIdentified(f"{name} compares workers on common items, and no two workers share one: use majority.")
    for matrix in (items_ab, raised_ab):
        matrix.sort_indices()
    mean_ab = csr_array((raised_ab.data / items_ab.data - 2, items_ab.indices, items_ab.indptr), shape=items_ab.shape)
    return PairAgreement(mean_ab, items_ab)


def leading_vector(times: Callable[[FloatArray], FloatArray], n_workers: int) -> FloatArray:
    """The eigenvector of the largest eigenvalue of a symmetric matrix, its sign such that it adds up to more than 0.

    `times` multiplies the matrix by vectors, (J,) or (J, n).  All 0 where the vector adds up to nothing, so that
    neither sign is better.
    """
    if n_workers <= DENSE_UP_TO:
        vector_j = np.linalg.eigh(times(np.eye(n_workers)))[1][:, -1]
    else:
        from scipy.sparse.linalg import LinearOperator, eigsh

        operator = LinearOperator((n_workers, n_workers), matvec=times, matmat=times, dtype=float)
        vector_j = eigsh(operator, k=1, which="LA", v0=np.ones(n_workers), maxiter=10_000)[1][:, 0]
    total = vector_j.sum()
    return np.asarray(vector_j * np.sign(total) if abs(total) > NO_SIDE else np.zeros(n_workers))


def sign_shares(votes: Votes, strength_n: FloatArray) -> FloatArray:
    """Probabilities from signed strengths: each class's share of them; 0 on both sides is a tie."""
    n_items = len(votes.items)
    towards_n = signs(votes) * strength_n
    second_i = np.bincount(votes.item_n, weights=np.maximum(towards_n, 0), minlength=n_items)
    first_i = np.bincount(votes.item_n, weights=np.maximum(-towards_n, 0), minlength=n_items)
    return shares(np.stack([first_i, second_i], axis=1))


def theta_fit(name: str, votes: Votes, weights: ArrayLike | None, theta_j: FloatArray, **facts: Any) -> Fit:
    """Weighted majority for workers who are right with probability (1 + theta) / 2, theta as `skill`.

    An estimate of certainty is not believed further than the worker's number of votes allows.
    """
    prepared = prepare(votes, None, weights, clamp_gold=False)
    votes_j = prepared.totals.votes_c.reshape(-1, 2).sum(axis=1)
    bound_j = votes_j / (votes_j + 1)
    theta_j = np.clip(theta_j, -bound_j, bound_j)
    confusion_jkl = coin_confusions((1 + theta_j) / 2, 2)
    tables = confusion_tables(confusion_jkl, np.full(2, 0.5))
    posterior_ik, prior_k = item_rows(prepared, lambda block: posterior(block, tables))
    return fit_of(
        name,
        votes,
        posterior=posterior_ik,
        prior=prior_k,
        confusion=confusion_jkl,
        skill=theta_j,
        **facts,
    )


def _most_shared(
    items_ab: csr_array[Any], raised_ab: csr_array[Any], start: int
) -> tuple[csr_array[Any], csr_array[Any]]:
    """Of each row the PARTNERS entries with the most common items, without the worker himself."""
    from scipy.sparse import csr_array

    for matrix in (items_ab, raised_ab):
        matrix.sort_indices()  # both hold the same places: now in the same order
    row_e = np.repeat(np.arange(items_ab.shape[0]), np.diff(items_ab.indptr))
    others = (items_ab.indices != row_e + start) & (items_ab.data > 0)
    kept = []
    for a, b in pairwise(items_ab.indptr):
        entry = a + np.flatnonzero(others[a:b])
        kept.append(entry[most(items_ab.data[entry])])
    kept_e = np.concatenate(kept)
    place = (row_e[kept_e], items_ab.indices[kept_e])
    return (
        csr_array((items_ab.data[kept_e], place), shape=items_ab.shape),
        csr_array((raised_ab.data[kept_e], place), shape=items_ab.shape),
    )


def most(items_p: FloatArray) -> IntArray:
    """The places of the PARTNERS largest entries, in order of place; all, if there are no more."""
    if len(items_p) <= PARTNERS:
        return np.arange(len(items_p))
    return np.sort(np.argpartition(-items_p, PARTNERS)[:PARTNERS])
