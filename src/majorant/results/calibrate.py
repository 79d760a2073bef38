"""Confidence: the probabilities of a fit, tempered by gold labels where there are enough, else by the votes alone.

What is learned from what, and what cannot be seen: docs/labels.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.items import draw_items, name_hashes, take_items
from majorant.kernels import row_maxima, softmax_rows
from majorant.methods import ESTIMATORS
from majorant.methods.fit import Fit
from majorant.results.choice import ENOUGH_GOLD
from majorant.results.combine import n_gold
from majorant.results.dependence_model import fit_models, refit_model, vote_arrays
from majorant.results.difference import right_share
from majorant.results.labels import changes, label_columns
from majorant.tabular import Tabular
from majorant.values import FloatArray, as_generator
from majorant.votes import IntArray, Votes

Refit = Callable[[Votes], Fit]  # the rule, fitted to other votes
DEPENDENCE_ENTRIES = 100_000  # votes times classes of the items from which the dependence of votes is learned
MOST_ENTRIES = 4_000_000  # and of those from which the temperature is
MOST_TEMPERED = 50_000  # items; of more, every so manyth: two numbers are learned from them
LIKELY_CASES, RARE = 2, 0.05
LEAST_TEMPERATURE, MOST_TEMPERATURE, MOST_EPSILON = 0.1, 20.0, 0.5
FIRST_EPSILON = 0.02
FOLDS, FOLD_SEED = 5, 2**32 + 2
UNSURE = 1e-300  # a probability of 0 counts as this
BINS = 10
FIRST_STEP, STEP_FROM_ZERO = 0.05, 0.00025  # the first simplex: relative, and where a number is 0
STEPS_PER_NUMBER = 200


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Labels(Tabular):
    """A fit whose probabilities are calibrated; its labels and ties are those of the fit that was given.

    `source` says by what: "gold", where confidence can be believed as far as the gold items are a random sample;
    "votes", where it is the model's own figure; None where there was nothing to learn from.
    """

    fit: Fit
    calibration: Calibration | None
    reliability: Reliability
    source: Literal["gold", "votes"] | None
    dependence: float | None  # correlation of two votes on an item given the truth, as far as votes can tell
    change_i: NDArray[np.int8]  # against majority vote: a place in CHANGES

    @property
    def _label_type(self) -> Any:
        return self.fit._label_type

    def table(self) -> dict[str, Any]:
        """The columns of `labels.csv`, and with few classes the calibrated p(LABEL) of each; a row for each item."""
        probabilities = self.fit.table()
        columns = {"item": probabilities["item"], **label_columns(self.fit, self.change_i, self.fit.codes())}
        return columns | {name: column for name, column in probabilities.items() if name not in columns}


class Calibration(NamedTuple):
    """What was learned about confidence: small, so that it goes wherever the items are.

    A gold item is tempered by what the gold labels of other items taught (`by_fold`), not by its own.
    """

    temperature: float  # probabilities are raised to 1 / temperature
    epsilon: float  # the share of each item's probability that goes to all classes alike
    by_fold: tuple[tuple[float, float], ...] = ()


class _Lesson(NamedTuple):
    """What the rule says of some items, and what is believed of them."""

    score_sk: FloatArray
    believed_sk: FloatArray
    dependence: float


def calibrate(votes: Votes, fit: Fit, *, rng: int | np.random.Generator, refit: Refit | None = None) -> Labels:
    """Temper the probabilities of `fit` to what gold labels bear out, or, with fewer than 50, to what the votes do.

    Large data are learned from on samples of items; `refit` fits the rule to a sample (by default the method in
    ESTIMATORS that has the fit's name), so that the rule knows no more of the workers there than the sample does.

    >>> from majorant.methods.majority import Majority
    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=500, n_votes=5, rng=0)
    >>> labels = calibrate(votes, Majority().fit(votes), rng=0)
    >>> labels.source, bool(.92 < labels.fit.posterior.max(axis=1).mean() < .96)
    ('votes', True)
    """
    change_i = changes(votes, fit)
    if len(votes.labels) < 2 or not votes.n_votes:
        judged = reliability(votes, fit)
        return Labels(fit=fit, calibration=None, reliability=judged, source=None, dependence=None, change_i=change_i)
    dependence: float | None = None
    source: Literal["gold", "votes"] = "gold"
    if n_gold(votes) >= ENOUGH_GOLD:
        learned = _learn_from_gold(votes, fit)
    else:
        lesson = _learn(votes, fit, refit, as_generator(rng))
        some = slice(None, None, len(lesson.score_sk) // MOST_TEMPERED + 1)
        learned = Calibration(*learn_calibration(lesson.score_sk[some], lesson.believed_sk[some]))
        source, dependence = "votes", lesson.dependence
    calibrated = as_calibrated(learned, votes, fit)
    judged = reliability(votes, calibrated)
    return Labels(
        fit=calibrated, calibration=learned, reliability=judged, source=source, dependence=dependence, change_i=change_i
    )


def _learn_from_gold(votes: Votes, fit: Fit) -> Calibration:
    """The calibration of all gold items, and for each fold of them that of the others."""
    assert votes.gold_i is not None
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    score_gk, gold_g = scores(_rows(fit, known)), votes.gold_i[known]
    truth_gk = np.eye(len(votes.labels))[gold_g]
    fold_g = _folds([votes.items[i] for i in known])
    by_fold = tuple(learn_calibration(score_gk[fold_g != f], truth_gk[fold_g != f]) for f in range(FOLDS))
    return Calibration(*learn_calibration(score_gk, truth_gk), by_fold)


def _folds(names: Sequence[Hashable]) -> NDArray[np.int64]:
    """A fold for each item, by its name: the same wherever the items lie."""
    return (name_hashes(names, FOLD_SEED) % np.uint64(FOLDS)).astype(np.int64)


def scores(fit: Fit) -> FloatArray:
    """The log-probabilities of a fit; shares of votes are no probabilities, and each vote counts for one instead."""
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
    """The temperature and the epsilon under which what is believed of the items is least surprising."""

    # As `tempered`, a row for each class: sums along the short axis would take most of the time.
    gap_ks, believed_ks = (score_sk - row_maxima(score_sk)[:, None]).T.copy(), believed_sk.T.copy()

    def surprise(x: FloatArray) -> float:
        posterior_ks = np.exp(gap_ks / float(np.exp(x[0])))
        posterior_ks *= (1 - x[1]) / posterior_ks.sum(axis=0)
        posterior_ks += x[1] / len(posterior_ks)
        np.maximum(posterior_ks, UNSURE, out=posterior_ks)
        return -float(np.vdot(believed_ks, np.log(posterior_ks, out=posterior_ks))) / len(score_sk)

    bounds = [(np.log(LEAST_TEMPERATURE), np.log(MOST_TEMPERATURE)), (0.0, MOST_EPSILON)]
    temperature, epsilon = least(surprise, [0.0, FIRST_EPSILON], bounds, precision=1e-3, value_precision=1e-7).tolist()
    return float(np.exp(temperature)), epsilon


def as_calibrated(learned: Calibration | None, votes: Votes, fit: Fit) -> Fit:
    """The items of a rule with the confidence that was learned from some of them."""
    if learned is None:
        return fit
    score_ik = scores(fit)
    posterior_ik = tempered(score_ik, learned.temperature, learned.epsilon)
    if learned.by_fold and votes.gold_i is not None:
        known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
        fold_g = _folds([votes.items[i] for i in known]) if len(known) else np.empty(0, np.int64)
        for fold, (temperature, epsilon) in enumerate(learned.by_fold):
            here = known[fold_g == fold]
            posterior_ik[here] = tempered(score_ik[here], temperature, epsilon)
    return keep_labels(fit, posterior_ik)


def keep_labels(fit: Fit, posterior_ik: FloatArray) -> Fit:
    """The fit with other probabilities, except where rounding would change a label or a tie."""
    new = replace(fit, posterior=posterior_ik)
    moved_i = (new.codes() != fit.codes()) | (new.tied_i != fit.tied_i)
    return replace(fit, posterior=np.where(moved_i[:, None], fit.posterior, posterior_ik)) if moved_i.any() else new


def _learn(votes: Votes, fit: Fit, refit: Refit | None, rng: np.random.Generator) -> _Lesson:
    """The dependence of votes from all items or a sample; with it, what is believed of as many as the memory allows."""
    n_classes = len(votes.labels)
    many = draw_items(votes, np.flatnonzero(votes.votes_i > 0), MOST_ENTRIES // n_classes, rng=rng)
    few = draw_items(votes, many, DEPENDENCE_ENTRIES // n_classes, rng=rng)
    arrays = vote_arrays(take_items(votes, few))
    average = fit_models(arrays)
    dependence = float(average.weight_r @ average.dependence_r)
    if len(few) == len(many):
        return _Lesson(scores(_rows(fit, few)), average.posterior_ik, dependence)
    sample = take_items(votes, many)
    whole = vote_arrays(sample, like=arrays)
    likely = np.argsort(-average.weight_r, kind="stable")[:LIKELY_CASES]
    weight_c = average.weight_r[likely] / average.weight_r[likely].sum()
    believed_sk = sum(
        w * refit_model(whole, average.cases[c]).posterior_ik for w, c in zip(weight_c, likely, strict=True) if w > RARE
    )
    refit = refit or _refit_by_name(fit.method)
    known = len(many) == int((votes.votes_i > 0).sum()) or refit is None
    rule = _rows(fit, many) if known or refit is None else refit(sample)
    return _Lesson(scores(rule), np.asarray(believed_sk), dependence)


def _rows(fit: Fit, item_s: IntArray) -> Fit:
    return replace(fit, posterior=fit.posterior[item_s], votes_i=fit.votes_i[item_s], names=None)


def _refit_by_name(method: str) -> Refit | None:
    if method not in ESTIMATORS:
        return None
    return ESTIMATORS[method]().fit


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


def reliability(votes: Votes, fit: Fit, *, bins: int = BINS) -> Reliability:
    """Bins of equal width from 0 to 1; items without votes are left out.

    >>> from majorant.methods.majority import Majority
    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 1], items="ab", workers="wx", labels="ny",
    ...                          gold=[1, 0])
    >>> reliability(votes, Majority().fit(votes)).ece
    0.0
    """
    voted = np.flatnonzero(votes.votes_i > 0)
    confidence_v = row_maxima(fit.posterior[voted]) if len(voted) else np.empty(0)
    bin_v = np.clip(np.ceil(confidence_v * bins).astype(int) - 1, 0, bins - 1)
    gold_v = np.full(len(voted), -1) if votes.gold_i is None else votes.gold_i[voted]
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


def least(
    function: Callable[[FloatArray], float],
    start: Sequence[float],
    bounds: Sequence[tuple[float, float]],
    *,
    precision: float,
    value_precision: float,
) -> FloatArray:
    """Where the function is least, once no corner of the simplex is further off, in place or value, than told.

    >>> least(lambda x: (x[0] - 1)**2 + (x[1] - 3)**2, [0, 0], [(-5, 5), (0, 2)], precision=1e-4,
    ...       value_precision=1e-9).round(3).tolist()
    [1.0, 2.0]
    """
    n, (low, high) = len(start), np.array(bounds, dtype=float).T
    corner = np.array([start] * (n + 1), dtype=float)
    for k in range(n):
        corner[k + 1, k] = corner[0, k] * (1 + FIRST_STEP) if corner[0, k] else STEP_FROM_ZERO
    corner = np.clip(np.where(corner > high, 2 * high - corner, corner), low, high)
    value = np.array([function(x) for x in corner])
    n_calls = n + 1
    for _ in range(STEPS_PER_NUMBER * n):
        order = np.argsort(value, kind="stable")
        corner, value = corner[order], value[order]
        near = np.abs(corner[1:] - corner[0]).max() <= precision and (value[1:] - value[0]).max() <= value_precision
        if near or n_calls >= STEPS_PER_NUMBER * n:
            break
        middle = corner[:-1].sum(axis=0) / n
        other = np.clip(2 * middle - corner[-1], low, high)
        at_other = function(other)
        n_calls += 1
        if value[0] <= at_other < value[-2]:
            corner[-1], value[-1] = other, at_other
            continue
        # Twice as far where that was the best of all; else half as far, on the better side.
        share = 2.0 if at_other < value[0] else 0.5 if at_other < value[-1] else -0.5
        further = np.clip((1 + share) * middle - share * corner[-1], low, high)
        at_further = function(further)
        n_calls += 1
        if share == 2.0:
            better = at_further < at_other
            corner[-1], value[-1] = (further, at_further) if better else (other, at_other)
        elif at_further <= at_other if share == 0.5 else at_further < value[-1]:
            corner[-1], value[-1] = further, at_further
        else:
            corner[1:] = np.clip(corner[0] + 0.5 * (corner[1:] - corner[0]), low, high)
            value[1:] = [function(x) for x in corner[1:]]
            n_calls += n
    return np.asarray(corner[np.argmin(value)])
