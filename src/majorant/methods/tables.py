"""The pass over the votes for all models that score votes by a table: the E step, and the sums that an M step needs.

A table holds log P(label | class), with a row for each (worker, label) and a column for each latent class. Latent
classes are the user's classes, or subtypes of them (G = classes * subtypes, with a class's subtypes side by side).
With two latent classes, a pass works in log-odds: one column, one exponential per item, and one array that is modified
in place; the sums for the first class are the totals minus those for the second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError
from majorant.items import merge_equal_items
from majorant.kernels import (
    ITEMS_PER_BLOCK,
    Block,
    Engine,
    gather,
    in_memory,
    scatter,
    shares,
    softmax_rows,
    weighted_sum,
)
from majorant.methods.fit import Fit, FitOptions, Progress, fit_of
from majorant.read import as_votes
from majorant.values import TINY, FloatArray, safe_log
from majorant.votes import IntArray, Votes


class Totals(NamedTuple):
    """Sums that are the same in every pass: weighted votes by (worker, label), and weighted items."""

    votes_c: FloatArray
    items: float
    n_workers: int
    n_labels: int

    @property
    def votes_j(self) -> FloatArray:
        """How many votes each worker gave, weighted."""
        return np.asarray(self.votes_c.reshape(self.n_workers, self.n_labels).sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class VoteData:
    """Votes prepared for passes over them."""

    votes: Votes
    engine: Engine
    totals: Totals
    pattern_i: NDArray[np.int32] | None = None  # row of each item in the engine, if items with equal votes were merged
    start: Fit | None = None  # an earlier fit to continue from
    progress: Progress | None = None

    def posterior(self, tables: Tables) -> FloatArray:
        """The probability of each latent class for each item."""
        return self.rows(lambda block: posterior(block, tables))

    def rows(self, fn: Callable[[Block], FloatArray]) -> FloatArray:
        """The rows that `fn` returns for each block, for all items."""
        rows = self.engine.rows(fn)
        if self.pattern_i is None:
            return rows
        whole = self.votes.scratch.empty((len(self.pattern_i), *rows.shape[1:]), rows.dtype)
        return np.take(rows, self.pattern_i, axis=0, out=whole, mode="clip")  # the other modes make a copy

    def rows_and_prior(self, fn: Callable[[Block], FloatArray]) -> tuple[FloatArray, FloatArray]:
        """`rows`, and the mean row over items with votes, which is the share of each class."""

        def sum_voted(block: Block) -> FloatArray:
            voted_i = np.diff(block.matrix.indptr) > 0
            return weighted_sum(block, fn(block) * voted_i[:, None])

        return self.rows(fn), shares(self.engine.map_sum(sum_voted))

    def fit_of(self, model: Any, **facts: Any) -> Fit:
        """Make the Fit of a model to these votes."""
        return fit_of(model.name, self.votes, **facts)


def prepare(
    votes: Any,
    *,
    clamp_gold: bool = False,
    merge: bool = True,
    usual_items: int = ITEMS_PER_BLOCK,
    **options: Unpack[FitOptions],
) -> VoteData:
    """Prepare votes, or anything that `read` accepts, for passes; items with equal votes are merged if that pays."""
    engine, weights = options.get("engine"), options.get("weights")
    start, progress = options.get("start"), options.get("progress")
    if engine is not None:
        if weights is not None:
            raise ConfigError("weights are part of the engine: give them to in_memory(votes, weights=...).")
        _require_gold(votes, clamp_gold)
        return VoteData(votes, engine, count_totals(engine), start=start, progress=progress)
    votes = as_votes(votes)
    _require_gold(votes, clamp_gold)
    # With a few thousand items or fewer, a pass is faster than looking for equal items.
    merged = merge_equal_items(votes) if merge and len(votes.items) >= 4_096 else None
    distinct, pattern_i, weight_i = votes, None, weights
    if merged is not None:
        distinct, pattern_i, weight_i = merged.votes, merged.pattern_i, merged.weight_p
        if weights is not None:
            weight_i = np.bincount(pattern_i, weights=np.asarray(weights, dtype=float), minlength=len(merged.weight_p))
    engine = in_memory(distinct, weights=weight_i, clamp_gold=clamp_gold, usual_items=usual_items)
    return VoteData(votes, engine, count_totals(engine), pattern_i, start, progress)


def _require_gold(votes: Votes, clamp_gold: bool) -> None:
    if clamp_gold and votes.gold_i is None:
        raise ConfigError("clamp_gold needs gold labels: give a gold column or a gold file when reading.")


def count_totals(engine: Engine) -> Totals:
    """The totals of an engine's votes."""
    _, n_workers, n_labels = engine.shape

    def step(block: Block) -> tuple[FloatArray, FloatArray]:
        ones_i = np.ones(block.stop - block.start)
        return scatter(block, ones_i), weighted_sum(block, ones_i)

    votes_c, items = engine.map_sum(step)
    return Totals(votes_c, float(items), n_workers, n_labels)


