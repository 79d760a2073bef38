"""What does an update cost beside a full fit, and how near does a stream come to it?

python benchmarks/online.py     two minutes; MAJORANT_DATA names the folder of public data sets, for the second table
"""

from __future__ import annotations

import time
from itertools import pairwise, product

import numpy as np

from clock import best_seconds
from majorant.datasets import REGISTRY, load, local_path
from majorant.items import take_items
from majorant.methods import ESTIMATORS, update
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.state_file import parse_state, state_bytes
from majorant.votes import Votes

NEW_ITEMS, BATCHES = 200, 10


def simulated(n_votes: int, n_classes: int, n_workers: int) -> Votes:
    """Five votes per item, 70 % of them copies of the item's class, the others drawn evenly."""
    rng = np.random.default_rng(0)
    n_items = n_votes // 5
    truth_n = np.repeat(rng.integers(n_classes, size=n_items, dtype=np.int32), 5)
    label_n = np.where(rng.random(n_votes) < 0.7, truth_n, rng.integers(n_classes, size=n_votes, dtype=np.int32))
    first_i = rng.integers(n_workers, size=n_items, dtype=np.int32)
    worker_n = (np.repeat(first_i, 5) + np.tile(np.arange(5), n_items) * 7) % n_workers
    item_n = np.repeat(np.arange(n_items, dtype=np.int32), 5)
    names = {"items": range(n_items), "workers": range(n_workers), "labels": range(n_classes)}
    return Votes.from_codes(item_n, worker_n, label_n, **names)


def cost() -> None:
    """A thousand new votes after more and more votes before."""
    print(f"{'votes before':>14}{'K':>4}{'update, ms':>14}{'full fit, ms':>14}{'ratio':>10}{'save':>10}{'load':>10}")
    for n_votes, n_classes in product((10_000, 100_000, 1_000_000), (2, 10)):
        votes = simulated(n_votes + 20 * NEW_ITEMS, n_classes, 100 + n_votes // 1000)
        n_items = len(votes.items)
        edges = range(n_items - 4 * NEW_ITEMS, n_items + 1, NEW_ITEMS)
        state = DawidSkene().fit(take_items(votes, np.arange(edges[0]))).state()
        updates = []
        for start, stop in pairwise(edges):  # each goes on from the one before, as a stream does
            new, before = take_items(votes, np.arange(start, stop)), state
            started = time.perf_counter()
            state = update(before, new).state()
            updates.append(time.perf_counter() - started)
        content = state_bytes(state)
        small, full, save, read = (
            1000 * t
            for t in (
                min(updates[1:]),
                best_seconds(lambda v=votes: DawidSkene().fit(v), 3),
                best_seconds(lambda s=state: state_bytes(s), 1),
                best_seconds(lambda c=content: parse_state(c, "here"), 1),
            )
        )
        print(
            f"{n_votes:14,}{n_classes:4}{small:14.1f}{full:14.1f}{full / small:10.1f}{save:10.0f}{read:10.0f}",
            flush=True,
        )


def compact(votes: Votes, chosen_n: np.ndarray) -> Votes:
    """Some of the votes, with the names that occur in them."""
    codes = [code_n[chosen_n] for code_n in (votes.item_n, votes.worker_n, votes.label_n)]
    known = [np.unique(code_n) for code_n in codes]
    names = [
        [all_names[c] for c in k]
        for all_names, k in zip((votes.items, votes.workers, votes.labels), known, strict=True)
    ]
    new = [np.searchsorted(k, code_n) for k, code_n in zip(known, codes, strict=True)]
    return Votes.from_codes(*new, items=names[0], workers=names[1], labels=names[2])


def stream(method: str, votes: Votes, batch_n: np.ndarray) -> float:
    """The share of items that had the label of the full fit when they were last seen."""
    whole = dict(zip(votes.items, ESTIMATORS[method]().fit(votes).labels(ties="first"), strict=True))
    seen, fit = {}, None
    for number in range(BATCHES):
        batch = compact(votes, np.flatnonzero(batch_n == number))
        fit = ESTIMATORS[method]().fit(batch) if fit is None else update(fit.state(), batch)
        seen.update(zip(batch.items, fit.labels(ties="first"), strict=True))
    return float(np.mean([seen[i] == whole[i] for i in seen]))


def distance() -> None:
    """Public data sets in ten batches: by items, and vote by vote in random order."""
    head = "".join(f"{title:>10}" for title in ("by items", "by votes"))
    print(f"\n{'as the full fit labels':24}{'K':>4}  {'method':14}{head}")
    for name, one in REGISTRY.items():
        if any(local_path(file) is None for file in one.files):
            continue
        votes = load(name)
        if votes.n_votes > 50_000:
            continue
        rng = np.random.default_rng(0)
        by_item = (rng.permutation(len(votes.items)) * BATCHES // len(votes.items))[votes.item_n]
        by_vote = rng.integers(BATCHES, size=votes.n_votes)
        for method in ("dawid-skene", "one-coin", "ibcc"):
            row = [stream(method, votes, by_item), stream(method, votes, by_vote)]
            print(
                f"{name:24}{len(votes.labels):4}  {method:14}" + "".join(f"{share:10.1%}" for share in row), flush=True
            )


if __name__ == "__main__":
    cost()
    distance()
