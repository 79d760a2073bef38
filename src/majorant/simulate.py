"""Simulate the votes of crowds and panels, with equal or unequal workers, item difficulty and copied votes.

Every label is the quantile of a uniform number: on an item of class k, worker j gives the right label if the number is
below confusion[j, k, k].  Difficulty and copying only make the numbers of one item depend on each other; each is still
uniform, so every worker has the confusion matrix asked for, whatever the others have.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError
from majorant.theory.checks import as_confusion, as_panel, as_prior
from majorant.values import FloatArray, as_generator
from majorant.votes import Account, Votes

BLOCK_VOTES = 1 << 16  # keeps the temporary arrays of a block in the cache
Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Indices = NDArray[np.intp]
DECK_CARDS = 1 << 22  # 16 MB: the most entries in the decks of one batch of items


class Simulation(NamedTuple):
    """The votes, and a read-only array with the true label of each item in the order of `votes.items`."""

    votes: Votes
    truth: NDArray[Any]


def simulate(
    prior: ArrayLike,
    confusion: ArrayLike,
    n_items: int,
    n_votes: ArrayLike,
    *,
    rng: int | np.random.Generator = 0,
    n_workers: int | None = None,
    concentration: ArrayLike | None = None,
    dependence: float = 0.0,
    groups: Sequence[Hashable] | None = None,
    labels: Sequence[Hashable] | None = None,
    gold: float = 0.0,
) -> Simulation:
    """Draw true classes and votes; the same rng gives the same votes.

    Parameters
    ----------
    prior : array_like
        Probability of each class.
    confusion : array_like of shape (K, K) or (J, K, K)
        Probability of each label given the class, shared by all workers or one matrix per worker.
    n_items : int
        Number of items.
    n_votes : int, sequence or pair
        Votes per item: one number, one number per item, or (values, weights) to draw from.  If it equals the number of
        workers, all vote on every item (a panel); otherwise each item gets distinct workers at random (a crowd).
    rng : int or numpy Generator
        Random seed.
    n_workers : int, optional
        Size of a crowd with a shared confusion; by default one worker per 1,000 votes, and at least
        10 times the most votes on one item.
    concentration : float or sequence, optional
        Makes items differ in difficulty: an item's label probabilities follow Dirichlet(concentration * confusion[k]).
    dependence : float
        Probability d that a vote copies the draw that the worker's group shares on the item; two votes of a group
        then have correlation d**2 given the class, or d**2 + (1 - d**2) / (1 + concentration).
    groups : sequence, optional
        The group of each worker; by default, all are in one group.
    labels : sequence, optional
        Names of the classes.
    gold : float
        Share of the items that get a gold label.

    Returns
    -------
    Simulation
        `votes` and `truth`.

    Examples
    --------
    >>> votes, truth = simulate([.5, .5], [[.8, .2], [.3, .7]], n_items=1000, n_votes=3, rng=0)
    >>> votes.shape, votes.n_votes, truth.shape
    ((1000, 30, 2), 3000, (1000,))
    """
    generator = as_generator(rng)
    prior_k = as_prior(prior)
    names = _as_labels(labels, len(prior_k))
    votes_i = _votes_per_item(n_votes, int(whole_numbers("n_items", n_items, 1)), generator)
    confusion_jkl, n_crowd = _as_crowd(confusion, len(prior_k), votes_i, n_workers)
    model = _Crowd(
        n_crowd,
        _right_first(confusion_jkl),
        _as_concentration(concentration, len(prior_k)),
        _as_share("dependence", dependence),
        *_as_groups(groups, n_crowd),
    )
    share = _as_share("gold", gold)
    truth_i = quantile(thresholds(prior_k), np.zeros(len(votes_i), np.intp), generator.random(len(votes_i)))
    votes = _draw_votes(model, truth_i, votes_i, names, share, generator)
    truth = truth_i if labels is None else _objects(names)[truth_i]
    truth.flags.writeable = False
    return Simulation(votes, truth)


def one_coin_workers(skill: ArrayLike, n_classes: int = 2) -> FloatArray:
    """Confusion matrices of workers who are right with probability skill[j], with wrong labels equally likely.

    >>> one_coin_workers([.9, .4], n_classes=3).round(2).tolist()[1]
    [[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.3, 0.3, 0.4]]
    """
    skill_j = numbers("skill", skill)
    if skill_j.ndim != 1 or not len(skill_j) or not ((skill_j >= 0) & (skill_j <= 1)).all():
        raise ConfigError(f"skill must list one probability per worker, each in 0..1, not {skill!r}.")
    n_classes = int(whole_numbers("n_classes", n_classes, 2))
    wrong_j11 = ((1 - skill_j) / (n_classes - 1))[:, None, None]
    return np.where(np.eye(n_classes, dtype=bool), skill_j[:, None, None], wrong_j11)


@dataclass(frozen=True, slots=True)
class _Crowd:
    """The validated arguments of `simulate`; thresholds are cumulative probabilities by worker and class."""

    n_workers: int
    threshold_jkp: FloatArray  # one worker if all share a confusion matrix
    concentration_k: FloatArray | None
    dependence: float
    group_j: Indices
    n_groups: int


def distinct_workers(
    rng: np.random.Generator, local_n: Indices, start_i: Indices, votes_i: Counts, n_workers: int
) -> Codes:
    """Distinct workers for each item in random order; if every item gets all workers, they stay in order."""
    if (votes_i == n_workers).all():
        return np.tile(np.arange(n_workers, dtype=np.int32), len(votes_i))
    worker_n = rng.integers(0, n_workers, len(local_n), dtype=np.int32)
    many_i = votes_i > 256  # beyond that, one call per item is faster than calls for all items together
    # Two of v draws coincide with probability about v**2 / (2 n_workers): redraw if that is rare.
    sparse_i = (votes_i**2 <= n_workers) & ~many_i
    dense_i = ~sparse_i & ~many_i
    _redraw_repeats(rng, worker_n, local_n, sparse_i, n_workers)
    _deal(rng, worker_n, start_i[dense_i], votes_i[dense_i], n_workers)
    for start, votes in zip(start_i[many_i], votes_i[many_i], strict=True):
        worker_n[start : start + votes] = rng.choice(n_workers, votes, replace=False)
    return worker_n


def _redraw_repeats(
    rng: np.random.Generator, worker_n: Codes, local_n: Indices, open_i: NDArray[np.bool_], n_workers: int
) -> None:
    """Redraw workers that occur twice on an item, until none do.

    All workers are treated alike, so every ordered choice of distinct workers is equally likely.
    """
    while open_i.any():
        open_n = np.flatnonzero(open_i[local_n])
        key_n = local_n[open_n] * n_workers + worker_n[open_n]
        repeat_n = np.zeros(len(open_n), dtype=bool)
        for lag in range(1, int(np.bincount(local_n[open_n]).max(initial=0))):
            repeat_n[lag:] |= key_n[lag:] == key_n[:-lag]
        again_n = open_n[repeat_n]
        worker_n[again_n] = rng.integers(0, n_workers, len(again_n), dtype=np.int32)
        open_i = np.zeros(len(open_i), dtype=bool)
        open_i[local_n[again_n]] = True


def _deal(rng: np.random.Generator, worker_n: Codes, start_i: Indices, votes_i: Counts, n_workers: int) -> None:
    """Deal each item its workers from its own deck of all workers (Fisher-Yates), one card per item at a time."""
    order_i = np.argsort(-votes_i, kind="stable")
    n_decks = max(1, DECK_CARDS // n_workers)
    for low in range(0, len(order_i), n_decks):
        batch_i = order_i[low : low + n_decks]
        start_b, fewer_b = start_i[batch_i], -votes_i[batch_i]
        deck = np.tile(np.arange(n_workers, dtype=np.int32), len(batch_i))
        top_b = np.arange(len(batch_i)) * n_workers
        for dealt in range(-fewer_b[0]):
            n_open = int(np.searchsorted(fewer_b, -dealt))
            card_b = top_b[:n_open] + rng.integers(dealt, n_workers, n_open)
            worker_n[start_b[:n_open] + dealt] = deck[card_b]
            deck[card_b] = deck[top_b[:n_open] + dealt]


def urn(rng: np.random.Generator, start_n: Indices, concentration_n: FloatArray) -> Indices:
    """The vote whose number each vote copies, such that the numbers of an item follow a Dirichlet process.

    This is the Blackwell-MacQueen urn: after h votes on an item, the next repeats one of them, each equally likely,
    with probability h / (c + h).  For any partition of 0..1 into labels, their probabilities on the item are Dirichlet.
    """
    own_n = np.arange(len(start_n))
    earlier_n = own_n - start_n
    draw_n = rng.random(len(start_n)) * (concentration_n + earlier_n)
    source_n = np.where(draw_n < earlier_n, start_n + draw_n.astype(np.intp), own_n)
    while not np.array_equal(further_n := source_n[source_n], source_n):
        source_n = further_n
    return source_n


def thresholds(probability: FloatArray) -> FloatArray:
    """Cumulative sums along the last axis, padded with infinity to 2**m - 1 entries, for `quantile` to search."""
    cumulated = np.cumsum(probability, axis=-1)
    # Rounding may make rows end just off 1; dividing makes the last possible label end at exactly 1.
    cumulated /= cumulated[..., -1:].copy()
    width = 1 << (probability.shape[-1] - 1).bit_length()
    padding = [(0, 0)] * (probability.ndim - 1) + [(0, width - probability.shape[-1])]
    return np.ascontiguousarray(np.pad(cumulated, padding, constant_values=np.inf)[..., :-1])


def quantile(threshold: FloatArray, row_n: Indices, uniform_n: FloatArray) -> Codes:
    """How many thresholds in its row each number reaches, by binary search for all votes at once."""
    flat, width = threshold.reshape(-1), threshold.shape[-1]
    base_n = row_n * width
    reached_n = np.zeros(len(row_n), dtype=np.intp)
    step = (width + 1) // 2
    while step:
        reached_n += step * (flat[base_n + reached_n + (step - 1)] <= uniform_n)
        step //= 2
    return reached_n.astype(np.int32)


def _votes_per_item(n_votes: ArrayLike, n_items: int, rng: np.random.Generator) -> Counts:
    """The number of votes on each item, from one number, one number per item, or (values, weights)."""
    given = numbers("n_votes", n_votes)
    if given.ndim == 0:
        return np.repeat(whole_numbers("n_votes", given, 1), n_items)
    if given.shape == (n_items,):
        return whole_numbers("n_votes", given, 0)
    if given.ndim != 2 or len(given) != 2 or not given.size:
        raise ConfigError(f"n_votes must be a number, {n_items} numbers (one per item), or a pair (values, weights).")
    values, weight = whole_numbers("n_votes", given[0], 0), given[1]
    if not (np.isfinite(weight) & (weight >= 0)).all() or not weight.sum():
        raise ConfigError(f"n_votes: weights must be numbers of at least 0 and not all 0, not {weight.tolist()}.")
    return rng.choice(values, n_items, p=weight / weight.sum())


def _as_crowd(confusion: ArrayLike, n_classes: int, votes_i: Counts, n_workers: int | None) -> tuple[FloatArray, int]:
    """One confusion matrix if shared, otherwise one per worker; and the number of workers."""
    most = int(votes_i.max())
    if numbers("confusion", confusion).ndim == 3:
        confusion_jkl = as_panel(confusion, n_classes)
        n_crowd = len(confusion_jkl)
        if n_workers not in (None, n_crowd):
            raise ConfigError(f"n_workers is {n_workers}, but confusion has {n_crowd} workers; leave n_workers out.")
    else:
        confusion_jkl = as_confusion(confusion, n_classes)[None]
        n_crowd = max(1, 10 * most, -(-int(votes_i.sum()) // 1_000))
        if n_workers is not None:
            n_crowd = int(whole_numbers("n_workers", n_workers, 1))
    if most > n_crowd:
        raise ConfigError(f"n_votes asks for {most} distinct workers on an item, but there are only {n_crowd} workers.")
    return confusion_jkl, n_crowd


def _right_first(confusion_jkl: FloatArray) -> FloatArray:
    """Thresholds in the cyclic order k, k + 1, ..., so that the right label always comes first."""
    n_classes = confusion_jkl.shape[-1]
    order_kp = (np.arange(n_classes)[:, None] + np.arange(n_classes)) % n_classes
    return thresholds(np.take_along_axis(confusion_jkl, order_kp[None], axis=2))


def _as_concentration(concentration: ArrayLike | None, n_classes: int) -> FloatArray | None:
    if concentration is None:
        return None
    concentration_k = numbers("concentration", concentration)
    if concentration_k.shape not in ((), (n_classes,)):
        raise ConfigError(f"concentration must be one number or one for each of {n_classes} classes.")
    if not (np.isfinite(concentration_k) & (concentration_k > 0)).all():
        raise ConfigError(
            f"concentration must be positive and finite, not {concentration!r}; None means equal difficulty."
        )
    return np.broadcast_to(concentration_k, (n_classes,))


def _as_share(name: str, value: float) -> float:
    share = numbers(name, value)
    if share.ndim or not 0 <= share <= 1:
        raise ConfigError(f"{name} must be a number in 0..1, not {value!r}.")
    return float(share)


def _as_groups(groups: Sequence[Hashable] | None, n_workers: int) -> tuple[Indices, int]:
    """The group of each worker as a code, and the number of groups."""
    if groups is None:
        return np.zeros(n_workers, dtype=np.intp), 1
    if len(groups) != n_workers:
        raise ConfigError(f"groups must name the group of each of {n_workers} workers, not of {len(groups)}.")
    code_of = {name: code for code, name in enumerate(dict.fromkeys(groups))}
    return np.array([code_of[name] for name in groups], dtype=np.intp), len(code_of)


def _as_labels(labels: Sequence[Hashable] | None, n_classes: int) -> tuple[Hashable, ...]:
    names: tuple[Hashable, ...] = tuple(range(n_classes)) if labels is None else tuple(labels)
    if len(set(names)) != len(names) or len(names) != n_classes:
        raise ConfigError(f"labels must be {n_classes} different names, one for each class of prior, not {labels!r}.")
    return names


def _draw_votes(
    model: _Crowd,
    truth_i: Codes,
    votes_i: Counts,
    labels: tuple[Hashable, ...],
    gold: float,
    rng: np.random.Generator,
) -> Votes:
    offsets_i = np.concatenate([[0], np.cumsum(votes_i)])
    item_n = np.repeat(np.arange(len(votes_i), dtype=np.int32), votes_i)
    worker_n, label_n = np.empty_like(item_n), np.empty_like(item_n)
    for low, high in _blocks(offsets_i, model.n_groups):
        span = slice(offsets_i[low], offsets_i[high])
        local_n = item_n[span].astype(np.intp) - low
        start_i = offsets_i[low:high] - offsets_i[low]
        worker_n[span] = distinct_workers(rng, local_n, start_i, votes_i[low:high], model.n_workers)
        truth_n = truth_i[low:high].astype(np.intp)[local_n]
        uniform_n = _draw_uniforms(rng, model, local_n, start_i, worker_n[span], truth_n)
        label_n[span] = _labels_given(model.threshold_jkp, worker_n[span], truth_n, uniform_n)
    return Votes(
        item_n=item_n,
        worker_n=worker_n,
        label_n=label_n,
        offsets_i=offsets_i,
        items=tuple(range(len(votes_i))),
        workers=tuple(f"w{j}" for j in range(model.n_workers)),
        labels=labels,
        account=Account(source="simulation", rows=len(item_n), votes=len(item_n)),
        gold_i=_draw_gold(gold, truth_i, rng) if gold else None,
    )


def _blocks(offsets_i: Counts, n_groups: int) -> Iterator[tuple[int, int]]:
    """Ranges of items with about BLOCK_VOTES votes, and few enough items for a table by item and group."""
    most_items, low, n_items = max(1, DECK_CARDS // n_groups), 0, len(offsets_i) - 1
    while low < n_items:
        high = int(np.searchsorted(offsets_i, offsets_i[low] + BLOCK_VOTES, side="right")) - 1
        high = min(max(high, low + 1), low + most_items, n_items)
        yield low, high
        low = high


def _draw_uniforms(
    rng: np.random.Generator, model: _Crowd, local_n: Indices, start_i: Indices, worker_n: Codes, truth_n: Indices
) -> FloatArray:
    """One uniform number per vote; the numbers of an item depend on each other as the model says."""
    uniform_n = rng.random(len(local_n))
    if model.concentration_k is not None:
        uniform_n = uniform_n[urn(rng, start_i[local_n], model.concentration_k[truth_n])]
    if model.dependence > 0:
        copies_n = np.flatnonzero(rng.random(len(local_n)) < model.dependence)
        key_n = local_n[copies_n] * model.n_groups + model.group_j[worker_n[copies_n]]
        model_vote = np.zeros(len(start_i) * model.n_groups, dtype=np.intp)
        model_vote[key_n] = copies_n  # any one of the votes that share a key
        uniform_n[copies_n] = uniform_n[model_vote[key_n]]
    return uniform_n


def _labels_given(threshold_jkp: FloatArray, worker_n: Codes, truth_n: Indices, uniform_n: FloatArray) -> Codes:
    n_crowd, n_classes, _ = threshold_jkp.shape
    row_n = truth_n if n_crowd == 1 else worker_n * np.intp(n_classes) + truth_n
    label_n = quantile(threshold_jkp, row_n, uniform_n) + truth_n
    return np.where(label_n >= n_classes, label_n - n_classes, label_n).astype(np.int32)


def _draw_gold(share: float, truth_i: Codes, rng: np.random.Generator) -> Codes:
    """Choose the items with gold labels; drawn after the votes, so that those do not depend on `share`."""
    gold_i = np.full(len(truth_i), -1, dtype=np.int32)
    known = rng.choice(len(truth_i), round(share * len(truth_i)), replace=False, shuffle=False)
    gold_i[known] = truth_i[known]
    return gold_i


def _objects(names: tuple[Hashable, ...]) -> NDArray[Any]:
    """An object array of the names, so that NumPy does not convert them to its own types."""
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def numbers(name: str, values: ArrayLike) -> FloatArray:
    """A number or a rectangular array of numbers; `name` is used in error messages."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError(f"{name} must be a number or a rectangular array of numbers, not {values!r}.") from None


def whole_numbers(name: str, values: ArrayLike, low: int) -> NDArray[np.int64]:
    """A whole number, or an array of them, of at least `low`."""
    number = numbers(name, values)
    bad = number[~(np.isfinite(number) & (number == np.floor(number)) & (number >= low))]
    if len(bad):
        raise ConfigError(f"{name} must be a whole number of at least {low}, not {bad[0]:g}.")
    return number.astype(np.int64)
