"""Certificates in words, and as plain data for JSON and pages.

All sentences about claims and their assumptions are made here, from typed facts.
"""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterable

from majorant.evidence.certificate.certificate import Certificate, Claim, Dependence, Family, Model, Reason, Verdict
from majorant.evidence.certificate.design import VotingDesign
from majorant.evidence.evidence import Status, Tested
from majorant.render.assumptions import ASSUMPTION_TEXT, said_assumptions
from majorant.render.missing import missing_text
from majorant.render.optimality import (
    answer_sentence,
    fact_lines,
    grade_sentence,
    optimality_summary,
    tipping_sentence,
)
from majorant.render.plain import Facts, facts_of, plain
from majorant.render.words import level_percent, listed, points_and_ends, shown
from majorant.values import Estimate

TITLES = {
    Family.ANONYMOUS: "Rules that ignore who voted",
    Family.NAMED: "All rules",
    Family.GOLD: "Rules that ignore who voted, by gold labels alone",
}


# --- sentences


def certificate_sentence(certificate: Certificate) -> str:
    """The answer with its grade; by gold, or without one, the main claim and the claim about all rules."""
    first = claim_sentence(certificate.standing)
    named, found = certificate.named, certificate.optimality
    if found is not None and certificate.standing is certificate.anonymous:
        return f"{answer_sentence(found)} {grade_sentence(found)}"
    if named is None or _same_gap(certificate.standing, named):
        return first
    return f"{first} {claim_sentence(named)}"


def _same_gap(one: Claim, other: Claim) -> bool:
    """Whether two claims are open for the same reason, so that one sentence is enough."""
    return one.verdict == other.verdict == Verdict.OPEN and _why_open(one) == _why_open(other)


def claim_sentence(claim: Claim) -> str:
    """What a claim says and how sure it is, or why it is open.

    >>> print(claim_sentence(Claim(family=Family.NAMED, reason=Reason.NOT_IDENTIFIED)))
    It is unclear whether any rule beats majority vote: these votes do not determine how accurate each worker is.
    """
    by_gold, rule = (
        claim.family == Family.GOLD,
        "rule" if claim.family == Family.NAMED else "rule that ignores who voted",
    )
    sure = f"{claim.certainty}, {level_percent(claim.level)}"
    if claim.verdict == Verdict.OPEN:
        sentence = f"it is unclear whether any {rule} beats majority vote: {_why_open(claim)}."
    elif claim.verdict == Verdict.OPTIMAL:
        sentence = f"no {rule} beats majority vote ({sure})."
    else:
        gain = f" by about {loss_text(claim.loss)}" if claim.loss.value is not None else ""
        some = "another rule" if claim.family == Family.NAMED else f"another {rule}"
        sentence = f"{some} beats majority vote{gain} ({sure})."
    return f"By the gold labels, {sentence}" if by_gold else sentence[0].upper() + sentence[1:]


def _why_open(claim: Claim) -> str:
    if claim.reason == Reason.ASSUMPTION_FAILED:
        return f"the votes contradict the assumption that {said_assumptions(claim.with_status(Status.FAILED))}"
    if claim.reason == Reason.CANNOT_BE_TESTED:
        return f"these votes cannot test the assumption that {said_assumptions(claim.with_status(Status.UNTESTABLE))}"
    if claim.reason == Reason.NOT_IDENTIFIED:
        if claim.family == Family.GOLD:
            return "no item with votes has a gold label"
        who = "each worker is" if claim.family == Family.NAMED else "they are"
        return f"these votes do not determine how accurate {who}"
    return f"there are too few items; {more_items_text(claim)}"


def more_items_text(claim: Claim) -> str:
    """How many new items would settle an open claim."""
    what = "gold labels" if claim.family == Family.GOLD else "items"
    more = more_items(claim)
    if not more:
        return f"more {what} are unlikely to settle it"
    return f"a new sample of about {float(f'{more:.2g}'):,.0f} {what} would settle it"  # two digits


def more_items(claim: Claim) -> int | None:
    """How many new items would settle an open claim; None if more than ten times the current number.

    >>> more_items(Claim(family=Family.NAMED, n_items=100, more_items=2000)) is None
    True
    """
    have = claim.n_labels if claim.family == Family.GOLD else claim.n_items
    return claim.more_items if claim.more_items is not None and claim.more_items <= 10 * max(have, 1) else None


