"""A model of votes that depend on each other, through hard items or shared errors.  See docs/decide.md."""

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

SHAPES = ("polya_urn", "common_cause", "difficulty")  # with two classes the last is the first
STRENGTHS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.45])
LEAST_CHANCE = 1e-100
FIRST_SPREAD = 1.0  # variance of workers' log-odds


class Groups(NamedTuple):
    """The votes of an item that give the same label; axis m."""

    label_m: IntArray
    item_m: IntArray
    start_i: IntArray  # the first group of each item
    order_n: IntArray  # the votes, group by group
    offset_m: IntArray  # where a group starts in this order; one more for the end


class Kinds(NamedTuple):
    """Votes that the model need not tell apart: same worker, same label, as many earlier votes for it; axis u."""

    column_u: IntArray  # (worker, label) as one number
    same_u: FloatArray  # earlier votes on the item for the same label
    matrix_iu: Any  # the votes of each item by kind, sparse
    matrix_mu: Any  # and of each group
    matrix_uc: Any  # which column a kind belongs to, sparse


@dataclass(frozen=True, eq=False)
class VoteArrays:
    """The votes as the model needs them."""

    votes: Votes  # every item has votes
    strength_k: FloatArray  # how many votes the crowd's habit counts for in a worker's matrix
    posterior_ik: FloatArray  # to start from

    @cached_property
    def groups(self) -> Groups:
        """The votes that agree."""
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
        """Every vote as a kind of its own."""
        groups, n_votes = self.groups, self.votes.n_votes
        same_n = np.empty(n_votes)
        same_n[groups.order_n] = np.arange(n_votes) - np.repeat(groups.offset_m[:-1], np.diff(groups.offset_m))
        return self._kinds(np.arange(n_votes), vote_columns(self.votes), same_n)

    @cached_property
    def kinds(self) -> Kinds:
        """The kinds of votes: far fewer than votes if workers give many."""
        column_n, same_n = self.each_vote.column_u, self.each_vote.same_u
        _, first_u, kind_n = np.unique(column_n * (same_n.max() + 1) + same_n, return_index=True, return_inverse=True)
        return self._kinds(kind_n, column_n[first_u], same_n[first_u])

    @cached_property
    def says_nk(self) -> NDArray[np.bool_]:
        """Whether each vote gives the label of the class."""
        return np.asarray(self.votes.label_n[:, None] == np.arange(len(self.votes.labels)))

    @cached_property
    def again_nk(self) -> FloatArray:
        """How many earlier votes on its item are right, or wrong, like each vote, by class."""
        first_n = self.votes.offsets_i[self.votes.item_n]
        running_nk: FloatArray = np.cumsum(self.says_nk, axis=0, dtype=float) - self.says_nk
        right_nk = running_nk - running_nk[first_n]
        all_n = np.arange(self.votes.n_votes) - first_n
        return np.where(self.says_nk, right_nk, all_n[:, None] - right_nk)

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
    """Expected first-hand votes by worker, class and label, with the crowd's habit added; probability of each class."""

    votes_jkl: FloatArray
    total_jk: FloatArray
    crowd_kl: FloatArray
    odds_j: FloatArray  # log-odds of being right, beyond the crowd's
    spread: float  # their variance
    prior_k: FloatArray


class FittedModel(NamedTuple):
    """The model at one shape and strength of dependence."""

    shape: str
    dependence: float
    evidence: float  # for items that the matrices have not seen, in nats
    params: ModelParams
    posterior_ik: FloatArray


class ModelAverage(NamedTuple):
    """All cases, the first of independent votes, and the probability of each; axis r."""

    cases: tuple[FittedModel, ...]
    dependence_r: FloatArray
    weight_r: FloatArray

    @property
    def posterior_ik(self) -> FloatArray:
        """What is believed of each item, over all cases."""
        return np.asarray(sum(w * case.posterior_ik for w, case in zip(self.weight_r, self.cases, strict=True)))


# Expected first-hand votes by kind and class, (U, K), given the posterior of the items.
FirstHand = Callable[[FloatArray], FloatArray]


class _EmStep(NamedTuple):
    posterior_ik: FloatArray
    evidence: float
    first_hand: FirstHand


def vote_arrays(votes: Votes, like: VoteArrays | None = None, crowd: Fit | None = None) -> VoteArrays:
    """Prepare votes, at least one on each item; workers are shrunk to the crowd as `hierarchical` does, or `like`.

    `crowd` is a fit of `hierarchical` to these votes, if there is one.
    """
    if like is None:
        # Only its strength is wanted, which settles early.
        fit = Hierarchical(max_iter=15).fit(votes) if crowd is None else crowd
        strength_k, posterior_ik = np.asarray(fit.learned["strength"]), fit.posterior
    else:
        strength_k, posterior_ik = like.strength_k, np.empty((0, len(votes.labels)))
    return VoteArrays(votes, strength_k, posterior_ik)


