"""Votes that may echo each other: what the votes say about the truth if hard items and shared errors are allowed for.

Statement and limits: docs/labels.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.blocks import vote_columns
from majorant.estimate.hierarchical import Hierarchical, tilt
from majorant.kernels import FloatArray, shares, softmax_rows
from majorant.votes import Votes

ECHOES = np.array([0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65])
USUAL_ECHO = 0.1  # the mean of the prior of the echo: exponential
STEPS, SETTLED = 60, 1e-4
TINY = np.finfo(float).tiny


class Ballots(NamedTuple):
    """The votes as the model sees them: those before each vote on its item, and how many of them say the same."""

    votes: Votes  # every item has votes
    earlier_n: FloatArray
    same_n: FloatArray
    said_cn: Any  # (workers * labels, votes), sparse
    strength_k: FloatArray  # how many votes the crowd's habit counts for in a worker's matrix
    odds_j: FloatArray
    start_ik: FloatArray


class Params(NamedTuple):
    """Expected first-hand votes by worker, class and label, with the crowd's habit added; probability of each class."""

    votes_jkl: FloatArray
    total_jk: FloatArray
    prior_k: FloatArray


class Echoes(NamedTuple):
    """The model at each strength of echo: its probability, its log-evidence, its posterior of the items."""

    echo_r: FloatArray
    weight_r: FloatArray
    evidence_r: FloatArray
    posterior_rik: FloatArray


def ballots(votes: Votes) -> Ballots:
    """Prepare votes, at least one on each item; workers are shrunk to the crowd as `hierarchical` does."""
    from scipy.sparse import csr_array

    _, n_workers, n_classes = votes.shape
    fit = Hierarchical().fit(votes)
    column_n = vote_columns(votes)
    said_nc = csr_array(
        (np.ones(votes.n_votes), column_n, np.arange(votes.n_votes + 1)), shape=(votes.n_votes, n_workers * n_classes)
    )
    earlier_n = np.arange(votes.n_votes) - votes.offsets_i[votes.item_n]
    return Ballots(
        votes,
        earlier_n.astype(float),
        _same_before(votes),
        said_nc.T,
        np.asarray(fit.learned["strength"]),
        np.asarray(fit.learned["odds"]),
        fit.posterior,
    )


def listen(found: Ballots, *, weights: FloatArray | None = None) -> Echoes:
    """Fit the model at each strength of echo by EM, and weigh the strengths by their evidence.

    A vote repeats an earlier vote on its item, any one alike, with a probability that grows with their number (that of
    a Polya urn: two votes on an item have the correlation `echo` given the truth); else it is first-hand, by the
    worker's confusion matrix.  With one matrix for all that is items of Dirichlet difficulty; no echo is Dawid-Skene.
    """
    weight_i = np.ones(len(found.votes.items)) if weights is None else weights
    start_ik = found.start_ik * weight_i[:, None]
    params = _m_step(found, start_ik, start_ik[found.votes.item_n])
    results = []
    for echo in ECHOES:
        params, seen_nk = _settle(found, params, float(echo), weight_i)
        posterior_ik, log_total_i, _ = _e_step(found, params, float(echo), seen_nk)
        results.append((float(weight_i @ log_total_i), posterior_ik))
    evidence_r = np.array([one for one, _ in results])
    return Echoes(ECHOES, echo_weights(evidence_r), evidence_r, np.stack([one for _, one in results]))


def echo_weights(evidence_r: FloatArray) -> FloatArray:
    """The probability of each strength of echo: evidence times an exponential prior, on an uneven grid."""
    width_r = np.gradient(ECHOES)
    score_r = evidence_r - ECHOES / USUAL_ECHO + np.log(width_r)
    return np.asarray(softmax_rows(score_r[None].copy())[0][0])


def _settle(found: Ballots, params: Params, echo: float, weight_i: FloatArray) -> tuple[Params, FloatArray]:
    """EM at one strength of echo until the posterior stands still; also what each vote adds to its worker's matrix."""
    before_ik = None
    for _ in range(STEPS):
        posterior_ik, _, first_nk = _e_step(found, params, echo, None)
        seen_nk = (posterior_ik * weight_i[:, None])[found.votes.item_n] * first_nk
        params = _m_step(found, posterior_ik * weight_i[:, None], seen_nk)
        if before_ik is not None and np.abs(posterior_ik - before_ik).max() < SETTLED:
            break
        before_ik = posterior_ik
    return params, seen_nk


def _e_step(
    found: Ballots, params: Params, echo: float, seen_nk: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Posterior of the items, their log-evidence, and the probability that each vote is first-hand given the class.

    With `seen_nk` each vote is judged by a matrix that has not seen it.
    """
    votes = found.votes
    vote_nk, total_nk = params.votes_jkl[votes.worker_n, :, votes.label_n], params.total_jk[votes.worker_n]
    if seen_nk is not None:
        vote_nk, total_nk = vote_nk - seen_nk, total_nk - seen_nk
    own_nk = (1 - echo) * np.maximum(vote_nk, TINY) / total_nk
    vote_nk = own_nk + echo * found.same_n[:, None]
    log_nk = np.log(vote_nk) - np.log((1 - echo) + echo * found.earlier_n)[:, None]
    score_ik = np.add.reduceat(log_nk, votes.offsets_i[:-1], axis=0) + np.log(params.prior_k)
    posterior_ik, log_total_i = softmax_rows(score_ik)
    return posterior_ik, log_total_i, own_nk / vote_nk


def _m_step(found: Ballots, posterior_ik: FloatArray, seen_nk: FloatArray) -> Params:
    """First-hand votes by worker, class and label, shrunk to the crowd's habit tilted by the worker's odds."""
    _, n_workers, n_classes = found.votes.shape
    counts_ck = found.said_cn @ seen_nk
    counts_jkl = counts_ck.reshape(n_workers, n_classes, n_classes).transpose(0, 2, 1)
    crowd_kl = shares(counts_jkl.sum(axis=0) + 1.0 / n_classes)
    votes_jkl = counts_jkl + tilt(found.strength_k[:, None] * crowd_kl, found.odds_j)
    return Params(votes_jkl, votes_jkl.sum(axis=2), shares(posterior_ik.sum(axis=0) + 1.0))


def _same_before(votes: Votes) -> FloatArray:
    """For each vote how many earlier votes on its item say the same."""
    key_n = votes.item_n.astype(np.int64) * len(votes.labels) + votes.label_n
    order_n = np.argsort(key_n, kind="stable")
    sorted_n = key_n[order_n]
    first_n: NDArray[np.int64] = np.searchsorted(sorted_n, sorted_n)
    same_n = np.empty(votes.n_votes)
    same_n[order_n] = np.arange(votes.n_votes) - first_n
    return same_n
