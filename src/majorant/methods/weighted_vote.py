"""The weighted vote, in which workers who agree more with the others count more.

It averages the posteriors of three models (one-coin, hierarchical, EBCC) and the plain vote shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.defaults import COMBINED, MAJORITY, WEIGHTED_VOTE
from majorant.items import rows_of_parts, sample_items
from majorant.kernels import softmax_rows
from majorant.methods import fit_method, unsuited
from majorant.methods.fit import Fit
from majorant.methods.one_coin import OneCoin
from majorant.methods.shared import SharedConfusion
from majorant.tally import Patterns, find_patterns, tied
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

SHRINKING = ("hierarchical", MAJORITY)  # members that hardly distinguish workers who are alike
PATTERNS_AT_ONCE = 1 << 13  # rows


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """The fit of each member and the combined fit; `belief` combines only the models.

    Vote shares stabilise the labels but are not probabilities, so expectations use only the models.
    """

    fits: Mapping[str, Fit]
    fit: Fit
    belief: Fit


def _fit_member(method: str, votes: Votes, start: Fit | None) -> Fit:
    if method == "one-coin":  # run to convergence, for which the record was measured
        return OneCoin(smoothing=0.01, min_rise=None).fit(votes, start=start)
    return fit_method(method, votes, start)


def combination(votes: Votes, starts: Mapping[str, Fit] | None = None) -> Combination | None:
    """Fit the applicable members and average them; None if no model can be fitted.

    `starts` holds earlier fits of the members to other votes of the same workers, to start from.

    We tried weights learned from held-out votes, but they are no better: the model that predicts votes best need not be
    the one that finds the true classes (docs/decide.md).

    >>> from majorant.simulate import one_coin_workers, simulate
    >>> votes, _ = simulate([.5, .5], one_coin_workers([.9, .8, .8, .7, .6, .6]), n_items=300, n_votes=5, rng=0)
    >>> list(combination(votes).fits)
    ['one-coin', 'hierarchical', 'ebcc', 'majority']
    """
    members = members_for(votes)
    if not members:
        return None
    fits = {method: _fit_member(method, votes, (starts or {}).get(method)) for method in members}
    models = {method: fit for method, fit in fits.items() if method != MAJORITY}
    model = count_model(find_patterns(votes)) if set(fits) == set(SHRINKING) else None
    return Combination(fits, combine(fits, votes, model), combine(models, votes))


def members_for(votes: Votes) -> tuple[str, ...]:
    """The members that can be used on these votes; empty if only majority vote remains.

    If workers differ by no more than noise, members that would fit the noise are left out; a majority is then
    overturned only if vote counts alone show that it is wrong.
    """
    members = tuple(method for method in COMBINED if not unsuited(method, votes))
    if len(members) > 1 and not differ_beyond_noise(sample_items(votes).votes):
        members = tuple(method for method in members if method in SHRINKING)
    return () if members == (MAJORITY,) else members


def combine(fits: Mapping[str, Fit], votes: Votes, model: CountModel | None = None) -> Fit:
    """Average the posteriors, priors and confusion matrices into a fit of the method `weighted-vote`.

    All fits must be to these votes; only majority vote may lack a confusion matrix per worker.  With a model of vote
    counts, which is for members that treat workers alike, the mean overturns a majority only if the counts show that it
    is wrong.  `learned["shares"]`
    is the weight of the vote shares in the mean, which are not probabilities.
    """
    first = next(iter(fits.values()))
    return Fit(
        method=WEIGHTED_VOTE,
        posterior=rows_of_parts(partial(_mean_rows, model, [*fits]), votes, *fits.values()),
        prior=_mean([fit.prior for fit in fits.values()]),
        votes_i=first.votes_i,
        label_values=first.label_values,
        names=first.names,
        confusion=_mean([fit.confusion for fit in fits.values() if fit.confusion is not None]),
        converged=all(fit.converged for fit in fits.values()),
        n_iter=max(fit.n_iter for fit in fits.values()),
        learned={"shares": np.array((MAJORITY in fits) / len(fits))},
    )


def _mean_rows(model: CountModel | None, names: Sequence[str], votes: Votes, *fits: Fit) -> FloatArray:
    mean_ik = _mean([fit.posterior for fit in fits])
    if model is None:
        return mean_ik
    return keep_majorities(model, mean_ik, fits[names.index(MAJORITY)].posterior, votes.votes_i)


def _mean(arrays: list[FloatArray]) -> FloatArray:
    return np.asarray(sum(arrays[1:], start=arrays[0]) / len(arrays))


def differ_beyond_noise(votes: Votes) -> bool:
    """Whether workers differ in agreement or label frequencies by clearly more than chance.

    If workers are exchangeable, an item's votes can be permuted among its voters, so worker j's total excess over the
    item means is a sum of independent draws with known variance. The squared totals, divided by their variances, are
    summed and compared with the expected sum. If the sum is less than twice that, a model with separate parameters for
    each worker fits noise more than skill.

    >>> from majorant.simulate import one_coin_workers, simulate
    >>> alike, _ = simulate([.5, .5], one_coin_workers([.8] * 6), n_items=300, n_votes=4, rng=0)
    >>> unequal, _ = simulate([.5, .5], one_coin_workers([.9, .9, .8, .7, .6, .6]), n_items=300, n_votes=4, rng=0)
    >>> differ_beyond_noise(alike), differ_beyond_noise(unequal)
    (False, True)
    """
    if not (votes.votes_i > 1).any():
        return False
    distance_f, noise_f, variance_f = np.array([_distance(value_n, votes) for value_n in _features(votes)]).T
    mean_votes = votes.votes_i[votes.votes_i > 1].mean()
    fellows = mean_votes / (mean_votes - 1)  # because the excesses on an item sum to 0
    # Two standard deviations: workers who are alike seem to differ in about one case in a hundred.
    clear = distance_f.sum() > noise_f.sum() + 2 * np.sqrt(fellows * variance_f.sum())
    # Twice the variance of noise: then half of the differences between workers are real.
    return bool(clear and (distance_f > 2 * noise_f).any())


def _features(votes: Votes) -> Iterator[FloatArray]:
    """For each vote, the number of votes that agree; and an indicator of each label except the most frequent."""
    n_classes = len(votes.labels)
    key_n = votes.item_n.astype(np.int64) * n_classes + votes.label_n
    yield np.bincount(key_n, minlength=len(votes.items) * n_classes)[key_n].astype(float)
    for label in np.argsort(np.bincount(votes.label_n, minlength=n_classes))[:-1]:
        yield (votes.label_n == label).astype(float)


def _distance(value_n: FloatArray, votes: Votes) -> tuple[float, float, float]:
    """The sum over workers of squared total excess divided by its variance, and the sum's mean and variance."""

    def by_worker(value_n: FloatArray) -> FloatArray:
        return np.bincount(votes.worker_n, weights=value_n, minlength=len(votes.workers)).astype(float)

    excess_n = value_n - _item_mean(value_n, votes)
    square_n = excess_n**2
    mean_n = _item_mean(square_n, votes)
    total_j, square_j = by_worker(excess_n), by_worker(mean_n)
    beyond_j = by_worker(_item_mean(square_n**2, votes) - 3 * mean_n**2)
    known_j = square_j > 0
    unit_j = np.where(known_j, square_j, 1.0)
    variance_j = np.where(known_j, 2 + beyond_j / unit_j**2, 0.0)
    return float((total_j**2 / unit_j).sum()), float(known_j.sum()), float(variance_j.sum())


