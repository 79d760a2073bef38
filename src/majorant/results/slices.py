"""An answer for each slice of the items, such as a language or a batch."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from majorant.decide import Action, Answer, decide
from majorant.evidence.evidence import Evidence, Source
from majorant.evidence.identical import Difference, identical_evidence
from majorant.evidence.labels import lead_evidence, leads_of
from majorant.items import map_parts, take_items
from majorant.methods.fit import Fit, chances
from majorant.tabular import Records
from majorant.values import Estimate
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SliceAnswer:
    """A slice of the items and its answer."""

    value: Hashable
    n_items: int
    n_votes: int
    differ: int  # number of items on which the two rules differ
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


def answer_slices(
    votes: Votes, present: Fit, other: Fit, whole: Answer, *, level: float, taught: bool
) -> Records[SliceAnswer]:
    """Answer for each slice; all answers hold at once with probability `level`.

    A slice is judged by its own labels, unless the other rule was learned from them (`taught`), and by how much the two
    rules differ in it.  If that leaves the question open, the evidence behind the answer for the whole file is scaled
    by how often the rules differ in the slice.  Assumptions that the whole file cannot test also lower the certainty of
    each slice.
    """
    slices = votes.slices
    if votes.slice_i is None:
        return Records()
    n_rules = sum(
        one.source is Source.LABELS for one in whole.evidence
    )  # the same labels were used to choose among these rules
    alpha = (1 - level) / max(len(slices) * n_rules, 1)
    doubts = next((one.assumptions for one in whole.evidence if one.source is Source.IDENTICAL), ())
    parts = list(map_parts(_slice_part, votes, present, other))
    differences = [Difference(*(sum(part[s][n] for part in parts) for n in range(2))) for s in range(len(slices))]
    every = Difference(*(sum(sizes) for sizes in zip(*differences, strict=True)))
    found = []
    for s, (value, difference) in enumerate(zip(slices, differences, strict=True)):
        mine = [part[s] for part in parts]
        n_votes, labels = (sum(one[n] for one in mine) for n in (2, 3))
        evidence: list[Evidence] = [identical_evidence(other.method, difference, doubts)]
        if labels and not taught:
            lead_g, key_g = (np.concatenate([one[n] for one in mine]) for n in (4, 5))
            evidence.insert(0, lead_evidence(other.method, lead_g, key_g, labels, difference, alpha=alpha, level=level))
        if all(one.n_used < 5 for one in evidence):
            evidence += _from_whole(whole, difference.stake / every.stake if every.stake else 0.0, difference.stake)
        answer = decide(evidence, tolerance=whole.tolerance)
        found.append(
            SliceAnswer(value=value, n_items=difference.items, n_votes=n_votes, differ=difference.differ, answer=answer)
        )
    return Records(found)


def _from_whole(whole: Answer, scale: float, stake: float) -> list[Evidence]:
    """The evidence behind the answer for the whole file, for a slice in which the rules differ `scale` times as often.

    Intervals from labels are dropped, because they hold only for the whole file.  No gain exceeds the `stake`, the
    share of the slice's items on which the rules differ.
    """
    basis = whole.basis
    if basis is None or basis.source is Source.IDENTICAL:
        return []
    if basis.source is Source.CERTIFICATE:
        return [basis]
    value, low, high = (None if end is None else min(max(scale * end, -stake), stake) for end in basis.gain.ends)
    if basis.source in (Source.TRACK_RECORD, Source.EARNED):
        return [replace(basis, gain=Estimate(value, low, high))]
    return [replace(basis, gain=Estimate(value))] if whole.action is Action.SWITCH else []


def _slice_part(votes: Votes, present: Fit, other: Fit) -> list[tuple[Any, ...]]:
    """For each slice of a part: numbers of items, differences, votes and gold labels, and the leads on gold items."""
    assert votes.slice_i is not None
    differs_i = (chances(present.posterior) != chances(other.posterior)).any(axis=1) & (present.votes_i > 0)
    rows = []
    for s in range(len(votes.slices)):
        here = np.flatnonzero(votes.slice_i == s)
        voted = here[votes.votes_i[here] > 0]
        leads = leads_of(take_items(votes, here), present.take(here), other.take(here))
        sizes = len(voted), int(differs_i[here].sum()), int(votes.votes_i[here].sum()), leads.labels
        rows.append((*sizes, leads.lead_g, leads.key_g))
    return rows
