"""Chance-corrected agreement with weights, standard errors and p-values, as irrCAC and statsmodels print them.

Formulas: Gwet, Handbook of Inter-Rater Reliability (4th ed., 2014), chapters 2 to 5.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from majorant.defaults import LEVEL
from majorant.errors import ConfigError, DataError
from majorant.read import Reading, as_votes
from majorant.results.agreement.measure import label_numbers
from majorant.tally import counts
from majorant.values import FloatArray, as_level
from majorant.votes import Votes

WEIGHTS = ("unweighted", "linear", "quadratic", "ordinal", "radical", "ratio")


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient with its standard error over items, a t interval and the p-value of no agreement beyond chance.

    `value` is None if it is undefined, and the rest is None where there is no standard error.
    """

    value: float | None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True)
class ChanceCorrected:
    """Agreement beyond chance by several definitions of chance; `conger` needs to know the workers."""

    percent: Coefficient
    brennan_prediger: Coefficient  # also known as Randolph's free-marginal kappa
    fleiss: Coefficient
    conger: Coefficient  # with two workers, Cohen's kappa
    gwet: Coefficient  # AC1, or AC2 with weights
    krippendorff: Coefficient
    n_items: int
    n_workers: int | None


def chance_corrected(
    votes: Any,
    *,
    weights: str | ArrayLike = "unweighted",
    classes: Sequence[Hashable] | None = None,
    level: float = LEVEL,
    **reading: Unpack[Reading],
) -> ChanceCorrected:
    """Measure agreement beyond chance with weights for partial agreement, standard errors and p-values.

    Parameters
    ----------
    votes : Any
        Anything `mj.read` accepts, with the same keyword arguments; or a mapping of each label to the number of its
        votes on each item, if only a table of counts is known.
    weights : str or array
        unweighted, linear, quadratic, ordinal, radical or ratio; or a matrix of classes with 1 on its diagonal.
        Numeric labels are their own scores; other labels are ranked as in `classes`.
    classes : sequence, optional
        All possible labels, from lowest to highest; by default, the labels that were used.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    ChanceCorrected
        Coefficients with standard errors over items (except for Conger's kappa: by leaving out one item at a time).

    Examples
    --------
    >>> votes = [("a", "u", 1), ("a", "v", 1), ("b", "u", 2), ("b", "v", 3), ("c", "u", 3), ("c", "v", 3)]
    >>> found = chance_corrected(votes, weights="linear")
    >>> round(found.gwet.value, 3), round(found.conger.value, 3)
    (0.66, 0.667)
    >>> chance_corrected({"yes": [3, 0, 2], "no": [0, 3, 1]}).percent.value.__round__(3)
    0.778
    """
    as_level(level)
    if isinstance(votes, Mapping) and not reading and _are_counts(votes):
        labels, count_ik, table = list(votes), np.array(list(votes.values()), dtype=float).T, None
        if classes is not None:
            labels, count_ik = _in_order(labels, count_ik, classes)
    else:
        table = as_votes(votes, **reading)
        labels, count_ik = list(table.labels), counts(table).astype(float)
        labels, count_ik = _in_order(labels, count_ik, classes if classes is not None else _sorted(table))
    weight_kl = agreement_weights(labels, weights)
    count_ik = count_ik[count_ik.sum(axis=1) > 0]
    n_items, n_classes = count_ik.shape
    if not n_items or not (count_ik.sum(axis=1) >= 2).any():
        raise DataError("no item has two votes, so nothing can be compared.")
    if n_classes < 2:
        nothing = Coefficient(None)
        others = dict.fromkeys(("brennan_prediger", "fleiss", "conger", "gwet", "krippendorff"), nothing)
        n_workers = None if table is None else len(table.workers)
        return ChanceCorrected(percent=Coefficient(1.0), **others, n_items=n_items, n_workers=n_workers)
    found = _by_counts(count_ik, weight_kl)
    named = {name: _coefficient(value, se, n, level) for name, (value, se, n) in found.items()}
    conger = Coefficient(None)
    if table is not None:
        value, se = _conger(table, labels, weight_kl)
        conger = _coefficient(value, se, n_items, level)
    return ChanceCorrected(
        **named, conger=conger, n_items=n_items, n_workers=None if table is None else len(table.workers)
    )


