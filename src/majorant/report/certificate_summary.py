"""Certificates, plug-in verdicts and the loss of given labels as plain data, with the sentence that says it all."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from majorant.certify.certificate import Certificate, Claim
from majorant.certify.labels_loss import LabelsLoss
from majorant.certify.plug_in import PlugIn
from majorant.report.theory import finite
from majorant.wording import count, listed, points

NEGLIGIBLE = 0.0005  # accuracy: less than a tenth of a point
NEEDS = {"anonymous": "more item", "named": "more item", "gold": "more gold item"}  # what more of would decide


def certificate_summary(certificate: Certificate) -> dict[str, Any]:
    """The facts of a certificate; infinite numbers are the strings inf and -inf."""
    claims = (certificate.anonymous, certificate.named, certificate.gold)
    return {
        "level": certificate.level,
        "standing": certificate.standing.kind,
        "sentence": certificate_sentence(certificate),
        "why": certificate.why,
        **{
            kind: None if claim is None else claim_summary(claim)
            for kind, claim in zip(("anonymous", "named", "gold"), claims, strict=True)
        },
        "design": None if certificate.design is None else asdict(certificate.design),
    }


def claim_summary(claim: Claim) -> dict[str, Any]:
    """The facts of a claim."""
    return {
        "verdict": claim.verdict,
        "why": claim.why,
        "by_votes": [{"votes": n_votes, "verdict": verdict} for n_votes, verdict in sorted(claim.by_votes.items())],
        "margin": finite(claim.margin),
        "handicap": finite(claim.handicap),
        "loss": asdict(claim.loss),
        "items_certified": claim.items_certified,
        "evidence": {name: finite(value) for name, value in claim.evidence.items()},
        "model": claim.model,
        "gates": [asdict(gate) for gate in claim.gates],
        "assumptions": list(claim.assumptions),
        "more_items": claim.more_items,
    }


def certificate_sentence(certificate: Certificate) -> str:
    """What a manager reads: is majority as good as a rule can be, and what would knowing who voted gain."""
    sentences = [_without_names(certificate), _gold_so_far(certificate)]
    if certificate.named is not None:
        sentences.append(_with_names(certificate.named, certificate.level))
    return " ".join(sentence for sentence in sentences if sentence)


def _without_names(certificate: Certificate) -> str:
    """The claim that decides, gold first: it assumes least."""
    claim = certificate.standing
    by_gold = "By the gold labels, m" if claim.kind == "gold" else "M"
    allowing = ", allowing for item difficulty" if claim.model == "item difficulty" else ""
    verdict = f"({claim.verdict}, {100 * certificate.level:g} %{allowing})"
    if claim.verdict in ("proved", "supported"):
        return f"{by_gold}ajority vote is as good as any rule that ignores who voted {verdict}."
    if claim.verdict == "refuted":
        return (
            f"{by_gold}ajority vote is not the best rule for these votes: the best rule that ignores who voted would "
            f"gain {_about(claim)} {verdict}."
        )
    if claim.verdict == "undecided":
        return (
            "These votes cannot yet tell whether majority vote is as good as any rule that ignores who voted "
            f"{verdict}{_at_stake(claim)}."
        )
    return claim.why  # what stands in the way, in one sentence


def _gold_so_far(certificate: Certificate) -> str:
    """What gold labels leave open where votes alone say nothing."""
    gold = certificate.gold
    if gold is None or gold.verdict != "undecided" or certificate.anonymous.verdict not in ("void", "unidentified"):
        return ""
    return f"The gold labels cannot yet tell either{_at_stake(gold)}."


def _with_names(claim: Claim, level: float) -> str:
    if claim.verdict in ("proved", "supported"):
        return f"Nor would knowing who voted help ({claim.verdict}, {100 * level:g} %)."
    if claim.loss.value is None:
        return ""
    condition = "If votes were independent, knowing" if claim.verdict == "void" else "Knowing"
    return f"{condition} who voted would gain {_about(claim)}."


def _about(claim: Claim) -> str:
    """About 2.9 points [2.4, 3.4]."""
    loss = claim.loss
    if loss.value is None:
        return "something"
    if loss.value < NEGLIGIBLE and (loss.high is None or loss.high < NEGLIGIBLE):
        return "less than 0.1 points"
    ends = "" if loss.low is None or loss.high is None else f" [{points(loss.low)}, {points(loss.high)}]"
    return f"about {points(loss.value)} points{ends}"


def _at_stake(claim: Claim) -> str:
    high = claim.loss.high
    most = "" if high is None else f"at most {points(high)}" if high >= NEGLIGIBLE else "less than 0.1"
    stake = f"; {most} points are at stake" if most else ""
    more = "" if claim.more_items is None else f"; about {count(claim.more_items, NEEDS[claim.kind])} would tell"
    return stake + more


def plug_in_summary(verdict: PlugIn) -> dict[str, Any]:
    """The facts of a plug-in verdict."""
    return {
        "sentence": _plug_in_sentence(verdict),
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


def _plug_in_sentence(verdict: PlugIn) -> str:
    against = [str(n_votes) for n_votes, one in sorted(verdict.by_votes.items()) if one.verdict != "optimal"]
    answer = "is" if not against else "is not"
    votes = "1 vote" if against == ["1"] else f"{listed(against)} votes"
    where = "" if len(against) in (0, len(verdict.by_votes)) else f" on items with {votes}"
    return (
        f"At the {verdict.method} estimate majority vote {answer} the best rule that ignores who voted{where} "
        "(plug-in, no level)."
    )


def labels_loss_summary(found: LabelsLoss, source: str) -> dict[str, Any]:
    """The facts about labels from elsewhere."""
    return {"source": source, **asdict(found)}
