"""How fast are the methods compared with crowd-kit?

python benchmarks/methods.py            1e5 and 1e6 votes, ten minutes; needs crowd-kit
python benchmarks/methods.py 1000000    one size; at 1e6 votes, peers that would take hours are skipped

Both start from votes in memory (integer codes or a frame of integers) and take the same number of steps if the peer has
a setting for it.  `same labels` is the share of items with the same label from both, without ties.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import board
from clock import best_seconds, peak_bytes, seconds
from majorant.methods import ESTIMATORS, Fit
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

VOTES_PER_ITEM = 5
LONG_RUN = 15.0  # seconds: a peer that takes longer is not run again for its memory
GOALS = {  # the peer's time over ours, by method and number of votes
    ("dawid-skene, 10 steps", 1_000_000): 50.0,
    ("glad, converged", 100_000): 300.0,
    ("mace, 50 steps", 100_000): 60.0,
}
TOO_SLOW = {"GLAD", "MACE", "KOS"}  # at 1e6 votes: minutes to hours


def crowd(n_votes: int, n_classes: int) -> Votes:
    """Five votes per item, a worker per 1,000 votes, skills from .5 to .95."""
    n_workers = max(10, n_votes // 1000)
    confusions = one_coin_workers(np.random.default_rng(0).uniform(0.5, 0.95, n_workers), n_classes)
    return simulate(
        np.full(n_classes, 1 / n_classes), confusions, n_votes // VOTES_PER_ITEM, VOTES_PER_ITEM, rng=0
    ).votes


def steps(name: str, number: int) -> Callable[[Votes], Fit]:
    """The method with exactly that many plain steps."""
    return ESTIMATORS[name](max_iter=number, tol=0.0, accelerate=False).fit  # type: ignore[call-arg]


def default(name: str) -> Callable[[Votes], Fit]:
    """The method with default settings, run to convergence."""
    return ESTIMATORS[name]().fit


ROWS: list[tuple[str, Callable[[Votes], Fit], str, dict[str, Any]]] = [
    ("majority", default("majority"), "MajorityVote", {}),
    ("kos", default("kos"), "KOS", {}),
    ("dawid-skene, 10 steps", steps("dawid-skene", 10), "DawidSkene", {"n_iter": 10, "tol": 0}),
    ("dawid-skene, converged", default("dawid-skene"), "DawidSkene", {}),
    ("one-coin, 10 steps", steps("one-coin", 10), "OneCoinDawidSkene", {"n_iter": 10, "tol": 0}),
    ("glad, converged", default("glad"), "GLAD", {}),
    ("mace, 50 steps", steps("mace", 50), "MACE", {"n_restarts": 1}),
]


def peer_fit(name: str, settings: dict[str, Any], frame: Any) -> Any:
    """crowd-kit's labels by item."""
    method = getattr(importlib.import_module("crowdkit.aggregation"), name)
    return method(**settings).fit_predict(frame)


def alike(fit: Fit, theirs: Any) -> float:
    """The share of items with the same label on both sides, where ours is not tied."""
    ours = fit.codes()
    their_code = theirs.reindex(range(len(ours))).to_numpy(dtype=float)
    return float((ours == their_code)[ours >= 0].mean())


def main(n_votes: int) -> None:
    """Print a row per method and number of classes."""
    import pandas as pd

    importlib.import_module("crowdkit.aggregation")  # so that its import is not part of a timing
    print(f"{n_votes:,} votes")
    head = f"{'method':<24}{'K':>3}{'ours, s':>10}{'steps':>7}"
    print(f"{head}{'bytes/vote':>12}{'crowd-kit, s':>14}{'bytes/vote':>12}{'ratio':>9}{'same labels':>13}")
    for n_classes in (2, 10):
        votes = crowd(n_votes, n_classes)
        frame = pd.DataFrame({"task": votes.item_n, "worker": votes.worker_n, "label": votes.label_n})
        for name, run, peer, settings in ROWS:
            if (peer == "KOS" and n_classes > 2) or (peer in TOO_SLOW and n_votes > 100_000):
                continue
            row = compare(run, votes, peer, settings, frame)
            print(f"{name:<24}{n_classes:>3}{row.text}", flush=True)
            if (name, n_votes) in GOALS:
                what = f"{name}, {n_votes:.0e} votes, K = {n_classes}"
                times = (f"{row.ours:.3f} s", f"crowd-kit {row.theirs:.1f} s")
                board.at_least(what, *times, row.theirs / row.ours, GOALS[name, n_votes])


class Row(NamedTuple):
    """The rest of a row, and its seconds."""

    text: str
    ours: float
    theirs: float


def compare(run: Callable[[Votes], Fit], votes: Votes, peer: str, settings: dict[str, Any], frame: Any) -> Row:
    """Time both implementations on the same votes."""
    fit = run(votes)
    ours, peak = best_seconds(lambda: run(votes), 3), peak_bytes(lambda: run(votes)) / votes.n_votes
    labels: list[Any] = []
    theirs = seconds(lambda: labels.append(peer_fit(peer, settings, frame)))
    their_peak = "-"
    if theirs < LONG_RUN:
        their_peak = f"{peak_bytes(lambda: peer_fit(peer, settings, frame)) / votes.n_votes:.0f}"
    beside = f"{theirs:>14.2f}{their_peak:>12}{theirs / ours:>8.0f}x{alike(fit, labels[0]):>12.2%}"
    return Row(f"{ours:>10.4f}{fit.n_iter:>7}{peak:>12.0f}{beside}", ours, theirs)


if __name__ == "__main__":
    for size in sys.argv[1:] or ("100000", "1000000"):
        main(int(size))
