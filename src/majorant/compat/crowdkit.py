"""A drop-in for crowd-kit: change `from crowdkit.aggregation import` to `from majorant.compat.crowdkit import`.

Constructor arguments, methods, fitted attributes, indexes and errors are those of crowd-kit 1.4, and so are numbers,
except where docs/coming-from-crowd-kit.md says otherwise. Ties go to the first label in sorted order, always. Ids and
labels may be of any hashable type. Where crowd-kit is installed, these classes inherit from its base class. From any
fitted object, `as_majorant()` returns the votes for `mj.check` and the rest of majorant.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np

from majorant.errors import ConfigError, DataError
from majorant.kernels import softmax_rows
from majorant.methods import mace, two_class
from majorant.methods.fit import Fit
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes

try:
    import pandas as pd
except ImportError:
    raise ConfigError("majorant.compat.crowdkit needs pandas: pip install pandas.") from None

__all__ = [
    "GLAD",
    "KOS",
    "MACE",
    "MMSR",
    "BinaryRelevance",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "OneCoinDawidSkene",
    "Wawa",
    "ZeroBasedSkill",
]

COLUMNS = ("task", "worker", "label")
LEAST_SHARE = 1e-10  # crowd-kit's smallest probability


class MissingColumnError(DataError, KeyError):
    """A column is missing from a frame; also a KeyError, as in crowd-kit."""

    __str__ = Exception.__str__


def _base_class() -> Any:
    """crowd-kit's base class of these classes, or `object` where it is not installed or does not import."""
    if importlib.util.find_spec("crowdkit") is None:
        return object
    try:
        return importlib.import_module("crowdkit.aggregation.base").BaseClassificationAggregator
    except Exception:  # crowd-kit breaks in many ways on new versions of its dependencies
        return object


PEER_BASE: Any = _base_class()


class Table(NamedTuple):
    """The votes of a frame in its order, as codes into sorted indexes; rows with a missing entry are left out."""

    task_n: IntArray
    worker_n: IntArray
    label_n: IntArray
    tasks: Any
    workers: Any
    labels: Any

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of tasks, workers and labels."""
        return len(self.tasks), len(self.workers), len(self.labels)

    @property
    def votes(self) -> Votes:
        """The same votes for majorant."""
        codes = (self.task_n, self.worker_n, self.label_n)
        return Votes.from_codes(*codes, items=list(self.tasks), workers=list(self.workers), labels=list(self.labels))

    def votes_as_codes(self) -> Votes:
        """The same votes with codes for names."""
        n_tasks, n_workers, n_labels = self.shape
        codes = (self.task_n, self.worker_n, self.label_n)
        return Votes.from_codes(*codes, items=range(n_tasks), workers=range(n_workers), labels=range(n_labels))


def read_table(data: Any) -> Table:
    """Read a frame with the columns task, worker and label."""
    frame = data if isinstance(data, pd.DataFrame) else pd.DataFrame(data)
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        found = ", ".join(map(str, frame.columns)) or "none"
        raise MissingColumnError(f"the frame needs a column {' and '.join(missing)}. Its columns: {found}.")
    frame = frame[list(COLUMNS)].dropna()
    encoded = [_encode(frame[name], name) for name in COLUMNS]
    return Table(*(code_n for code_n, _ in encoded), *(names for _, names in encoded))


def _encode(values: Any, name: str) -> tuple[IntArray, Any]:
    """Codes into the sorted index of distinct values; if they cannot be compared, sorted within each type."""
    code_n, found = pd.factorize(values)
    distinct: Any = list(found)
    try:
        order = sorted(range(len(distinct)), key=distinct.__getitem__)
    except TypeError:
        order = sorted(range(len(distinct)), key=lambda code: (type(distinct[code]).__name__, str(distinct[code])))
    place = np.empty(len(distinct), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[code_n], _index([distinct[code] for code in order], name)


def _index(values: Any, name: str | None) -> Any:
    """A flat index, even of tuples."""
    return pd.Index(list(values), name=name, tupleize_cols=False)


def _series(values: Any, index: Any, name: str | None) -> Any:
    return pd.Series(values, index=index, name=name)


def _label_series(score_ik: FloatArray, tasks: Any, labels: Any) -> Any:
    """The best label of each task, NaN if it has no score. Ties go to the first label, up to rounding."""
    if not len(tasks):
        return pd.Series([], dtype="O", name="agg_label")
    known_i = ~np.isnan(np.asarray(score_ik.sum(axis=1)))
    best_i = first_best(np.nan_to_num(score_ik))
    chosen = [labels[code] if known else np.nan for code, known in zip(best_i.tolist(), known_i.tolist(), strict=True)]
    if any(isinstance(label, tuple) for label in labels):
        values = np.empty(len(chosen), dtype=object)
        values[:] = chosen
        return _series(values, tasks, "agg_label")
    return _series(chosen, tasks, "agg_label")


def first_best(score_ik: FloatArray) -> IntArray:
    """The first of the labels with the highest score, up to rounding."""
    if not score_ik.size:
        return np.zeros(len(score_ik), dtype=np.int64)
    best_i = score_ik.max(axis=1, keepdims=True)
    return np.asarray((score_ik >= best_i - 1e-12 * np.maximum(np.abs(best_i), 1.0)).argmax(axis=1))


class _Aggregator(PEER_BASE):  # type: ignore[misc]
    """Base class with `labels_`, `probas_` and the fit methods."""

    labels_: Any
    probas_: Any
    _table: Table

    def fit(self, data: Any) -> Self:
        """Fit to a frame with the columns task, worker and label."""
        raise NotImplementedError

    def fit_predict(self, data: Any, *more: Any, **named: Any) -> Any:
        """Fit, and return the label of each task."""
        return self.fit(data, *more, **named).labels_

    def as_majorant(self) -> Votes:
        """The votes of the last fit, for `mj.check`, `mj.aggregate` and the rest of majorant."""
        if not hasattr(self, "_table"):
            raise ConfigError("as_majorant() returns the votes of the last fit: call fit first.")
        return self._table.votes

    def _read(self, data: Any) -> Table:
        self._table = read_table(data)
        return self._table

    def _keep(self, table: Table, score_ik: FloatArray) -> None:
        """Set `labels_` and `probas_`."""
        self.probas_ = pd.DataFrame(score_ik, index=table.tasks, columns=table.labels)
        self.labels_ = _label_series(score_ik, table.tasks, table.labels)


class _Probabilistic(_Aggregator):
    """An aggregator with the probabilities, or shares, of the labels."""

    def fit_predict_proba(self, data: Any, *more: Any, **named: Any) -> Any:
        """Fit, and return the probability of each label for each task."""
        return self.fit(data, *more, **named).probas_


def _scores(table: Table, weight_n: FloatArray) -> FloatArray:
    """The sum of the weights of the votes for each task and label."""
    n_tasks, _, n_labels = table.shape
    cell_n = table.task_n * n_labels + table.label_n
    score_c = np.bincount(cell_n, weights=weight_n, minlength=n_tasks * n_labels).astype(float)
    return score_c.reshape(n_tasks, n_labels)


def _normalize(score_ik: FloatArray) -> FloatArray:
    """Rows divided by their sums, which may be negative; NaN if the sum is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share_ik = score_ik / score_ik.sum(axis=1, keepdims=True)
    return np.where(np.isfinite(share_ik), share_ik, np.nan)


