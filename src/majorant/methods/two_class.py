"""Methods for two classes, by signs of votes and agreement between workers: messages (KOS), spectral, triplet.

Karger, Oh and Shah 2014; Ghosh et al. 2011 and Dalvi et al. 2013; Bonald and Combes 2017.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError, NotIdentified
from majorant.kernels import shares
from majorant.methods.base import class_shares, item_rows, item_weights
from majorant.methods.em import prepare
from majorant.methods.fit import Estimator, Fit, fit_of
from majorant.methods.tables import coin_confusions, confusion_tables, posterior
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WORKERS_PER_CHUNK = 256
PARTNERS = 64  # co-workers kept for each worker, those with the most items in common
DENSE_UP_TO = 64  # workers
NO_SIDE = 1e-9  # a vector of length 1 whose entries sum to less has no direction
EVEN = 1e-9  # two pairs whose informativeness differs by a smaller share are equally good
SIGN_ROUNDS = 50
DENSE_PARTNERS = 2_048  # partners whose agreements are held as a dense matrix


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


@dataclass(frozen=True, slots=True, kw_only=True)
class KOS(Estimator):
    """Item and worker send each other messages, each made of all that they heard from others, for two classes.

    An item tells a worker how the other workers' votes sum up; a worker tells an item how far his other votes agree.
    Messages start at 1 and are brought to mean square 1 each round.  A sum of 0 is a tie, as for
    an item whose workers voted on nothing else.  `skill` is the mean message of a worker; messages weigh busy workers
    more, so that a few busy ones near chance may decide.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3, [1, 1, 0, 0, 0, 0, 1, 1, 1], items="abc",
    ...                          workers="xyz", labels=("no", "yes"))
    >>> KOS().fit(votes).labels()
    ['yes', 'no', 'yes']
    """

    name: ClassVar[str] = "kos"
    classes: ClassVar[int | None] = 2

    max_iter: int = 100
    tol: float = 1e-6

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None) -> Fit:
        """Scores as probabilities: each class's share of the messages that an item's workers send it."""
        require_two_classes(self.name, votes)
        weight_n = item_weights(weights, len(votes.items))[votes.item_n]
        message_n = np.ones(votes.n_votes)
        converged, n_iter = False, 0
        while not converged and n_iter < self.max_iter:
            updated_n = _normalised(_round(votes, message_n, weight_n))
            converged = bool(np.abs(updated_n - message_n).max(initial=0.0) <= self.tol)
            message_n, n_iter = updated_n, n_iter + 1
        posterior_ik = sign_shares(votes, message_n)
        n_workers = len(votes.workers)
        votes_j = np.bincount(votes.worker_n, minlength=n_workers)
        sent_j = np.bincount(votes.worker_n, weights=message_n, minlength=n_workers)
        return fit_of(
            self.name,
            votes,
            posterior=posterior_ik,
            prior=class_shares(posterior_ik, votes, weights),
            skill=sent_j / np.maximum(votes_j, 1),
            converged=converged,
            n_iter=n_iter,
        )


def _round(votes: Votes, message_n: FloatArray, weight_n: FloatArray) -> FloatArray:
    """The workers' next messages to items, one for each vote."""
    n_items, n_workers, _ = votes.shape
    sign_n = signs(votes)
    heard_n = sign_n * message_n
    sum_i = np.bincount(votes.item_n, weights=heard_n, minlength=n_items)
    told_n = sign_n * (sum_i[votes.item_n] - heard_n)  # what an item tells a worker leaves out what he told it
    sum_j = np.bincount(votes.worker_n, weights=weight_n * told_n, minlength=n_workers)
    return sum_j[votes.worker_n] - np.minimum(weight_n, 1.0) * told_n


