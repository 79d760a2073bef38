"""One confusion matrix shared by all workers, so that label counts are sufficient statistics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Unpack

import numpy as np

from majorant.kernels import Block, MemoryEngine, gather
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.em import run_em, start_confusions
from majorant.methods.fit import Fit, FitOptions, Traits
from majorant.methods.tables import VoteData, count_totals, prepare, share_counts
from majorant.tally import Patterns
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedConfusion:
    """All workers share one confusion matrix, which needs several votes per item: an item's only vote may lose.

    Votes are independent given the class; fitted by EM.

    This is Dawid-Skene with a single worker who gives all votes, fitted to the distinct label counts, which are found
    in one pass; the cost of a step then does not depend on the number of votes.

    Parameters
    ----------
    smoothing
        Pseudo-votes in each cell of the matrix, and pseudo-items in each class; 0 is maximum likelihood.
    max_iter, tol, accelerate, clamp_gold
        As for `DawidSkene`.
    """

    name: ClassVar[str] = "shared"
    traits: ClassVar[Traits] = Traits(
        iterative=True, monotone=True, distributed=True, keeps_items="pattern", naive_bayes=True
    )

    smoothing: float = 0.01
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True
    clamp_gold: bool = False

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """The confusion matrix (K, K), prior and posterior; starts from the vote shares, or from an earlier fit."""
        data = count_patterns(prepare(votes, clamp_gold=self.clamp_gold, merge=False, **options))
        model = self._model()
        if data.start is None:
            begin = model.m_step(share_counts(data))
        else:  # one matrix per worker: take their mean
            begin = start_confusions(data.start, data.votes)
            begin = begin._replace(confusion_jkl=begin.confusion_jkl.mean(axis=0, keepdims=True))
        solution = run_em(model, data, begin)
        posterior_ik = data.posterior(model.tables(solution.params))
        confusion_jkl, prior_k = solution.params
        return data.fit_of(self, posterior=posterior_ik, confusion=confusion_jkl[0], prior=prior_k, **solution.steps)

    def fit_counts(self, patterns: Patterns) -> tuple[FloatArray, FloatArray]:
        """Fit the prior and the confusion matrix to label counts alone, wherever the votes are."""
        n_patterns, n_classes = patterns.counts_pk.shape
        rows = np.column_stack([patterns.counts_pk, np.full(n_patterns, -1)]).astype(float)
        engine = _one_worker(PatternPart(rows, patterns.items_p.astype(float), np.arange(n_patterns)))
        no_names = Votes.from_codes([], [], [], items=(), workers=("all",), labels=range(n_classes))
        model, data = self._model(), VoteData(no_names, engine, count_totals(engine))
        confusion_jkl, prior_k = run_em(model, data, model.m_step(share_counts(data))).params
        return prior_k, confusion_jkl[0]

    def _model(self) -> DawidSkene:
        return DawidSkene(
            smoothing=self.smoothing, min_rise=None, max_iter=self.max_iter, tol=self.tol, accelerate=self.accelerate
        )


class PatternPart(NamedTuple):
    """The distinct rows of label counts (and gold) of some items, their weights, and the row of each item."""

    row_pc: FloatArray
    weight_p: FloatArray
    pattern_i: IntArray


def count_patterns(data: VoteData) -> VoteData:
    """Find the distinct label counts in one pass; they become items on which one worker gave all votes."""
    _, n_workers, n_classes = data.engine.shape
    one_hot = np.tile(np.eye(n_classes), (n_workers, 1))

    def step(block: Block) -> PatternPart:
        count_ik = gather(block, one_hot)
        gold_i = np.full(len(count_ik), -1.0) if block.gold_i is None else block.gold_i
        weight_i = np.ones(len(count_ik)) if block.weight_i is None else block.weight_i
        return _find_distinct(np.column_stack([count_ik, gold_i]), weight_i)

    parts = list(data.engine.map_blocks(step))
    whole = _find_distinct(np.concatenate([p.row_pc for p in parts]), np.concatenate([p.weight_p for p in parts]))
    first = np.cumsum([0, *(len(p.row_pc) for p in parts)])
    pattern_i = np.concatenate([whole.pattern_i[at + p.pattern_i] for at, p in zip(first, parts, strict=False)])
    patterns = _one_worker(whole)
    return replace(data, engine=patterns, totals=count_totals(patterns), pattern_i=pattern_i.astype(np.int32))


def _find_distinct(row_ic: FloatArray, weight_i: FloatArray) -> PatternPart:
    """Find equal rows by a hash with a random number per column, and check by comparing the rows."""
    random_c = np.random.default_rng(0x6D616A6F).integers(2**63, size=row_ic.shape[1], dtype=np.int64)
    with np.errstate(over="ignore"):
        key_i = row_ic.astype(np.int64) @ random_c
    _, first_p, pattern_i = np.unique(key_i, return_index=True, return_inverse=True)
    if not np.array_equal(row_ic, row_ic[first_p][pattern_i]):
        first_p = pattern_i = np.arange(len(row_ic))
    weight_p = np.bincount(pattern_i, weights=weight_i, minlength=len(first_p)).astype(float)
    return PatternPart(row_ic[first_p], weight_p, pattern_i)


def _one_worker(patterns: PatternPart) -> MemoryEngine:
    """The patterns as one block, whose matrix entries are the counts."""
    from scipy.sparse import csr_array

    n_patterns, n_classes = len(patterns.row_pc), patterns.row_pc.shape[1] - 1
    matrix = csr_array(patterns.row_pc[:, :n_classes])
    gold_p = patterns.row_pc[:, n_classes].astype(np.int32)
    known_p = gold_p if (gold_p >= 0).any() else None
    block = Block(0, 0, n_patterns, n_classes, matrix, matrix.T, patterns.weight_p, known_p)
    return MemoryEngine((n_patterns, 1, n_classes), (block,), 1)