def _accuracy(table: Table, right_n: FloatArray, counts_n: Any = True) -> tuple[FloatArray, FloatArray]:
    """The share of right votes of each worker and their number; each task, worker and label counts once."""
    _, n_workers, n_labels = table.shape
    key_n = (table.task_n * n_workers + table.worker_n) * n_labels + table.label_n
    _, first = np.unique(key_n, return_index=True)
    first = first[np.broadcast_to(counts_n, len(key_n))[first]]
    given_j = np.bincount(table.worker_n[first], minlength=n_workers).astype(float)
    right_j = np.bincount(table.worker_n[first], weights=right_n[first], minlength=n_workers)
    return np.divide(right_j, given_j, out=np.zeros(n_workers), where=given_j > 0), given_j


@dataclass(eq=False)
class MajorityVote(_Probabilistic):
    """The label with the most votes, or with the highest sum of `skills`; `skills_` is the agreement with it."""

    default_skill: float | None = None
    on_missing_skill: str = "error"
    skills_ = None

    def fit(self, data: Any, skills: Any = None) -> Self:
        """Count the votes, weighted by the skills of their workers if given."""
        table = self._read(data)
        weight_n = np.ones(len(table.task_n))
        if skills is not None:
            table, weight_n = self._weigh(table, skills)
        score_ik = _normalize(_scores(table, weight_n))
        self._keep(table, score_ik)
        right_n = first_best(np.nan_to_num(score_ik))[table.task_n] == table.label_n
        known_i = ~np.isnan(score_ik.sum(axis=1))
        skill_j, given_j = _accuracy(table, right_n.astype(float), known_i[table.task_n])
        self.skills_ = _series(skill_j[given_j > 0], table.workers[given_j > 0], "skill")
        return self

    def _weigh(self, table: Table, skills: Any) -> tuple[Table, FloatArray]:
        """The skill of each vote's worker, and the table without ignored votes."""
        how = self.on_missing_skill
        if how not in ("error", "ignore", "value"):
            raise ConfigError(f"on_missing_skill must be error, ignore or value, not {how!r}.")
        if how != "value" and self.default_skill is not None:
            raise ConfigError("default_skill needs on_missing_skill='value'.")
        if how == "value" and self.default_skill is None:
            raise ConfigError("on_missing_skill='value' needs default_skill.")
        known = dict(zip(skills.index, skills.to_numpy(), strict=True))
        default = np.nan if self.default_skill is None else self.default_skill
        skill_j = np.array([known.get(worker, default) for worker in table.workers], dtype=float)
        skill_j = np.where(np.isnan(skill_j), default, skill_j)
        weight_n = skill_j[table.worker_n]
        missing_n = np.isnan(weight_n)
        if not missing_n.any():
            return table, weight_n
        if how == "error":
            worker = table.workers[table.worker_n[missing_n.argmax()]]
            raise DataError(f"skills has no worker {worker!r}. Add it, or choose on_missing_skill='ignore'|'value'.")
        kept_n = ~missing_n
        kept_i = np.bincount(table.task_n[kept_n], minlength=len(table.tasks)) > 0
        if not kept_i.all():
            task = table.tasks[int((~kept_i).argmax())]
            raise DataError(f"task {task!r} has no vote of a worker with a known skill.")
        names = [table.labels[np.unique(table.label_n[kept_n])]]
        label_n = np.unique(table.label_n[kept_n], return_inverse=True)[1]
        return Table(
            table.task_n[kept_n], table.worker_n[kept_n], label_n, table.tasks, table.workers, *names
        ), weight_n[kept_n]