def loss_text(loss: Estimate) -> str:
    """A loss in points of accuracy with its interval.

    >>> loss_text(Estimate(.021, .008, .033)), loss_text(Estimate(.0004))
    ('2.1 points (0.8 to 3.3)', '0.0 points')
    """
    return missing_text(loss.reason) if loss.value is None else points_and_ends(loss)


def assumption_sentence(tested: Tested) -> str:
    """An assumption and what is known about it.

    >>> from majorant.evidence.evidence import Assumption
    >>> print(assumption_sentence(Tested(Assumption.INDEPENDENT_VOTES, Status.FAILED, .0123)))
    votes on an item are independent given the truth: failed (p = 0.012)
    """
    status = {Status.UNTESTABLE: "cannot be tested", Status.UNTESTED: "not tested"}.get(tested.status, tested.status)
    p_value = "" if tested.p_value is None else f" (p = {tested.p_value:.2g})"
    return f"{ASSUMPTION_TEXT[tested.assumption]}: {status}{p_value}"


def untested_sentence(claims: Iterable[Claim]) -> str:
    """The assumptions that no test has checked, each listed once."""
    untested = dict.fromkeys(
        ASSUMPTION_TEXT[one.assumption] for claim in claims for one in claim.with_status(Status.UNTESTED)
    )
    return f"These assumptions were not tested: {'; '.join(untested)}." if untested else ""


def design_sentence(design: VotingDesign) -> str:
    """Whether the same workers labelled all items, or different workers different items."""
    sets = "1 set of workers" if design.n_sets == 1 else f"{design.n_sets:,} sets of workers"
    if design.kind == "panel":
        share = "all" if design.covered == 1 else f"{100 * design.covered:.0f}% of the"
        first = "The same workers" if design.n_sets == 1 else "The same few sets of workers"
        return f"A panel: {first.lower()} labeled {share} items."
    return f"A crowd: {sets} labeled {design.n_items:,} items."


def dependence_sentence(dependence: Dependence | None) -> str:
    """Whether the workers of a panel share mistakes; empty if unknown."""
    if dependence is None or dependence.tested.status not in (Status.PASSED, Status.FAILED):
        return ""
    p_value = f"p = {dependence.tested.p_value:.2g}"
    if dependence.tested.status == Status.PASSED:
        return f"No sign that workers share mistakes ({p_value})."
    parts = [f"The workers' errors are correlated ({p_value})", worth_text(dependence)]
    return f"{'; '.join(part for part in parts if part)}."


def worth_text(dependence: Dependence) -> str:
    """How many independent votes the votes on an item are worth; empty if unknown."""
    n_eff = dependence.n_eff
    if n_eff.value is None:
        return ""
    if n_eff.low is None or n_eff.high is None:
        return f"the votes on an item are worth at most about {n_eff.value:.1f} independent ones"
    return f"the votes on an item are worth {n_eff.value:.1f} independent ones ({n_eff.low:.1f} to {n_eff.high:.1f})"


# --- what `majorant certify` prints


def certificate_text(certificate: Certificate) -> str:
    """The certificate in one sentence, then each claim with its numbers and assumptions."""
    lines, found = [certificate_sentence(certificate)], certificate.optimality
    if found is not None:
        by_gold = [] if certificate.standing is certificate.anonymous else lines
        said = (("Answer", answer_sentence), ("Grade", grade_sentence), ("Unless", tipping_sentence))
        lines = [*by_gold, *(line for title, tell in said for line in _wrapped(title, tell(found)))]
        lines += ["", *_facts(fact_lines(found))]
    for claim in certificate.claims:
        lines += ["", *_claim_lines(claim)]
    if certificate.design is not None:
        lines += ["", design_sentence(certificate.design)]
    if certificate.dependence is not None:
        lines += ["", "Do workers share mistakes?", *_facts(_dependence_facts(certificate))]
    return "\n".join(lines)


def _wrapped(title: str, text: str) -> list[str]:
    """A line with a title, wrapped."""
    return textwrap.wrap(
        f"{title:<8} {text}", 116, subsequent_indent=" " * 9, break_long_words=False, break_on_hyphens=False
    )


def _claim_lines(claim: Claim) -> list[str]:
    sure = f" ({claim.certainty})" if claim.certainty is not None else f" ({claim.reason})"
    model = "" if claim.model == Model.NONE else f", model: {claim.model}"
    lines = [f"{TITLES[claim.family]}: {claim.verdict}{sure} at {level_percent(claim.level)}{model}"]
    assumptions = [("assumes", assumption_sentence(one)) for one in claim.assumptions]
    return [*lines, *_facts([*claim_facts(claim), *assumptions])]


