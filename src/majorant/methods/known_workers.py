"""Methods for workers whose confusion matrices or accuracies are known, or measured on items with gold labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.arguments import validated
from majorant.errors import ConfigError
from majorant.kernels import Block, Engine, gather, scatter, shares, softmax_rows, weighted_sum
from majorant.methods.fit import Fit, Traits
from majorant.methods.tables import (
    ExpectedCounts,
    Tables,
    VoteData,
    coin_confusions,
    confusion_tables,
    posterior,
    prepare,
)
from majorant.read import as_votes
from majorant.theory.checks import as_confusion, as_panel, as_prior
from majorant.values import FloatArray, safe_log
from majorant.votes import IntArray, Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GivenMap:
    """The most probable class under known confusion matrices and prior; votes are independent given the class.

    A probability of 0 means impossible; an item with votes that no class could have produced is tied.

    Parameters
    ----------
    confusion
        P(label l | class k), shared by all workers, (K, K), or one matrix for each worker in the order of
        `votes.workers`, (J, K, K). Required.
    prior
        Probability of each class; uniform by default.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> GivenMap(confusion=[[.8, .2], [.2, .8]], prior=[.9, .1]).fit(votes).labels()
    ['no']
    """

    name: ClassVar[str] = "map"
    traits: ClassVar[Traits] = Traits(needs="confusion", distributed=True)

    confusion: ArrayLike | None = None
    prior: ArrayLike | None = None

    @validated
    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """Compute the posterior of each item; nothing is learned."""
        data = prepare(votes, engine=engine, weights=weights)
        _, n_workers, n_classes = data.votes.shape
        prior_k = _as_class_prior(self.prior, data.votes)
        confusion = self._as_matrices(n_workers, n_classes)
        each_jkl = np.broadcast_to(confusion, (n_workers, n_classes, n_classes))
        posterior_ik = data.posterior(confusion_tables(each_jkl, prior_k))
        return data.fit_of(self, posterior=posterior_ik, prior=prior_k, confusion=confusion)

    def _as_matrices(self, n_workers: int, n_classes: int) -> FloatArray:
        if self.confusion is None:
            raise ConfigError(
                "map needs known confusion matrices: give confusion. "
                "To learn them, use dawid-skene, or anchor-map with gold labels."
            )
        if np.ndim(self.confusion) < 3:
            return as_confusion(self.confusion, n_classes)
        confusion_jkl = as_panel(self.confusion, n_classes)
        if len(confusion_jkl) != n_workers:
            raise ConfigError(f"confusion has {len(confusion_jkl)} matrices, but these votes have {n_workers} workers.")
        return confusion_jkl


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorMap:
    """The most probable class under confusion matrices and a prior that are measured on items with gold labels.

    Items with gold labels get their label from their votes, like all others.

    Parameters
    ----------
    shared
        Whether all workers share one matrix instead of having one each.
    smoothing
        Pseudo-votes in each cell, and pseudo-items in each class.
    leave_one_out
        Whether to label each gold item by what the other gold items show, so that accuracy on gold is not inflated.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1, 2], [0, 1, 2] * 2 + [2], [1, 1, 0, 0, 0, 1, 1], items="abc",
    ...                          workers="xyz", labels=("no", "yes"), gold=[1, 0, -1])
    >>> AnchorMap(shared=True).fit(votes).labels(), AnchorMap(shared=False).fit(votes).labels()
    (['yes', 'no', 'yes'], ['yes', 'no', 'no'])
    """

    name: ClassVar[str] = "anchor-map"
    traits: ClassVar[Traits] = Traits(needs="gold", distributed=True, naive_bayes=True, tables_per_worker=1)

    shared: bool = True
    smoothing: float = 0.1
    leave_one_out: bool = False

    @validated
    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """Compute the confusion matrix or matrices, the prior, and the posterior of all items."""
        data = _prepare_gold(self.name, votes, engine, weights)
        counts = count_gold(data)
        if self.shared:
            counts = counts._replace(votes_jgl=counts.votes_jgl.sum(axis=0, keepdims=True))
        confusion_jkl = shares(counts.votes_jgl + self.smoothing)
        prior_k = shares(counts.items_g + self.smoothing)
        each_jkl = np.broadcast_to(confusion_jkl, (len(data.votes.workers), *confusion_jkl.shape[1:]))
        tables, all_gold_i = confusion_tables(each_jkl, prior_k), data.votes.gold_i

        def rows(block: Block) -> FloatArray:
            if not self.leave_one_out:
                return posterior(replace(block, gold_i=None), tables)
            return self._leave_own_gold_out(block, _block_gold(block, all_gold_i), tables, counts)

        confusion = confusion_jkl[0] if self.shared else confusion_jkl
        return data.fit_of(self, posterior=data.rows(rows), prior=prior_k, confusion=confusion)

    def _leave_own_gold_out(self, block: Block, gold_i: IntArray, tables: Tables, counts: ExpectedCounts) -> FloatArray:
        """The posterior with each gold item left out of the counts that label it.

        That changes only the row and the share of its own class, so only one of the item's scores.
        """
        score_ik = gather(block, tables.log_vote_cg) + tables.log_prior_g
        known = np.flatnonzero(gold_i >= 0)
        class_r = gold_i[known]
        # If an item counts w times, w - 1 copies of it remain.
        once_r = np.ones(len(known)) if block.weight_i is None else np.minimum(block.weight_i[known], 1.0)
        total = counts.items_g.sum() + self.smoothing * len(counts.items_g)
        prior_r = (np.maximum(counts.items_g[class_r] - once_r, 0.0) + self.smoothing) / total
        vote_r = self._left_out_votes(block.matrix[known], class_r, once_r, counts.votes_jgl)
        score_ik[known, class_r] = safe_log(prior_r) + vote_r
        return softmax_rows(score_ik)[0]

    def _left_out_votes(
        self, matrix_rc: csr_array[Any], class_r: IntArray, once_r: FloatArray, votes_jkl: FloatArray
    ) -> FloatArray:
        """The log-probability of each gold item's votes under its own class, with counts that leave it out."""
        from scipy.sparse import csr_array

        n_workers, n_classes, _ = votes_jkl.shape
        # If workers share a matrix, treat all votes as those of one worker.
        entries = (matrix_rc.data, matrix_rc.indices % (n_workers * n_classes), matrix_rc.indptr)
        own = csr_array(entries, shape=(len(class_r), n_workers * n_classes), copy=True)
        own.sum_duplicates()
        own_e = own.tocoo()
        worker_e, label_e = np.divmod(own_e.col, n_classes)
        _, pair_e = np.unique(own_e.row.astype(np.int64) * n_workers + worker_e, return_inverse=True)
        said_e = np.bincount(pair_e, weights=own_e.data)[pair_e]  # votes of the worker on the item
        class_e, once_e = class_r[own_e.row], once_r[own_e.row]
        cell_e = np.maximum(votes_jkl[worker_e, class_e, label_e] - own_e.data * once_e, 0.0) + self.smoothing
        row_e = np.maximum(votes_jkl.sum(axis=2)[worker_e, class_e] - said_e * once_e, 0.0)
        row_e += self.smoothing * n_classes
        share_e = np.divide(cell_e, row_e, out=np.full(len(cell_e), 1 / n_classes), where=row_e > 0)
        return np.bincount(own_e.row, weights=own_e.data * safe_log(share_e), minlength=len(class_r)).astype(float)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NitzanParoush:
    """Weight votes by log(p (K - 1) / (1 - p)) for a worker of accuracy p, which is optimal (Nitzan & Paroush 1982).

    Assumes that wrong labels are equally likely. By default, accuracies are measured on items with gold labels.

    Parameters
    ----------
    accuracy
        Accuracy of each worker, in the order of `votes.workers`.
    prior
        Probability of each class; uniform by default.
    smoothing
        Pseudo-votes that pull each measured accuracy towards the mean of all workers, so that a worker without votes
        on gold items counts as average.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 0, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> NitzanParoush(accuracy=[.95, .6, .6]).fit(votes).labels()
    ['yes']
    """

    name: ClassVar[str] = "nitzan-paroush"
    traits: ClassVar[Traits] = Traits(needs="gold", distributed=True, naive_bayes=True)

    accuracy: ArrayLike | None = None
    prior: ArrayLike | None = None
    smoothing: float = 2.0

    @validated
    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """Compute the accuracy of each worker as `skill`, and the posterior of each item."""
        if self.accuracy is None:
            data = _prepare_gold(self.name, votes, engine, weights)
        else:
            data = prepare(votes, engine=engine, weights=weights)
        _, n_workers, n_classes = data.votes.shape
        skill_j = self._count_skill(data) if self.accuracy is None else _as_accuracy(self.accuracy, n_workers)
        prior_k = _as_class_prior(self.prior, data.votes)
        confusion_jkl = coin_confusions(skill_j, n_classes)
        tables = confusion_tables(confusion_jkl, prior_k)
        posterior_ik = data.rows(lambda block: posterior(replace(block, gold_i=None), tables))
        return data.fit_of(self, posterior=posterior_ik, prior=prior_k, confusion=confusion_jkl, skill=skill_j)

    def _count_skill(self, data: VoteData) -> FloatArray:
        votes_jkl = count_gold(data).votes_jgl
        right_j, given_j = np.einsum("jkk->j", votes_jkl), votes_jkl.sum(axis=(1, 2))
        # A right and a wrong pseudo-vote keep the mean accuracy away from 0 and 1.
        crowd = (right_j.sum() + 1) / (given_j.sum() + 2)
        return np.asarray((right_j + self.smoothing * crowd) / (given_j + self.smoothing))


