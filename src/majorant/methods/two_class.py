"""Methods for two classes, from signs of votes and agreement between workers.

KOS passes messages (Karger, Oh & Shah 2014), spectral takes an eigenvector (Dalvi et al. 2013), and triplet compares
three workers at a time (Bonald & Combes 2017).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError, NotIdentified
from majorant.kernels import as_weights, shares
from majorant.methods.fit import Fit, Traits, fit_of
from majorant.methods.tables import coin_confusions, confusion_tables, posterior, prepare
from majorant.read import as_votes
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PARTNERS = 64  # co-workers that are kept for each worker, those with the most items in common
EQUAL = 1e-9  # numbers that differ by a smaller share are equal


@dataclass(frozen=True, slots=True, kw_only=True)
class KOS:
    """Items and workers send each other messages, each leaving out what the receiver said; two classes.

    An item tells a worker the sum of the other workers' votes; a worker tells an item how far the worker's other votes
    agree. Messages start at 1 and are scaled to mean square 1 each round. A sum of 0 is a tie, as for an item whose
    workers voted on nothing else. `skill` is the mean message of a worker. Messages give busy workers more weight, so a
    few busy ones near chance may decide.

    Parameters
    ----------
    max_iter, tol
        Stop after so many rounds, or when no message moves by more than `tol`.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3, [1, 1, 0, 0, 0, 0, 1, 1, 1], items="abc",
    ...                          workers="xyz", labels=("no", "yes"))
    >>> KOS().fit(votes).labels()
    ['yes', 'no', 'yes']
    """

    name: ClassVar[str] = "kos"
    traits: ClassVar[Traits] = Traits(classes=2)

    max_iter: int = 100
    tol: float = 1e-6

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None) -> Fit:
        """Scores as probabilities: each class's share of the messages that an item's workers send it."""
        votes, weight_i = _two_classes(self.name, votes, weights)
        weight_n = weight_i[votes.item_n]
        message_n = np.ones(votes.n_votes)
        converged, n_iter = False, 0
        while not converged and n_iter < self.max_iter:
            updated_n = _send_messages(votes, message_n, weight_n)
            converged = bool(np.abs(updated_n - message_n).max(initial=0.0) <= self.tol)
            message_n, n_iter = updated_n, n_iter + 1
        n_workers = len(votes.workers)
        votes_j = np.bincount(votes.worker_n, minlength=n_workers)
        sent_j = np.bincount(votes.worker_n, weights=message_n, minlength=n_workers)
        skill_j = sent_j / np.maximum(votes_j, 1)
        return _fit_signs(self.name, votes, weight_i, message_n, skill_j, converged=converged, n_iter=n_iter)


def _send_messages(votes: Votes, message_n: FloatArray, weight_n: FloatArray) -> FloatArray:
    """The workers' next messages to items, one for each vote, scaled to mean square 1."""
    n_items, n_workers, _ = votes.shape
    sign_n = _signs(votes)
    heard_n = sign_n * message_n
    sum_i = np.bincount(votes.item_n, weights=heard_n, minlength=n_items)
    answer_n = sign_n * (sum_i[votes.item_n] - heard_n)  # an item leaves out what the worker itself said
    sum_j = np.bincount(votes.worker_n, weights=weight_n * answer_n, minlength=n_workers)
    updated_n = sum_j[votes.worker_n] - np.minimum(weight_n, 1.0) * answer_n
    size = np.sqrt(np.mean(updated_n**2)) if len(updated_n) else 0.0
    return np.asarray(updated_n / size if size > 0 else updated_n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectral:
    """Skills from the leading eigenvector of the agreements between workers; two classes, sparse matrices only.

    Worker j is right with probability (1 + theta_j) / 2 whatever the class, so the mean product of two workers' signs
    is theta_a theta_b, up to noise; `skill` is theta. Votes are weighted by it. The crowd is assumed to be better than
    chance overall; if the sign is undetermined, all items tie.
    """

    name: ClassVar[str] = "spectral"
    traits: ClassVar[Traits] = Traits(needs="overlap", classes=2)

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None) -> Fit:
        """Skills, and the posterior of each item."""
        votes, weight_i = _two_classes(self.name, votes, weights)
        agreement = measure_agreement(self.name, votes, weight_i)
        vector_j = leading_vector(lambda value: agreement.mean_ab @ value, len(votes.workers))
        pairs = agreement.mean_ab.tocoo()
        product_e = vector_j[pairs.row] * vector_j[pairs.col]
        size = float(product_e @ product_e)
        scale = max(float(product_e @ pairs.data) / size, 0.0) if size > 0 else 0.0
        skill_j = np.asarray(vector_j * np.sqrt(scale))
        return _fit_signs(self.name, votes, weight_i, skill_j[votes.worker_n], skill_j)


