"""What does majority vote on Votes cost beside one np.bincount over item * K + label?

python benchmarks/majority.py     a minute; posterior, prior, labels and ties included
"""

from __future__ import annotations

import numpy as np

import board
from clock import by_turns
from majorant.methods.majority import Majority
from tally import simulated


def main() -> None:
    """Print a row per size and number of classes."""
    head = ("votes", "K", "fit, ns", "+ codes, ns", "bincount, ns", "ratio", "+ codes")
    print("".join(f"{title:>14}" for title in head), "  (goal: 3)")
    for n_votes in (1_000_000, 10_000_000):
        for n_classes in (2, 10):
            votes = simulated(n_votes, n_classes, n_votes // 1000)
            fit, whole, yardstick = by_turns(
                lambda v=votes: Majority().fit(v),
                lambda v=votes: Majority().fit(v).codes(),
                lambda v=votes, k=n_classes: np.bincount(
                    v.item_n * np.int64(k) + v.label_n, minlength=len(v.items) * k
                ),
            )
            ns = [1e9 * t / n_votes for t in (fit, whole, yardstick)]
            row = (f"{n_votes:,}", n_classes, *(f"{t:.2f}" for t in (*ns, fit / yardstick, whole / yardstick)))
            print("".join(f"{cell:>14}" for cell in row), flush=True)
            if n_votes == 1_000_000:
                told = (f"{ns[0]:.1f} ns a vote", f"one np.bincount {ns[2]:.1f} ns")
                board.at_most(f"majority vote on Votes, 1e6 votes, K = {n_classes}", *told, fit / yardstick, 3)


if __name__ == "__main__":
    main()
