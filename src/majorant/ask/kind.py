"""Panel, crowd or thin crowd: which rule to use while there are no labels."""

from __future__ import annotations

from enum import StrEnum

from majorant.backend import COMBINATION
from majorant.backend.base import AnyVotes
from majorant.defaults import MAJORITY

PANEL_JUDGES = 15
PANEL_FILL = 0.5  # of the table of items and workers
VOTES_PER_WORKER = 10


class Kind(StrEnum):
    """Who voted."""

    PANEL = "panel"  # a few judges who label (nearly) everything
    CROWD = "crowd"
    THIN_CROWD = "thin crowd"  # too few votes per worker to tell workers apart


def kind_of(votes: AnyVotes) -> Kind:
    """Panel, crowd or thin crowd, by the numbers of items, workers and votes.

    >>> from majorant.votes import Votes
    >>> kind_of(Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes")))
    <Kind.PANEL: 'panel'>
    """
    n_items, n_workers, _ = votes.shape
    if n_workers <= PANEL_JUDGES or votes.n_votes > PANEL_FILL * n_items * n_workers:
        return Kind.PANEL
    return Kind.CROWD if votes.n_votes >= VOTES_PER_WORKER * n_workers else Kind.THIN_CROWD


def label_free_rule(votes: AnyVotes) -> str:
    """The rule to use without labels: the weighted vote on crowds that vote enough, else majority vote.

    On public panels and thin crowds the weighted vote loses to majority vote as often as it gains.
    """
    return COMBINATION if kind_of(votes) is Kind.CROWD else MAJORITY
