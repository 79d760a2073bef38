"""Evidence for nearly identical rules: the number of changed labels bounds the gain or loss of a switch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.backend import Backend, of_fits
from majorant.defaults import MAJORITY
from majorant.evidence.evidence import Evidence, Source, Tested
from majorant.methods.fit import Fit, chances
from majorant.values import Estimate


class Difference(NamedTuple):
    """Number of items on which two rules differ; numbers for parts of the items can be added."""

    items: int  # number of items with votes
    differ: int

    @property
    def stake(self) -> float:
        """The largest possible difference between the accuracies of the rules."""
        return self.differ / self.items if self.items else 0.0


def count_differences(backend: Backend, present: Fit, other: Fit) -> Difference:
    """Count the items on which two rules give different labels."""
    return backend.sum(of_fits(_differences, present, other), doing="comparing")


def _differences(_: object, present: Fit, other: Fit) -> Difference:
    return differences(present, other)


def differences(present: Fit, other: Fit) -> Difference:
    """Count differences between two fits to votes in memory."""
    voted_i = present.votes_i > 0
    differs_i = (chances(present.posterior[voted_i]) != chances(other.posterior[voted_i])).any(axis=1)
    return Difference(items=int(voted_i.sum()), differ=int(np.count_nonzero(differs_i)))


def identical_evidence(other: str, difference: Difference, assumptions: tuple[Tested, ...] = ()) -> Evidence:
    """Evidence that the gain of a switch is at most the share of changed labels, in either direction.

    >>> identical_evidence("weighted-vote", Difference(items=200, differ=1)).gain.high
    0.005
    """
    value = None if difference.differ else 0.0
    gain = Estimate(value, 0.0 - difference.stake, difference.stake)  # avoids -0
    return Evidence(source=Source.IDENTICAL, present=MAJORITY, other=other, gain=gain, assumptions=assumptions)
