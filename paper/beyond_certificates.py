"""Beyond the paper: what can be certified about its six real data sets, with and without gold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from majorant.evidence.certificate.certificate import Claim
from majorant.evidence.certificate.claims import certify
from paper.item import Cell, Context, Item, Outcome, compare
from paper.sets import DATA, REAL, present

QUICK = ("SP_amt", "CF_amt", "D-Product")
LEVEL = 0.95
NOTES = (
    "Anonymous: no rule that ignores who voted beats majority vote. Named: no rule at all does, under a confusion "
    "matrix for each worker. Gold: the anonymous claim from gold labels alone, without a model. Level 95 %; a void "
    "claim's numbers hold only if votes were independent.",
    "The paper's check marks take an estimate for the truth and votes for independent. With a level, no claim about "
    "any of the six sets holds as a whole: votes depend on each other (SP, SP_amt, ZC_in), or items are too few (MS, "
    "D-Product). Counts refute majority vote on CF_amt, gold refutes it on ZC_in and D-Product.",
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
                cells += _cells(f"{name}, {claim.kind}", claim)
        context.progress((done + 1) / len(here))
    left = [name for name in REAL if name not in names]
    notes = (*NOTES, f"Left out of a quick run: {', '.join(left)}.") if left else NOTES
    return Outcome(cells=tuple(cells), notes=notes, missing=missing)


def _cells(key: str, claim: Claim) -> Iterator[Cell]:
    yield replace(compare(f"{key}, verdict", None, claim.verdict), why=claim.why)
    by_votes = ", ".join(f"{n_votes}: {verdict}" for n_votes, verdict in sorted(claim.by_votes.items()))
    yield compare(f"{key}, verdict by number of votes", None, by_votes)
    numbers = {
        "margin in nats": claim.margin,
        "loss of majority": claim.loss.value,
        "loss, low": claim.loss.low,
        "loss, high": claim.loss.high,
        "share of items certified": claim.items_certified,
    }
    for title, value in numbers.items():
        if value is not None:
            yield compare(f"{key}, {title}", None, value if math.isfinite(value) else "below every bound")
    for gate in claim.gates:
        answer = {True: "passed", False: "failed", None: "not testable"}[gate.passed]
        p_value = "" if gate.p_value is None else f" (p = {gate.p_value:.2g})"
        yield compare(f"{key}, gate: {gate.name}", None, answer + p_value)


ITEM = Item("beyond-certificates", "Beyond the paper: certificates for all six data sets", run, DATA)
