"""MAP with confusion matrices counted on gold items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.errors import ConfigError
from majorant.estimate.confusion import confusion_tables
from majorant.estimate.em import Prepared, prepare
from majorant.estimate.fit import Estimator, Fit, fit_of
from majorant.estimate.tables import ExpectedCounts, Tables, posterior
from majorant.estimate.weighted import item_rows
from majorant.kernels import Block, FloatArray, gather, scatter, shares, softmax_rows, weighted_sum
from majorant.theory.checks import safe_log
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
