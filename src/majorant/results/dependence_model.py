"""A model of votes that depend on each other, through hard items or shared errors.  See docs/decide.md."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from majorant.kernels import Block, MemoryEngine, in_memory, scatter, shares, softmax_rows, vote_columns
from majorant.methods.fit import Fit
from majorant.methods.hierarchical import Hierarchical, tilt
from majorant.methods.tables import Tables, by_worker, posterior, vote_rows
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

SHAPES = ("polya_urn", "common_cause", "difficulty")  # with two classes the last is the first
STRENGTHS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.45])
LEAST_CHANCE = 1e-100
FIRST_SPREAD = 1.0  # variance of workers' log-odds


class Earlier(NamedTuple):
    """The votes given before each vote on its item: how many, and how many of them say each label."""

    all_n: FloatArray
    label_nk: FloatArray
    same_n: FloatArray  # and with the label of this one


class Alike(NamedTuple):
    """The votes of an item that say the same label; axis m."""

    label_m: IntArray
    item_m: IntArray
    place_n: IntArray  # which m a vote belongs to
    start_i: IntArray  # the first m of an item
    together_mn: Any  # (m, votes), sparse


@dataclass(frozen=True, eq=False)
class VoteArrays:
    """The votes as the model needs them; arrays for one shape of dependence only are computed on demand."""

    votes: Votes  # every item has votes
    column_n: IntArray  # (worker, label) as one number
    engine: MemoryEngine
    strength_k: FloatArray  # how many votes the crowd's habit counts for in a worker's matrix
    posterior_ik: FloatArray  # to start from

    @cached_property
    def matrix_cn(self) -> Any:
        """Which votes each worker gave each label, (workers * labels, votes), sparse."""
        return _one_each(self.column_n, len(self.votes.workers) * len(self.votes.labels)).T

    @cached_property
    def earlier(self) -> Earlier:
        """What was voted before each vote."""
        votes = self.votes
        label_nk = np.eye(len(votes.labels))[votes.label_n]
        running_nk = np.cumsum(label_nk, axis=0) - label_nk
        earlier_nk = running_nk - running_nk[votes.offsets_i[:-1]][votes.item_n]
        return Earlier(
            (np.arange(votes.n_votes) - votes.offsets_i[votes.item_n]).astype(float),
            earlier_nk,
            earlier_nk[np.arange(votes.n_votes), votes.label_n],
        )

    @cached_property
    def alike(self) -> Alike:
        """The votes that agree."""
        n_classes = len(self.votes.labels)
        key_n = self.votes.item_n.astype(np.int64) * n_classes + self.votes.label_n
        key_m, place_n = np.unique(key_n, return_inverse=True)
        return Alike(
            label_m=key_m % n_classes,
            item_m=key_m // n_classes,
            place_n=place_n,
            start_i=np.searchsorted(key_m // n_classes, np.arange(len(self.votes.items))),
            together_mn=_one_each(place_n, len(key_m)).T,
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
    evidence_r: FloatArray
    weight_r: FloatArray

    @property
    def posterior_ik(self) -> FloatArray:
        """What is believed of each item, over all cases."""
        return np.asarray(sum(w * case.posterior_ik for w, case in zip(self.weight_r, self.cases, strict=True)))


class _EmStep(NamedTuple):
    posterior_ik: FloatArray
    first_nk: FloatArray | None  # the probability that the vote is first-hand given the class; None where all are
    evidence: float  # 0 where it is not asked for


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
    return VoteArrays(votes, vote_columns(votes), in_memory(votes), strength_k, posterior_ik)


def _one_each(column_n: IntArray, n_columns: int) -> Any:
    """A sparse matrix with a row for each vote, and a 1 in its column."""
    from scipy.sparse import csr_array

    n_votes = len(column_n)
    return csr_array((np.ones(n_votes), column_n, np.arange(n_votes + 1)), shape=(n_votes, n_columns))


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
    first = _m_step(arrays, arrays.posterior_ik, _first_hand(arrays, arrays.posterior_ik, None), None)
    none = _converge(arrays, first, "none", 0.0)
    cases = [none]
    for shape in SHAPES if len(arrays.votes.labels) > 2 else SHAPES[:2]:
        case = none
        for dependence in STRENGTHS:
            case = _converge(arrays, case.params, shape, float(dependence))
            cases.append(case)
            if case.evidence < max(tried.evidence for tried in cases) - 30.0:  # nats: ruled out
                break
    dependence_r, evidence_r = (
        np.array([getattr(case, name) for case in cases]) for name in ("dependence", "evidence")
    )
    return ModelAverage(tuple(cases), dependence_r, evidence_r, case_weights(dependence_r, evidence_r))


def case_weights(dependence_r: FloatArray, evidence_r: FloatArray, discount: float = 1.0) -> FloatArray:
    """The probability of each case: even odds on any dependence at all, all shapes alike, strengths exponential.

    A `discount` above 1 tempers the evidence to allow for misspecification.

    >>> case_weights(np.array([0.0, 0.2, 0.2]), np.zeros(3)).round(2).tolist()
    [0.88, 0.06, 0.06]
    """
    grid = np.concatenate([[0.0], STRENGTHS])
    density = np.exp(-grid / 0.2) * np.gradient(grid)  # the prior of the dependence is exponential
    share = density / density[1:].sum() / (2 * len(SHAPES))
    share[0] = 0.5
    return np.asarray(softmax_rows((evidence_r / discount + np.log(np.interp(dependence_r, grid, share)))[None])[0][0])


def _converge(arrays: VoteArrays, params: ModelParams, shape: str, dependence: float) -> FittedModel:
    """EM until the posterior converges; the last step predicts each vote from a matrix that has not seen it."""
    before_ik = None
    for _ in range(30):
        step = _e_step(arrays, params, shape, dependence, None)
        params = _m_step(arrays, step.posterior_ik, _first_hand(arrays, step.posterior_ik, step.first_nk), params)
        if before_ik is not None and np.abs(step.posterior_ik - before_ik).mean() < 1e-4:
            break
        before_ik = step.posterior_ik
    step = _e_step(arrays, params, shape, dependence, step)
    return FittedModel(shape, dependence, step.evidence, params, step.posterior_ik)


def _first_hand(arrays: VoteArrays, posterior_ik: FloatArray, first_nk: FloatArray | None) -> FloatArray:
    """Expected first-hand votes by (worker, label) and class."""
    if first_nk is None:
        return arrays.engine.map_sum(lambda block: scatter(block, posterior_ik[block.items]))
    return np.asarray(arrays.matrix_cn @ (posterior_ik.take(arrays.votes.item_n, axis=0) * first_nk))


def _e_step(arrays: VoteArrays, params: ModelParams, shape: str, dependence: float, seen: _EmStep | None) -> _EmStep:
    """The E step; given the step that the parameters have `seen`, each vote is left out of its worker's matrix."""
    votes = arrays.votes
    if shape == "none":
        return _independent(arrays, params, None if seen is None else seen.posterior_ik)
    if seen is None or seen.first_nk is None:
        own_nk = _of_votes(arrays, np.maximum(params.votes_jkl / params.total_jk[:, :, None], LEAST_CHANCE))
    else:
        seen_nk = seen.posterior_ik.take(votes.item_n, axis=0) * seen.first_nk
        vote_nk, total_nk = _of_votes(arrays, params.votes_jkl), params.total_jk[votes.worker_n]
        own_nk = np.maximum((vote_nk - seen_nk) / (total_nk - seen_nk), LEAST_CHANCE)
    if shape == "common_cause":
        log_ik, first_nk = _common_cause(arrays, own_nk, params.crowd_kl, dependence)
    elif shape == "difficulty":
        right_nk = np.einsum("jkk->jk", params.votes_jkl)[votes.worker_n] / params.total_jk[votes.worker_n]
        log_ik, first_nk = _difficulty(arrays, own_nk, right_nk, dependence)
    else:
        log_ik, first_nk = _polya_urn(arrays, own_nk, dependence)
    posterior_ik, evidence_i = softmax_rows(log_ik + np.log(params.prior_k))
    return _EmStep(posterior_ik, first_nk, float(evidence_i.sum()))


