"""How many points of accuracy does each method lose to the best single method of a data set, and what does our choice?

`MAJORANT_DATA=... python benchmarks/advice.py [FOLDER]`.  Every data set found below the folder is taken, in either of
two formats: a CSV file without header (worker, item, label, gold, and seconds if there is a fifth column), or a folder
with label.csv (item, worker, label) and truth.csv (item, truth).  `benchmarks/advice.py simulated FILE [SEEDS [KIND]]`
takes crowds of many kinds instead, among them workers who are alike, and writes into docs/advice.md what the labels
that `check` writes gain over majority vote, and what each member of the combination does, the mean over seeds and its
standard error.  FILE keeps a row per crowd and seed, so that a run can go on where it was stopped; with `choices` for
`simulated` the advice is left out, which takes most of the time.  Our choice is the rule that is compared with majority
vote (the combination); the advice is to write its labels, or majority's.
Gold labels are hidden from all methods, and used for the accuracy alone; a tie counts as a fair draw.
"""

from __future__ import annotations

import csv
import os
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from advice_crowds import alike_crowds, crowds
from majorant.backend import MemoryBackend
from majorant.errors import ConfigError, NotIdentified
from majorant.evidence.labels import gold_accuracy
from majorant.methods import ESTIMATORS
from majorant.methods.fit import Fit
from majorant.methods.weighted_vote import combination, fit_method, unsuited
from majorant.pipeline import AUTO, aggregate
from majorant.results.rules import decide
from majorant.values import FloatArray
from majorant.votes import Votes
from public_sets import data_sets

ADVICE, CHOICE = "advice", "our choice"
SIMULATED, WITHOUT_ADVICE = "simulated", "choices"
MODELS = ("one-coin", "hierarchical", "ebcc")
GAINS = (ADVICE, CHOICE, *MODELS)
ROUNDING = 1e-9
GOAL = -0.1  # points: no crowd should lose more on average
PAGE = Path(__file__).parent.parent / "docs" / "advice.md"
HEAD = """# Does the advice do harm?

Simulated crowds of many kinds: workers who are alike, or nearly, and workers who differ in skill, lean to a label,
spam, or err together, on easy and on hard items. How often are labels right, in percentage points over majority vote,
a tie being a fair draw? *Advice* is the labels that `majorant check` writes without gold: majority vote's, unless a
model whose assumptions were tested justifies a switch. *Our choice* is the combination of models that `check` compares
with majority vote, and `ask` asks about; the others are its members, each by itself. Made by
`python benchmarks/advice.py`; nothing here is written by hand. Shown is the mean over seeds, its standard error, and in
brackets how many seeds were run; an empty cell was not run. The advice is majority vote's labels or those of our
choice, so in no run does it lose more than our choice does.

The goal is that no crowd loses more than .1 points on average.

{found}
"""
MOST_COLUMNS = 20  # data sets in one table


def accuracies(votes: Votes) -> tuple[str, dict[str, float]]:
    """What the choice chose, and the accuracy of each method and of the choice."""
    blind = replace(votes, gold_i=None)
    fits: dict[str, Fit] = {}
    for method in ESTIMATORS:
        try:
            fits |= {} if unsuited(method, blind) else {method: fit_method(method, blind, 0)}
        except (
            ConfigError,
            NotIdentified,
        ) as error:  # the data do not bear it: too little overlap
            print(f"  {method}: {error}", file=sys.stderr)
    decision = decide(blind, fits["majority"], rng=0)
    found = {name: gold_accuracy(votes, fit, level=0.95) for name, fit in {**fits, CHOICE: decision.fit}.items()}
    return decision.method, {name: 100 * one.value for name, one in found.items() if one is not None}


def simulated(file: Path, n_seeds: int, kind: str = "", *, advice: bool = True) -> None:
    """What the advice, the choice and each member of the combination gain over majority vote, crowd by crowd.

    `kind` is a part of the names of the crowds that are wanted.  What stands in the file is not computed again.
    Without `advice`, which certifies every crowd, it is many times as fast.
    """
    done = {(row["seed"], row["crowd"]): row for row in _rows(file)}
    for seed in range(n_seeds):
        for name, votes in chain(alike_crowds(seed), crowds(seed)):
            key = (str(seed), name)
            if kind in name and key not in done:
                done[key] = {"seed": str(seed), "crowd": name, **gains(votes)}
            if kind in name and advice and not done[key].get(ADVICE):
                done[key][ADVICE] = gain_of_advice(votes)
                _write(file, [*done.values()])
        _write(file, [*done.values()])
    lines = [*verdicts(_rows(file)), "", *table(_rows(file))]
    print("\n".join(lines))
    PAGE.write_text(HEAD.format(found="\n".join(lines)), encoding="utf-8")


