"""Public data sets for tests, and what an independent implementation reaches on them."""

import csv
import os
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from majorant import datasets
from majorant.evidence.labels import gold_accuracy
from majorant.pipeline import check
from majorant.read import read
from needs import NO_DATA
from paper.sets import without_copies

GOLDEN = Path(__file__).parent / "golden" / "real-accuracy.csv"


@cache
def load(name, *, copies_merged=False):
    """The votes of a data set, with exact copies of a vote merged if asked; skips where it is not on this machine."""
    if any(datasets.local_path(file) is None for file in datasets.find(name).files):
        pytest.skip(NO_DATA)
    votes = datasets.load(name)
    return without_copies(votes) if copies_merged else votes


@cache
def read_set(name):
    """The votes of any set in the folder `MAJORANT_DATA`, with their gold labels."""
    folder = os.environ.get("MAJORANT_DATA")
    found = (
        [] if folder is None else [path.parent for path in Path(folder).rglob("truth.csv") if path.parent.name == name]
    )
    if not found:
        pytest.skip(NO_DATA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read(found[0] / "label.csv", gold_file=found[0] / "truth.csv", repeats="each")


@cache
def checked(name, *, gold):
    """What `check` finds of a data set, with its gold labels or without."""
    votes = load(name)
    return check(votes if gold else replace(votes, gold_i=None), rng=0)


def checked_together(name, *, gold):
    """A mark for tests of `checked`: those of one set run on the same core, which checks it once."""
    return pytest.mark.xdist_group(f"checked {name} {gold}")


def accuracy(votes, answer):
    """The share of gold items labelled right, ties broken at random, in expectation."""
    return gold_accuracy(votes, answer, level=0.95).value


def golden(method):
    """The accuracies of an independent implementation, by data set."""
    with GOLDEN.open() as file:
        rows = list(csv.DictReader(file))
    return {r["dataset"]: float(r["accuracy"]) for r in rows if (r["method"], r["source"]) == (method, "independent")}
