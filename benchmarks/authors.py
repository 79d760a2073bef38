"""How fast are EBCC and BWA beside the code of their authors, Li, Rubinstein & Cohn?

python benchmarks/authors.py FOLDER [votes]     1e6 votes by default, a minute; FOLDER holds their ebcc.py and bwa.py

Their code (github.com/yuan-li/truth-inference-at-scale, folder code) is on no package index and is not ours to copy:
put the two files into a folder, and name it here or in the environment variable MAJORANT_AUTHORS.  Without it there
is nothing to measure, and the script says so.  Both sides start from votes in memory and stop by their own rule, ours
the later; `same labels` is the share of items that both label alike.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import board
from clock import by_turns
from majorant.methods.bwa import BWA
from majorant.methods.ebcc import EBCC
from majorant.votes import Votes
from methods import crowd

FOLDER = "MAJORANT_AUTHORS"
GOAL = 2.0
REPEATS = 3


def rows(votes: Votes, theirs: Any) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """What is compared: our call, and theirs, which gives the scores of each item's classes."""
    bwa, ebcc = theirs
    vote_n3 = np.column_stack([votes.item_n, votes.worker_n, votes.label_n]).astype(np.int64)
    one_start = EBCC(subtypes=1)
    return {
        "bwa": (lambda: BWA().fit(votes), lambda: bwa.bwa(vote_n3)),
        "ebcc, one start": (
            lambda: one_start.fit(votes),
            lambda: ebcc.ebcc_vb(vote_n3, empirical_prior=True)[0],
        ),
        "ebcc, both starts": (
            lambda: EBCC().fit(votes),
            lambda: ebcc.ebcc_vb(vote_n3, empirical_prior=True)[0],
        ),
    }


def main(folder: Path, n_votes: int) -> None:
    """Print a row per method."""
    sys.path.insert(0, str(folder))
    votes = crowd(n_votes, 2)
    print(f"{'method':<24}{'votes':>12}{'ours, s':>10}{'authors, s':>12}{'ratio':>8}{'same labels':>13}")
    for name, (ours, theirs) in rows(votes, [importlib.import_module(name) for name in ("bwa", "ebcc")]).items():
        alike = float((ours().posterior.argmax(axis=1) == np.asarray(theirs()).argmax(axis=1)).mean())
        mine, other = by_turns(ours, theirs, repeats=REPEATS)
        print(f"{name:<24}{n_votes:12,}{mine:10.2f}{other:12.2f}{other / mine:8.1f}{alike:13.2%}", flush=True)
        if "six" not in name:
            told = (f"{mine:.2f} s", f"the authors' code {other:.1f} s")
            board.at_least(f"{name}, {n_votes:.0e} votes, K = 2", *told, other / mine, GOAL)


if __name__ == "__main__":
    named = sys.argv[1] if len(sys.argv) > 1 else os.environ.get(FOLDER, "")
    place = Path(named)
    if not named or not all((place / name).is_file() for name in ("bwa.py", "ebcc.py")):
        print(f"Skipped: name the folder with the authors' bwa.py and ebcc.py, as argument or in {FOLDER}.")
    else:
        main(place, int(float(sys.argv[2])) if len(sys.argv) > 2 else 1_000_000)
