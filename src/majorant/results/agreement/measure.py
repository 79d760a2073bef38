"""Measure agreement: all coefficients with their intervals."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Unpack

import numpy as np

from majorant.defaults import LEVEL
from majorant.errors import ConfigError, DataError
from majorant.read import Reading, as_votes
from majorant.results.agreement.coefficients import (
    Agreement,
    PairKappas,
    coefficients,
    coincidences,
    features,
    pair_kappas,
    resampled_coefficients,
    resampled_mean,
    with_interval,
)
from majorant.tally import Patterns, counts, distinct_counts
from majorant.values import Estimate, FloatArray, Missing, as_generator, as_level
from majorant.votes import Votes

N_BOOT = 1000
MOST_CELLS = 20_000_000  # items x labels


@dataclass(frozen=True, slots=True)
class Resampling:
    """How to draw resamples; no intervals if `rng` is None."""

    rng: np.random.Generator | None
    level: float
    n_boot: int = N_BOOT


def agreement(  # type: ignore[misc]
    votes: Any,
    *,
    rng: int | np.random.Generator | None = 0,
    level: float = LEVEL,
    n_boot: int = N_BOOT,
    order: Sequence[Hashable] | None = None,
    classes: Sequence[Hashable] | None = None,
    min_common: int = 10,
    **reading: Unpack[Reading],
) -> Agreement:
    """Measure how well workers agree: percent, Cohen, Fleiss, Krippendorff (nominal, ordinal) and Gwet's AC1.

    Parameters
    ----------
    votes : Any
        Anything `mj.read` accepts, with the same keyword arguments, such as `item=`.
    rng : int, numpy Generator or None
        Random seed; with None, no intervals are computed.
    level : float
        Confidence level of the intervals.
    n_boot : int
        Number of bootstrap resamples.
    order : sequence, optional
        The labels from lowest to highest, for the ordinal alpha of labels that are not numbers. Labels that nobody used
        may be among them; they count as classes, on which Gwet's AC1 depends.
    classes : sequence, optional
        All possible labels, in any order, if some were never used.
    min_common : int
        Least number of common items of a pair for Cohen's kappa; with few, its mean is biased downwards.

    Returns
    -------
    Agreement
        The coefficients with percentile intervals from resampled items; `reason` says why an interval is missing.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 1, 1, 2, 2], [0, 1] * 3, [0, 0, 1, 1, 0, 1],
    ...                          items="abc", workers="wx", labels=("no", "yes"))
    >>> found = agreement(votes)
    >>> round(found.percent.value, 3), round(found.krippendorff.value, 3)
    (0.667, 0.444)
    >>> found.krippendorff_ordinal.reason
    <Missing.NO_ORDER: 'no order'>
    """
    if n_boot < 100:
        raise ConfigError(f"n_boot must be at least 100, not {n_boot!r}.")
    how = Resampling(None if rng is None else as_generator(rng), as_level(level), n_boot)
    votes = as_votes(votes, **reading)
    n_cells = float(len(votes.items)) * len(votes.labels)
    if n_cells > MOST_CELLS:
        raise DataError(
            f"{len(votes.labels):,} different labels are scores: mj.scores(votes) or majorant agreement --scores "
            "measures how far they are apart."
        )
    patterns = distinct_counts(counts(votes))
    return agreement_from(patterns, votes, how, order=order, classes=classes, min_common=min_common)


def agreement_from(
    patterns: Patterns,
    sample: Votes,
    how: Resampling,
    *,
    order: Sequence[Hashable] | None = None,
    classes: Sequence[Hashable] | None = None,
    min_common: int = 10,
) -> Agreement:
    """Measure agreement from the counts of all items, and Cohen's kappa from the votes on some or all of them."""
    used = {repr(label) for label in sample.labels}
    unused = [label for label in dict.fromkeys([*(order or ()), *(classes or ())]) if repr(label) not in used]
    labels = (*sample.labels, *unused)
    class_k, is_ordered = _class_order(labels, sample.labels if order is None and sample.ordered else order)
    n_items = int(patterns.items_p.sum())
    patterns = Patterns(np.pad(patterns.counts_pk, ((0, 0), (0, len(unused)))), patterns.items_p)
    patterns = _votes_only(patterns, class_k, keep_unused=bool(unused))
    n_paired = int(patterns.items_p[patterns.votes_p >= 2].sum())
    by_counts = _from_counts(patterns, n_paired, is_ordered, how)
    cohen, pairs = _cohen(sample, min_common, how)
    return Agreement(
        **by_counts,
        cohen=cohen,
        pairs=pairs,
        n_items=int(patterns.items_p.sum()),
        n_paired=n_paired,
        n_classes=patterns.counts_pk.shape[1],
        level=how.level,
        cohen_items=len(sample.items) if len(sample.items) < n_items else None,
    )


