"""A model of votes that depend on each other because of hard items or shared errors.  See docs/decide.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.kernels import shares, softmax_rows, vote_columns
from majorant.methods.fit import Fit
from majorant.methods.hierarchical import Hierarchical, tilt
from majorant.methods.tables import by_worker, vote_rows
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

SHAPES = ("polya_urn", "common_cause", "difficulty")  # with two classes, the last equals the first
STRENGTHS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.45])
LEAST_CHANCE = 1e-100
FIRST_SPREAD = 1.0  # variance of workers' log-odds


class Groups(NamedTuple):
    """Groups of votes on an item with the same label; axis m."""

    label_m: IntArray
    item_m: IntArray
    start_i: IntArray  # the first group of each item
    order_n: IntArray  # votes sorted by group
    offset_m: IntArray  # where each group starts in this order, and the end of the last one


class Kinds(NamedTuple):
    """Kinds of votes that the model treats alike: same worker, label, and number of earlier like votes; axis u."""

    column_u: IntArray  # (worker, label) as one number
    same_u: FloatArray  # number of earlier votes on the item for the same label
    matrix_iu: Any  # number of votes of each item by kind, sparse
    matrix_mu: Any  # the same for each group
    matrix_uc: Any  # the column that each kind belongs to, sparse


@dataclass(frozen=True, eq=False)
class VoteArrays:
    """The votes in the form that the model needs."""

    votes: Votes  # every item has votes
    strength_k: FloatArray  # number of votes that the crowd's matrix counts for in a worker's matrix
    posterior_ik: FloatArray  # initial values

    @cached_property
    def groups(self) -> Groups:
        """Groups of votes that agree."""
        n_classes = len(self.votes.labels)
        key_n = self.votes.item_n.astype(np.int64) * n_classes + self.votes.label_n
        order_n = np.argsort(key_n, kind="stable")
        key_m, first_m = np.unique(key_n[order_n], return_index=True)
        item_m = key_m // n_classes
        return Groups(
            label_m=key_m % n_classes,
            item_m=item_m,
            start_i=np.searchsorted(item_m, np.arange(len(self.votes.items))),
            order_n=order_n,
            offset_m=np.append(first_m, len(key_n)),
        )

    @cached_property
    def each_vote(self) -> Kinds:
        """Kinds with one vote each."""
        groups, n_votes = self.groups, self.votes.n_votes
        same_n = np.empty(n_votes)
        same_n[groups.order_n] = np.arange(n_votes) - np.repeat(groups.offset_m[:-1], np.diff(groups.offset_m))
        return self._kinds(np.arange(n_votes), vote_columns(self.votes), same_n)

    @cached_property
    def kinds(self) -> Kinds:
        """Kinds of votes; far fewer than votes if workers give many."""
        column_n, same_n = self.each_vote.column_u, self.each_vote.same_u
        _, first_u, kind_n = np.unique(column_n * (same_n.max() + 1) + same_n, return_index=True, return_inverse=True)
        return self._kinds(kind_n, column_n[first_u], same_n[first_u])

    @cached_property
    def is_class_nk(self) -> NDArray[np.bool_]:
        """Whether each vote is for class k."""
        return np.asarray(self.votes.label_n[:, None] == np.arange(len(self.votes.labels)))

    @cached_property
    def earlier_nk(self) -> FloatArray:
        """Number of earlier votes on the item that are right, or wrong, as this vote is if k is true."""
        first_n = self.votes.offsets_i[self.votes.item_n]
        running_nk: FloatArray = np.cumsum(self.is_class_nk, axis=0, dtype=float) - self.is_class_nk
        right_nk = running_nk - running_nk[first_n]
        all_n = np.arange(self.votes.n_votes) - first_n
        return np.where(self.is_class_nk, right_nk, all_n[:, None] - right_nk)

    def _kinds(self, kind_n: IntArray, column_u: IntArray, same_u: FloatArray) -> Kinds:
        from scipy.sparse import csr_array

        n_items, n_workers, n_classes = self.votes.shape
        n_kinds, groups, ones_n = len(column_u), self.groups, np.ones(len(kind_n))
        of_items = (ones_n, kind_n, self.votes.offsets_i)
        of_groups = (ones_n, kind_n[groups.order_n], groups.offset_m)
        return Kinds(
            column_u,
            same_u,
            csr_array(of_items, shape=(n_items, n_kinds)),
            csr_array(of_groups, shape=(len(groups.item_m), n_kinds)),
            csr_array((ones_n[:n_kinds], column_u, np.arange(n_kinds + 1)), shape=(n_kinds, n_workers * n_classes)),
        )


class ModelParams(NamedTuple):
    """Expected first-hand votes by worker, class and label, plus the crowd's matrix, and class probabilities."""

    votes_jkl: FloatArray
    total_jk: FloatArray
    crowd_kl: FloatArray
    odds_j: FloatArray  # log-odds of being right minus those of the crowd
    spread: float  # variance of `odds_j`
    prior_k: FloatArray


