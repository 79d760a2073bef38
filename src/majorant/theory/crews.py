"""Margins of many crews drawn from the same voters, under many models at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.theory.checks import FloatArray, as_models, safe_log
from majorant.theory.crew import crew_margin

BATCH_ELEMENTS = 4_000_000  # models x crews x voters that one step may hold


def crew_margins(prior: ArrayLike, confusions: ArrayLike, crews: ArrayLike) -> FloatArray:
    """`crew_margin` of each crew under each model, (..., S), ties left out.

    prior (..., K) and confusions (..., J, K, K) hold the models, crews (S, H) the voters of each crew.  Two classes
    are sorted all at once; more classes, and probabilities of 0, are taken one by one.

    >>> voter = [[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]]]
    >>> crew_margins([.5, .5], voter, [[1, 2, 3], [0, 1, 2]]).round(3).tolist()
    [0.405, -1.386]
    """
    prior_bjk, confusion_bjkl = as_models(np.expand_dims(np.asarray(prior, dtype=float), -2), confusions)
    crew_sh = np.asarray(crews, dtype=np.intp)
    batch, n_classes = confusion_bjkl.shape[:-3], confusion_bjkl.shape[-1]
    prior_bk = prior_bjk[..., 0, :].reshape(-1, n_classes)
    confusion_bjkl = confusion_bjkl.reshape(-1, *confusion_bjkl.shape[-3:])
    if n_classes > 2:
        margin_bs = np.full((len(prior_bk), len(crew_sh)), np.nan)
    else:
        size = max(1, BATCH_ELEMENTS // max(1, crew_sh.size))
        parts = [
            _two_class_margins(prior_bk[i : i + size], confusion_bjkl[i : i + size], crew_sh)
            for i in range(0, len(prior_bk), size)
        ]
        margin_bs = np.concatenate([np.empty((0, len(crew_sh))), *parts])
    for b, s in np.argwhere(np.isnan(margin_bs)):
        margin_bs[b, s] = crew_margin(prior_bk[b], confusion_bjkl[b, crew_sh[s]])
    return margin_bs.reshape(*batch, len(crew_sh))


def _two_class_margins(
    prior_bk: FloatArray, confusion_bjkl: FloatArray, crew_sh: NDArray[np.integer[Any]]
) -> FloatArray:
    """The sorted sums of docs/theory/crew.md; NaN where a probability is 0."""
    log_bjkl, log_prior_bk = safe_log(confusion_bjkl), safe_log(prior_bk)
    with np.errstate(invalid="ignore"):
        none_bj = log_bjkl[..., 0, 1] - log_bjkl[..., 1, 1]  # what a vote for class 1 adds to the odds of class 0
        beta_bj = log_bjkl[..., 0, 0] - log_bjkl[..., 1, 0] - none_bj
        start_b = log_prior_bk[:, 0] - log_prior_bk[:, 1]
    zero_bj = ~(np.isfinite(beta_bj) & np.isfinite(none_bj) & np.isfinite(start_b)[:, None])
    beta_bj, none_bj = np.where(zero_bj, np.nan, beta_bj), np.where(zero_bj, np.nan, none_bj)
    most = crew_sh.shape[1] // 2 + 1
    base_bs = np.where(np.isfinite(start_b), start_b, np.nan)[:, None] + none_bj[:, crew_sh].sum(axis=2)
    beta_bsh = np.sort(beta_bj[:, crew_sh], axis=2)
    low_bs = base_bs + beta_bsh[..., :most].sum(axis=2) + np.minimum(beta_bsh[..., most:], 0).sum(axis=2)
    high_bs = base_bs + np.maximum(beta_bsh[..., most:], 0).sum(axis=2)
    return np.asarray(np.minimum(low_bs, -high_bs))


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