class Tables(NamedTuple):
    """The input of an E step: log-probabilities of votes, (workers * labels, G), and of latent classes, (G,)."""

    log_vote_cg: FloatArray
    log_prior_g: FloatArray

    @property
    def odds(self) -> Odds | None:
        """The tables in log-odds, if there are two classes and no probability is 0 or 1."""
        if self.log_vote_cg.shape[1] != 2 or not all(np.isfinite(table).all() for table in self):
            return None
        first_c, second_c = self.log_vote_cg.T
        return Odds(first_c - second_c, float(self.log_prior_g[0] - self.log_prior_g[1]))


class Odds(NamedTuple):
    """For two classes: the log-odds against class 1 of each vote, by (worker, label), and of the prior."""

    vote_c: FloatArray
    prior: float


class ExpectedCounts(NamedTuple):
    """The results of an E step.

    Expected votes by worker, latent class and label; expected items by latent class; the log-evidence of all votes; and
    the tables they were computed with.
    """

    votes_jgl: FloatArray
    items_g: FloatArray
    evidence: float = 0.0
    tables: Tables | None = None


def expect(data: VoteData, tables: Tables) -> ExpectedCounts:
    """The E step of all table models: compute the posterior of each item under `tables`, and sum over items."""
    totals, odds = data.totals, tables.odds
    if odds is None:

        def sum_posterior(block: Block) -> PassSums:
            posterior_ig, evidence_i = _posterior(block, tables)
            evidence = float(weighted_sum(block, evidence_i))
            return PassSums(scatter(block, posterior_ig), weighted_sum(block, posterior_ig), evidence)

        sums = data.engine.map_sum(sum_posterior)
        return ExpectedCounts(by_worker(sums.votes_cg, totals.n_labels), sums.items_g, sums.evidence, tables)
    sums = data.engine.map_sum(lambda block: _sum_odds(block, odds))
    shape, items = (totals.n_workers, totals.n_labels), float(sums.items_g)
    votes_jgl = np.empty((totals.n_workers, 2, totals.n_labels))
    np.maximum((totals.votes_c - sums.votes_cg).reshape(shape), 0.0, out=votes_jgl[:, 0])
    votes_jgl[:, 1] = sums.votes_cg.reshape(shape)
    base = totals.votes_c @ tables.log_vote_cg[:, 1] + totals.items * tables.log_prior_g[1]
    return ExpectedCounts(votes_jgl, np.array([max(totals.items - items, 0.0), items]), sums.evidence + base, tables)


def share_counts(data: VoteData) -> ExpectedCounts:
    """Expected counts if an item's vote shares were its class probabilities, from which EM starts."""
    totals = data.totals

    def step(block: Block) -> PassSums:
        share_ik = vote_shares(block, totals)
        return PassSums(scatter(block, share_ik), weighted_sum(block, share_ik), 0.0)

    sums = data.engine.map_sum(step)
    return ExpectedCounts(by_worker(sums.votes_cg, totals.n_labels), sums.items_g)


