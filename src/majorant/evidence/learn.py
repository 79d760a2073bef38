"""A rule learned from a few expert labels: how much each judge's vote counts.

The score of class k for an item is

    m_1 log p_k + m_2 log share_k + sum_j w_j [judge j said k] + b_k,

where p is the posterior of the weighted vote and share_k the share of the votes for k, both at least .02.  The
multinomial likelihood of the labels is penalised by 2 |m - (.5, .5)|^2 + 2 |w|^2 + |b|^2.  So without labels the rule
is the geometric mean of p and the shares, and a judge's weight moves away from 0 only as the labels require.  A worker
who voted on few labelled items stays near 0, so the same formula works for a panel of 6 judges and a crowd of 100,000
workers.

The labelled items must be drawn by the votes alone (uniformly, or where labels teach), and p must not have been fitted
to the labels.  What is written is an average of this rule and the rule that is used without labels; `evidence/earn.py`
says how they are weighted, what gain to expect, and when to announce it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.defaults import MAJORITY
from majorant.errors import DataError
from majorant.evidence.earn import (
    NO_CHANGE,
    Change,
    Expected,
    Gain,
    average,
    expected_change,
    expected_gain,
    observed_change,
    weight_of_learned,
)
from majorant.evidence.evidence import Evidence, Source
from majorant.evidence.gold_sample import LEAST_LABELS
from majorant.items import name_hashes, rows_of_parts, take_items
from majorant.kernels import Block, in_memory, shares, softmax_rows
from majorant.methods.fit import Fit, chances
from majorant.setting import Case, Setting
from majorant.tally import counts
from majorant.values import Estimate, FloatArray, lock
from majorant.votes import Votes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes = NDArray[np.int64]
LEARNED = "learned"  # the name of the rule
RANGE = 0.8  # level of the range of a gain that was not proved


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Weights:
    """Coefficients of the learned rule."""

    mix: FloatArray  # (2,): coefficients of the weighted vote and of the vote shares
    weight_j: FloatArray  # of each worker
    offset_k: FloatArray  # of each class

    def __post_init__(self) -> None:
        lock(self)


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Features of items for the rule: log posteriors of the weighted vote, log vote shares, and who voted for what.

    >>> votes = Votes.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0], items="ab", workers="xy", labels="ny")
    >>> features = Features.of(votes, np.full((2, 2), .5))
    >>> features.predict(features.regression(np.array([0, 1]), np.array([1, 0])).fit()).round(2).tolist()
    [[0.4, 0.6], [0.6, 0.4]]
    """

    log_ikf: FloatArray  # (items, classes, 2)
    votes_rj: csr_array[Any]  # (items * classes, workers): votes of each worker for each class of each item

    @classmethod
    def of(cls, votes: Votes, weighted_ik: FloatArray) -> Features:
        """The features of all items of these votes; `weighted_ik` is the posterior of the weighted vote on them."""
        return cls.of_block(in_memory(votes, block_items=max(len(votes.items), 1)).blocks[0], weighted_ik)

    @classmethod
    def of_block(cls, block: Block, weighted_ik: FloatArray) -> Features:
        """The features of the items of a block."""
        from scipy.sparse import csr_array

        n_items, n_columns = block.matrix.shape
        count_n, size = block.matrix.data, n_items * block.n_classes
        worker_n, label_n = np.divmod(block.matrix.indices, block.n_classes)
        row_n = np.repeat(np.arange(n_items), np.diff(block.matrix.indptr)) * block.n_classes + label_n
        count_ik = np.bincount(row_n, count_n, size).reshape(n_items, block.n_classes).astype(float)
        votes_rj = csr_array((count_n, (row_n, worker_n)), shape=(size, n_columns // block.n_classes))
        return cls.from_shares(np.asarray(weighted_ik, dtype=float), shares(count_ik), votes_rj)

    @classmethod
    def from_shares(cls, weighted_ik: FloatArray, share_ik: FloatArray, votes_rj: csr_array[Any]) -> Features:
        """The features from vote shares and each worker's votes."""
        return cls(np.log(np.maximum(np.stack([weighted_ik, share_ik], axis=2), 0.02)), votes_rj)

    def take(self, item_n: Codes) -> Features:
        """The features of some items."""
        return Features(self.log_ikf[item_n], self.votes_rj[_rows(item_n, self.log_ikf.shape[1])])

    def regression(self, item_n: Codes, truth_n: Codes, prior_j: FloatArray | None = None) -> Regression:
        """The labelled items as a regression problem; `prior_j` holds the prior means of the workers' weights."""
        from scipy.sparse import csr_array, hstack

        n_classes = self.log_ikf.shape[1]
        votes_rj = self.votes_rj[_rows(item_n, n_classes)]
        worker_w = np.unique(votes_rj.indices).astype(np.int64)
        columns = [
            csr_array(self.log_ikf[item_n].reshape(-1, 2)),
            votes_rj[:, worker_w],
            csr_array(np.tile(np.eye(n_classes), (len(item_n), 1))),
        ]
        prior_j = np.zeros(self.votes_rj.shape[1]) if prior_j is None else prior_j
        return Regression(hstack(columns, format="csr"), truth_n, worker_w, prior_j)

    def predict(self, weights: Weights) -> FloatArray:
        """The probability of each class of each item."""
        by_worker = (self.votes_rj @ weights.weight_j).reshape(self.log_ikf.shape[:2])
        return softmax_rows(self.log_ikf @ weights.mix + by_worker + weights.offset_k)[0]


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Labelled items as a regression problem: features for each item and class, and the true classes."""

    features: csr_array[Any]  # (labels * classes, 2 + workers who voted on them + classes)
    truth_n: Codes
    worker_w: Codes  # the codes of these workers
    prior_j: FloatArray  # prior means of the weights of all workers

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.features.indptr) // max(len(self.truth_n), 1)

    def fit(self) -> Weights:
        """Maximise the penalised likelihood."""
        value, n_workers = self._fit_some(np.arange(len(self.truth_n))), len(self.worker_w)
        weight_j = self.prior_j.copy()
        weight_j[self.worker_w] = value[2 : 2 + n_workers]
        return Weights(mix=value[:2], weight_j=weight_j, offset_k=value[2 + n_workers :])

    def _fit_some(self, some: Codes) -> FloatArray:
        """The parameters learned from some of the labels."""
        from scipy.optimize import minimize

        n_classes, n_workers = self.n_classes, len(self.worker_w)
        features, truth_n, rows = self.features[_rows(some, n_classes)], self.truth_n[some], np.arange(len(some))
        transpose = features.T.tocsr()
        start = np.concatenate([[0.5, 0.5], self.prior_j[self.worker_w], np.zeros(n_classes)])
        # Not tuned: halving or doubling any penalty moves the mean gain on 20 public sets by less than .5 points.
        penalty = np.repeat([2.0, 2.0, 1.0], [2, n_workers, n_classes])

        def objective(value: FloatArray) -> tuple[float, FloatArray]:
            score_nk = (features @ value).reshape(-1, n_classes)
            right_n, shift = score_nk[rows, truth_n], value - start
            surplus_nk, log_total_n = softmax_rows(score_nk)
            surplus_nk[rows, truth_n] -= 1
            loss = float((log_total_n - right_n).sum() + (penalty * shift**2).sum())
            return loss, transpose @ surplus_nk.ravel() + 2 * penalty * shift

        return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-11}).x)

    def cross_validated(self, fold_n: Codes) -> FloatArray:
        """Scores of the classes of each labelled item, from weights learned without the item's fold."""
        score_nk = np.empty((len(self.truth_n), self.n_classes))
        for fold in np.unique(fold_n):
            left_out = np.flatnonzero(fold_n == fold)
            value = self._fit_some(np.flatnonzero(fold_n != fold))
            score_nk[left_out] = (self.features[_rows(left_out, self.n_classes)] @ value).reshape(-1, self.n_classes)
        return score_nk


def _rows(item_n: Codes, n_classes: int) -> Codes:
    """The rows of these items: one for each class."""
    return np.asarray((item_n[:, None] * n_classes + np.arange(n_classes)).ravel())


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LearnedRule:
    """A rule learned from labels, averaged with the rule that is used without labels.

    Parameters
    ----------
    weights : mapping
        Extra weight of each worker who voted on a labelled item; 0 for the others.
    mix : tuple of float
        Weights of the weighted vote and of the vote shares.
    offset_k : array
        Offset of each class.
    n_labels : int
        Number of labels that it was learned from.
    share : float
        Weight of the learned rule in the average.
    accuracy : float
        Share of the labels that the average predicts correctly, each without having seen it.
    baseline : str
        The rule that is used without labels; for majority vote, the vote shares are averaged.
    baseline_accuracy : float
        Share of the labels that the baseline predicts correctly; ties count by their share.
    from_majority, from_baseline : Change
        How the average changes the labelled items, each without having seen its label.
    gain : Gain or None
        The gain to expect over majority vote; None until `judged` has seen all items.
    written : bool
        Whether its labels are expected to be better than those of the baseline.
    """

    weights: Mapping[Hashable, float]
    mix: tuple[float, float]
    offset_k: FloatArray
    n_labels: int
    accuracy: float
    baseline: str
    baseline_accuracy: float
    share: float = 1.0
    from_majority: Change = NO_CHANGE
    from_baseline: Change = NO_CHANGE
    gain: Gain | None = None
    written: bool = False

    def __post_init__(self) -> None:
        lock(self)

    @property
    def earned(self) -> bool:
        """Whether the labels allow to announce that it is better than majority vote."""
        return self.written and self.gain is not None and self.gain.earned

    def judged(self, beside_majority: Expected, beside_baseline: Expected, *, must_earn: bool = True) -> LearnedRule:
        """The rule with its expected gain, from what it changes on all items.

        Beside majority vote it is written if it is expected to gain; beside a better rule only if it has earned that,
        unless `must_earn` is off.
        """
        gain, further = (
            expected_gain(on_items, on_labels, self.n_labels, n_classes=len(self.offset_k))
            for on_items, on_labels in (
                (beside_majority, self.from_majority),
                (beside_baseline, self.from_baseline),
            )
        )
        must_earn = must_earn and self.baseline != MAJORITY
        return replace(self, gain=gain, written=further.earned if must_earn else further.value > 0)

    def weights_for(self, workers: Sequence[Hashable]) -> Weights:
        """The weights, in the order of these workers."""
        by_name = {str(worker): weight for worker, weight in self.weights.items()}
        weight_j = np.array([by_name.get(str(worker), 0.0) for worker in workers])
        return Weights(mix=np.array(self.mix), weight_j=weight_j, offset_k=self.offset_k)

    def posterior(self, features: Features, workers: Sequence[Hashable], base_ik: FloatArray) -> FloatArray:
        """Probabilities of the average; `base_ik` are those of the baseline."""
        return average(features.predict(self.weights_for(workers)), base_ik, self.share)

    def fit(self, votes: Votes, weighted: Fit, base: Fit) -> Fit:
        """Apply the rule to all items of these votes.

        `weighted` is the weighted vote on them, and `base` the rule that is used without labels.
        """
        weights = self.weights_for(votes.workers)
        return replace(
            weighted,
            method=LEARNED,
            posterior=rows_of_parts(partial(_posterior, weights, self.share), votes, weighted, base),
            confusion=None,
            skill=None,
            learned={"mix": weights.mix, "weights": weights.weight_j, "offsets": weights.offset_k},
            trace=(),
        )


def earned_evidence(learned: LearnedRule) -> tuple[Evidence, ...]:
    """Evidence about a learned rule from the labels that taught it; empty unless its labels are written."""
    if not learned.written or learned.gain is None:
        return ()
    gain = learned.gain
    return (
        Evidence(
            source=Source.EARNED,
            other=LEARNED,
            gain=Estimate(gain.value, gain.low, gain.high),
            level=RANGE,
            n_labels=learned.n_labels,
            n_used=learned.n_labels,
            earned=gain.earned,
        ),
    )


def changes_on_items(votes: Votes, before: Fit, after: Fit) -> Expected:
    """What the second rule changes on the items with votes, and what it expects."""
    voted_i = votes.votes_i > 0
    return expected_change(np.asarray(before.posterior)[voted_i], np.asarray(after.posterior)[voted_i])


def _posterior(weights: Weights, share: float, votes: Votes, weighted: Fit, base: Fit) -> FloatArray:
    return average(Features.of(votes, weighted.posterior).predict(weights), base.posterior, share)


def prior_weights(setting: Setting) -> FloatArray | None:
    """Prior means of the weights of judges whom the world knows; None for other votes."""
    if setting.case is not Case.KNOWN_JUDGES or setting.judges is None:
        return None
    return np.asarray(0.5 * setting.judges.weight_j)


def learn_rule(
    votes: Votes,
    item_p: ArrayLike,
    truth_p: ArrayLike,
    weighted: Fit,
    *,
    baseline: Fit,
    prior_j: FloatArray | None = None,
    seed: int = 0,
) -> LearnedRule:
    """Learn a rule from expert or gold labels.

    Parameters
    ----------
    votes : Votes
        All votes.
    item_p, truth_p : array
        Codes of the labelled items and of their classes; `gold_labels` returns those that came with the votes.  The
        items must be a random sample, or be drawn by `ask`.
    weighted : Fit
        The weighted vote on these votes, fitted without the labels.
    baseline : Fit
        The rule that is used without labels.
    prior_j : array, optional
        Prior means of the workers' extra weights, by default 0; see `prior_weights`.
    seed : int
        Seed of the folds.  Items are assigned by name, so the order of the rows does not matter.

    Raises
    ------
    DataError
        If there are fewer than 10 labels.

    Examples
    --------
    >>> from majorant.methods.majority import Majority
    >>> from majorant.simulate import one_coin_workers, simulate
    >>> votes, truth = simulate([.5, .5], one_coin_workers([.95, .3, .3, .3]), n_items=300, n_votes=4, rng=0)
    >>> majority = Majority().fit(votes)
    >>> rule = learn_rule(votes, range(30), truth[:30], majority, baseline=majority)
    >>> round(rule.share, 2), [round(weight, 1) for weight in rule.weights.values()]
    (1.0, [0.9, -0.5, -0.4, -0.5])
    """
    most_labels = 20_000  # more would cost time without improving the rule
    item_p, truth_p = np.asarray(item_p, np.int64), np.asarray(truth_p, np.int64)
    rising = np.argsort(item_p)
    labelled, truth_n = item_p[rising], truth_p[rising]
    some = take_items(votes, labelled)
    if len(labelled) > most_labels:
        kept = np.sort(np.argsort(name_hashes(some.items, seed))[:most_labels])
        labelled, truth_n = labelled[kept], truth_n[kept]
        some = take_items(votes, labelled)
    features = Features.of(some, weighted.take(labelled).posterior)
    base_nk = baseline.take(labelled).posterior
    return learn_from_features(
        features,
        some.items,
        truth_n,
        base_nk,
        share_nk=shares(counts(some).astype(float)),
        workers=some.workers,
        baseline=baseline.method,
        prior_j=prior_j,
        seed=seed,
    )


def learn_from_features(
    features: Features,
    items: Sequence[Hashable],
    truth_n: Codes,
    base_nk: FloatArray,
    *,
    share_nk: FloatArray,
    workers: Sequence[Hashable],
    baseline: str,
    prior_j: FloatArray | None = None,
    seed: int = 0,
) -> LearnedRule:
    """Learn a rule from labelled items, given their probabilities by the baseline and their vote shares."""
    if len(items) < LEAST_LABELS:
        raise DataError(f"Learning a rule takes at least {LEAST_LABELS} labels, not {len(items)}.")
    rows = np.arange(len(items))
    regression = features.regression(rows, truth_n, prior_j)
    held_out_nk = softmax_rows(regression.cross_validated(_folds(items, seed)))[0]
    share = weight_of_learned(held_out_nk, base_nk, truth_n)
    average_nk = average(held_out_nk, base_nk, share)
    weights = regression.fit()
    return LearnedRule(
        weights={
            workers[j]: float(weights.weight_j[j])
            for j in np.union1d(regression.worker_w, np.flatnonzero(weights.weight_j))
        },
        mix=(float(weights.mix[0]), float(weights.mix[1])),
        offset_k=weights.offset_k,
        n_labels=len(items),
        share=share,
        accuracy=float(chances(average_nk)[rows, truth_n].mean()),
        baseline=baseline,
        baseline_accuracy=float(chances(base_nk)[rows, truth_n].mean()),
        from_majority=observed_change(share_nk, average_nk, truth_n),
        from_baseline=observed_change(base_nk, average_nk, truth_n),
    )


def _folds(items: Iterable[Hashable], seed: int) -> Codes:
    """Assign items to ten folds of nearly equal size, by a random hash of their names."""
    hash_n = name_hashes(tuple(items), seed)
    fold_n = np.empty(len(hash_n), dtype=np.int64)
    fold_n[np.argsort(hash_n, kind="stable")] = np.arange(len(hash_n)) % 10
    return fold_n


def gold_labels(votes: Votes) -> tuple[Codes, Codes]:
    """Codes of the items that have votes and a gold label, and these labels."""
    if votes.gold_i is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    return known, votes.gold_i[known].astype(np.int64)