def _item_mean(value_n: FloatArray, votes: Votes) -> FloatArray:
    """For each vote, the mean over all votes on its item."""
    votes_i = votes.votes_i[votes.votes_i > 0]
    return np.repeat(np.add.reduceat(value_n, votes.offsets_i[:-1][votes.votes_i > 0]) / votes_i, votes_i)


class CountModel(NamedTuple):
    """One confusion matrix and prior for all workers, and the Fisher information of the vote counts about both."""

    prior_k: FloatArray
    crowd_kl: FloatArray
    information_aa: FloatArray  # about the logits of the prior, then of each row

    def shows_wrong(self, count_ik: FloatArray) -> NDArray[np.bool_]:
        """Whether an item's plurality class is clearly not the most probable one."""
        odds_ik = np.log(self.prior_k) + count_ik @ np.log(self.crowd_kl).T
        rows, n_classes = np.arange(len(count_ik)), len(self.prior_k)
        best_i, leader_i = odds_ik.argmax(axis=1), count_ik.argmax(axis=1)
        moved_ikl = _moved(count_ik, self.crowd_kl)
        turn_ia = np.zeros((len(count_ik), n_classes + n_classes**2))
        turn_ikl = turn_ia[:, n_classes:].reshape(len(count_ik), n_classes, n_classes)
        for class_i, sign in ((best_i, 1.0), (leader_i, -1.0)):
            turn_ia[rows, class_i] += sign
            turn_ikl[rows, class_i] += sign * moved_ikl[rows, class_i]
        variance_i = np.einsum("ia,ai->i", turn_ia, np.linalg.solve(self.information_aa, turn_ia.T))
        lead_i = odds_ik[rows, best_i] - odds_ik[rows, leader_i]
        error_i = np.sqrt(np.maximum(variance_i, 0.0))
        return np.asarray((best_i != leader_i) & (lead_i > 1.645 * error_i))  # 95%, one-sided


