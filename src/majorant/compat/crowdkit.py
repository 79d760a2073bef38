"""A drop-in for crowd-kit: change `from crowdkit.aggregation import` to `from majorant.compat.crowdkit import`.

Constructor arguments, methods and fitted attributes are those of crowd-kit 1.4. So are the frames: `task`, `worker` and
`label` go in, and a Series of labels indexed by task comes out. As in crowd-kit, ties go to the first label in sorted
order. No result depends on a seed (`random_state` and `n_restarts` are accepted and ignored).
docs/coming-from-crowd-kit.md lists where numbers differ, and why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from majorant.errors import ConfigError, DataError
from majorant.kernels import shares
from majorant.methods import agreement_weights, dawid_skene, glad, mace, majority, one_coin, two_class
from majorant.methods.fit import Fit
from majorant.methods.tables import coin_confusions
from majorant.read import as_votes
from majorant.values import FloatArray
from majorant.votes import Votes

try:
    import pandas as pd
except ImportError:
    raise ConfigError("majorant.compat.crowdkit needs pandas: pip install pandas.") from None

__all__ = ["GLAD", "KOS", "MACE", "DawidSkene", "MajorityVote", "OneCoinDawidSkene", "Wawa", "ZeroBasedSkill"]


class _Aggregator:
    """Base class with `labels_`, `probas_` and the fit methods."""

    labels_: Any
    probas_: Any

    def fit_predict(self, data: Any, *more: Any, **named: Any) -> Any:
        """Fit, and return the label of each task."""
        return self.fit(data, *more, **named).labels_

    def fit_predict_proba(self, data: Any, *more: Any, **named: Any) -> Any:
        """Fit, and return the probability of each label for each task."""
        return self.fit(data, *more, **named).probas_

    def fit(self, data: Any) -> Self:
        """Fit to a frame with the columns task, worker and label."""
        votes = _votes(data)
        return self._keep(votes, self._model(votes))

    def _model(self, votes: Votes) -> Fit:
        raise NotImplementedError

    def _keep(self, votes: Votes, fit: Fit) -> Self:
        self.labels_ = _series(fit.labels("first"), votes.items, "task", "agg_label")
        tasks, labels = pd.Index(list(votes.items), name="task"), pd.Index(list(votes.labels), name="label")
        self.probas_ = pd.DataFrame(np.array(fit.posterior), index=tasks, columns=labels).sort_index()
        return self


class _Skilled(_Aggregator):
    """An aggregator that learns a skill for each worker, which can be used to weight other votes."""

    skills_: Any

    def _keep(self, votes: Votes, fit: Fit) -> Self:
        self.skills_ = _series(fit.skill, votes.workers, "worker", "skill")
        return super()._keep(votes, fit)

    def predict(self, data: Any) -> Any:
        """The labels of other votes, weighted by skill."""
        return MajorityVote().fit_predict(data, self.skills_)

    def predict_proba(self, data: Any) -> Any:
        """Each label's share of the votes, weighted by skill."""
        return MajorityVote().fit_predict_proba(data, self.skills_)


