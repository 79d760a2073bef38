"""The votes and fitted rules from which a source of evidence without labels draws its conclusions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from majorant.evidence.certificate.certificate import Certificate
from majorant.evidence.copies import Copies
from majorant.methods.fit import Fit
from majorant.setting import Setting
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Majority vote and other rules on the same votes.

    Parameters
    ----------
    votes : Votes
        The votes.
    fits : mapping of str to Fit
        The rules by name, fitted to these votes; majority vote is among them, with its ties left open.
    setting : Setting
        What kind of votes these are.
    copies : Copies
        Workers who repeat another.
    certify : callable
        Makes the certificate, which takes a while; None where it cannot decide.
    level : float
        Confidence level.
    """

    votes: Votes
    fits: Mapping[str, Fit]
    setting: Setting
    copies: Copies
    certify: Callable[[], Certificate | None]
    level: float
