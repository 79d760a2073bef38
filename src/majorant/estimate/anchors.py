"""What gold items tell: votes by worker, true class and label, counted vote by vote."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.errors import ConfigError
from majorant.estimate.em import Prepared, prepare
from majorant.estimate.tables import ExpectedCounts
from majorant.kernels import Block, FloatArray, scatter, weighted_sum
from majorant.votes import IntArray, Votes


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
