"""The weighted vote, and what is written without labels.

`S` are the vote shares of an item.  *One step* is the E step of Dawid-Skene after its matrices and class shares were
counted from S, with every worker's matrix supported by one pseudo-vote per class of all workers' matrix.  It corrects
the workers' habits; further steps reward workers who merely agree with each other.

=====================  ====================================  ==============================================
case                   the weighted vote                     written without labels
=====================  ====================================  ==============================================
one-class voters       majority vote                         majority vote
grades                 majority vote                         the median of the votes
known judges           half by head, half by name            the same
agreement by chance    majority vote                         majority vote
crowd                  one step x EBCC x S                   the same
panel, thin crowd      S x one step to the power of 1/4      majority vote, with its ties broken by one step
=====================  ====================================  ==============================================

Products are geometric means.  The first case that applies counts (`majorant.setting`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from majorant.defaults import MAJORITY, MEDIAN, ONE_STEP, WEIGHTED_VOTE
from majorant.items import rows_of_parts
from majorant.kernels import Block, gather, scatter, shares, softmax_rows, weighted_sum
from majorant.known import half_by_name, trust_weights
from majorant.methods import unsuited
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.ebcc import EBCC
from majorant.methods.fit import TIE_TOLERANCE, Fit, fit_of
from majorant.methods.majority import Majority
from majorant.methods.tables import VoteData, by_worker, prepare, vote_rows, vote_shares
from majorant.setting import Case, Setting
from majorant.values import FloatArray, safe_log
from majorant.votes import Votes

SMOOTHING = 0.02  # added to the factors of a product, so that none of them alone rules out a class


def fit_weighted_vote(votes: Votes, setting: Setting, *, weights: ArrayLike | None = None) -> Fit:
    """Fit the method `weighted-vote`, where item i counts `weights[i]` times.

    >>> from majorant.simulate import simulate
    >>> habits = [[[0.95, 0.05], [0.5, 0.5]]] * 6 + [[[0.6, 0.4], [0.05, 0.95]]] * 2
    >>> votes, truth = simulate([0.5, 0.5], habits, n_items=300, n_votes=3, rng=0)
    >>> majority, weighted = Majority().fit(votes), fit_weighted_vote(votes, Setting.of(votes))
    >>> [int((fit.codes() == truth).sum()) for fit in (majority, weighted)]
    [241, 243]
    """
    majority = Majority().fit(votes, weights=weights)
    return weigh_votes(votes, setting, majority, fit_models(votes, setting, weights=weights))


def fit_models(votes: Votes, setting: Setting, *, weights: ArrayLike | None = None) -> dict[str, Fit]:
    """Fit what the case needs: one step, and EBCC on crowds, unless their matrices would be too large."""
    fits: dict[str, Fit] = {}
    if setting.case in (Case.CROWD, Case.PANEL) and not unsuited(DawidSkene.name, votes):
        fits[ONE_STEP] = fit_one_step(votes, weights=weights)
    if setting.case is Case.CROWD and not unsuited(EBCC.name, votes):
        fits[EBCC.name] = EBCC().fit(votes, weights=weights)
    return fits


def weigh_votes(votes: Votes, setting: Setting, majority: Fit, models: Mapping[str, Fit]) -> Fit:
    """The weighted vote, from majority vote and `fit_models`."""
    rows: Callable[..., FloatArray] | None = None
    fits: tuple[Fit, ...] = (majority, *models.values())
    if setting.case is Case.KNOWN_JUDGES and setting.judges is not None:
        rows, fits = partial(_half_by_name, setting.judges.weight_j), ()
    elif models:
        rows = _product_rows if setting.case is Case.CROWD else _quarter_rows
    posterior = majority.posterior if rows is None else rows_of_parts(rows, votes, *fits)
    return replace(models.get(ONE_STEP, majority), method=WEIGHTED_VOTE, posterior=posterior)


def written_rule(setting: Setting) -> str:
    """The rule whose labels are written if nobody labelled anything."""
    if setting.case is Case.GRADES:
        return MEDIAN
    return WEIGHTED_VOTE if setting.case in (Case.CROWD, Case.KNOWN_JUDGES) else MAJORITY


def tie_rule(setting: Setting) -> str | None:
    """The rule that breaks the ties of majority vote; None for a coin."""
    rule = written_rule(setting)
    return ONE_STEP if setting.case is Case.PANEL else None if rule == MAJORITY else rule


def fit_one_step(votes: Votes, *, weights: ArrayLike | None = None) -> Fit:
    """Fit one step of Dawid-Skene."""
    data = prepare(votes, weights=weights)
    count_jkl, items_k = _count_shares(data, votes)
    confusion_jkl = shares(count_jkl + shares(count_jkl.sum(axis=0)))
    prior_k = shares(items_k)
    log_vote_ck, log_prior_k = vote_rows(safe_log(confusion_jkl)), np.log(np.maximum(prior_k, 1e-12))

    def e_step(block: Block) -> FloatArray:
        return softmax_rows(gather(block, log_vote_ck) + log_prior_k)[0]

    return fit_of(ONE_STEP, votes, posterior=data.rows(e_step), prior=prior_k, confusion=confusion_jkl)


def _count_shares(data: VoteData, votes: Votes) -> tuple[FloatArray, FloatArray]:
    """Expected votes by worker, class and label, and items by class, if vote shares were probabilities.

    If the user says how far each worker is to be trusted, these are shares of votes weighed by log-odds.
    """
    weight_ck: FloatArray | None = None
    if votes.trust_j is not None:
        weight_j = trust_weights(votes.trust_j, len(votes.labels))
        weight_ck = np.asarray(np.kron(weight_j[:, None], np.eye(len(votes.labels))), dtype=np.float64)

    def step(block: Block) -> tuple[FloatArray, FloatArray]:
        share_ik = vote_shares(block, data.totals) if weight_ck is None else shares(gather(block, weight_ck))
        voted_i = np.diff(block.matrix.indptr) > 0
        return scatter(block, share_ik), weighted_sum(block, share_ik * voted_i[:, None])

    votes_ck, items_k = data.engine.map_sum(step)
    return by_worker(votes_ck, data.totals.n_labels), items_k


def _product_rows(_: Votes, *fits: Fit) -> FloatArray:
    return softmax_rows(np.sum([np.log(fit.posterior + SMOOTHING) for fit in fits], axis=0) / len(fits))[0]


def _quarter_rows(_: Votes, majority: Fit, step: Fit) -> FloatArray:
    log_step_ik = np.log(np.maximum(step.posterior, 1e-300))
    return softmax_rows(np.log(majority.posterior + SMOOTHING) + log_step_ik / 4)[0]


def _half_by_name(weight_j: FloatArray, votes: Votes) -> FloatArray:
    return half_by_name(votes, weight_j)


def fit_median(votes: Votes, order: tuple[int, ...]) -> Fit:
    """Fit the median of the votes on each item, for labels with these codes from lowest to highest.

    Of two middle grades, the one nearer to the mean of the votes counts; if both are as near, the lower one.  The
    posterior is the depth of each grade: the share of the votes up to it or from it on, whichever is smaller.

    >>> votes = Votes.from_codes([0, 0, 0, 0], [0, 1, 2, 3], [0, 1, 2, 2], items="a", workers="wxyz", labels="123")
    >>> fit_median(votes, (0, 1, 2)).labels()
    ['2']
    """
    majority = Majority().fit(votes)
    return replace(majority, method=MEDIAN, posterior=rows_of_parts(partial(_depths, order), votes, majority))


def _depths(order: tuple[int, ...], _: Votes, majority: Fit) -> FloatArray:
    share_ig = np.asarray(majority.posterior)[:, list(order)]
    up_to_ig = share_ig.cumsum(axis=1)
    depth_ig = np.minimum(up_to_ig, 1 - up_to_ig + share_ig)
    grade_g = np.arange(len(order))
    # Several grades may be as deep.  They differ by less than the smallest difference between depths.
    distance_ig = np.abs(grade_g - share_ig @ grade_g[:, None])
    depth_ig = depth_ig.round(9) - 1e-5 * distance_ig - 1e-8 * grade_g
    depth_ik = np.empty(depth_ig.shape)
    depth_ik[:, list(order)] = np.maximum(depth_ig, 0.0)
    return shares(depth_ik)


def break_ties(majority: Fit, breaker: Fit, votes: Votes) -> Fit:
    """Break ties of majority vote among the tied labels by the probabilities of another fit.

    >>> votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [1, 0, 1], items="ab", workers="wx", labels="ny")
    >>> majority = Majority().fit(votes)
    >>> break_ties(majority, replace(majority, posterior=np.array([[.6, .4], [.9, .1]])), votes).labels()
    ['n', 'y']
    """
    return replace(majority, posterior=rows_of_parts(_break_rows, votes, majority, breaker))


def _break_rows(_: Votes, majority: Fit, breaker: Fit) -> FloatArray:
    share_ik = np.array(majority.posterior)
    best_ik = share_ik >= share_ik.max(axis=1, keepdims=True) - TIE_TOLERANCE
    tied = np.flatnonzero((best_ik.sum(axis=1) > 1) & (majority.votes_i > 0))
    best_tk, held_t = best_ik[tied], (share_ik[tied] * best_ik[tied]).sum(axis=1, keepdims=True)
    share_ik[tied] = np.where(best_tk, held_t * shares(best_tk * breaker.posterior[tied]), share_ik[tied])
    return share_ik
