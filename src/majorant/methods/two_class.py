"""Methods for two classes that treat votes as signs, and use the agreement between workers.

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
from majorant.methods.em import require_steps
from majorant.methods.fit import Fit, Traits, fit_of
from majorant.methods.tables import coin_confusions, confusion_tables, posterior, prepare
from majorant.read import as_votes
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PARTNERS = 64  # co-workers considered for each worker, those with the most items in common
EQUAL = 1e-9  # numbers count as equal if their relative difference is smaller


@dataclass(frozen=True, slots=True, kw_only=True)
class KOS:
    """Items and workers exchange messages that leave out what the receiver itself said; two classes.

    An item tells a worker the weighted sum of the other workers' votes; a worker tells an item how well the worker's
    other votes agree. Messages start at 1 and are scaled to mean square 1 in each round. A sum of 0 is a tie, as for an
    item whose workers voted on nothing else. `skill` is a worker's mean message. Busy workers get more weight, so a few
    of them may dominate even if they are near chance.

    Parameters
    ----------
    max_iter, tol
        Stop after `max_iter` rounds, or when no message changes by more than `tol`.

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
        """Compute skills and, in place of probabilities, each class's share of the messages sent to an item."""
        votes, weight_i = _two_classes(self.name, votes, weights)
        weight_n = weight_i[votes.item_n]
        require_steps(self.max_iter)
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
    answer_n = sign_n * (sum_i[votes.item_n] - heard_n)  # leave out what the worker itself said
    sum_j = np.bincount(votes.worker_n, weights=weight_n * answer_n, minlength=n_workers)
    updated_n = sum_j[votes.worker_n] - np.minimum(weight_n, 1.0) * answer_n
    size = np.sqrt(np.mean(updated_n**2)) if len(updated_n) else 0.0
    return np.asarray(updated_n / size if size > 0 else updated_n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectral:
    """Skills from the leading eigenvector of the matrix of agreement between workers; two classes.

    Worker j is right with probability (1 + theta_j) / 2 in either class, so the mean product of two workers' signs
    is theta_a theta_b, up to noise. `skill` is theta, which weights the votes. The crowd is assumed to be better than
    chance overall; if the sign is undetermined, all items tie.
    """

    name: ClassVar[str] = "spectral"
    traits: ClassVar[Traits] = Traits(needs="overlap", classes=2)

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None) -> Fit:
        """Compute skills, and the posterior of each item."""
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
    """The leading eigenvector of a symmetric matrix, with the sign that makes its sum positive.

    `times` multiplies the matrix by vectors, (J,) or (J, n). The result is 0 if the entries sum to 0, because then the
    sign is undetermined.
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

    Worker j is right with probability (1 + theta_j) / 2 in either class. If C_ab is the mean product of two
    workers' signs, theta_j squared is C_ja C_jb / C_ab, estimated by the sum of the numerators over that of the
    denominators of all pairs (a, b). Signs are chosen such that the majority of co-workers is right overall. The
    labels come from a weighted majority vote with a uniform prior. `skill` is theta, or 0 for workers in no
    triangle.
    """

    name: ClassVar[str] = "triplet"
    traits: ClassVar[Traits] = Traits(needs="overlap", classes=2)

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None) -> Fit:
        """Compute theta for each worker, and the posterior; raises NotIdentified unless three workers overlap."""
        votes, weight_i = _two_classes(self.name, votes, weights)
        agreement = measure_agreement(self.name, votes, weight_i)
        side_j = skill_signs(agreement)
        size_j = skill_sizes(agreement, side_j)
        if np.isnan(size_j).all():
            raise NotIdentified(
                "triplet needs three workers who pairwise have items in common and agree more than by chance, "
                "but there are none. Use majority."
            )
        size_j = np.nan_to_num(size_j)
        data = prepare(votes, weights=weights)
        votes_j = data.totals.votes_c.reshape(-1, 2).sum(axis=1)
        bound_j = votes_j / (votes_j + 1)  # the fewer votes, the less certain
        theta_j = np.clip(size_j * side_j, -bound_j, bound_j)
        confusion_jkl = coin_confusions((1 + theta_j) / 2, 2)
        tables = confusion_tables(confusion_jkl, np.full(2, 0.5))
        posterior_ik, prior_k = data.rows_and_prior(lambda block: posterior(block, tables))
        return data.fit_of(self, posterior=posterior_ik, prior=prior_k, confusion=confusion_jkl, skill=theta_j)


def skill_sizes(agreement: PairAgreement, side_j: FloatArray) -> FloatArray:
    """|theta| of each worker, NaN for workers in no triangle: a ratio of sums over all pairs of partners.

    theta_j^2 is the sum of C_jp C_jq over the sum of C_pq, where every C is turned by the signs of its two workers. Any
    single pair would do if agreements were exact; choosing the pair with the largest C_pq would make theta_j too small.
    """
    from scipy.sparse import csr_array

    mean_ab, items_ab, items_j = agreement
    # Both matrices have entries in the same positions, so slicing a matrix of positions slices both.
    place_e = np.arange(1, len(mean_ab.data) + 1)
    place_ab = csr_array((place_e, mean_ab.indices, mean_ab.indptr), shape=mean_ab.shape)
    row_e = np.repeat(np.arange(mean_ab.shape[0]), np.diff(mean_ab.indptr))
    turned_e = np.append(0.0, mean_ab.data * side_j[row_e] * side_j[mean_ab.indices])
    common_e = np.append(0.0, items_ab.data)
    size_j = np.full(mean_ab.shape[0], np.nan)
    for j, (first, last) in enumerate(pairwise(mean_ab.indptr)):
        partner = mean_ab.indices[first:last]
        own = _choose_partners(items_ab.data[first:last], items_j[partner], mean_ab.data[first:last])
        own_p, worker_p = 1 + first + own, partner[own]
        place_pq = place_ab[worker_p][:, worker_p].toarray()  # 0 if two workers have no item in common
        items_p = common_e[own_p]
        weight_pq = np.minimum(common_e[place_pq], np.minimum.outer(items_p, items_p))
        among = float((weight_pq * turned_e[place_pq]).sum())
        if among > EQUAL * float(weight_pq.sum()):
            square = float((weight_pq * np.outer(turned_e[own_p], turned_e[own_p])).sum()) / among
            size_j[j] = np.sqrt(np.clip(square, 0.0, 1.0))
    return size_j


