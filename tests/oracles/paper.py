"""Brute force for the paper's statements: every vote pattern of every draw, vectorised over draws (axis b)."""

from __future__ import annotations

from itertools import product

import numpy as np


def patterns(n_votes, n_classes=2):
    """Every vote pattern, one a row: the label that each voter h gives."""
    return np.array(list(product(range(n_classes), repeat=n_votes)))


def diagonal(right_0, right_1):
    """Two-class confusions (b, 2, 2) from their diagonals."""
    right_0, right_1 = np.asarray(right_0, float), np.asarray(right_1, float)
    return np.stack([np.stack([right_0, 1 - right_0], -1), np.stack([1 - right_1, right_1], -1)], -2)


def joint(prior_bk, crew_bhkl, pattern_ph):
    """log P(class k and pattern p), shape (b, p, k)."""
    n_voters = crew_bhkl.shape[1]
    log_bhkl = np.log(crew_bhkl)
    total_bpk = np.log(prior_bk)[:, None, :] + np.zeros((1, len(pattern_ph), 1))
    for h in range(n_voters):
        total_bpk = total_bpk + np.moveaxis(log_bhkl[:, h][:, :, pattern_ph[:, h]], 1, 2)
    return total_bpk


def shared(confusion_bkl, n_votes):
    return np.repeat(np.asarray(confusion_bkl)[:, None], n_votes, axis=1)


def untied_majority(pattern_ph, n_classes=2):
    """The majority label of each pattern and whether it is the only one."""
    count_pk = np.stack([(pattern_ph == k).sum(axis=1) for k in range(n_classes)], axis=1)
    best_p = count_pk.max(axis=1)
    return count_pk.argmax(axis=1), (count_pk == best_p[:, None]).sum(axis=1) == 1


def panel_margins(prior_bk, crew_bhkl):
    """Least log-odds, over untied patterns, of the majority label against the best other class."""
    n_classes = prior_bk.shape[1]
    pattern_ph = patterns(crew_bhkl.shape[1], n_classes)
    label_p, untied_p = untied_majority(pattern_ph, n_classes)
    pattern_ph, label_p = pattern_ph[untied_p], label_p[untied_p]
    joint_bpk = joint(prior_bk, crew_bhkl, pattern_ph)
    own_bp = np.take_along_axis(joint_bpk, label_p[None, :, None], axis=2)[..., 0]
    np.put_along_axis(joint_bpk, label_p[None, :, None], -np.inf, axis=2)
    return (own_bp - joint_bpk.max(axis=2)).min(axis=1)


def rates(prior_bk, crew_bhkl, rule):
    """P(rule answers k | class k), shape (b, k); equally likely classes are decided for class 0."""
    n_classes = prior_bk.shape[1]
    pattern_ph = patterns(crew_bhkl.shape[1], n_classes)
    joint_bpk = joint(prior_bk, crew_bhkl, pattern_ph)
    if rule == "map":
        answer_bp = (joint_bpk >= joint_bpk.max(axis=2, keepdims=True) - 1e-10).argmax(axis=2)
    else:
        answer_bp = np.broadcast_to(untied_majority(pattern_ph, n_classes)[0], joint_bpk.shape[:2])
    hit_bpk = answer_bp[..., None] == np.arange(n_classes)
    return (np.exp(joint_bpk) * hit_bpk).sum(axis=1) / prior_bk


def plug_in_loss(prior_bk, confusion_bkl, guess_prior_bk, guess_confusion_bkl, n_votes):
    """Accuracy of the optimal rule minus that of MAP computed from a guessed model, both under the true one."""
    pattern_ph = patterns(n_votes, prior_bk.shape[1])
    truth_bpk = np.exp(joint(prior_bk, shared(confusion_bkl, n_votes), pattern_ph))
    guess_bpk = joint(guess_prior_bk, shared(guess_confusion_bkl, n_votes), pattern_ph)
    got_bp = np.take_along_axis(truth_bpk, guess_bpk.argmax(axis=2)[..., None], axis=2)[..., 0]
    return (truth_bpk.max(axis=2) - got_bp).sum(axis=1)


def worst_pool_margins(prior_bk, right_b2, n_votes, sigma_b):
    """Least margin over all pools with T + s_h [[-1,1],[1,-1]], s_h in {-sigma, 0, sigma}, and all untied patterns."""
    pattern_ph = patterns(n_votes)
    label_p, untied_p = untied_majority(pattern_ph)
    odds_bsl = []
    for sign in (-1, 0, 1):
        confusion_bkl = diagonal(*(right_b2 - sign * sigma_b[:, None]).T)
        odds_bsl.append(np.log(confusion_bkl[:, 0]) - np.log(confusion_bkl[:, 1]))
    odds_bsl = np.stack(odds_bsl, axis=1)
    start_b = np.log(prior_bk[:, 0]) - np.log(prior_bk[:, 1])
    worst_b = np.full(len(prior_bk), np.inf)
    for vote_h, label in zip(pattern_ph[untied_p], label_p[untied_p], strict=True):
        sign = 1 if label == 0 else -1
        least_bh = (sign * odds_bsl[:, :, vote_h]).min(axis=1)
        worst_b = np.minimum(worst_b, sign * start_b + least_bh.sum(axis=1))
    return worst_b


def shared_margins(prior_bk, right_b2, n_votes):
    """The margin for one shared confusion, by the number of votes for class 0, so that many votes are cheap."""
    count_k = np.arange(n_votes + 1)
    count_k = count_k[2 * count_k != n_votes]
    odds_0 = np.log(right_b2[:, :1]) - np.log1p(-right_b2[:, 1:])
    odds_1 = np.log1p(-right_b2[:, :1]) - np.log(right_b2[:, 1:])
    start_b = np.log(prior_bk[:, :1]) - np.log(prior_bk[:, 1:])
    total_bk = start_b + count_k * odds_0 + (n_votes - count_k) * odds_1
    return np.where(2 * count_k > n_votes, total_bk, -total_bk).min(axis=1)


def model(prior_0, right_0, right_1):
    """A two-class prior and confusion from three numbers."""
    return [prior_0, 1 - prior_0], [[right_0, 1 - right_0], [1 - right_1, right_1]]


def margin(prior_0, right_0, right_1, n_votes):
    """The margin of one such model."""
    return float(shared_margins(np.array([[prior_0, 1 - prior_0]]), np.array([[right_0, right_1]]), n_votes)[0])


def draws(seed, n, low=0.5, high=1.0, edge=0.05):
    """Random two-class models: priors (b, 2) and diagonals (b, 2)."""
    rng = np.random.default_rng(seed)
    prior_0 = rng.uniform(edge, 1 - edge, n)
    return np.stack([prior_0, 1 - prior_0], axis=1), rng.uniform(low, high, (n, 2))
