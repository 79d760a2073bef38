"""How many CPU seconds does a certificate take, for the tests of assumptions and for the claims?

Measures public sets (if MAJORANT_DATA is set), then tables in which one dimension varies by a factor of ten.

python benchmarks/certify.py          takes a minute
python benchmarks/certify.py power    how many more items `proved` needs than `supported`; ten minutes
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtri
from scipy.stats import binom

import board
from majorant.evidence.certificate.anonymous import fresh_items, is_proved, ratio_cut, weigh
from majorant.evidence.certificate.claims import certification_of, claim_inputs, examine
from majorant.evidence.certificate.count_models import flatten
from majorant.read import read
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

LEVEL, RUNS = 0.95, 200
TESTS = ("supported", "proved")


def public_sets() -> Iterator[tuple[str, Votes]]:
    """Every set with the files label.csv and truth.csv in the data folder."""
    folder = os.environ.get("MAJORANT_DATA")
    for path in sorted(Path(folder).glob("*/*/label.csv")) if folder else ():
        yield path.parent.name, read(str(path), repeats="last")


def crowd(n_items: int, n_votes: int, n_classes: int, n_workers: int) -> Votes:
    """Simulate a crowd of workers of different skill."""
    skill_j = np.linspace(0.55, 0.9, n_workers)
    return simulate(
        np.full(n_classes, 1 / n_classes), one_coin_workers(skill_j, n_classes), n_items, n_votes, rng=0
    ).votes


SHAPES = {
    "base": (1_000, 5, 2, 100),
    "items x 10": (10_000, 5, 2, 100),
    "votes per item x 10": (1_000, 50, 2, 100),
    "classes x 10": (1_000, 5, 20, 100),
    "workers x 10": (1_000, 5, 2, 1_000),
    "350 items x 115 votes, 4 classes": (350, 115, 4, 300),
    "200 items x 200 votes, 4 classes": (200, 200, 4, 200),
}


def cost() -> None:
    """Print the three tables whose certificates take longest, with the seconds for tests and claims."""
    rows = []
    for name, votes in [*public_sets(), *((name, crowd(*shape)) for name, shape in SHAPES.items())]:
        start = process_time()
        examined = examine(claim_inputs(votes, rng=0), level=LEVEL, rng=0)
        tested = process_time()
        certification_of(examined)
        done = process_time()
        size = f"{votes.shape[0]:7,} {votes.n_votes:8,}"
        rows.append((done - start, name, f"{name:40} {size} {tested - start:9.2f} {done - tested:9.2f}"))
    rows.sort(reverse=True)
    print(f"{'votes':40} {'items':>7} {'votes':>8} {'tests, s':>9} {'claims, s':>9}")
    print("\n".join(text for _, _, text in rows[:3]))
    worst, name, _ = rows[0]
    what = "certificate, slowest table"
    board.at_most(what, f"{worst:.2f} s ({name})", "limit 1.2 s", worst / 1.2, 1)


def histogram(n_votes: int, n_items: int, nu: float, a: float, r: float, rng: np.random.Generator) -> np.ndarray:
    """Simulate items and count them by their votes for class 0."""
    k = np.arange(n_votes + 1)
    return rng.multinomial(n_items, nu * binom.pmf(k, n_votes, a) + (1 - nu) * binom.pmf(k, n_votes, r))


def certified(n_votes: int, table: np.ndarray) -> dict[str, np.ndarray]:
    """Which data sets each test certifies."""
    cells, _ = flatten({n_votes: table[0]})
    found = weigh(cells, table, [n_votes])
    return {
        "supported": found.ratio_b > ratio_cut(LEVEL),
        "proved": np.array([is_proved({n_votes: row}, weigh(cells, row[None], [n_votes]), LEVEL) for row in table]),
    }


def outcomes(n_votes: int, nu: float, a: float, r: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Numbers of items around the planned number for 80% power, and which data sets are certified with each."""
    rng = np.random.default_rng(1)
    k = np.arange(n_votes + 1)
    exact = 1e6 * (nu * binom.pmf(k, n_votes, a) + (1 - nu) * binom.pmf(k, n_votes, r))
    cells, _ = flatten({n_votes: exact})
    lead = float(weigh(cells, np.round(exact)[None], [n_votes]).ratio_b[0])
    size_s = np.round((fresh_items(lead / exact.sum(), LEVEL) or 0) * 2.0 ** np.arange(-1, 3.6, 0.5))
    tables = (np.stack([histogram(n_votes, int(n), nu, a, r, rng) for _ in range(RUNS)]).astype(float) for n in size_s)
    parts = [certified(n_votes, table) for table in tables]
    return size_s, {test: np.stack([part[test] for part in parts]) for test in TESTS}


def items_for_power(size_s: np.ndarray, share_s: np.ndarray) -> float:
    """Number of items for 80% power: the normal quantile of the power is linear in the square root of the number."""

    def misfit(line: np.ndarray) -> float:
        log_yes, log_no = (log_ndtr(sign * (line[0] + line[1] * np.sqrt(size_s))) for sign in (1, -1))
        return float(-(share_s * log_yes + (1 - share_s) * log_no).sum())

    start = [-2.0, 2.8 / np.sqrt(np.median(size_s))]
    shift, slope = minimize(misfit, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9}).x
    return float(((ndtri(0.8) - shift) / slope) ** 2)


def price_of_proof() -> None:
    """Ratio of the items that a proof and the likelihood ratio need for 80% power, on the same data, with intervals."""
    print(f"\n{'model':18} {'supported':>9} {'proved':>9} {'ratio':>18}")
    for n_votes, nu, a, r in ((3, 0.5, 0.8, 0.2), (5, 0.6, 0.75, 0.3), (7, 0.7, 0.8, 0.2)):
        size_s, found = outcomes(n_votes, nu, a, r)
        rng = np.random.default_rng(2)
        again = [rng.integers(RUNS, size=(len(size_s), RUNS)) for _ in range(100)]
        items = {
            test: [
                items_for_power(size_s, found[test].mean(axis=1)),
                *(items_for_power(size_s, np.take_along_axis(found[test], row, 1).mean(axis=1)) for row in again),
            ]
            for test in TESTS
        }
        support, proof = (np.array(items[test]) for test in TESTS)
        low, high = np.quantile(proof[1:] / support[1:], [0.025, 0.975])
        ratio = f"{proof[0] / support[0]:.2f} [{low:.2f}, {high:.2f}]"
        print(f"{f'H={n_votes} {nu}/{a}/{1 - r:.2g}':18} {support[0]:9.0f} {proof[0]:9.0f} {ratio:>18}", flush=True)


if __name__ == "__main__":
    if "power" in sys.argv:
        price_of_proof()
    else:
        cost()
