"""Panel, crowd or thin crowd: which rule to use while there are no labels."""

from __future__ import annotations

from enum import StrEnum

from majorant.backend import Backend, as_backend
from majorant.backend.base import AnyVotes
from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.evidence.certificate.claims import whole_or_sample
from majorant.evidence.track_record import FEWEST_VOTES, Setting
from majorant.methods.weighted_vote import differ_beyond_noise
from majorant.tally import is_panel
from majorant.values import as_generator
from majorant.votes import Votes


class Kind(StrEnum):
    """Who voted."""

    PANEL = "panel"  # a few judges who label (nearly) everything
    CROWD = "crowd"
    THIN_CROWD = "thin crowd"  # too few votes per worker to tell workers apart


def kind_of(votes: AnyVotes) -> Kind:
    """A panel fills at least half of the table; a thin crowd has fewer than 10 votes per worker.

    >>> kind_of(Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes")))
    <Kind.PANEL: 'panel'>
    """
    if is_panel(votes.shape, votes.n_votes):
        return Kind.PANEL
    return Kind.CROWD if votes.n_votes >= FEWEST_VOTES * votes.shape[1] else Kind.THIN_CROWD


def label_free_rule(votes: Votes | Backend, seed: int = 0) -> str:
    """The rule to use without labels: the weighted vote where it has a good track record, else majority vote.

    On public panels and thin crowds the weighted vote loses to majority vote as often as it gains.
    """
    backend = as_backend(votes)
    _, n_workers, _ = backend.votes.shape
    setting = Setting(
        panel=is_panel(backend.votes.shape, backend.votes.n_votes),
        votes_per_worker=backend.votes.n_votes / max(n_workers, 1),
        workers_differ=differ_beyond_noise(whole_or_sample(backend, rng=as_generator(seed)).votes),
    )
    return WEIGHTED_VOTE if setting.teaches else MAJORITY
