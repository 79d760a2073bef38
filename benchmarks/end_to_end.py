"""How long does it take from a CSV file with string ids to labels.csv, compared with crowd-kit and pandas?

python benchmarks/end_to_end.py [votes]     1e6 votes by default, two minutes; needs crowd-kit
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import board
from clock import best_seconds, seconds
from majorant.methods import ESTIMATORS
from majorant.methods.dawid_skene import DawidSkene
from majorant.output import votes_table, write_table
from majorant.read import read
from majorant.results.labels import label_table
from methods import crowd

GOALS = {"majority": 5.0, "dawid-skene, 10 steps": 30.0}


def ours(path: Path, out: Path, model: object) -> None:
    """Read, fit, write."""
    votes = read(str(path))
    write_table(out, label_table(votes, model.fit(votes)))  # type: ignore[attr-defined]


def theirs(path: Path, out: Path, make: Callable[[], object]) -> None:
    """The same with pandas and crowd-kit."""
    import pandas as pd

    frame = pd.read_csv(path).rename(columns={"item": "task"})
    make().fit_predict(frame).to_csv(out)  # type: ignore[attr-defined]


def main(n_votes: int) -> None:
    """Print a row per method."""
    from crowdkit.aggregation import DawidSkene as TheirDawidSkene
    from crowdkit.aggregation import MajorityVote

    rows = {
        "majority": (ESTIMATORS["majority"](), MajorityVote),
        "dawid-skene, 10 steps": (
            DawidSkene(max_iter=10, min_rise=None, tol=0.0, accelerate=False),
            lambda: TheirDawidSkene(n_iter=10, tol=0),
        ),
    }
    print(f"{'from CSV to labels.csv':26}{'votes':>12}{'ours, s':>10}{'crowd-kit, s':>14}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        votes = crowd(n_votes, 2)
        table = votes_table(votes)
        for role in ("item", "worker", "label"):
            codes = getattr(votes, f"{role}_n").tolist()
            table[role] = [f"{role}_{code:07}" for code in codes]
        path = write_table(folder / "votes.csv", {role: table[role] for role in ("item", "worker", "label")})
        for what, (model, make) in rows.items():
            mine = best_seconds(lambda m=model: ours(path, folder / "labels.csv", m), 3)
            other = seconds(lambda f=make: theirs(path, folder / "theirs.csv", f))
            print(f"{what:26}{n_votes:12,}{mine:10.2f}{other:14.2f}{other / mine:8.1f}", flush=True)
            board.at_least(
                f"{what}, CSV with string ids to labels.csv, {n_votes:.0e} votes",
                f"{mine:.2f} s",
                f"crowd-kit {other:.1f} s",
                other / mine,
                GOALS[what],
            )


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000)
