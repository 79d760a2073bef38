"""Confidence: the probability that a label is right.

It is the geometric mean of two estimates: the rule's probabilities, tempered because votes depend on each other, and
the vote shares, with one extra vote spread over all labels.  On public data sets the mean is better calibrated than
either.  With at least twenty gold labels, a logistic regression recalibrates it: docs/decide.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from majorant.evidence.labels import right_share
from majorant.items import draw_items, name_hashes, names_at, rows_of_parts, sum_parts, take_items
from majorant.kernels import row_maxima, shares, softmax_rows
from majorant.methods import ESTIMATORS
from majorant.methods.fit import TIE_TOLERANCE, Fit
from majorant.results.dependence_model import fit_models, refit_model, vote_arrays
from majorant.tally import counts
from majorant.values import FloatArray, as_generator
from majorant.votes import IntArray, Votes

Refit = Callable[[Votes], Fit]  # the rule, fitted to other votes
FOLDS = 5
LEAST_PROBABILITY = 1e-300  # replaces 0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Confidence:
    """Probability that each label of a fit is right.

    `source` says what it was learned from: "gold", which is reliable if the gold items are a random sample; "votes",
    which relies on models of the votes; or None if there was nothing to learn from.
    """

    fit: Fit  # the given fit with calibrated probabilities, and the same labels and ties
    confidence_i: FloatArray  # of each label; below 1/2 if gold labels imply it; NaN without votes
    calibration: Calibration | None
    reliability: Reliability
    source: Literal["gold", "votes"] | None
    dependence: float | None  # correlation of two votes on an item given the truth, estimated from the votes


class Calibration(NamedTuple):
    """Calibration parameters, small enough to send to another machine.

    A gold item is calibrated without its own label, by parameters learned from other folds (`by_fold`).
    """

    temperature: float  # probabilities of the rule are raised to 1 / temperature
    epsilon: float  # share of each item's probability that is spread evenly over all classes
    shift: float = 0.0  # of the log-odds, learned from gold labels
    slope: float = 1.0
    by_fold: tuple[tuple[float, float], ...] = ()  # shift and slope learned without each fold
    panel: bool = False  # average with the smoothed vote shares


class _CalibrationData(NamedTuple):
    """The rule's scores and the target probabilities of some items."""

    score_sk: FloatArray
    believed_sk: FloatArray
    dependence: float


