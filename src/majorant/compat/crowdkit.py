"""crowd-kit's names: change `from crowdkit.aggregation import` to `from majorant.compat.crowdkit import`.

Constructor arguments, methods and fitted attributes are those of crowd-kit 1.4, and frames have its shapes: `task`,
`worker` and `label` go in, a Series of labels indexed by task comes out.  Ties go to the first label in sorted order,
as there. The mathematics is ours, and no result depends on a seed (`random_state` and `n_restarts` are accepted and
ignored); docs/coming-from-crowd-kit.md says where numbers differ, and why. Needs pandas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from majorant.errors import ConfigError, DataError
from majorant.kernels import shares
from majorant.methods import agreement_weights, dawid_skene, glad, mace, majority, one_coin, two_class
from majorant.methods.fit import Fit
from majorant.methods.known_workers import GivenMap
from majorant.methods.tables import coin_confusions
from majorant.read import as_votes
from majorant.values import FloatArray
from majorant.votes import Votes

__all__ = ["GLAD", "KOS", "MACE", "MMSR", "DawidSkene", "MajorityVote", "OneCoinDawidSkene", "Wawa", "ZeroBasedSkill"]


class _Aggregator:
    """What all have in common: `labels_`, `probas_`, and the ways to ask for them."""

    labels_: Any
    probas_: Any

    def fit_predict(self, data: Any, *more: Any, **named: Any) -> Any:
        """Fit, and the label of each task."""
        return self.fit(data, *more, **named).labels_

    def fit_predict_proba(self, data: Any, *more: Any, **named: Any) -> Any:
        """Fit, and the probability of each label of each task."""
        return self.fit(data, *more, **named).probas_

    def fit(self, data: Any) -> Self:
        """Learn from a frame with the columns task, worker and label."""
        if not len(data):
            return self._empty()
        votes = _votes(data)
        return self._keep(votes, self._model(votes))

    def _model(self, votes: Votes) -> Fit:
        raise NotImplementedError

    def _keep(self, votes: Votes, fit: Fit) -> Self:
        self.labels_, self.probas_ = _labels(votes, fit), _probabilities(votes, fit.posterior)
        return self

    def _empty(self) -> Self:
        import pandas as pd

        self.labels_, self.probas_ = pd.Series([], dtype=object), pd.DataFrame()
        return self


class _Skilled(_Aggregator):
    """Those that learn a skill of each worker, by which other votes can be weighed."""

    skills_: Any

    def _keep(self, votes: Votes, fit: Fit) -> Self:
        super()._keep(votes, fit)
        self.skills_ = _by_worker(votes, _skill(fit), "skill")
        return self

    def _empty(self) -> Self:
        import pandas as pd

        self.skills_ = pd.Series([], dtype=float, name="skill")
        return super()._empty()

    def predict(self, data: Any) -> Any:
        """The labels of other votes, each weighed by the skill of its worker."""
        return MajorityVote().fit_predict(data, self.skills_)

    def predict_proba(self, data: Any) -> Any:
        """Each label's share of the votes, weighed by skill."""
        return MajorityVote().fit_predict_proba(data, self.skills_)


@dataclass(eq=False)
class MajorityVote(_Aggregator):
    """The label with the most votes, or with the highest sum of `skills`; `skills_` is the agreement with it."""

    default_skill: float | None = None
    on_missing_skill: str = "error"

    def fit(self, data: Any, skills: Any = None) -> Self:
        """Count the votes, each weighed by the skill of its worker where skills are given."""
        if not len(data):
            return self._empty()
        votes = _votes(data)
        fit = majority.Majority().fit(votes)
        if skills is not None:
            fit = replace(fit, posterior=self._weighed(votes, skills))
        self._keep(votes, fit)
        right_n = fit.codes("first")[votes.item_n] == votes.label_n
        given_j = np.bincount(votes.worker_n, minlength=len(votes.workers))
        right_j = np.bincount(votes.worker_n, weights=right_n, minlength=len(votes.workers)) / np.maximum(given_j, 1)
        self.skills_ = _by_worker(votes, right_j, "skill")
        return self

    def _weighed(self, votes: Votes, skills: Any) -> FloatArray:
        if self.on_missing_skill not in ("error", "ignore", "value"):
            raise ConfigError(f"on_missing_skill must be error, ignore or value, not {self.on_missing_skill!r}.")
        default = self.default_skill if self.on_missing_skill == "value" else np.nan
        skill_j = np.array([skills.get(worker, default) for worker in votes.workers], dtype=float)
        if self.on_missing_skill == "error" and np.isnan(skill_j).any():
            missing = votes.workers[int(np.isnan(skill_j).argmax())]
            raise DataError(f"skills has no worker {missing!r}. Add it, or choose on_missing_skill='ignore'|'value'.")
        n_items, _, n_classes = votes.shape
        cell_n = votes.item_n.astype(np.int64) * n_classes + votes.label_n
        weight_n = np.nan_to_num(skill_j)[votes.worker_n]
        score_n = np.bincount(cell_n, weights=weight_n, minlength=n_items * n_classes).astype(float)
        score_ik = score_n.reshape(n_items, n_classes)
        if (score_ik.sum(axis=1) == 0).any():
            nobody = votes.items[int((score_ik.sum(axis=1) == 0).argmax())]
            raise DataError(f"task {nobody!r} has no vote of a worker with a skill above 0.")
        return shares(score_ik)