class _Skilled(_Probabilistic):
    """An aggregator that learns a skill for each worker, which weights the votes."""

    skills_: Any = None

    def predict(self, data: Any) -> Any:
        """The labels of votes, weighted by skill."""
        self._apply(data)
        return self.labels_

    def predict_proba(self, data: Any) -> Any:
        """Each label's share of the votes, weighted by skill."""
        self._apply(data)
        return self.probas_

    def fit_predict(self, data: Any, *more: Any, **named: Any) -> Any:
        """Fit, and return the label of each task."""
        return self.fit(data, *more, **named).predict(data)

    def fit_predict_proba(self, data: Any, *more: Any, **named: Any) -> Any:
        """Fit, and return each label's share of the weighted votes."""
        return self.fit(data, *more, **named).predict_proba(data)

    def _apply(self, data: Any) -> MajorityVote:
        if self.skills_ is None:
            raise ConfigError(f"{type(self).__name__} has no skills yet: call fit first.")
        vote = MajorityVote().fit(data, self.skills_)
        self.labels_, self.probas_, self._table = vote.labels_, vote.probas_, vote._table
        return vote


@dataclass(eq=False)
class Wawa(_Skilled):
    """Each vote is weighted by its worker's agreement with the majority."""

    def fit(self, data: Any) -> Self:
        """Learn the skills."""
        table = self._read(data)
        right_n = first_best(_scores(table, np.ones(len(table.task_n))))[table.task_n] == table.label_n
        skill_j, _ = _accuracy(table, right_n.astype(float))
        self.skills_ = _series(skill_j, table.workers, "skill")
        return self


@dataclass(eq=False)
class GoldMajorityVote(_Skilled):
    """Each vote is weighted by its worker's accuracy on tasks with true labels."""

    def fit(self, data: Any, true_labels: Any) -> Self:  # type: ignore[override]
        """Learn the skills; a task may have several true labels."""
        table = self._read(data)
        truths: dict[Any, set[Any]] = {}
        for task, label in true_labels.items():
            truths.setdefault(task, set()).add(label)
        known_i = np.array([task in truths for task in table.tasks], dtype=bool)
        right_ik = np.array([[label in truths.get(task, ()) for label in table.labels] for task in table.tasks])
        right_n = right_ik.reshape(table.shape[0], table.shape[2])[table.task_n, table.label_n].astype(float)
        skill_j, given_j = _accuracy(table, right_n, known_i[table.task_n])
        self.skills_ = _series(skill_j[given_j > 0], table.workers[given_j > 0], "skill")
        return self


@dataclass(eq=False)
class ZeroBasedSkill(_Skilled):
    """Skills move step by step towards the agreement with the vote that they weight."""

    n_iter: int = 100
    lr_init: float = 1.0
    lr_steps_to_reduce: int = 20
    lr_reduce_factor: float = 0.5
    eps: float = 1e-5

    def fit(self, data: Any) -> Self:
        """Learn the skills."""
        table = self._read(data)
        skill_j = np.full(table.shape[1], 1 / max(table.shape[2], 1) + self.eps)
        rate = self.lr_init
        for step in range(1, self.n_iter + 1):
            if step % self.lr_steps_to_reduce == 0:
                rate *= self.lr_reduce_factor
            share_ik = np.nan_to_num(_normalize(_scores(table, skill_j[table.worker_n])))
            right_n = first_best(share_ik)[table.task_n] == table.label_n
            skill_j = skill_j + rate * (_accuracy(table, right_n.astype(float))[0] - skill_j)
        order = np.arange(len(skill_j)) if self.n_iter else _appearance(table.worker_n)
        self.skills_ = _series(skill_j[order], table.workers[order], "skill")
        return self


