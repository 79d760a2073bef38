"""What does a rule learned from 30 or 60 labels gain over majority vote on the items that were not labelled?

`MAJORANT_DATA=... python benchmarks/learn.py [SET ...]`, two minutes.  Labels are drawn uniformly, 20 times.  "Learned"
is the learned rule on every draw; "with guard" is what a user gets: the learned rule if it beats the label-free rule in
cross-validation, otherwise the label-free rule (the weighted vote on crowds, majority vote on panels and thin crowds).
Gains are in points; a tie among n labels counts as 1/n right.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import board
from majorant.ask.learn import learn_rule
from majorant.ask.questions import label_free_rule
from majorant.defaults import MAJORITY
from majorant.defaults import WEIGHTED_VOTE as COMBINATION
from majorant.methods.fit import Fit, chances
from majorant.results.rules import fit_rule
from majorant.tally import is_panel
from majorant.values import FloatArray
from majorant.votes import Votes
from public_sets import data_sets

DRAWS = 20
FIVE_PANELS = ("chexpert_eleven", "faithbench", "llmbar_six", "mtbench_pairs", "rewardbench2_nine")
NINE_SETS = (*FIVE_PANELS, "medical_treat", "mozafari", "politifact_six", "snow_temporal")
WANTED = {30: 10.0, 60: 12.0}  # points on the five panels
LEAST_SET = -0.5  # points of the worst set with 60 labels


@dataclass(frozen=True)
class Gains:
    """Gain over majority vote in points, for each draw."""

    panel: bool
    learned: FloatArray
    guarded: FloatArray
    label_free: FloatArray
    adopted: FloatArray


def right(fit: Fit, rows: np.ndarray, truth: np.ndarray) -> FloatArray:
    """The probability that each of these items gets the right label."""
    return chances(fit.posterior[rows])[np.arange(len(rows)), np.maximum(truth, 0)] * (truth >= 0)


def gains(votes: Votes, n: int) -> Gains:
    """The gain on the other items from labels on n items."""
    assert votes.gold_i is not None
    known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    truth_i, blind = votes.gold_i, replace(votes, gold_i=None)
    fits = {rule: fit_rule(rule, blind) for rule in (MAJORITY, COMBINATION)}
    free, weighted = fits[label_free_rule(blind)], fits[COMBINATION]
    rng, rows = np.random.default_rng(0), []
    for draw in range(DRAWS):
        order = rng.permutation(known)
        labelled, rest = order[:n], order[n:]
        rule = learn_rule(blind, labelled, truth_i[labelled], weighted, baseline=free, seed=draw)
        before, by_rule, by_free = (
            right(fit, rest, truth_i[rest]).mean() for fit in (fits[MAJORITY], rule.fit(blind, weighted), free)
        )
        rows.append([by_rule - before, (by_rule if rule.adopted else by_free) - before, by_free - before])
        rows[-1].append(float(rule.adopted))
    return Gains(is_panel(blind.shape, blind.n_votes), *(100 * np.array(rows).T))


def main() -> None:
    """Print a row for every set and number of labels, and whether the goals are met."""
    wanted = sys.argv[1:]
    head = "  {} labels: learned  with guard (worst draw)  adopted"
    print(f"set                 kind        label-free{head.format(30)}{head.format(60)}")
    found: dict[int, dict[str, Gains]] = {30: {}, 60: {}}
    for name, votes in data_sets(Path(os.environ["MAJORANT_DATA"])):
        if votes.gold_i is None or (wanted and name not in wanted):
            continue
        row = ""
        for n, by_name in found.items():
            if np.sum(votes.gold_i >= 0) >= 2 * n:
                g = by_name[name] = gains(votes, n)
                row = row or f"{name:19s} {'panel' if g.panel else 'crowd':11s} {g.label_free.mean():+10.1f}"
                guarded = f"{g.guarded.mean():+.1f} ({g.guarded.min():+.1f})"
                row += f"  {g.learned.mean():+18.1f}  {guarded:>23s}  {g.adopted.mean():6.0f}%"
        if row:
            print(row, flush=True)
    for n, by_name in found.items():
        for kind in ("panel", "crowd"):
            means = [g.guarded.mean() for g in by_name.values() if g.panel == (kind == "panel")]
            if means:
                print(f"{n} labels, {len(means)} of kind {kind}: mean {np.mean(means):+.1f}, worst {min(means):+.1f}")
        panels = [by_name[name].guarded.mean() for name in FIVE_PANELS if name in by_name]
        if len(panels) == len(FIVE_PANELS):
            mean, what = float(np.mean(panels)), f"points gained by {n} labels, five panels, mean"
            board.at_least(what, f"{mean:+.1f}", f"{WANTED[n]:+.1f}", mean / WANTED[n], 1)
    nine = [found[60][name].guarded.mean() for name in NINE_SETS if name in found[60]]
    if len(nine) == len(NINE_SETS):
        what = f"points gained by 60 labels, worst of nine sets, above {LEAST_SET}"
        board.at_least(what, f"{min(nine):+.1f}", f"{LEAST_SET:+.1f}", min(nine) - LEAST_SET, 0)


if __name__ == "__main__":
    main()
