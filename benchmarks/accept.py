"""How many items need no expert on public data sets, and how often is the promise broken?

    MAJORANT_DATA=... python benchmarks/accept.py [--draws 40]

For each set with 400 gold labels: the share of items that `majorant.accept` accepts at 90% with 100 labels and at 95%
with 200, mean over random draws of the labels, and in how many draws fewer of them were right.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace

import numpy as np

import majorant as mj
from benchmarks.track_record import public_sets
from majorant.items import take_items


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40)
    draws = parser.parse_args().draws
    warnings.simplefilter("ignore")
    accepted: dict[float, list[float]] = {0.9: [], 0.95: []}
    broken: dict[float, list[float]] = {0.9: [], 0.95: []}
    for name, votes in public_sets():
        assert votes.gold_i is not None
        known = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
        if len(known) < 400:
            continue
        some = take_items(votes, known)
        truth_i, line = some.gold_i, f"{name:20}{len(known):7,}"
        blind = replace(some, gold_i=None)
        for at, n_labels in ((0.9, 100), (0.95, 200)):
            shares, fails = [], 0
            for draw in range(draws):
                picked = np.random.default_rng(draw).permutation(len(known))[:n_labels]
                gold = {blind.items[i]: blind.labels[truth_i[i]] for i in picked}
                found = mj.accept(blind, gold, at=at)
                n = found.n_accepted
                shares.append(found.share)
                fails += bool(n and (found.label_n[:n] == truth_i[found.item_n[:n]]).mean() < at)
            accepted[at].append(100 * float(np.mean(shares)))
            broken[at].append(100 * fails / draws)
            line += f"   {100 * at:g}%: {accepted[at][-1]:4.0f} ({broken[at][-1]:.0f})"
        print(line, flush=True)
    for at, shares in accepted.items():
        print(
            f"{len(shares)} sets at {100 * at:g}%: {np.mean(shares):.1f}% accepted, "
            f"broken in at most {max(broken[at]):.0f}% of draws"
        )


if __name__ == "__main__":
    main()