class Wawa(_Skilled):
    """Votes weigh their worker's agreement with the majority; where labels tie, each is majority in part."""

    def _model(self, votes: Votes) -> Fit:
        return agreement_weights.Wawa().fit(votes)


@dataclass(eq=False)
class ZeroBasedSkill(_Skilled):
    """Skills step towards the agreement with the vote that they weigh."""

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

    `errors_.loc[(worker, label), truth]` is the probability that the worker says label where truth is true.
    """

    n_iter: int = 100
    tol: float = 1e-5
    initial_error_strategy: str | None = None

    def fit(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> Self:
        """Learn; tasks in `true_labels` keep their label, `initial_error` says where the matrices start."""
        if not len(data):
            return self._empty()
        votes = _votes(data)
        if true_labels is not None:
            code = {label: k for k, label in enumerate(votes.labels)}
            gold = [code.get(true_labels.get(item), -1) for item in votes.items]
            votes = replace(votes, gold_i=np.array(gold, dtype=np.int32))
        start = None
        if initial_error is not None and self.initial_error_strategy is not None:
            start = self._start(votes, initial_error)
        model = dawid_skene.DawidSkene(
            smoothing=0.0, max_iter=self.n_iter, tol=self.tol, accelerate=False, clamp_gold=true_labels is not None
        )
        return self._keep(votes, model.fit(votes, start=start))

    def _start(self, votes: Votes, initial_error: Any) -> Fit:
        """Majority vote's matrices with the given counts added, or the given ones in their place."""
        if self.initial_error_strategy not in ("assign", "addition"):
            raise ConfigError(
                f"initial_error_strategy must be assign or addition, not {self.initial_error_strategy!r}."
            )
        if list(initial_error.index.names) != ["worker", "label"]:
            raise DataError("initial_error must be indexed by worker and label, with a column for each true label.")
        fit = majority.Majority().fit(votes)
        n_items, n_workers, n_classes = votes.shape
        count_jkl = np.zeros((n_workers, n_classes, n_classes))
        if self.initial_error_strategy == "addition":
            for k in range(n_classes):
                np.add.at(count_jkl[:, k], (votes.worker_n, votes.label_n), fit.posterior[votes.item_n, k])
        for j, worker in enumerate(votes.workers):
            for l, label in enumerate(votes.labels):
                if (worker, label) in initial_error.index:
                    row = initial_error.loc[(worker, label)]
                    count_jkl[j, :, l] += [float(row.get(truth, 0.0)) for truth in votes.labels]
                elif self.initial_error_strategy == "assign":
                    raise DataError(
                        f"initial_error has no row for worker {worker!r} and label {label!r}: assign needs all."
                    )
        prior_k = fit.posterior.sum(axis=0) / n_items
        return replace(fit, prior=prior_k, confusion=shares(count_jkl.reshape(-1, n_classes)).reshape(count_jkl.shape))

    def _keep(self, votes: Votes, fit: Fit) -> Self:
        import pandas as pd

        super()._keep(votes, fit)
        self.priors_ = pd.Series(fit.prior, index=_index(votes.labels, "label"), name="prior").sort_index()
        assert fit.confusion is not None
        n_workers, n_classes = len(votes.workers), len(votes.labels)
        each_jkl = np.broadcast_to(fit.confusion, (n_workers, n_classes, n_classes))
        rows = pd.MultiIndex.from_product([list(votes.workers), list(votes.labels)], names=["worker", "label"])
        cells = each_jkl.transpose(0, 2, 1).reshape(-1, n_classes)
        self.errors_ = pd.DataFrame(cells, index=rows, columns=list(votes.labels)).sort_index()
        self.loss_history_ = [value / votes.n_votes for value in fit.trace]
        self._learned = (votes.workers, votes.labels, fit.prior, each_jkl)
        return self

    def _empty(self) -> Self:
        import pandas as pd

        self.priors_, self.errors_, self.loss_history_ = pd.Series(dtype=float), pd.DataFrame(), []
        return super()._empty()

    def predict(self, data: Any) -> Any:
        """The labels of other votes of the same workers, by what was learned of them."""
        votes = _votes(data)
        return _labels(votes, self._applied(votes))

    def predict_proba(self, data: Any) -> Any:
        """The probabilities of the labels of other votes of the same workers."""
        votes = _votes(data)
        return _probabilities(votes, self._applied(votes).posterior)

    def _applied(self, votes: Votes) -> Fit:
        workers, labels, prior_k, confusion_jkl = self._learned
        if set(votes.labels) - set(labels) or set(votes.workers) - set(workers):
            raise DataError("these votes have workers or labels that the fit has not seen. Fit to all votes.")
        code_l = np.array([labels.index(label) for label in votes.labels], dtype=np.int32)
        place = {worker: j for j, worker in enumerate(workers)}
        code_j = np.array([place[worker] for worker in votes.workers], dtype=np.int32)
        known = replace(
            votes, labels=labels, workers=workers, label_n=code_l[votes.label_n], worker_n=code_j[votes.worker_n]
        )
        fit = GivenMap(prior=prior_k, confusion=confusion_jkl).fit(known)
        return replace(fit, posterior=np.ascontiguousarray(fit.posterior[:, code_l]), label_values=votes.labels)


