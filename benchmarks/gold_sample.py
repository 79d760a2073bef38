"""How often is random gold taken for a chosen sample, and how often is a list of errors recognised?

    MAJORANT_DATA=FOLDER python benchmarks/gold_sample.py [--draws 400] [SET ...]

Gold labels of 30 or 100 random items among those with gold; then only items on which majority vote is wrong ("errors"),
and half of each ("half").  The columns show how often the labels were called no random sample.  In the last column, 1
says that the published gold labels of a set are no random sample of its items.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

import board
from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.evidence.gold_sample import count_kinds
from majorant.evidence.rules import fit_rule
from majorant.items import take_items
from majorant.methods.fit import chances
from majorant.votes import Votes
from public_sets import data_sets

COLUMNS = ("random 30", "random 100", "half 30", "half 60", "errors 30", "published")


def refused(votes: Votes, draws: int) -> list[float]:
    """The share of samples of each kind that are called no random sample, in percent."""
    gold_i = np.asarray(votes.gold_i)
    majority, other = (fit_rule(rule, replace(votes, gold_i=None)) for rule in (MAJORITY, WEIGHTED_VOTE))
    published = float(not count_kinds(votes, majority, other).sample.is_random)
    with_gold = np.flatnonzero((gold_i >= 0) & (votes.votes_i > 0))
    votes, majority, other = take_items(votes, with_gold), majority.take(with_gold), other.take(with_gold)
    gold_i, known = gold_i[with_gold], np.arange(len(with_gold))
    wrong = known[chances(majority.posterior[known])[np.arange(len(known)), gold_i[known]] == 0]
    rng, row = np.random.default_rng(0), []
    for column in COLUMNS[:-1]:
        kind, n = column.split()[0], int(column.split()[1])
        n_wrong = {"random": 0, "half": n // 2, "errors": n}[kind]
        if len(known) < 2 * n or len(wrong) < n_wrong:
            row.append(np.nan)
            continue
        count = 0
        for _ in range(draws):
            errors = rng.choice(wrong, n_wrong, replace=False)
            rest = rng.choice(np.setdiff1d(known, errors), n - n_wrong, replace=False)
            some_i = np.full(len(gold_i), -1)
            some_i[np.r_[errors, rest]] = gold_i[np.r_[errors, rest]]
            count += not count_kinds(replace(votes, gold_i=some_i), majority, other).sample.is_random
        row.append(100 * count / draws)
    return [*row, published]


def main() -> None:
    """Print a row for every set, and the goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--draws", type=int, default=400)
    options = parser.parse_args()
    print(" " * 20 + "".join(f"{name:>12}" for name in COLUMNS))
    rows = []
    for name, votes in data_sets(Path(os.environ["MAJORANT_DATA"])):
        if votes.gold_i is None or (options.sets and name not in options.sets) or len(votes.labels) < 2:
            continue
        rows.append(refused(votes, options.draws))
        print(f"{name[:19]:20}" + "".join(f"{x:12.1f}" for x in rows[-1]), flush=True)
    table = np.array(rows)
    print(f"{'mean':20}" + "".join(f"{x:12.1f}" for x in np.nanmean(table, axis=0)))
    worst = float(np.nanmax(table[:, :2]))
    noise = 100 * 3 * np.sqrt(0.05 * 0.95 / options.draws)
    board.at_most(
        "random gold refused, worst set", f"{worst:.1f}%", "5% and three standard errors", worst / (5 + noise), 1
    )
    board.at_least("lists of 30 errors recognised", f"{np.nanmean(table[:, 4]):.0f}%", "100%",
                   float(np.nanmean(table[:, 4])) / 100, 1)  # fmt: skip


if __name__ == "__main__":
    main()
