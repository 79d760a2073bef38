"""Dependence of workers given the true label: pairwise correlations, a joint test, and the effective panel size.

Without gold labels, pairs are tested by score tests of the model of independent votes; with gold labels, without a
model.  Statement, calibration and limits: docs/theory/dependence.md.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, gammaincc, ndtr, ndtri, stdtrit

from majorant.defaults import LEVEL
from majorant.errors import ConfigError
from majorant.evidence.certificate.certificate import Dependence, Pair
from majorant.evidence.certificate.design import WorkerSets, as_copies, worker_sets
from majorant.evidence.evidence import Assumption, Status, Tested
from majorant.methods.fit import NO_LABEL, Fit
from majorant.values import Estimate, FloatArray, Missing, as_generator, safe_log
from majorant.votes import IntArray, Votes

DRAWS = 10_000
LEAST_INFORMATION = 1e-3  # with a smaller share left, a correlation cannot be told from other confusion matrices
ENOUGH_GOLD = 50  # gold items with at least two votes
Pairs = list[tuple[int, int]]


class _PairScores(NamedTuple):
    """The score of each pair, and its information after and before projecting out the fitted parameters."""

    score_q: FloatArray
    information_qq: FloatArray
    raw_q: FloatArray


def dependence(
    votes: Votes,
    fit: Fit,
    *,
    rng: int | np.random.Generator,
    level: float = LEVEL,
    copies: ArrayLike | None = None,
) -> Dependence:
    """Test whether votes depend on each other given the true label, for each pair and jointly.

    This is a score test of the fitted model with one confusion matrix per worker (maximum likelihood, or nearly).
    Workers may have different skills, but must not make the same mistakes.  The level is asymptotic in the number of
    items.  With three workers and two classes, any votes fit, so the test needs enough gold labels.  `copies` is the
    number of items that each item stands for; `rng` is used if a panel has too many vote patterns to enumerate.
    """
    if fit.confusion is None or fit.confusion.ndim != 3:
        raise ConfigError(
            f"The test of dependence needs one confusion matrix per worker, which a {fit.method} fit does not have."
        )
    n_workers, n_classes, _ = fit.confusion.shape
    if n_workers * n_classes * (n_classes - 1) > 400:  # parameters, whose information matrix is inverted
        return _untested(Missing.TOO_MANY_PARAMETERS)
    copies_i, label_ij = as_copies(votes, copies), label_matrix(votes)
    pairs = _pairs(label_ij, copies_i)
    if not pairs:
        return _untested(Missing.FEW_COMMON_ITEMS)
    model = WorkerModel(np.asarray(fit.prior), np.asarray(fit.confusion))
    evidence = _evidence(label_ij, worker_sets(votes, copies_i), copies_i, model, pairs, as_generator(rng))
    tested = _test_all_pairs(evidence, level)
    gold = gold_items(label_ij, votes.gold_i, copies_i, len(votes.labels))
    if gold is not None:
        tests = pair_tests(gold, pairs)
        tested = tested or _test_by_gold(tests, level)
        results, n_eff = _pair_results(votes, pairs, tests), effective_panel_size(gold, level)
    elif tested is None:
        return _untested(Missing.FEW_VOTES_PER_ITEM)
    else:
        n_votes = float(copies_i @ votes.votes_i / copies_i[votes.votes_i > 0].sum())
        results, n_eff = _pair_results(votes, pairs, _one_step(evidence)), _rough_panel_size(evidence, n_votes)
    truth: Literal["gold", "estimated"] = "estimated" if gold is None else "gold"
    return Dependence(tested=tested, truth=truth, pairs=results, n_eff=n_eff)


def _pairs(label_ij: IntArray, copies_i: FloatArray) -> Pairs:
    """Up to 100 pairs of workers with at least 30 items in common, those with the most first."""
    voted_ij = (label_ij != NO_LABEL).astype(float)
    common_jj = (voted_ij * copies_i[:, None]).T @ voted_ij
    enough = [(a, b) for a, b in combinations(range(len(common_jj)), 2) if common_jj[a, b] >= 30]
    return sorted(enough, key=lambda pair: -common_jj[pair])[:100]


def _evidence(
    label_ij: IntArray,
    sets: tuple[WorkerSets, ...],
    copies_i: FloatArray,
    model: WorkerModel,
    pairs: Pairs,
    rng: np.random.Generator,
) -> _PairScores:
    """The scores of the pairs and their information, with the fitted parameters projected out."""
    observed = scores(label_ij, model, pairs)
    n_classes = len(model.prior_k)
    n_patterns = sum(len(group.items_s) * float(n_classes) ** group.n_votes for group in sets)
    if n_patterns <= 20_000:  # few enough to enumerate; otherwise simulate some
        total = _expected_information(sets, model, pairs)
    else:
        item = rng.choice(len(copies_i), size=DRAWS, p=copies_i / copies_i.sum())
        voted_rj = label_ij[item] != NO_LABEL
        both_rc = scores(simulate_patterns(voted_rj, model, rng), model, pairs).both_rc
        total = copies_i.sum() / DRAWS * both_rc.T @ both_rc
    p = observed.own_rp.shape[1]
    own_pp, cross_pq, pair_qq = total[:p, :p], total[:p, p:], total[p:, p:]
    left_qq = pair_qq - cross_pq.T @ np.linalg.pinv(own_pp, rcond=1e-10, hermitian=True) @ cross_pq
    return _PairScores(copies_i @ observed.pair_rq, left_qq, np.diag(pair_qq).copy())


def _expected_information(sets: tuple[WorkerSets, ...], model: WorkerModel, pairs: Pairs) -> FloatArray:
    """Expected information under the model, summed over all patterns of all worker sets."""
    n_workers, n_classes, _ = model.confusion_jkl.shape
    parts = []
    for group in sets:
        for worker_h, n_items in zip(group.worker_sh, group.items_s, strict=True):
            every = scores(every_pattern(np.unique(worker_h), n_workers, n_classes), model, pairs)
            parts.append(n_items * (every.both_rc * every.probability_r[:, None]).T @ every.both_rc)
    return np.asarray(sum(parts))


def _test_all_pairs(evidence: _PairScores, level: float) -> Tested | None:
    """Joint score test of all pairs and, for many pairs, of their sum; None if no information is left for a test."""
    scale_q = np.sqrt(np.where(evidence.raw_q > 0, evidence.raw_q, np.inf))
    value_d, vector_qd = np.linalg.eigh(evidence.information_qq / np.outer(scale_q, scale_q))
    tested = value_d > 0.03  # directions in which the fitted parameters leave enough information
    if not tested.any():
        return None
    projected_d = vector_qd[:, tested].T @ (evidence.score_q / scale_q)
    statistic, common = float((projected_d**2 / value_d[tested]).sum()), float(evidence.information_qq.sum())
    p_value = float(chdtrc(int(tested.sum()), statistic))
    # With many pairs, the joint test would miss a small correlation that all have in common.
    if len(evidence.score_q) > 21 and common > LEAST_INFORMATION * evidence.raw_q.sum():
        p_value_of_sum = float(chdtrc(1, evidence.score_q.sum() ** 2 / common))
        p_value = min(1.0, 2 * min(p_value, p_value_of_sum))  # two tests, each at half the level
    return _tested(p_value, level)


def _test_by_gold(tests: PairTests, level: float) -> Tested:
    """Joint test of all pairs on gold items; under independence the pair tests are asymptotically independent."""
    known_q = tests.z_q[np.isfinite(tests.z_q)]
    if not len(known_q):  # there are no errors to compare
        return Tested(Assumption.INDEPENDENT_WORKERS, Status.UNTESTABLE)
    return _tested(float(chdtrc(len(known_q), known_q @ known_q)), level)


def _tested(p_value: float, level: float) -> Tested:
    status = Status.PASSED if p_value > 1 - level else Status.FAILED
    return Tested(Assumption.INDEPENDENT_WORKERS, status, p_value)


def _untested(reason: Missing) -> Dependence:
    tested = Tested(Assumption.INDEPENDENT_WORKERS, Status.UNTESTABLE)
    return Dependence(tested=tested, truth="estimated", pairs=(), n_eff=Estimate(None, reason=reason))


def _one_step(evidence: _PairScores) -> PairTests:
    """One-step estimate of each pair's correlation; NaN if the data are not informative."""
    left_q = np.diag(evidence.information_qq)
    left_q = np.where(left_q > LEAST_INFORMATION * evidence.raw_q, left_q, np.nan)
    return PairTests(evidence.score_q / left_q, evidence.score_q / np.sqrt(left_q))