@dataclass(eq=False)
class MajorityVote(_Aggregator):
    """The label with the most votes, or with the highest sum of `skills`; `skills_` is the agreement with it."""

    default_skill: float | None = None
    on_missing_skill: str = "error"

    def fit(self, data: Any, skills: Any = None) -> Self:
        """Count the votes, weighted by the skills of their workers if given."""
        votes = _votes(data)
        fit = majority.Majority().fit(votes)
        if skills is not None:
            fit = replace(fit, posterior=self._weighted_shares(votes, skills))
        self._keep(votes, fit)
        right_n = fit.codes("first")[votes.item_n] == votes.label_n
        given_j = np.bincount(votes.worker_n, minlength=len(votes.workers))
        right_j = np.bincount(votes.worker_n, weights=right_n, minlength=len(votes.workers)) / np.maximum(given_j, 1)
        self.skills_ = _series(right_j, votes.workers, "worker", "skill")
        return self

    def _weighted_shares(self, votes: Votes, skills: Any) -> FloatArray:
        if self.on_missing_skill not in ("error", "ignore", "value"):
            raise ConfigError(f"on_missing_skill must be error, ignore or value, not {self.on_missing_skill!r}.")
        default = self.default_skill if self.on_missing_skill == "value" else np.nan
        skill_j = np.array([skills.get(worker, default) for worker in votes.workers], dtype=float)
        if self.on_missing_skill == "error" and np.isnan(skill_j).any():
            missing = votes.workers[int(np.isnan(skill_j).argmax())]
            raise DataError(f"skills has no worker {missing!r}. Add it, or choose on_missing_skill='ignore'|'value'.")
        score_ik = np.zeros((len(votes.items), len(votes.labels)))
        np.add.at(score_ik, (votes.item_n, votes.label_n), np.nan_to_num(skill_j)[votes.worker_n])
        if (score_ik.sum(axis=1) == 0).any():
            task = votes.items[int((score_ik.sum(axis=1) == 0).argmax())]
            raise DataError(f"task {task!r} has no vote of a worker with a skill above 0.")
        return shares(score_ik)


class Wawa(_Skilled):
    """Each vote is weighted by its worker's agreement with the majority; tied labels share the majority."""

    def _model(self, votes: Votes) -> Fit:
        return agreement_weights.Wawa().fit(votes)


@dataclass(eq=False)
class ZeroBasedSkill(_Skilled):
    """Skills move step by step towards the agreement with the vote that they weight."""

    n_iter: int = 100
    lr_init: float = 1.0
    lr_steps_to_reduce: int = 20
    lr_reduce_factor: float = 0.5
    eps: float = 1e-5

    def _model(self, votes: Votes) -> Fit:
        return agreement_weights.ZeroBasedSkill(
            max_iter=self.n_iter,
            step=self.lr_init,
            step_every=self.lr_steps_to_reduce,
            step_factor=self.lr_reduce_factor,
            tol=self.eps,
        ).fit(votes)


@dataclass(eq=False)
class DawidSkene(_Aggregator):
    """A confusion matrix for each worker, by EM: maximum likelihood, as in crowd-kit.

    `errors_.loc[(worker, label), truth]` is the probability that the worker says `label` if `truth` is true.
    """

    n_iter: int = 100
    tol: float = 1e-5

    def fit(self, data: Any, true_labels: Any = None) -> Self:
        """Fit; tasks in `true_labels` keep their label."""
        votes = _votes(data)
        if true_labels is not None:
            code = {label: k for k, label in enumerate(votes.labels)}
            gold = [code.get(true_labels.get(item), -1) for item in votes.items]
            votes = replace(votes, gold_i=np.array(gold, dtype=np.int32))
        model = dawid_skene.DawidSkene(
            smoothing=0.0,
            max_iter=self.n_iter,
            tol=self.tol,
            min_rise=None,
            accelerate=False,
            clamp_gold=true_labels is not None,
        )
        return self._keep(votes, model.fit(votes))

    def _keep(self, votes: Votes, fit: Fit) -> Self:
        super()._keep(votes, fit)
        self.priors_ = _series(fit.prior, votes.labels, "label", "prior")
        assert fit.confusion is not None
        n_workers, n_classes = len(votes.workers), len(votes.labels)
        each_jkl = np.broadcast_to(fit.confusion, (n_workers, n_classes, n_classes))
        rows = pd.MultiIndex.from_product([list(votes.workers), list(votes.labels)], names=["worker", "label"])
        cells = each_jkl.transpose(0, 2, 1).reshape(-1, n_classes)
        self.errors_ = pd.DataFrame(cells, index=rows, columns=list(votes.labels)).sort_index()
        self.loss_history_ = [value / votes.n_votes for value in fit.trace]
        return self


