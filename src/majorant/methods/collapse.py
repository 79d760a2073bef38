"""Recognise a fit that has collapsed into one class, which the votes do not allow.

Models of the votes can explain everything by one class if workers label only what they know, as labelling functions do.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from majorant.items import sum_parts
from majorant.methods.fit import Fit
from majorant.tally import counts
from majorant.votes import IntArray, Votes

SLACK = 0.15  # share of the items; on 43 public data sets only labelling functions exceed it


class Collapse(NamedTuple):
    """A label that a fit gives to more items than have a vote for it."""

    label: Hashable
    given: float  # share of the items
    voted: float


def find_collapse(votes: Votes, fit: Fit) -> Collapse | None:
    """The label that a fit gives to far more items than have a vote for it; None if there is none.

    >>> from dataclasses import replace
    >>> from majorant.methods.majority import Majority
    >>> votes = Votes.from_codes([0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 1, 1], items="abcd", workers="wx", labels="ny")
    >>> fit = Majority().fit(votes)
    >>> find_collapse(votes, fit) is None
    True
    >>> find_collapse(votes, replace(fit, posterior=np.array([[0.1, 0.9]] * 4)))
    Collapse(label='y', given=1.0, voted=0.5)
    """
    given_k, voted_k, items = sum_parts(_count, votes, fit)
    if not items:
        return None
    k = int(np.argmax(given_k - voted_k))
    given, voted = float(given_k[k] / items), float(voted_k[k] / items)
    return Collapse(fit.label_values[k], given, voted) if given > voted + SLACK else None


def _count(votes: Votes, fit: Fit) -> tuple[IntArray, IntArray, int]:
    """Items by label given, items with a vote for each label, and items with votes."""
    code_i, count_ik = fit.codes(), counts(votes)
    given_k = np.bincount(code_i[code_i >= 0], minlength=count_ik.shape[1])
    return given_k, (count_ik > 0).sum(axis=0), int((votes.votes_i > 0).sum())
