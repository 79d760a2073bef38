"""What does one step of EM cost, beside one read pass over the codes of the votes?

python benchmarks/em_step.py     a minute; the shortest step, and the shortest of as many sums of the int32 codes

`work` is the time of all cores: where other processes take a core, a step on two threads takes up to all of it.
"""

from __future__ import annotations

import time

import numpy as np

import board
from clock import best_seconds
from majorant.kernels import vote_columns
from majorant.methods.dawid_skene import DawidSkene
from majorant.resources import thread_count
from majorant.votes import Votes
from methods import crowd

STEPS = 40


def step_seconds(votes: Votes) -> tuple[float, float]:
    """The shortest step of a fit, from one report of progress to the next, as time passed and as all cores worked."""
    seen: list[tuple[float, float]] = []
    model = DawidSkene(max_iter=STEPS, tol=0.0, accelerate=False)
    model.fit(votes, progress=lambda _, __: seen.append((time.perf_counter(), time.process_time())))
    passed, worked = np.diff(np.array(seen), axis=0).min(axis=0).tolist()
    return passed, worked


def main() -> None:
    """Print a row per size and number of classes."""
    head = f"{'votes':>12}{'K':>4}{'threads':>9}{'step, ns a vote':>17}{'work, ns':>10}"
    print(f"{head}{'read pass, ns':>15}{'ratio':>8}{'work / threads / read':>23}")
    for n_votes, n_classes in ((1_000_000, 2), (10_000_000, 2), (1_000_000, 10)):
        votes, threads = crowd(n_votes, n_classes), thread_count()
        read = best_seconds(vote_columns(votes).sum, STEPS)
        step, work = step_seconds(votes)
        ns = [1e9 * t / n_votes for t in (step, work, read)]
        row = f"{n_votes:12,}{n_classes:4}{threads:9}{ns[0]:17.2f}{ns[1]:10.2f}{ns[2]:15.2f}"
        print(f"{row}{step / read:8.1f}{work / threads / read:23.1f}", flush=True)
        if (n_votes, n_classes) == (10_000_000, 2):
            told = (f"{ns[0]:.1f} ns a vote", f"one read pass {ns[2]:.2f} ns")
            board.at_most(f"EM step, K = 2, 1e7 votes, {threads} threads", *told, step / read, 5)


if __name__ == "__main__":
    main()
