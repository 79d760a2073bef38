"""Does the cost of `check` grow no faster than each dimension of the votes: items, workers, classes, slices, ...?

python benchmarks/dimensions.py [docs/limits.md] [--only classes]      one minute; given a page, updates its table

One dimension at a time grows by factors of ten while the others stay fixed.  Each cell has CPU seconds on one thread:
the answer alone, and the answer with the certificate and the tables of labels, workers and review.  The exponents, of
the answer and of everything, are over the last factor of ten: 1 means proportional cost, less than 1 slower growth.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log10
from pathlib import Path
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

import board
import majorant as mj
from majorant.votes import Votes

GOAL = 1.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A simulated crowd of workers of different skill, drawn at random for each item."""

    items: int = 1_000
    votes: int = 5  # an item, on average
    spread: int = 1  # how many different numbers of votes items have
    workers: int = 100
    classes: int = 2
    slices: int = 0

    def draw(self) -> Votes:
        """Draw the votes."""
        rng = np.random.default_rng(0)
        votes_i = self.votes - (self.spread - 1) // 2 + np.arange(self.items) % self.spread
        order_ij = rng.random((self.items, self.workers)).argsort(axis=1) if self.workers <= 2_000 else None
        if order_ij is None:  # so many workers that a repeated one is rare: later repeats are dropped
            item_n = np.repeat(np.arange(self.items), votes_i)
            worker_n = rng.integers(self.workers, size=len(item_n))
            _, first_n = np.unique(item_n * self.workers + worker_n, return_index=True)
            item_n, worker_n = item_n[first_n], worker_n[first_n]
        else:
            item_n, place_n = np.nonzero(np.arange(self.workers) < votes_i[:, None])
            worker_n = order_ij[item_n, place_n]
        truth_i, skill_j = rng.integers(self.classes, size=self.items), rng.uniform(0.5, 0.9, self.workers)
        wrong_n = (truth_i[item_n] + rng.integers(1, self.classes, size=len(item_n))) % self.classes
        label_n = np.where(rng.random(len(item_n)) < skill_j[worker_n], truth_i[item_n], wrong_n)
        names = {"items": range(self.items), "workers": range(self.workers), "labels": range(self.classes)}
        votes = Votes.from_codes(item_n, worker_n, label_n, **names)
        if not self.slices:
            return votes
        return replace(votes, slices=tuple(range(self.slices)), slice_i=np.arange(self.items) % self.slices)


DIMENSIONS: dict[str, list[tuple[int, Shape]]] = {
    "votes": [(n, Shape(items=n // 5, workers=n // 100)) for n in (10_000, 100_000, 1_000_000)],
    "items": [(n, Shape(items=n)) for n in (1_000, 10_000, 100_000)],
    "workers": [(n, Shape(items=20_000, workers=n)) for n in (100, 1_000, 10_000)],
    "votes an item": [(n, Shape(votes=n, workers=500)) for n in (4, 40, 400)],
    "different numbers of votes": [(n, Shape(votes=25, spread=n)) for n in (4, 40)],
    "classes": [(n, Shape(items=4_000, classes=n)) for n in (5, 50)],
    "slices": [(n, Shape(items=20_000, slices=n)) for n in (5, 50)],
    "judges": [(n, Shape(votes=n, workers=n)) for n in (4, 40, 400)],
}
CASES = {
    "350 items x 115 votes": Shape(items=350, votes=115, workers=300),
    "1,000 items with 1 to 40 votes": Shape(votes=20, spread=40),
    "1,000 items x 115 votes, 4 classes": Shape(votes=115, workers=300, classes=4),
    "4,000 items x 5 votes, 80 classes": Shape(items=4_000, workers=40, classes=80),
    "20,000 items in 50 slices": Shape(items=20_000, slices=50),
    "150,000 votes, 10 classes": Shape(items=50_000, votes=3, workers=700, classes=10),
    "50,000 workers with 4 votes": Shape(items=40_000, workers=50_000),
    "65 judges x 419 items": Shape(items=419, votes=65, workers=65),
}  # fmt: skip


def cost(shape: Shape) -> tuple[float, float]:
    """CPU seconds of the answer alone, and of everything."""
    votes = shape.draw()
    start = process_time()
    result = mj.check(votes)
    answer = process_time() - start
    _ = result.labels, result.workers, result.removal, result.reviewed, result.certificate
    return answer, process_time() - start


def cell(costs: tuple[float, float]) -> str:
    """Format the cost of the answer alone and of everything."""
    return " / ".join(f"{one:.2f}" if one < 10 else f"{one:.0f}" for one in costs)


def growth_rows(only: str) -> Iterator[str]:
    """A row for each dimension; also prints whether the goal is met."""
    for name, sizes in DIMENSIONS.items():
        if only not in name:
            continue
        costs = [cost(shape) for _, shape in sizes]
        factor = sizes[-1][0] / sizes[-2][0]
        exponents = [log10(last / before) / log10(factor) for before, last in zip(*costs[-2:], strict=True)]
        cells = ", ".join(f"{n:,}: {cell(one)}" for (n, _), one in zip(sizes, costs, strict=True))
        yield f"| {name} | {cells} | {' / '.join(f'{exponent:.2f}' for exponent in exponents)} |"
        board.at_most(f"growth of check with {name}", f"{costs[-1][1]:.1f} s at {sizes[-1][0]:,}",
                      f"{costs[-2][1]:.1f} s at {sizes[-2][0]:,}", exponents[1], GOAL)  # fmt: skip


def case_rows(only: str) -> Iterator[str]:
    """A row for each shape that used to take much longer."""
    for name, shape in CASES.items():
        if only in name:
            yield f"| {name} | {cell(cost(shape))} | |"


def main() -> None:
    """Print the table, and write it into a page if one is given."""
    parser = argparse.ArgumentParser()
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    cost(Shape(items=200))  # loads the code
    lines = ["| what grows | CPU seconds: answer / everything | exponents |", "|---|---|---|"]
    print(*lines, sep="\n")
    parts: tuple[Callable[[str], Iterator[str]], ...] = (growth_rows, case_rows)
    for part in parts:
        for row in part(given.only):
            lines.append(row)
            print(row, flush=True)
    if given.page is not None and not given.only:
        text = given.page.read_text(encoding="utf-8")
        block = "<!-- dimensions begins -->\n" + "\n".join(lines) + "\n<!-- dimensions ends -->"
        text, n = re.subn("<!-- dimensions begins -->.*<!-- dimensions ends -->", block, text, flags=re.DOTALL)
        if not n:
            sys.exit(f"{given.page} has no place for the table.")
        given.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    os.environ["MAJORANT_THREADS"] = "1"
    with threadpool_limits(1):
        main()
