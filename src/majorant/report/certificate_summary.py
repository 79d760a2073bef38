"""Certificates, plug-in verdicts and the loss of given labels as plain data, with the sentence that says it all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from majorant.certify.certificate import Certificate, Claim
from majorant.certify.gold import LabelsLoss
from majorant.certify.plug_in import PlugIn
from majorant.report.theory import finite
from majorant.wording import breakdown_text, certificate_sentence, not_tested_sentence, plug_in_sentence, whose


def certificate_summary(certificate: Certificate) -> dict[str, Any]:
    """The facts of a certificate; infinite numbers are the strings inf and -inf."""
    claims = (certificate.anonymous, certificate.named, certificate.gold)
    return {
        "level": certificate.level,
        "standing": certificate.standing.kind,
        "sentence": certificate_sentence(certificate),
        "why": certificate.why,
        "not_tested_sentence": not_tested_sentence(_not_tested(claims)),
        **{
            kind: None if claim is None else claim_summary(claim)
            for kind, claim in zip(("anonymous", "named", "gold"), claims, strict=True)
        },
        "design": None if certificate.design is None else asdict(certificate.design),
    }


def _not_tested(claims: Iterable[Claim | None]) -> list[str]:
    """What the claims assume and nothing tests, each once."""
    return list(dict.fromkeys(text for claim in claims if claim is not None for text in claim.not_tested))


def claim_summary(claim: Claim) -> dict[str, Any]:
    """The facts of a claim."""
    return {
        "verdict": claim.verdict,
        "why": claim.why,
        "level": claim.level,
        "by_votes": [{"votes": n_votes, "verdict": verdict} for n_votes, verdict in sorted(claim.by_votes.items())],
        "without_say": [{"votes": n_votes, "items": share} for n_votes, share in sorted(claim.without_say.items())],
        "untied": claim.untied,
        "margin": finite(claim.margin),
        "handicap": finite(claim.handicap),
        "whose": whose(claim),
        "loss": loss_facts(claim),
        "tied_share": claim.tied_share,
        "tie_loss": loss_facts(claim, ties=True),
        "items_certified": claim.items_certified,
        "evidence": {name: finite(value) for name, value in claim.evidence.items()},
        "model": claim.model,
        "gates": [asdict(gate) for gate in claim.gates],
        "assumptions": list(claim.assumptions),
        "not_tested": list(claim.not_tested),
        "conditions": list(claim.conditions),
        "tested": claim.tested,
        "breakdown": claim.breakdown,
        "breaks_down": breakdown_text(claim),
        "more_items": claim.more_items,
    }


def loss_facts(claim: Claim, *, ties: bool = False) -> dict[str, Any]:
    """A loss with its interval, and whose they are."""
    loss = claim.tie_loss if ties else claim.loss
    return asdict(loss) if loss.value is None else {**asdict(loss), "reason": loss.reason or whose(claim)}


def plug_in_summary(verdict: PlugIn) -> dict[str, Any]:
    """The facts of a plug-in verdict."""
    return {
        "sentence": plug_in_sentence(verdict),
        "method": verdict.method,
        "level": None,
        "note": verdict.note,
        "share": verdict.share,
        "items": verdict.n_items,
        "optimal": verdict.optimal,
        "margin": finite(verdict.margin),
        "loss": verdict.loss,
        "prior": verdict.prior.tolist(),
        "confusion": verdict.confusion.tolist(),
        "by_votes": [
            {
                "votes": n_votes,
                "items": verdict.items[n_votes],
                "verdict": one.verdict,
                "margin": finite(one.margin),
                "handicap": finite(one.handicap),
                "majority_accuracy": one.majority_accuracy,
                "optimal_accuracy": one.optimal_accuracy,
                "gap": one.gap,
            }
            for n_votes, one in sorted(verdict.by_votes.items())
        ],
    }


def labels_loss_summary(found: LabelsLoss, source: str) -> dict[str, Any]:
    """The facts about labels from elsewhere."""
    return {"source": source, **asdict(found)}