class FittedModel(NamedTuple):
    """The model fitted with one shape and strength of dependence."""

    shape: str
    dependence: float
    evidence: float  # log-likelihood of votes under matrices that were fitted without them
    params: ModelParams
    posterior_ik: FloatArray


class ModelAverage(NamedTuple):
    """All cases, starting with independent votes, and the probability of each; axis r."""

    cases: tuple[FittedModel, ...]
    dependence_r: FloatArray
    weight_r: FloatArray

    @property
    def posterior_ik(self) -> FloatArray:
        """The posterior of each item, averaged over all cases."""
        return np.asarray(sum(w * case.posterior_ik for w, case in zip(self.weight_r, self.cases, strict=True)))


# Expected first-hand votes by kind and class, (U, K), given the posterior of the items.
FirstHand = Callable[[FloatArray], FloatArray]


class _EmStep(NamedTuple):
    posterior_ik: FloatArray
    evidence: float
    first_hand: FirstHand


def vote_arrays(votes: Votes, like: VoteArrays | None = None, crowd: Fit | None = None) -> VoteArrays:
    """Prepare votes; every item needs at least one.

    Workers are shrunk to the crowd as strongly as in `like`, or else as in `crowd`, a fit of `hierarchical` to them.
    """
    if like is None:
        # Only the strength is needed, which converges early.
        fit = Hierarchical(max_iter=15).fit(votes) if crowd is None else crowd
        strength_k, posterior_ik = np.asarray(fit.learned["strength"]), fit.posterior
    else:
        strength_k, posterior_ik = like.strength_k, np.empty((0, len(votes.labels)))
    return VoteArrays(votes, strength_k, posterior_ik)


def refit_model(arrays: VoteArrays, case: FittedModel) -> FittedModel:
    """Fit a case to other votes of the same crowd, starting each worker from the crowd's matrix."""
    n_workers = len(arrays.votes.workers)
    votes_jkl = np.tile(arrays.strength_k[:, None] * case.params.crowd_kl, (n_workers, 1, 1))
    total_jk = np.einsum("jkl->jk", votes_jkl)
    params = case.params._replace(votes_jkl=votes_jkl, total_jk=total_jk, odds_j=np.zeros(n_workers))
    return _converge(arrays, params, case.shape, case.dependence)


def fit_models(arrays: VoteArrays) -> ModelAverage:
    """Fit the model at each shape and strength of dependence by EM, and weigh them by their evidence.

    A vote is either first-hand, from the worker's confusion matrix, or it repeats something.  In `polya_urn`, it
    repeats a random earlier vote on the item; the more there are, the likelier it repeats (with one matrix for all
    workers, this is Dirichlet difficulty of items).  In `common_cause`, it repeats an impression shared by all voters
    of the item and drawn from the crowd's matrix.  In `difficulty`, it repeats only whether an earlier vote was right.
    Given the truth, two votes on an item have the correlation `dependence` (for `difficulty`: in being right); 0 gives
    Dawid-Skene.
    Larger strengths are skipped once the votes rule one out.
    """
    all_uk = arrays.kinds.matrix_iu.T @ arrays.posterior_ik
    none = _converge(arrays, _m_step(arrays, arrays.kinds, arrays.posterior_ik, all_uk, None), "none", 0.0)
    cases = [none]
    for shape in SHAPES if len(arrays.votes.labels) > 2 else SHAPES[:2]:
        case = none
        for dependence in STRENGTHS:
            case = _converge(arrays, case.params, shape, float(dependence))
            cases.append(case)
            if (
                case.evidence < max(tried.evidence for tried in cases) - 30.0
            ):  # in nats; the votes rule this strength out
                break
    dependence_r, evidence_r = np.array([(case.dependence, case.evidence) for case in cases]).T
    return ModelAverage(tuple(cases), dependence_r, case_weights(dependence_r, evidence_r))


