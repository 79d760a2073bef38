"""How long do the exact margins and the gap take, beside what is asked of them?

python benchmarks/theory.py        a few seconds; best of five
"""

from __future__ import annotations

import numpy as np

from clock import best_seconds
from majorant.theory import gap, majority_margin, majority_margins, panel_margin


def informative(rng: np.random.Generator, n_classes: int, *lead: int) -> np.ndarray:
    """Random confusion matrices that are right more often than not."""
    return 0.5 * rng.dirichlet(np.ones(n_classes), (*lead, n_classes)) + 0.5 * np.eye(n_classes)


def main() -> None:
    """Print a row per measure: what, how long, and the limit it must keep."""
    rng = np.random.default_rng(0)
    prior_bk, confusion_bkl = rng.dirichlet([1, 1], 10**6), rng.dirichlet([1, 1], (10**6, 2))
    prior_10, confusion_10 = rng.dirichlet(np.full(10, 20.0)), informative(rng, 10)
    prior_5, crew_5 = rng.dirichlet(np.full(5, 20.0)), informative(rng, 5, 25)
    measures = {
        "1e6 two-class margins, 5 votes": (1.0, lambda: majority_margins(prior_bk, confusion_bkl, 5)),
        "margin, 10 classes, 101 votes": (0.010, lambda: majority_margin(prior_10, confusion_10, 101)),
        "crew margin, 5 classes, 25 voters": (1.0, lambda: panel_margin(prior_5, crew_5)),
        "gap, two classes, 1,000,001 votes": (1.0, lambda: gap([0.9, 0.1], [[0.52, 0.48], [0.49, 0.51]], 1_000_001)),
    }
    print(f"{'what':<36}{'seconds':>10}{'limit':>8}{'share of limit':>17}")
    for name, (limit, run) in measures.items():
        seconds = best_seconds(run)
        print(f"{name:<36}{seconds:>10.4f}{limit:>8.3f}{seconds / limit:>16.1%}")


if __name__ == "__main__":
    main()
