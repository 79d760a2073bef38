"""Dawid-Skene by plain loops over items and votes."""

import numpy as np


def em(votes, n_iter, smoothing, weights=None, gold=None):
    """(confusion_jkl, prior_k, posterior_ik, objectives) after n_iter M steps, starting from the vote shares."""
    I, J, K = votes.shape
    weights = np.ones(I) if weights is None else weights
    ballot_i = [[] for _ in range(I)]
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        ballot_i[i].append((j, l))
    q = np.array([[sum(l == k for _, l in b) / len(b) if b else 1 / K for k in range(K)] for b in ballot_i])
    objectives = []
    for _ in range(n_iter):
        for i in range(I):
            if gold is not None and gold[i] >= 0:
                q[i] = np.eye(K)[gold[i]]
        confusion, prior = np.full((J, K, K), smoothing), np.full(K, smoothing)
        for i in range(I):
            prior += weights[i] * q[i]
            for j, l in ballot_i[i]:
                confusion[j, :, l] += weights[i] * q[i]
        confusion /= confusion.sum(axis=2, keepdims=True)
        prior /= prior.sum()
        objective = smoothing * (np.log(confusion).sum() + np.log(prior).sum())
        for i in range(I):
            log_joint = np.log(prior) + sum((np.log(confusion[j, :, l]) for j, l in ballot_i[i]), np.zeros(K))
            if gold is not None and gold[i] >= 0:
                log_evidence = log_joint[gold[i]]
                q[i] = np.eye(K)[gold[i]]
            else:
                log_evidence = np.logaddexp.reduce(log_joint)
                q[i] = np.exp(log_joint - log_evidence)
            objective += weights[i] * log_evidence
        objectives.append(objective)
    return confusion, prior, q, objectives


def bounds(votes, n_steps, pseudo_votes):
    """The bound that decides when to stop, per vote, after each step; the prior is the crowd's votes on the shares."""
    I, J, K = votes.shape
    ballot_i = [[] for _ in range(I)]
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        ballot_i[i].append((j, l))
    q = np.array([[sum(l == k for _, l in b) / len(b) for k in range(K)] for b in ballot_i])
    crowd = np.zeros((K, K))
    for i in range(I):
        for _, l in ballot_i[i]:
            crowd[:, l] += q[i]
    crowd = pseudo_votes * crowd / crowd.sum(axis=1, keepdims=True)

    def maximize():
        confusion = np.tile(crowd, (J, 1, 1))
        for i in range(I):
            for j, l in ballot_i[i]:
                confusion[j, :, l] += q[i]
        return confusion / confusion.sum(axis=2, keepdims=True), q.mean(axis=0)

    found, posteriors = [], []
    confusion, prior = maximize()
    for _ in range(n_steps):
        for i in range(I):
            joint = prior * np.prod([confusion[j, :, l] for j, l in ballot_i[i]], axis=0)
            q[i] = joint / joint.sum()
        confusion, prior = maximize()
        bound = -(q * np.log(np.maximum(q, 1e-300))).sum()
        for i in range(I):
            for j, l in ballot_i[i]:
                bound += q[i] @ (np.log(np.maximum(confusion[j, :, l], 1e-300)) + np.log(prior))
        found.append(bound / votes.n_votes)
        posteriors.append(q.copy())
    return found, posteriors
