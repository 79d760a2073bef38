"""One pass over the votes for every model that scores a vote by a table: E step, and the sums its M step needs.

The table holds log P(label | class) for each (worker, label), a row each, and latent class, a column each.  Latent
classes are the user's classes, or finer ones (G = classes * subtypes, subtypes of one class side by side).  With two
of them the pass works in log-odds: one column, one exponential per item, and the sums of the first class follow by
subtraction from the totals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.blocks import Engine
from majorant.kernels import Block, FloatArray, gather, scatter, shares, softmax_rows, weighted_sum

LOG_CHUNK = 512  # a product of this many numbers between 1 and 2 cannot overflow


class Tables(NamedTuple):
    """What an E step needs to know: log-probabilities of votes, (workers * labels, G), and of the classes, (G,)."""

    log_vote_cg: FloatArray
    log_prior_g: FloatArray

    @property
    def as_odds(self) -> bool:
        """Whether the pass may work in log-odds: two classes, and no probability of 0 or 1."""
        return self.log_vote_cg.shape[1] == 2 and bool(
            np.isfinite(self.log_vote_cg).all() and np.isfinite(self.log_prior_g).all()
        )


class Sums(NamedTuple):
    """What one pass adds up; with log-odds the vote sums are those of class 1, the evidence is relative to class 0."""

    votes_cg: FloatArray
    items_g: FloatArray
    evidence: float


class Totals(NamedTuple):
    """What does not change from pass to pass: votes by (worker, label), and items, as often as they count."""

    votes_c: FloatArray
    items: float
    n_workers: int
    n_labels: int


class Counts(NamedTuple):
    """Expected votes by worker, class and label, expected items by class, and the log-evidence of all votes."""

    votes_jgl: FloatArray
    items_g: FloatArray
    evidence: float


def count_totals(engine: Engine) -> Totals:
    """The totals of an engine's votes."""
    _, n_workers, n_labels = engine.shape

    def step(block: Block) -> tuple[FloatArray, FloatArray]:
        ones_i = np.ones(block.stop - block.start)
        return scatter(block, ones_i), weighted_sum(block, ones_i)

    votes_c, items = engine.map_sum(step)
    return Totals(votes_c, float(items), n_workers, n_labels)


def expect(engine: Engine, tables: Tables, totals: Totals) -> Counts:
    """One E step over all blocks: the expected counts under `tables`, and the evidence for them."""
    sums = engine.map_sum(lambda block: _odds_step(block, tables) if tables.as_odds else _step(block, tables))
    if not tables.as_odds:
        return Counts(_by_worker(sums.votes_cg, totals), sums.items_g, sums.evidence)
    base = totals.votes_c @ tables.log_vote_cg[:, 0] + totals.items * tables.log_prior_g[0]
    return _with_first_class(sums, totals, sums.evidence + base)


def share_counts(engine: Engine, totals: Totals) -> Counts:
    """Expected counts where each item's vote shares stand for its class: where EM starts."""

    def step(block: Block) -> Sums:
        share_ik = vote_shares(block, totals)
        return Sums(scatter(block, share_ik), weighted_sum(block, share_ik), 0.0)

    sums = engine.map_sum(step)
    return Counts(_by_worker(sums.votes_cg, totals), sums.items_g, sums.evidence)


def vote_shares(block: Block, totals: Totals) -> FloatArray:
    """The share of each label among an item's votes (uniform where there are none); a known label is certain."""
    n_labels = totals.n_labels
    share_ik = shares(gather(block, np.tile(np.eye(n_labels), (totals.n_workers, 1))))
    if block.gold_i is not None:
        known = np.flatnonzero(block.gold_i >= 0)
        share_ik[known] = np.eye(n_labels)[block.gold_i[known]]
    return share_ik


def posterior(block: Block, tables: Tables) -> FloatArray:
    """The probability of each latent class for each item of a block, (items, G); a known class is certain."""
    if tables.as_odds:
        second_i, _ = _odds(block, tables)
        return np.stack([1 - second_i, second_i], axis=1)
    return _posterior(block, tables)[0]


def _step(block: Block, tables: Tables) -> Sums:
    posterior_ig, evidence_i = _posterior(block, tables)
    evidence = float(weighted_sum(block, evidence_i))
    return Sums(scatter(block, posterior_ig), weighted_sum(block, posterior_ig), evidence)


def _posterior(block: Block, tables: Tables) -> tuple[FloatArray, FloatArray]:
    score_ig = gather(block, tables.log_vote_cg)
    score_ig += tables.log_prior_g
    if block.gold_i is not None:
        known = np.flatnonzero(block.gold_i >= 0)
        n_latent = score_ig.shape[1]
        class_g = np.arange(n_latent) // (n_latent // block.n_classes)
        score_ig[known] = np.where(class_g == block.gold_i[known, None], score_ig[known], -np.inf)
    return softmax_rows(score_ig)


def _odds_step(block: Block, tables: Tables) -> Sums:
    second_i, evidence = _odds(block, tables)
    items = weighted_sum(block, second_i)
    return Sums(scatter(block, second_i), np.asarray(items), evidence)


def _odds(block: Block, tables: Tables) -> tuple[FloatArray, float]:
    """The probability of class 1 for each item, and the evidence of the block relative to class 0."""
    odds_i = gather(block, tables.log_vote_cg[:, 1] - tables.log_vote_cg[:, 0])
    odds_i += tables.log_prior_g[1] - tables.log_prior_g[0]
    small_i = np.exp(-np.abs(odds_i))
    total_i = 1.0 + small_i
    second_i = np.where(odds_i >= 0, 1.0, small_i)
    second_i /= total_i
    if block.gold_i is None and block.weight_i is None:
        return second_i, float(np.maximum(odds_i, 0).sum() + sum_of_logs(total_i))
    evidence_i = np.maximum(odds_i, 0) + np.log(total_i)
    if block.gold_i is not None:
        known = block.gold_i >= 0
        second_i[known] = block.gold_i[known]
        evidence_i[known] = np.where(block.gold_i[known] == 1, odds_i[known], 0.0)
    return second_i, float(weighted_sum(block, evidence_i))


def sum_of_logs(value_i: FloatArray) -> float:
    """The sum of the logarithms of numbers between 1 and 2, by one logarithm for each chunk's product."""
    whole = len(value_i) // LOG_CHUNK * LOG_CHUNK
    products = np.multiply.reduce(value_i[:whole].reshape(LOG_CHUNK, -1), axis=0)
    return float(np.log(products).sum() + np.log(np.multiply.reduce(value_i[whole:])))


def _by_worker(votes_cg: FloatArray, totals: Totals) -> FloatArray:
    """Sums by (worker, label) and class as an array (workers, classes, labels)."""
    return votes_cg.reshape(totals.n_workers, totals.n_labels, -1).transpose(0, 2, 1)


def _with_first_class(sums: Sums, totals: Totals, evidence: float) -> Counts:
    first_c = np.maximum(totals.votes_c - sums.votes_cg, 0.0)
    votes_cg = np.stack([first_c, sums.votes_cg], axis=1)
    items = float(sums.items_g)
    return Counts(_by_worker(votes_cg, totals), np.array([max(totals.items - items, 0.0), items]), evidence)