def leading_vector(times: Callable[[FloatArray], FloatArray], n_workers: int, *, dense_up_to: int = 64) -> FloatArray:
    """The eigenvector of the largest eigenvalue of a symmetric matrix, with the sign that makes its sum positive.

    `times` multiplies the matrix by vectors, (J,) or (J, n). All 0 if the entries add up to nothing, so that neither
    sign is better.
    """
    if n_workers <= dense_up_to:
        vector_j = np.linalg.eigh(times(np.eye(n_workers)))[1][:, -1]
    else:
        from scipy.sparse.linalg import LinearOperator, eigsh

        operator = LinearOperator((n_workers, n_workers), matvec=times, matmat=times, dtype=float)
        vector_j = eigsh(operator, k=1, which="LA", v0=np.ones(n_workers), maxiter=10_000)[1][:, 0]
    total = vector_j.sum()
    return np.asarray(vector_j * np.sign(total) if abs(total) > EQUAL else np.zeros(n_workers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Triplet:
    """Two workers agree as often as their skills allow, so three pairwise agreements give three skills; two classes.

    Worker j is right with probability (1 + theta_j) / 2 whatever the class. With C_ab the mean product of two workers'
    signs, theta_j squared is C_ja C_jb / C_ab; of the pairs (a, b), the one with the largest |C_ab| * sqrt(fewest
    common items) is used, and equally good pairs are averaged. Signs are such that informative workers are right on the
    whole. Then a weighted majority vote with a uniform prior. `skill` is theta, 0 where no triangle reaches.
    """

    name: ClassVar[str] = "triplet"
    traits: ClassVar[Traits] = Traits(needs="overlap", classes=2)

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None) -> Fit:
        """theta of each worker, and the posterior of each item; NotIdentified without three workers who overlap."""
        votes, weight_i = _two_classes(self.name, votes, weights)
        agreement = measure_agreement(self.name, votes, weight_i)
        size_j = skill_sizes(agreement)
        if np.isnan(size_j).all():
            raise NotIdentified(
                "triplet compares three workers who share items two by two and agree more than by chance, "
                "and there are none. Use majority."
            )
        size_j = np.nan_to_num(size_j)
        data = prepare(votes, weights=weights)
        votes_j = data.totals.votes_c.reshape(-1, 2).sum(axis=1)
        bound_j = votes_j / (votes_j + 1)  # cap certainty by the number of votes
        theta_j = np.clip(size_j * skill_signs(agreement, size_j), -bound_j, bound_j)
        confusion_jkl = coin_confusions((1 + theta_j) / 2, 2)
        tables = confusion_tables(confusion_jkl, np.full(2, 0.5))
        posterior_ik, prior_k = data.rows_and_prior(lambda block: posterior(block, tables))
        return data.fit_of(self, posterior=posterior_ik, prior=prior_k, confusion=confusion_jkl, skill=theta_j)


def skill_sizes(agreement: PairAgreement) -> FloatArray:
    """|theta| of each worker, NaN if no triangle reaches the worker."""
    from scipy.sparse import csr_array

    mean_ab, items_ab, items_j = agreement
    # Both matrices have their entries in the same places: slicing a matrix of places slices them at once.
    place_e = np.arange(1, len(mean_ab.data) + 1)
    place_ab = csr_array((place_e, mean_ab.indices, mean_ab.indptr), shape=mean_ab.shape)
    size_e, common_e = np.append(0.0, np.abs(mean_ab.data)), np.append(0.0, items_ab.data)
    size_j = np.full(mean_ab.shape[0], np.nan)
    for j, (first, last) in enumerate(pairwise(mean_ab.indptr)):
        partner = mean_ab.indices[first:last]
        own = _choose_partners(items_ab.data[first:last], items_j[partner], mean_ab.data[first:last])
        own_p, worker_p = 1 + first + own, partner[own]
        place_pq = place_ab[worker_p][:, worker_p].toarray()  # 0 for two workers without a common item
        among_pq, items_p = size_e[place_pq], common_e[own_p]
        worth_pq = among_pq * np.sqrt(np.minimum(common_e[place_pq], np.minimum.outer(items_p, items_p)))
        best = worth_pq.max(initial=0.0)
        if best > 0:
            row, column = np.nonzero(worth_pq >= best * (1 - EQUAL))
            square = size_e[own_p[row]] * size_e[own_p[column]] / among_pq[row, column]
            size_j[j] = min(np.sqrt(square.mean()), 1.0)
    return size_j


def skill_signs(agreement: PairAgreement, size_j: FloatArray) -> FloatArray:
    """+1 for workers who side with the informative majority, -1 for those against it, 0 if that is unknown.

    Every worker starts on the side of truth and moves, round by round, to where the worker's agreement with the others
    puts it; parts of the crowd without a common item settle separately.
    """
    pull_ab = agreement.mean_ab * agreement.items_ab.sqrt()
    side_j = size_j.copy()
    for _ in range(50):
        force_j, most_j = pull_ab @ side_j, abs(pull_ab) @ np.abs(side_j)
        side_j = (side_j + size_j * np.divide(force_j, most_j, out=np.zeros_like(force_j), where=most_j > 0)) / 2
    return np.where(np.abs(side_j) > EQUAL, np.sign(side_j), 0.0)


class PairAgreement(NamedTuple):
    """The mean product of the signs of two workers over their common items, and how many these are; no diagonal."""

    mean_ab: csr_array[Any]
    items_ab: csr_array[Any]
    items_j: FloatArray  # of each worker


def measure_agreement(name: str, votes: Votes, weight_i: FloatArray, *, workers_at_once: int = 256) -> PairAgreement:
    """How often each pair of workers agrees on shared items; raises NotIdentified if no pair shares an item.

    A worker who votes more than once on an item counts there with the mean sign. Of a worker's co-workers, the PARTNERS
    with the most common items are kept; of those with equally many, the busier ones and then those who agree more.
    """
    from scipy.sparse import csr_array, vstack

    sign_ij, voted_ij = _item_worker(votes, _signs(votes)), _item_worker(votes, np.ones(votes.n_votes))
    sign_ij.data /= voted_ij.data
    voted_ij.data[:] = 1.0
    weighted_ji = [csr_array(matrix.T.tocsr() * weight_i) for matrix in (sign_ij, voted_ij)]
    items_j = weight_i @ voted_ij
    parts = []
    for start in range(0, len(votes.workers), workers_at_once):
        rows = slice(start, start + workers_at_once)
        # Products with a sum of 0 would vanish from a sparse matrix, so 2 is added to each mean until they are aligned.
        items_ab = csr_array(weighted_ji[1][rows] @ voted_ij)
        raised_ab = csr_array(weighted_ji[0][rows] @ sign_ij + 2 * items_ab)
        parts.append(_keep_partners(items_ab, raised_ab, items_j, start))
    items_ab, raised_ab = vstack([part[0] for part in parts]), vstack([part[1] for part in parts])
    items_ab, raised_ab = csr_array(items_ab.maximum(items_ab.T)), csr_array(raised_ab.maximum(raised_ab.T))
    if not items_ab.nnz:
        raise NotIdentified(f"{name} compares workers on common items, and no two workers share one: use majority.")
    for matrix in (items_ab, raised_ab):
        matrix.sort_indices()
    mean_ab = csr_array((raised_ab.data / items_ab.data - 2, items_ab.indices, items_ab.indptr), shape=items_ab.shape)
    return PairAgreement(mean_ab, items_ab, items_j)


def _keep_partners(
    items_ab: csr_array[Any], raised_ab: csr_array[Any], items_j: FloatArray, start: int
) -> tuple[csr_array[Any], csr_array[Any]]:
    """The PARTNERS entries of each row with the most common items, without the diagonal."""
    from scipy.sparse import csr_array

    for matrix in (items_ab, raised_ab):
        matrix.sort_indices()  # both hold the same places: now in the same order
    row_e = np.repeat(np.arange(items_ab.shape[0]), np.diff(items_ab.indptr))
    others = (items_ab.indices != row_e + start) & (items_ab.data > 0)
    kept = []
    for a, b in pairwise(items_ab.indptr):
        entry = a + np.flatnonzero(others[a:b])
        kept.append(
            entry[_choose_partners(items_ab.data[entry], items_j[items_ab.indices[entry]], raised_ab.data[entry])]
        )
    kept_e = np.concatenate(kept)
    place = (row_e[kept_e], items_ab.indices[kept_e])
    return (
        csr_array((items_ab.data[kept_e], place), shape=items_ab.shape),
        csr_array((raised_ab.data[kept_e], place), shape=items_ab.shape),
    )


def _choose_partners(common_p: FloatArray, items_p: FloatArray, agreement_p: FloatArray) -> IntArray:
    """The places of the PARTNERS largest entries, with all that equal the last, so that order does not matter."""
    if len(common_p) <= PARTNERS:
        return np.arange(len(common_p))
    first = np.lexsort((-agreement_p, -items_p, -common_p))[:PARTNERS]
    last = first[-1]
    equal_p = (common_p == common_p[last]) & (items_p == items_p[last]) & (agreement_p == agreement_p[last])
    return np.union1d(first, np.flatnonzero(equal_p))


def _two_classes(name: str, votes: Any, weights: ArrayLike | None) -> tuple[Votes, FloatArray]:
    """The votes, which must have two classes, and how often each item counts."""
    votes = as_votes(votes)
    if len(votes.labels) != 2:
        raise ConfigError(
            f"{name} is for two classes, these votes have {len(votes.labels)}: use dawid-skene or one-coin."
        )
    n_items = len(votes.items)
    return votes, np.ones(n_items) if weights is None else as_weights(weights, n_items)


def _signs(votes: Votes) -> FloatArray:
    """-1 for each vote for the first label, +1 for the second."""
    return np.where(votes.label_n == 1, 1.0, -1.0)


def _item_worker(votes: Votes, value_n: FloatArray) -> csr_array[Any]:
    """A sparse matrix, items x workers, of one value for each vote; repeated votes add up."""
    from scipy.sparse import csr_array

    shape = (len(votes.items), len(votes.workers))
    matrix_ij = csr_array((value_n, votes.worker_n, votes.offsets_i), shape=shape, copy=True)
    matrix_ij.sum_duplicates()
    return matrix_ij


def _fit_signs(
    name: str, votes: Votes, weight_i: FloatArray, strength_n: FloatArray, skill_j: FloatArray, **facts: Any
) -> Fit:
    """A fit from signed strengths of votes: probabilities are each class's share of them; 0 on both sides is a tie."""
    n_items = len(votes.items)
    towards_n = _signs(votes) * strength_n
    second_i = np.bincount(votes.item_n, weights=np.maximum(towards_n, 0), minlength=n_items)
    first_i = np.bincount(votes.item_n, weights=np.maximum(-towards_n, 0), minlength=n_items)
    posterior_ik = shares(np.stack([first_i, second_i], axis=1))
    prior_k = shares((weight_i * (votes.votes_i > 0)) @ posterior_ik)
    return fit_of(name, votes, posterior=posterior_ik, prior=prior_k, skill=skill_j, **facts)
