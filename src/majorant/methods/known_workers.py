"""Rules for workers who are known: by given confusion matrices or accuracies, or by those counted on gold items.

Weighted majority vote is that of Nitzan and Paroush 1982.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.kernels import Block, Engine, gather, scatter, shares, softmax_rows, weighted_sum
from majorant.methods.base import class_prior, item_rows, map_fit
from majorant.methods.em import Prepared, prepare
from majorant.methods.fit import Estimator, Fit, fit_of
from majorant.methods.tables import ExpectedCounts, Tables, coin_confusions, confusion_tables, posterior
from majorant.theory.checks import as_confusion, as_panel, safe_log
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def prepare_gold(name: str, votes: Votes, engine: Engine | None, weights: ArrayLike | None) -> Prepared:
    """The votes on an engine whose blocks know the gold labels where they are made here."""
    if votes.gold_i is None or not (votes.gold_i >= 0).any():
        raise ConfigError(f"{name} learns from gold labels, and there are none: give a gold column or a gold file.")
    return prepare(votes, engine, weights, clamp_gold=True)


def block_gold(block: Block, votes: Votes) -> IntArray:
    """The gold label of each item of a block, -1 where unknown: the block's own, or that of its place in `votes`."""
    if block.gold_i is not None:
        return block.gold_i
    assert votes.gold_i is not None
    return votes.gold_i[block.items]


def without_gold(block: Block) -> Block:
    """The same block, whose items are judged by their votes alone."""
    return replace(block, gold_i=None)


