"""The six public data sets with golden accuracies, read from the folder that MAJORANT_DATA names."""

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from majorant.votes import Votes

MERGED = {"CF_amt"}  # exact copies of a vote are merged; elsewhere each row counts, ZenCrowd's repeats too
GOLDEN = Path(__file__).parent / "golden" / "real-accuracy.csv"


def _rows(name):
    folder = os.environ.get("MAJORANT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("MAJORANT_DATA names no folder with the public data sets")
    root = Path(folder)
    if name == "D-Product":
        with (root / "crowd-truth-inference/d_jn-product/truth.csv").open() as file:
            truth = {row["item"]: row["truth"] for row in csv.DictReader(file)}
        with (root / "crowd-truth-inference/d_jn-product/label.csv").open() as file:
            return [(r["worker"], r["item"], r["label"], truth.get(r["item"])) for r in csv.DictReader(file)]
    with (root / "active-crowd-toolkit" / f"{name}.csv").open() as file:
        rows = [tuple(row[:4]) for row in csv.reader(file)]
    return list(dict.fromkeys(rows)) if name in MERGED else rows


@cache
def load(name):
    """The votes with their gold labels; items and workers in order of appearance, labels sorted."""
    rows = _rows(name)
    workers, items = ({value: code for code, value in enumerate(dict.fromkeys(r[c] for r in rows))} for c in (0, 1))
    labels = {v: code for code, v in enumerate(sorted({r[2] for r in rows} | {r[3] for r in rows if r[3]}, key=int))}
    gold = np.full(len(items), -1)
    for _, item, _, truth in rows:
        if truth:
            gold[items[item]] = labels[truth]
    item, worker, label = ([codes[r[c]] for r in rows] for codes, c in ((items, 1), (workers, 0), (labels, 2)))
    names = {"items": list(items), "workers": list(workers), "labels": list(labels)}
    return Votes.from_codes(item, worker, label, **names, gold=gold)


def accuracy(votes, answer):
    """The share of gold items labelled right, a tie right by the chance of drawing the truth among the tied."""
    known = np.flatnonzero(votes.gold_i >= 0)
    posterior = answer.posterior[known]
    best = posterior >= posterior.max(axis=1, keepdims=True) - 1e-9
    return float((best[np.arange(len(known)), votes.gold_i[known]] / best.sum(axis=1)).mean())


def golden(name, method):
    """The accuracy of an independent implementation."""
    with GOLDEN.open() as file:
        for row in csv.DictReader(file):
            if (row["dataset"], row["method"], row["source"]) == (name, method, "independent"):
                return float(row["accuracy"])
    return None
