"""The margin of majority vote: how safely it agrees with the optimal rule if all voters share one confusion matrix.

The margin is the smallest log-odds, in nats, of the majority class against the best other class, over all possible vote
patterns. If it is positive, majority vote is the optimal rule on every pattern; if it is negative, the rules differ on
some pattern, the `Witness`; 0 is the boundary.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.arguments import validated
from majorant.errors import ConfigError
from majorant.theory.checks import as_confusion, as_margin_ties, as_models, as_prior, as_vote_count
from majorant.values import FloatArray, safe_log


def verdict(margin: float) -> str:
    """Describe the sign of a margin in words.

    Parameters
    ----------
    margin : float
        In nats.

    Returns
    -------
    str
        "optimal", "boundary" or "not optimal".

    Examples
    --------
    >>> [verdict(margin) for margin in (.3, -1e-16, -2.)]
    ['optimal', 'boundary', 'not optimal']
    """
    if abs(margin) <= 1e-12:  # 0 up to rounding
        return "boundary"
    return "optimal" if margin > 0 else "not optimal"


@dataclass(frozen=True, slots=True)
class Witness:
    """The votes on which majority comes closest to, or goes furthest against, the optimal rule.

    It behaves like a sequence of its counts: `list(witness)`, `numpy.array(witness)`.  If the margin is positive,
    `optimal` equals `majority`; if it is 0, both `majority` and `optimal` are optimal.

    >>> witness = Witness(counts=(2, 1), majority=0, optimal=1, margin=-.5)
    >>> list(witness), witness.words(["cat", "dog"])
    ([2, 1], '2 x cat, 1 x dog: majority says cat, the optimal rule says dog')
    """

    counts: tuple[int, ...]  # votes for each class
    majority: int
    optimal: int
    margin: float  # log-odds of the majority class against the best other class, in nats
    ballot: tuple[int, ...] | None = None  # who said what, if voters differ

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, index: int) -> int:
        return self.counts[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self.counts)

    @property
    def tied(self) -> bool:
        """Whether no class has more votes than every other."""
        return self.counts.count(max(self.counts)) > 1

    @validated
    def words(self, labels: Sequence[Hashable] | None = None, voters: Sequence[Hashable] | None = None) -> str:
        """Describe the pattern in a sentence, with the user's names of the classes (and of a panel's voters)."""
        for name, given, size in (("labels", labels, len(self.counts)), ("voters", voters, len(self.ballot or ()))):
            if given is not None and len(given) != size and (name == "labels" or self.ballot is not None):
                raise ConfigError(f"{name} must hold {size} names, not {len(given)}.")
        name_k = (
            [str(label) for label in labels] if labels is not None else [f"class {k}" for k in range(len(self.counts))]
        )
        majority, optimal = name_k[self.majority], name_k[self.optimal]
        says = f"the tie can go to {majority}" if self.tied else f"majority says {majority}"
        if verdict(self.margin) == "boundary":
            return f"{self._votes(name_k, voters)}: {says}, {optimal} is just as good"
        if self.margin > 0:
            return f"{self._votes(name_k, voters)}: {says}, and so does the optimal rule"
        return f"{self._votes(name_k, voters)}: {says}, the optimal rule says {optimal}"

    def _votes(self, name_k: Sequence[str], voters: Sequence[Hashable] | None) -> str:
        by_count = sorted(range(len(self.counts)), key=lambda k: (k != self.majority, -self.counts[k]))
        present = [k for k in by_count if self.counts[k]]
        if self.ballot is None:
            return ", ".join(f"{self.counts[k]} x {name_k[k]}" for k in present)
        name_h = list(voters) if voters is not None else list(range(1, len(self.ballot) + 1))
        who_k = {k: " ".join(str(name) for name, l in zip(name_h, self.ballot, strict=True) if l == k) for k in present}
        return ", ".join(f"{name_k[k]} from {who}" for k, who in who_k.items())


def majority_margin(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "exclude") -> float:
    """The margin, in nats, by which majority vote agrees with the optimal rule on every vote pattern.

    Parameters
    ----------
    prior : array_like of shape (K,)
        Probability of each class.
    confusion : array_like of shape (K, K)
        `confusion[k, l]` is the probability of a vote for label l on an item of class k, the same for all voters.
    n_votes : int
        Independent votes on an item.
    ties : {"exclude", "random", "first", "prior"}
        How ties are resolved: left out, at random, to class 0, or to the tied class with the largest prior. With more
        than two classes, only "exclude" is possible.

    Returns
    -------
    float
        The smallest log-odds of the majority class over all possible patterns; above 0 if the rules always agree, and
        inf if no pattern leaves any doubt.

    Notes
    -----
    Proof: docs/theory/majority.md.

    Examples
    --------
    >>> round(majority_margin([.5, .5], [[.8, .2], [.2, .8]], 3), 3)
    1.386
    >>> round(majority_margin([.2, .3, .5], [[.8, .1, .1], [.1, .8, .1], [.1, .1, .8]], 5), 3)
    1.163
    """
    prior_k = as_prior(prior)
    confusion_kl = as_confusion(confusion, len(prior_k))
    return float(_margins(prior_k, confusion_kl, as_vote_count(n_votes), as_margin_ties(ties, len(prior_k))))


def majority_margins(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "exclude") -> FloatArray:
    """The margins of many models at once; see `majority_margin`.

    Parameters
    ----------
    prior : array_like of shape (..., K)
        Class probabilities of each model.
    confusion : array_like of shape (..., K, K)
        Confusion matrix of each model; leading axes broadcast.
    n_votes, ties
        As for `majority_margin`.

    Returns
    -------
    ndarray
        The margin of each model.

    Examples
    --------
    >>> majority_margins([.6, .4], [[[.7, .3], [.2, .8]], [[.6, .4], [.4, .6]]], 3).round(3).tolist()
    [0.303, 0.0]
    """
    prior_bk, confusion_bkl = as_models(prior, confusion)
    return _margins(prior_bk, confusion_bkl, as_vote_count(n_votes), as_margin_ties(ties, prior_bk.shape[-1]))


def majority_witness(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "exclude") -> Witness:
    """The vote counts that attain `majority_margin`, and what both rules say about them.

    Parameters
    ----------
    prior, confusion, n_votes, ties
        As for `majority_margin`.

    Returns
    -------
    Witness
        The pattern with the least support for the majority class.

    Examples
    --------
    >>> witness = majority_witness([.2, .8], [[.7, .3], [.3, .7]], 3)
    >>> witness.counts, witness.words(["cat", "dog"])
    ((2, 1), '2 x cat, 1 x dog: majority says cat, the optimal rule says dog')
    """
    prior_k = as_prior(prior)
    confusion_kl, votes = as_confusion(confusion, len(prior_k)), as_vote_count(n_votes)
    policies = as_margin_ties(ties, len(prior_k)), "exclude"
    margin, untied = (float(_margins(prior_k, confusion_kl, votes, policy)) for policy in policies)
    if margin < untied:  # two classes, and the tied pattern is the worst
        odds = float(_log_odds(prior_k, confusion_kl, np.array(votes // 2), votes))
        return Witness((votes // 2, votes // 2), int((odds > 0) != (margin > 0)), int(odds <= 0), margin)
    value_cjm = _fill_margins(prior_k[None], confusion_kl[None], votes)[0]
    if np.isposinf(value_cjm.min()):  # the classes that occur are never mislabelled
        certain = int(prior_k.argmax())
        return Witness(tuple(votes * (k == certain) for k in range(len(prior_k))), certain, certain, margin)
    c, j, m = (int(i) for i in np.unravel_index(value_cjm.argmin(), value_cjm.shape))
    counts_l = _fill_counts(confusion_kl, c, j, _own_votes(len(prior_k), votes)[m], votes)
    joint_k = safe_log(prior_k) + _times(counts_l, safe_log(confusion_kl)).sum(axis=1)
    return Witness(tuple(counts_l.tolist()), c, optimal_class(joint_k, c, margin), margin)


def _margins(prior_bk: FloatArray, confusion_bkl: FloatArray, votes: int, ties: str) -> FloatArray:
    """The margins of models that are already checked."""
    batch, n_classes = prior_bk.shape[:-1], prior_bk.shape[-1]
    if n_classes == 2:
        return _two_class_margins(prior_bk, confusion_bkl, votes, ties)
    prior_bk, confusion_bkl = prior_bk.reshape(-1, n_classes), confusion_bkl.reshape(-1, n_classes, n_classes)
    # The size of one step of a multiclass batch: models x pairs of classes x vote counts
    size = max(1, 2_000_000 // (n_classes**2 * votes))
    parts = [
        _fill_margins(prior_bk[i : i + size], confusion_bkl[i : i + size], votes).min(axis=(1, 2, 3))
        for i in range(0, len(prior_bk), size)
    ]
    return np.concatenate([np.empty(0), *parts]).reshape(batch)


def log_odds_terms(prior_bk: FloatArray, confusion_bkl: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For two classes, (start, skew, beta) such that k of H votes for class 0 give it the log-odds below.

    The log-odds are start + H/2 skew + (k - H/2) beta. They are not finite if a probability is 0.
    """
    log_prior_bk, log_bkl = safe_log(prior_bk), safe_log(confusion_bkl)
    with np.errstate(invalid="ignore"):
        start_b = log_prior_bk[..., 0] - log_prior_bk[..., 1]
        skew_b = (log_bkl[..., 0, 0] + log_bkl[..., 0, 1]) - (log_bkl[..., 1, 0] + log_bkl[..., 1, 1])
        beta_b = log_bkl[..., 0, 0] + log_bkl[..., 1, 1] - log_bkl[..., 0, 1] - log_bkl[..., 1, 0]
    return start_b, skew_b, beta_b