def case_weights(dependence_r: FloatArray, evidence_r: FloatArray) -> FloatArray:
    """The probability of each case.

    The prior gives probability 1/2 to independence, equal shares to shapes, and an exponential density to strengths.

    >>> case_weights(np.array([0.0, 0.2, 0.2]), np.zeros(3)).round(2).tolist()
    [0.88, 0.06, 0.06]
    """
    grid = np.concatenate([[0.0], STRENGTHS])
    density = np.exp(-grid / 0.2) * np.gradient(grid)  # the prior of the dependence is exponential
    share = density / density[1:].sum() / (2 * len(SHAPES))
    share[0] = 0.5
    return np.asarray(softmax_rows((evidence_r + np.log(np.interp(dependence_r, grid, share)))[None])[0][0])


def _converge(arrays: VoteArrays, params: ModelParams, shape: str, dependence: float) -> FittedModel:
    """Run EM until the posterior converges; the last step predicts each vote from a matrix fitted without it."""
    kinds = arrays.each_vote if shape == "difficulty" else arrays.kinds
    before_ik = None
    for _ in range(30):
        old = params
        posterior_ik, _, first_hand = _e_step(arrays, kinds, _own(kinds, old), old, shape, dependence)
        params = _m_step(arrays, kinds, posterior_ik, first_hand(posterior_ik), old)
        if before_ik is not None and np.abs(posterior_ik - before_ik).mean() < 5e-4:
            break
        before_ik = posterior_ik
    votes = arrays.each_vote
    own_count_nk = _e_step(arrays, votes, _own(votes, old), old, shape, dependence).first_hand(posterior_ik)
    vote_nk, total_nk = vote_rows(params.votes_jkl)[votes.column_u], params.total_jk[arrays.votes.worker_n]
    own_nk = np.maximum((vote_nk - own_count_nk) / (total_nk - own_count_nk), LEAST_CHANCE)
    last = _e_step(arrays, votes, own_nk, params, shape, dependence)
    return FittedModel(shape, dependence, last.evidence, params, last.posterior_ik)


def _own(kinds: Kinds, params: ModelParams) -> FloatArray:
    """Probability of a first-hand vote of each kind given the class, (U, K)."""
    own_jkl = np.maximum(params.votes_jkl / params.total_jk[:, :, None], LEAST_CHANCE)
    return np.asarray(vote_rows(own_jkl)[kinds.column_u])


def _e_step(
    arrays: VoteArrays, kinds: Kinds, own_uk: FloatArray, params: ModelParams, shape: str, dependence: float
) -> _EmStep:
    """The posterior of the items if first-hand votes have probabilities `own_uk`."""
    if shape == "common_cause":
        log_ik, first_hand = _common_cause(arrays, kinds, own_uk, params.crowd_kl, dependence)
    elif shape == "difficulty":
        right_jk = np.einsum("jkk->jk", params.votes_jkl) / params.total_jk
        log_ik, first_hand = _difficulty(arrays, own_uk, right_jk, dependence)
    else:
        log_ik, first_hand = _polya_urn(arrays, kinds, own_uk, dependence)
    posterior_ik, evidence_i = softmax_rows(log_ik + np.log(params.prior_k))
    return _EmStep(posterior_ik, float(evidence_i.sum()), first_hand)


def _polya_urn(arrays: VoteArrays, kinds: Kinds, own_uk: FloatArray, dependence: float) -> tuple[FloatArray, FirstHand]:
    """Log-probability of the votes on each item given the class, and a function for expected first-hand votes."""
    first_uk = (1 - dependence) * own_uk
    vote_uk = first_uk + dependence * kinds.same_u[:, None]
    log_ik = kinds.matrix_iu @ np.log(vote_uk) - _log_weights(arrays, dependence)[:, None]
    return log_ik, lambda posterior_ik: (kinds.matrix_iu.T @ posterior_ik) * (first_uk / vote_uk)


def _log_weights(arrays: VoteArrays, dependence: float) -> FloatArray:
    """Log of the total weight of first-hand and earlier votes, summed over the votes of each item."""
    votes_i = arrays.votes.votes_i
    return np.asarray(np.cumsum(np.log((1 - dependence) + dependence * np.arange(votes_i.max())))[votes_i - 1])


