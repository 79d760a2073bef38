"""A stand-in for the expert: a file, a column or a stronger judge labels the items of a design."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from majorant.ask.design import Design
from majorant.errors import DataError
from majorant.items import without_workers
from majorant.votes import Votes


def answer_design(design: Design, label_of: Mapping[str, Any], most: int) -> tuple[Design, dict[Any, Any]]:
    """Extend a design until it is settled or `most` items are labelled; return it and labels by item, "?" if missing.

    >>> import majorant as mj
    >>> votes, truth = mj.simulate([.5, .5], [[.9, .1], [.6, .4]], n_items=300, n_votes=5, rng=0)
    >>> design = mj.ask(votes, between=("majority", "dawid-skene"), n=10)
    >>> known = {str(item): votes.labels[k] for item, k in zip(votes.items, truth)}
    >>> longer, labels = answer_design(design, known, most=100)
    >>> longer.evaluate(labels).verdict, len(labels) < 100
    ('better', True)
    """
    while True:
        labels = {item: label_of.get(str(item), "?") for item in design.items}
        longer = design.more(min(design.next_batch, most - len(labels)), labels)
        if len(longer.items) == len(design.items) or design.evaluate(labels).decided:
            return design, labels
        design = longer


def labels_of_worker(votes: Votes, worker: str) -> dict[str, Any]:
    """The labels that one worker gave, by item; the last vote counts."""
    own = np.flatnonzero(votes.worker_n == _code_of(votes, worker))
    return {str(votes.items[votes.item_n[n]]): votes.labels[votes.label_n[n]] for n in own}


def without_worker(votes: Votes, worker: str) -> Votes:
    """The votes of all other workers, because rules must not see the votes of the worker who judges them."""
    return without_workers(votes, np.arange(len(votes.workers)) == _code_of(votes, worker))


def votes_of_design(design: Design, votes: Votes) -> Votes:
    """The votes that a design was drawn for: without the worker whose labels answer it, if there is one."""
    return votes if design.judged_by is None else without_worker(votes, design.judged_by)


def _code_of(votes: Votes, worker: str) -> int:
    for code, name in enumerate(votes.workers):
        if str(name) == worker:
            return code
    raise DataError(f"No worker is called {worker!r}.")
