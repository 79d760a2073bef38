"""The real data sets, read from the folder that MAJORANT_DATA names; tests skip where it is missing."""

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from majorant.estimate.fit import TIE_TOLERANCE
from majorant.votes import Votes

NAMES = ("SP", "SP_amt", "ZenCrowd_in", "CF_amt", "MS", "D-Product")


@cache
def load(name, copies=None):
    """Votes with gold; exact copies of a vote are merged in CF_amt, or where `copies` says "merged"; else all count."""
    folder = os.environ.get("MAJORANT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("MAJORANT_DATA does not name the folder of the real data sets")
    triples, truth = _product(Path(folder)) if name == "D-Product" else _toolkit(Path(folder), name)
    if name == "CF_amt" or copies == "merged":
        triples = list(dict.fromkeys(triples))
    items, workers = (list(dict.fromkeys(t[c] for t in triples)) for c in (0, 1))
    labels = sorted({t[2] for t in triples} | {truth[i] for i in items if i in truth})
    code = [{value: at for at, value in enumerate(values)} for values in (items, workers, labels)]
    codes = np.array([[code[c][t[c]] for c in range(3)] for t in triples]).T
    gold = [code[2][truth[i]] if i in truth else -1 for i in items]
    return Votes.from_codes(*codes, items=items, workers=workers, labels=labels, gold=gold)


def expected_accuracy(answer, gold_i):
    """The share of items with gold that are labelled right, ties broken at random, in expectation."""
    known = np.flatnonzero(gold_i >= 0)
    score = answer.posterior[known]
    best = score >= score.max(axis=1, keepdims=True) - TIE_TOLERANCE
    return float((best[np.arange(len(known)), gold_i[known]] / best.sum(axis=1)).mean())


def _toolkit(folder, name):
    with (folder / "active-crowd-toolkit" / f"{name}.csv").open(newline="") as file:
        rows = [row[:4] for row in csv.reader(file)]
    return [(item, worker, label) for worker, item, label, _ in rows], {item: gold for _, item, _, gold in rows}


def _product(folder):
    with (folder / "crowd-truth-inference" / "d_jn-product" / "label.csv").open(newline="") as file:
        triples = [tuple(row) for row in csv.reader(file)][1:]
    with (folder / "crowd-truth-inference" / "d_jn-product" / "truth.csv").open(newline="") as file:
        return triples, dict(list(csv.reader(file))[1:])
