"""Freeze the labels that rules give where they differ, and how models of the votes expect the rules to compare.

Comparisons leave out items with tied votes, because ties are decided the same way under every rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from majorant.ask.design import Design
from majorant.ask.draw import item_codes
from majorant.ask.question import Codes
from majorant.ask.race import Race
from majorant.ask.session import untied_labels
from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.errors import DataError
from majorant.evidence.learn import LEARNED
from majorant.items import map_parts
from majorant.methods import ESTIMATORS
from majorant.methods.fit import Fit
from majorant.tally import counts, tied
from majorant.values import FloatArray
from majorant.votes import Votes, cut

DECIMALS = 9  # planning figures are rounded, because sums over parts differ in the last digit and designs must not


def freeze(
    votes: Votes, fits: Mapping[str, Fit], *, tolerance: float, level: float, favourite: str | None = None
) -> tuple[Codes, Race]:
    """Untied items on which any two rules differ, in ascending order of their codes, and a race between the rules.

    The first rule is the one in use; the favourite, by default the last, is the one that we recommend.
    """
    parts = list(map_parts(partial(_of_part, belief_weights(fits)), votes, *fits.values()))
    if not (n_items := sum(part.n_items for part in parts)):
        raise DataError("No item has a vote.")
    label_rd, belief_rd = (np.concatenate([part[n] for part in parts], axis=1) for n in (3, 4))
    lead_qr, decisive_qr = expected_leads(label_rd, belief_rd)
    race = Race.of(
        tuple(fits),
        label_rd,
        n_items=n_items,
        tied=sum(part.n_tied for part in parts),
        favourite=len(fits) - 1 if favourite is None else [*fits].index(favourite),
        tolerance=tolerance,
        level=level,
        lead_qr=lead_qr,
        decisive_qr=decisive_qr,
    )
    item_d = [part.item_d + start for part, (start, _) in zip(parts, cut(votes.offsets_i), strict=False)]
    return np.concatenate([np.empty(0, np.int64), *item_d]), race


class _FrozenPart(NamedTuple):
    n_items: int
    n_tied: int
    item_d: Codes
    label_rd: Codes
    belief_rd: FloatArray  # the models' probability that each rule's label is right


def _of_part(weight_r: FloatArray, votes: Votes, *fits: Fit) -> _FrozenPart:
    posterior_rik = np.stack([fit.posterior for fit in fits])
    belief_ik = np.clip(np.tensordot(weight_r, posterior_rik, axes=1), 0, 1)
    count_ik = counts(votes)
    plurality_i, tied_i = count_ik.argmax(axis=1), tied(count_ik)
    label_ri = np.array([untied_labels(posterior_ik, plurality_i) for posterior_ik in posterior_rik])
    d = np.flatnonzero((votes.votes_i > 0) & ~tied_i & (label_ri != label_ri[0]).any(axis=0))
    return _FrozenPart(
        n_items=int((votes.votes_i > 0).sum()),
        n_tied=int(tied_i.sum()),
        item_d=d,
        label_rd=label_ri[:, d],
        belief_rd=belief_ik[d, label_ri[:, d]],
    )


def belief_weights(fits: Mapping[str, Fit]) -> FloatArray:
    """Weight of each rule's posterior in the mean posterior of the models.

    Only models count, because votes of judges are not probabilities.  Majority vote has a negative weight if a model
    was combined with it, which removes its share again.  All weights are NaN if no rule is a model.

    >>> from majorant.votes import Votes
    >>> votes = Votes.from_codes([0], [0], [1], items="a", workers="w", labels="ny")
    >>> from majorant.methods.majority import Majority
    >>> from dataclasses import replace
    >>> majority = Majority().fit(votes)
    >>> combination = replace(majority, learned={"shares": np.array(.25)})
    >>> belief_weights({"majority": majority, "weighted-vote": combination}).round(2).tolist()
    [-0.33, 1.33]
    """
    shares_r = np.array([float(fit.learned.get("shares", 0.0)) for fit in fits.values()])
    models = {LEARNED, WEIGHTED_VOTE, *ESTIMATORS} - {MAJORITY}  # rules whose posteriors are probabilities
    model_r = np.array([rule in models for rule in fits], dtype=float)
    if not model_r.any():
        return np.full(len(fits), np.nan)
    if MAJORITY not in fits:
        return np.asarray(model_r / model_r.sum())
    weight_r = model_r / (1 - shares_r)
    weight_r[[*fits].index(MAJORITY)] = -(model_r * shares_r / (1 - shares_r)).sum()
    return np.asarray(weight_r / model_r.sum())


def expected_leads(label_rd: Codes, belief_rd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected mean of x and of |x| over the items where q and r differ, according to the models (see `Race`)."""
    differs_qrd = label_rd[:, None] != label_rd[None]
    with np.errstate(invalid="ignore"):
        lead_qr = ((belief_rd[:, None] - belief_rd[None]) * differs_qrd).sum(axis=2) / differs_qrd.sum(axis=2)
        decisive_qr = ((belief_rd[:, None] + belief_rd[None]) * differs_qrd).sum(axis=2) / differs_qrd.sum(axis=2)
    return lead_qr.round(DECIMALS), decisive_qr.round(DECIMALS)


def refuse_other_labels(votes: Votes, design: Design, fits: Mapping[str, Fit]) -> None:
    """Raise if a rule no longer gives the items of a design the labels that the design froze."""
    question = design.question
    if not isinstance(question, Race):
        return
    item_d = item_codes(votes, design.order)
    for rule in set(question.rules) & set(fits):
        if not question.is_given_by(rule, fits[rule].take(item_d).posterior):
            raise DataError(
                f"{rule} now gives different labels than when the design was drawn, so the expert's labels prove "
                "nothing about it. Use the same version of majorant and the same seed as for the design."
            )
