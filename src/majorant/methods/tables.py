"""One pass over the votes for every model that scores a vote by a table: E step, and the sums its M step needs.

The table holds log P(label | class) for each (worker, label), a row each, and latent class, a column each.  Latent
classes are the user's classes, or finer ones (G = classes * subtypes, subtypes of one class side by side).  With two
of them the pass works in log-odds: one column, one exponential per item, one array in which all happens, and the sums
of the first class follow by subtraction from the totals.  What confusion matrices, or Dirichlet distributions of them,
say in such tables stands at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.kernels import Block, Engine, gather, scatter, shares, softmax_rows, weighted_sum
from majorant.theory.checks import safe_log
from majorant.values import TINY, FloatArray
from majorant.votes import IntArray

SAFE_EXPONENT = 650.0  # nats: exp of as much, and of minus as much, has all its digits, and so have sums of them
LOG_CHUNK = 32  # a product of this many numbers seldom overflows: their logarithms would have to be 22 in the mean


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


class Odds(NamedTuple):
    """Two classes: how much each vote, by (worker, label), and the prior speak against class 1, in nats."""

    vote_c: FloatArray
    prior: float


class PassSums(NamedTuple):
    """What one pass adds up; with log-odds the vote sums are those of class 1, the evidence is relative to class 1."""

    votes_cg: FloatArray
    items_g: FloatArray
    evidence: float


class Totals(NamedTuple):
    """What does not change from pass to pass: votes by (worker, label), and items, as often as they count."""

    votes_c: FloatArray
    items: float
    n_workers: int
    n_labels: int


class ExpectedCounts(NamedTuple):
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


def expect(engine: Engine, tables: Tables, totals: Totals) -> ExpectedCounts:
    """One E step over all blocks: the expected counts under `tables`, and the evidence for them."""
    if not tables.as_odds:
        sums = engine.map_sum(lambda block: _step(block, tables))
        return ExpectedCounts(by_worker(sums.votes_cg, totals.n_labels), sums.items_g, sums.evidence)
    odds = _odds(tables)
    sums = engine.map_sum(lambda block: _odds_step(block, odds))
    base = totals.votes_c @ tables.log_vote_cg[:, 1] + totals.items * tables.log_prior_g[1]
    return _with_first_class(sums, totals, sums.evidence + base)


def share_counts(engine: Engine, totals: Totals) -> ExpectedCounts:
    """Expected counts where each item's vote shares stand for its class: where EM starts."""

    def step(block: Block) -> PassSums:
        share_ik = vote_shares(block, totals)
        return PassSums(scatter(block, share_ik), weighted_sum(block, share_ik), 0.0)

    sums = engine.map_sum(step)
    return ExpectedCounts(by_worker(sums.votes_cg, totals.n_labels), sums.items_g, sums.evidence)


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
        second_i = _second(_inverse(_against(block, _odds(tables))), block.gold_i)
        return np.stack([1 - second_i, second_i], axis=1)
    return _posterior(block, tables)[0]


def _step(block: Block, tables: Tables) -> PassSums:
    posterior_ig, evidence_i = _posterior(block, tables)
    evidence = float(weighted_sum(block, evidence_i))
    return PassSums(scatter(block, posterior_ig), weighted_sum(block, posterior_ig), evidence)


def _posterior(block: Block, tables: Tables) -> tuple[FloatArray, FloatArray]:
    score_ig = gather(block, tables.log_vote_cg)
    score_ig += tables.log_prior_g
    if block.gold_i is not None:
        known = np.flatnonzero(block.gold_i >= 0)
        n_latent = score_ig.shape[1]
        class_g = np.arange(n_latent) // (n_latent // block.n_classes)
        score_ig[known] = np.where(class_g == block.gold_i[known, None], score_ig[known], -np.inf)
    if not (score_ig.min(initial=0.0) > -SAFE_EXPONENT and score_ig.max(initial=0.0) < SAFE_EXPONENT):
        return softmax_rows(score_ig)
    np.exp(score_ig, out=score_ig)  # no row's maximum is needed: nothing overflows, and no total vanishes
    total_i = np.einsum("ig->i", score_ig)
    score_ig /= total_i[:, None]
    return score_ig, np.log(total_i, out=total_i)


def _odds(tables: Tables) -> Odds:
    first_c, second_c = tables.log_vote_cg.T
    return Odds(first_c - second_c, float(tables.log_prior_g[0] - tables.log_prior_g[1]))