@dataclass(eq=False)
class OneCoinDawidSkene(DawidSkene):
    """One probability of being right for each worker, `skills_`; wrong labels are equally likely."""

    def fit(self, data: Any, true_labels: Any = None) -> Self:
        """Fit to a frame with the columns task, worker and label."""
        if true_labels is not None:
            raise ConfigError("OneCoinDawidSkene takes no true_labels; DawidSkene does.")
        return _Aggregator.fit(self, data)

    def _model(self, votes: Votes) -> Fit:
        return one_coin.OneCoin(smoothing=0.0, min_rise=None, max_iter=self.n_iter, tol=self.tol, accelerate=False).fit(
            votes
        )

    def _keep(self, votes: Votes, fit: Fit) -> Self:
        skill_j = np.asarray(fit.skill)
        self.skills_ = _series(skill_j, votes.workers, "worker", "skill")
        return super()._keep(votes, replace(fit, confusion=coin_confusions(skill_j, len(votes.labels))))


@dataclass(eq=False)
class GLAD(_Aggregator):
    """Ability of each worker (`alphas_`) and ease of each task (`betas_`, its logarithm)."""

    n_iter: int = 100
    tol: float = 1e-5
    silent: bool = True
    labels_priors: Any = None
    alphas_priors_mean: Any = None
    betas_priors_mean: Any = None
    m_step_max_iter: int = 25
    m_step_tol: float = 1e-2

    def _model(self, votes: Votes) -> Fit:
        for name in ("labels_priors", "alphas_priors_mean", "betas_priors_mean"):
            if getattr(self, name) is not None:
                raise ConfigError(f"{name} is not supported: classes are equally likely, and priors have mean 1.")
        return glad.GLAD(max_iter=self.n_iter, tol=self.tol).fit(votes)

    def _keep(self, votes: Votes, fit: Fit) -> Self:
        self.alphas_ = _series(fit.skill, votes.workers, "worker", "alpha")
        self.betas_ = _series(fit.learned["ease"], votes.items, "task", "beta")
        self.loss_history_ = list(fit.trace)
        return super()._keep(votes, fit)


@dataclass(eq=False)
class MACE(_Aggregator):
    """A worker copies the truth or follows a habit: `spamming_` (spams, copies) and `thetas_`, the habits."""

    n_restarts: int = 10
    n_iter: int = 50
    method: str = "vb"
    smoothing: float = 0.1
    default_noise: float = 0.5
    alpha: float = 0.5
    beta: float = 0.5
    random_state: int = 0
    verbose: int = 0

    def _model(self, votes: Votes) -> Fit:
        if self.method not in ("vb", "em"):
            raise ConfigError(f"method must be vb or em, not {self.method!r}.")
        if self.alpha != self.beta:
            raise ConfigError("alpha and beta must be equal: the prior of copying is symmetric.")
        smoothing = self.smoothing / len(votes.labels) if self.method == "em" else None
        return mace.MACE(smoothing=smoothing, copies=self.alpha, max_iter=self.n_iter).fit(votes)

    def _keep(self, votes: Votes, fit: Fit) -> Self:
        copies_j = np.asarray(fit.skill)
        self.spamming_, self.thetas_ = np.stack([1 - copies_j, copies_j], axis=1), np.array(fit.learned["habit"])
        return super()._keep(votes, fit)


@dataclass(eq=False)
class KOS(_Aggregator):
    """Messages between tasks and workers, for two labels."""

    n_iter: int = 100
    random_state: int = 0

    def _model(self, votes: Votes) -> Fit:
        return two_class.KOS(max_iter=self.n_iter).fit(votes)


def _votes(data: Any) -> Votes:
    """The votes of a frame with columns task, worker and label; a repeated vote counts each time, as in crowd-kit."""
    return as_votes(data, item="task", worker="worker", label="label", gold="", status="", seconds="", repeats="each")


def _series(values: Any, index: Any, index_name: str, name: str) -> Any:
    values = values if isinstance(values, list) else np.array(values)
    return pd.Series(values, index=pd.Index(list(index), name=index_name), name=name).sort_index()
