"""What does counting cost beside one np.bincount over ready-made codes, and agreement beside the krippendorff package?

python benchmarks/tally.py           minutes; bytes are the peak of all arrays beside the votes, the result included
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import numpy as np

from clock import REPEATS, by_turns, peak_bytes, seconds
from majorant.results.agreement import agreement
from majorant.tally import counts, distinct_counts, pair_counts, tally, tied, votes_by_worker
from majorant.votes import Votes

VOTES_PER_ITEM = 5
DESIGNS = {"panel": 5, "crowd": None}  # workers; a crowd has a worker per 1,000 votes


def simulated(n_votes: int, n_classes: int, n_workers: int) -> Votes:
    """Five votes per item, 70 % of them copies of the item's class, the others drawn evenly."""
    rng = np.random.default_rng(0)
    n_items = n_votes // VOTES_PER_ITEM
    truth_n = np.repeat(rng.integers(n_classes, size=n_items, dtype=np.int32), VOTES_PER_ITEM)
    label_n = np.where(rng.random(n_votes) < 0.7, truth_n, rng.integers(n_classes, size=n_votes, dtype=np.int32))
    first_i = rng.integers(n_workers, size=n_items, dtype=np.int32)
    worker_n = (np.repeat(first_i, VOTES_PER_ITEM) + np.tile(np.arange(VOTES_PER_ITEM), n_items) * 7) % n_workers
    item_n = np.repeat(np.arange(n_items, dtype=np.int32), VOTES_PER_ITEM)
    names = {"items": range(n_items), "workers": range(n_workers), "labels": range(n_classes)}
    return Votes.from_codes(item_n, worker_n, label_n, **names)


def bincount(votes: Votes) -> Callable[[], object]:
    """The yardstick: the codes are made beforehand and do not count."""
    n_items, _, n_classes = votes.shape
    code_n = votes.item_n.astype(np.int64) * n_classes + votes.label_n
    return lambda: np.bincount(code_n, minlength=n_items * n_classes)


def package_alpha(votes: Votes) -> Callable[[], object]:
    """Nominal alpha alone, from counts made beforehand: the quickest way the package offers."""
    import krippendorff

    counts_ik = counts(votes)
    return lambda: krippendorff.alpha(value_counts=counts_ik, level_of_measurement="nominal")


COUNTING: dict[str, Callable[[Votes], object]] = {
    "counts": counts,
    "tied": lambda votes: tied(counts(votes)),
    "distinct_counts": lambda votes: distinct_counts(counts(votes)),
    "votes_by_worker": votes_by_worker,
    "tally, all of these": tally,
}
AGREEMENT: dict[str, Callable[[Votes], object]] = {
    "agreement, values": agreement,
    "agreement, 1000 resamples": lambda votes: agreement(votes, rng=0),
    "pair tables": lambda votes: [pairs.items_p.sum() for pairs in pair_counts(votes)],
}


def measure(name: str, design: str, n_votes: int, n_classes: int) -> dict[str, float]:
    """Best of a few runs by turns with the yardstick: nanoseconds per vote, ratio, bytes per vote at the peak."""
    votes = simulated(n_votes, n_classes, DESIGNS[design] or n_votes // 1000)
    work = (COUNTING | AGREEMENT)[name]
    first = seconds(lambda: work(votes))  # imports what it needs
    peak = peak_bytes(lambda: work(votes))
    yardstick = (bincount if name in COUNTING else package_alpha)(votes)
    repeats = REPEATS if first < 1 else 2
    ours, theirs = by_turns(lambda: work(votes), yardstick, repeats=repeats)
    return {"ns": ours / n_votes * 1e9, "ratio": ours / theirs, "bytes": peak / n_votes}


def row(name: str, design: str, n_votes: int, n_classes: int) -> None:
    """Measure in a process of its own, print one line."""
    command = [sys.executable, __file__, name, design, str(n_votes), str(n_classes)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    beside = "np.bincount" if name in COUNTING else "krippendorff"
    numbers = f"{found['ns']:9.1f} {found['ratio']:8.2f} x {beside:13}{found['bytes']:11.0f}"
    print(f"{name:26} {design:6} {n_votes:11,} {n_classes:3} {numbers}", flush=True)


def main() -> None:
    """Print one row per task, design and size."""
    print(f"{'what':26} {'design':6} {'votes':>11} {'K':>3} {'ns/vote':>9} {'ratio':>8}   {'to':13}{'bytes/vote':>11}")
    for n_votes in (1_000_000, 10_000_000):
        for n_classes in (2, 10):
            for name in COUNTING:
                row(name, "crowd", n_votes, n_classes)
    for n_classes in (2, 10):
        for name in AGREEMENT:
            for design in DESIGNS:
                row(name, design, 1_000_000, n_classes)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        print(json.dumps(measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
    else:
        main()
