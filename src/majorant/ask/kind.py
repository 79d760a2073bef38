"""Panel, crowd or thin crowd: which rule to use while there are no labels."""

from __future__ import annotations

from enum import StrEnum

from majorant.backend.base import AnyVotes
from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.tally import is_panel


class Kind(StrEnum):
    """Who voted."""

    PANEL = "panel"  # a few judges who label (nearly) everything
    CROWD = "crowd"
    THIN_CROWD = "thin crowd"  # too few votes per worker to tell workers apart


def kind_of(votes: AnyVotes) -> Kind:
    """A table at least half full: a panel; fewer than 10 votes per worker: a thin crowd.

    >>> from majorant.votes import Votes
    >>> kind_of(Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes")))
    <Kind.PANEL: 'panel'>
    """
    if is_panel(votes.shape, votes.n_votes):
        return Kind.PANEL
    return Kind.CROWD if votes.n_votes >= 10 * votes.shape[1] else Kind.THIN_CROWD


def label_free_rule(votes: AnyVotes) -> str:
    """The rule to use without labels: the weighted vote on crowds that vote enough, else majority vote.

    On public panels and thin crowds the weighted vote loses to majority vote as often as it gains.
    """
    return WEIGHTED_VOTE if kind_of(votes) is Kind.CROWD else MAJORITY
