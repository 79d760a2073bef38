"""Certificates, plug-in verdicts and the loss of given labels as plain data, with the sentence that says it all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from majorant.certify.certificate import Certificate, Claim
from majorant.certify.labels_loss import LabelsLoss
from majorant.certify.plug_in import PlugIn
from majorant.report.theory import finite
from majorant.wording import (
    breakdown_text,
    count,
    level_percent,
    listed,
    not_tested_sentence,
    percent,
    points,
    under,
    whose,
)

GOOD = ("proved", "supported")
NAMED = "If votes are independent given the class and each worker keeps to one confusion matrix"
NEGLIGIBLE = 0.0005  # accuracy: less than a tenth of a point
NEEDS = {"anonymous": "fresh item", "named": "fresh item", "gold": "fresh gold item"}  # which, by themselves, decide


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


def certificate_sentence(certificate: Certificate) -> str:
    """What a manager reads: is majority as good as a rule can be, and what would knowing who voted gain."""
    sentences = [_without_names(certificate), _gold_so_far(certificate)]
    if certificate.named is not None:
        sentences.append(_with_names(certificate.named, certificate.level))
    return " ".join(sentence for sentence in sentences if sentence)


def _without_names(certificate: Certificate) -> str:
    """The claim that decides, gold first: it assumes least."""
    claim = certificate.standing
    if claim.verdict in ("void", "unidentified"):
        return claim.why  # what stands in the way, in one sentence
    by_gold = "By the gold labels, m" if claim.kind == "gold" else "M"
    allowing = ", allowing for item difficulty" if claim.model == "item difficulty" else ""
    level = certificate.level if claim.level is None else claim.level
    verdict = f"({claim.verdict}, {level_percent(level)}{allowing})"
    if claim.verdict in ("proved", "supported"):
        apart = ", apart from ties" if claim.tied_share else ""
        sentence = (
            f"{by_gold}ajority vote is as good as any rule that ignores who voted{apart} {verdict}{_ties(claim)}."
        )
    elif claim.verdict == "refuted":
        good = f"; apart from ties it is as good as any ({claim.untied})" if claim.untied in GOOD else ""
        sentence = (
            f"{by_gold}ajority vote is not the best rule for these votes: the best rule that ignores who voted would "
            f"gain {_about(claim)} {verdict}{_ties(claim)}{good}."
        )
    else:
        sentence = (
            "These votes cannot yet tell whether majority vote is as good as any rule that ignores who voted "
            f"{verdict}{_at_stake(claim)}."
        )
    return under(claim.conditions, sentence)


def _ties(claim: Claim) -> str:
    """What a fair draw on ties loses, if votes are tied."""
    if not claim.tied_share or claim.tie_loss.value is None:
        return ""
    return (
        f"; {percent(claim.tied_share)} of the items are tied, and a fair draw on them loses {_about(claim, ties=True)}"
    )


def _gold_so_far(certificate: Certificate) -> str:
    """What gold labels leave open where votes alone say nothing."""
    gold = certificate.gold
    if gold is None or gold.verdict != "undecided" or certificate.anonymous.verdict not in ("void", "unidentified"):
        return ""
    return f"The gold labels cannot yet tell either{_at_stake(gold)}."


def _with_names(claim: Claim, level: float) -> str:
    if claim.verdict in ("proved", "supported"):
        return f"{NAMED}, knowing who voted would not help either ({claim.verdict}, {100 * level:g} %)."
    if claim.loss.value is None:
        return ""
    condition = "If votes were independent" if claim.verdict == "void" else NAMED
    return f"{condition}, knowing who voted would gain {_about(claim)}."


def _about(claim: Claim, *, ties: bool = False) -> str:
    """About 2.9 points [2.4, 3.4]."""
    loss = claim.tie_loss if ties else claim.loss
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
    more = "" if claim.more_items is None else f"; about {count(claim.more_items, NEEDS[claim.kind])} alone would tell"
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