def _pair_results(votes: Votes, pairs: Pairs, tests: PairTests) -> tuple[Pair, ...]:
    """The pairs that have an estimate, the most correlated first."""
    results = [
        Pair(
            workers=(votes.workers[a], votes.workers[b]),
            correlation=float(np.clip(correlation, -1, 1)),
            p_value=float(2 * ndtr(-abs(z))),
        )
        for (a, b), correlation, z in zip(pairs, tests.correlation_q, tests.z_q, strict=True)
        if np.isfinite(z)
    ]
    return tuple(sorted(results, key=lambda pair: -pair.correlation))


def _rough_panel_size(evidence: _PairScores, n_votes: float) -> Estimate:
    """Effective panel size n / (1 + (n - 1) rho), with one correlation rho for all pairs, estimated from the votes.

    There is no interval, because strong dependence biases the estimated truth, so no interval would hold its level.
    """
    information = float(evidence.information_qq.sum())
    if information <= LEAST_INFORMATION * evidence.raw_q.sum():
        return Estimate(None, reason=Missing.FEW_VOTES_PER_ITEM)
    rho = float(np.clip(evidence.score_q.sum() / information, 0, 1))
    return Estimate(n_votes / (1 + (n_votes - 1) * rho), reason=Missing.GOLD_FOR_INTERVAL)


