"""Beyond the paper: verdicts for MS and CF_amt, which the main table leaves open, by the general multiclass margin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from majorant.theory import gap, majority_accuracy, majority_witness, map_accuracy, verdict
from majorant.values import FloatArray
from majorant.votes import Votes
from paper.item import Cell, Context, Item, Outcome, compare
from paper.printed import printed
from paper.sets import MULTICLASS, REAL, class_shares, present, vote_confusion

LEAST_SHARE = 0.01  # numbers of votes that fewer items hold are left out
NOTES = (
    "The paper leaves these two sets open ('?'). The margin is exact for any confusion matrix and any prior; the "
    "witness is a vote that majority and the optimal rule decide differently. T is counted vote by vote on gold, and "
    "taken for the truth: a plug-in verdict, without a level, which beyond-certificates has. Ties drawn.",
)


def run(context: Context) -> Outcome:
    """Margin, witness and loss for each number of votes, and at the printed matrix."""
    here, missing = present(context, MULTICLASS)
    cells: list[Cell] = []
    for name, votes in here.items():
        names = [str(label) for label in votes.labels]
        prior_k, confusion_kl, n_typical = printed_model(name)
        cells += _cells(f"{name}, printed nu, T and H = {n_typical}", prior_k, confusion_kl, n_typical, names)
        for n_votes in common_sizes(votes):
            key = f"{name}, vote by vote, {n_votes} vote{'s' if n_votes > 1 else ''}"
            cells += _cells(key, class_shares(votes), vote_confusion(votes), n_votes, names)
    return Outcome(cells=tuple(cells), notes=NOTES, missing=missing)


def printed_model(name: str) -> tuple[FloatArray, FloatArray, int]:
    """The printed prior, anchor matrix and number of votes, with shares that sum to 1."""
    row = printed("table1")["real"][name]
    prior_k, printed_kl = np.array(row["nu"]), np.array(printed("anchors")["confusion"][name])
    return prior_k / prior_k.sum(), printed_kl / printed_kl.sum(axis=1, keepdims=True), row["H"]


def common_sizes(votes: Votes) -> list[int]:
    """The numbers of votes per item that occur on at least 1% of the items."""
    sizes, items = np.unique(votes.votes_i, return_counts=True)
    return [int(size) for size in sizes[items >= LEAST_SHARE * len(votes.items)] if size > 0]


def _cells(key: str, prior_k: FloatArray, confusion_kl: FloatArray, n_votes: int, names: list[str]) -> Iterator[Cell]:
    witness = majority_witness(prior_k, confusion_kl, n_votes)
    yield replace(compare(f"{key}, verdict", None, verdict(witness.margin)), why=witness.words(names))
    numbers = {
        "margin in nats": witness.margin,
        "accuracy of majority": majority_accuracy(prior_k, confusion_kl, n_votes),
        "accuracy of the best rule": map_accuracy(prior_k, confusion_kl, n_votes),
        "loss of majority": gap(prior_k, confusion_kl, n_votes),
    }
    yield from (compare(f"{key}, {title}", None, value, exact=value) for title, value in numbers.items())


ITEM = Item(
    "beyond-multiclass",
    "Beyond the paper: multiclass verdicts for MS and CF_amt",
    run,
    tuple(REAL[name] for name in MULTICLASS),
)