def _odds_step(block: Block, odds: Odds) -> PassSums:
    if block.gold_i is None and block.weight_i is None:
        inverse_i = _inverse(_against(block, odds))
        evidence = sum_of_logs(inverse_i)
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
    """One over the probability of class 1, in place; infinite where that is below 1e-308."""
    with np.errstate(over="ignore"):
        np.exp(against_i, out=against_i)
    against_i += 1.0
    return against_i


def _second(inverse_i: FloatArray, gold_i: IntArray | None) -> FloatArray:
    """The probability of class 1 from one over it, in place; a known class is certain."""
    second_i = np.divide(1.0, inverse_i, out=inverse_i)
    if gold_i is not None:
        known = gold_i >= 0
        second_i[known] = gold_i[known]
    return second_i


def sum_of_logs(value: FloatArray) -> float:
    """The sum of logarithms, by one for each chunk's product; for numbers all of at least 1, or all between 0 and 1.

    >>> round(sum_of_logs(np.full(100, np.e)), 9), round(sum_of_logs(np.full(100, 1e-300)) / float(np.log(1e-300)), 9)
    (100.0, 100.0)
    """
    value_n = value.ravel()
    whole = len(value_n) // LOG_CHUNK * LOG_CHUNK
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        product_m = np.multiply.reduce(value_n[:whole].reshape(LOG_CHUNK, -1), axis=0)
        if not (product_m.min(initial=1.0) >= TINY and product_m.max(initial=1.0) < np.inf):
            return float(np.log(value_n).sum())
        return float(np.log(product_m).sum() + np.log(value_n[whole:]).sum())


def by_worker(value_cg: FloatArray, n_labels: int) -> FloatArray:
    """An array by (worker, label) and class as one by worker, class and label."""
    return value_cg.reshape(-1, n_labels, value_cg.shape[1]).transpose(0, 2, 1)


def _with_first_class(sums: PassSums, totals: Totals, evidence: float) -> ExpectedCounts:
    votes_jgl = np.empty((totals.n_workers, 2, totals.n_labels))
    shape = (totals.n_workers, totals.n_labels)
    np.maximum((totals.votes_c - sums.votes_cg).reshape(shape), 0.0, out=votes_jgl[:, 0])
    votes_jgl[:, 1] = sums.votes_cg.reshape(shape)
    items = float(sums.items_g)
    return ExpectedCounts(votes_jgl, np.array([max(totals.items - items, 0.0), items]), evidence)


def confusion_tables(confusion_jkl: FloatArray, prior_k: FloatArray) -> Tables:
    """Log-probabilities of each vote under each class, and of the classes."""
    return Tables(vote_rows(safe_log(confusion_jkl)), safe_log(prior_k))


def vote_rows(value_jgl: FloatArray) -> FloatArray:
    """An array by worker, latent class and label as a table: a row for each (worker, label), a column a class."""
    n_workers, n_latent, n_labels = value_jgl.shape
    return value_jgl.transpose(0, 2, 1).reshape(n_workers * n_labels, n_latent)


def coin_confusions(accuracy_j: FloatArray, n_classes: int) -> FloatArray:
    """The confusion matrices, (J, K, K), of workers right with accuracy_j and else giving any wrong label alike."""
    if n_classes == 1:
        return np.ones((len(accuracy_j), 1, 1))
    wrong_j = (1 - accuracy_j) / (n_classes - 1)
    return wrong_j[:, None, None] + (accuracy_j - wrong_j)[:, None, None] * np.eye(n_classes)


def expected_log(alpha: FloatArray) -> FloatArray:
    """E log p for p drawn from Dirichlet(alpha).

    >>> expected_log(np.array([1.0, 1.0])).tolist()
    [-1.0, -1.0]
    """
    from scipy.special import digamma

    total = alpha @ np.ones(alpha.shape[-1])
    return np.asarray(digamma(alpha) - digamma(total)[..., None])


def divergence(alpha: FloatArray, base: FloatArray, log_alpha: FloatArray | None = None) -> float:
    """The sum over rows of KL(Dirichlet(alpha) || Dirichlet(base)); `base` may have fewer rows and is repeated.

    `log_alpha` is `expected_log(alpha)`, where it is known already.

    >>> round(divergence(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([1.0, 1.0])), 6)  # log 2 - 1/2, and nothing
    0.193147
    """
    from scipy.special import gammaln

    ones_l = np.ones(alpha.shape[-1])
    rows = gammaln(alpha @ ones_l) - gammaln(alpha) @ ones_l
    rows = rows - (gammaln(base @ ones_l) - gammaln(base) @ ones_l)
    log_alpha = expected_log(alpha) if log_alpha is None else log_alpha
    return float(rows.sum() + ((alpha - base) * log_alpha).sum())