def _rows(file: Path) -> list[dict[str, str]]:
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _write(file: Path, rows: list[dict[str, str]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, ["seed", "crowd", *GAINS])
        writer.writeheader()
        writer.writerows(rows)


def gains(votes: Votes) -> dict[str, str]:
    """Points over majority vote by the labels of the choice and of each model."""
    blind = replace(votes, gold_i=None)
    made = combination(blind, 0)
    fits = {CHOICE: fit_method("majority", blind, 0) if made is None else made.fit}
    known = {} if made is None else made.fits
    fits |= {method: known.get(method) or fit_method(method, blind, 0) for method in MODELS}
    return {name: _over_majority(votes, fit) for name, fit in fits.items()}


def gain_of_advice(votes: Votes) -> str:
    """Points over majority vote by the labels that `check` writes."""
    return _over_majority(votes, aggregate(MemoryBackend(replace(votes, gold_i=None)), AUTO))


def _over_majority(votes: Votes, fit: Fit) -> str:
    majority = fit_method("majority", replace(votes, gold_i=None), 0)
    found, base = (gold_accuracy(votes, one, level=0.95) for one in (fit, majority))
    assert found is not None
    assert base is not None
    return f"{100 * (found.value - base.value):.4f}"


def verdicts(rows: list[dict[str, str]]) -> list[str]:
    """Which crowds miss the goal, for the advice and for our choice, and how surely."""
    lines = []
    for name in (ADVICE, CHOICE):
        known = {crowd: np.array(of[name]) for crowd, of in by_crowd(rows).items() if of[name]}
        missed = {crowd: gain_s for crowd, gain_s in known.items() if gain_s.mean() < GOAL - ROUNDING}
        sure = [crowd for crowd, gain_s in missed.items() if gain_s.mean() + 2 * _error(gain_s) < GOAL]
        which = "; ".join(f"{crowd} {_cell(list(gain_s))}" for crowd, gain_s in missed.items())
        text = f"- *{name}*: {len(missed)} of {len(known)} crowds miss it, {len(sure)} by more than two standard errors"
        lines.append(f"{text}: {which}." if missed else f"- *{name}*: none of {len(known)} crowds misses it.")
    return lines


def _error(gain_s: FloatArray) -> float:
    return float(gain_s.std(ddof=1) / np.sqrt(len(gain_s))) if len(gain_s) > 1 else np.inf


def by_crowd(rows: list[dict[str, str]]) -> dict[str, dict[str, list[float]]]:
    """The gains of each crowd and rule, a number for each seed that was run."""
    gain: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        for name in GAINS:
            gain.setdefault(row["crowd"], {}).setdefault(name, []).extend([float(row[name])] if row[name] else [])
    return gain


def table(rows: list[dict[str, str]]) -> list[str]:
    """A line of Markdown for each crowd, and for all whose workers are alike, or not: mean and worst."""
    gain = by_crowd(rows)
    lines = [
        f"| points over majority vote | {' | '.join(GAINS)} |",
        "|---" + "|---:" * len(GAINS) + "|",
    ]
    lines += [f"| {crowd} | {' | '.join(_cell(values) for values in of.values())} |" for crowd, of in gain.items()]
    for what, pick in (("mean", np.mean), ("worst", np.min)):
        for kind, alike in (
            ("workers alike, or nearly", True),
            ("unequal workers", False),
        ):
            some = [of for crowd, of in gain.items() if ("alike" in crowd) == alike]
            means = [[np.mean(of[name]) for of in some if of[name]] for name in GAINS]
            lines.append(f"| **{kind}, {what}** | {' | '.join(f'{pick(m):.2f}' if m else '' for m in means)} |")
    return lines


def _cell(values: list[float]) -> str:
    """The mean over seeds, its standard error, and how many they are."""
    if not values:
        return ""
    error = f" ± {_error(np.array(values)):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values) + 0.0:.2f}{error} ({len(values)})"


def main() -> None:
    where = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MAJORANT_DATA")
    if not where:
        sys.exit("Name the folder of the data sets, or set MAJORANT_DATA to it.")
    if where in (SIMULATED, WITHOUT_ADVICE):
        if len(sys.argv) < 3:
            sys.exit("Name the file that keeps the rows.")
        n_seeds, kind = (
            int(sys.argv[3]) if len(sys.argv) > 3 else 5,
            " ".join(sys.argv[4:]),
        )
        simulated(Path(sys.argv[2]), n_seeds, kind, advice=where == SIMULATED)
        return
    regret: dict[str, dict[str, float]] = {}  # by data set and method
    for name, votes in data_sets(Path(where)):
        chosen, accuracy = accuracies(votes)
        best = max(value for method, value in accuracy.items() if method != CHOICE)
        regret[name] = {method: best - value for method, value in accuracy.items()}
        found = f"best {best:.2f} %, majority {accuracy['majority']:.2f} %, {chosen} chosen, {accuracy[CHOICE]:.2f} %"
        print(f"{name}: {found}", flush=True)
    report(regret)


def report(regret: dict[str, dict[str, float]]) -> None:
    """A line for each method that every data set can bear, the choice first."""
    few = len(regret) <= MOST_COLUMNS
    heads = "  ".join(regret) if few else ""
    print(f"\n{'points lost to the best single method':24} mean  worst  below majority  {heads}")
    everywhere = [m for m in (CHOICE, *ESTIMATORS) if all(m in row for row in regret.values())]
    for method in everywhere:
        lost_s = np.array([row[method] for row in regret.values()])
        below = max(row[method] - row["majority"] for row in regret.values())
        cells = "  ".join(f"{lost:{len(name)}.2f}" for name, lost in zip(regret, lost_s, strict=True)) if few else ""
        print(f"{method:37} {lost_s.mean():5.2f}  {lost_s.max():5.2f}  {below:14.2f}  {cells}")


if __name__ == "__main__":
    main()
