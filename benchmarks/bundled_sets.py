"""Write the two small data sets that ship with the package; both are simulated.

    python benchmarks/bundled_sets.py

`reviews.csv` is a crowd of workers of different skill, without gold labels.  `judges.csv` is a panel of six judges,
five of whom fall for the same traps, with the gold label of 30 items drawn at random.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent.parent / "src" / "majorant" / "data"


def make_reviews() -> list[tuple[object, ...]]:
    """600 reviews, 5 votes each by 40 workers who are right on 52 to 95%."""
    rng = np.random.default_rng(1)
    names = ("negative", "positive")
    skill_j = np.concatenate([np.full(12, 0.93), np.full(14, 0.72), np.full(14, 0.54)])
    rows: list[tuple[object, ...]] = []
    for i in range(600):
        truth = int(rng.random() < 0.55)
        for j in rng.choice(len(skill_j), 5, replace=False):
            label = truth if rng.random() < skill_j[j] else 1 - truth
            rows.append((f"r{i:03d}", f"w{j:02d}", names[label]))
    return rows


def make_judges() -> list[tuple[object, ...]]:
    """400 answers, six judges: on 45% of the answers five of them mostly fall for the same trap."""
    rng = np.random.default_rng(2)
    judges = ("sonnet-4", "gpt-4o", "gemini-2.5", "llama-3.3", "qwen-2.5", "mistral-large")
    known = set(rng.permutation(400)[:30].tolist())
    rows: list[tuple[object, ...]] = []
    for i in range(400):
        truth, trap = int(rng.random() < 0.5), rng.random() < 0.45
        for j, judge in enumerate(judges):
            right = 0.85 if j == 0 else 0.15 if trap else 0.8
            verdict = truth if rng.random() < right else 1 - truth
            rows.append((f"q{i:03d}", judge, ("fail", "pass")[verdict], ("fail", "pass")[truth] if i in known else ""))
    return rows


def write(name: str, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """Write one of the tables."""
    with (FOLDER / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    write("reviews.csv", ("item", "worker", "label"), make_reviews())
    write("judges.csv", ("item", "judge", "verdict", "gold"), make_judges())
