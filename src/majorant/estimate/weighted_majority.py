"""Weighted majority vote (Nitzan & Paroush 1982): the best rule for workers whose accuracies are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.errors import ConfigError
from majorant.estimate.anchor_map import gold_counts, prepare_gold, without_gold
from majorant.estimate.confusion import coin_confusions, confusion_tables
from majorant.estimate.em import Prepared, prepare
from majorant.estimate.fit import Estimator, Fit, fit_of
from majorant.estimate.tables import posterior
from majorant.estimate.weighted import class_prior, item_rows
from majorant.kernels import FloatArray, shares
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedMajority(Estimator):
    """Votes weigh log(p (C - 1) / (1 - p)) for a worker of accuracy p; wrong labels are equally likely.

    `accuracy` gives one p for each worker in the order of `votes.workers`; by default p is counted on the gold items
    and drawn to the crowd's accuracy there by `smoothing` imaginary votes, so that a worker without gold votes counts
    as an average one.  `prior` is uniform, given, or "gold" for the shares of the gold items.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 0, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> WeightedMajority(accuracy=[.95, .6, .6]).fit(votes).labels()
    ['yes']
    """

    name: ClassVar[str] = "weighted-majority"
    distributed: ClassVar[bool] = True
    needs: ClassVar[str] = "gold"

    accuracy: ArrayLike | None = None
    prior: ArrayLike | Literal["gold"] | None = None
    smoothing: float = 2.0

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None, engine: Engine | None = None) -> Fit:
        """Accuracy of each worker as `skill`, and the posterior of each item."""
        _, n_workers, n_classes = votes.shape
        from_gold = self.accuracy is None or isinstance(self.prior, str)
        if from_gold:
            prepared = prepare_gold(self.name, votes, engine, weights)
        else:
            prepared = prepare(votes, engine, weights, clamp_gold=False)
        skill_j = self._counted(prepared, votes) if self.accuracy is None else _as_accuracy(self.accuracy, n_workers)
        prior_k = self._class_shares(prepared, votes)
        confusion_jkl = coin_confusions(skill_j, n_classes)
        tables = confusion_tables(confusion_jkl, prior_k)
        posterior_ik, _ = item_rows(prepared, lambda block: posterior(without_gold(block), tables))
        return fit_of(
            self.name,
            votes,
            posterior=posterior_ik,
            prior=prior_k,
            confusion=confusion_jkl,
            skill=skill_j,
        )

    def _counted(self, prepared: Prepared, votes: Votes) -> FloatArray:
        votes_jkl = gold_counts(prepared, votes).votes_jgl
        right_j, given_j = np.einsum("jkk->j", votes_jkl), votes_jkl.sum(axis=(1, 2))
        # One imaginary vote right and one wrong keep the crowd's accuracy off 0 and 1.
        crowd = (right_j.sum() + 1) / (given_j.sum() + 2)
        return np.asarray((right_j + self.smoothing * crowd) / (given_j + self.smoothing))

    def _class_shares(self, prepared: Prepared, votes: Votes) -> FloatArray:
        if not isinstance(self.prior, str):
            return class_prior(self.prior, votes)
        if self.prior != "gold":
            raise ConfigError(f"prior must be probabilities or 'gold', not {self.prior!r}.")
        return shares(gold_counts(prepared, votes).items_g + self.smoothing / len(votes.labels))


def _as_accuracy(accuracy: ArrayLike, n_workers: int) -> FloatArray:
    accuracy_j = np.array(accuracy, dtype=float)
    if accuracy_j.shape != (n_workers,):
        raise ConfigError(f"accuracy must have shape ({n_workers},), one for each worker, not {accuracy_j.shape}.")
    bad = np.flatnonzero(~((accuracy_j >= 0) & (accuracy_j <= 1)))
    if len(bad):
        raise ConfigError(f"accuracy[{bad[0]}] is {accuracy_j[bad[0]]:g}: an accuracy must lie in 0..1.")
    return accuracy_j
