"""From votes to every coefficient with its interval."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Unpack

import numpy as np

from majorant.defaults import LEVEL
from majorant.errors import ConfigError
from majorant.read import Reading, as_votes
from majorant.results.agreement.coefficients import (
    COUNT_COEFFICIENTS,
    FEWEST_UNITS,
    Agreement,
    FeatureSums,
    PairKappas,
    coefficients,
    coincidences,
    features,
    pair_kappas,
    resampled_coefficients,
    resampled_mean,
    too_many_pairs,
    unit_limit,
    units,
    with_interval,
)
from majorant.tally import Patterns, counts, distinct_counts
from majorant.values import Estimate, FloatArray, as_generator, as_level
from majorant.votes import IntArray, Votes
from majorant.wording import (
    NO_COMMON_ITEM,
    NO_ORDER,
    NO_PAIRED_VOTES,
    NO_RNG,
    TOO_MANY_CLASSES,
    no_chance_agreement,
    no_common_items,
    of_sampled_items,
    resampled_words,
)

N_BOOT = 1000


@dataclass(frozen=True, slots=True)
class Resampling:
    """How to draw: nothing at all where `rng` is None."""

    rng: np.random.Generator | None
    n_boot: int
    level: float


def agreement(  # type: ignore[misc]
    votes: Any,
    *,
    rng: int | np.random.Generator | None = 0,
    level: float = LEVEL,
    n_boot: int = N_BOOT,
    order: Sequence[Hashable] | None = None,
    min_common: int = 10,
    **reading: Unpack[Reading],
) -> Agreement:
    """How well workers agree: percent, Cohen, Fleiss, Krippendorff (nominal, ordinal) and Gwet's AC1.

    Parameters
    ----------
    votes : Any
        Whatever `mj.read` takes, with the same keyword arguments, such as `item=`.
    rng : int, numpy Generator or None
        Random seed; None computes no intervals.
    level : float
        Confidence level of the intervals.
    n_boot : int
        Number of bootstrap resamples.
    order : sequence, optional
        The labels from lowest to highest, for the ordinal alpha of labels that are not numbers.
    min_common : int
        Cohen's kappa is averaged over pairs of workers with so many items in common: with fewer it is biased downwards.

    Returns
    -------
    Agreement
        The coefficients with percentile intervals over resamples of the items; `resampling` and `reason` say what was
        done where there are very many votes.

    Examples
    --------
    >>> votes = Votes.from_codes([0, 0, 1, 1, 2, 2], [0, 1] * 3, [0, 0, 1, 1, 0, 1],
    ...                          items="abc", workers="wx", labels=("no", "yes"))
    >>> found = agreement(votes)
    >>> round(found.percent.value, 3), round(found.krippendorff.value, 3)
    (0.667, 0.444)
    >>> found.krippendorff_ordinal.reason
    'labels are not numbers: give order, from lowest to highest'
    """
    how = resampling(rng, level=level, n_boot=n_boot)
    votes = as_votes(votes, **reading)
    return agreement_from(distinct_counts(counts(votes)), votes, how, order=order, min_common=min_common)


def agreement_from(
    patterns: Patterns,
    sample: Votes,
    how: Resampling,
    *,
    order: Sequence[Hashable] | None = None,
    min_common: int = 10,
) -> Agreement:
    """The same from the counts of all items, wherever they are; Cohen's kappa from votes in memory, perhaps fewer."""
    class_k, no_order = _class_order(sample.labels, sample.labels if order is None and sample.ordered else order)
    n_items = int(patterns.items_p.sum())
    patterns, used_k = _votes_only(patterns, class_k)
    by_counts, drawn = _from_counts(patterns, [sample.labels[k] for k in used_k], no_order, how)
    cohen, pairs, drawn_pairs = _cohen(sample, min_common, how)
    if len(sample.items) < n_items:
        drawn_pairs = of_sampled_items(drawn_pairs, len(sample.items), n_items)
    return Agreement(
        **by_counts,
        cohen=cohen,
        pairs=pairs,
        n_items=int(patterns.items_p.sum()),
        n_paired=_n_paired(patterns),
        n_classes=len(used_k),
        level=how.level,
        resampling="; ".join(part for part in (drawn, drawn_pairs) if part) or NO_RNG,
    )


def resampling(rng: int | np.random.Generator | None, *, level: float, n_boot: int = N_BOOT) -> Resampling:
    """How to draw, checked."""
    as_level(level)
    if n_boot < 100:
        raise ConfigError(f"n_boot must be at least 100 to give percentiles, not {n_boot!r}.")
    return Resampling(None if rng is None else as_generator(rng), n_boot, level)