@dataclass(eq=False)
class DawidSkene(_Probabilistic):
    """A confusion matrix for each worker, by EM that stops as in crowd-kit, usually well before convergence.

    `errors_.loc[(worker, label), truth]` is the probability that the worker says `label` if `truth` is true, for the
    labels that the worker gave. `initial_error` (indexed alike) either takes the place of the first error matrices
    (`initial_error_strategy="assign"`) or is added to the first counts ("addition").
    """

    n_iter: int = 100
    tol: float = 1e-5
    initial_error_strategy: str | None = None

    def fit(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> Self:
        """Fit; tasks in `true_labels` keep their label."""
        table = self._read(data)
        if not len(table.task_n):
            return self._keep_nothing()
        if true_labels is not None:
            table = _with_labels(table, true_labels)
        pairs = _pairs_of(table)
        gold_i = np.full(table.shape[0], -1)
        if true_labels is not None:
            code = {label: k for k, label in enumerate(table.labels)}
            place = {task: i for i, task in enumerate(table.tasks)}
            for task, label in true_labels.items():
                if task in place:
                    gold_i[place[task]] = code[label]
        start_pk = None
        if initial_error is not None and self.initial_error_strategy is not None:
            start_pk = partial_start(initial_error, self.initial_error_strategy, table, pairs)
        return self._run(table, pairs, gold_i, start_pk)

    def _run(
        self, table: Table, pairs: _Pairs, gold_i: IntArray, start: Callable[[FloatArray], FloatArray] | None = None
    ) -> Self:
        """EM with crowd-kit's count of steps and its bound, which counts a task's class once per vote."""

        def clamp(share_ik: FloatArray) -> FloatArray:
            known = np.flatnonzero(gold_i >= 0)
            share_ik[known] = np.eye(share_ik.shape[1])[gold_i[known]]
            return share_ik

        tasks = table.tasks
        share_ik = clamp(_normalize(_scores(table, np.ones(len(table.task_n)))))
        prior_k = share_ik.mean(axis=0)
        error_pk = self._maximize(pairs, share_ik, start)
        self.loss_history_: list[float] = []
        for _ in range(self.n_iter):
            log_pk, log_prior_k = np.log(error_pk), np.log(np.maximum(prior_k, LEAST_SHARE))
            share_ik = clamp(softmax_rows(pairs.votes_ip @ log_pk + log_prior_k)[0])
            prior_k = share_ik.mean(axis=0)
            error_pk = self._maximize(pairs, share_ik)
            vote_ik = pairs.votes_ip @ np.log(error_pk)
            vote_ik += pairs.votes_i[:, None] * np.log(np.maximum(prior_k, LEAST_SHARE))
            entropy = -(share_ik * np.log(np.maximum(share_ik, LEAST_SHARE))).sum()
            self.loss_history_.append(float((share_ik * vote_ik).sum() + entropy) / len(table.task_n))
            if len(self.loss_history_) > 1 and self.loss_history_[-1] - self.loss_history_[-2] < self.tol:
                break
        if self.loss_history_:  # after the first step, crowd-kit has the tasks in the order in which they appear
            appear_i = _appearance(table.task_n)
            share_ik, tasks = share_ik[appear_i], tasks[appear_i]
        self._keep(table._replace(tasks=tasks), share_ik)
        self.priors_ = _series(prior_k, table.labels, "prior")
        codes = [pairs.worker_p, pairs.label_p]
        rows = pd.MultiIndex([table.workers, table.labels], codes, names=["worker", "label"])
        self.errors_ = pd.DataFrame(error_pk, index=rows, columns=_index(["worker", *table.labels], None)[1:])
        return self

    def _maximize(
        self, pairs: _Pairs, share_ik: FloatArray, start: Callable[[FloatArray], FloatArray] | None = None
    ) -> FloatArray:
        """Each label's share of a worker's expected votes by class, for the pairs of worker and label that occur."""
        count_pk = pairs.votes_ip.T @ share_ik
        if start is not None:
            count_pk = start(count_pk)
        count_pk = np.maximum(count_pk, LEAST_SHARE)
        total_jk = np.zeros((pairs.n_workers, share_ik.shape[1]))
        np.add.at(total_jk, pairs.worker_p, count_pk)
        return np.asarray(count_pk / total_jk[pairs.worker_p])

    def _keep_nothing(self) -> Self:
        self.probas_, self.errors_ = pd.DataFrame(), pd.DataFrame()
        self.priors_ = pd.Series(dtype=float, name="prior")
        self.labels_ = pd.Series(dtype=float, name="agg_label")
        self.loss_history_ = []
        return self


class _Pairs(NamedTuple):
    """The pairs of worker and label that occur, in the order of the rows, and how often each occurs on each task."""

    worker_p: IntArray
    label_p: IntArray
    votes_ip: Any
    votes_i: FloatArray
    n_workers: int


def _pairs_of(table: Table) -> _Pairs:
    from scipy.sparse import csr_array

    n_tasks, n_workers, n_labels = table.shape
    key_n = table.worker_n * n_labels + table.label_n
    appear_p = _appearance(key_n)
    place = np.zeros(n_workers * n_labels, dtype=np.int64)
    place[appear_p] = np.arange(len(appear_p))
    shape = (n_tasks, len(appear_p))
    votes_ip = csr_array((np.ones(len(key_n)), (table.task_n, place[key_n])), shape=shape)
    votes_i = np.bincount(table.task_n, minlength=n_tasks).astype(float)
    return _Pairs(appear_p // n_labels, appear_p % n_labels, votes_ip, votes_i, n_workers)


def _appearance(code_n: IntArray) -> IntArray:
    """The distinct codes in the order in which they first appear."""
    code, first = np.unique(code_n, return_index=True)
    return np.asarray(code[np.argsort(first)])


def _with_labels(table: Table, true_labels: Any) -> Table:
    """The same votes with the true labels among the labels."""
    new = [label for label in dict.fromkeys(true_labels) if label not in set(table.labels)]
    if not new:
        return table
    code_n, labels = _encode(pd.Series([*table.labels, *new], dtype=object), "label")
    return table._replace(label_n=code_n[table.label_n], labels=labels)


def partial_start(initial_error: Any, strategy: str, table: Table, pairs: _Pairs) -> Callable[[FloatArray], FloatArray]:
    """How `initial_error` changes the first counts of the pairs of worker and label."""
    if strategy not in ("assign", "addition"):
        raise ConfigError(f"initial_error_strategy must be assign or addition, not {strategy!r}.")
    if list(initial_error.index.names) != ["worker", "label"]:
        raise ConfigError(f"initial_error must be indexed by worker and label, not {initial_error.index.names}.")
    code = {label: k for k, label in enumerate(table.labels)}
    columns = [position for position, label in enumerate(initial_error.columns) if label in code]
    place = [code[initial_error.columns[position]] for position in columns]
    given = dict(zip(initial_error.index, initial_error.iloc[:, columns].to_numpy(dtype=float), strict=True))
    rows = list(zip(table.workers[pairs.worker_p], table.labels[pairs.label_p], strict=True))
    missing = [worker for worker, label in rows if (worker, label) not in given]
    if strategy == "assign" and missing:
        raise DataError(f"initial_error has no row for a label that worker {missing[0]!r} gives.")
    sums = initial_error.groupby("worker").sum().to_numpy(dtype=float)
    if strategy == "assign" and (initial_error <= 1).all(axis=None) and not np.allclose(sums, 1):
        raise DataError("The sum of each worker's error matrix in initial_error should be 1.0 for every true label.")
    error_pk = np.zeros((len(rows), len(table.labels)))
    for p, row in enumerate(rows):
        if row in given:
            error_pk[p, place] = given[row]
    return (lambda _: error_pk) if strategy == "assign" else (lambda count_pk: count_pk + error_pk)


@dataclass(eq=False)
class OneCoinDawidSkene(DawidSkene):
    """One probability of being right for each worker, `skills_`; wrong labels are equally likely."""

    skills_ = None

    def fit(self, data: Any) -> Self:  # type: ignore[override]
        """Fit to a frame with the columns task, worker and label."""
        table = self._read(data)
        if not len(table.task_n):
            return self._keep_nothing()
        self._run(table, _pairs_of(table), np.full(table.shape[0], -1))
        appear_j = _appearance(table.worker_n)
        self.skills_ = _series(self._skill_j[appear_j], table.workers[appear_j], "skill")
        return self

    def _maximize(
        self,
        pairs: _Pairs,
        share_ik: FloatArray,
        start: Callable[[FloatArray], FloatArray] | None = None,  # noqa: ARG002
    ) -> FloatArray:
        count_pk = pairs.votes_ip.T @ share_ik
        own_p = np.arange(len(count_pk))
        right_j = np.bincount(pairs.worker_p, count_pk[own_p, pairs.label_p], minlength=pairs.n_workers)
        self._skill_j = right_j / np.bincount(pairs.worker_p, count_pk.sum(axis=1), minlength=pairs.n_workers)
        skill_p = self._skill_j[pairs.worker_p]
        error_pk = np.repeat(((1 - skill_p) / max(share_ik.shape[1] - 1, 1))[:, None], share_ik.shape[1], axis=1)
        error_pk[own_p, pairs.label_p] = skill_p
        return np.asarray(np.clip(error_pk, LEAST_SHARE, 1 - LEAST_SHARE))


class _Modelled(_Probabilistic):
    """An aggregator that is one of majorant's methods."""

    def fit(self, data: Any) -> Self:
        """Fit to a frame with the columns task, worker and label."""
        table = self._read(data)
        if len(table.task_n):
            fit = self._model(table)
            self._keep(table, np.array(fit.posterior))
            self._keep_parts(table, fit)
        else:
            self._keep(table, np.zeros((0, 0)))
        return self

    def _model(self, table: Table) -> Fit:
        raise NotImplementedError

    def _keep_parts(self, table: Table, fit: Fit) -> None:
        """Set the other attributes."""


@dataclass(eq=False)
class GLAD(_Probabilistic):
    """Ability of each worker (`alphas_`) and ease of each task (`betas_`, its logarithm), by EM.

    Each M step takes up to `m_step_max_iter` steps of conjugate gradients, and EM stops when a step improves the
    objective per vote and label by less than `tol`.
    """

    n_iter: int = 100
    tol: float = 1e-5
    silent: bool = True
    labels_priors: Any = None
    alphas_priors_mean: Any = None
    betas_priors_mean: Any = None
    m_step_max_iter: int = 25
    m_step_tol: float = 1e-2

    def fit(self, data: Any) -> Self:
        """Fit to a frame with the columns task, worker and label."""
        table = self._read(data)
        if self.labels_priors is not None:
            table = _with_labels(table, self.labels_priors.index)
        n_tasks, n_workers, n_labels = table.shape
        prior_k = np.full(n_labels, 1 / max(n_labels, 1))
        if self.labels_priors is not None:
            prior_k = _aligned(self.labels_priors, table.labels, "labels_priors")
        mean_j, mean_i = np.ones(n_workers), np.ones(n_tasks)
        if self.alphas_priors_mean is not None:
            mean_j = _aligned(self.alphas_priors_mean, table.workers, "alphas_priors_mean")
        if self.betas_priors_mean is not None:
            mean_i = _aligned(self.betas_priors_mean, table.tasks, "betas_priors_mean")
        model = _GladModel(table, np.log(prior_k), np.concatenate([mean_j, mean_i]))
        point = np.ones(n_workers + n_tasks)
        share_ik = model.expect(point)
        value = model.value(point, share_ik)
        self.loss_history_: list[float] = []
        for _ in range(self.n_iter if len(table.task_n) else 0):
            share_ik = model.expect(point)
            point = model.maximize(point, share_ik, self.m_step_max_iter, self.m_step_tol)
            self.loss_history_.append(model.value(point, share_ik) / (len(table.task_n) * n_labels))
            rise, value = self.loss_history_[-1] - value, self.loss_history_[-1]
            if rise < self.tol:
                break
        self._keep(table, share_ik)
        self.probas_.columns.name = "variable"  # as in crowd-kit
        appear_j, appear_i = _appearance(table.worker_n), _appearance(table.task_n)
        self.alphas_ = _series(point[:n_workers][appear_j], table.workers[appear_j], "alpha")
        self.betas_ = _series(point[n_workers:][appear_i], table.tasks[appear_i], "beta")
        self.priors_ = _series(prior_k, table.labels.rename(None), None)
        self.prior_labels_ = self.priors_.index
        return self


class _GladModel(NamedTuple):
    """GLAD's expectation of the log-probability, at a point of abilities (one per worker) and log-eases (per task)."""

    table: Table
    log_prior_k: FloatArray
    mean_p: FloatArray  # prior means of the point

    def logits(self, point_p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log-odds that each vote is right, and its task's ease."""
        n_workers = self.table.shape[1]
        ease_n = np.exp(point_p[n_workers:])[self.table.task_n]
        return point_p[self.table.worker_n] * ease_n, ease_n

    def expect(self, point_p: FloatArray) -> FloatArray:
        """The probability of each label for each task."""
        n_tasks, _, n_labels = self.table.shape
        x_n, _ = self.logits(point_p)
        wrong_n = -np.logaddexp(0, x_n) - np.log(max(n_labels - 1, 1))
        score_ik = _scores(self.table, -np.logaddexp(0, -x_n) - wrong_n)
        score_ik += np.bincount(self.table.task_n, weights=wrong_n, minlength=n_tasks)[:, None] + self.log_prior_k
        return softmax_rows(score_ik)[0] if score_ik.size else score_ik

    def value(self, point_p: FloatArray, share_ik: FloatArray) -> float:
        """The expected log-probability of votes and point."""
        x_n, _ = self.logits(point_p)
        right_n = share_ik[self.table.task_n, self.table.label_n]
        wrong_n = -np.logaddexp(0, x_n) - np.log(max(self.table.shape[2] - 1, 1))
        votes = (right_n * -np.logaddexp(0, -x_n) + (1 - right_n) * wrong_n).sum()
        away_p = point_p - self.mean_p
        return float(votes - (away_p**2 + np.log(2 * np.pi)).sum() / 2)

    def slope(self, point_p: FloatArray, share_ik: FloatArray) -> FloatArray:
        """The gradient of `value`."""
        n_tasks, n_workers, _ = self.table.shape
        x_n, ease_n = self.logits(point_p)
        excess_n = share_ik[self.table.task_n, self.table.label_n] - 1 / (1 + np.exp(-np.clip(x_n, -500, 500)))
        slope_j = np.bincount(self.table.worker_n, weights=excess_n * ease_n, minlength=n_workers)
        slope_i = np.bincount(self.table.task_n, weights=excess_n * x_n, minlength=n_tasks)
        return np.concatenate([slope_j, slope_i]) - (point_p - self.mean_p)

    def maximize(self, point_p: FloatArray, share_ik: FloatArray, n_steps: int, tol: float) -> FloatArray:
        """A better point, by conjugate gradients."""
        from scipy.optimize import minimize

        found: Any = minimize(  # type: ignore[call-overload]
            lambda p: -self.value(p, share_ik),
            point_p,
            method="CG",
            jac=lambda p: -self.slope(p, share_ik),
            tol=tol,
            options={"maxiter": n_steps},
        )
        return np.asarray(found.x)


def _aligned(given: Any, index: Any, name: str) -> FloatArray:
    """The values of a series for each name in the index."""
    known = dict(zip(given.index, given.to_numpy(), strict=True))
    missing = [one for one in index if one not in known]
    if missing:
        raise DataError(f"{name} has no value for {missing[0]!r}.")
    return np.array([known[one] for one in index], dtype=float)


@dataclass(eq=False)
class MACE(_Modelled):
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

    def _model(self, table: Table) -> Fit:
        if self.method not in ("vb", "em"):
            raise ConfigError(f"method must be vb or em, not {self.method!r}.")
        self.smoothing_ = 0.01 / table.shape[2]
        smoothing = self.smoothing_ if self.method == "em" else None
        method = mace.MACE(smoothing=smoothing, copies=(self.beta, self.alpha), max_iter=max(self.n_iter, 1))
        return method.fit(table.votes_as_codes())

    def _keep_parts(self, table: Table, fit: Fit) -> None:  # noqa: ARG002
        copies_j = np.asarray(fit.skill)
        self.spamming_, self.thetas_ = np.stack([1 - copies_j, copies_j], axis=1), np.array(fit.learned["habit"])
        self.probas_.columns.name = None  # as in crowd-kit


@dataclass(eq=False)
class KOS(_Modelled):
    """Messages between tasks and workers, for two labels."""

    n_iter: int = 100
    random_state: int = 0

    def _model(self, table: Table) -> Fit:
        return two_class.KOS(max_iter=max(self.n_iter, 1)).fit(table.votes_as_codes())


@dataclass(eq=False)
class MMSR(_Aggregator):
    """Skills from the agreement of pairs of workers, by a robust completion of a matrix of rank one.

    Ma & Olshevsky, Adversarial crowdsourcing through robust rank-one matrix completion, NeurIPS 2020. Votes are
    weighted by the log-odds of their worker, so `scores_` may be negative or above 1.
    """

    n_iter: int = 10_000
    tol: float = 1e-10
    random_state: int | None = 0
    skills_ = None

    def fit(self, data: Any) -> Self:
        """Learn the skills."""
        table = self._read(data)
        appear_j = _appearance(table.worker_n)
        skill_j = self._learn(table) if len(table.task_n) else np.zeros(0)
        self.skills_ = _series(skill_j[appear_j], table.workers[appear_j], "skill")
        return self

    def predict(self, data: Any) -> Any:
        """The labels of votes, weighted by skill."""
        self._apply(data)
        return self.labels_

    def predict_score(self, data: Any) -> Any:
        """Each label's share of the weights."""
        self._apply(data)
        return self.scores_

    def fit_predict(self, data: Any) -> Any:
        """Fit, and return the label of each task."""
        return self.fit(data).predict(data)

    def fit_predict_score(self, data: Any) -> Any:
        """Fit, and return each label's share of the weights."""
        return self.fit(data).predict_score(data)

    def _apply(self, data: Any) -> None:
        if self.skills_ is None:
            raise ConfigError("MMSR has no skills yet: call fit first.")
        vote = MajorityVote().fit(data, self.skills_)
        self.labels_, self.scores_, self._table = vote.labels_, vote.probas_, vote._table

    def _learn(self, table: Table) -> FloatArray:
        """The log-odds of each worker being right, (J,)."""
        n_tasks, n_workers, n_labels = table.shape
        if n_labels < 2:
            raise DataError("MMSR needs two labels or more.")
        agreement_ab, common_ab = _pair_agreement(table)
        observed_ab = common_ab > 0
        trim = int(observed_ab.sum(axis=0).min()) // 2 - 1
        size_ab = np.where(observed_ab, np.abs(agreement_ab), np.nan)
        u_a, v_b = np.empty(n_workers), np.empty(n_workers)
        for start in (u_a, v_b):  # drawn as by SciPy, and for workers in the order in which they appear
            start[_appearance(table.worker_n)] = np.random.RandomState(self.random_state).uniform(size=n_workers)
        self.loss_history_ = []
        for _ in range(self.n_iter):
            before_ab = np.outer(u_a, v_b)
            v_b = _trimmed_means(size_ab / u_a[:, None], trim, v_b, n_tasks)
            u_a = _trimmed_means(size_ab.T / v_b[:, None], trim, u_a, n_tasks)
            self.loss_history_.append(float(np.linalg.norm(np.outer(u_a, v_b) - before_ab)))
            if self.loss_history_[-1] < self.tol:
                break
        size_a = u_a / np.sqrt(np.linalg.norm(u_a) / np.linalg.norm(v_b))
        margin = 1 / np.sqrt(n_tasks)
        skill_a = np.clip(_signs(agreement_ab) * size_a, -np.inf, 1 - margin)
        skill_a = np.maximum(skill_a, margin - 1 / (n_labels - 1))
        right_a = skill_a * (n_labels - 1) / n_labels + 1 / n_labels
        return np.asarray(np.log(right_a * (n_labels - 1) / (1 - right_a)))


def _pair_agreement(table: Table) -> tuple[FloatArray, FloatArray]:
    """Agreement of pairs of workers, 0 if by chance and 1 if perfect, and the number of common tasks; no diagonal."""
    from scipy.sparse import csr_array

    n_tasks, n_workers, n_labels = table.shape
    key_n = table.worker_n * n_tasks + table.task_n
    _, last = np.unique(key_n[::-1], return_index=True)  # the last vote of a worker on a task counts
    kept = len(key_n) - 1 - last
    worker, task, label = table.worker_n[kept], table.task_n[kept], table.label_n[kept]
    ones = np.ones(len(kept))
    by_task: Any = csr_array((ones, (worker, task)), shape=(n_workers, n_tasks))
    by_label: Any = csr_array((ones, (worker, task * n_labels + label)), shape=(n_workers, n_tasks * n_labels))
    common_ab, agreed_ab = (by_task @ by_task.T).toarray(), (by_label @ by_label.T).toarray()
    np.fill_diagonal(common_ab, 0)
    share_ab = np.divide(agreed_ab, common_ab, out=np.zeros_like(agreed_ab), where=common_ab > 0)
    return (n_labels * share_ab - 1) / (n_labels - 1), common_ab


def _trimmed_means(ratio_ab: FloatArray, trim: int, old_b: FloatArray, n_tasks: int) -> FloatArray:
    """The mean of each column without up to `trim` values below and above the old one; NaN entries do not count."""
    new_b = old_b.copy()
    for b, old in enumerate(old_b):
        value = np.sort(ratio_ab[~np.isnan(ratio_ab[:, b]), b])
        value = value[value >= old] if (value < old).sum() < trim else value[trim:]
        value = value[value <= old] if (value > old).sum() < trim else value[: len(value) - trim]
        if len(value) == 1 and value[0] == 0:
            value = np.array([1 / np.sqrt(n_tasks)])
        if len(value):
            new_b[b] = value.mean()
    return new_b


def _signs(agreement_ab: FloatArray) -> FloatArray:
    """+1 or -1 for each worker, such that workers who agree more than by chance are on the same side; 0 if unknown.

    Workers who disagree are joined by an edge, those who agree by a path of two edges over a node of their own. The
    sides are those of the most nearly bipartite cut: the lowest eigenvector of the normalised adjacency matrix.
    """
    from scipy.sparse import block_array, csr_array, diags_array
    from scipy.sparse.linalg import eigsh

    known = np.flatnonzero(agreement_ab.sum(axis=1) != 0)
    sign_kk = np.sign(agreement_ab[np.ix_(known, known)])
    row, column = np.nonzero(np.triu(sign_kk) == 1)
    n_agree = len(row)
    side = np.ones(n_agree)
    place = np.arange(n_agree)
    agree = csr_array((side, (place, row)), shape=(n_agree, len(known))) + csr_array(
        (side, (place, column)), shape=(n_agree, len(known))
    )
    against = csr_array((sign_kk < 0).astype(float))
    blocks: Any = [[against, agree.T], [agree, None]]
    adjacency = csr_array(block_array(blocks)) if n_agree else against
    scale = 1 / np.sqrt(adjacency.sum(axis=1))
    normal = diags_array(scale) @ adjacency @ diags_array(scale)
    if normal.shape[0] <= 500:
        vector = np.linalg.eigh(normal.toarray())[1][:, 0]
    else:
        vector = eigsh(normal, k=1, which="SA", v0=np.ones(normal.shape[0]))[1][:, 0]
    sign_k = np.sign(vector[: len(known)] * scale[: len(known)])
    sign_a = np.zeros(len(agreement_ab))
    sign_a[known] = np.sign(sign_k.sum()) * sign_k
    return sign_a


@dataclass(eq=False)
class BinaryRelevance(_Aggregator):
    """Labels that are lists, by one aggregator of yes and no for each label; `aggregators_` holds them by label."""

    base_aggregator: Any = None

    def __post_init__(self) -> None:
        if self.base_aggregator is None:
            self.base_aggregator = MajorityVote()
        kinds = (_Aggregator,) if PEER_BASE is object else (_Aggregator, PEER_BASE)
        if not isinstance(self.base_aggregator, kinds):
            raise ConfigError(
                f"base_aggregator must be a classification aggregator, not {type(self.base_aggregator).__name__}."
            )

    def fit(self, data: Any) -> Self:
        """Fit an aggregator for each label."""
        missing = [name for name in COLUMNS if name not in data.columns]
        if missing:
            raise MissingColumnError(f"the frame needs a column {' and '.join(missing)}.")
        given = [set(labels) for labels in data["label"]]
        names = list(_encode(pd.Series([name for one in given for name in one], dtype=object), "label")[1])
        self.aggregators_: dict[Any, Any] = {}
        chosen: dict[Any, list[Any]] = {}
        for name in names:
            binary = data[["task", "worker"]].assign(label=np.array([int(name in one) for one in given]))
            aggregator = _unfitted(self.base_aggregator)
            for task, label in aggregator.fit_predict(binary).items():
                chosen.setdefault(task, []).extend([name] if label else [])
            self.aggregators_[name] = aggregator
        values = np.empty(len(chosen), dtype=object)
        values[:] = list(chosen.values())
        self.labels_ = _series(values, _index(chosen, "task"), "agg_label")
        if not chosen:
            self.labels_ = pd.Series(dtype=float, name="agg_label")
        return self

    def as_majorant(self) -> Votes:
        """Not possible: each label is a question of its own; see `aggregators_`."""
        raise ConfigError("each label is a question of its own: call as_majorant() of an entry of aggregators_.")


def _unfitted(aggregator: Any) -> Any:
    """A new aggregator with the same constructor arguments."""
    if isinstance(aggregator, _Aggregator):
        return type(aggregator)(**{one.name: getattr(aggregator, one.name) for one in fields(aggregator) if one.init})
    arguments = {name: value for name, value in vars(aggregator).items() if not name.startswith("_")}
    return type(aggregator)(**{name: value for name, value in arguments.items() if not name.endswith("_")})
