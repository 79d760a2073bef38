"""GLAD's log-posterior by plain loops."""

import numpy as np

from oracles.kernels import ballots


def log_posterior(votes, ability, ease, mean=1.0, weights=None):
    """Up to the constants of the normal priors; classes are equally probable."""
    K = len(votes.labels)
    total = -((ability - mean) ** 2).sum() / 2
    for i, (ballot, _) in enumerate(ballots(votes)):
        joint = np.full(K, -np.log(K))
        for j, l in ballot:
            right = 1 / (1 + np.exp(-ability[j] * np.exp(ease[i])))
            joint += [np.log(right) if k == l else np.log((1 - right) / (K - 1)) for k in range(K)]
        part = np.logaddexp.reduce(joint) - (ease[i] - mean) ** 2 / 2
        total += part * (1 if weights is None else weights[i])
    return total
