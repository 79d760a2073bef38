"""What does a certificate cost, and how many more items does a proof need than support?

python benchmarks/certify.py          ten seconds; best of five
python benchmarks/certify.py power    the second question, a quarter of an hour
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.stats import binom

import board
from majorant.certify.anonymous.counts import certify_counts
from majorant.certify.anonymous.evidence import ratio_cut, weigh
from majorant.certify.anonymous.likelihood import flatten
from majorant.certify.anonymous.tailored.proof import is_proved

REPEATS = 5
LEVEL = 0.95
RUNS = 100


def histogram(n_votes: int, n_items: int, nu: float, a: float, r: float, rng: np.random.Generator) -> np.ndarray:
    """Simulated items by their votes for class 0."""
    k = np.arange(n_votes + 1)
    return rng.multinomial(n_items, nu * binom.pmf(k, n_votes, a) + (1 - nu) * binom.pmf(k, n_votes, r))


def cost() -> None:
    """Milliseconds per certificate."""
    rng = np.random.default_rng(0)
    cases = {
        "one H, proved": {5: histogram(5, 5000, 0.5, 0.8, 0.2, rng)},
        "one H, undecided": {5: histogram(5, 500, 0.8, 0.8, 0.2, rng)},
        "one H, refuted": {5: histogram(5, 5000, 0.95, 0.8, 0.2, rng)},
        "one H, few items": {7: histogram(7, 500, 0.7, 0.8, 0.2, rng)},
        "one H, borderline": {3: histogram(3, 500, 0.7, 0.8, 0.2, rng)},
        "ten H": {h: histogram(h, 500, 0.6, 0.8, 0.3, rng) for h in range(3, 13)},
        "a million items": {7: histogram(7, 1_000_000, 0.6, 0.8, 0.3, rng)},
    }
    print(f"{'data':20} {'ms':>8}  verdict")
    for name, histograms in cases.items():
        seconds = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            certificate = certify_counts(histograms, level=LEVEL, rng=0)
            seconds.append(time.perf_counter() - start)
        print(f"{name:20} {1000 * min(seconds):8.0f}  {certificate.anonymous.verdict}", flush=True)
        limit = 1.0 if name == "ten H" else 0.2
        told = (f"{1000 * min(seconds):.0f} ms", f"limit {1000 * limit:.0f} ms")
        board.at_most(f"`certify_counts`, {name}", *told, min(seconds) / limit, 1)


def certified(n_votes: int, table: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Which of the data sets each test certifies: the likelihood ratio, the inversion, the split e-value."""
    cells, _ = flatten({n_votes: table[0]})
    found, _ = weigh(cells, table, [n_votes], rng)
    rows = zip(table, found.theta_b3, found.nearest_bp3, strict=True)
    return {
        "supported": found.ratio_bh[:, 0] > ratio_cut(LEVEL),
        "proved": np.array([is_proved({n_votes: row}, n_votes, best, 1 - LEVEL, near) for row, best, near in rows]),
        "by splits": found.log_e_bh[:, 0] >= -np.log1p(-LEVEL),
    }


def items_for_power(n_votes: int, nu: float, a: float, r: float, test: str) -> float:
    """Items at which 80 of 100 data sets are certified, by doubling and bisection."""
    rng = np.random.default_rng(1)

    def power(n_items: int) -> float:
        table = np.stack([histogram(n_votes, n_items, nu, a, r, rng) for _ in range(RUNS)]).astype(float)
        return float(certified(n_votes, table, rng)[test].mean())

    high = 100
    while power(high) < 0.8:
        high *= 2
    low = high / 2
    for _ in range(5):
        middle = round(np.sqrt(low * high))
        low, high = (low, middle) if power(middle) >= 0.8 else (middle, high)
    return float(np.sqrt(low * high))


def price_of_proof() -> None:
    """Items for 80 % power: inversion, and split e-value, over likelihood ratio."""
    print(f"\n{'model':20} {'supported':>10} {'proved':>10} {'ratio':>6} {'by splits':>10} {'ratio':>6}")
    for n_votes, nu, a, r in ((3, 0.5, 0.8, 0.2), (5, 0.6, 0.75, 0.3), (7, 0.7, 0.8, 0.2)):
        support, proof, splits = (
            items_for_power(n_votes, nu, a, r, test) for test in ("supported", "proved", "by splits")
        )
        name = f"H={n_votes} {nu}/{a}/{1 - r:.2g}"
        row = f"{support:10.0f} {proof:10.0f} {proof / support:6.2f} {splits:10.0f} {splits / support:6.2f}"
        print(f"{name:20} {row}", flush=True)


if __name__ == "__main__":
    if "power" in sys.argv:
        price_of_proof()
    else:
        cost()