class WorkerModel(NamedTuple):
    """Class probabilities (K,) and one confusion matrix per worker (J, K, K), votes independent given the class."""

    prior_k: FloatArray
    confusion_jkl: FloatArray


class PatternScores(NamedTuple):
    """For each pattern r the derivatives of its log-probability: by each pair's correlation, by each parameter."""

    pair_rq: FloatArray
    own_rp: FloatArray
    probability_r: FloatArray

    @property
    def both_rc(self) -> FloatArray:
        """Scores of the parameters, followed by those of the pairs."""
        return np.concatenate([self.own_rp, self.pair_rq], axis=1)


def label_matrix(votes: Votes) -> IntArray:
    """Label of each worker on each item, (I, J), -1 for no vote; the last of several votes."""
    label_ij = np.full((len(votes.items), len(votes.workers)), NO_LABEL, dtype=np.int32)
    label_ij[votes.item_n, votes.worker_n] = votes.label_n
    return label_ij


def every_pattern(worker_h: IntArray, n_workers: int, n_classes: int) -> IntArray:
    """All ways in which these workers can label an item, (K ** H, J)."""
    label_rj = np.full((n_classes ** len(worker_h), n_workers), NO_LABEL, dtype=np.int32)
    label_rj[:, worker_h] = list(product(range(n_classes), repeat=len(worker_h)))
    return label_rj


def simulate_patterns(voted_rj: NDArray[np.bool_], model: WorkerModel, rng: np.random.Generator) -> IntArray:
    """Simulate labels of those who voted from the model, (R, J)."""
    class_r = rng.choice(len(model.prior_k), size=len(voted_rj), p=model.prior_k)
    threshold_rjl = np.cumsum(model.confusion_jkl, axis=2)[:, class_r, :-1].transpose(1, 0, 2)
    label_rj = (rng.random(voted_rj.shape)[:, :, None] > threshold_rjl).sum(axis=2)
    return np.where(voted_rj, label_rj, NO_LABEL)


