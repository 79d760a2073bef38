"""A fitted rule that labels other votes: what was learned about each worker, saved as one small JSON file.

The probability of class k given the votes on an item is proportional to prior[k] times the product over its votes of
P(label | k) of the worker, as in the fit that the rule comes from. Nothing is learned from the new votes.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from majorant.arguments import validated
from majorant.atomic import whole_file
from majorant.errors import ConfigError, DataError
from majorant.methods.fit import Fit, fit_of
from majorant.methods.tables import confusion_tables, prepare
from majorant.ownership import note_input
from majorant.read import Reading, as_votes
from majorant.theory.checks import as_confusion, as_prior
from majorant.values import FloatArray
from majorant.votes import Votes

KIND = "majorant rule"
DIGITS = 9  # significant digits of a saved probability


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SavedRule:
    """A prior and one confusion matrix per worker, under the user's own names.

    Attributes
    ----------
    method : str
        The method that learned them.
    labels : tuple
        The classes.
    prior : ndarray of shape (classes,)
        Probability of each class.
    workers : mapping of name to ndarray of shape (classes, classes)
        P(label | class) of each worker.
    others : ndarray of shape (classes, classes)
        The same for workers whom the rule does not know: the mean of those it knows.
    """

    method: str
    labels: tuple[Hashable, ...]
    prior: FloatArray
    workers: Mapping[Hashable, FloatArray]
    others: FloatArray

    @classmethod
    @validated
    def of(cls, fit: Fit) -> SavedRule:
        """The rule of a fit; raise an error if confusion matrices do not say how its labels were chosen."""
        from majorant.methods import ESTIMATORS

        estimator = ESTIMATORS.get(fit.method)
        if estimator is None or not estimator.traits.naive_bayes or fit.confusion is None:
            names = ", ".join(name for name, one in ESTIMATORS.items() if one.traits.naive_bayes)
            raise ConfigError(f"{fit.method} cannot be saved as a rule for other votes. Choose one of: {names}.")
        if fit.names is None:
            raise ConfigError("this fit does not have the names of its workers: aggregate the votes in memory.")
        confusion = np.asarray(fit.confusion)
        each = {} if confusion.ndim == 2 else dict(zip(fit.names.workers, confusion, strict=True))
        others = confusion if confusion.ndim == 2 else confusion.mean(axis=0)
        return cls(method=fit.method, labels=fit.label_values, prior=fit.prior, workers=each, others=others)

    def fit(self, votes: Any, **reading: Unpack[Reading]) -> Fit:
        """Label votes, which may come from workers whom the rule does not know.

        Parameters
        ----------
        votes
            Anything that `read` accepts.
        **reading
            Arguments of `read`, such as `item=`.

        Returns
        -------
        Fit
            The labels, with the probability of each class.

        Raises
        ------
        DataError
            If a vote has a label that the rule does not know.
        """
        votes = as_votes(votes, **reading)
        known = self._recode(votes)
        confusion_jkl = np.array([self.workers.get(name, self.others) for name in votes.workers])
        confusion_jkl = confusion_jkl.reshape(len(votes.workers), len(self.labels), len(self.labels))
        data = prepare(known)
        posterior_ik = data.posterior(confusion_tables(confusion_jkl, self.prior))
        return fit_of(self.method, known, posterior=posterior_ik, prior=self.prior, confusion=confusion_jkl)

    def _recode(self, votes: Votes) -> Votes:
        """The votes with the classes of the rule."""
        place = {label: k for k, label in enumerate(self.labels)}
        if unknown := [label for label in votes.labels if label not in place]:
            known = ", ".join(map(repr, self.labels[:6]))
            raise DataError(f"the rule knows the labels {known}, but these votes have {unknown[0]!r}.")
        code_l = np.array([place[label] for label in votes.labels], dtype=np.int64)
        codes = votes.item_n, votes.worker_n, code_l[votes.label_n]
        return Votes.from_codes(*codes, items=votes.items, workers=votes.workers, labels=self.labels)

    @validated
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the rule as JSON.

        Parameters
        ----------
        path
            The file.
        overwrite
            Whether to replace a file that majorant did not write, or that has changed since.
        """
        with whole_file(path, overwrite=overwrite) as part:
            part.write_text(self.to_json(), encoding="utf-8")

    def to_json(self) -> str:
        """The content of the file, with a line for each worker."""
        workers = [
            json.dumps({"worker": _plain(name), "confusion": _rounded(matrix)}, ensure_ascii=False)
            for name, matrix in self.workers.items()
        ]
        head = {"kind": KIND, "method": self.method, "labels": list(map(_plain, self.labels)),
                "prior": _rounded(self.prior), "others": _rounded(self.others)}  # fmt: skip
        lines = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
        rows = ",\n  ".join(workers)
        return "{\n" + ",\n".join([*lines, f'"workers": [\n  {rows}\n]']) + "\n}\n"


def load_rule(path: str | Path) -> SavedRule:
    """Load a rule saved by `fit.rule().save(path)`.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    SavedRule
        `rule.fit(votes)` labels other votes.

    Raises
    ------
    DataError
        If the file is not a rule.

    Examples
    --------
    >>> import majorant as mj, tempfile
    >>> june = [("a", "u", "yes"), ("a", "v", "yes"), ("b", "u", "no"), ("b", "v", "no"), ("b", "w", "yes")]
    >>> path = Path(tempfile.mkdtemp()) / "crowd.json"
    >>> mj.aggregate(june, "dawid-skene").rule().save(path)
    >>> mj.load_rule(path).fit([("c", "u", "no"), ("c", "w", "yes")]).labels()
    ['no']
    """
    note_input(path)
    try:
        facts = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). Check the name.") from None
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict) or facts.get("kind") != KIND:
        raise DataError(f"{path}: not a saved rule. fit.rule().save(path) writes one.")
    try:
        labels = tuple(map(_name, facts["labels"]))
        workers = {
            _name(one["worker"]): as_confusion(_exact(one["confusion"]), len(labels)) for one in facts["workers"]
        }
        prior, others = as_prior(_exact(facts["prior"])), as_confusion(_exact(facts["others"]), len(labels))
        if len(prior) != len(labels) or len(set(labels)) != len(labels):
            raise ValueError
        return SavedRule(method=str(facts["method"]), labels=labels, prior=prior, workers=workers, others=others)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: the rule is damaged ({error or 'labels and prior differ'}).") from None


def _rounded(values: FloatArray) -> Any:
    return [float(f"{value:.{DIGITS}g}") for value in values] if values.ndim == 1 else list(map(_rounded, values))


def _exact(values: Any) -> FloatArray:
    """Probabilities that sum to 1 again after rounding; those of a file that was never right stay wrong."""
    share = np.asarray(values, dtype=float)
    total = share.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(np.abs(total - 1) < 1e-6, share / total, share))


def _plain(name: Any) -> Any:
    """A name as JSON; a tuple becomes a list."""
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, tuple):
        return list(map(_plain, name))
    if name is None or isinstance(name, str | int | float):
        return name
    raise ConfigError(f"the name {name!r} is a {type(name).__name__}, which cannot be saved as JSON.")


def _name(value: Any) -> Hashable:
    """A name as it was before it was saved."""
    if isinstance(value, dict):
        raise TypeError(f"{value!r} is not a name")
    return tuple(map(_name, value)) if isinstance(value, list) else value
