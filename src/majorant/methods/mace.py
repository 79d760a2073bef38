"""MACE, Hovy et al. 2013: each worker copies the truth or answers from a habit of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from majorant.kernels import shares
from majorant.methods.base import EmModel, learned_of, start_counts
from majorant.methods.em import Prepared, Progress, run_em, table_fit
from majorant.methods.fit import Fit
from majorant.methods.tables import ExpectedCounts, Tables, confusion_tables, divergence, expected_log
from majorant.values import FloatArray
from majorant.votes import Votes


class HabitParams(NamedTuple):
    """Copies the truth or does not, (J, 2), else the label given, (J, K): probabilities or Dirichlet parameters."""

    copies_j2: FloatArray
    habit_jl: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MACE(EmModel):
    """Worker j copies the truth with probability `skill[j]`, else draws a label from `learned["habit"][j]`.

    All classes are equally probable beforehand.  By default variational Bayes with the priors Beta(`copies`, `copies`)
    and Dirichlet(`habit`), whose objective is the evidence lower bound.  With `smoothing` it is EM instead, with that
    many imaginary votes in "copies", "does not" and each habit (the authors take .01 / classes).  It starts from the
    vote shares; random restarts change next to nothing (docs/methods/mace.md).

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> MACE().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "mace"
    tables_per_worker: ClassVar[int] = 1

    smoothing: float | None = None
    copies: float = 0.5
    habit: float = 10.0

    def tables(self, params: HabitParams) -> Tables:
        """Log-probabilities of each vote under each class (variational: of their geometric means)."""
        n_classes = params.habit_jl.shape[1]
        return confusion_tables(habit_confusion(*self._weights(params)), np.full(n_classes, 1 / n_classes))

    def m_step(self, counts: ExpectedCounts, params: HabitParams | None) -> HabitParams:
        """Of the votes that hit the class a part was copied; all others are habit."""
        n_workers, n_classes, _ = counts.votes_jgl.shape
        if params is None:  # as if each worker copied half of the time
            copies_j2, habit_jl = np.full((n_workers, 2), 0.5), np.full((n_workers, n_classes), 1 / n_classes)
        else:
            copies_j2, habit_jl = self._weights(params)
        hit_jk = np.einsum("jkk->jk", counts.votes_jgl)
        copied_jk = hit_jk * copies_j2[:, :1] / (copies_j2[:, :1] + copies_j2[:, 1:] * habit_jl)
        own_jl = np.maximum(counts.votes_jgl.sum(axis=1) - copied_jk, 0.0)
        votes_j2 = np.stack([copied_jk.sum(axis=1), own_jl.sum(axis=1)], axis=1)
        if self.smoothing is None:
            return HabitParams(votes_j2 + self.copies, own_jl + self.habit)
        return HabitParams(shares(votes_j2 + self.smoothing), shares(own_jl + self.smoothing))

    def log_prior(self, params: HabitParams, tables: Tables) -> float:  # noqa: ARG002
        """The log-density of the priors up to a constant, or minus the divergence from them."""
        if self.smoothing is None:
            base_2, base_l = np.full(2, self.copies), np.full(params.habit_jl.shape[1], self.habit)
            return -divergence(params.copies_j2, base_2) - divergence(params.habit_jl, base_l)
        if self.smoothing == 0:
            return 0.0
        return self.smoothing * float(np.log(params.copies_j2).sum() + np.log(params.habit_jl).sum())

    def _weights(self, params: HabitParams) -> HabitParams:
        if self.smoothing is not None:
            return params
        return HabitParams(np.exp(expected_log(params.copies_j2)), np.exp(expected_log(params.habit_jl)))

    def fit_prepared(self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None) -> Fit:
        """Competence, habits and posterior."""
        earlier = learned_of(start, self.name, votes, "copies_params", "habit_params")
        begin = self.m_step(start_counts(start, votes, prepared), None) if earlier is None else HabitParams(*earlier)
        solution = run_em(self, prepared, begin, progress)
        copies_j2, habit_jl = (shares(param) for param in solution.params)
        return table_fit(
            self,
            votes,
            prepared,
            solution,
            skill=copies_j2[:, 0],
            confusion=habit_confusion(copies_j2, habit_jl),
            prior=np.full(habit_jl.shape[1], 1 / habit_jl.shape[1]),
            learned={"habit": habit_jl, "copies_params": solution.params[0], "habit_params": solution.params[1]},
        )


def habit_confusion(copies_j2: FloatArray, habit_jl: FloatArray) -> FloatArray:
    """The confusion matrices (J, K, K) of workers who copy or follow a habit."""
    copy_jkl = copies_j2[:, 0, None, None] * np.eye(habit_jl.shape[1])
    return np.asarray(copy_jkl + (copies_j2[:, 1:] * habit_jl)[:, None, :])