def _difficulty(
    arrays: VoteArrays, own_nk: FloatArray, right_jk: FloatArray, dependence: float
) -> tuple[FloatArray, FirstHand]:
    """As `_polya_urn`, but votes repeat being right or wrong, and wrong labels come from the worker's matrix."""
    matrix_in = arrays.each_vote.matrix_iu
    # The first-hand probability of being right, or wrong, like the vote.
    rate_nk = np.where(arrays.is_class_nk, own_nk, np.maximum(1 - right_jk[arrays.votes.worker_n], own_nk))
    vote_nk = (1 - dependence) * rate_nk + dependence * arrays.earlier_nk
    log_ik = matrix_in @ (np.log(vote_nk) + np.log(own_nk / rate_nk)) - _log_weights(arrays, dependence)[:, None]
    return log_ik, lambda posterior_ik: (matrix_in.T @ posterior_ik) * ((1 - dependence) * rate_nk / vote_nk)


def _common_cause(
    arrays: VoteArrays, kinds: Kinds, own_uk: FloatArray, crowd_kl: FloatArray, dependence: float
) -> tuple[FloatArray, FirstHand]:
    """As `_polya_urn`, but votes repeat a hidden impression with probability sqrt(dependence)."""
    pull, groups = np.sqrt(dependence), arrays.groups
    repeat_uk = pull / (pull + (1 - pull) * own_uk)  # given that the impression is the label voted for
    base_ik = kinds.matrix_iu @ np.log((1 - pull) * own_uk)
    lift_mk = kinds.matrix_mu @ -np.log1p(-repeat_uk)
    crowd_mk = crowd_kl[:, groups.label_m].T
    # The impression may be a label without votes on the item.
    other_ik = np.maximum(1 - np.add.reduceat(crowd_mk, groups.start_i, axis=0), LEAST_CHANCE)
    top_ik = np.maximum(np.maximum.reduceat(lift_mk, groups.start_i, axis=0), 0.0)
    part_mk = crowd_mk * np.exp(lift_mk - top_ik[groups.item_m])
    sum_ik = np.add.reduceat(part_mk, groups.start_i, axis=0) + other_ik * np.exp(-top_ik)
    seen_mk = part_mk / sum_ik[groups.item_m]  # probability that this label is the impression, given the class

    def first_hand(posterior_ik: FloatArray) -> FloatArray:
        repeated_uk = repeat_uk * (kinds.matrix_mu.T @ (posterior_ik[groups.item_m] * seen_mk))
        return np.asarray(kinds.matrix_iu.T @ posterior_ik - repeated_uk)

    return base_ik + top_ik + np.log(sum_ik), first_hand


def _m_step(
    arrays: VoteArrays, kinds: Kinds, posterior_ik: FloatArray, counts_uk: FloatArray, old: ModelParams | None
) -> ModelParams:
    """First-hand votes by worker, class and label, shrunk to the crowd's matrix tilted by the worker's odds."""
    _, n_workers, n_classes = arrays.votes.shape
    counts_jkl = by_worker(kinds.matrix_uc.T @ counts_uk, n_classes)
    crowd_kl = shares(np.einsum("jkl->kl", counts_jkl) + 1.0)
    odds_j, spread = (np.zeros(n_workers), FIRST_SPREAD) if old is None else (old.odds_j, old.spread)
    odds_j, spread = _odds(counts_jkl, crowd_kl, odds_j, spread)
    votes_jkl = counts_jkl + tilt(arrays.strength_k[:, None] * crowd_kl, np.exp(odds_j))
    total_jk, prior_k = np.einsum("jkl->jk", votes_jkl), shares(np.einsum("ik->k", posterior_ik) + 1.0)
    return ModelParams(votes_jkl, total_jk, crowd_kl, odds_j, spread, prior_k)


def _odds(counts_jkl: FloatArray, crowd_kl: FloatArray, odds_j: FloatArray, spread: float) -> tuple[FloatArray, float]:
    """One Newton step for each worker's odds, which are normal around the crowd's, and their estimated variance."""
    right_k = np.clip(np.diag(crowd_kl), 1e-6, 1 - 1e-6)
    total_jk = np.einsum("jkl->jk", counts_jkl)
    right_jk = 1 / (1 + np.exp(-(np.log(right_k) - np.log1p(-right_k) + odds_j[:, None])))
    slope_j = np.einsum("jkk->j", counts_jkl) - np.einsum("jk,jk->j", total_jk, right_jk) - odds_j / spread
    curve_j = np.einsum("jk,jk,jk->j", total_jk, right_jk, 1 - right_jk) + 1 / spread
    odds_j = np.clip(odds_j + np.clip(slope_j / curve_j, -1, 1), -10.0, 10.0)
    return odds_j, float(np.clip((odds_j**2 + 1 / curve_j).mean(), 1e-3, FIRST_SPREAD))
