"""How often does one labelling session prove a switch with at most 100 labels, and how often wrongly?

`MAJORANT_DATA=... python benchmarks/session.py [REPEATS] [SET ...]`, a minute with 20 repeats.  Each repeat draws a
design with another seed; the gold labels stand in for the expert.  A proof is wrong if the rule does not beat majority
vote on the untied items with gold labels.  "Gain" is the gain, in points, of the user's final labels (including the
expert's) over majority vote with ties split.

Then panels are simulated on which little or nothing can be learned from labels (only these: `session.py simulated
[RUNS]`, a minute with 25 runs).  The claims after 100 labels include those at any earlier number of labels.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import board
from majorant.ask.ask import ask
from majorant.ask.session import Session
from majorant.items import take_items
from majorant.read.tasks import ExpertAnswer
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes
from public_sets import data_sets

BUDGET, BATCH = 100, 10
GOALS = ("llmbar_six", "faithbench", "chexpert_eleven", "mtbench_pairs")
PANELS = (*GOALS, "rewardbench2_nine")


class Run(NamedTuple):
    """One session."""

    verdict: str
    labels: int
    taught: int
    wrong: bool
    gain: float


def run(votes: Votes, seed: int) -> Run:
    """A session in which the gold labels stand in for the expert."""
    assert votes.gold_i is not None
    truth = dict(zip(votes.items, votes.gold_i, strict=True))
    design = ask(replace(votes, gold_i=None), question="teach", rng=seed)
    while True:
        answers = {item: votes.labels[truth[item]] for item in design.items}
        outcome = design.evaluate(answers)
        longer = design.more(min(BATCH, BUDGET - len(design.items)), answers)
        if outcome.decided or len(longer.items) == len(design.items):
            break
        design = longer
    session = design.question
    assert isinstance(session, Session)
    session = session.advance(design.codes([ExpertAnswer(*pair) for pair in answers.items()]))
    count_dk, truth_d = session.count_dk, np.array([truth[item] for item in design.order])
    best_dk = count_dk == count_dk.max(axis=1, keepdims=True)
    before_d = best_dk[np.arange(len(truth_d)), truth_d] / best_dk.sum(axis=1)
    after_d = before_d
    if session.taught is not None:
        label_d = session.taught.label_d
        after_d = (label_d == truth_d).astype(float)
    untied = best_dk.sum(axis=1) == 1
    rest = untied & (np.arange(len(truth_d)) >= (0 if session.taught is None else session.taught.positions))
    lead = float((after_d - before_d)[rest].sum())
    wrong = {"better": lead <= 0, "worse": lead >= 0}.get(outcome.verdict, False)
    final_d = after_d.copy() if outcome.verdict == "better" else before_d.copy()
    final_d[list(design.asked)] = 1.0
    return Run(outcome.verdict, len(answers), outcome.n_taught, wrong, 100 * float((final_d - before_d).mean()))


SIMULATED = {  # how often each judge is right; items
    "five alike, .75": ([0.75] * 5, 200),
    "seven alike, .65": ([0.65] * 7, 200),
    "five useless": ([0.5] * 5, 200),
    "one a little better": ([0.8, 0.75, 0.75, 0.75, 0.75], 200),
    "one as good as the other four": ([0.84, 0.7, 0.7, 0.7, 0.7], 200),
    "few items": ([0.75] * 5, 80),
}


def simulated(runs: int) -> None:
    """How often a session makes a false claim at any of up to 100 labels."""
    print("panel                          better  worse   same   open  wrong")
    worst = 0.0
    for name, (skills, n_items) in SIMULATED.items():
        found = []
        for seed in range(runs):
            votes, truth = simulate(
                [0.5, 0.5], one_coin_workers(skills), n_items=n_items, n_votes=len(skills), rng=seed
            )
            found.append(run(replace(votes, gold_i=np.asarray(truth, dtype=np.int64)), seed))
        counts = [sum(one.verdict == verdict for one in found) for verdict in ("better", "worse", "same", "open")]
        wrong = sum(one.wrong for one in found)
        worst = max(worst, wrong / runs)
        print(f"{name:30s}" + "".join(f"{n:7d}" for n in (*counts, wrong)), flush=True)
    what, shown = f"wrong proofs at any look, simulated, {runs} runs per panel, worst panel", f"{worst:.1%}"
    board.at_most(what, shown, "5%", worst / 0.05, 1)


def main() -> None:
    """Print a row for every set, and the goals."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["simulated"]:
        simulated(*map(int, arguments[1:] or ["25"]))
        return
    repeats = int(arguments.pop(0)) if arguments and arguments[0].isdigit() else 20
    print("set                 better  worse   same   open  wrong  labels: median  taught    gain")
    errors, runs, shares = 0, 0, []
    for name, votes in data_sets(Path(os.environ["MAJORANT_DATA"])):
        if name not in (arguments or PANELS):
            continue
        assert votes.gold_i is not None
        known = take_items(votes, np.flatnonzero(votes.gold_i >= 0))
        found = [run(known, seed) for seed in range(repeats)]
        counts = [sum(one.verdict == verdict for one in found) for verdict in ("better", "worse", "same", "open")]
        wrong = sum(one.wrong for one in found)
        errors, runs = errors + wrong, runs + repeats
        numbers = "".join(f"{n:7d}" for n in (*counts, wrong))
        print(
            f"{name:19s}{numbers}{np.median([one.labels for one in found]):16.0f}"
            f"{np.median([one.taught for one in found]):8.0f}{np.mean([one.gain for one in found]):+8.1f}",
            flush=True,
        )
        if name in GOALS:
            shares.append((counts[0] / repeats, name))
    if shares:
        share, name = min(shares)
        what = f"switch proved with {BUDGET} labels, worst panel"
        board.at_least(what, f"{share:.0%} ({name})", "80%", share / 0.8, 1)
    board.at_most("wrong proofs", f"{errors} of {runs}", "5%", errors / max(runs, 1) / 0.05, 1)
    if not arguments:
        print()
        simulated(25)


if __name__ == "__main__":
    main()