def vote_shares(block: Block, totals: Totals) -> FloatArray:
    """The share of each label among an item's votes (uniform without votes), or 1 for a known class."""
    n_labels = totals.n_labels
    share_ik = shares(gather(block, np.tile(np.eye(n_labels), (totals.n_workers, 1))))
    if block.gold_i is not None:
        known = np.flatnonzero(block.gold_i >= 0)
        share_ik[known] = np.eye(n_labels)[block.gold_i[known]]
    return share_ik


def posterior(block: Block, tables: Tables) -> FloatArray:
    """The probability of each latent class for each item of a block, (items, G), or 1 for a known class."""
    if odds := tables.odds:
        second_i = _second(_inverse(_against(block, odds)), block.gold_i)
        return np.stack([1 - second_i, second_i], axis=1)
    return _posterior(block, tables)[0]


class PassSums(NamedTuple):
    """The sums of one pass; in log-odds, votes are those for class 1 and the evidence is relative to class 1."""

    votes_cg: FloatArray
    items_g: FloatArray
    evidence: float


def _posterior(block: Block, tables: Tables) -> tuple[FloatArray, FloatArray]:
    score_ig = gather(block, tables.log_vote_cg)
    score_ig += tables.log_prior_g
    if block.gold_i is not None:
        known = np.flatnonzero(block.gold_i >= 0)
        n_latent = score_ig.shape[1]
        class_g = np.arange(n_latent) // (n_latent // block.n_classes)
        score_ig[known] = np.where(class_g == block.gold_i[known, None], score_ig[known], -np.inf)
    if not (score_ig.min(initial=0.0) > -650 and score_ig.max(initial=0.0) < 650):
        return softmax_rows(score_ig)
    np.exp(score_ig, out=score_ig)  # within e^650 nothing overflows, so row maxima are not needed
    total_i = np.einsum("ig->i", score_ig)
    score_ig /= total_i[:, None]
    return score_ig, np.log(total_i, out=total_i)


def _sum_odds(block: Block, odds: Odds) -> PassSums:
    if block.gold_i is None and block.weight_i is None:
        inverse_i = _inverse(_against(block, odds))
        evidence = sum_logs(inverse_i)
        if np.isinf(evidence):
            evidence = float(np.logaddexp(0.0, _against(block, odds)).sum())
        second_i = _second(inverse_i, None)
        return PassSums(scatter(block, second_i), np.asarray(second_i.sum()), evidence)
    against_i = _against(block, odds)
    evidence_i = np.logaddexp(0.0, against_i)
    if block.gold_i is not None:
        evidence_i = np.where(block.gold_i < 0, evidence_i, np.where(block.gold_i == 1, 0.0, against_i))
    second_i = _second(_inverse(against_i), block.gold_i)
    return PassSums(scatter(block, second_i), weighted_sum(block, second_i), float(weighted_sum(block, evidence_i)))


def _against(block: Block, odds: Odds) -> FloatArray:
    """The log-odds of each item against class 1."""
    against_i = gather(block, odds.vote_c)
    against_i += odds.prior
    return against_i


def _inverse(against_i: FloatArray) -> FloatArray:
    """One over the probability of class 1, in place; infinite if it is below 1e-308."""
    with np.errstate(over="ignore"):
        np.exp(against_i, out=against_i)
    against_i += 1.0
    return against_i


def _second(inverse_i: FloatArray, gold_i: IntArray | None) -> FloatArray:
    """The probability of class 1 from its inverse, in place, or 1 or 0 for a known class."""
    second_i = np.divide(1.0, inverse_i, out=inverse_i)
    if gold_i is not None:
        known = gold_i >= 0
        second_i[known] = gold_i[known]
    return second_i