def agreement_weights(labels: Sequence[Hashable], weights: str | ArrayLike) -> FloatArray:
    """The weight of each pair of labels: 1 if they agree fully, 0 if not at all.

    >>> agreement_weights([1, 2, 4], "linear").round(3).tolist()[0]
    [1.0, 0.667, 0.0]
    """
    n_classes = len(labels)
    if not isinstance(weights, str):
        weight_kl = np.asarray(weights, dtype=float)
        if weight_kl.shape != (n_classes, n_classes) or not np.allclose(np.diag(weight_kl), 1):
            raise ConfigError(f"weights must be a {n_classes} x {n_classes} matrix with 1 on its diagonal.")
        return weight_kl
    if weights not in WEIGHTS:
        raise ConfigError(f"weights must be a matrix or one of {', '.join(WEIGHTS)}, not {weights!r}.")
    if weights == "unweighted" or n_classes < 2:
        return np.eye(n_classes)
    number_k = label_numbers(labels)
    score_k = np.arange(1.0, n_classes + 1) if number_k is None else number_k
    away_kl = np.abs(score_k[:, None] - score_k)
    if weights == "ordinal":
        steps_kl = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes))) + 1
        away_kl = steps_kl * (steps_kl - 1) / 2
    elif weights == "quadratic":
        away_kl = away_kl**2
    elif weights == "radical":
        away_kl = np.sqrt(away_kl)
    elif weights == "ratio":
        total_kl = score_k[:, None] + score_k
        away_kl = np.divide(away_kl, total_kl, out=np.zeros_like(away_kl), where=total_kl != 0) ** 2
    return np.asarray(1 - away_kl / away_kl.max())


def _by_counts(count_ik: FloatArray, weight_kl: FloatArray) -> dict[str, tuple[float | None, float | None, int]]:
    """Value, standard error and number of items of the coefficients that need only counts."""
    n, n_classes = count_ik.shape
    votes_i = count_ik.sum(axis=1)
    paired_i = votes_i >= 2
    close_ik = count_ik @ weight_kl.T
    pairs_i = (count_ik * (close_ik - 1)).sum(axis=1)
    same_i = np.where(paired_i, pairs_i / np.maximum(votes_i * (votes_i - 1), 1), 0.0)
    same = float(same_i[paired_i].mean())
    share_ik = count_ik / votes_i[:, None]
    share_k = share_ik.mean(axis=0)
    total = float(weight_kl.sum())
    near_k = (weight_kl @ share_k + weight_kl.T @ share_k) / 2
    gwet_scale = total / (n_classes * (n_classes - 1))
    chance = {
        "percent": (0.0, np.zeros(n)),
        "brennan_prediger": (total / n_classes**2, np.full(n, total / n_classes**2)),
        "fleiss": (float(share_k @ weight_kl @ share_k), share_ik @ near_k),
        "gwet": (gwet_scale * float((share_k * (1 - share_k)).sum()), gwet_scale * share_ik @ (1 - share_k)),
    }
    found: dict[str, tuple[float | None, float | None, int]] = {}
    for name, (expected, expected_i) in chance.items():
        if expected >= 1:
            found[name] = (None, None, n)
            continue
        value = (same - expected) / (1 - expected)
        own_i = np.where(paired_i, (same_i - expected) / (1 - expected), 0.0) * n / paired_i.sum()
        own_i = own_i - 2 * (1 - value) * (expected_i - expected) / (1 - expected)
        found[name] = (value, _standard_error(own_i, value), n)
    found["krippendorff"] = _krippendorff(count_ik[paired_i], weight_kl)
    return found


def _krippendorff(count_ik: FloatArray, weight_kl: FloatArray) -> tuple[float | None, float | None, int]:
    n, votes_i = len(count_ik), count_ik.sum(axis=1)
    mean = float(votes_i.mean())
    small = 1 / (n * mean)
    same_i = (count_ik * (count_ik @ weight_kl.T - 1)).sum(axis=1) / (mean * (votes_i - 1))
    same = float(same_i.mean())
    share_k = (count_ik / mean).mean(axis=0)
    expected = float(share_k @ weight_kl @ share_k)
    if expected >= 1:
        return None, None, n
    corrected = (1 - small) * same + small
    value, plain = (corrected - expected) / (1 - expected), (same - expected) / (1 - expected)
    excess_i = (votes_i - mean) / mean
    own_i = (same_i - corrected * excess_i - expected) / (1 - expected)
    near_k = (weight_kl @ share_k + weight_kl.T @ share_k) / 2
    expected_i = count_ik @ near_k / mean - expected * excess_i
    own_i = own_i - 2 * (1 - plain) * (expected_i - expected) / (1 - expected)
    return value, _standard_error(own_i, plain), n