def _normalised(message_n: FloatArray) -> FloatArray:
    size = np.sqrt(np.mean(message_n**2)) if len(message_n) else 0.0
    return message_n / size if size > 0 else message_n


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectral(Estimator):
    """Skill from one eigenvector, for two classes, on sparse matrices alone.

    Worker j is right with probability (1 + theta_j) / 2 whatever the class, so that the matrix of signs, items x
    workers, is the truth times theta, and the mean product of two workers' signs is theta_a theta_b, but for noise.
    `variant="dalvi"` takes the leading eigenvector of the latter, scaled to fit: `skill` is theta.  `"ghosh"` takes the
    leading right singular vector of the former, which also grows with a worker's number of votes.  Votes weigh the
    entries; the crowd as a whole is taken to be right more often than wrong, and where that cannot be told all ties.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> Spectral().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "spectral"
    classes: ClassVar[int | None] = 2
    needs: ClassVar[str] = "overlap"

    variant: Literal["ghosh", "dalvi"] = "dalvi"

    def __post_init__(self) -> None:
        if self.variant not in ("ghosh", "dalvi"):
            raise ConfigError(f"variant must be ghosh or dalvi, not {self.variant!r}.")

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None) -> Fit:
        """Skills, and the posterior of each item."""
        require_two_classes(self.name, votes)
        weight_i = item_weights(weights, len(votes.items))
        if self.variant == "dalvi":
            skill_j = agreement_skill(agreement(self.name, votes, weight_i))
        else:
            skill_j = singular_skill(votes, weight_i)
        posterior_ik = sign_shares(votes, skill_j[votes.worker_n])
        return fit_of(
            self.name,
            votes,
            posterior=posterior_ik,
            prior=class_shares(posterior_ik, votes, weights),
            skill=skill_j,
        )


def agreement_skill(agreement_ab: PairAgreement) -> FloatArray:
    """theta whose products theta_a theta_b fit the agreements, along their leading eigenvector."""
    vector_j = leading_vector(lambda value: agreement_ab.mean_ab @ value, agreement_ab.mean_ab.shape[0])
    pairs = agreement_ab.mean_ab.tocoo()
    product_e = vector_j[pairs.row] * vector_j[pairs.col]
    size = float(product_e @ product_e)
    fitted = max(float(product_e @ pairs.data) / size, 0.0) if size > 0 else 0.0
    return np.asarray(vector_j * np.sqrt(fitted))


def singular_skill(votes: Votes, weight_i: FloatArray) -> FloatArray:
    """The leading right singular vector of the matrix of signs, of length 1."""
    sign_ij = item_worker(votes, signs(votes))

    def square(value: FloatArray) -> FloatArray:
        return np.asarray(sign_ij.T @ (weight_i.reshape(-1, *[1] * (value.ndim - 1)) * (sign_ij @ value)))

    return leading_vector(square, len(votes.workers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Triplet(Estimator):
    """Two workers agree as often as their skills allow, so three pairs of agreements give three skills.

    Two classes; worker j is right with probability (1 + theta_j) / 2 whatever the class.  With C_ab the mean product of
    two workers' signs, theta_j squared is C_ja C_jb / C_ab; of the pairs (a, b) the one with the largest
    |C_ab| * sqrt(fewest common items) is taken, which is the largest |C_ab| where all voted on all items; equally good
    pairs are averaged.  Signs are such that informative workers are right on the whole.  Then weighted majority with an
    even prior.  `skill` is theta; a worker whom no triangle reaches has 0, and his votes do not count.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 1, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> Triplet().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "triplet"
    classes: ClassVar[int | None] = 2
    needs: ClassVar[str] = "overlap"

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None) -> Fit:
        """theta of each worker, and the posterior of each item; NotIdentified without three workers who overlap."""
        require_two_classes(self.name, votes)
        agreement_ab = agreement(self.name, votes, item_weights(weights, len(votes.items)))
        size_j = sizes(agreement_ab)
        if np.isnan(size_j).all():
            raise NotIdentified(
                "triplet compares three workers who share items two by two and do not agree merely by chance, "
                "and there are none: use majority."
            )
        size_j = np.nan_to_num(size_j)
        return theta_fit(self.name, votes, weights, size_j * directions(agreement_ab, size_j))


def sizes(agreement_ab: PairAgreement) -> FloatArray:
    """|theta| of each worker, NaN where no triangle reaches him."""
    mean_ab, items_ab = agreement_ab
    size_j = np.full(mean_ab.shape[0], np.nan)
    own_j = [a + most(items_ab.data[a:b]) for a, b in pairwise(mean_ab.indptr)]
    look_up = _between(agreement_ab, np.unique(mean_ab.indices[np.concatenate(own_j)]))
    for j, own in enumerate(own_j):
        mean_p, items_p = mean_ab.data[own], items_ab.data[own]
        among_pq, common_pq = look_up(mean_ab.indices[own])
        among_pq = np.abs(among_pq)
        worth_pq = among_pq * np.sqrt(np.minimum(common_pq, np.minimum.outer(items_p, items_p)))
        best = worth_pq.max(initial=0.0)
        if best > 0:
            row, column = np.nonzero(worth_pq >= best * (1 - EVEN))
            square = np.abs(mean_p[row] * mean_p[column]) / among_pq[row, column]
            size_j[j] = min(np.sqrt(square.mean()), 1.0)
    return size_j


def _between(agreement_ab: PairAgreement, worker_u: IntArray) -> Callable[[IntArray], tuple[FloatArray, FloatArray]]:
    """A function from workers among `worker_u` to their agreements with each other and their common items."""

    def slice_out(worker_p: IntArray) -> tuple[FloatArray, FloatArray]:
        return agreement_ab.mean_ab[worker_p][:, worker_p].toarray(), agreement_ab.items_ab[worker_p][
            :, worker_p
        ].toarray()

    if len(worker_u) > DENSE_PARTNERS:
        return slice_out
    mean_uu, items_uu = slice_out(worker_u)
    place_j = np.zeros(agreement_ab.mean_ab.shape[0], dtype=np.int64)
    place_j[worker_u] = np.arange(len(worker_u))

    def look_up(worker_p: IntArray) -> tuple[FloatArray, FloatArray]:
        both = np.ix_(place_j[worker_p], place_j[worker_p])
        return mean_uu[both], items_uu[both]

    return look_up


def directions(agreement_ab: PairAgreement, size_j: FloatArray) -> FloatArray:
    """+1 for workers who side with the informative majority, -1 for those against it, 0 where that cannot be told.

    Every worker starts on the side of truth and moves, round by round, to where his agreement with the others puts
    him; parts of the crowd without a common item settle apart.
    """
    pull_ab = agreement_ab.mean_ab * agreement_ab.items_ab.sqrt()
    side_j = size_j.copy()
    for _ in range(SIGN_ROUNDS):
        force_j, most_j = pull_ab @ side_j, abs(pull_ab) @ np.abs(side_j)
        side_j = (side_j + size_j * np.divide(force_j, most_j, out=np.zeros_like(force_j), where=most_j > 0)) / 2
    return np.where(np.abs(side_j) > EVEN, np.sign(side_j), 0.0)