def sum_logs(value: FloatArray) -> float:
    """Sum logarithms, with one `log` per product of 32 numbers; all must be at least 1, or all at most 1.

    >>> round(sum_logs(np.full(100, np.e)), 9), round(sum_logs(np.full(100, 1e-300)) / float(np.log(1e-300)), 9)
    (100.0, 100.0)
    """
    value_n = value.ravel()
    whole = len(value_n) // 32 * 32
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        product_m = np.multiply.reduce(value_n[:whole].reshape(32, -1), axis=0)
        if not (product_m.min(initial=1.0) >= TINY and product_m.max(initial=1.0) < np.inf):
            return float(np.log(value_n).sum())
        return float(np.log(product_m).sum() + np.log(value_n[whole:]).sum())


def confusion_tables(confusion_jkl: FloatArray, prior_k: FloatArray) -> Tables:
    """The tables of confusion matrices and class probabilities."""
    return Tables(vote_rows(safe_log(confusion_jkl)), safe_log(prior_k))


def vote_rows(value_jgl: FloatArray) -> FloatArray:
    """Turn an array by worker, latent class and label into a table with a row per (worker, label)."""
    n_workers, n_latent, n_labels = value_jgl.shape
    return value_jgl.transpose(0, 2, 1).reshape(n_workers * n_labels, n_latent)


def by_worker(value_cg: FloatArray, n_labels: int) -> FloatArray:
    """Turn a table into an array by worker, latent class and label, the inverse of `vote_rows`."""
    return value_cg.reshape(-1, n_labels, value_cg.shape[1]).transpose(0, 2, 1)


def coin_confusions(accuracy_j: FloatArray, n_classes: int) -> FloatArray:
    """Confusion matrices, (J, K, K), of workers with accuracy_j and equally likely wrong labels."""
    if n_classes == 1:
        return np.ones((len(accuracy_j), 1, 1))
    wrong_j = (1 - accuracy_j) / (n_classes - 1)
    return wrong_j[:, None, None] + (accuracy_j - wrong_j)[:, None, None] * np.eye(n_classes)


def lean_to_diagonal(n_classes: int, right: float, wrong: float) -> FloatArray:
    """A (K, K) matrix of pseudo-votes: `right` on the diagonal, `wrong` elsewhere."""
    return np.where(np.eye(n_classes, dtype=bool), right, wrong)


def sum_last(value: FloatArray) -> FloatArray:
    """Sum along a short last axis by a product with ones, which is many times faster than `sum`."""
    flat = value if value.ndim == 1 else value.reshape(-1, value.shape[-1])
    return np.asarray(flat @ np.ones(value.shape[-1])).reshape(value.shape[:-1])


def sum_first(value: FloatArray) -> FloatArray:
    """Sum along the first axis by a product with ones."""
    return np.asarray(np.ones(len(value)) @ value.reshape(len(value), -1)).reshape(value.shape[1:])


def expected_log(alpha: FloatArray) -> FloatArray:
    """The expectation of log p for p drawn from Dirichlet(alpha).

    >>> expected_log(np.array([1.0, 1.0])).tolist()
    [-1.0, -1.0]
    """
    from scipy.special import digamma

    return np.asarray(digamma(alpha) - digamma(sum_last(alpha))[..., None])


def divergence(alpha: FloatArray, base: FloatArray, log_alpha: FloatArray | None = None) -> float:
    """The sum over rows of KL(Dirichlet(alpha) || Dirichlet(base)); `base` is broadcast to `alpha`.

    `log_alpha` is `expected_log(alpha)`, if that is already known.

    >>> round(divergence(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([1.0, 1.0])), 6)  # log 2 - 1/2, and nothing
    0.193147
    """
    from scipy.special import gammaln

    rows = gammaln(sum_last(alpha)) - sum_last(gammaln(alpha))
    rows = rows - (gammaln(sum_last(base)) - sum_last(gammaln(base)))
    log_alpha = expected_log(alpha) if log_alpha is None else log_alpha
    return float(rows.sum() + ((alpha - base) * log_alpha).sum())