def calibrate(
    votes: Votes,
    fit: Fit,
    *,
    rng: int | np.random.Generator,
    refit: Refit | None = None,
    panel: bool = False,
) -> Confidence:
    """Estimate the probability that each label of a fit is right, from models of the votes and from enough gold labels.

    Parameters
    ----------
    votes : Votes
        The votes, with gold labels if there are any.
    fit : Fit
        The rule whose labels are assessed.
    rng : int or numpy Generator
        Random seed; for large data, parameters are learned from samples of the items.
    refit : callable, optional
        Fits the rule to a sample, so that it knows only what the sample shows about the workers; by default the method
        with the name of the fit.
    panel : bool
        Whether these are judges of a panel, whose models are too sure: then the smoothed share of the votes for the
        label counts half.

    Returns
    -------
    Confidence
        The probabilities, what they were learned from, and how reliable they are on gold items.

    Examples
    --------
    >>> from majorant.methods.majority import Majority
    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=500, n_votes=5, rng=0)
    >>> labels = calibrate(votes, Majority().fit(votes), rng=0)
    >>> labels.source, bool(.85 < labels.confidence_i.mean() < .95)
    ('votes', True)
    """
    if len(votes.labels) < 2 or not votes.n_votes:
        confidence_i = np.where(votes.votes_i > 0, 1.0, np.nan)
        on_gold = reliability(votes, fit, confidence_i)
        return Confidence(
            fit=fit, confidence_i=confidence_i, calibration=None, reliability=on_gold, source=None, dependence=None,
        )  # fmt: skip
    data = _learn(votes, fit, refit, as_generator(rng))
    # 50,000 items are plenty for two parameters.
    some = slice(None, None, len(data.score_sk) // 50_000 + 1)
    learned = Calibration(*learn_calibration(data.score_sk[some], data.believed_sk[some]), panel=panel)
    source: Literal["gold", "votes"] = "votes"
    if votes.n_gold >= 20:  # fewer are too few to calibrate with
        learned, source = _learn_from_gold(learned, votes, fit), "gold"
    confidence_i = rows_of_parts(partial(label_confidence, learned), votes, fit)
    posterior_ik = rows_of_parts(partial(_calibrated_rows, learned), votes, fit)
    return Confidence(
        fit=replace(fit, posterior=posterior_ik),
        confidence_i=confidence_i,
        calibration=learned,
        reliability=reliability(votes, fit, confidence_i),
        source=source,
        dependence=data.dependence,
    )


def label_confidence(learned: Calibration | None, votes: Votes, fit: Fit) -> FloatArray:
    """Probability that each label of a rule is right, from a learned calibration; NaN without votes."""
    voted_i = votes.votes_i > 0
    if learned is None:
        return np.where(voted_i, row_maxima(fit.posterior), np.nan)
    odds_i = _pooled_odds(learned, votes, fit)
    calibrated_i = learned.shift + learned.slope * odds_i
    if learned.by_fold and votes.gold_i is not None:
        known = np.flatnonzero((votes.gold_i >= 0) & voted_i)
        fold_g = _folds(names_at(votes.items, known)) if len(known) else np.empty(0, np.int64)
        for fold, (shift, slope) in enumerate(learned.by_fold):
            here = known[fold_g == fold]
            calibrated_i[here] = shift + slope * odds_i[here]
    return np.where(voted_i, expit(calibrated_i), np.nan)


def _pool(learned: Calibration, votes: Votes, fit: Fit) -> FloatArray:
    """Geometric mean of the rule's tempered probabilities and the smoothed vote shares, (I, K)."""
    surest = 0.99  # probabilities are clipped at this, and at the rest divided among the other classes
    n_classes = len(votes.labels)
    tempered_ik = tempered(scores(fit), learned.temperature, learned.epsilon)
    share_ik = (counts(votes) + 1 / n_classes) / (votes.votes_i + 1)[:, None]
    least = (1 - surest) / (n_classes - 1)
    pooled_ik = shares(np.sqrt(tempered_ik.clip(least, surest) * share_ik.clip(least, surest)))
    return (pooled_ik + share_ik) / 2 if learned.panel else pooled_ik


def _pooled_odds(learned: Calibration, votes: Votes, fit: Fit) -> FloatArray:
    return np.asarray(logit(_pool(learned, votes, fit)[np.arange(len(votes.items)), _labels(fit)]))


def _labels(fit: Fit) -> IntArray:
    """The label of each item; if labels are tied, one of them."""
    code_i = fit.codes()
    return np.where(code_i >= 0, code_i, fit.posterior.argmax(axis=1))


def _learn_from_gold(learned: Calibration, votes: Votes, fit: Fit) -> Calibration:
    """Add the shift and slope from all gold items, and for each fold those from the other folds."""
    assert votes.gold_i is not None
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    odds_g = _pooled_odds(learned, take_items(votes, known), fit.take(known))
    right_g = right_share(fit.posterior[known], votes.gold_i[known])
    fold_g = _folds(names_at(votes.items, known))
    by_fold = tuple(_shift_and_slope(odds_g[fold_g != f], right_g[fold_g != f]) for f in range(FOLDS))
    shift, slope = _shift_and_slope(odds_g, right_g)
    return learned._replace(shift=shift, slope=slope, by_fold=by_fold)


def _shift_and_slope(odds_g: FloatArray, right_g: FloatArray) -> tuple[float, float]:
    """Logistic regression of correctness on the log-odds, shrunk towards shift 0 and slope 1, by Newton's method.

    The penalties were chosen on 18 public data sets with 20 to 100 gold labels; halving or doubling them works as well.
    """
    x_gp = np.stack([np.ones(len(odds_g)), odds_g], axis=1)
    start_p, penalty_p = np.array([0.0, 1.0]), np.array([8.0, 4.0])
    value_p = start_p.copy()
    for _ in range(50):
        p_g = expit(x_gp @ value_p)
        slope_p = x_gp.T @ (p_g - right_g) + penalty_p * (value_p - start_p)
        curve_pp = (x_gp * (p_g * (1 - p_g))[:, None]).T @ x_gp + np.diag(penalty_p)
        step_p = np.linalg.solve(curve_pp, slope_p).clip(-1, 1)
        value_p = value_p - step_p
        if np.abs(step_p).max() < 1e-9:
            break
    return float(value_p[0]), float(value_p[1])


def _folds(names: Sequence[Hashable]) -> NDArray[np.int64]:
    """The fold of each item, by a hash of its name: the same in whatever order the rows are read."""
    return (name_hashes(names, 2**32 + 2) % np.uint64(FOLDS)).astype(np.int64)


def scores(fit: Fit) -> FloatArray:
    """The log-probabilities of a fit; for a fit of vote shares, which are not probabilities, the vote counts."""
    if fit.method in ESTIMATORS and ESTIMATORS[fit.method].traits.vote_shares:
        return np.asarray(fit.posterior * fit.votes_i[:, None])
    return np.log(np.maximum(fit.posterior, LEAST_PROBABILITY))


def tempered(score_ik: FloatArray, temperature: float, epsilon: float) -> FloatArray:
    """Probabilities proportional to exp(score / temperature), with the share `epsilon` spread evenly over all classes.

    >>> tempered(np.log([[.8, .2]]), 2.0, .1).round(3).tolist()
    [[0.65, 0.35]]
    """
    posterior_ik, _ = softmax_rows(score_ik / temperature)
    return np.asarray((1 - epsilon) * posterior_ik + epsilon / score_ik.shape[1])


def learn_calibration(score_sk: FloatArray, believed_sk: FloatArray) -> tuple[float, float]:
    """The temperature and epsilon that minimize the cross-entropy to the target probabilities.

    Uses pattern search: move to the best of eight neighbours, or halve the step if none is better.
    """
    # As in `tempered`, but with one row per class, because sums along the short axis would take most of the time.
    gap_ks, believed_ks = (score_sk - row_maxima(score_sk)[:, None]).T.copy(), believed_sk.T.copy()

    def cross_entropy(log_temperature: float, epsilon: float) -> float:
        posterior_ks = np.exp(gap_ks / np.exp(log_temperature))
        posterior_ks *= (1 - epsilon) / posterior_ks.sum(axis=0)
        posterior_ks += epsilon / len(posterior_ks)
        np.maximum(posterior_ks, LEAST_PROBABILITY, out=posterior_ks)
        return -float(np.vdot(believed_ks, np.log(posterior_ks, out=posterior_ks))) / len(score_sk)

    low, high = np.array([np.log(0.1), 0.0]), np.array([np.log(20.0), 0.5])
    best, width = np.array([0.0, 0.02]), np.array([0.8, 0.08])
    value = cross_entropy(*best)
    while width[0] > 1e-3:
        around = [np.clip(best + width * step, low, high) for step in product((-1, 0, 1), (-1, 0, 1)) if any(step)]
        values = [cross_entropy(*point) for point in around]
        if min(values) < value:
            best, value = around[int(np.argmin(values))], min(values)
        else:
            width = width / 2
    return float(np.exp(best[0])), float(best[1])


def as_calibrated(learned: Calibration | None, votes: Votes, fit: Fit) -> Fit:
    """The fit with calibrated probabilities; labels and ties stay, so no label falls below its runner-up."""
    if learned is None:
        return fit
    rows, label_i = np.arange(len(votes.items)), _labels(fit)
    sure_i = np.nan_to_num(label_confidence(learned, votes, fit), nan=1 / len(votes.labels))
    posterior_ik = _pool(learned, votes, fit)
    posterior_ik[rows, label_i] = 0.0
    rest_i = posterior_ik.sum(axis=1)
    posterior_ik *= np.divide(1 - sure_i, rest_i, out=np.zeros_like(rest_i), where=rest_i > 0)[:, None]
    top_i = posterior_ik.max(axis=1)
    low = np.flatnonzero(top_i >= sure_i - 4 * TIE_TOLERANCE)
    middle = ((sure_i + top_i) / 2)[low]
    posterior_ik[low] = np.minimum(posterior_ik[low], (middle - 2 * TIE_TOLERANCE)[:, None])
    sure_i[low] = middle + 2 * TIE_TOLERANCE
    posterior_ik[rows, label_i] = sure_i
    posterior_ik /= posterior_ik.sum(axis=1, keepdims=True)
    return keep_labels(fit, posterior_ik)


def _calibrated_rows(learned: Calibration, votes: Votes, fit: Fit) -> FloatArray:
    return as_calibrated(learned, votes, fit).posterior


def keep_labels(fit: Fit, posterior_ik: FloatArray) -> Fit:
    """The fit with new probabilities, except on items where rounding would change the label or a tie."""
    new = replace(fit, posterior=posterior_ik)
    changed_i = (new.codes() != fit.codes()) | (new.tied_i != fit.tied_i)
    return replace(fit, posterior=np.where(changed_i[:, None], fit.posterior, posterior_ik)) if changed_i.any() else new


def _learn(
    votes: Votes,
    fit: Fit,
    refit: Refit | None,
    rng: np.random.Generator,
    *,
    few_entries: int = 100_000,
    most_entries: int = 1_000_000,
) -> _CalibrationData:
    """Learn the dependence of votes and the target probabilities from samples of the items.

    The dependence comes from a sample with at most `few_entries` votes times classes, and the target probabilities from
    one with at most `most_entries`, which memory limits.
    """
    n_classes = len(votes.labels)
    many = draw_items(votes, np.flatnonzero(votes.votes_i > 0), most_entries // n_classes, rng=rng)
    few = draw_items(votes, many, few_entries // n_classes, rng=rng)
    arrays = vote_arrays(take_items(votes, few))
    average = fit_models(arrays)
    dependence = float(average.weight_r @ average.dependence_r)
    if len(few) == len(many):
        return _CalibrationData(scores(fit.take(few)), average.posterior_ik, dependence)
    sample = take_items(votes, many)
    whole = vote_arrays(sample, like=arrays)
    likely = np.argsort(-average.weight_r, kind="stable")[:2]
    weight_c = average.weight_r[likely] / average.weight_r[likely].sum()
    believed_sk = sum(
        w * refit_model(whole, average.cases[c]).posterior_ik for w, c in zip(weight_c, likely, strict=True) if w > 0.05
    )
    if refit is None and fit.method in ESTIMATORS:
        refit = ESTIMATORS[fit.method]().fit
    is_whole = len(many) == int((votes.votes_i > 0).sum()) or refit is None
    rule = fit.take(many) if is_whole or refit is None else refit(sample)
    return _CalibrationData(scores(rule), np.asarray(believed_sk), dependence)


@dataclass(frozen=True, slots=True)
class Bin:
    """Items whose label has a confidence in (low, high], and how many of those with gold are right."""

    low: float
    high: float
    items: int
    mean_confidence: float | None  # None if the bin is empty
    gold_items: int
    gold_right: float  # a tie counts as a fair draw among the tied classes


@dataclass(frozen=True, slots=True)
class Reliability:
    """Confidence compared with the share of right labels.

    `ece`, the expected calibration error, is the mean distance between the two per bin, weighted by gold items.
    """

    bins: tuple[Bin, ...]
    ece: float | None  # None without gold
    gold_items: int


def reliability(votes: Votes, fit: Fit, confidence_i: FloatArray, *, bins: int = 10) -> Reliability:
    """Reliability of confidence in bins of equal width from 0 to 1; items without votes are left out.

    >>> from majorant.methods.majority import Majority
    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], items="ab", workers="wx", labels="ny",
    ...                          gold=[1, 0])
    >>> fit = Majority().fit(votes)
    >>> reliability(votes, fit, fit.posterior.max(axis=1)).ece
    0.0
    """
    sums = sum_parts(partial(_sum_bins, bins), votes, fit, confidence_i)
    items_b, confidence_b, gold_b, right_b, promised_b = sums
    n_known = int(gold_b.sum())
    filled = tuple(
        Bin(
            low=b / bins,
            high=(b + 1) / bins,
            items=int(items_b[b]),
            mean_confidence=float(confidence_b[b] / items_b[b]) if items_b[b] else None,
            gold_items=int(gold_b[b]),
            gold_right=float(right_b[b]),
        )
        for b in range(bins)
    )
    ece = float(np.abs(right_b - promised_b).sum() / n_known) if n_known else None
    return Reliability(filled, ece, n_known)


def _sum_bins(bins: int, votes: Votes, fit: Fit, confidence_i: FloatArray) -> tuple[FloatArray, ...]:
    """For each bin: items and the sum of their confidence, gold items, how many of them are right, and confidence."""
    voted = np.flatnonzero(votes.votes_i > 0)
    confidence_v = confidence_i[voted]
    bin_v = np.clip(np.ceil(confidence_v * bins).astype(int) - 1, 0, bins - 1)
    gold_v = votes.truth_i[voted]
    known = np.flatnonzero(gold_v >= 0)
    right_g = right_share(fit.posterior[voted[known]], gold_v[known])

    def sums(bin_: IntArray, value: FloatArray | None = None) -> FloatArray:
        return np.bincount(bin_, weights=value, minlength=bins).astype(float)

    of_gold = (sums(bin_v[known], value) for value in (None, right_g, confidence_v[known]))
    return (sums(bin_v), sums(bin_v, confidence_v), *of_gold)
