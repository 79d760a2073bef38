"""Do the methods label at least as well as crowd-kit's on public data sets?

    MAJORANT_DATA=... python benchmarks/references.py

For Dawid-Skene, one-coin and GLAD, `majorant.compat.crowdkit` gives crowd-kit's own numbers (tests/compat).  MACE is
compared where crowd-kit is installed (with one restart: all of them start from the same seed), on sets of up to 20,000
votes, which take it minutes.  Exits with 1 if Dawid-Skene is more than half a point below on any set.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd

import majorant.compat.crowdkit as same
from majorant.methods import ESTIMATORS
from majorant.values import FloatArray
from majorant.votes import Votes
from track_record import public_sets

PAIRS = {"dawid-skene": "DawidSkene", "one-coin": "OneCoinDawidSkene", "glad": "GLAD", "mace": "MACE"}
MOST_VOTES = {"glad": 100_000, "mace": 20_000}


def accuracy(votes: Votes, posterior_ik: FloatArray) -> float:
    """The percentage of gold items labelled right; ties count by their share."""
    assert votes.gold_i is not None
    known = np.flatnonzero(votes.gold_i >= 0)
    score_ik = np.asarray(posterior_ik)[known]
    best_ik = score_ik >= score_ik.max(axis=1, keepdims=True) - 1e-9
    return float(100 * (best_ik[np.arange(len(known)), votes.gold_i[known]] / best_ik.sum(axis=1)).mean())


def reference(method: str, votes: Votes) -> Any:
    """crowd-kit's probabilities, by item and label code; None if it cannot be run."""
    if votes.n_votes > MOST_VOTES.get(method, 1_000_000):
        return None
    if method == "mace":
        if importlib.util.find_spec("crowdkit") is None:
            return None
        model = importlib.import_module("crowdkit.aggregation").MACE(n_restarts=1)
    else:
        model = getattr(same, PAIRS[method])()
    frame = pd.DataFrame({"task": votes.item_n, "worker": votes.worker_n, "label": votes.label_n})
    table = model.fit(frame).probas_
    return table.reindex(index=range(len(votes.items)), columns=range(len(votes.labels))).fillna(0).to_numpy()


def main() -> int:
    """Print a row per set, and a summary per method."""
    warnings.simplefilter("ignore")
    lead: dict[str, list[float]] = {method: [] for method in PAIRS}
    print(f"{'ours minus crowd-kit, points':<28}" + "".join(f"{method:>14}" for method in PAIRS))
    for name, votes in public_sets():
        cells = []
        for method in PAIRS:
            theirs = reference(method, votes)
            if theirs is None:
                cells.append(f"{'-':>14}")
                continue
            ours = ESTIMATORS[method]().fit(votes)
            lead[method].append(accuracy(votes, ours.posterior) - accuracy(votes, theirs))
            cells.append(f"{lead[method][-1]:>+14.1f}")
        print(f"{name:<28}" + "".join(cells), flush=True)
    for what, of in (("mean", np.mean), ("worst", np.min), ("sets below -.5", lambda x: (np.array(x) < -0.5).sum())):
        print(f"{what:<28}" + "".join(f"{of(lead[m]):>+14.1f}" if lead[m] else f"{'-':>14}" for m in PAIRS))
    return int(min(lead["dawid-skene"]) < -0.5)


if __name__ == "__main__":
    sys.exit(main())
