"""One confusion matrix for all workers: who voted does not matter, so the histogram of counts says everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from majorant.kernels import Block, Engine, MemoryEngine, gather
from majorant.methods.base import ConfusionModel, EmModel, params_of
from majorant.methods.em import Prepared, Progress, prepare, run_em, table_fit
from majorant.methods.fit import Fit
from majorant.methods.tables import count_totals
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedConfusion(ConfusionModel, EmModel):
    """All workers label by one confusion matrix, independently given the class; maximum a posteriori by EM.

    One pass finds the distinct count patterns; each EM step then costs as much as there are patterns, whatever the
    number of votes.  `smoothing` imaginary votes stand in each cell and in each class; 0 is maximum likelihood.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> SharedConfusion().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "shared"
    keeps_items: ClassVar[str] = "pattern"

    def prepare(self, votes: Votes, engine: Engine | None, weights: ArrayLike | None) -> Prepared:
        """The count patterns of the items, as votes of one worker that stands for all."""
        return count_patterns(prepare(votes, engine, weights, clamp_gold=self.clamp_gold, merge=False).engine)

    def fit_prepared(self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None) -> Fit:
        """The confusion matrix (K, K), prior and posterior."""
        begin = params_of(start, votes)
        if begin is not None:  # one for each worker: the mean of their matrices
            begin = begin._replace(confusion_jkl=begin.confusion_jkl.mean(axis=0, keepdims=True))
        solution = run_em(self, prepared, begin, progress)
        confusion_jkl, prior_k = solution.params
        return table_fit(self, votes, prepared, solution, confusion=confusion_jkl[0], prior=prior_k)


class PatternPart(NamedTuple):
    """The distinct rows of counts (and gold) of some items, how often each counts, and which row each item has."""

    row_pc: FloatArray
    weight_p: FloatArray
    pattern_i: IntArray


def count_patterns(engine: Engine) -> Prepared:
    """The count patterns of an engine's items, as items of a single worker who stands for all, in one pass."""
    _, n_workers, n_classes = engine.shape
    one_hot = np.tile(np.eye(n_classes), (n_workers, 1))

    def step(block: Block) -> PatternPart:
        count_ik = gather(block, one_hot)
        gold_i = np.full(len(count_ik), -1.0) if block.gold_i is None else block.gold_i
        weight_i = np.ones(len(count_ik)) if block.weight_i is None else block.weight_i
        return _distinct(np.column_stack([count_ik, gold_i]), weight_i)

    parts = list(engine.map_blocks(step))
    whole = _distinct(np.concatenate([p.row_pc for p in parts]), np.concatenate([p.weight_p for p in parts]))
    first = np.cumsum([0, *(len(p.row_pc) for p in parts)])
    pattern_i = np.concatenate([whole.pattern_i[at + p.pattern_i] for at, p in zip(first, parts, strict=False)])
    patterns = _one_worker(whole)
    return Prepared(patterns, count_totals(patterns), pattern_i.astype(np.int32))


def _distinct(row_ic: FloatArray, weight_i: FloatArray) -> PatternPart:
    """Equal rows found by a random number for each; the rows themselves are compared before it is believed."""
    random_c = np.random.default_rng(0x6D616A6F).integers(2**63, size=row_ic.shape[1], dtype=np.int64)
    with np.errstate(over="ignore"):
        key_i = row_ic.astype(np.int64) @ random_c
    _, first_p, pattern_i = np.unique(key_i, return_index=True, return_inverse=True)
    if not np.array_equal(row_ic, row_ic[first_p][pattern_i]):
        first_p = pattern_i = np.arange(len(row_ic))
    weight_p = np.bincount(pattern_i, weights=weight_i, minlength=len(first_p)).astype(float)
    return PatternPart(row_ic[first_p], weight_p, pattern_i)


def _one_worker(patterns: PatternPart) -> MemoryEngine:
    """The patterns as one block: the entries of its matrix are the counts themselves."""
    from scipy.sparse import csr_array

    n_patterns, n_classes = len(patterns.row_pc), patterns.row_pc.shape[1] - 1
    matrix = csr_array(patterns.row_pc[:, :n_classes])
    gold_p = patterns.row_pc[:, n_classes].astype(np.int32)
    known_p = gold_p if (gold_p >= 0).any() else None
    block = Block(0, 0, n_patterns, n_classes, matrix, matrix.T, patterns.weight_p, known_p)
    return MemoryEngine((n_patterns, 1, n_classes), (block,), 1)
