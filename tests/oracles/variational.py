"""Evidence lower bounds term by term, and the exact evidence by enumeration, for tiny cases."""

from itertools import product

import numpy as np
from scipy.special import digamma, gammaln
from scipy.stats import dirichlet

from oracles.kernels import ballots


def expected_log(alpha):
    return digamma(alpha) - digamma(np.sum(alpha))


def dirichlet_part(alpha, base):
    """E log p(theta) - E log q(theta) for q = Dirichlet(alpha), p = Dirichlet(base)."""
    log_density = gammaln(np.sum(base)) - gammaln(base).sum() + ((base - 1) * expected_log(alpha)).sum()
    return log_density + dirichlet.entropy(alpha)


def items_part(votes, log_vote_jgl, log_prior_g):
    """For each item E log p(votes, class) - E log q(class) under the best q(class), written out."""
    total = 0.0
    for ballot, _ in ballots(votes):
        joint = np.array(
            [log_prior_g[g] + sum(log_vote_jgl[j, g, l] for j, l in ballot) for g in range(len(log_prior_g))]
        )
        q = np.exp(joint - joint.max()) / np.exp(joint - joint.max()).sum()
        total += (q * joint).sum() - (q * np.log(q)).sum()
    return total


def ibcc_bound(votes, votes_jkl, items_k, base_kl, base_k):
    J, K, _ = votes_jkl.shape
    log_vote = np.array([[expected_log(votes_jkl[j, k]) for k in range(K)] for j in range(J)])
    rows = sum(dirichlet_part(votes_jkl[j, k], base_kl[k]) for j in range(J) for k in range(K))
    return items_part(votes, log_vote, expected_log(items_k)) + rows + dirichlet_part(items_k, base_k)


def ebcc_bound(votes, votes_jkml, subtypes_km, items_k, base_kl, base_m, base_k):
    J, K, M, L = votes_jkml.shape
    log_vote, log_prior = np.zeros((J, K * M, L)), np.zeros(K * M)
    rows = 0.0
    for k in range(K):
        rows += dirichlet_part(subtypes_km[k], base_m)
        for m in range(M):
            log_prior[k * M + m] = expected_log(items_k)[k] + expected_log(subtypes_km[k])[m]
            for j in range(J):
                log_vote[j, k * M + m] = expected_log(votes_jkml[j, k, m])
                rows += dirichlet_part(votes_jkml[j, k, m], base_kl[k])
    return items_part(votes, log_vote, log_prior) + rows + dirichlet_part(items_k, base_k)


def log_polya(count, base):
    """The log-probability of a sequence with these counts when its probabilities are drawn from Dirichlet(base)."""
    each = gammaln(base + count).sum() - gammaln(base).sum()
    return gammaln(np.sum(base)) - gammaln(np.sum(base) + np.sum(count)) + each


def ibcc_evidence(votes, base_kl, base_k):
    """log p(votes), by going through all assignments of classes to items."""
    I, J, K = votes.shape
    parts = []
    for truth in product(range(K), repeat=I):
        count = np.zeros((J, K, K))
        for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
            count[j, truth[i], l] += 1
        rows = sum(log_polya(count[j, k], base_kl[k]) for j in range(J) for k in range(K))
        parts.append(rows + log_polya(np.bincount(truth, minlength=K), base_k))
    return np.logaddexp.reduce(parts)
