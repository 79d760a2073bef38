"""What does one step of EM cost, beside one read pass over the codes of the votes?

python benchmarks/em_step.py     a minute; the shortest step, and the shortest of as many sums of the int32 codes
"""

from __future__ import annotations

import time

import numpy as np

import board
from clock import best_seconds
from majorant.blocks import vote_columns
from majorant.estimate.dawid_skene import DawidSkene
from majorant.threads import thread_count
from majorant.votes import Votes
from methods import crowd

STEPS = 40


def step_seconds(votes: Votes) -> float:
    """The shortest step of a fit, from one report of progress to the next: E step, M step, objective and stop."""
    seen: list[float] = []
    model = DawidSkene(max_iter=STEPS, tol=0.0, accelerate=False)
    model.fit(votes, progress=lambda _, __: seen.append(time.perf_counter()))
    return float(np.diff(seen).min())


def main() -> None:
    """Print a row per size and number of classes."""
    print(f"{'votes':>12}{'K':>4}{'threads':>9}{'step, ns a vote':>17}{'read pass, ns':>15}{'ratio':>8}")
    for n_votes, n_classes in ((1_000_000, 2), (10_000_000, 2), (1_000_000, 10)):
        votes = crowd(n_votes, n_classes)
        read = best_seconds(vote_columns(votes).sum, STEPS)
        step = step_seconds(votes)
        nanoseconds = [1e9 * t / n_votes for t in (step, read)]
        row = f"{n_votes:12,}{n_classes:4}{thread_count():9}{nanoseconds[0]:17.2f}{nanoseconds[1]:15.2f}"
        print(f"{row}{step / read:8.1f}", flush=True)
        if (n_votes, n_classes) == (10_000_000, 2):
            told = (f"{nanoseconds[0]:.1f} ns a vote", f"one read pass {nanoseconds[1]:.2f} ns")
            board.at_most(f"EM step, K = 2, 1e7 votes, {thread_count()} threads", *told, step / read, 5)


if __name__ == "__main__":
    main()
