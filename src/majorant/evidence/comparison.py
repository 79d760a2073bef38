"""Evidence without labels: what its engines may look at, and the table of engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.evidence.certificate.certificate import Certificate, Verdict
from majorant.evidence.copies import Copies
from majorant.evidence.evidence import Evidence, Source
from majorant.evidence.identical import differences
from majorant.evidence.track_record import Setting, expected_gain, track_record
from majorant.methods.fit import Fit
from majorant.values import FloatArray
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Majority vote and other rules on the same votes.

    Parameters
    ----------
    votes : Votes
        The votes in memory: all of them, or a random sample of the items.
    fits : mapping of str to Fit
        The rules by name, fitted to these votes; majority vote is among them.  Majority vote and the weighted vote
        leave ties tied.
    belief : ndarray of shape (items, classes), optional
        The models' posterior; None if no rule could be learned.
    setting : Setting
        Panel or crowd, votes per worker, whether workers differ.
    copies : Copies
        Workers who repeat another.
    certify : callable
        Makes the certificate, which takes a while; None where it cannot decide.
    level : float
        Confidence level.
    """

    votes: Votes
    fits: Mapping[str, Fit]
    belief: FloatArray | None
    setting: Setting
    copies: Copies
    certify: Callable[[], Certificate | None]
    level: float


def by_track_record(comparison: Comparison) -> tuple[Evidence, ...]:
    """What the weighted vote gained on public data sets like this one."""
    fits, belief = comparison.fits, comparison.belief
    if WEIGHTED_VOTE not in fits or belief is None:
        return ()
    present, other = fits[MAJORITY], fits[WEIGHTED_VOTE]
    return track_record(
        comparison.setting, expected_gain(present, other, belief), stake=differences(present, other).stake
    )


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


# Asked in this order if neither labels nor rules that hardly differ prove anything.
ENGINES: list[Callable[[Comparison], Iterable[Evidence]]] = [by_track_record, by_certificate]