def scores(label_rj: IntArray, model: WorkerModel, pairs: Pairs) -> PatternScores:
    """Scores of each pair and parameter under independence.

    A correlation rho of workers a and b multiplies P(votes | class k) by 1 + rho g_k(their labels), where g_k is their
    agreement minus its expectation under independence, scaled to variance 1.  For two classes, rho is the correlation
    of their votes given the class.
    """
    posterior_rk, probability_r = _posterior(label_rj, model)
    pair_rq = np.zeros((len(label_rj), len(pairs)))
    for q, (a, b) in enumerate(pairs):
        both = np.flatnonzero((label_rj[:, a] != NO_LABEL) & (label_rj[:, b] != NO_LABEL))
        excess_lmk = _excess_agreement(model.confusion_jkl[a], model.confusion_jkl[b])
        excess_rk = excess_lmk[label_rj[both, a], label_rj[both, b]]
        pair_rq[both, q] = np.einsum("rk,rk->r", posterior_rk[both], excess_rk)
    return PatternScores(pair_rq, _own_scores(label_rj, posterior_rk, model), probability_r)


def _posterior(label_rj: IntArray, model: WorkerModel) -> tuple[FloatArray, FloatArray]:
    """P(class | pattern), (R, K), and P(pattern) among all patterns of the same workers."""
    score_rk = np.tile(safe_log(model.prior_k), (len(label_rj), 1))
    for label_r, confusion_kl in zip(label_rj.T, model.confusion_jkl, strict=True):
        voted = np.flatnonzero(label_r != NO_LABEL)
        score_rk[voted] += safe_log(confusion_kl).T[label_r[voted]]
    joint_rk = np.exp(score_rk)
    best_r = score_rk.max(axis=1, keepdims=True)
    likely_rk = np.exp(score_rk - np.where(np.isfinite(best_r), best_r, 0.0))
    total_r = likely_rk.sum(axis=1, keepdims=True)
    return np.asarray(likely_rk / np.where(total_r > 0, total_r, 1.0)), joint_rk.sum(axis=1)


def _excess_agreement(one_kl: FloatArray, two_kl: FloatArray) -> FloatArray:
    """g_k(l, m) in `scores`, (L, M, K); 0 for a class in which agreement does not vary."""
    n_classes = len(one_kl)
    expected_k = np.einsum("kl,kl->k", one_kl, two_kl)
    excess_lmk = np.eye(n_classes)[:, :, None] - two_kl.T[:, None, :] - one_kl.T[None, :, :] + expected_k
    variance_k = np.einsum("kl,km,lmk->k", one_kl, two_kl, excess_lmk**2)
    scaled = np.divide(excess_lmk, np.sqrt(variance_k), out=np.zeros_like(excess_lmk), where=variance_k > 0)
    return np.asarray(scaled)


def _own_scores(label_rj: IntArray, posterior_rk: FloatArray, model: WorkerModel) -> FloatArray:
    """Derivatives with respect to the log-odds of the prior and of each matrix row, without the last entry of each."""
    columns = [posterior_rk[:, :-1] - model.prior_k[:-1]]
    for label_r, confusion_kl in zip(label_rj.T, model.confusion_jkl, strict=True):
        vote_rl = np.eye(len(confusion_kl))[label_r]
        residual_rkl = vote_rl[:, None, :-1] - confusion_kl[None, :, :-1]
        residual_rkl *= (posterior_rk * (label_r != NO_LABEL)[:, None])[:, :, None]
        columns.append(residual_rkl.reshape(len(label_r), -1))
    return np.concatenate(columns, axis=1)