def count_model(patterns: Patterns) -> CountModel | None:
    """Fit one confusion matrix for all workers to vote counts; None if there are too many classes.

    >>> from majorant.simulate import simulate
    >>> from majorant.tally import counts, distinct_counts
    >>> for n_items in (300, 30_000):
    ...     votes, _ = simulate([.85, .15], [[.75, .25], [.25, .75]], n_items=n_items, n_votes=3, rng=0)
    ...     model = count_model(distinct_counts(counts(votes)))
    ...     print(model.shows_wrong(np.array([[1.0, 2.0], [0.0, 3.0]])))
    [False False]
    [ True False]
    """
    n_classes = patterns.counts_pk.shape[1]
    if n_classes > 12:  # beyond that, the information matrix is too large
        return None
    prior_k, crowd_kl = SharedConfusion().fit_counts(patterns)
    information_aa = 1e-6 * np.eye(n_classes + n_classes**2)  # so that what is not known at all has a large variance
    for start in range(0, len(patterns.items_p), PATTERNS_AT_ONCE):
        count_pk = patterns.counts_pk[start : start + PATTERNS_AT_ONCE].astype(float)
        posterior_pk, _ = softmax_rows(np.log(prior_k) + count_pk @ np.log(crowd_kl).T)
        by_row_pkl = posterior_pk[:, :, None] * _moved(count_pk, crowd_kl)
        score_pa = np.concatenate([posterior_pk - prior_k, by_row_pkl.reshape(len(count_pk), -1)], axis=1)
        information_aa += (score_pa * patterns.items_p[start : start + PATTERNS_AT_ONCE, None]).T @ score_pa
    return CountModel(prior_k, crowd_kl, information_aa)


def _moved(count_ik: FloatArray, crowd_kl: FloatArray) -> FloatArray:
    """The derivative of an item's log-probability given class k with respect to the logits of row k."""
    return np.asarray(count_ik[:, None, :] - count_ik.sum(axis=1)[:, None, None] * crowd_kl)


def keep_majorities(model: CountModel, mean_ik: FloatArray, shares_ik: FloatArray, votes_i: IntArray) -> FloatArray:
    """Replace the mean posterior by the vote shares where it would overturn a majority without enough evidence."""
    turned = np.flatnonzero((mean_ik.argmax(axis=1) != shares_ik.argmax(axis=1)) & (votes_i > 0))
    for d in np.split(turned, range(PATTERNS_AT_ONCE, len(turned), PATTERNS_AT_ONCE)):
        count_dk = np.rint(shares_ik[d] * votes_i[d, None])
        kept = d[~tied(count_dk.astype(np.int64)) & ~model.shows_wrong(count_dk)]
        mean_ik[kept] = shares_ik[kept]
    return mean_ik
