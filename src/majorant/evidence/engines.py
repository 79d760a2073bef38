"""The sources of evidence without labels, in the table ENGINES: each turns a `Comparison` into `Evidence`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.evidence.certificate.certificate import Verdict
from majorant.evidence.comparison import Comparison
from majorant.evidence.evidence import Evidence, Source
from majorant.evidence.identical import count_differences
from majorant.evidence.track_record import expected_lead, track_record
from majorant.items import sum_parts


def by_track_record(comparison: Comparison) -> tuple[Evidence, ...]:
    """What the weighted vote gained on public data sets like this one."""
    fits, belief = comparison.fits, comparison.belief
    if WEIGHTED_VOTE not in fits or belief is None:
        return ()
    present, other = fits[MAJORITY], fits[WEIGHTED_VOTE]
    votes = comparison.votes
    lead, items = sum_parts(expected_lead, votes, present, other, belief)
    stake = count_differences(votes, present, other).stake
    return track_record(comparison.setting, lead / max(items, 1), stake=stake)


def by_certificate(comparison: Comparison) -> tuple[Evidence, ...]:
    """The certificate's claim that no rule beats majority vote; empty if it does not make that claim."""
    certificate = comparison.certify()
    if certificate is None:
        return ()
    claim = certificate.anonymous if certificate.named is None else certificate.named
    if claim.verdict != Verdict.OPTIMAL:
        return ()
    return tuple(
        one for one in certificate.evidence() if one.source is Source.CERTIFICATE and one.other == claim.family
    )


# Called if neither labels nor identical rules have proved an answer. `decide` ranks evidence by its source; their order
# here matters only for two of the same source.
ENGINES: list[Callable[[Comparison], Iterable[Evidence]]] = [by_track_record, by_certificate]
