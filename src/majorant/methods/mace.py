"""MACE (Hovy et al. 2013): for each vote, a worker either copies the truth or answers out of habit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Unpack

import numpy as np

from majorant.kernels import shares
from majorant.methods.em import run_em, start_counts, start_params
from majorant.methods.fit import Fit, FitOptions, Traits
from majorant.methods.tables import (
    ExpectedCounts,
    Tables,
    VoteData,
    confusion_tables,
    divergence,
    expect,
    expected_log,
    prepare,
)
from majorant.values import FloatArray
from majorant.votes import Votes


class HabitParams(NamedTuple):
    """Copies the truth or not, (J, 2), and labels given otherwise, (J, K): probabilities or Dirichlet parameters."""

    copies_j2: FloatArray
    habit_jl: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MACE:
    """Worker j copies the truth with probability `skill[j]`, or else draws a label from `learned["habit"][j]`.

    All classes are equally likely a priori. Fitted by variational Bayes or, if `smoothing` is given, by EM. Both start
    from the vote shares; random restarts change next to nothing (docs/methods.md).

    Parameters
    ----------
    smoothing
        For EM: pseudo-votes added to "copies", "does not copy" and each habit; the authors use .01 / classes. None
        means variational Bayes with the priors below.
    copies
        Prior Beta(copies, copies) of the probability of copying; or a pair, for copying and for not copying.
    habit
        Prior Dirichlet(habit) of the habits.
    max_iter, tol, accelerate, clamp_gold
        As for `DawidSkene`.
    """

    name: ClassVar[str] = "mace"
    traits: ClassVar[Traits] = Traits(iterative=True, monotone=True, distributed=True, tables_per_worker=1)

    smoothing: float | None = None
    copies: float | tuple[float, float] = 0.5
    habit: float = 10.0
    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True
    clamp_gold: bool = False

    def fit(self, votes: Votes, **options: Unpack[FitOptions]) -> Fit:
        """Skills, habits and posterior; starts from the vote shares, or from an earlier fit."""
        data = prepare(votes, clamp_gold=self.clamp_gold, **options)
        earlier = start_params(data, self.name, "copies_params", "habit_params")
        begin = self.m_step(start_counts(data), None) if earlier is None else HabitParams(*earlier)
        solution = run_em(self, data, begin)
        params = solution.params
        copies_j2, habit_jl = shares(params.copies_j2), shares(params.habit_jl)
        return data.fit_of(
            self,
            posterior=data.posterior(self.tables(params)),
            prior=np.full(habit_jl.shape[1], 1 / habit_jl.shape[1]),
            confusion=habit_confusions(copies_j2, habit_jl),
            skill=copies_j2[:, 0],
            learned={"habit": habit_jl, "copies_params": params.copies_j2, "habit_params": params.habit_jl},
            **solution.steps,
        )

    def e_step(self, data: VoteData, params: HabitParams) -> ExpectedCounts:
        """The posterior of each item, and from it each worker's expected votes by class and label."""
        return expect(data, self.tables(params))

    def m_step(self, counts: ExpectedCounts, params: HabitParams | None) -> HabitParams:
        """Some of the votes that match the class were copied from the truth; all others come from habit."""
        n_workers, n_classes, _ = counts.votes_jgl.shape
        if params is None:  # start as if each worker copied half the time
            copies_j2, habit_jl = np.full((n_workers, 2), 0.5), np.full((n_workers, n_classes), 1 / n_classes)
        else:
            copies_j2, habit_jl = self._probabilities(params)
        hit_jk = np.einsum("jkk->jk", counts.votes_jgl)
        copied_jk = hit_jk * copies_j2[:, :1] / (copies_j2[:, :1] + copies_j2[:, 1:] * habit_jl)
        own_jl = np.maximum(counts.votes_jgl.sum(axis=1) - copied_jk, 0.0)
        votes_j2 = np.stack([copied_jk.sum(axis=1), own_jl.sum(axis=1)], axis=1)
        if self.smoothing is None:
            return HabitParams(votes_j2 + np.asarray(self.copies), own_jl + self.habit)
        return HabitParams(shares(votes_j2 + self.smoothing), shares(own_jl + self.smoothing))

    def objective(self, params: HabitParams, counts: ExpectedCounts) -> float:
        """The evidence lower bound or, with smoothing, the log-posterior up to a constant."""
        if self.smoothing is None:
            base_2 = np.broadcast_to(np.asarray(self.copies, dtype=float), 2)
            base_l = np.full(params.habit_jl.shape[1], self.habit)
            return counts.evidence + (-divergence(params.copies_j2, base_2) - divergence(params.habit_jl, base_l))
        if self.smoothing == 0:
            return counts.evidence
        return counts.evidence + self.smoothing * float(np.log(params.copies_j2).sum() + np.log(params.habit_jl).sum())

    def tables(self, params: HabitParams) -> Tables:
        """The log-probability of each vote under each class."""
        n_classes = params.habit_jl.shape[1]
        return confusion_tables(habit_confusions(*self._probabilities(params)), np.full(n_classes, 1 / n_classes))

    def _probabilities(self, params: HabitParams) -> HabitParams:
        """The probabilities, or their geometric means for variational Bayes."""
        if self.smoothing is not None:
            return params
        return HabitParams(np.exp(expected_log(params.copies_j2)), np.exp(expected_log(params.habit_jl)))


def habit_confusions(copies_j2: FloatArray, habit_jl: FloatArray) -> FloatArray:
    """The confusion matrices, (J, K, K), of workers who copy or follow a habit."""
    copy_jkl = copies_j2[:, 0, None, None] * np.eye(habit_jl.shape[1])
    return np.asarray(copy_jkl + (copies_j2[:, 1:] * habit_jl)[:, None, :])