def _class_order(labels: Sequence[Hashable], order: Sequence[Hashable] | None) -> tuple[list[int], str]:
    """The classes from lowest to highest, or as they are with the reason why they have no order."""
    if order is not None:
        if sorted(map(repr, order)) != sorted(map(repr, labels)):
            raise ConfigError(f"order must list each label once, {list(labels)!r}, not {list(order)!r}.")
        place = {repr(label): rank for rank, label in enumerate(order)}
        return sorted(range(len(labels)), key=lambda k: place[repr(labels[k])]), ""
    numeric = all(isinstance(label, numbers.Real | Decimal) and not isinstance(label, bool) for label in labels)
    if not numeric:
        return list(range(len(labels))), NO_ORDER
    return sorted(range(len(labels)), key=lambda k: float(labels[k])), ""  # type: ignore[arg-type]


def _votes_only(patterns: Patterns, class_k: list[int]) -> tuple[Patterns, IntArray]:
    """Without items that hold no vote and labels that nobody gave, the classes in the order of `class_k`."""
    voted_p = patterns.votes_p > 0
    counts_pk = patterns.counts_pk[voted_p][:, class_k]
    used_k = counts_pk.any(axis=0)
    return Patterns(counts_pk[:, used_k], patterns.items_p[voted_p]), np.asarray(class_k, dtype=np.int64)[used_k]


def _n_paired(patterns: Patterns) -> int:
    return int(patterns.items_p[patterns.votes_p >= 2].sum())


def _from_counts(
    patterns: Patterns, labels: list[Hashable], no_order: str, how: Resampling
) -> tuple[dict[str, Estimate], str]:
    """Every coefficient that needs only counts, and how it was resampled."""
    if not _n_paired(patterns):
        return dict.fromkeys(COUNT_COEFFICIENTS, Estimate(None, reason=NO_PAIRED_VOTES)), ""
    value = {name: float(value_b[0]) for name, value_b in coefficients(_sums(patterns, ordinal=not no_order)).items()}
    estimates = {name: Estimate(x, reason=NO_RNG) for name, x in value.items()}
    drawn = ""
    if how.rng is not None:
        resampled, drawn = _resampled(patterns, not no_order, how)
        too_many = Estimate(value.get("krippendorff_ordinal"), reason=TOO_MANY_CLASSES)
        estimates = {
            name: with_interval(x, resampled[name], how.level) if name in resampled else too_many
            for name, x in value.items()
        }
    for name in value:
        if np.isnan(value[name]):
            estimates[name] = Estimate(None, reason=no_chance_agreement(labels[0], one_class=len(labels) == 1))
    if no_order:
        estimates["krippendorff_ordinal"] = Estimate(None, reason=no_order)
    return estimates, drawn


def _sums(patterns: Patterns, *, ordinal: bool) -> FeatureSums:
    """The features and coincidences of all items, some patterns at a time."""
    rows_at_once = 1 << 14
    n_classes = patterns.counts_pk.shape[1]
    feature_f: FloatArray | float = 0.0
    coincidence_kl: FloatArray | None = np.zeros((n_classes, n_classes)) if ordinal else None
    for start in range(0, len(patterns.items_p), rows_at_once):
        counts_pk = patterns.counts_pk[start : start + rows_at_once]
        items_p = patterns.items_p[start : start + rows_at_once]
        feature_f = feature_f + items_p @ features(counts_pk)
        if coincidence_kl is not None:
            coincidence_kl += coincidences(counts_pk, items_p)
    return FeatureSums(np.atleast_2d(feature_f), None if coincidence_kl is None else coincidence_kl[None])


def _resampled(patterns: Patterns, ordinal: bool, how: Resampling) -> tuple[dict[str, FloatArray], str]:
    assert how.rng is not None
    ordinal = ordinal and unit_limit(patterns.counts_pk.shape[1], ordinal=True) >= FEWEST_UNITS
    drawn = units(patterns, how.rng, ordinal=ordinal)
    what = "patterns of counts" if len(drawn.copies_u) == len(patterns.items_p) else "bags of items"
    return resampled_coefficients(drawn, how.n_boot, how.rng), resampled_words(how.n_boot, len(drawn.copies_u), what)


def _cohen(votes: Votes, min_common: int, how: Resampling) -> tuple[Estimate, PairKappas | None, str]:
    """Cohen's kappa averaged over pairs of workers, the pairs, and how it was resampled."""
    if reason := too_many_pairs(votes):
        return Estimate(None, reason=reason), None, ""
    value, pairs = pair_kappas(votes, min_common)
    if value is None:
        reason = no_common_items(min_common, or_one_label=True) if pairs.n_pairs else NO_COMMON_ITEM
        return Estimate(None, reason=reason), pairs, ""
    if how.rng is None:
        return Estimate(value, reason=NO_RNG), pairs, ""
    resampled_b, text = resampled_mean(votes, min_common, how.n_boot, how.rng)
    if resampled_b is None:
        return Estimate(value, reason=text), pairs, ""
    # Drawing an item twice makes two workers' table look surer than it is: with few items in common all resamples lie
    # to one side of the value.  Their spread is what counts, so they are moved onto it.
    centred_b = resampled_b + (value - np.nanmean(resampled_b)) if not np.isnan(resampled_b).all() else resampled_b
    return with_interval(value, np.minimum(centred_b, 1), how.level), pairs, f"Cohen: {text}"
