"""Gather, scatter and merging as plain loops over votes."""

import numpy as np


def gather(votes, table):
    K = len(votes.labels)
    out = np.zeros((len(votes.items), *table.shape[1:]))
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        out[i] += table[j * K + l]
    return out


def scatter(votes, value, weights=None):
    K = len(votes.labels)
    out = np.zeros((len(votes.workers) * K, *value.shape[1:]))
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        out[j * K + l] += value[i] * (1 if weights is None else weights[i])
    return out


def softmax(score):
    out = np.zeros_like(score)
    for i, row in enumerate(score):
        weights = [np.exp(s - max(row)) for s in row]
        out[i] = np.array(weights) / sum(weights)
    return out


def ballots(votes):
    """For each item its votes as a sorted tuple of (worker, label), with its gold label."""
    ballot_i = [[] for _ in votes.items]
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        ballot_i[i].append((int(j), int(l)))
    gold_i = [None] * len(votes.items) if votes.gold_i is None else votes.gold_i.tolist()
    return [(tuple(sorted(b)), g) for b, g in zip(ballot_i, gold_i, strict=True)]
