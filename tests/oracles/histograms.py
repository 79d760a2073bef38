"""Histograms of simulated crowds, and the models on the boundary where majority vote stops being optimal."""

import csv
from dataclasses import dataclass
from itertools import combinations
from math import comb, exp, lgamma, log
from pathlib import Path

import numpy as np
from scipy.stats import beta, betabinom

GOLDEN = Path(__file__).parents[1] / "golden"


@dataclass(frozen=True)
class Crowd:
    """n_items[h] items with h votes; a = P(vote 0 | class 0), r = P(vote 0 | class 1)."""

    name: str
    nu: float
    a: float
    r: float
    n_items: dict

    def cells(self, h):
        k = np.arange(h + 1)
        ways = np.array([comb(h, int(i)) for i in k], float)
        p0 = ways * self.a**k * (1 - self.a) ** (h - k)
        p1 = ways * self.r**k * (1 - self.r) ** (h - k)
        return self.nu * p0, (1 - self.nu) * p1

    def optimal(self, h):
        """Whether majority is right to decide every untied count as it does."""
        p0, p1 = self.cells(h)
        k = np.arange(h + 1)
        return bool((p0 > p1)[2 * k > h].all() and (p1 > p0)[2 * k < h].all())

    def loss(self):
        """Accuracy that majority gives away among untied items."""
        lost = kept = 0.0
        for h, n in self.n_items.items():
            p0, p1 = self.cells(h)
            k = np.arange(h + 1)
            lost += n * (np.maximum(p1 - p0, 0)[2 * k > h].sum() + np.maximum(p0 - p1, 0)[2 * k < h].sum())
            kept += n * (p0 + p1)[2 * k != h].sum()
        return lost / kept

    def draw(self, runs, rng):
        """{h: (runs, h + 1)}"""
        return {h: rng.multinomial(n, sum(self.cells(h)), size=runs) for h, n in self.n_items.items()}


@dataclass(frozen=True)
class HardItems(Crowd):
    """The same, each item with its own accuracy: beta with the mean a (or r) and this concentration."""

    concentration: float = 4.0

    def cells(self, h):
        k = np.arange(h + 1)
        c = self.concentration
        return (
            self.nu * betabinom.pmf(k, h, self.a * c, (1 - self.a) * c),
            (1 - self.nu) * betabinom.pmf(k, h, self.r * c, (1 - self.r) * c),
        )


def boundary_nu(a, r, h, near):
    """The prior nearest to `near` at which one narrowest majority of h votes is as likely either class's."""
    m = h // 2 + 1
    found = []
    for k in (m, h - m):
        odds = k * log(a / r) + (h - k) * log((1 - a) / (1 - r))
        found.append(1 / (1 + exp(odds)))
    return min(found, key=lambda nu: abs(nu - near))


def level_crowds():
    """The cells of certificate-level.csv, each on its exact boundary."""
    with (GOLDEN / "certificate-level.csv").open() as file:
        for row in list(csv.reader(file))[1:]:
            name, h, n = row[0], int(row[1]), int(row[2])
            nu = float(name.split("nu0=")[1])
            if "noninf" in name:
                a, r = 0.5, 0.5
            elif "one class" in name:
                a, r = 0.8, 0.2
            else:
                a, t11 = (float(value) for value in name.split()[1].split("/"))
                r = 1 - t11
                nu = boundary_nu(a, r, h, nu)
            yield Crowd(name, nu, a, r, {h: n})


def further_crowds():
    """More models in which majority is not optimal, on the boundary or beyond: every kind of design."""
    edges = [
        (0.9, 0.4, {3: 1000}),
        (0.7, 0.2, {4: 1000}),
        (0.8, 0.3, {4: 5000}),
        (0.85, 0.35, {5: 2000}),
        (0.75, 0.25, {6: 1000}),
        (0.9, 0.3, {6: 3000}),
        (0.7, 0.3, {7: 3000}),
        (0.8, 0.4, {8: 2000}),
        (0.7, 0.2, {9: 1000}),
        (0.65, 0.3, {9: 5000}),
        (0.95, 0.2, {9: 400}),
        (0.99, 0.01, {3: 3000}),
        (0.8, 0.2, {3: 600, 5: 600}),
        (0.75, 0.2, {3: 2000, 4: 500, 7: 500}),
        (0.7, 0.1, {1: 2000, 2: 1000, 3: 1000}),
        (0.85, 0.25, {2: 300, 3: 300, 4: 300, 5: 300, 6: 300}),
        (0.6, 0.1, {5: 800, 9: 200}),
    ]
    for a, r, n_items in edges:
        for near in (0.1, 0.9):
            nu = boundary_nu(a, r, max(n_items), near)
            yield Crowd(f"edge {a}/{1 - r:.2g} nu0={nu:.3f}", nu, a, r, n_items)
    for n_items in ({3: 300}, {4: 1000, 5: 1000}, {9: 2000}):
        yield Crowd("uninformative .7", 0.4, 0.7, 0.7, n_items)
        yield Crowd("one class .7", 0.0, 0.9, 0.3, n_items)
        yield Crowd("beyond .75/.75 nu0=.95", 0.95, 0.75, 0.25, n_items)


def power_rows():
    """Crowd, and power of the likelihood ratio as printed in certificate-power.csv."""
    with (GOLDEN / "certificate-power.csv").open() as file:
        for row in list(csv.reader(file))[1:]:
            nu, a, t11 = (float(value) for value in row[0].split()[1].split("/"))
            yield Crowd(row[0], nu, a, 1 - t11, {int(row[1]): int(row[2])}), float(row[8])


def clopper_pearson(count, runs, confidence=0.95):
    """The exact two-sided interval of a probability."""
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, count, runs - count + 1) if count else 0.0
    high = beta.ppf(1 - tail, count + 1, runs - count) if count < runs else 1.0
    return low, high


def all_histograms(n_items, n_cells):
    """Every way in which n_items items can fall into n_cells cells, one row each."""
    bars = np.array(list(combinations(range(n_items + n_cells - 1), n_cells - 1)))
    edges = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n_items + n_cells - 1)], axis=1)
    return np.diff(edges, axis=1) - 1


def multinomial(histogram_bc, cell_c):
    """The probability of each histogram."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_c = np.where(histogram_bc > 0, histogram_bc * np.log(cell_c), 0.0)
    n_items = histogram_bc[0].sum()
    ways = np.array([lgamma(n_items + 1) - sum(lgamma(n + 1) for n in row) for row in histogram_bc])
    return np.exp(ways + log_c.sum(axis=1))
