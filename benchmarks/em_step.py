"""What does one step of EM cost, beside one read pass over the codes of the votes?

python benchmarks/em_step.py     a minute; the difference of fits of 5 and 25 steps, so that the start does not count
"""

from __future__ import annotations

from functools import partial

import board
from clock import by_turns
from majorant.blocks import vote_columns
from majorant.estimate.dawid_skene import DawidSkene
from majorant.threads import thread_count
from methods import crowd

FEW, MANY = 5, 25


def main() -> None:
    """Print a row per size and number of classes."""
    print(f"{'votes':>12}{'K':>4}{'threads':>9}{'step, ns a vote':>17}{'read pass, ns':>15}{'ratio':>8}")
    for n_votes, n_classes in ((1_000_000, 2), (10_000_000, 2), (1_000_000, 10)):
        votes = crowd(n_votes, n_classes)
        column_n = vote_columns(votes)
        models = [DawidSkene(max_iter=steps, tol=0.0, accelerate=False) for steps in (FEW, MANY)]
        fits = [partial(model.fit, votes) for model in models]
        few, many, read = by_turns(*fits, column_n.sum, repeats=3)
        step = (many - few) / (MANY - FEW)
        nanoseconds = [1e9 * t / n_votes for t in (step, read)]
        row = f"{n_votes:12,}{n_classes:4}{thread_count():9}{nanoseconds[0]:17.2f}{nanoseconds[1]:15.2f}"
        print(f"{row}{step / read:8.1f}", flush=True)
        if (n_votes, n_classes) == (10_000_000, 2):
            told = (f"{nanoseconds[0]:.1f} ns a vote", f"one read pass {nanoseconds[1]:.2f} ns")
            board.at_most(f"EM step, K = 2, 1e7 votes, {thread_count()} threads", *told, step / read, 5)


if __name__ == "__main__":
    main()