def _class_order(labels: Sequence[Hashable], order: Sequence[Hashable] | None) -> tuple[list[int], bool]:
    """The classes from lowest to highest (unchanged if they have no order), and whether they have an order."""
    if order is not None:
        if sorted(map(repr, order)) != sorted(map(repr, labels)):
            raise ConfigError(f"order must list each label once: {list(labels)!r}, not {list(order)!r}.")
        place = {repr(label): rank for rank, label in enumerate(order)}
        return sorted(range(len(labels)), key=lambda k: place[repr(labels[k])]), True
    number_k = label_numbers(labels)
    return (
        (list(range(len(labels))), False) if number_k is None else (np.argsort(number_k, kind="stable").tolist(), True)
    )


def label_numbers(labels: Sequence[Hashable]) -> FloatArray | None:
    """The labels as numbers; None unless all of them are numbers."""
    if not all(isinstance(label, numbers.Real | Decimal) and not isinstance(label, bool) for label in labels):
        return None
    return np.array([float(label) for label in labels])  # type: ignore[arg-type]


def _votes_only(patterns: Patterns, class_k: list[int], *, keep_unused: bool = False) -> Patterns:
    """Drop items without votes and unused labels, and put the classes in the order of `class_k`."""
    voted_p = patterns.votes_p > 0
    counts_pk = patterns.counts_pk[voted_p][:, class_k]
    used_k = counts_pk.any(axis=0) | keep_unused
    return Patterns(counts_pk[:, used_k], patterns.items_p[voted_p])


def _from_counts(patterns: Patterns, n_paired: int, is_ordered: bool, how: Resampling) -> dict[str, Estimate]:
    """Every coefficient that needs only counts."""
    if not n_paired:
        names = ("percent", "fleiss", "gwet", "krippendorff", "krippendorff_ordinal")
        return dict.fromkeys(names, Estimate(None, reason=Missing.NO_PAIRED_VOTES))
    value = {name: float(value_b[0]) for name, value_b in _coefficients(patterns, ordinal=is_ordered).items()}
    estimates = {name: Estimate(x, reason=Missing.NO_RNG) for name, x in value.items()}
    if how.rng is not None:
        resampled = resampled_coefficients(patterns, how.n_boot, how.rng, ordinal=is_ordered)
        too_many = Estimate(value.get("krippendorff_ordinal"), reason=Missing.CLASSES_NOT_RESAMPLED)
        estimates = {
            name: with_interval(x, resampled[name], how.level) if name in resampled else too_many
            for name, x in value.items()
        }
    for name in value:
        if np.isnan(value[name]):
            estimates[name] = Estimate(None, reason=Missing.ONE_LABEL)
    if not is_ordered:
        estimates["krippendorff_ordinal"] = Estimate(None, reason=Missing.NO_ORDER)
    return estimates


def _coefficients(patterns: Patterns, *, ordinal: bool) -> dict[str, FloatArray]:
    """The coefficients over all items, summed in batches of patterns."""
    rows_at_once = 1 << 14
    n_classes = patterns.counts_pk.shape[1]
    feature_f: FloatArray | float = 0.0
    coincidence_kl = np.zeros((n_classes, n_classes))
    for start in range(0, len(patterns.items_p), rows_at_once):
        counts_pk = patterns.counts_pk[start : start + rows_at_once]
        items_p = patterns.items_p[start : start + rows_at_once]
        feature_f = feature_f + items_p @ features(counts_pk)
        if ordinal:
            coincidence_kl += coincidences(counts_pk, items_p)
    return coefficients(np.atleast_2d(feature_f), coincidence_kl[None] if ordinal else None)


def _cohen(
    votes: Votes, min_common: int, how: Resampling, *, most_pairs: float = 1e9
) -> tuple[Estimate, PairKappas | None]:
    """Cohen's kappa averaged over pairs of workers, and the pairs.

    Nothing is computed with more than `most_pairs` ordered pairs of votes on one item: about ten seconds of work.
    """
    if float(votes.votes_i.astype(float) @ votes.votes_i) > most_pairs:
        return Estimate(None, reason=Missing.TOO_MANY_VOTE_PAIRS), None
    value, pairs = pair_kappas(votes, min_common)
    if value is None:
        reason = Missing.FEW_COMMON_ITEMS if pairs.n_pairs else Missing.NO_COMMON_ITEM
        return Estimate(None, reason=reason), pairs
    if how.rng is None:
        return Estimate(value, reason=Missing.NO_RNG), pairs
    resampled_b = resampled_mean(votes, min_common, how.n_boot, how.rng)
    if resampled_b is None:
        return Estimate(value, reason=Missing.PAIRS_NOT_RESAMPLED), pairs
    # Items drawn twice make two workers look more consistent than they are, so with few common items the resamples are
    # biased.  Only their spread is used: they are centred on the value.
    centred_b = resampled_b + (value - np.nanmean(resampled_b)) if not np.isnan(resampled_b).all() else resampled_b
    return with_interval(value, np.minimum(centred_b, 1), how.level), pairs
