"""Margins by brute force: every vote pattern is listed and its posterior computed. Imports nothing from `theory`."""

from functools import cache
from itertools import product

import numpy as np


@cache
def count_patterns(n_classes, n_votes):
    """All vote counts (P, K) that add up to n_votes."""
    rows = [row for row in product(range(n_votes + 1), repeat=n_classes - 1) if sum(row) <= n_votes]
    return np.array([[*row, n_votes - sum(row)] for row in rows])


@cache
def ballots(n_classes, n_votes):
    """All ballots (P, H): who said what."""
    return np.array(list(product(range(n_classes), repeat=n_votes)))


def shared_joint(prior_bk, confusion_bkl, n_votes):
    """P(class k and a given ballot with these counts), (B, P, K)."""
    counts_pl = count_patterns(prior_bk.shape[1], n_votes)
    joint_bpk = np.repeat(prior_bk[:, None, :], len(counts_pl), axis=1)
    power_bnkl = confusion_bkl[:, None] ** np.arange(n_votes + 1)[None, :, None, None]  # 0 ** 0 is 1
    for label in range(prior_bk.shape[1]):
        joint_bpk = joint_bpk * power_bnkl[..., label][:, counts_pl[:, label]]
    return joint_bpk


def crew_joint(prior_bk, confusion_bhkl):
    """P(class k and the ballot), (B, P, K)."""
    ballot_ph = ballots(prior_bk.shape[1], confusion_bhkl.shape[1])
    joint_bpk = np.repeat(prior_bk[:, None, :], len(ballot_ph), axis=1)
    for voter in range(confusion_bhkl.shape[1]):
        joint_bpk = joint_bpk * confusion_bhkl[:, voter][:, :, ballot_ph[:, voter]].transpose(0, 2, 1)
    return joint_bpk


def margin_of(joint_bpk, counts_pk, ties="exclude", prior_bk=None):
    """Smallest log-odds of majority's class against the best other over patterns that can happen, (B,)."""
    top_p = counts_pk.max(axis=1)
    winners_pk = counts_pk == top_p[:, None]
    n_classes = counts_pk.shape[1]
    margin_b = np.full(len(joint_bpk), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_bpk = np.log(joint_bpk)
        for label in range(n_classes):
            rival_bp = np.delete(log_bpk, label, axis=2).max(axis=2)
            odds_bp = log_bpk[:, :, label] - rival_bp  # NaN where nothing is possible
            counted_p = winners_pk[:, label] & (winners_pk.sum(axis=1) == 1)
            margin_b = np.fmin(margin_b, _smallest(odds_bp[:, counted_p]))
            tied_b = _smallest(odds_bp[:, winners_pk[:, label] & (winners_pk.sum(axis=1) > 1)])
            if ties == "random" or (ties == "first" and label == 0):
                margin_b = np.fmin(margin_b, tied_b)
            if ties == "prior":
                margin_b = np.where(prior_bk[:, label] == prior_bk.max(axis=1), np.fmin(margin_b, tied_b), margin_b)
    return margin_b


def _smallest(odds_bp):
    return np.where(np.isnan(odds_bp), np.inf, odds_bp).min(axis=1, initial=np.inf)


def shared_margin(prior_bk, confusion_bkl, n_votes, ties="exclude"):
    prior_bk, confusion_bkl = np.asarray(prior_bk), np.asarray(confusion_bkl)
    counts_pk = count_patterns(prior_bk.shape[1], n_votes)
    return margin_of(shared_joint(prior_bk, confusion_bkl, n_votes), counts_pk, ties, prior_bk)


def panel_margin(prior_bk, confusion_bhkl, ties="exclude"):
    prior_bk, confusion_bhkl = np.asarray(prior_bk), np.asarray(confusion_bhkl)
    n_classes = prior_bk.shape[1]
    ballot_ph = ballots(n_classes, confusion_bhkl.shape[1])
    counts_pk = np.stack([(ballot_ph == label).sum(axis=1) for label in range(n_classes)], axis=1)
    return margin_of(crew_joint(prior_bk, confusion_bhkl), counts_pk, ties, prior_bk)


def draw_models(rng, n_models, n_classes, *lead, informative=0.5, zeros=0.0):
    """Random priors (B, K) and confusions (B, *lead, K, K); a share is informative, a share has zeros put in."""
    prior_bk = _draw_rows(rng, (n_models,), n_classes, zeros)
    confusion = _draw_rows(rng, (n_models, *lead, n_classes), n_classes, zeros)
    weight_b = np.where(rng.random(n_models) < informative, rng.random(n_models), 0.0)
    weight_b = weight_b.reshape(-1, *[1] * (confusion.ndim - 1))
    return prior_bk, (1 - weight_b) * confusion + weight_b * np.eye(n_classes)


def _draw_rows(rng, shape, n_classes, zeros):
    rows = rng.dirichlet(np.ones(n_classes), shape)
    keep = rng.random(rows.shape) >= zeros
    keep |= rows == rows.max(axis=-1, keepdims=True)
    rows = rows * keep
    return rows / rows.sum(axis=-1, keepdims=True)