def _independent(arrays: VoteArrays, params: ModelParams, seen_ik: FloatArray | None) -> _EmStep:
    """The same where every vote is first-hand, block of items by block."""
    log_prior_k = np.log(params.prior_k)
    if seen_ik is None:
        own_jkl = np.maximum(params.votes_jkl / params.total_jk[:, :, None], LEAST_CHANCE)
        tables = Tables(vote_rows(np.log(own_jkl)), log_prior_k)
        return _EmStep(arrays.engine.rows(lambda block: posterior(block, tables)), None, 0.0)
    n_classes = len(log_prior_k)
    vote_ck, total_ck = vote_rows(params.votes_jkl), np.repeat(params.total_jk, n_classes, axis=0)

    def left_out(block: Block) -> tuple[FloatArray, float]:
        offset_i, column_n = block.matrix.indptr, block.matrix.indices
        log_ik = np.empty((block.stop - block.start, n_classes))
        for k in range(n_classes):  # a class at a time: the arrays of its votes stay in a row
            seen_n = np.repeat(seen_ik[block.items, k], np.diff(offset_i))
            own_n = (vote_ck[:, k].take(column_n) - seen_n) / (total_ck[:, k].take(column_n) - seen_n)
            log_ik[:, k] = np.add.reduceat(np.log(np.maximum(own_n, LEAST_CHANCE)), offset_i[:-1])
        posterior_ik, evidence_i = softmax_rows(log_ik + log_prior_k)
        return posterior_ik, float(evidence_i.sum())

    parts = list(arrays.engine.map_blocks(left_out))
    return _EmStep(np.concatenate([rows for rows, _ in parts]), None, sum(evidence for _, evidence in parts))


