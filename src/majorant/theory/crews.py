"""Margins of many crews drawn from the same voters, under many models at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.theory.checks import FloatArray, as_models, safe_log
from majorant.theory.crew import crew_margin

BATCH_ELEMENTS = 100_000  # models x crews that one step holds for each voter, or ballot: they stay in the cache
NETWORK_UP_TO = 9  # voters whose weights are sorted by comparing neighbours, all crews at once
MOST_BALLOTS = 2_500  # of a crew of more than two classes: up to so many are gone through one by one
ASSIGNMENT_WORK = 20_000.0  # steps that the assignment problems of a margin are worth


def crew_margins(prior: ArrayLike, confusions: ArrayLike, crews: ArrayLike) -> FloatArray:
    """`crew_margin` of each crew under each model, (..., S), ties left out.

    prior (..., K) and confusions (..., J, K, K) hold the models, crews (S, H) the voters of each crew.  Two classes
    are sorted all at once, more classes go through all ballots while these are few; larger crews of more classes, and
    probabilities of 0, are taken one by one.

    >>> voter = [[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]]]
    >>> crew_margins([.5, .5], voter, [[1, 2, 3], [0, 1, 2]]).round(3).tolist()
    [0.405, -1.386]
    """
    prior_bjk, confusion_bjkl = as_models(np.expand_dims(np.asarray(prior, dtype=float), -2), confusions)
    crew_sh = np.asarray(crews, dtype=np.intp)
    batch, n_classes = confusion_bjkl.shape[:-3], confusion_bjkl.shape[-1]
    prior_bk = prior_bjk[..., 0, :].reshape(-1, n_classes)
    confusion_bjkl = confusion_bjkl.reshape(-1, *confusion_bjkl.shape[-3:])
    if n_classes == 2:
        margin_bs = _two_class_margins(prior_bk, confusion_bjkl, crew_sh)
    elif _enumerable(n_classes, crew_sh.shape[1]):
        margin_bs = _ballot_margins(prior_bk, confusion_bjkl, crew_sh)
    else:
        margin_bs = np.full((len(prior_bk), len(crew_sh)), np.nan)
    for b, s in np.argwhere(np.isnan(margin_bs)):
        margin_bs[b, s] = crew_margin(prior_bk[b], confusion_bjkl[b, crew_sh[s]])
    return margin_bs.reshape(*batch, len(crew_sh))


def ballot_work(n_classes: int, n_voters: int) -> float:
    """About how many steps the margin of one crew of more than two classes takes.

    >>> ballot_work(3, 3), ballot_work(4, 20)
    (243.0, 20000.0)
    """
    if not _enumerable(n_classes, n_voters):
        return ASSIGNMENT_WORK
    return float(n_classes ** (n_voters + 1) * n_voters)


def _enumerable(n_classes: int, n_voters: int) -> bool:
    return n_voters * log(n_classes) <= log(MOST_BALLOTS)


def _two_class_margins(
    prior_bk: FloatArray, confusion_bjkl: FloatArray, crew_sh: NDArray[np.integer[Any]]
) -> FloatArray:
    """The sorted sums of docs/theory/crew.md; NaN where a probability is 0."""
    log_jklb, log_prior_kb = safe_log(confusion_bjkl).transpose(1, 2, 3, 0), safe_log(prior_bk).T
    with np.errstate(invalid="ignore"):
        none_jb = log_jklb[:, 0, 1] - log_jklb[:, 1, 1]  # what a vote for class 1 adds to the odds of class 0
        beta_jb = log_jklb[:, 0, 0] - log_jklb[:, 1, 0] - none_jb
        start_b = log_prior_kb[0] - log_prior_kb[1]
    zero_jb = ~(np.isfinite(beta_jb) & np.isfinite(none_jb) & np.isfinite(start_b))
    beta_jb, none_jb = np.where(zero_jb, np.nan, beta_jb), np.where(zero_jb, np.nan, none_jb)
    margin_bs = np.empty((len(prior_bk), len(crew_sh)))
    size = max(1, BATCH_ELEMENTS // max(1, len(prior_bk)))
    for first in range(0, len(crew_sh), size):
        crew_hs = crew_sh[first : first + size].T
        base_sb = np.where(np.isfinite(start_b), start_b, np.nan) + sum(none_jb[voter_s] for voter_s in crew_hs)
        beta_hsb = _rising([beta_jb[voter_s] for voter_s in crew_hs])
        most = len(crew_hs) // 2 + 1
        low_sb = base_sb + sum(beta_hsb[:most])
        for beta_sb in beta_hsb[most:]:
            low_sb += np.minimum(beta_sb, 0)
            base_sb += np.maximum(beta_sb, 0)
        margin_bs[:, first : first + size] = np.minimum(low_sb, -base_sb).T
    return margin_bs


def _rising(value: Sequence[FloatArray]) -> list[FloatArray]:
    """The smallest of several arrays at each place, then the second smallest, and so on."""
    if len(value) > NETWORK_UP_TO:
        return list(np.sort(np.stack(value), axis=0))
    rising = list(value)
    for step in range(len(rising)):
        for a in range(step % 2, len(rising) - 1, 2):
            rising[a], rising[a + 1] = np.minimum(rising[a], rising[a + 1]), np.maximum(rising[a], rising[a + 1])
    return rising


def _ballot_margins(prior_bk: FloatArray, confusion_bjkl: FloatArray, crew_sh: NDArray[np.integer[Any]]) -> FloatArray:
    """The smallest log-odds of the winner over all ballots that have one; NaN where a probability is 0."""
    (n_models, n_classes), n_voters = prior_bk.shape, crew_sh.shape[1]
    ballot_ph = np.indices([n_classes] * n_voters).reshape(n_voters, -1).T
    count_pk = (ballot_ph[:, :, None] == np.arange(n_classes)).sum(axis=1)
    top_pk = count_pk == count_pk.max(axis=1, keepdims=True)
    log_bjlk, log_prior_bk = safe_log(confusion_bjkl).transpose(0, 1, 3, 2), safe_log(prior_bk)
    margin_bs = np.full((n_models, len(crew_sh)), np.inf)
    size = max(1, BATCH_ELEMENTS // max(1, n_models * len(ballot_ph)))
    for first in range(0, len(crew_sh), size):
        part = slice(first, first + size)
        for c in range(n_classes):
            won_hq = ballot_ph[(top_pk.sum(axis=1) == 1) & top_pk[:, c]].T
            score_bsqk = log_prior_bk[:, None, None]
            for voter_s, label_q in zip(crew_sh[part].T, won_hq, strict=True):
                score_bsqk = score_bsqk + log_bjlk[:, voter_s[:, None], label_q]
            with np.errstate(invalid="ignore"):
                odds_bsq = score_bsqk[..., c] - np.delete(score_bsqk, c, axis=3).max(axis=3)
            margin_bs[:, part] = np.minimum(margin_bs[:, part], odds_bsq.min(axis=2))
    impossible_bj = (confusion_bjkl == 0).any(axis=(2, 3)) | (prior_bk == 0).any(axis=1, keepdims=True)
    margin_bs[impossible_bj[:, crew_sh].any(axis=2)] = np.nan
    return margin_bs


def count_distribution(confusions: ArrayLike) -> tuple[FloatArray, NDArray[np.int_]]:
    """P(vote counts | class) of a crew, (..., K, C), and the counts, (K, C): a Poisson-binomial, a voter at a time.

    confusions (..., H, K, K): leading axes hold different models of the crew.

    >>> given, counts = count_distribution([[[.9, .1], [.2, .8]], [[.6, .4], [.4, .6]]])
    >>> counts.tolist(), given.round(2).tolist()
    ([[0, 1, 2], [2, 1, 0]], [[0.04, 0.42, 0.54], [0.48, 0.44, 0.08]])
    """
    confusion_hkl = np.asarray(confusions, dtype=float)
    batch, (n_voters, n_classes) = confusion_hkl.shape[:-3], confusion_hkl.shape[-3:-1]
    confusion_bhkl = confusion_hkl.reshape(-1, n_voters, n_classes, n_classes)
    axes = [n_voters + 1] * (n_classes - 1)  # the votes for each class but the last
    column = (-1, n_classes, *[1] * len(axes))
    given = np.zeros((len(confusion_bhkl), n_classes, *axes))
    given.reshape(len(given), n_classes, -1)[..., 0] = 1
    for h in range(n_voters):
        before, given = given, given * confusion_bhkl[:, h, :, -1].reshape(column)
        for l in range(n_classes - 1):
            to, of = [slice(None)] * given.ndim, [slice(None)] * given.ndim
            to[l + 2], of[l + 2] = slice(1, None), slice(None, -1)
            given[tuple(to)] += before[tuple(of)] * confusion_bhkl[:, h, :, l].reshape(column)
    count_lc = np.indices(axes).reshape(n_classes - 1, -1)
    last_c = n_voters - count_lc.sum(axis=0)
    count_lc = np.vstack([count_lc, last_c])[:, last_c >= 0]
    return given.reshape(*batch, n_classes, -1)[..., last_c >= 0], count_lc