def gold_counts(prepared: Prepared, votes: Votes) -> ExpectedCounts:
    """Votes of each worker on items of each gold class, (J, K, K), and the gold items of each class."""
    n_workers, n_classes = prepared.totals.n_workers, prepared.totals.n_labels

    def step(block: Block) -> tuple[FloatArray, FloatArray]:
        gold_i = block_gold(block, votes)
        known = np.flatnonzero(gold_i >= 0)
        class_ik = np.zeros((len(gold_i), n_classes))
        class_ik[known, gold_i[known]] = 1.0
        return scatter(block, class_ik), weighted_sum(block, class_ik)

    votes_ck, items_k = prepared.engine.map_sum(step)
    return ExpectedCounts(votes_ck.reshape(n_workers, n_classes, n_classes).transpose(0, 2, 1), items_k, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorMap(Estimator):
    """The most probable class under confusion matrices and prior counted on the gold items, vote by vote.

    One matrix `shared` by all workers, or one for each.  `smoothing` imaginary votes stand in each cell and imaginary
    items in each class.  Gold items are judged like the others, by their votes; with `leave_one_out` each of them by
    what the other gold items say, so that its accuracy is honest.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1, 2], [0, 1, 2] * 2 + [2], [1, 1, 0, 0, 0, 1, 1], items="abc",
    ...                          workers="xyz", labels=("no", "yes"), gold=[1, 0, -1])
    >>> AnchorMap(shared=True).fit(votes).labels(), AnchorMap(shared=False).fit(votes).labels()
    (['yes', 'no', 'yes'], ['yes', 'no', 'no'])
    """

    name: ClassVar[str] = "anchor-map"
    tables_per_worker: ClassVar[int] = 1
    distributed: ClassVar[bool] = True
    needs: ClassVar[str] = "gold"

    shared: bool = True
    smoothing: float = 0.1
    leave_one_out: bool = False

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """Confusion matrix or matrices, prior, and the posterior of all items."""
        prepared = prepare_gold(self.name, votes, engine, weights)
        counts = gold_counts(prepared, votes)
        if self.shared:
            counts = counts._replace(votes_jgl=counts.votes_jgl.sum(axis=0, keepdims=True))
        confusion_jkl = shares(counts.votes_jgl + self.smoothing)
        prior_k = shares(counts.items_g + self.smoothing)
        each_jkl = np.broadcast_to(confusion_jkl, (len(votes.workers), *confusion_jkl.shape[1:]))
        tables = confusion_tables(each_jkl, prior_k)

        def rows(block: Block) -> FloatArray:
            if not self.leave_one_out:
                return posterior(without_gold(block), tables)
            return self._without_own_gold(block, block_gold(block, votes), tables, counts)

        posterior_ik, _ = item_rows(prepared, rows)
        return fit_of(
            self.name,
            votes,
            posterior=posterior_ik,
            prior=prior_k,
            confusion=confusion_jkl[0] if self.shared else confusion_jkl,
        )

    def _without_own_gold(self, block: Block, gold_i: IntArray, tables: Tables, counts: ExpectedCounts) -> FloatArray:
        """The posterior where each gold item is left out of the counts by which it is judged.

        Leaving it out changes the row of its own class and that class's share alone, so one score of the item.
        """
        score_ik = gather(block, tables.log_vote_cg) + tables.log_prior_g
        known = np.flatnonzero(gold_i >= 0)
        class_r = gold_i[known]
        # An item that counts w times leaves w - 1 copies of itself behind.
        once_r = np.ones(len(known)) if block.weight_i is None else np.minimum(block.weight_i[known], 1.0)
        total = counts.items_g.sum() + self.smoothing * len(counts.items_g)
        prior_r = (np.maximum(counts.items_g[class_r] - once_r, 0.0) + self.smoothing) / total
        vote_r = self._left_out_votes(block.matrix[known], class_r, once_r, counts.votes_jgl)
        score_ik[known, class_r] = safe_log(prior_r) + vote_r
        return softmax_rows(score_ik)[0]

    def _left_out_votes(
        self, matrix_rc: csr_array[Any], class_r: IntArray, once_r: FloatArray, votes_jkl: FloatArray
    ) -> FloatArray:
        """For each gold item the log-probability of its votes under its own class, counted without it."""
        from scipy.sparse import csr_array

        n_workers, n_classes, _ = votes_jkl.shape
        entries = (matrix_rc.data, matrix_rc.indices % (n_workers * n_classes), matrix_rc.indptr)
        own = csr_array(entries, shape=(len(class_r), n_workers * n_classes), copy=True)
        own.sum_duplicates()  # sorted too: what one worker said on an item stands together
        own_e = own.tocoo()
        worker_e, label_e = np.divmod(own_e.col, n_classes)
        starts_e = np.ones(len(worker_e), dtype=bool)
        starts_e[1:] = (np.diff(worker_e) != 0) | (np.diff(own_e.row) != 0)
        group_e = np.cumsum(starts_e) - 1
        said_e = np.bincount(group_e, weights=own_e.data)[group_e] if len(group_e) else own_e.data
        class_e, once_e = class_r[own_e.row], once_r[own_e.row]
        cell_e = np.maximum(votes_jkl[worker_e, class_e, label_e] - own_e.data * once_e, 0.0) + self.smoothing
        row_e = np.maximum(votes_jkl.sum(axis=2)[worker_e, class_e] - said_e * once_e, 0.0)
        row_e += self.smoothing * n_classes
        share_e = np.divide(cell_e, row_e, out=np.full(len(cell_e), 1 / n_classes), where=row_e > 0)
        return np.bincount(own_e.row, weights=own_e.data * safe_log(share_e), minlength=len(class_r)).astype(float)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedMajority(Estimator):
    """Votes weigh log(p (C - 1) / (1 - p)) for a worker of accuracy p; wrong labels are equally likely.

    `accuracy` gives one p for each worker in the order of `votes.workers`; by default p is counted on the gold items
    and drawn to the crowd's accuracy there by `smoothing` imaginary votes, so that a worker without gold votes counts
    as an average one.  `prior` is uniform, given, or "gold" for the shares of the gold items.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 0, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> WeightedMajority(accuracy=[.95, .6, .6]).fit(votes).labels()
    ['yes']
    """

    name: ClassVar[str] = "weighted-majority"
    distributed: ClassVar[bool] = True
    needs: ClassVar[str] = "gold"

    accuracy: ArrayLike | None = None
    prior: ArrayLike | Literal["gold"] | None = None
    smoothing: float = 2.0

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """Accuracy of each worker as `skill`, and the posterior of each item."""
        _, n_workers, n_classes = votes.shape
        from_gold = self.accuracy is None or isinstance(self.prior, str)
        if from_gold:
            prepared = prepare_gold(self.name, votes, engine, weights)
        else:
            prepared = prepare(votes, engine, weights, clamp_gold=False)
        skill_j = self._counted(prepared, votes) if self.accuracy is None else _as_accuracy(self.accuracy, n_workers)
        prior_k = self._class_shares(prepared, votes)
        confusion_jkl = coin_confusions(skill_j, n_classes)
        tables = confusion_tables(confusion_jkl, prior_k)
        posterior_ik, _ = item_rows(prepared, lambda block: posterior(without_gold(block), tables))
        return fit_of(
            self.name,
            votes,
            posterior=posterior_ik,
            prior=prior_k,
            confusion=confusion_jkl,
            skill=skill_j,
        )

    def _counted(self, prepared: Prepared, votes: Votes) -> FloatArray:
        votes_jkl = gold_counts(prepared, votes).votes_jgl
        right_j, given_j = np.einsum("jkk->j", votes_jkl), votes_jkl.sum(axis=(1, 2))
        # One imaginary vote right and one wrong keep the crowd's accuracy off 0 and 1.
        crowd = (right_j.sum() + 1) / (given_j.sum() + 2)
        return np.asarray((right_j + self.smoothing * crowd) / (given_j + self.smoothing))

    def _class_shares(self, prepared: Prepared, votes: Votes) -> FloatArray:
        if not isinstance(self.prior, str):
            return class_prior(self.prior, votes)
        if self.prior != "gold":
            raise ConfigError(f"prior must be probabilities or 'gold', not {self.prior!r}.")
        return shares(gold_counts(prepared, votes).items_g + self.smoothing / len(votes.labels))


def _as_accuracy(accuracy: ArrayLike, n_workers: int) -> FloatArray:
    accuracy_j = np.array(accuracy, dtype=float)
    if accuracy_j.shape != (n_workers,):
        raise ConfigError(f"accuracy must have shape ({n_workers},), one for each worker, not {accuracy_j.shape}.")
    bad = np.flatnonzero(~((accuracy_j >= 0) & (accuracy_j <= 1)))
    if len(bad):
        raise ConfigError(f"accuracy[{bad[0]}] is {accuracy_j[bad[0]]:g}: an accuracy must lie in 0..1.")
    return accuracy_j


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GivenMap(Estimator):
    """The most probable class under given confusion matrices and prior; votes independent given the class.

    `confusion[k, l]` is P(label l | class k), shared by all workers, (K, K), or one matrix for each worker in the
    order of `votes.workers`, (J, K, K).  `prior` is uniform by default.  A probability of 0 means what it says; votes
    that no class could have produced leave the item tied.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> GivenMap(confusion=[[.8, .2], [.2, .8]], prior=[.9, .1]).fit(votes).labels()
    ['no']
    """

    name: ClassVar[str] = "map"
    distributed: ClassVar[bool] = True
    needs: ClassVar[str] = "confusion"

    confusion: ArrayLike | None = None  # without a default that would be right for anyone
    prior: ArrayLike | None = None

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """The posterior of each item; nothing is learned."""
        _, n_workers, n_classes = votes.shape
        prior_k = class_prior(self.prior, votes)
        confusion = self._matrices(n_workers, n_classes)
        prepared = prepare(votes, engine, weights, clamp_gold=False)
        return map_fit(self.name, votes, prepared, confusion, prior_k)

    def _matrices(self, n_workers: int, n_classes: int) -> FloatArray:
        if self.confusion is None:
            raise ConfigError(
                "map judges by confusion matrices that are known: give confusion. "
                "To learn them use dawid-skene, or anchor-map with gold labels."
            )
        if np.ndim(self.confusion) < 3:
            return as_confusion(self.confusion, n_classes)
        confusion_jkl = as_panel(self.confusion, n_classes)
        if len(confusion_jkl) != n_workers:
            raise ConfigError(f"confusion holds {len(confusion_jkl)} matrices, these votes have {n_workers} workers.")
        return confusion_jkl
