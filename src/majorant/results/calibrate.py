"""Confidence: the probability that a label is right.

It is the geometric mean of two opinions: the rule's probabilities, tempered because votes depend on each other, and
the shares of votes, with one extra vote spread over all labels.  On public data sets the mean is better calibrated
than either.  With at least twenty gold labels it is recalibrated by a logistic fit: docs/decide.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from majorant.evidence.labels import right_share
from majorant.items import draw_items, name_hashes, take_items
from majorant.kernels import row_maxima, shares, softmax_rows
from majorant.methods import ESTIMATORS
from majorant.methods.fit import TIE_TOLERANCE, Fit
from majorant.results.dependence_model import fit_models, refit_model, vote_arrays
from majorant.tally import counts
from majorant.values import FloatArray, as_generator
from majorant.votes import IntArray, Votes

Refit = Callable[[Votes], Fit]  # the rule, fitted to other votes
DEPENDENCE_ENTRIES = 100_000  # votes times classes of the sample from which dependence is learned
MOST_ENTRIES = 4_000_000  # and of the sample from which the temperature is learned
FOLDS = 5
UNSURE = 1e-300  # a probability of 0 counts as this


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Confidence:
    """How probable it is that each label of a fit is right.

    `source` says what confidence was learned from: "gold", where it can be believed as far as the gold items are a
    random sample; "votes", where it rests on models of the votes; None where there was nothing to learn from.
    """

    fit: Fit  # with calibrated probabilities, and the labels and ties of the fit that was given
    confidence_i: FloatArray  # of each label; below 1/2 where gold shows it; NaN without votes
    calibration: Calibration | None
    reliability: Reliability
    source: Literal["gold", "votes"] | None
    dependence: float | None  # correlation of two votes on an item given the truth, as far as votes can tell


class Calibration(NamedTuple):
    """Calibration parameters, small enough to send to another machine.

    A gold item is calibrated by what the gold labels of other items taught (`by_fold`), not by its own.
    """

    temperature: float  # probabilities of the rule are raised to 1 / temperature
    epsilon: float  # the share of each item's probability that goes to all classes alike
    shift: float = 0.0  # of the log-odds, by gold
    slope: float = 1.0
    by_fold: tuple[tuple[float, float], ...] = ()  # shift and slope


class _Lesson(NamedTuple):
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
    crowd: Fit | None = None,
) -> Confidence:
    """The probability that each label of a fit is right, from models of the votes and from gold if there is enough.

    Parameters
    ----------
    votes : Votes
        The votes, with gold labels if there are any.
    fit : Fit
        The rule whose labels are judged.
    rng : int or numpy Generator
        Random seed; large data are learned from on samples of items.
    refit : callable, optional
        Fits the rule to a sample, so that it knows no more about the workers there than the sample does; by default
        the method with the name of the fit.
    crowd : Fit, optional
        The fit of `hierarchical` to the same votes, if there is one already.

    Returns
    -------
    Confidence
        The probabilities, what it was learned from, and its record on gold items.

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
        judged = reliability(votes, fit, confidence_i)
        return Confidence(
            fit=fit, confidence_i=confidence_i, calibration=None, reliability=judged, source=None, dependence=None,
        )  # fmt: skip
    lesson = _learn(votes, fit, refit, crowd, as_generator(rng))
    # 50,000 items are plenty for two parameters.
    some = slice(None, None, len(lesson.score_sk) // 50_000 + 1)
    learned = Calibration(*learn_calibration(lesson.score_sk[some], lesson.believed_sk[some]))
    source: Literal["gold", "votes"] = "votes"
    if votes.n_gold >= 20:  # with fewer, gold says too little about confidence
        learned, source = _learn_from_gold(learned, votes, fit), "gold"
    confidence_i = label_confidence(learned, votes, fit)
    return Confidence(
        fit=as_calibrated(learned, votes, fit),
        confidence_i=confidence_i,
        calibration=learned,
        reliability=reliability(votes, fit, confidence_i),
        source=source,
        dependence=lesson.dependence,
    )


def label_confidence(learned: Calibration | None, votes: Votes, fit: Fit) -> FloatArray:
    """The probability that each label of a rule is right, by a learned calibration; NaN without votes."""
    voted_i = votes.votes_i > 0
    if learned is None:
        return np.where(voted_i, row_maxima(fit.posterior), np.nan)
    odds_i = _pooled_odds(learned, votes, fit)
    calibrated_i = learned.shift + learned.slope * odds_i
    if learned.by_fold and votes.gold_i is not None:
        known = np.flatnonzero((votes.gold_i >= 0) & voted_i)
        fold_g = _folds([votes.items[i] for i in known]) if len(known) else np.empty(0, np.int64)
        for fold, (shift, slope) in enumerate(learned.by_fold):
            here = known[fold_g == fold]
            calibrated_i[here] = shift + slope * odds_i[here]
    return np.where(voted_i, expit(calibrated_i), np.nan)


def _pool(learned: Calibration, votes: Votes, fit: Fit) -> FloatArray:
    """The geometric mean of the rule's tempered probabilities and the smoothed shares of votes, (I, K)."""
    surest = 0.99  # more than this counts as this much, and less than the rest as the rest
    n_classes = len(votes.labels)
    tempered_ik = tempered(scores(fit), learned.temperature, learned.epsilon)
    share_ik = (counts(votes) + 1 / n_classes) / (votes.votes_i + 1)[:, None]
    least = (1 - surest) / (n_classes - 1)
    return shares(np.sqrt(tempered_ik.clip(least, surest) * share_ik.clip(least, surest)))


def _pooled_odds(learned: Calibration, votes: Votes, fit: Fit) -> FloatArray:
    return np.asarray(logit(_pool(learned, votes, fit)[np.arange(len(votes.items)), _labels(fit)]))


def _labels(fit: Fit) -> IntArray:
    """The label of each item; one of the tied labels if there is a tie."""
    code_i = fit.codes()
    return np.where(code_i >= 0, code_i, fit.posterior.argmax(axis=1))


def _learn_from_gold(learned: Calibration, votes: Votes, fit: Fit) -> Calibration:
    """Add the shift and slope of all gold items, and for each fold those of the other folds."""
    assert votes.gold_i is not None
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    odds_g = _pooled_odds(learned, votes, fit)[known]
    right_g = right_share(fit.posterior[known], votes.gold_i[known])
    fold_g = _folds([votes.items[i] for i in known])
    by_fold = tuple(_shift_and_slope(odds_g[fold_g != f], right_g[fold_g != f]) for f in range(FOLDS))
    shift, slope = _shift_and_slope(odds_g, right_g)
    return learned._replace(shift=shift, slope=slope, by_fold=by_fold)


def _shift_and_slope(odds_g: FloatArray, right_g: FloatArray) -> tuple[float, float]:
    """Logistic regression of being right on the log-odds, shrunk to no shift and slope 1, by Newton's method.

    The penalties were chosen on 18 public data sets with 20 to 100 gold labels; half or twice as much is as good.
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
    """A fold for each item, by its name: the same on every backend."""
    return (name_hashes(names, 2**32 + 2) % np.uint64(FOLDS)).astype(np.int64)


def scores(fit: Fit) -> FloatArray:
    """The log-probabilities of a fit; shares of votes are not probabilities, so their scores are the counts."""
    if fit.method in ESTIMATORS and ESTIMATORS[fit.method].traits.vote_shares:
        return np.asarray(fit.posterior * fit.votes_i[:, None])
    return np.log(np.maximum(fit.posterior, UNSURE))


def tempered(score_ik: FloatArray, temperature: float, epsilon: float) -> FloatArray:
    """Probabilities in proportion to exp(score / temperature), with the share `epsilon` spread over all classes.

    >>> tempered(np.log([[.8, .2]]), 2.0, .1).round(3).tolist()
    [[0.65, 0.35]]
    """
    posterior_ik, _ = softmax_rows(score_ik / temperature)
    return np.asarray((1 - epsilon) * posterior_ik + epsilon / score_ik.shape[1])


def learn_calibration(score_sk: FloatArray, believed_sk: FloatArray) -> tuple[float, float]:
    """The temperature and epsilon that minimize the cross-entropy to the believed probabilities.

    Pattern search: move to the best of eight neighbours, or halve the step if none is better.
    """
    # As `tempered`, but one row per class: sums along the short axis would take most of the time.
    gap_ks, believed_ks = (score_sk - row_maxima(score_sk)[:, None]).T.copy(), believed_sk.T.copy()

    def surprise(log_temperature: float, epsilon: float) -> float:
        posterior_ks = np.exp(gap_ks / np.exp(log_temperature))
        posterior_ks *= (1 - epsilon) / posterior_ks.sum(axis=0)
        posterior_ks += epsilon / len(posterior_ks)
        np.maximum(posterior_ks, UNSURE, out=posterior_ks)
        return -float(np.vdot(believed_ks, np.log(posterior_ks, out=posterior_ks))) / len(score_sk)

    low, high = np.array([np.log(0.1), 0.0]), np.array([np.log(20.0), 0.5])
    best, width = np.array([0.0, 0.02]), np.array([0.8, 0.08])
    value = surprise(*best)
    while width[0] > 1e-3:
        around = [np.clip(best + width * step, low, high) for step in product((-1, 0, 1), (-1, 0, 1)) if any(step)]
        values = [surprise(*point) for point in around]
        if min(values) < value:
            best, value = around[int(np.argmin(values))], min(values)
        else:
            width = width / 2
    return float(np.exp(best[0])), float(best[1])


def as_calibrated(learned: Calibration | None, votes: Votes, fit: Fit) -> Fit:
    """The fit with calibrated probabilities and the same labels and ties: no label falls below its runner-up."""
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


def keep_labels(fit: Fit, posterior_ik: FloatArray) -> Fit:
    """The fit with other probabilities, except for items whose label or tie rounding would change."""
    new = replace(fit, posterior=posterior_ik)
    moved_i = (new.codes() != fit.codes()) | (new.tied_i != fit.tied_i)
    return replace(fit, posterior=np.where(moved_i[:, None], fit.posterior, posterior_ik)) if moved_i.any() else new


def _learn(votes: Votes, fit: Fit, refit: Refit | None, crowd: Fit | None, rng: np.random.Generator) -> _Lesson:
    """Learn the dependence of votes from a sample, and the believed probabilities of as many items as memory allows."""
    n_classes = len(votes.labels)
    many = draw_items(votes, np.flatnonzero(votes.votes_i > 0), MOST_ENTRIES // n_classes, rng=rng)
    few = draw_items(votes, many, DEPENDENCE_ENTRIES // n_classes, rng=rng)
    arrays = vote_arrays(take_items(votes, few), crowd=None if crowd is None else crowd.take(few))
    average = fit_models(arrays)
    dependence = float(average.weight_r @ average.dependence_r)
    if len(few) == len(many):
        return _Lesson(scores(fit.take(few)), average.posterior_ik, dependence)
    sample = take_items(votes, many)
    whole = vote_arrays(sample, like=arrays)
    likely = np.argsort(-average.weight_r, kind="stable")[:2]
    weight_c = average.weight_r[likely] / average.weight_r[likely].sum()
    believed_sk = sum(
        w * refit_model(whole, average.cases[c]).posterior_ik for w, c in zip(weight_c, likely, strict=True) if w > 0.05
    )
    if refit is None and fit.method in ESTIMATORS:
        refit = ESTIMATORS[fit.method]().fit
    known = len(many) == int((votes.votes_i > 0).sum()) or refit is None
    rule = fit.take(many) if known or refit is None else refit(sample)
    return _Lesson(scores(rule), np.asarray(believed_sk), dependence)


@dataclass(frozen=True, slots=True)
class Bin:
    """The items whose label has a confidence in (low, high], and how many of those with gold are right."""

    low: float
    high: float
    items: int
    mean_confidence: float | None  # None where there is no item
    gold_items: int
    gold_right: float  # a tie counts as a fair draw among the tied classes


@dataclass(frozen=True, slots=True)
class Reliability:
    """Confidence beside the share of right labels.

    `ece`, the expected calibration error, is the mean distance of the two over the gold items, bin by bin.
    """

    bins: tuple[Bin, ...]
    ece: float | None  # None without gold
    gold_items: int


def reliability(votes: Votes, fit: Fit, confidence_i: FloatArray, *, bins: int = 10) -> Reliability:
    """Confidence in bins of equal width from 0 to 1; items without votes are left out.

    >>> from majorant.methods.majority import Majority
    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], items="ab", workers="wx", labels="ny",
    ...                          gold=[1, 0])
    >>> fit = Majority().fit(votes)
    >>> reliability(votes, fit, fit.posterior.max(axis=1)).ece
    0.0
    """
    voted = np.flatnonzero(votes.votes_i > 0)
    confidence_v = confidence_i[voted]
    bin_v = np.clip(np.ceil(confidence_v * bins).astype(int) - 1, 0, bins - 1)
    gold_v = votes.truth_i[voted]
    known = np.flatnonzero(gold_v >= 0)
    right_g = right_share(fit.posterior[voted[known]], gold_v[known])

    def sums(bin_: IntArray, value: FloatArray | None = None) -> FloatArray:
        return np.bincount(bin_, weights=value, minlength=bins).astype(float)

    items_b, confidence_b = sums(bin_v), sums(bin_v, confidence_v)
    gold_b, right_b, promised_b = (
        sums(bin_v[known]),
        sums(bin_v[known], right_g),
        sums(bin_v[known], confidence_v[known]),
    )
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
    ece = float(np.abs(right_b - promised_b).sum() / len(known)) if len(known) else None
    return Reliability(filled, ece, len(known))
