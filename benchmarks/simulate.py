"""How much does a simulated vote cost, beside drawing one uniform number?

python benchmarks/simulate.py        about a minute; memory is the peak of a process of its own, less the imports
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

from majorant.simulate import one_coin_crew, simulate

CONFUSION = [[0.8, 0.2], [0.3, 0.7]]
VOTES_PER_ITEM = 5
DESIGNS = {
    "panel of 5, one confusion": {"n_workers": 5},
    "panel of 5, one each": {"confusion": one_coin_crew([0.9, 0.85, 0.8, 0.7, 0.6])},
    "crowd, one confusion": {},
    "crowd of 5000, one each": {"confusion": one_coin_crew(np.linspace(0.5, 1, 5000))},
    "crowd, item difficulty": {"concentration": 4.0},
    "crowd, copying": {"dependence": 0.5},
    "crowd, 3 to 7 votes": {"n_votes": ([3, 4, 5, 6, 7], [1, 1, 1, 1, 1])},
    "crowd of 20 (dense)": {"n_workers": 20},
}
REPEATS = 5


def run(design: str, n_votes: int) -> int:
    """Draw about n_votes votes; returns how many."""
    arguments = {"confusion": CONFUSION, "n_votes": VOTES_PER_ITEM} | DESIGNS[design]
    return simulate([0.5, 0.5], n_items=n_votes // VOTES_PER_ITEM, rng=0, **arguments).votes.n_votes


def measure(design: str, n_votes: int) -> dict[str, float]:
    """Best of a few runs in one process: nanoseconds per vote and per uniform double, bytes per vote at the peak."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    n_drawn, vote_seconds, double_seconds = 0, [], []
    for _ in range(REPEATS):  # by turns: a busy machine then slows both
        start = time.perf_counter()
        n_drawn = run(design, n_votes)
        middle = time.perf_counter()
        np.random.default_rng(0).random(n_drawn)
        vote_seconds.append(middle - start)
        double_seconds.append(time.perf_counter() - middle)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "ns": min(vote_seconds) / n_drawn * 1e9,
        "ratio": min(vote_seconds) / min(double_seconds),
        "bytes": (peak - before) * 1024 / n_drawn,
    }


def main() -> None:
    """Print one row per design and size."""
    print(f"{'design':28} {'votes':>10} {'ns/vote':>9} {'x uniform':>10} {'bytes/vote':>11}")
    for n_votes in (1_000_000, 10_000_000):
        for design in DESIGNS:
            command = [sys.executable, __file__, design, str(n_votes)]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            numbers = f"{found['ns']:9.0f} {found['ratio']:10.1f} {found['bytes']:11.0f}"
            print(f"{design:28} {n_votes:10,} {numbers}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
    else:
        main()
