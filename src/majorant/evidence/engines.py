"""The sources of evidence without labels, in the table ENGINES: each turns a `Comparison` into `Evidence`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.evidence.certificate.certificate import Verdict
from majorant.evidence.comparison import Comparison
from majorant.evidence.evidence import Evidence, Source
from majorant.evidence.identical import count_differences
from majorant.evidence.track_record import track_record


def by_track_record(comparison: Comparison) -> tuple[Evidence, ...]:
    """What the weighted vote gained on public data sets like this one."""
    fits = comparison.fits
    if WEIGHTED_VOTE not in fits:
        return ()
    difference = count_differences(comparison.votes, fits[MAJORITY], fits[WEIGHTED_VOTE])
    return track_record(comparison.setting, difference)


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
