"""Beyond the paper: what can be certified about its six real data sets, with and without gold labels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from majorant.evidence.certificate.certificate import Claim
from majorant.evidence.certificate.claims import certify
from majorant.evidence.evidence import Status
from majorant.render.certificate import claim_sentence
from paper.item import Cell, Context, Item, Outcome, compare
from paper.sets import DATA, REAL, present

QUICK = ("SP_amt", "CF_amt", "D-Product")
LEVEL = 0.95
NOTES = (
    "Anonymous: majority vote against rules that ignore who voted. Named: against all rules, by a confusion matrix for "
    "each worker. Gold: against rules that ignore who voted, by gold labels alone. Level 95 %. A claim is open if an "
    "assumption failed or cannot be tested; its numbers then hold only if the assumption were true.",
    "The paper's check marks take an estimate for the truth and votes for independent. With a level, no claim that "
    "majority vote is optimal holds on any of the six sets: votes depend on each other, or workers differ.",
)


def run(context: Context) -> Outcome:
    """The certificate of every set; a quick run takes three."""
    names = QUICK if context.quick else tuple(REAL)
    here, missing = present(context, names)
    cells: list[Cell] = []
    for done, (name, votes) in enumerate(here.items()):
        certificate = certify(votes, level=LEVEL, rng=context.rng(name))
        for claim in (certificate.anonymous, certificate.named, certificate.gold):
            if claim is not None:
                cells += _cells(f"{name}, {claim.family}", claim)
        context.progress((done + 1) / len(here))
    left = [name for name in REAL if name not in names]
    notes = (*NOTES, f"Left out of a quick run: {', '.join(left)}.") if left else NOTES
    return Outcome(cells=tuple(cells), notes=notes, missing=missing)


def _cells(key: str, claim: Claim) -> Iterator[Cell]:
    yield replace(compare(f"{key}, verdict", None, str(claim.verdict)), why=claim_sentence(claim))
    numbers = {
        "margin in nats": claim.margin,
        "loss of majority": claim.loss.value,
        "loss, low": claim.loss.low,
        "loss, high": claim.loss.high,
    }
    for title, value in numbers.items():
        if value is not None:
            yield compare(f"{key}, {title}", None, value if math.isfinite(value) else "below every bound")
    for one in claim.assumptions:
        if one.status != Status.UNTESTED:
            p_value = "" if one.p_value is None else f" (p = {one.p_value:.2g})"
            yield compare(f"{key}, assumption: {one.assumption}", None, f"{one.status}{p_value}")


ITEM = Item("beyond-certificates", "Beyond the paper: certificates for all six data sets", run, DATA)
