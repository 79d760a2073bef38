"""The draws underneath `simulate`, for a block of items at a time; only items with very many votes go one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from majorant.theory.checks import FloatArray

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Indices = NDArray[np.intp]

DECK_CARDS = 1 << 22  # dealt from at once: 16 MB
MANY_VOTES = 256  # on one item: from here on a call per item costs less than its share of the others'


def distinct_workers(
    rng: np.random.Generator, local_n: Indices, start_i: Indices, votes_i: Counts, n_workers: int
) -> Codes:
    """Distinct workers for each item, in random order; all of them in their own order if every item wants all."""
    if (votes_i == n_workers).all():
        return np.tile(np.arange(n_workers, dtype=np.int32), len(votes_i))
    worker_n = rng.integers(0, n_workers, len(local_n), dtype=np.int32)
    many_i = votes_i > MANY_VOTES
    # With v votes on an item some two are equal with probability about v**2 / (2 n_workers): redraw while that is rare.
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
    """Draw again whoever came earlier on the same item, until nobody did.

    No worker is treated differently from another, hence every ordered choice of distinct workers is equally likely.
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
    """Deal each item its workers from a deck of all (Fisher-Yates), one card to every item at a time."""
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
    """Which vote each vote takes its number from, so that the numbers of an item come from one Dirichlet process.

    The urn of Blackwell and MacQueen: after h votes on an item the next repeats one of them, each equally likely,
    with probability h / (c + h).  Any partition of 0..1 into labels then has Dirichlet probabilities on the item.
    """
    own_n = np.arange(len(start_n))
    earlier_n = own_n - start_n
    draw_n = rng.random(len(start_n)) * (concentration_n + earlier_n)
    source_n = np.where(draw_n < earlier_n, start_n + draw_n.astype(np.intp), own_n)
    while not np.array_equal(further_n := source_n[source_n], source_n):
        source_n = further_n
    return source_n


def thresholds(probability: FloatArray) -> FloatArray:
    """Cumulated last axis, padded to 2**m - 1 entries with infinity: what `quantile` searches."""
    cumulated = np.cumsum(probability, axis=-1)
    # Rows may miss 1 by rounding; dividing makes the last possible label end at 1 sharp.
    cumulated /= cumulated[..., -1:].copy()
    width = 1 << (probability.shape[-1] - 1).bit_length()
    padding = [(0, 0)] * (probability.ndim - 1) + [(0, width - probability.shape[-1])]
    return np.ascontiguousarray(np.pad(cumulated, padding, constant_values=np.inf)[..., :-1])


def quantile(threshold: FloatArray, row_n: Indices, uniform_n: FloatArray) -> Codes:
    """How many thresholds of its row each number has reached: a binary search of all votes at once."""
    flat, width = threshold.reshape(-1), threshold.shape[-1]
    base_n = row_n * width
    reached_n = np.zeros(len(row_n), dtype=np.intp)
    step = (width + 1) // 2
    while step:
        reached_n += step * (flat[base_n + reached_n + (step - 1)] <= uniform_n)
        step //= 2
    return reached_n.astype(np.int32)
