"""One coin per worker by plain loops over items and votes."""

import numpy as np

from oracles.kernels import ballots


def em(votes, n_iter, smoothing):
    """(skill_j, prior_k, posterior_ik, objectives) after n_iter M steps, starting from the vote shares."""
    I, J, K = votes.shape
    ballot_i = [ballot for ballot, _ in ballots(votes)]
    q = np.array([[sum(l == k for _, l in b) / len(b) if b else 1 / K for k in range(K)] for b in ballot_i])
    objectives = []
    for _ in range(n_iter):
        right, wrong, prior = np.full(J, smoothing), np.full(J, smoothing), np.full(K, smoothing)
        for i in range(I):
            prior += q[i]
            for j, l in ballot_i[i]:
                right[j] += q[i, l]
                wrong[j] += 1 - q[i, l]
        skill = np.array([r / (r + w) if r + w > 0 else 0.5 for r, w in zip(right, wrong, strict=True)])
        prior /= prior.sum()
        objective = smoothing * (np.log(skill).sum() + np.log(1 - skill).sum() + np.log(prior).sum())
        for i in range(I):
            log_joint = np.log(prior)
            for j, l in ballot_i[i]:
                log_joint = log_joint + [np.log(skill[j] if k == l else (1 - skill[j]) / (K - 1)) for k in range(K)]
            log_evidence = np.logaddexp.reduce(log_joint)
            q[i] = np.exp(log_joint - log_evidence)
            objective += log_evidence
        objectives.append(objective)
    return skill, prior, q, objectives
