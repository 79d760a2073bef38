"""Public data sets for tests, and what an independent implementation reaches on them."""

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from majorant import datasets
from majorant.estimate.fit import TIE_TOLERANCE

GOLDEN = Path(__file__).parent / "golden" / "real-accuracy.csv"


@cache
def _votes(name):
    return datasets.load(name)


def load(name):
    """The votes of a data set; the test is skipped where it is not on this machine."""
    if any(datasets.local_path(file) is None for file in datasets.find(name).files):
        pytest.skip(f"{name} is neither in the folder that MAJORANT_DATA names nor in the download cache")
    return _votes(name)


def accuracy(votes, answer):
    """The share of gold items labelled right, a tie right by the chance of drawing the truth among the tied."""
    known = np.flatnonzero(votes.gold_i >= 0)
    posterior = answer.posterior[known]
    best = posterior >= posterior.max(axis=1, keepdims=True) - TIE_TOLERANCE
    return float((best[np.arange(len(known)), votes.gold_i[known]] / best.sum(axis=1)).mean())


def golden(method):
    """The accuracies of an independent implementation, by data set."""
    with GOLDEN.open() as file:
        rows = list(csv.DictReader(file))
    return {r["dataset"]: float(r["accuracy"]) for r in rows if (r["method"], r["source"]) == (method, "independent")}
