"""Put items in random order and build designs from them.

Items are ordered by hashes that depend only on their names and the seed, so the same design is drawn in whatever order
the rows are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from majorant.ask.design import Design
from majorant.ask.question import Codes, Question, Wanted
from majorant.items import draw, mix_bits, name_hashes, names_at, sum_parts, take_items
from majorant.votes import Votes

MOST = 20_000  # maximum number of items in the order of a design
WHOLE_ORDER = 1_000_000  # with more items than this, only the first items of the order are drawn


def random_order(votes: Votes, item_d: Codes, seed: int) -> Codes:
    """Positions of these items (ascending codes) in random order, at most MOST of them."""
    if not len(item_d):
        return np.empty(0, dtype=np.int64)
    n_items = votes.shape[0]
    share = 1.0 if n_items <= WHOLE_ORDER else min(1.0, 2 * MOST / len(item_d))
    drawn_p = draw(votes, share, seed)
    at_p = np.minimum(np.searchsorted(item_d, drawn_p), len(item_d) - 1)
    return np.asarray(at_p[item_d[at_p] == drawn_p][:MOST])


def item_codes(votes: Votes, names: Iterable[object]) -> Codes:
    """Codes of the items with these names."""
    place = {str(name): item for item, name in enumerate(votes.items)}
    return np.array([place[str(name)] for name in names], dtype=np.int64)


def make_design(votes: Votes, question: Question, item_d: Codes, wanted: Wanted, *, is_sample: bool = False) -> Design:
    """Build the design that asks a question about these items, in the given order.

    `is_sample` says that the items are drawn from all items with votes, so that their labels also measure every rule
    and worker.
    """
    return Design(
        question=question,
        order=names_at(votes.items, item_d),
        labels=votes.labels,
        votes=votes_digest(votes),
        seed=wanted.seed,
        experts=wanted.experts,
        sampled=len(item_d) if is_sample else 0,
    )


def votes_digest(votes: Votes) -> str:
    """Digest of the votes, which does not depend on the order of the rows.

    It covers the worker and label of every vote, grouped by item, and the names of about 256 items.  A hash of the name
    selects these items, so the other names need not be collected.
    """
    digest_seed = 0x766F_7465
    worker_j = name_hashes(votes.workers, digest_seed)
    label_k = name_hashes(votes.labels, digest_seed + 1)
    total = sum_parts(partial(_hash_of_part, worker_j, label_k), votes)
    sampled = draw(votes, min(1.0, 256 / max(votes.shape[0], 1)), digest_seed)  # about 256 items
    named = np.zeros(1, np.uint64)
    if len(sampled):
        few = take_items(votes, np.sort(sampled))
        item_p = _item_hashes(few, worker_j, label_k) + name_hashes(few.items, digest_seed + 2)
        named = mix_bits(item_p).sum(keepdims=True)
    sizes = (votes.n_votes, votes.shape[0])
    return "".join(f"{int(number):016x}" for number in (*total, *named, *sizes))


def _hash_of_part(worker_j: NDArray[np.uint64], label_k: NDArray[np.uint64], votes: Votes) -> NDArray[np.uint64]:
    return np.asarray(mix_bits(_item_hashes(votes, worker_j, label_k)).sum(keepdims=True, dtype=np.uint64))


def _item_hashes(votes: Votes, worker_j: NDArray[np.uint64], label_k: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash of the votes of each item, regardless of their order."""
    vote_n = mix_bits(worker_j[votes.worker_n] + mix_bits(label_k[votes.label_n]))
    running_n = np.concatenate([np.zeros(1, np.uint64), np.cumsum(vote_n, dtype=np.uint64)])
    return np.asarray(running_n[votes.offsets_i[1:]] - running_n[votes.offsets_i[:-1]])