@dataclass(eq=False)
class OneCoinDawidSkene(DawidSkene):
    """One probability of being right for each worker, `skills_`, and wrong labels evenly."""

    def fit(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> Self:
        """Learn from a frame with the columns task, worker and label."""
        if true_labels is not None or initial_error is not None:
            raise ConfigError("OneCoinDawidSkene takes no true_labels and no initial_error; DawidSkene does.")
        return _Aggregator.fit(self, data)

    def _model(self, votes: Votes) -> Fit:
        return one_coin.OneCoin(smoothing=0.0, max_iter=self.n_iter, tol=self.tol, accelerate=False).fit(votes)

    def _keep(self, votes: Votes, fit: Fit) -> Self:
        skill_j = np.asarray(fit.skill)
        super()._keep(votes, replace(fit, confusion=coin_confusions(skill_j, len(votes.labels))))
        self.skills_ = _by_worker(votes, skill_j, "skill")
        return self


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
        import pandas as pd

        super()._keep(votes, fit)
        self.alphas_ = _by_worker(votes, np.asarray(fit.skill), "alpha")
        self.betas_ = pd.Series(fit.learned["ease"], index=_index(votes.items, "task"), name="beta").sort_index()
        self.loss_history_ = list(fit.trace)
        return self


@dataclass(eq=False)
class MACE(_Aggregator):
    """A worker copies the truth, or else follows a habit: `spamming_` (spams, copies) and `thetas_`, the habits."""

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
        super()._keep(votes, fit)
        copies_j = np.asarray(fit.skill)
        self.spamming_, self.thetas_ = np.stack([1 - copies_j, copies_j], axis=1), np.array(fit.learned["habit"])
        return self


@dataclass(eq=False)
class KOS(_Aggregator):
    """Messages between tasks and workers, for two labels."""

    n_iter: int = 100
    random_state: int = 0

    def _model(self, votes: Votes) -> Fit:
        return two_class.KOS(max_iter=self.n_iter).fit(votes)


@dataclass(eq=False)
class MMSR(_Skilled):
    """In place of the matrix mean-subsequence-reduced algorithm: skills by a spectral method of ours.

    Two labels: the leading eigenvector of the workers' agreements; more: Dawid-Skene by EM, which `n_iter` and
    `tol` bound.  Both estimate what MMSR does, who is better than chance from who agrees with whom, by other means.
    """

    n_iter: int = 10_000
    tol: float = 1e-10
    random_state: int | None = 0

    def _model(self, votes: Votes) -> Fit:
        if len(votes.labels) == 2:
            return two_class.Spectral().fit(votes)
        return dawid_skene.DawidSkene(max_iter=self.n_iter, tol=max(self.tol, 1e-10)).fit(votes)

    def _keep(self, votes: Votes, fit: Fit) -> Self:
        super()._keep(votes, fit)
        self.scores_, self.loss_history_ = self.probas_, list(fit.trace)
        return self

    def predict_score(self, data: Any) -> Any:
        """Each label's share of the votes, weighed by skill."""
        return self.predict_proba(data)

    def fit_predict_score(self, data: Any) -> Any:
        """Fit, and the score of each label of each task."""
        return self.fit_predict_proba(data)


def _votes(data: Any) -> Votes:
    """The votes of a frame with columns task, worker and label; a repeated vote counts each time, as in crowd-kit."""
    return as_votes(data, item="task", worker="worker", label="label", gold="", status="", seconds="", repeats="each")


def _index(names: Any, name: str) -> Any:
    import pandas as pd

    return pd.Index(list(names), name=name)


def _labels(votes: Votes, fit: Fit) -> Any:
    import pandas as pd

    return pd.Series(fit.labels("first"), index=_index(votes.items, "task"), name="agg_label").sort_index()


def _probabilities(votes: Votes, posterior_ik: FloatArray) -> Any:
    import pandas as pd

    table = pd.DataFrame(
        np.array(posterior_ik), index=_index(votes.items, "task"), columns=_index(votes.labels, "label")
    )
    return table.sort_index()


def _by_worker(votes: Votes, value_j: FloatArray, name: str) -> Any:
    import pandas as pd

    return pd.Series(np.array(value_j), index=_index(votes.workers, "worker"), name=name).sort_index()


def _skill(fit: Fit) -> FloatArray:
    """The skill of each worker, or the mean of the diagonal of its matrix by the prior."""
    if fit.skill is not None:
        return fit.skill
    assert fit.confusion is not None
    return np.asarray(np.einsum("jkk,k->j", fit.confusion, fit.prior))
