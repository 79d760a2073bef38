"""What exact accuracies cost: the gap at a million votes, enumeration, bracket, simulation; seconds, best of five."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clock import best_seconds
from majorant.theory.accuracy import gap, map_accuracy, panel_accuracy
from majorant.theory.approximate import estimate_gap, panel_accuracy_bracket


def crew(n_voters: int, n_classes: int) -> np.ndarray:
    """Unequal voters, right a little more often than by chance."""
    noise_hkl = np.random.default_rng(0).dirichlet(np.ones(n_classes), (n_voters, n_classes))
    return 0.8 * noise_hkl + 0.2 * np.eye(n_classes)


def main() -> None:
    two, three, ten = ([1 / k] * k for k in (2, 3, 10))
    weak = [[0.52, 0.48], [0.49, 0.51]]
    calls: dict[str, Callable[[], object]] = {
        "gap, 2 classes, 5 votes": lambda: gap([0.9, 0.1], weak, 5),
        "gap, 2 classes, 1,000,001 votes (promised: under 1 s)": lambda: gap([0.9, 0.1], weak, 1_000_001),
        "map_accuracy, 3 classes, 101 votes": lambda: map_accuracy(three, crew(1, 3)[0], 101),
        "map_accuracy, 10 classes, 12 votes": lambda: map_accuracy(ten, crew(1, 10)[0], 12),
        "panel_accuracy map, 20 unequal voters": lambda: panel_accuracy(two, crew(20, 2), "map"),
        "panel_accuracy majority, 1,001 unequal voters": lambda: panel_accuracy(two, crew(1001, 2)),
        "panel_accuracy majority, 5 classes, 20 voters": lambda: panel_accuracy([0.2] * 5, crew(20, 5)),
        "estimate_gap, 10 classes, 101 votes": lambda: estimate_gap(ten, crew(1, 10)[0], 101, rng=0),
    }
    for name, call in calls.items():
        print(f"{name:58} {best_seconds(call):9.4f} s")
    print(f"\n{'bracket of the optimal rule: unequal voters':44} {'cells':>8} {'width':>9} {'seconds':>9}")
    for n_voters in (20, 101, 1001):
        for n_cells in (2**12, 2**16):
            voters = 0.4 + 0.2 * crew(n_voters, 2)
            bracket = panel_accuracy_bracket(two, voters, n_cells)
            seconds = best_seconds(lambda voters=voters, n_cells=n_cells: panel_accuracy_bracket(two, voters, n_cells))
            print(f"{n_voters:44} {n_cells:8} {bracket.high - bracket.low:9.1e} {seconds:9.4f}")


if __name__ == "__main__":
    main()
