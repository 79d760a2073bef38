"""Do intervals at a fixed number of labels hold, and how many pairs of systems do they decide?

    MAJORANT_DATA=... python benchmarks/rank.py coverage [--draws 500]
    MAJORANT_DATA=... python benchmarks/rank.py systems [--draws 20]

`coverage`: on each panel, how often the 95% interval of `rate(at_n=True)` holds with 30, 60 and 100 labels, and its
mean half-width.  `systems`: decided pairs of the eight systems of judging_judges by labelled questions, and how often
anything is decided when the names of the systems are shuffled within each question.
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from pathlib import Path

import numpy as np

import majorant as mj
from majorant.errors import DataError
from majorant.results.rank import Ranking, rank

PANELS = Path(os.environ["MAJORANT_DATA"]) / "panels"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def coverage(draws: int) -> None:
    for folder in sorted(PANELS.iterdir()):
        truth = {row["item"]: row["truth"] for row in rows_of(folder / "truth.csv")}
        rows = [(r["item"], r["worker"], r["label"]) for r in rows_of(folder / "label.csv") if r["item"] in truth]
        votes = mj.read(rows, repeats="each")
        label, items, cells = votes.labels[-1], [str(item) for item in votes.items], []
        share = np.mean([truth[item] == label for item in items])
        for n_labels in (30, 60, 100):
            held, widths, refused = 0, [], 0
            for draw in range(draws if len(items) >= 2 * n_labels else 0):
                picked = np.random.default_rng(draw).permutation(len(items))[:n_labels]
                try:
                    found = mj.rate(votes, {items[i]: truth[items[i]] for i in picked}, label=label, at_n=True)
                except DataError:
                    refused += 1
                    continue
                assert found.low is not None
                assert found.high is not None
                held += found.low <= share <= found.high
                widths.append(50 * (found.high - found.low))
            if widths:
                cells.append(
                    f"{n_labels}: {100 * held / len(widths):5.1f}% (+-{np.mean(widths):.1f}, {refused} refused)"
                )
        print(f"{folder.name:20}{'   '.join(cells)}", flush=True)


def systems(draws: int) -> None:
    folder = PANELS / "judging_judges"
    system = {row["item"]: (row["question"], row["system"]) for row in rows_of(folder / "systems.csv")}
    truth = {row["item"]: row["truth"] for row in rows_of(folder / "truth.csv")}
    votes = rows_of(folder / "label.csv")
    names = sorted({name for _, name in system.values()})
    questions = sorted({question for question, _ in system.values()})
    rate = {s: np.mean([truth[i] == "True" for i, (_, name) in system.items() if name == s]) for s in names}
    how = {"by": "system", "label": "True", "item": "question,system", "worker": "worker", "label_column": "label"}

    def ranking(named: dict[str, tuple[str, str]], n_questions: int, seed: int) -> Ranking:
        picked = set(np.random.default_rng(seed).choice(questions, n_questions, replace=False))
        columns = {
            "question": [named[row["item"]][0] for row in votes],
            "system": [named[row["item"]][1] for row in votes],
            "worker": [row["worker"] for row in votes],
            "label": [row["label"] for row in votes],
        }
        return rank(columns, {named[i]: truth[i] for i in named if named[i][0] in picked}, **how)

    for n_questions in (25, 50, 100):
        every = [ranking(system, n_questions, seed) for seed in range(draws)]
        wrong = sum(pair.decided and rate[pair.a] < rate[pair.b] for one in every for pair in one.pairs)
        shuffled = 0
        for seed in range(draws):
            order = {q: np.random.default_rng([seed, n]).permutation(names) for n, q in enumerate(questions)}
            named = {i: (q, str(order[q][names.index(s)])) for i, (q, s) in system.items()}
            shuffled += ranking(named, n_questions, seed).decided > 0
        decided = np.mean([one.decided for one in every])
        print(f"{n_questions} questions: {decided:.1f} of 28 decided, {wrong} wrong; shuffled: {shuffled} of {draws}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["coverage", "systems"])
    parser.add_argument("--draws", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    coverage(options.draws or 500) if options.what == "coverage" else systems(options.draws or 20)