def closed_form(middle_b: FloatArray, beta_b: FloatArray, votes: int) -> FloatArray:
    """The margin for two classes without ties: the narrowest majority is the worst if votes inform, else the widest."""
    narrow = votes // 2 + 1 - votes / 2
    return np.asarray(np.minimum(narrow * beta_b, votes / 2 * beta_b) - np.abs(middle_b))


def _two_class_margins(prior_bk: FloatArray, confusion_bkl: FloatArray, votes: int, ties: str) -> FloatArray:
    """The closed form and the log-odds of the tied pattern or, if there are zeros, the few extreme patterns."""
    start_b, skew_b, beta_b = log_odds_terms(prior_bk, confusion_bkl)
    with np.errstate(invalid="ignore"):  # zeros give inf - inf here; they are replaced below
        middle_b = start_b + votes / 2 * skew_b
        margin_b = closed_form(middle_b, beta_b, votes)
        if votes % 2 == 0 and ties != "exclude":
            margin_b = np.minimum(margin_b, _tie_margin(middle_b, prior_bk, ties))
    zero_b = ~(np.isfinite(beta_b) & np.isfinite(middle_b))
    if zero_b.any():
        margin_b = np.array(margin_b)
        margin_b[zero_b] = _pattern_margins(prior_bk[zero_b], confusion_bkl[zero_b], votes, ties)
    return margin_b


