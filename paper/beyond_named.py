"""Beyond the paper: verdicts with one confusion matrix per worker, on all six real data sets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from majorant.evidence.certificate.design import worker_sets
from majorant.evidence.labels import gold_accuracy
from majorant.methods import Fit
from majorant.methods.known_workers import AnchorMap
from majorant.methods.majority import Majority
from majorant.theory.panel import panel_margins
from majorant.votes import Votes
from paper.item import Cell, Context, Item, Outcome, compare
from paper.sets import DATA, MULTICLASS, present

SMOOTHING = 1.0  # pseudo-votes: many workers gave only a few
NOTES = (
    "A confusion matrix for each worker, counted on gold with one pseudo-vote in each cell. 'Votes seen' looks at "
    "the votes that were cast, 'every vote' at all that the item's workers could have cast. Left out: an accuracy "
    "for which no item was judged by its own gold label.",
    "Where the best rule may know who voted, majority vote is optimal for few crews of real workers, yet on the votes "
    "that were cast it decides 87 % or more of the untied items as that rule does.",
)


def run(context: Context) -> Outcome:
    """Per-item verdicts under one matrix per worker."""
    here, missing = present(context)
    cells: list[Cell] = []
    for done, (name, votes) in enumerate(here.items()):
        cells += _cells(name, votes, every_vote=not (context.quick and name in MULTICLASS))
        context.progress((done + 1) / len(here))
    return Outcome(cells=tuple(cells), notes=NOTES, missing=missing)


def _cells(name: str, votes: Votes, *, every_vote: bool) -> Iterator[Cell]:
    fit = AnchorMap(shared=False, smoothing=SMOOTHING).fit(votes)
    majority_i = Majority().fit(votes).codes()
    untied = majority_i >= 0
    yield compare(f"{name}, share of items tied", None, float(1 - untied.mean()))
    agree = fit.codes("first")[untied] == majority_i[untied]
    yield compare(f"{name}, votes seen: untied items decided as the best rule would", None, float(agree.mean()))
    top_i = fit.posterior.max(axis=1)[untied]
    lost = float(np.mean(top_i - fit.posterior[np.flatnonzero(untied), majority_i[untied]]))
    yield compare(f"{name}, votes seen: loss of majority under the model", None, lost)
    if every_vote:
        yield compare(f"{name}, every vote: share of items whose crew makes majority optimal", None, _share(votes, fit))
    yield compare(f"{name}, accuracy of majority", None, _accuracy(votes, Majority().fit(votes)))
    honest = AnchorMap(shared=False, leave_one_out=True).fit(votes)
    yield compare(f"{name}, accuracy of the named rule, left out", None, _accuracy(votes, honest))


def _share(votes: Votes, fit: Fit) -> float:
    """The share of items on whose workers majority vote is optimal, however they vote."""
    assert fit.confusion is not None
    optimal = 0.0
    for sets in worker_sets(votes):
        margin_s = panel_margins(fit.prior, fit.confusion, sets.worker_sh)
        optimal += float(sets.items_s[margin_s > 0].sum())
    return optimal / len(votes.items)


def _accuracy(votes: Votes, fit: Fit) -> float:
    answer = gold_accuracy(votes, fit, level=0.95)
    assert answer is not None
    return answer.value


ITEM = Item("beyond-named", "Beyond the paper: workers who differ, on all six data sets", run, DATA)
