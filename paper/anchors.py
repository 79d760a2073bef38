"""The appendix's anchor matrices: counted vote by vote, and with the error behind the printed ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from majorant.values import FloatArray
from majorant.votes import Votes
from paper.item import Cell, Context, Item, Outcome, compare
from paper.printed import printed
from paper.sets import DATA, distinct_label_confusion, present, vote_confusion

NOTES = (
    "The published code adds to an array at a list of labels, and NumPy applies repeated indices once: each distinct "
    "label of an item counts once, however many workers gave it. Counted so, all 100 entries of MS come out as "
    "printed. Vote by vote, workers are right far more often: on MS 35 to 74 %, printed 26 to 49 %.",
)
EXCHANGED = (
    "The last row prints .27 in the place of .21 and .22 in the place of .27: the two entries are exchanged, and one "
    "is changed so that the row sums to 1."
)
ROW_SUM = "Rounded away from the slip's value so that the row sums to 1."
LAST_DIGIT = "The slip gives this to within .015; where the last digit comes from we do not know."


def run(context: Context) -> Outcome:
    """Both versions of every matrix."""
    table = printed("anchors")["confusion"]
    here, missing = present(context)
    cells = [cell for name, votes in here.items() for cell in _cells(name, votes, np.array(table[name]))]
    return Outcome(cells=tuple(cells), notes=NOTES, missing=missing)


def _cells(name: str, votes: Votes, printed_kl: FloatArray) -> Iterator[Cell]:
    right_kl, slipped_kl = vote_confusion(votes), distinct_label_confusion(votes)
    for k, l in np.ndindex(printed_kl.shape):
        was, label = float(printed_kl[k, l]), f"T[{votes.labels[k]}, {votes.labels[l]}]"
        yield compare(f"{name}, {label}, vote by vote", was, float(right_kl[k, l]), digits=2, errata=(4,))
    for k, l in np.ndindex(printed_kl.shape):
        was, slipped = float(printed_kl[k, l]), float(slipped_kl[k, l])
        label = f"T[{votes.labels[k]}, {votes.labels[l]}]"
        exchanged = name == "CF_amt" and k == len(votes.labels) - 1
        near = abs(was - slipped) <= 0.015
        yield compare(
            f"{name}, {label}, distinct labels",
            was,
            slipped,
            digits=2,
            errata=(38,) if exchanged else (),
            why=EXCHANGED if exchanged else "" if not near else ROW_SUM if name == "CF_amt" else LAST_DIGIT,
        )


ITEM = Item("anchors", "Anchor matrices of the real data sets", run, DATA)