def _pattern_margins(prior_bk: FloatArray, confusion_bkl: FloatArray, votes: int, ties: str) -> FloatArray:
    """The margin if some probability is 0: log-odds are still extreme at the widest or the narrowest majority."""
    most = votes // 2 + 1
    margin_b = np.full(prior_bk.shape[:-1], np.inf)
    for zeros, sign in ((most, 1), (votes, 1), (votes - most, -1), (0, -1)):
        margin_b = np.fmin(margin_b, sign * _log_odds(prior_bk, confusion_bkl, np.array(zeros), votes))
    if votes % 2 == 0 and ties != "exclude":
        odds_b = _log_odds(prior_bk, confusion_bkl, np.array(votes // 2), votes)
        margin_b = np.fmin(margin_b, _tie_margin(odds_b, prior_bk, ties))
    return margin_b


def _log_odds(prior_bk: FloatArray, confusion_bkl: FloatArray, zeros: NDArray[np.int_], votes: int) -> FloatArray:
    """Log-odds of class 0 given `zeros` votes for it; NaN if neither class can produce them."""
    log_prior_bk, log_bkl = safe_log(prior_bk), safe_log(confusion_bkl)
    with np.errstate(invalid="ignore"):
        joint_bk = log_prior_bk + _times(zeros, log_bkl[..., 0]) + _times(votes - zeros, log_bkl[..., 1])
        return np.asarray(joint_bk[..., 0] - joint_bk[..., 1])


def _tie_margin(odds_b: FloatArray, prior_bk: FloatArray, ties: str) -> FloatArray:
    """The margin of a tied pattern of two classes, from its log-odds of class 0 and the policy for ties."""
    if ties == "first":
        return odds_b
    drawn_b = 0.0 - np.abs(odds_b)
    if ties == "random":
        return drawn_b
    favoured_b = np.where(prior_bk[..., 0] > prior_bk[..., 1], odds_b, -odds_b)
    return np.where(prior_bk[..., 0] == prior_bk[..., 1], drawn_b, favoured_b)


def _fill_margins(prior_bk: FloatArray, confusion_bkl: FloatArray, votes: int) -> FloatArray:
    """The smallest log-odds of c against j if c wins with own_m[m] votes, (b, c, j, m); inf if that is impossible.

    With c's votes fixed, the other votes go to the labels in increasing order of their weight, each with up to one vote
    fewer than c.  Labels that j never gives are excluded, because j cannot beat c if it is impossible.
    """
    n_classes = prior_bk.shape[1]
    own_m = _own_votes(n_classes, votes)
    cap_m, rest_m = own_m - 1, votes - own_m
    full_m, part_m = np.divmod(rest_m, np.maximum(cap_m, 1))  # labels at the cap, votes on the next one
    weight_bcjl = label_weights(confusion_bkl)
    own_bcj = np.einsum("bcjc->bcj", weight_bcjl)
    # Weights of the labels other than c, smallest first; inf for c itself and for impossible labels.
    c_is_l = np.eye(n_classes, dtype=bool)[:, None, :]
    other_bcjl = np.sort(np.where(c_is_l, np.inf, weight_bcjl), axis=-1)
    possible_bcj = np.isfinite(safe_log(prior_bk))[:, None, :] & (own_bcj < np.inf) & ~np.eye(n_classes, dtype=bool)
    n_other_bcj = (other_bcjl < np.inf).sum(axis=-1)
    feasible_bcjm = possible_bcj[..., None] & (rest_m <= cap_m * n_other_bcj[..., None])
    filled_bcjl = np.cumsum(np.where(other_bcjl < np.inf, other_bcjl, 0.0), axis=-1)
    filled_bcjl = np.concatenate([np.zeros((*own_bcj.shape, 1)), filled_bcjl[..., :-1]], axis=-1)
    log_prior_bk = safe_log(prior_bk)
    with np.errstate(invalid="ignore"):  # inf - inf occurs only if infeasible
        start_bcj = log_prior_bk[:, :, None] - log_prior_bk[:, None, :]
        value_bcjm = (
            (start_bcj[..., None] + own_m * own_bcj[..., None])
            + _times(cap_m, filled_bcjl[..., full_m])
            + _times(part_m, other_bcjl[..., full_m])
        )
    return np.where(feasible_bcjm, value_bcjm, np.inf)


def optimal_class(joint_k: FloatArray, majority: int, margin: float) -> int:
    """The optimal rule's class on a pattern with these log-probabilities: the majority class, or the best other one.

    The rival that attains the margin need not be the best class if the majority class is impossible.
    """
    return majority if margin > 0 else int(np.where(np.arange(len(joint_k)) == majority, -np.inf, joint_k).argmax())


def _fill_counts(confusion_kl: FloatArray, c: int, j: int, own: int, votes: int) -> NDArray[np.int_]:
    """The vote counts behind one entry of `_fill_margins`."""
    weight_l = label_weights(confusion_kl)[c, j]
    counts_l = np.zeros(len(confusion_kl), dtype=int)
    counts_l[c], rest = own, votes - own
    for l in np.argsort(weight_l, kind="stable"):
        if l != c:
            counts_l[l] = min(own - 1, rest)
            rest -= counts_l[l]
    return counts_l


def label_weights(confusion_bkl: FloatArray) -> FloatArray:
    """What a vote for l adds to the log-odds of c against j, (..., c, j, l); inf if j never gives l."""
    log_bkl = safe_log(confusion_bkl)
    with np.errstate(invalid="ignore"):
        weight_bcjl = log_bkl[..., :, None, :] - log_bkl[..., None, :, :]
    return np.where(np.isneginf(log_bkl)[..., None, :, :], np.inf, weight_bcjl)


def _own_votes(n_classes: int, votes: int) -> NDArray[np.int_]:
    """The numbers of votes with which one class can beat all others, from an even split upwards."""
    return np.arange(-(-(votes + n_classes - 1) // n_classes), votes + 1)


def _times(count: NDArray[np.int_], log_probability: FloatArray) -> FloatArray:
    """count * log_probability, where a count of 0 gives 0 even if the probability is 0."""
    with np.errstate(invalid="ignore"):
        return np.where(count == 0, 0.0, count * log_probability)
