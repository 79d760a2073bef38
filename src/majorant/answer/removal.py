"""What would change without the workers that stand out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from majorant.answer.calibrate import Refit
from majorant.answer.workers import Workers
from majorant.estimate.fit import Fit
from majorant.votes import Votes

GROUNDS = ("adversarial", "near chance", "one label", "too fast", "redundant")  # flags that speak for removal


@dataclass(frozen=True, slots=True)
class Removal:
    """The rule fitted again without some workers' votes."""

    workers: int
    votes: int  # votes that go
    labels_changed: int  # items with another label, or with a tie opened or settled
    items_lost: int  # items left without votes


def removal(
    votes: Votes,
    labels: Fit,
    workers: Workers,
    refit: Refit,
    *,
    grounds: Sequence[str] = GROUNDS,
) -> Removal | None:
    """Fit again without the workers flagged for one of the grounds; None where nobody is, or nobody would remain."""
    gone_j = np.array([any(flag in grounds for flag in flags) for flags in workers.flags], dtype=bool)
    if not gone_j.any() or not (workers.votes_j[~gone_j] > 0).any():
        return None
    left = without_workers(votes, gone_j)
    after = refit(left)
    kept_i = left.votes_i > 0
    return Removal(
        workers=int(gone_j.sum()),
        votes=votes.n_votes - left.n_votes,
        labels_changed=int((after.codes() != labels.codes())[kept_i].sum()),
        items_lost=int(((votes.votes_i > 0) & ~kept_i).sum()),
    )


def without_workers(votes: Votes, gone_j: NDArray[np.bool_]) -> Votes:
    """The votes of the other workers; all items and workers keep their places."""
    kept = np.flatnonzero(~gone_j[votes.worker_n])
    return Votes.from_codes(
        votes.item_n[kept],
        votes.worker_n[kept],
        votes.label_n[kept],
        items=votes.items,
        workers=votes.workers,
        labels=votes.labels,
        account=votes.account,
        gold=votes.gold_i,
        abstained=votes.abstained_i,
        seconds=None if votes.seconds_n is None else votes.seconds_n[kept],
    )
