"""Confidence that can be believed: the probabilities of a fit, tempered, and the accuracy that they promise.

What is learned from what, and what cannot be seen: docs/labels.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.answer.choice import expected_accuracy
from majorant.answer.echo import Ballots, Echoes, again, ballots, listen, without
from majorant.answer.promise import Beliefs, promise
from majorant.answer.reliability import Reliability, reliability
from majorant.estimate import ESTIMATORS
from majorant.estimate.fit import Fit
from majorant.interval import Estimate, as_level
from majorant.kernels import FloatArray, softmax_rows
from majorant.merge import draw_items, take_items
from majorant.randomness import as_generator
from majorant.tabular import Tabular
from majorant.votes import IntArray, Votes

Refit = Callable[[Votes], Fit]  # the rule, fitted to other votes
ECHO_ENTRIES = 100_000  # votes times classes of the items from which the echo is learned
MOST_ENTRIES = 4_000_000  # and of those from which the temperature is
LIKELY_CASES, RARE = 2, 0.05
VOTE_SHARES = ("majority", "wawa", "zero-based-skill", "la-one-pass", "la-two-pass", "iwmv", "bwa")
LEAST_TEMPERATURE, MOST_TEMPERATURE, MOST_SLIP = 0.1, 20.0, 0.5
FIRST_SLIP = 0.02
GROUPS = 10
UNSURE = 1e-300  # a probability of 0 counts as this


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Labels(Tabular):
    """A fit whose probabilities are calibrated; its labels and ties are those of the fit that was given.

    `accuracy` is the expected share of right labels among the items with votes; `source` says what it rests on:
    "votes", "gold" or "gold and votes".
    """

    fit: Fit
    temperature: float  # probabilities are raised to 1 / temperature
    slip: float  # the share of each item's probability that goes to all classes alike
    accuracy: Estimate
    reliability: Reliability
    source: str
    echo: float | None  # correlation of two votes on an item given the truth, as far as votes can tell

    @property
    def _label_type(self) -> Any:
        return self.fit._label_type

    def table(self) -> dict[str, Any]:
        """The label of each item with its calibrated confidence: see `Fit.table`."""
        return self.fit.table()

    @property
    def temper(self) -> Temper | None:
        """What was learned about confidence, None where there was nothing to learn from."""
        return None if self.echo is None else Temper(self.temperature, self.slip)


class Temper(NamedTuple):
    """What was learned about confidence: small, so that it goes wherever the items are."""

    temperature: float
    slip: float


class _Lesson(NamedTuple):
    """What the rule says of some items, what is believed of them, and how sure that is."""

    score_sk: FloatArray
    believed_sk: FloatArray
    beliefs: Beliefs
    echo: float


def calibrate(
    votes: Votes, fit: Fit, *, level: float = 0.95, rng: int | np.random.Generator, refit: Refit | None = None
) -> Labels:
    """Temper the probabilities of `fit` to what the votes bear out, and say how many labels will be right.

    Gold labels are not used for the temperature; for the expected accuracy they are, as a random share of the items.
    Large data are learned from on samples of items; `refit` fits the rule to a sample (by default the method in
    ESTIMATORS that has the fit's name), so that the rule knows no more of the workers there than the sample does.

    >>> from majorant.estimate.majority import Majority
    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=500, n_votes=5, rng=0)
    >>> labels = calibrate(votes, Majority().fit(votes), rng=0)
    >>> labels.accuracy.low < .942 < labels.accuracy.high
    True
    """
    as_level(level)
    generator = as_generator(rng)
    if len(votes.labels) < 2 or not votes.n_votes:
        return _untold(votes, fit, "no item holds a vote" if not votes.n_votes else "all votes say the same")
    lesson = _learn(votes, fit, refit, generator)
    temperature, slip = temper(lesson.score_sk, lesson.believed_sk)
    calibrated = keep_labels(fit, tempered(scores(fit), temperature, slip))
    promised = promise(votes, calibrated, lesson.beliefs, level)
    return Labels(
        fit=calibrated,
        temperature=temperature,
        slip=slip,
        accuracy=promised.accuracy,
        reliability=reliability(votes, calibrated),
        source=promised.source,
        echo=lesson.echo,
    )


def accuracy_of(other: Fit, labels: Labels) -> Estimate:
    """The expected accuracy of other labels of the same items: that of `labels` less what they may lose."""
    told, own, of_other = labels.accuracy, *(expected_accuracy(fit, labels.fit).value for fit in (labels.fit, other))
    if told.value is None or own is None or of_other is None:
        return Estimate(None, reason=told.reason or "no item has a vote")
    value = min(1.0, max(0.0, told.value - (own - of_other)))
    return Estimate(value, reason="no interval: the difference from the recommended labels is taken from the model")


def scores(fit: Fit) -> FloatArray:
    """The log-probabilities of a fit; shares of votes are no probabilities, and each vote counts for one instead."""
    if fit.method in VOTE_SHARES:
        return np.asarray(fit.posterior * fit.votes_i[:, None])
    return np.log(np.maximum(fit.posterior, UNSURE))


def tempered(score_ik: FloatArray, temperature: float, slip: float) -> FloatArray:
    """Probabilities in proportion to exp(score / temperature), with the share `slip` spread over all classes.

    >>> tempered(np.log([[.8, .2]]), 2.0, .1).round(3).tolist()
    [[0.65, 0.35]]
    """
    posterior_ik, _ = softmax_rows(score_ik / temperature)
    return np.asarray((1 - slip) * posterior_ik + slip / score_ik.shape[1])


def temper(score_sk: FloatArray, believed_sk: FloatArray) -> tuple[float, float]:
    """The temperature and the slip under which what is believed of the items is least surprising."""
    from scipy.optimize import minimize

    def surprise(x: FloatArray) -> float:
        posterior_sk = tempered(score_sk, float(np.exp(x[0])), float(x[1]))
        return -float((believed_sk * np.log(np.maximum(posterior_sk, UNSURE))).sum()) / len(score_sk)

    bounds = [(np.log(LEAST_TEMPERATURE), np.log(MOST_TEMPERATURE)), (0.0, MOST_SLIP)]
    best = minimize(
        surprise, [0.0, FIRST_SLIP], method="Nelder-Mead", bounds=bounds, options={"xatol": 1e-3, "fatol": 1e-7}
    )
    return float(np.exp(best.x[0])), float(best.x[1])


def as_calibrated(temper: Temper | None, part: Fit) -> Fit:
    """Other items of the same rule, with the confidence that was learned from some."""
    return part if temper is None else keep_labels(part, tempered(scores(part), *temper))


def keep_labels(fit: Fit, posterior_ik: FloatArray) -> Fit:
    """The fit with other probabilities, except where rounding would change a label or a tie."""
    new = replace(fit, posterior=posterior_ik)
    moved_i = (new.codes() != fit.codes()) | (new.tied_i != fit.tied_i)
    return replace(fit, posterior=np.where(moved_i[:, None], fit.posterior, posterior_ik)) if moved_i.any() else new


def _untold(votes: Votes, fit: Fit, reason: str) -> Labels:
    """Labels as they are, where there is nothing to learn from."""
    found = reliability(votes, fit)
    return Labels(
        fit=fit,
        temperature=1.0,
        slip=0.0,
        accuracy=Estimate(None, reason=reason),
        reliability=found,
        source="votes",
        echo=None,
    )


def _learn(votes: Votes, fit: Fit, refit: Refit | None, rng: np.random.Generator) -> _Lesson:
    """The echo from all items or a sample; with it, what is believed of as many items as the memory allows."""
    n_classes = len(votes.labels)
    many = draw_items(votes, np.flatnonzero(votes.votes_i > 0), MOST_ENTRIES // n_classes, rng=rng)
    few = draw_items(votes, many, ECHO_ENTRIES // n_classes, rng=rng)
    found = ballots(take_items(votes, few))
    echoes = listen(found)
    beliefs = _beliefs(found, echoes, fit.posterior[few].argmax(axis=1), rng)
    echo = float(echoes.weight_r @ echoes.echo_r)
    if len(few) == len(many):
        return _Lesson(scores(_rows(fit, few)), echoes.posterior_ik, beliefs, echo)
    sample = take_items(votes, many)
    whole = ballots(sample, like=found)
    likely = np.argsort(-echoes.weight_r, kind="stable")[:LIKELY_CASES]
    weight_c = echoes.weight_r[likely] / echoes.weight_r[likely].sum()
    believed_sk = sum(
        w * again(whole, echoes.cases[c]).posterior_ik for w, c in zip(weight_c, likely, strict=True) if w > RARE
    )
    refit = refit or _refit_by_name(fit.method, rng)
    known = len(many) == int((votes.votes_i > 0).sum()) or refit is None
    rule = _rows(fit, many) if known or refit is None else refit(sample)
    return _Lesson(scores(rule), np.asarray(believed_sk), beliefs, echo)


def _rows(fit: Fit, item_s: IntArray) -> Fit:
    return replace(fit, posterior=fit.posterior[item_s], votes_i=fit.votes_i[item_s], names=None)


def _refit_by_name(method: str, rng: np.random.Generator) -> Refit | None:
    if method not in ESTIMATORS:
        return None
    estimator = ESTIMATORS[method]

    def fit_again(votes: Votes) -> Fit:
        return estimator().fit(votes, rng=rng) if estimator.stochastic else estimator().fit(votes)

    return fit_again


def _beliefs(found: Ballots, echoes: Echoes, label_s: NDArray[np.int64], rng: np.random.Generator) -> Beliefs:
    """The accuracy of the labels in each case, and how it varies when a tenth of the items is left out (jackknife)."""
    n_items = len(label_s)
    at = np.arange(n_items), label_s
    accuracy_r = np.array([case.posterior_ik[at].mean() for case in echoes.cases])
    likely = echoes.cases[int(echoes.weight_r.argmax())]
    group_s = rng.permutation(np.arange(n_items) % GROUPS)
    left_g = np.array([without(found, likely, group_s == g)[at].mean() for g in range(min(GROUPS, n_items))])
    sampling = float(np.sqrt((GROUPS - 1) / GROUPS * ((left_g - left_g.mean()) ** 2).sum()))
    return Beliefs(accuracy_r, echoes.echo_r, echoes.evidence_r, echoes.weight_r, sampling)
