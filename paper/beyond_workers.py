"""Beyond the paper: the errors of each worker, counted on gold labels, which one shared matrix cannot describe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from majorant.values import FloatArray
from majorant.votes import Votes
from paper import draw
from paper.item import Cell, Context, Item, Outcome, Picture, compare
from paper.sets import DATA, gold, present

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_VOTES = 10  # below this a worker's accuracy says next to nothing
QUANTILES = {"lowest": 0.0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "highest": 1.0}
CAPTION = (
    "Accuracy of every worker with at least ten votes, against gold; the larger the dot, the more votes. The line is "
    "the accuracy of all votes together, which a shared confusion matrix gives to everybody; dotted, guessing."
)
NOTES = (
    "The paper gives every worker one matrix. Counted on gold, workers differ far beyond chance in all six sets: the "
    "test compares a matrix for each worker with a shared one (likelihood ratio, workers with at least ten votes).",
)


def run(context: Context) -> Outcome:
    """How workers differ, in numbers and in one figure."""
    here, missing = present(context)
    cells = [cell for name, votes in here.items() for cell in _cells(name, votes)]
    pictures = (Picture("beyond-workers", CAPTION, draw.svg((9, 5.5), lambda f: _fill(f, here))),) if here else ()
    return Outcome(cells=tuple(cells), pictures=pictures, notes=NOTES, missing=missing)


def worker_counts(votes: Votes) -> FloatArray:
    """Votes of each worker by gold class and label, (J, K, K)."""
    count_jkl = np.zeros((len(votes.workers), len(votes.labels), len(votes.labels)))
    np.add.at(count_jkl, (votes.worker_n, gold(votes)[votes.item_n], votes.label_n), 1)
    return count_jkl


def _cells(name: str, votes: Votes) -> Iterator[Cell]:
    count_jkl = worker_counts(votes)
    votes_j = count_jkl.sum(axis=(1, 2))
    known = votes_j >= LEAST_VOTES
    accuracy_j = np.trace(count_jkl[known], axis1=1, axis2=2) / votes_j[known]
    yield compare(f"{name}, workers", None, len(votes_j))
    yield compare(f"{name}, workers with at least {LEAST_VOTES} votes", None, int(known.sum()))
    yield compare(f"{name}, votes of a worker, median", None, float(np.median(votes_j)))
    for title, q in QUANTILES.items():
        yield compare(f"{name}, accuracy of workers, {title}", None, float(np.quantile(accuracy_j, q)))
    yield compare(f"{name}, workers below chance", None, float(np.mean(accuracy_j < 1 / len(votes.labels))))
    if len(votes.labels) == 2:
        yield from _two_classes(name, count_jkl[known])
    ratio, p_value = shared_or_not(count_jkl[known])
    yield compare(f"{name}, likelihood ratio over its degrees of freedom", None, ratio)
    yield compare(f"{name}, p-value of one matrix for all", None, p_value)


def _two_classes(name: str, count_jkl: FloatArray) -> Iterator[Cell]:
    """The spread of T00 and T11 over workers, and their correlation."""
    total_jk = count_jkl.sum(axis=2)
    both = (total_jk >= LEAST_VOTES / 2).all(axis=1)
    right_jk = np.diagonal(count_jkl, axis1=1, axis2=2)[both] / total_jk[both]
    for k, title in enumerate(("T00", "T11")):
        yield compare(f"{name}, {title} of workers, mean", None, float(right_jk[:, k].mean()))
        yield compare(f"{name}, {title} of workers, standard deviation", None, float(right_jk[:, k].std()))
    yield compare(f"{name}, correlation of T00 and T11", None, float(np.corrcoef(right_jk.T)[0, 1]))


def shared_or_not(count_jkl: FloatArray) -> tuple[float, float]:
    """Likelihood-ratio test of one matrix per worker against a shared one: statistic per degree of freedom, p-value.

    >>> ratio, p_value = shared_or_not(np.array([[[8., 2.], [2., 8.]], [[80., 20.], [20., 80.]]]))
    >>> round(ratio, 6), p_value
    (0.0, 1.0)
    """
    from scipy.special import xlogy
    from scipy.stats import chi2

    total_jk = count_jkl.sum(axis=2, keepdims=True)
    shared_kl = count_jkl.sum(axis=0)
    shared_kl = shared_kl / shared_kl.sum(axis=1, keepdims=True)
    expected_jkl = total_jk * shared_kl
    safe_jkl = np.where(expected_jkl > 0, expected_jkl, 1.0)
    gain = 2 * float(xlogy(count_jkl, count_jkl / safe_jkl).sum())
    rows_k = (total_jk[..., 0] > 0).sum(axis=0)
    labels_k = (shared_kl > 0).sum(axis=1)
    freedom = int(((rows_k - 1) * (labels_k - 1)).sum())
    return gain / freedom, float(chi2.sf(gain, freedom))


def _fill(figure: Figure, here: dict[str, Votes]) -> None:
    panels = figure.subplots(2, 3, sharey=True)
    for axes, (name, votes) in zip(panels.flat, here.items(), strict=False):
        _panel(axes, name, votes)
    for axes in panels[:, 0]:
        axes.set_ylabel("share of votes right")
    for axes in panels[1]:
        axes.set_xlabel("workers, from the least accurate")


def _panel(axes: Axes, name: str, votes: Votes) -> None:
    count_jkl = worker_counts(votes)
    votes_j, right_j = count_jkl.sum(axis=(1, 2)), np.trace(count_jkl, axis1=1, axis2=2)
    known = np.flatnonzero(votes_j >= LEAST_VOTES)
    order = known[np.argsort(right_j[known] / votes_j[known], kind="stable")]
    size = 4 + 60 * votes_j[order] / votes_j.max()
    axes.scatter(np.arange(len(order)), right_j[order] / votes_j[order], s=size, color=draw.BLUE, alpha=0.6, lw=0)
    axes.axhline(right_j.sum() / votes_j.sum(), color=draw.RED, linewidth=1.2)
    axes.axhline(1 / len(votes.labels), color="#777777", linewidth=1, linestyle=":")
    axes.set(title=f"{name}: {len(order)} workers", ylim=(-0.03, 1.03))


ITEM = Item("beyond-workers", "Beyond the paper: the noise of each worker", run, DATA)