def _of_votes(arrays: VoteArrays, value_jkl: FloatArray) -> FloatArray:
    """For each vote, its entries in an array by worker, class and label."""
    return vote_rows(value_jkl).take(arrays.column_n, axis=0)


def _polya_urn(arrays: VoteArrays, own_nk: FloatArray, dependence: float) -> tuple[FloatArray, FloatArray]:
    """Log-probability of the votes of each item given the class, and that each is first-hand."""
    first_nk = (1 - dependence) * own_nk
    vote_nk = first_nk + dependence * arrays.earlier.same_n[:, None]
    log_nk = np.log(vote_nk) - np.log((1 - dependence) + dependence * arrays.earlier.all_n)[:, None]
    return np.add.reduceat(log_nk, arrays.votes.offsets_i[:-1], axis=0), first_nk / vote_nk


def _difficulty(
    arrays: VoteArrays, own_nk: FloatArray, right_nk: FloatArray, dependence: float
) -> tuple[FloatArray, FloatArray]:
    """The same where being right or wrong is repeated, and a wrong label is the worker's own."""
    says_nk = arrays.votes.label_n[:, None] == np.arange(own_nk.shape[1])
    again_nk = np.where(says_nk, arrays.earlier.label_nk, arrays.earlier.all_n[:, None] - arrays.earlier.label_nk)
    rate_nk = np.where(says_nk, own_nk, np.maximum(1 - right_nk, own_nk))  # of being right, or wrong, first-hand
    vote_nk = (1 - dependence) * rate_nk + dependence * again_nk
    log_nk = (
        np.log(vote_nk)
        - np.log((1 - dependence) + dependence * arrays.earlier.all_n)[:, None]
        + np.log(own_nk / rate_nk)
    )
    return np.add.reduceat(log_nk, arrays.votes.offsets_i[:-1], axis=0), (1 - dependence) * rate_nk / vote_nk


def _common_cause(
    arrays: VoteArrays, own_nk: FloatArray, crowd_kl: FloatArray, dependence: float
) -> tuple[FloatArray, FloatArray]:
    """The same where votes repeat a hidden impression with probability sqrt(dependence)."""
    pull, alike = np.sqrt(dependence), arrays.alike
    repeat_nk = pull / (pull + (1 - pull) * own_nk)  # given that the impression is the label voted for
    base_ik = np.add.reduceat(np.log((1 - pull) * own_nk), arrays.votes.offsets_i[:-1], axis=0)
    lift_mk = alike.together_mn @ -np.log1p(-repeat_nk)
    habit_mk = crowd_kl[:, alike.label_m].T
    # The impression may be a label without votes on the item.
    other_ik = np.maximum(1 - np.add.reduceat(habit_mk, alike.start_i, axis=0), LEAST_CHANCE)
    top_ik = np.maximum(np.maximum.reduceat(lift_mk, alike.start_i, axis=0), 0.0)
    part_mk = habit_mk * np.exp(lift_mk - top_ik[alike.item_m])
    sum_ik = np.add.reduceat(part_mk, alike.start_i, axis=0) + other_ik * np.exp(-top_ik)
    seen_mk = part_mk / sum_ik[alike.item_m]  # the probability of the impression given the class
    return base_ik + top_ik + np.log(sum_ik), 1 - seen_mk[alike.place_n] * repeat_nk


def _m_step(
    arrays: VoteArrays, posterior_ik: FloatArray, counts_ck: FloatArray, old: ModelParams | None
) -> ModelParams:
    """First-hand votes by worker, class and label, shrunk to the crowd's habit tilted by the worker's odds."""
    _, n_workers, n_classes = arrays.votes.shape
    counts_jkl = by_worker(counts_ck, n_classes)
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