def refit_model(arrays: VoteArrays, case: FittedModel) -> FittedModel:
    """Fit the case to other votes of the same crowd, starting every worker at the crowd's matrix."""
    n_workers = len(arrays.votes.workers)
    votes_jkl = np.tile(arrays.strength_k[:, None] * case.params.crowd_kl, (n_workers, 1, 1))
    total_jk = np.einsum("jkl->jk", votes_jkl)
    params = case.params._replace(votes_jkl=votes_jkl, total_jk=total_jk, odds_j=np.zeros(n_workers))
    return _converge(arrays, params, case.shape, case.dependence)


def fit_models(arrays: VoteArrays) -> ModelAverage:
    """Fit the model at each shape and strength of dependence by EM, and weigh them by their evidence.

    A vote is first-hand, by the worker's confusion matrix, or it repeats another.  `polya_urn`: it repeats one of the
    earlier votes on its item, any alike, the more often the more there are (with one matrix for all that is items of
    Dirichlet difficulty).  `common_cause`: it repeats an impression that all voters of the item share, drawn from the
    crowd's habit.  `difficulty`: it repeats only whether an earlier vote was right.  Two votes on an item then have the
    correlation `dependence` given the truth (`difficulty`: in being right); none is Dawid-Skene.
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
            if case.evidence < max(tried.evidence for tried in cases) - 30.0:  # nats: ruled out
                break
    dependence_r, evidence_r = np.array([(case.dependence, case.evidence) for case in cases]).T
    return ModelAverage(tuple(cases), dependence_r, case_weights(dependence_r, evidence_r))


def case_weights(dependence_r: FloatArray, evidence_r: FloatArray) -> FloatArray:
    """The probability of each case: even odds on any dependence at all, all shapes alike, strengths exponential.

    >>> case_weights(np.array([0.0, 0.2, 0.2]), np.zeros(3)).round(2).tolist()
    [0.88, 0.06, 0.06]
    """
    grid = np.concatenate([[0.0], STRENGTHS])
    density = np.exp(-grid / 0.2) * np.gradient(grid)  # the prior of the dependence is exponential
    share = density / density[1:].sum() / (2 * len(SHAPES))
    share[0] = 0.5
    return np.asarray(softmax_rows((evidence_r + np.log(np.interp(dependence_r, grid, share)))[None])[0][0])


def _converge(arrays: VoteArrays, params: ModelParams, shape: str, dependence: float) -> FittedModel:
    """EM until the posterior converges; the last step predicts each vote from a matrix that has not seen it."""
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
    seen_nk = _e_step(arrays, votes, _own(votes, old), old, shape, dependence).first_hand(posterior_ik)
    vote_nk, total_nk = vote_rows(params.votes_jkl)[votes.column_u], params.total_jk[arrays.votes.worker_n]
    own_nk = np.maximum((vote_nk - seen_nk) / (total_nk - seen_nk), LEAST_CHANCE)
    last = _e_step(arrays, votes, own_nk, params, shape, dependence)
    return FittedModel(shape, dependence, last.evidence, params, last.posterior_ik)


def _own(kinds: Kinds, params: ModelParams) -> FloatArray:
    """The probability of a first-hand vote of each kind given the class, (U, K)."""
    own_jkl = np.maximum(params.votes_jkl / params.total_jk[:, :, None], LEAST_CHANCE)
    return np.asarray(vote_rows(own_jkl)[kinds.column_u])


def _e_step(
    arrays: VoteArrays, kinds: Kinds, own_uk: FloatArray, params: ModelParams, shape: str, dependence: float
) -> _EmStep:
    """The posterior of the items if workers vote first-hand with probability `own_uk`."""
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
    """Log-probability of the votes of each item given the class, and how many of them are first-hand."""
    first_uk = (1 - dependence) * own_uk
    vote_uk = first_uk + dependence * kinds.same_u[:, None]
    log_ik = kinds.matrix_iu @ np.log(vote_uk) - _log_weights(arrays, dependence)[:, None]
    return log_ik, lambda posterior_ik: (kinds.matrix_iu.T @ posterior_ik) * (first_uk / vote_uk)


def _log_weights(arrays: VoteArrays, dependence: float) -> FloatArray:
    """The log of what first-hand and earlier votes weigh together, summed over the votes of each item."""
    votes_i = arrays.votes.votes_i
    return np.asarray(np.cumsum(np.log((1 - dependence) + dependence * np.arange(votes_i.max())))[votes_i - 1])


def _difficulty(
    arrays: VoteArrays, own_nk: FloatArray, right_jk: FloatArray, dependence: float
) -> tuple[FloatArray, FirstHand]:
    """The same where being right or wrong is repeated, and a wrong label is the worker's own."""
    matrix_in = arrays.each_vote.matrix_iu
    # The probability of being right, or wrong, first-hand.
    rate_nk = np.where(arrays.says_nk, own_nk, np.maximum(1 - right_jk[arrays.votes.worker_n], own_nk))
    vote_nk = (1 - dependence) * rate_nk + dependence * arrays.again_nk
    log_ik = matrix_in @ (np.log(vote_nk) + np.log(own_nk / rate_nk)) - _log_weights(arrays, dependence)[:, None]
    return log_ik, lambda posterior_ik: (matrix_in.T @ posterior_ik) * ((1 - dependence) * rate_nk / vote_nk)