class GoldItems(NamedTuple):
    """Gold items g with at least two votes: the workers' labels (-1 if none), and how many items each stands for."""

    label_gj: IntArray
    class_g: IntArray
    copies_g: FloatArray
    n_classes: int

    @property
    def n_items(self) -> float:
        """Number of items, counting copies."""
        return float(self.copies_g.sum())


class PairTests(NamedTuple):
    """For each pair, the correlation of their votes given the class, and its distance from 0 in standard errors."""

    correlation_q: FloatArray
    z_q: FloatArray  # NaN if one of the two is always right or always wrong


def gold_items(label_ij: IntArray, gold_i: IntArray | None, copies_i: FloatArray, n_classes: int) -> GoldItems | None:
    """Gold items with at least two votes; None if there are too few to test dependence."""
    if gold_i is None:
        return None
    known = np.flatnonzero((gold_i >= 0) & ((label_ij != NO_LABEL).sum(axis=1) >= 2))
    gold = GoldItems(label_ij[known], gold_i[known], copies_i[known], n_classes)
    return gold if gold.n_items >= ENOUGH_GOLD else None


def pair_tests(gold: GoldItems, pairs: Pairs) -> PairTests:
    """Mantel-Haenszel test of each pair's agreement, stratified by class, with continuity correction.

    With more than two labels, agreement on any of them counts the same.
    """
    correlation_q, z_q = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    for q, (a, b) in enumerate(pairs):
        excess, variance, third, most, half_step = agreement_moments(gold, a, b)
        if variance > 0:
            beyond = np.sign(excess) * max(abs(excess) - half_step, 0.0)
            correlation_q[q] = excess / most
            z_q[q] = normal_score(float(beyond / np.sqrt(variance)), third / variance**1.5)
    return PairTests(correlation_q, z_q)


class AgreementMoments(NamedTuple):
    """Moments of the number of agreements of two workers under shuffling within each class."""

    excess: float  # observed number minus the mean
    variance: float
    third: float  # third central moment
    most: float  # excess for two workers who always agree
    half_step: float  # half the distance between possible numbers of agreements


def agreement_moments(gold: GoldItems, a: int, b: int) -> AgreementMoments:
    """Exact moments, given how often each of the two workers gave each label in each class."""
    both = (gold.label_gj[:, a] != NO_LABEL) & (gold.label_gj[:, b] != NO_LABEL)
    excess = variance = third = 0.0
    spread, half_step = np.zeros(2), 1.0
    for k in range(gold.n_classes):
        here = both & (gold.class_g == k)
        n = gold.copies_g[here].sum()
        if n < 2:
            continue
        joint_lm = np.zeros((gold.n_classes, gold.n_classes))
        np.add.at(joint_lm, (gold.label_gj[here, a], gold.label_gj[here, b]), gold.copies_g[here])
        of_a, of_b = joint_lm.sum(axis=1), joint_lm.sum(axis=0)
        ways_lm, matching = np.outer(of_a, of_b), of_a @ of_b
        # n**2 times centred agreement, in whole numbers, so that it is exactly 0 for a worker who never varies.
        off_lm = n**2 * np.eye(len(of_a)) - n * of_b[:, None] - n * of_a + matching
        excess += float(np.trace(joint_lm) - matching / n)
        variance += float((ways_lm * off_lm**2).sum() / n**4 / (n - 1))
        third += float((ways_lm * off_lm**3).sum() / n**5 / ((n - 1) * max(n - 2, 1)))
        spread += n - np.array([of_a @ of_a, of_b @ of_b]) / n
        if (ways_lm * off_lm).any() and (of_a + of_b > 0).sum() > 2:
            half_step = 0.5  # agreements change in steps of 1; with two labels, in steps of 2
    return AgreementMoments(excess, variance, third, float(np.sqrt(spread.prod())), half_step)


