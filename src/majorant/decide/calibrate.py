"""Confidence that can be believed: the probabilities of a fit, tempered, and the accuracy that they promise.

What is learned from what, and what cannot be seen: docs/labels.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from majorant.decide.echo import Echoes, ballots, listen
from majorant.decide.reliability import Reliability, reliability
from majorant.estimate.fit import Fit
from majorant.interval import Estimate, as_level
from majorant.kernels import FloatArray, softmax_rows
from majorant.merge import take_items
from majorant.randomness import as_generator
from majorant.votes import Votes

Refit = Callable[[Votes], Fit]  # the rule, fitted to other votes
MOST_ENTRIES = 1_000_000  # votes times classes of the sample of items that is learned from
VOTE_SHARES = ("majority", "wawa", "zero-based-skill", "la-one-pass", "la-two-pass", "iwmv", "bwa")


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A fit whose probabilities are calibrated; its labels and ties are those of the fit that was given.

    `accuracy` is the expected share of right labels among the items with votes; `source` says what it rests on:
    "votes", "gold" or "gold and votes".
    """

    fit: Fit
    temperature: float  # probabilities are raised to 1 / temperature
    slip: float  # the share of items whose votes tell nothing: their probability goes to all classes alike
    accuracy: Estimate
    reliability: Reliability
    source: str
    echo: float  # correlation of two votes on an item given the truth, as far as votes can tell


def calibrate(
    votes: Votes,
    fit: Fit,
    *,
    level: float = 0.95,
    rng: int | np.random.Generator,
    refit: Refit | None = None,  # noqa: ARG001
) -> Labels:
    """Temper the probabilities of `fit` to what the votes bear out, and say how many labels will be right."""
    as_level(level)
    generator = as_generator(rng)
    sample = _sample(votes, generator)
    echoes = listen(ballots(take_items(votes, sample)))
    believed_sk = np.einsum("r,rik->ik", echoes.weight_r, echoes.posterior_rik)
    score_ik = scores(fit)
    temperature, slip = _temper(score_ik[sample], believed_sk)
    calibrated = _keep_labels(fit, tempered(score_ik, temperature, slip))
    accuracy = _accuracy(calibrated, sample, echoes, level)
    return Labels(
        fit=calibrated,
        temperature=temperature,
        slip=slip,
        accuracy=accuracy,
        reliability=reliability(votes, calibrated),
        source="votes",
        echo=float(echoes.weight_r @ echoes.echo_r),
    )


def scores(fit: Fit) -> FloatArray:
    """The log-probabilities of a fit; shares of votes are no probabilities, and each vote counts for one instead."""
    if fit.method in VOTE_SHARES:
        return np.asarray(fit.posterior * fit.votes_i[:, None])
    return np.log(np.maximum(fit.posterior, np.finfo(float).tiny))


def tempered(score_ik: FloatArray, temperature: float, slip: float) -> FloatArray:
    """Probabilities in proportion to exp(score / temperature), with the share `slip` spread over all classes."""
    posterior_ik, _ = softmax_rows(score_ik / temperature)
    return np.asarray((1 - slip) * posterior_ik + slip / score_ik.shape[1])


def _sample(votes: Votes, rng: np.random.Generator) -> NDArray[np.int64]:
    """Items with votes, all or as many as the limit allows."""
    item = np.flatnonzero(votes.votes_i > 0)
    limit = MOST_ENTRIES // max(len(votes.labels), 1)
    if votes.n_votes <= limit:
        return item
    item = rng.permutation(item)
    return np.sort(item[: max(1, int(np.searchsorted(np.cumsum(votes.votes_i[item]), limit)))])


def _temper(score_sk: FloatArray, believed_sk: FloatArray) -> tuple[float, float]:
    """The temperature and the slip under which what is believed of the items is least surprising."""
    from scipy.optimize import minimize

    n_classes = score_sk.shape[1]
    if n_classes < 2:
        return 1.0, 0.0

    def surprise(x: FloatArray) -> float:
        posterior_sk = tempered(score_sk, float(np.exp(x[0])), float(1 / (1 + np.exp(-x[1]))))
        return -float((believed_sk * np.log(np.maximum(posterior_sk, 1e-300))).sum()) / len(score_sk)

    best = minimize(surprise, [0.0, -4.0], method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-7, "maxiter": 200})
    return float(np.exp(np.clip(best.x[0], -3, 3))), float(1 / (1 + np.exp(-best.x[1])))


def _keep_labels(fit: Fit, posterior_ik: FloatArray) -> Fit:
    """The fit with other probabilities, except where they would change a label or a tie by rounding."""
    new = replace(fit, posterior=posterior_ik)
    moved_i = new.codes() != fit.codes()
    return replace(fit, posterior=np.where(moved_i[:, None], fit.posterior, posterior_ik)) if moved_i.any() else new


def _accuracy(fit: Fit, sample: NDArray[np.int64], echoes: Echoes, level: float) -> Estimate:
    from scipy.stats import norm

    if not len(sample):
        return Estimate(None, reason="no item holds a vote")
    label_s = fit.posterior[sample].argmax(axis=1)
    accuracy_r = echoes.posterior_rik[:, np.arange(len(sample)), label_s].mean(axis=1)
    confidence_i = fit.posterior[fit.votes_i > 0].max(axis=1)
    value = float(confidence_i.mean())
    spread = float(np.sqrt(echoes.weight_r @ (accuracy_r - echoes.weight_r @ accuracy_r) ** 2))
    spread += float(np.sqrt((confidence_i * (1 - confidence_i)).sum()) / len(confidence_i))
    width = spread * float(norm.ppf((1 + level) / 2))
    return Estimate(value, max(0.0, value - width), min(1.0, value + width))
