"""An answer for each slice of the items, such as a language or a batch."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from majorant.backend import Backend, Part, rows_alone
from majorant.decide import Answer, decide
from majorant.evidence.evidence import Evidence, Source
from majorant.evidence.identical import Difference, identical_evidence
from majorant.evidence.labels import lead_evidence, leads_of
from majorant.items import take_items
from majorant.methods.fit import Fit, chances
from majorant.tabular import Records
from majorant.votes import IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SliceAnswer:
    """A slice of the items and its answer."""

    value: Hashable
    n_items: int
    n_votes: int
    differ: int  # items on which the two rules say different things
    answer: Answer

    def row(self) -> dict[str, Any]:
        """The slice, its size and its answer, as plain values."""
        gain = self.answer.gain
        return {
            "slice": self.value,
            "items": self.n_items,
            "votes": self.n_votes,
            "differ": self.differ,
            "action": str(self.answer.action),
            "certainty": str(self.answer.certainty),
            "rule": self.answer.rule,
            "gain": gain.value,
            "gain_low": gain.low,
            "gain_high": gain.high,
        }


def answer_slices(backend: Backend, present: Fit, other: Fit, whole: Answer, *, level: float) -> Records[SliceAnswer]:
    """An answer for each slice, so that all of them hold at once with probability `level`.

    Each slice has labels and differences of its own; if these do not decide, what the track record says of the whole
    file holds for its slices.  What cannot be tested on the whole file lowers the certainty of each slice, too.
    """
    slices = backend.votes.slices
    if backend.votes.slice_i is None:
        return Records()
    alpha = (1 - level) / max(len(slices), 1)
    general = [one for one in whole.evidence if one.source in (Source.TRACK_RECORD, Source.CERTIFICATE)]
    doubts = next((one.assumptions for one in whole.evidence if one.source is Source.IDENTICAL), ())
    parts = list(
        backend.map(partial(_slice_part, (rows_alone(present), rows_alone(other)), len(slices)), doing="comparing")
    )
    found = []
    for s, value in enumerate(slices):
        mine = [part[s] for part in parts]
        items, differ, votes, labels = (sum(one[n] for one in mine) for n in range(4))
        apart = Difference(items=items, differ=differ)
        evidence: list[Evidence] = [identical_evidence(other.method, apart, doubts)]
        if labels:
            lead_g, key_g = (np.concatenate([one[n] for one in mine]) for n in (4, 5))
            evidence.insert(0, lead_evidence(other.method, lead_g, key_g, labels, apart, alpha=alpha, level=level))
        answer = decide([*evidence, *general], tolerance=whole.tolerance)
        found.append(SliceAnswer(value=value, n_items=items, n_votes=votes, differ=differ, answer=answer))
    return Records(found)


def _slice_part(fits: tuple[Fit, Fit], n_slices: int, part: Part) -> list[tuple[Any, ...]]:
    """For each slice of a part: items, differences, votes, gold labels, and who is right on these."""
    votes = part.votes
    assert votes.slice_i is not None
    present, other = (part.of(fit) for fit in fits)
    apart_i = (chances(present.posterior) != chances(other.posterior)).any(axis=1) & (present.votes_i > 0)
    rows = []
    for s in range(n_slices):
        here = np.flatnonzero(votes.slice_i == s)
        voted = here[votes.votes_i[here] > 0]
        leads = leads_of(take_items(votes, here), _rows(present, here), _rows(other, here))
        sizes = len(voted), int(apart_i[here].sum()), int(votes.votes_i[here].sum()), leads.labels
        rows.append((*sizes, leads.lead_g, leads.key_g))
    return rows


def _rows(fit: Fit, item_p: IntArray) -> Fit:
    return replace(fit, posterior=fit.posterior[item_p], votes_i=fit.votes_i[item_p], names=None)