def _prepare_gold(name: str, votes: Any, engine: Engine | None, weights: ArrayLike | None) -> VoteData:
    """Prepare the votes, with gold labels in the blocks unless an engine is given."""
    votes = as_votes(votes) if engine is None else votes
    if votes.gold_i is None or not (votes.gold_i >= 0).any():
        raise ConfigError(f"{name} learns from gold labels, but there are none: give a gold column or a gold file.")
    return prepare(votes, engine=engine, weights=weights, clamp_gold=True)


def count_gold(data: VoteData) -> ExpectedCounts:
    """The votes of each worker on items of each gold class, (J, K, K), and the gold items of each class."""
    n_workers, n_classes, all_gold_i = data.totals.n_workers, data.totals.n_labels, data.votes.gold_i

    def step(block: Block) -> tuple[FloatArray, FloatArray]:
        gold_i = _block_gold(block, all_gold_i)
        known = np.flatnonzero(gold_i >= 0)
        class_ik = np.zeros((len(gold_i), n_classes))
        class_ik[known, gold_i[known]] = 1.0
        return scatter(block, class_ik), weighted_sum(block, class_ik)

    votes_ck, items_k = data.engine.map_sum(step)
    return ExpectedCounts(votes_ck.reshape(n_workers, n_classes, n_classes).transpose(0, 2, 1), items_k)