def normal_score(z: float, skew: float) -> float:
    """The normal score with the same tail probability as `z` under a Pearson type III distribution with this skewness.

    For two workers who hardly ever err, one shared error can be 8 standard errors from the mean without being
    significant.

    >>> round(normal_score(8.6, 17.), 1), normal_score(2., 0.), normal_score(-2., 1.)
    (2.8, 2.0, -2.0)
    """
    if z * skew <= 1e-6:  # symmetric, or in the short tail, where the normal distribution is conservative
        return z
    shape = 4 / skew**2
    tail = max(float(gammaincc(shape, shape + np.sqrt(shape) * abs(z))), np.finfo(float).tiny)
    return float(np.sign(z) * max(-ndtri(tail), 0.0))


def effective_panel_size(gold: GoldItems, level: float) -> Estimate:
    """Effective panel size from gold: n over Kish's design effect of the votes given the class.

    If e are the votes minus their worker's mean in the class, the design effect is `sum |sum_j e|^2 / sum sum_j |e|^2`.
    Its interval is a jackknife over items on the log scale, with an item added: for the lower end, one on which all err
    together; for the upper end, one on which a single worker errs. Otherwise rare errors would be missed.

    >>> label_gj = np.array([[0, 0], [1, 1], [0, 0], [0, 1]] * 20)
    >>> size = effective_panel_size(GoldItems(label_gj, np.zeros(80, dtype=int), np.ones(80), 2), .95)
    >>> round(size.value, 2), round(size.low, 2), round(size.high, 2)
    (1.27, 1.16, 1.39)
    """
    square_gs = squared_errors(gold)
    separate, joint = gold.copies_g @ square_gs
    if joint <= 1e-9 * separate:  # the errors on each item cancel out, except for rounding
        return Estimate(None, reason=Missing.NO_SHARED_ERRORS)
    n_votes = float(gold.copies_g @ (gold.label_gj != NO_LABEL).sum(axis=1) / gold.n_items)
    effects = (
        joint / separate,
        _effect_bound(gold, square_gs, np.array([n_votes, n_votes**2]), (1 + level) / 2),
        _effect_bound(gold, square_gs, np.ones(2), (1 - level) / 2),
    )
    value, low, high = (float(np.clip(n_votes / effect, 1, n_votes)) for effect in effects)
    return Estimate(value, low, high)


def _effect_bound(gold: GoldItems, square_gs: FloatArray, added_s: FloatArray, quantile: float) -> float:
    """One-sided jackknife bound on the design effect, with an added item that has these squared errors."""
    copies_g, square_gs = np.append(gold.copies_g, 1.0), np.vstack([square_gs, added_s])
    n, total_s = gold.n_items + 1, copies_g @ square_gs
    log_gs = np.log(total_s - square_gs)
    effect_g = log_gs[:, 1] - log_gs[:, 0]
    error = np.sqrt((n - 1) / n * (copies_g @ (effect_g - copies_g @ effect_g / n) ** 2))
    separate, joint = total_s
    return float(joint / separate * np.exp(stdtrit(n - 1, quantile) * error))


def squared_errors(gold: GoldItems) -> FloatArray:
    """Squared errors on each item, summed over workers, and the square of the summed errors, (G, 2).

    An error is a vote minus the mean of its worker's votes in the class.
    """
    vote_gjl = (gold.label_gj[:, :, None] == np.arange(gold.n_classes)).astype(float)
    error_gjl = np.zeros_like(vote_gjl)
    for k in np.unique(gold.class_g):
        here = gold.class_g == k
        voted_gj = gold.label_gj[here] != NO_LABEL
        items_j = np.maximum(gold.copies_g[here] @ voted_gj, 1)
        mean_jl = np.tensordot(gold.copies_g[here], vote_gjl[here], 1) / items_j[:, None]
        error_gjl[here] = (vote_gjl[here] - mean_jl) * voted_gj[:, :, None]
    return np.column_stack([(error_gjl**2).sum(axis=(1, 2)), (error_gjl.sum(axis=1) ** 2).sum(axis=1)])