def _conger(votes: Votes, labels: Sequence[Hashable], weight_kl: FloatArray) -> tuple[float | None, float | None]:
    """Conger's kappa, in which each worker has its own class shares, and its jackknife standard error."""
    place = {repr(label): k for k, label in enumerate(labels)}
    code_n = np.array([place[repr(label)] for label in votes.labels])[votes.label_n]
    n_items, n_workers, n_classes = len(votes.items), len(votes.workers), len(labels)
    count_ik = np.zeros((n_items, n_classes))
    np.add.at(count_ik, (votes.item_n, code_n), 1)
    given_jk = np.zeros((n_workers, n_classes))
    np.add.at(given_jk, (votes.worker_n, code_n), 1)
    votes_i = count_ik.sum(axis=1)
    paired_i = votes_i >= 2
    pairs_i = (count_ik * (count_ik @ weight_kl.T - 1)).sum(axis=1)
    same_i = np.where(paired_i, pairs_i / np.maximum(votes_i * (votes_i - 1), 1), 0.0)

    def kappa(given_jk: FloatArray, same: float) -> float:
        voted = given_jk.sum(axis=1) > 0
        share_jk = given_jk[voted] / given_jk[voted].sum(axis=1, keepdims=True)
        n = len(share_jk)
        mean_k = share_jk.mean(axis=0)
        spread_kl = (share_jk.T @ share_jk - n * np.outer(mean_k, mean_k)) / max(n - 1, 1)
        expected = float((weight_kl * (np.outer(mean_k, mean_k) - spread_kl / n)).sum())
        return (same - expected) / (1 - expected) if expected < 1 else np.nan

    value = kappa(given_jk, float(same_i[paired_i].mean()))
    voted = np.flatnonzero(votes_i > 0)
    n_paired, total = int(paired_i.sum()), float(same_i.sum())
    if np.isnan(value) or n_paired < 3 or len(voted) * n_workers * n_classes > 50_000_000:
        return (None if np.isnan(value) else value), None
    left = []
    for i in voted:
        own = slice(votes.offsets_i[i], votes.offsets_i[i + 1])
        rest_jk = given_jk.copy()
        np.subtract.at(rest_jk, (votes.worker_n[own], code_n[own]), 1)
        left.append(kappa(rest_jk, (total - same_i[i]) / (n_paired - paired_i[i])))
    n = len(left)
    return value, float(np.sqrt((n - 1) / n * ((np.array(left) - np.mean(left)) ** 2).sum()))


def _standard_error(own_i: FloatArray, value: float) -> float | None:
    n = len(own_i)
    return float(np.sqrt(((own_i - value) ** 2).sum() / (n * (n - 1)))) if n > 1 else None


def _coefficient(value: float | None, se: float | None, n: int, level: float) -> Coefficient:
    from scipy.stats import t

    if value is None or se is None:
        return Coefficient(value)
    reach = float(t.ppf((1 + level) / 2, n - 1)) * se
    p = float(2 * t.sf(abs(value) / se, n - 1)) if se > 0 else 0.0
    return Coefficient(value, se, max(value - reach, -1.0), min(value + reach, 1.0), p)


def _are_counts(votes: Mapping[Any, Any]) -> bool:
    """Whether a mapping holds the number of votes for each label, item by item."""
    columns = [np.asarray(column) for column in votes.values() if not isinstance(column, Mapping | str)]
    return (
        len(columns) == len(votes) > 0
        and not {"item", "task", "worker", "label"} & set(map(str, votes))
        and all(column.ndim == 1 and column.dtype.kind in "iu" and len(column) == len(columns[0]) for column in columns)
    )


def _sorted(votes: Votes) -> list[Hashable]:
    number_k = label_numbers(votes.labels)
    return list(votes.labels) if number_k is None else [votes.labels[k] for k in np.argsort(number_k, kind="stable")]


def _in_order(
    labels: list[Hashable], count_ik: FloatArray, classes: Sequence[Hashable]
) -> tuple[list[Hashable], FloatArray]:
    """The columns of all classes, in their order."""
    place = {repr(label): k for k, label in enumerate(labels)}
    if missing := [label for label in labels if repr(label) not in set(map(repr, classes))]:
        raise ConfigError(f"classes must list every label that was used; {missing[0]!r} is missing.")
    padded_ik = np.pad(count_ik, ((0, 0), (0, 1)))
    return list(classes), padded_ik[:, [place.get(repr(label), -1) for label in classes]]
