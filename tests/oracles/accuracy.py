"""Accuracy by brute force: every vote pattern written out, or two classes summed in 60-digit arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import product
from typing import NamedTuple

import numpy as np


class Answer(NamedTuple):
    majority: np.ndarray
    map: np.ndarray
    gap: np.ndarray
    untied: np.ndarray
    majority_confusion: np.ndarray


def crew_answers(prior_dk, confusion_dhkl, ties="random"):
    """For each draw d of the parameters, by writing out all K^H votes; `untied` is the probability of no tie."""
    prior_dk, confusion_dhkl = np.asarray(prior_dk, float), np.asarray(confusion_dhkl, float)
    n_voters, n_classes = confusion_dhkl.shape[1:3]
    vote_bh = np.array(list(product(range(n_classes), repeat=n_voters)))
    given_dkb = np.ones((len(prior_dk), n_classes, len(vote_bh)))
    for h in range(n_voters):
        given_dkb = given_dkb * confusion_dhkl[:, h][:, :, vote_bh[:, h]]
    joint_dkb = prior_dk[:, :, None] * given_dkb
    count_bl = np.stack([(vote_bh == label).sum(axis=1) for label in range(n_classes)], axis=1)
    count_cl, of_b = np.unique(count_bl, axis=0, return_inverse=True)
    breakers = prior_dk if ties == "prior" else prior_dk[:1]  # one table of shares serves all draws otherwise
    share_dbl = np.array([[_shares(row, ties, prior_k) for row in count_cl] for prior_k in breakers])[:, of_b]
    share_dbl = np.broadcast_to(share_dbl, (len(prior_dk), *share_dbl.shape[1:]))
    judged_db = share_dbl.sum(axis=2)
    mass_d = np.einsum("dkb,db->d", joint_dkb, judged_db)
    majority_d = np.einsum("dkb,dbk->d", joint_dkb, share_dbl)
    map_d = np.einsum("db,db->d", joint_dkb.max(axis=1), judged_db)
    untied_b = (count_bl == count_bl.max(axis=1, keepdims=True)).sum(axis=1) == 1
    confusion_dkl = np.einsum("dkb,dbl->dkl", given_dkb, share_dbl)
    return Answer(
        majority_d / mass_d,
        map_d / mass_d,
        (map_d - majority_d) / mass_d,
        joint_dkb.sum(axis=1)[:, untied_b].sum(axis=1),
        confusion_dkl / confusion_dkl.sum(axis=2, keepdims=True),
    )


def _shares(count_l, ties, prior_k):
    winners = [label for label, count in enumerate(count_l) if count == max(count_l)]
    if ties == "prior":
        winners = [label for label in winners if prior_k[label] == max(prior_k[w] for w in winners)]
    if ties == "first":
        winners = winners[:1]
    if ties == "exclude" and len(winners) > 1:
        return np.zeros(len(count_l))
    return np.array([1 / len(winners) if label in winners else 0 for label in range(len(count_l))])


def shared_answer(prior_k, confusion_kl, n_votes, ties="random"):
    """One draw, voters alike."""
    answers = crew_answers([prior_k], np.repeat([[confusion_kl]], n_votes, axis=1), ties)
    return Answer(*(entry[0] for entry in answers))


def decimal_gap(prior_k, confusion_kl, n_votes):
    """Two classes, positive entries, random ties: the gap from binomial weights by recurrence, to 40 digits or more.

    Weights relative to the mode, by the ratio of neighbours, out to 1e-400 of it; dividing by their sum makes them
    probabilities.  Only weights that small are left out.
    """
    with localcontext() as context:
        context.prec = 60
        prior = [Decimal(float(p)) for p in prior_k]
        prior = [p / sum(prior) for p in prior]
        weight_kb = [
            _binomial_weights(Decimal(float(hit)), Decimal(float(miss)), n_votes) for hit, miss in confusion_kl
        ]
        lost = Decimal(0)
        for votes in set(weight_kb[0]) | set(weight_kb[1]):
            joint_0, joint_1 = (p * w.get(votes, Decimal(0)) for p, w in zip(prior, weight_kb, strict=True))
            if 2 * votes == n_votes:
                lost += abs(joint_0 - joint_1) / 2
            elif (joint_0 > joint_1) != (2 * votes > n_votes):
                lost += abs(joint_0 - joint_1)
        return float(lost)


def _binomial_weights(hit, miss, n_votes):
    mode = min(int((n_votes + 1) * hit / (hit + miss)), n_votes)
    weight = {mode: Decimal(1)}
    tiny = Decimal(10) ** -400
    for votes in range(mode, n_votes):
        weight[votes + 1] = weight[votes] * (n_votes - votes) * hit / ((votes + 1) * miss)
        if weight[votes + 1] < tiny:
            break
    for votes in range(mode, 0, -1):
        weight[votes - 1] = weight[votes] * votes * miss / ((n_votes - votes + 1) * hit)
        if weight[votes - 1] < tiny:
            break
    total = sum(weight.values())
    return {votes: w / total for votes, w in weight.items()}
