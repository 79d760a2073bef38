"""A learned rule as the question of a design: is it better than the present one on the items that were not labelled?

Labels of items drawn uniformly, as for the accuracy of the present rule, teach a correction (`correct`).  It is frozen
with the labels that it gives, and judged on a fresh random order of the other items on which the two rules differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from majorant.backend import Backend
from majorant.blocks import rows_in
from majorant.estimate.fit import Fit
from majorant.gold.correct import Correction, scores
from majorant.gold.question import Codes, Outcome
from majorant.gold.race import Race
from majorant.kernels import Block

FloatArray = NDArray[np.float64]
CORRECTED = "corrected"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CorrectedRule:
    """The present rule and the corrected one on the items where they differ, and what the correction is.

    Only items that taught nothing count: those that the expert had labelled or skipped before are left out.
    """

    kind: ClassVar[str] = "correct"
    race: Race
    correction: Correction
    members: tuple[str, ...]  # the models that are reweighted

    @property
    def size(self) -> int:
        """How many items the order holds."""
        return self.race.size

    @property
    def strata(self) -> Codes:
        """One: the order is kept."""
        return self.race.strata

    def expected(self) -> int | None:
        """About how many labels should settle it."""
        return self.race.expected()

    def next_items(self, answer_d: Codes) -> Codes:
        """The items in their order."""
        return self.race.next_items(answer_d)

    def evaluate(self, answer_d: Codes) -> Outcome:
        """How the corrected rule stands to the present one: better, worse, same or open."""
        outcome = self.race.evaluate(answer_d)
        correction = self.correction
        learned = {
            "learned_from": correction.n_labels,
            "weights": dict(zip(self.members, correction.weight_m.tolist(), strict=True)),
            "offsets": correction.offset_k.tolist(),
        }
        return replace(outcome, kind=self.kind, facts={**outcome.facts, **learned})

    def to_dict(self) -> dict[str, Any]:
        """The content as plain data for JSON."""
        return {
            "race": self.race.to_dict(),
            "members": list(self.members),
            "weights": self.correction.weight_m.tolist(),
            "offsets": self.correction.offset_k.tolist(),
            "learned_from": self.correction.n_labels,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The question that `to_dict` wrote."""
        correction = Correction(
            weight_m=np.array(content["weights"], dtype=float),
            offset_k=np.array(content["offsets"], dtype=float),
            n_labels=int(content["learned_from"]),
        )
        return cls(race=Race.from_dict(content["race"]), correction=correction, members=tuple(content["members"]))


def corrected_fit(backend: Backend, members: Mapping[str, Fit], correction: Correction) -> Fit:
    """What the corrected rule believes of every item; the models must be those that it was learned with, in order."""
    first = next(iter(members.values()))
    rows = tuple(fit.posterior for fit in members.values())
    return replace(
        first,
        method=CORRECTED,
        posterior=backend.rows(partial(_beliefs, rows, correction)),
        confusion=None,
        skill=None,
        learned={"weights": correction.weight_m, "offsets": correction.offset_k},
        trace=(),
        online=None,
    )


def _beliefs(rows: tuple[FloatArray, ...], correction: Correction, block: Block) -> FloatArray:
    score_ik = scores(correction, np.array([rows_in(posterior, block) for posterior in rows]))
    belief_ik = np.exp(score_ik - score_ik.max(axis=1, keepdims=True))
    return np.asarray(belief_ik / belief_ik.sum(axis=1, keepdims=True))
