"""Evidence for nearly identical rules: the number of changed labels bounds the gain or loss of a switch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from majorant.defaults import MAJORITY
from majorant.evidence.evidence import Evidence, Source, Tested
from majorant.items import sum_parts
from majorant.methods.fit import Fit, chances
from majorant.values import Estimate
from majorant.votes import Votes


class Difference(NamedTuple):
    """Number of items on which two rules differ; numbers for parts of the items can be added."""

    items: int  # number of items with votes
    differ: int
    tied: int = 0  # how many of these are ties under the first rule, which only the second one decides

    @property
    def stake(self) -> float:
        """The largest possible difference between the accuracies of the rules."""
        return self.differ / self.items if self.items else 0.0

    @property
    def disagree(self) -> int:
        """Number of items on which both rules choose a label, but not the same one."""
        return self.differ - self.tied


def count_differences(votes: Votes, present: Fit, other: Fit) -> Difference:
    """Count the items on which two rules give different labels."""
    return sum_parts(_differences, votes, present, other)


def _differences(_: object, present: Fit, other: Fit) -> Difference:
    return differences(present, other)


def differences(present: Fit, other: Fit) -> Difference:
    """Count differences between two fits to the same votes."""
    voted_i = present.votes_i > 0
    present_vk = chances(present.posterior[voted_i])
    differs_v = (present_vk != chances(other.posterior[voted_i])).any(axis=1)
    tied = np.count_nonzero(differs_v & ((present_vk > 0).sum(axis=1) > 1))
    return Difference(items=len(differs_v), differ=int(np.count_nonzero(differs_v)), tied=int(tied))


def identical_evidence(other: str, difference: Difference, assumptions: tuple[Tested, ...] = ()) -> Evidence:
    """Evidence that the gain of a switch is at most the share of changed labels, in either direction.

    >>> identical_evidence("weighted-vote", Difference(items=200, differ=1)).gain.high
    0.005
    """
    value = None if difference.differ else 0.0
    gain = Estimate(value, 0.0 - difference.stake, difference.stake)  # avoids -0
    return Evidence(source=Source.IDENTICAL, present=MAJORITY, other=other, gain=gain, assumptions=assumptions)