def skill_signs(agreement: PairAgreement) -> FloatArray:
    """+1 for workers who agree with the majority of their co-workers, -1 for those against it, 0 if unknown.

    Every worker starts with +1; each round, the sign becomes that of the worker's agreement with the others, until
    nothing changes. Groups of workers without a common item converge separately.
    """
    pull_ab = agreement.mean_ab * agreement.items_ab.sqrt()
    side_j = np.ones(pull_ab.shape[0])
    for _ in range(50):
        force_j, most_j = pull_ab @ side_j, abs(pull_ab) @ np.abs(side_j)
        side_j = (side_j + np.divide(force_j, most_j, out=np.zeros_like(force_j), where=most_j > 0)) / 2
    return np.where(np.abs(side_j) > EQUAL, np.sign(side_j), 0.0)


class PairAgreement(NamedTuple):
    """The mean product of two workers' signs over their common items, and the number of these; no diagonal."""

    mean_ab: csr_array[Any]
    items_ab: csr_array[Any]
    items_j: FloatArray  # of each worker


def measure_agreement(name: str, votes: Votes, weight_i: FloatArray, *, workers_at_once: int = 256) -> PairAgreement:
    """How often each pair of workers agrees on common items; raises NotIdentified if no pair has any.

    A worker who votes several times on an item counts with the mean sign. For each worker, the PARTNERS co-workers with
    the most common items are kept; if equal, the busier ones, and then those who agree more.
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
        # Sums of 0 would be dropped from a sparse matrix, so 2 is added to each mean until both matrices are aligned.
        items_ab = csr_array(weighted_ji[1][rows] @ voted_ij)
        raised_ab = csr_array(weighted_ji[0][rows] @ sign_ij + 2 * items_ab)
        parts.append(_keep_partners(items_ab, raised_ab, items_j, start))
    items_ab, raised_ab = vstack([part[0] for part in parts]), vstack([part[1] for part in parts])
    items_ab, raised_ab = csr_array(items_ab.maximum(items_ab.T)), csr_array(raised_ab.maximum(raised_ab.T))
    if not items_ab.nnz:
        raise NotIdentified(f"{name} compares workers on common items, but no two workers have one: use majority.")
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
        matrix.sort_indices()  # both have the same entries, now in the same order
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
    """The positions of the PARTNERS largest entries, with all that tie with the last, so that order is irrelevant."""
    if len(common_p) <= PARTNERS:
        return np.arange(len(common_p))
    first = np.lexsort((-agreement_p, -items_p, -common_p))[:PARTNERS]
    last = first[-1]
    equal_p = (common_p == common_p[last]) & (items_p == items_p[last]) & (agreement_p == agreement_p[last])
    return np.union1d(first, np.flatnonzero(equal_p))


def _two_classes(name: str, votes: Any, weights: ArrayLike | None) -> tuple[Votes, FloatArray]:
    """The votes, which must have two classes, and the weight of each item."""
    votes = as_votes(votes)
    if len(votes.labels) != 2:
        raise ConfigError(
            f"{name} is for two classes, but these votes have {len(votes.labels)}: use dawid-skene or one-coin."
        )
    n_items = len(votes.items)
    return votes, np.ones(n_items) if weights is None else as_weights(weights, n_items)


def _signs(votes: Votes) -> FloatArray:
    """-1 for a vote for the first label, +1 for the second."""
    return np.where(votes.label_n == 1, 1.0, -1.0)


def _item_worker(votes: Votes, value_n: FloatArray) -> csr_array[Any]:
    """A sparse matrix, items x workers, with one value per vote; those of repeated votes are added."""
    from scipy.sparse import csr_array

    shape = (len(votes.items), len(votes.workers))
    matrix_ij = csr_array((value_n, votes.worker_n, votes.offsets_i), shape=shape, copy=True)
    matrix_ij.sum_duplicates()
    return matrix_ij


def _fit_signs(
    name: str, votes: Votes, weight_i: FloatArray, strength_n: FloatArray, skill_j: FloatArray, **facts: Any
) -> Fit:
    """Make a Fit from signed vote strengths: each class's share of them; 0 on both sides is a tie."""
    n_items = len(votes.items)
    towards_n = _signs(votes) * strength_n
    second_i = np.bincount(votes.item_n, weights=np.maximum(towards_n, 0), minlength=n_items)
    first_i = np.bincount(votes.item_n, weights=np.maximum(-towards_n, 0), minlength=n_items)
    posterior_ik = shares(np.stack([first_i, second_i], axis=1))
    prior_k = shares((weight_i * (votes.votes_i > 0)) @ posterior_ik)
    return fit_of(name, votes, posterior=posterior_ik, prior=prior_k, skill=skill_j, **facts)
