"""The paper's flow chart (its Figure 1), walked box by box for a file of votes."""

from __future__ import annotations

import textwrap

from majorant.evidence.certificate.certificate import Certificate
from majorant.evidence.certificate.optimality import Optimality
from majorant.evidence.certificate.radius import ErrorRadius
from majorant.evidence.evidence import Assumption, Status
from majorant.render.certificate import claim_sentence
from majorant.render.optimality import answer_sentence, fact_lines, grade_sentence, tipping_sentence
from majorant.render.plain import Facts, to_plain
from majorant.render.words import count, listed, percent, quoted_number
from majorant.theory.paper import BoxCheck

Step = tuple[str, str]  # a question of the chart, and its answer for these votes


def walk_steps(certificate: Certificate, radius: ErrorRadius | None, checks: dict[int, BoxCheck]) -> list[Step]:
    """Each question of the chart with its answer, down to what the estimates are worth."""
    found = certificate.optimality
    if found is None:
        return [("Is there a model?", "No item has three votes, so these votes do not determine nu and T.")]
    two = len(found.labels) == 2
    steps = [("How many classes?", f"{len(found.labels)}: {listed(map(quoted_number, found.labels))}")]
    steps.append(("Do all workers share one matrix T?", _shared_text(certificate, found)))
    if two and not found.by_worker:
        right = [found.confusion[k][k] for k in (0, 1)]
        same = "nearly: Theorem 3.3" if abs(right[0] - right[1]) < 0.01 else "no: Theorem 3.4"
        said = f"{percent(right[0])} and {percent(right[1])}, so {same}"
        steps.append(("Same accuracy on both classes?", said))
    steps += [(f"The condition for {name}", text) for name, text in fact_lines(found) if name.endswith("votes")]
    steps.append(("Are nu and T known?", f"No: estimated from {count(certificate.anonymous.n_items, 'item')}."))
    steps.append(("... the estimates in their place", answer_sentence(found)))
    if radius is not None:
        steps.append(("... Theorem 3.5, corrected", _radius_text(radius, checks)))
    steps.append(("... the certificate", claim_sentence(certificate.anonymous)))
    return [
        *steps,
        ("How sure is the answer?", grade_sentence(found)),
        ("What would overturn it?", tipping_sentence(found)),
    ]


def _shared_text(certificate: Certificate, found: Optimality) -> str:
    if found.by_worker:
        return "The same workers label everything, so each has a matrix of its own (exact margin of the panel)."
    status = certificate.anonymous.status(Assumption.EXCHANGEABLE_WORKERS)
    if status == Status.FAILED:
        return "No, workers differ; below is the best rule that ignores who voted, for which one matrix is enough."
    return "As far as these votes can tell." if status == Status.PASSED else "These votes cannot tell; assumed."


def _radius_text(radius: ErrorRadius, checks: dict[int, BoxCheck]) -> str:
    """What Theorem 3.5 says with the bootstrap radius of the estimates."""
    within = (
        f"T within {radius.confusion_radius:.3f} and nu within {radius.prior_radius:.3f} ({percent(radius.level, 0)})"
    )
    least = min(check.margin for check in checks.values())
    if least > 0:
        return (
            f"With {within}, majority vote is optimal for every model within reach: margin at least {least:.2f} nats."
        )
    return f"With {within}, some model within reach makes it not optimal: margin at least {least:.2f} nats."


def walk_text(steps: list[Step]) -> str:
    """The walk as printed: a question and its answer per paragraph."""
    lines: list[str] = []
    for question, answer in steps:
        lines += [question, *textwrap.wrap(answer, 110, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join(lines)


def walk_facts(steps: list[Step], radius: ErrorRadius | None, checks: dict[int, BoxCheck]) -> Facts:
    """The walk as plain data."""
    return {
        "steps": [{"question": question, "answer": answer} for question, answer in steps],
        "radius": None if radius is None else to_plain(radius),
        "theorem_3_5": {str(n_votes): check.margin for n_votes, check in checks.items()},
    }