def _block_gold(block: Block, gold_i: IntArray | None) -> IntArray:
    """The gold label of each item in a block, -1 if unknown, from the block or else from those of all items."""
    if block.gold_i is not None:
        return block.gold_i
    assert gold_i is not None
    return gold_i[block.items]


def _as_class_prior(prior: ArrayLike | None, votes: Votes) -> FloatArray:
    """The class probabilities, checked against these votes; uniform if None."""
    n_classes = len(votes.labels)
    if prior is None:
        return np.full(n_classes, 1 / n_classes)
    prior_k = as_prior(prior)
    if len(prior_k) != n_classes:
        raise ConfigError(f"prior has {len(prior_k)} classes, but these votes have {n_classes}: {votes.labels!r}.")
    return prior_k


def _as_accuracy(accuracy: ArrayLike, n_workers: int) -> FloatArray:
    accuracy_j = np.array(accuracy, dtype=float)
    if accuracy_j.shape != (n_workers,):
        raise ConfigError(f"accuracy must have shape ({n_workers},), one for each worker, not {accuracy_j.shape}.")
    bad = np.flatnonzero(~((accuracy_j >= 0) & (accuracy_j <= 1)))
    if len(bad):
        raise ConfigError(f"accuracy[{bad[0]}] is {accuracy_j[bad[0]]:g}: an accuracy must be between 0 and 1.")
    return accuracy_j