def claim_facts(claim: Claim) -> list[tuple[str, str]]:
    """The numbers of a claim, each with its name."""
    facts = []
    if claim.margin is not None:
        facts.append(("margin", f"{claim.margin:+.3f} nats"))
    if claim.loss.value is not None:
        facts.append(("loss", loss_text(claim.loss)))
    if claim.accuracy is not None and (claim.family == Family.GOLD or claim.verdict != Verdict.OPEN):
        items = "gold items" if claim.family == Family.GOLD else "items, by the model"
        facts.append(("majority", f"right on {100 * claim.accuracy:.1f}% of the {items}"))
    if claim.tied_share:
        facts.append(("ties", f"{100 * claim.tied_share:.1f}% of the items, not counted"))
    if more_items(claim):
        facts.append(("more", more_items_text(claim)))
    return facts


def _dependence_facts(certificate: Certificate) -> list[tuple[str, str]]:
    dependence = certificate.dependence
    assert dependence is not None
    facts = [("test", assumption_sentence(dependence.tested))]
    if dependence.pairs:
        facts.append(("pairs", _clear_pairs(dependence, 1 - certificate.level)))
    facts.append(("worth", worth_text(dependence) or f"not known: {missing_text(dependence.n_eff.reason)}"))
    return facts


def _clear_pairs(dependence: Dependence, alpha: float) -> str:
    """The significant pairs after a Bonferroni correction, strongest first."""
    pairs = sorted(dependence.pairs, key=lambda pair: -abs(pair.correlation))
    clear = [pair for pair in pairs if pair.p_value * len(pairs) <= alpha]
    if not clear:
        return "no pair is significantly correlated"
    strongest = listed(f"{' and '.join(map(shown, pair.workers))} {pair.correlation:+.2f}" for pair in clear)
    source = "on gold items" if dependence.truth == "gold" else "a rough estimate from the votes"
    return f"correlated given the true label ({source}): {strongest}"


def _facts(facts: list[tuple[str, str]]) -> list[str]:
    return [f"    {name:<10} {text}" for name, text in facts]


# --- plain data


def certificate_summary(certificate: Certificate) -> Facts:
    """The facts of a certificate with their sentences; infinite numbers are the strings inf and -inf."""
    claims = {str(family): getattr(certificate, family) for family in Family}
    return {
        "level": certificate.level,
        "standing": str(certificate.standing.family),
        "sentence": certificate_sentence(certificate),
        "untested_sentence": untested_sentence(certificate.claims),
        **{name: None if claim is None else claim_summary(claim) for name, claim in claims.items()},
        "design": None if certificate.design is None else design_summary(certificate.design),
        "optimality": optimality_summary(certificate.optimality),
    }


def claim_summary(claim: Claim) -> Facts:
    """The facts of a claim with its sentences."""
    names = "verdict certainty reason level margin loss accuracy tied_share model n_items n_labels"
    return {
        "title": TITLES[claim.family],
        "sentence": claim_sentence(claim),
        **facts_of(claim, names),
        "assumptions": [tested_summary(one) for one in claim.assumptions],
        "more_items": more_items(claim),
    }


def tested_summary(tested: Tested) -> Facts:
    """An assumption and its status, as facts and as a sentence."""
    return {
        "name": tested.assumption.name.lower(),
        "assumption": ASSUMPTION_TEXT[tested.assumption],
        **facts_of(tested, "status p_value"),
        "sentence": assumption_sentence(tested),
    }


def design_summary(design: VotingDesign) -> Facts:
    """The voting design and its sentence."""
    return {**facts_of(design, "kind n_workers n_items n_sets covered"), "sentence": design_sentence(design)}


def dependence_summary(dependence: Dependence | None) -> Facts | None:
    """Which workers of a panel share mistakes, and how many independent workers the panel is worth."""
    if dependence is None:
        return None
    names: list[Hashable] = list(dict.fromkeys(name for pair in dependence.pairs for name in pair.workers))
    return {
        "tested": tested_summary(dependence.tested),
        "sentence": dependence_sentence(dependence),
        **facts_of(dependence, "truth n_eff"),
        "workers": [plain(name) for name in names],
        "pairs": [facts_of(pair, "workers correlation p_value") for pair in dependence.pairs],
    }
