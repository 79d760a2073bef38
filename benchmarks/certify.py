"""What does a certificate cost, and how many more items does a proof need than support?

python benchmarks/certify.py          ten seconds; best of five
python benchmarks/certify.py power    the second question, ten minutes
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtri
from scipy.stats import binom

import board
from majorant.evidence.certificate.anonymous import certify_counts
from majorant.evidence.certificate.count_models import flatten
from majorant.evidence.certificate.independent import items_needed, ratio_cut, weigh
from majorant.evidence.certificate.tailored_inversion import is_proved

REPEATS = 5
LEVEL = 0.95
RUNS = 200
TESTS = ("supported", "proved", "by splits")


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


def outcomes(n_votes: int, nu: float, a: float, r: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Numbers of items around those that planning gives for 80 % power, and which data sets are certified with each."""
    rng = np.random.default_rng(1)
    exact = 1e6 * (
        nu * binom.pmf(np.arange(n_votes + 1), n_votes, a) + (1 - nu) * binom.pmf(np.arange(n_votes + 1), n_votes, r)
    )
    cells, _ = flatten({n_votes: exact})
    found, _ = weigh(cells, np.round(exact)[None], [n_votes], rng)
    planned = items_needed(float(found.ratio_bh[0, 0]) / exact.sum(), LEVEL)
    size_s = np.round(planned * 2.0 ** np.arange(-1, 2.6, 0.5))
    tables = (np.stack([histogram(n_votes, int(n), nu, a, r, rng) for _ in range(RUNS)]).astype(float) for n in size_s)
    parts = [certified(n_votes, table, rng) for table in tables]
    return size_s, {test: np.stack([part[test] for part in parts]) for test in TESTS}


def items_for_power(size_s: np.ndarray, share_s: np.ndarray) -> float:
    """Items at which 80 % are certified: the quantile of the power is linear in the root of the items."""

    def misfit(line: np.ndarray) -> float:
        log_yes, log_no = (log_ndtr(sign * (line[0] + line[1] * np.sqrt(size_s))) for sign in (1, -1))
        return float(-(share_s * log_yes + (1 - share_s) * log_no).sum())

    start = [-2.0, 2.8 / np.sqrt(np.median(size_s))]
    shift, slope = minimize(misfit, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9}).x
    return float(((ndtri(0.8) - shift) / slope) ** 2)


def price_of_proof() -> None:
    """Items for 80 % power: inversion, and split e-value, over likelihood ratio, on the same data; with intervals."""
    print(f"\n{'model':18} {'supported':>9} {'proved':>9} {'ratio':>18} {'by splits':>9} {'ratio':>18}")
    for n_votes, nu, a, r in ((3, 0.5, 0.8, 0.2), (5, 0.6, 0.75, 0.3), (7, 0.7, 0.8, 0.2)):
        size_s, found = outcomes(n_votes, nu, a, r)
        rng = np.random.default_rng(2)
        again = [rng.integers(RUNS, size=(len(size_s), RUNS)) for _ in range(100)]
        items = {
            test: [items_for_power(size_s, np.take_along_axis(found[test], row, 1).mean(axis=1)) for row in again]
            for test in TESTS
        }
        items = {test: [items_for_power(size_s, found[test].mean(axis=1)), *rest] for test, rest in items.items()}
        support, proof, splits = (np.array(items[test]) for test in TESTS)
        row = f"{support[0]:9.0f} {proof[0]:9.0f} {ratio(proof, support)} {splits[0]:9.0f} {ratio(splits, support)}"
        print(f"{f'H={n_votes} {nu}/{a}/{1 - r:.2g}':18} {row}", flush=True)


def ratio(one: np.ndarray, other: np.ndarray) -> str:
    """The first of the ratios, and where 95 % of the others lie."""
    low, high = np.quantile(one[1:] / other[1:], [0.025, 0.975])
    return f"{one[0] / other[0]:.2f} [{low:.2f}, {high:.2f}]".rjust(18)


if __name__ == "__main__":
    if "power" in sys.argv:
        price_of_proof()
    else:
        cost()