def _common_cause(
    arrays: VoteArrays, kinds: Kinds, own_uk: FloatArray, crowd_kl: FloatArray, dependence: float
) -> tuple[FloatArray, FirstHand]:
    """The same where votes repeat a hidden impression with probability sqrt(dependence)."""
    pull, groups = np.sqrt(dependence), arrays.groups
    repeat_uk = pull / (pull + (1 - pull) * own_uk)  # given that the impression is the label voted for
    base_ik = kinds.matrix_iu @ np.log((1 - pull) * own_uk)
    lift_mk = kinds.matrix_mu @ -np.log1p(-repeat_uk)
    habit_mk = crowd_kl[:, groups.label_m].T
    # The impression may be a label without votes on the item.
    other_ik = np.maximum(1 - np.add.reduceat(habit_mk, groups.start_i, axis=0), LEAST_CHANCE)
    top_ik = np.maximum(np.maximum.reduceat(lift_mk, groups.start_i, axis=0), 0.0)
    part_mk = habit_mk * np.exp(lift_mk - top_ik[groups.item_m])
    sum_ik = np.add.reduceat(part_mk, groups.start_i, axis=0) + other_ik * np.exp(-top_ik)
    seen_mk = part_mk / sum_ik[groups.item_m]  # the probability of the impression given the class

    def first_hand(posterior_ik: FloatArray) -> FloatArray:
        repeated_uk = repeat_uk * (kinds.matrix_mu.T @ (posterior_ik[groups.item_m] * seen_mk))
        return np.asarray(kinds.matrix_iu.T @ posterior_ik - repeated_uk)

    return base_ik + top_ik + np.log(sum_ik), first_hand


def _m_step(
    arrays: VoteArrays, kinds: Kinds, posterior_ik: FloatArray, counts_uk: FloatArray, old: ModelParams | None
) -> ModelParams:
    """First-hand votes by worker, class and label, shrunk to the crowd's habit tilted by the worker's odds."""
    _, n_workers, n_classes = arrays.votes.shape
    counts_jkl = by_worker(kinds.matrix_uc.T @ counts_uk, n_classes)
    crowd_kl = shares(np.einsum("jkl->kl", counts_jkl) + 1.0)
    odds_j, spread = (np.zeros(n_workers), FIRST_SPREAD) if old is None else (old.odds_j, old.spread)
    odds_j, spread = _odds(counts_jkl, crowd_kl, odds_j, spread)
    votes_jkl = counts_jkl + tilt(arrays.strength_k[:, None] * crowd_kl, np.exp(odds_j))
    total_jk, prior_k = np.einsum("jkl->jk", votes_jkl), shares(np.einsum("ik->k", posterior_ik) + 1.0)
    return ModelParams(votes_jkl, total_jk, crowd_kl, odds_j, spread, prior_k)


def _odds(counts_jkl: FloatArray, crowd_kl: FloatArray, odds_j: FloatArray, spread: float) -> tuple[FloatArray, float]:
    """A Newton step of each worker's odds, normal around the crowd's, and the variance that they show."""
    right_k = np.clip(np.diag(crowd_kl), 1e-6, 1 - 1e-6)
    total_jk = np.einsum("jkl->jk", counts_jkl)
    right_jk = 1 / (1 + np.exp(-(np.log(right_k) - np.log1p(-right_k) + odds_j[:, None])))
    slope_j = np.einsum("jkk->j", counts_jkl) - np.einsum("jk,jk->j", total_jk, right_jk) - odds_j / spread
    curve_j = np.einsum("jk,jk,jk->j", total_jk, right_jk, 1 - right_jk) + 1 / spread
    odds_j = np.clip(odds_j + np.clip(slope_j / curve_j, -1, 1), -10.0, 10.0)
    return odds_j, float(np.clip((odds_j**2 + 1 / curve_j).mean(), 1e-3, FIRST_SPREAD))
