"""One pass over items in their order, with worker accuracies kept up to date (Yang et al. 2024)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError
from majorant.estimate.fit import TIE_TOLERANCE
from majorant.estimate.online import State
from majorant.kernels import FloatArray, shares
from majorant.votes import IntArray, Votes

VISITS_PER_CHUNK = 65_536  # visits whose votes are held as Python lists at a time


class Pass(NamedTuple):
    """What one pass leaves: each item's weighted votes when it was first seen, and the state afterwards."""

    score_ik: FloatArray
    state: State
    accuracy_j: FloatArray  # of the workers of these votes


def run_pass(
    method: str, votes: Votes, weights: ArrayLike | None, order: ArrayLike | None, state: State | None
) -> Pass:
    """Vote item by item with weights a_j = (c_j + 1) / (t_j + 2), then count c_j agreements in t_j votes.

    `order` lists the item codes in the order of their visits, by default as they are numbered.  An item that counts w
    times is visited w times in a row.  A tied item credits each of its best labels evenly.
    """
    state = extended(method, state, votes)
    row_of = {worker: row for row, worker in enumerate(state.workers)}
    row_j = np.array([row_of[worker] for worker in votes.workers], dtype=np.int64)
    right_j, given_j = state.arrays["right"][row_j].tolist(), state.arrays["given"][row_j].tolist()
    item_v, times_v = visits(len(votes.items), weights, order)
    score_ik = _visit(votes, item_v, times_v, right_j, given_j)
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    arrays["right"][row_j], arrays["given"][row_j] = right_j, given_j
    after = State(method=method, workers=state.workers, labels=state.labels, arrays=arrays)
    return Pass(score_ik, after, (arrays["right"][row_j] + 1) / (arrays["given"][row_j] + 2))


def extended(method: str, state: State | None, votes: Votes) -> State:
    """The state with the workers and labels of new votes added, new workers without history."""
    if state is None:
        zeros_j = np.zeros(len(votes.workers))
        return State(
            method=method, workers=votes.workers, labels=votes.labels, arrays={"right": zeros_j, "given": zeros_j}
        )
    if state.method != method:
        raise ConfigError(f"state: belongs to {state.method}, not to {method}.")
    workers = _joined(state.workers, votes.workers)
    n_new = len(workers) - len(state.workers)
    arrays = {name: np.concatenate([array, np.zeros(n_new)]) for name, array in state.arrays.items()}
    return State(method=method, workers=workers, labels=_joined(state.labels, votes.labels), arrays=arrays)


def visits(n_items: int, weights: ArrayLike | None, order: ArrayLike | None) -> tuple[IntArray, FloatArray]:
    """The items in the order of their visits, and how much each visit counts: whole copies once each, then the rest."""
    item_i = np.arange(n_items) if order is None else np.asarray(order)
    if not np.array_equal(np.sort(item_i), np.arange(n_items)):
        raise ConfigError(f"order must hold each item code 0..{n_items - 1} once.")
    if weights is None:
        return item_i, np.ones(n_items)
    weight_i = np.asarray(weights, dtype=float)
    if weight_i.shape != (n_items,) or not (np.isfinite(weight_i) & (weight_i >= 0)).all():
        raise ConfigError(f"weights must be {n_items} finite numbers of at least 0, one per item.")
    copies_v = np.maximum(np.ceil(weight_i), 1).astype(int)[item_i]
    item_v = np.repeat(item_i, copies_v)
    times_v = np.ones(len(item_v))
    last_v = np.cumsum(copies_v) - 1
    times_v[last_v] = weight_i[item_i] - (copies_v - 1)
    return item_v, times_v


def _visit(
    votes: Votes, item_v: IntArray, times_v: FloatArray, right_j: list[float], given_j: list[float]
) -> FloatArray:
    """Visit items one after the other, adding to right_j and given_j in place; each item's score at its first visit."""
    n_items, n_workers, n_classes = votes.shape
    accuracy_j = [(right_j[j] + 1) / (given_j[j] + 2) for j in range(n_workers)]
    score_vk = np.empty((len(item_v), n_classes))
    none = [0.0] * n_classes
    for first, ballots in _chunks(votes, item_v, times_v):
        scores = []
        for workers, labels, times in ballots:
            score_k = none.copy()
            for j, l in zip(workers, labels, strict=True):
                score_k[l] += accuracy_j[j]
            scores.append(score_k)
            least = max(score_k) - TIE_TOLERANCE
            credit = times / sum(score >= least for score in score_k)
            for j, l in zip(workers, labels, strict=True):
                if score_k[l] >= least:
                    right_j[j] += credit
                given_j[j] += times
            for j in workers:
                accuracy_j[j] = (right_j[j] + 1) / (given_j[j] + 2)
        score_vk[first : first + len(scores)] = scores
    first_i = np.zeros(n_items, dtype=np.int64)
    first_i[item_v[::-1]] = np.arange(len(item_v))[::-1]  # the last write stays: the first visit of each item
    return score_vk[first_i]


def _chunks(
    votes: Votes, item_v: NDArray[np.integer], times_v: FloatArray
) -> Iterator[tuple[int, Iterator[tuple[list[int], list[int], float]]]]:
    """Chunks of visits, each with its first and an iterator over (workers, labels, how much the visit counts)."""
    for first in range(0, len(item_v), VISITS_PER_CHUNK):
        chunk_v = item_v[first : first + VISITS_PER_CHUNK]
        length_v = votes.votes_i[chunk_v]
        end_v = np.cumsum(length_v)
        vote_n = np.arange(end_v[-1]) + np.repeat(votes.offsets_i[chunk_v] - (end_v - length_v), length_v)
        worker_n, label_n = votes.worker_n[vote_n].tolist(), votes.label_n[vote_n].tolist()
        bounds = zip((end_v - length_v).tolist(), end_v.tolist(), times_v[first:].tolist(), strict=False)
        yield first, ((worker_n[a:b], label_n[a:b], times) for a, b, times in bounds)


def _joined(known: tuple[Hashable, ...], new: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    seen = set(known)
    return (*known, *(value for value in new if value not in seen))


def class_shares(posterior_ik: FloatArray, votes: Votes, weights: ArrayLike | None) -> FloatArray:
    """The mean probability of each class over the items with votes."""
    weight_i = np.ones(len(votes.items)) if weights is None else np.asarray(weights, dtype=float)
    return shares((weight_i * (votes.votes_i > 0)) @ posterior_ik)
