"""The paper's six real data sets, under their printed names, and how to count their confusion matrices."""

from __future__ import annotations

import numpy as np

from majorant.tally import counts
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes
from paper.item import Context

REAL = {
    "SP": "SP",
    "SP_amt": "SP_amt",
    "ZC_in": "ZenCrowd_in",
    "MS": "MS",
    "CF_amt": "CF_amt",
    "D-Product": "D-Product",
}  # printed name: name in `majorant data list`
MULTICLASS = ("MS", "CF_amt")
DATA = tuple(REAL.values())


def present(context: Context, names: tuple[str, ...] = tuple(REAL)) -> tuple[dict[str, Votes], tuple[str, ...]]:
    """The votes of the named sets by printed name, and which of them are missing."""
    loaded = {name: context.data(REAL[name]) for name in names}
    here = {name: votes for name, votes in loaded.items() if votes is not None}
    return here, tuple(REAL[name] for name in names if name not in here)


def gold(votes: Votes) -> IntArray:
    """The gold label of each item, as a code; every item of the paper's sets has one."""
    if votes.gold_i is None:
        raise ValueError("The paper's data sets carry gold labels.")
    return votes.gold_i


def class_shares(votes: Votes) -> FloatArray:
    """The share of each gold class among the items."""
    return np.bincount(gold(votes), minlength=len(votes.labels)) / len(votes.items)


def vote_confusion(votes: Votes) -> FloatArray:
    """P(label l | gold class k), counted vote by vote.

    >>> names = {"items": "a", "workers": "vwxyz", "labels": (0, 1)}
    >>> votes = Votes.from_codes([0] * 5, range(5), [0, 0, 0, 0, 1], **names, gold=[0])
    >>> vote_confusion(votes)[0].tolist(), distinct_label_confusion(votes)[0].tolist()
    ([0.8, 0.2], [0.5, 0.5])
    """
    return _confusion(counts(votes).astype(float), votes)


def distinct_label_confusion(votes: Votes) -> FloatArray:
    """The same, counting each distinct label of an item once, as the published code does (erratum 4)."""
    return _confusion((counts(votes) > 0).astype(float), votes)


def _confusion(count_il: FloatArray, votes: Votes) -> FloatArray:
    n_classes = len(votes.labels)
    count_kl = np.zeros((n_classes, n_classes))
    np.add.at(count_kl, gold(votes), count_il)
    total_k = count_kl.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(count_kl, total_k, out=np.full_like(count_kl, 1 / n_classes), where=total_k > 0))


def without_copies(votes: Votes) -> Votes:
    """The votes without rows that repeat a worker's label for an item (erratum 34)."""
    code_n = np.stack([votes.item_n, votes.worker_n, votes.label_n], axis=1)
    kept = np.sort(np.unique(code_n, axis=0, return_index=True)[1])
    item_n, worker_n, label_n = code_n[kept].T
    return Votes.from_codes(
        item_n, worker_n, label_n, items=votes.items, workers=votes.workers, labels=votes.labels, gold=votes.gold_i
    )
