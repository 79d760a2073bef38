"""What is known of a model, as plain data and as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from majorant.theory import Description, OptimalVotes

TIES = {"exclude": "left out", "first": "to the first class", "prior": "to the larger prior", "random": "drawn"}


def theory_summary(
    prior: Sequence[float],
    descriptions: Sequence[Description],
    ties: str,
    *,
    labels: Sequence[str] | None = None,
    voters: Sequence[str] | None = None,
    optimal_votes: OptimalVotes | None = None,
) -> dict[str, Any]:
    """The facts as plain data; infinite numbers are the strings inf and -inf."""
    return {
        "prior": list(prior),
        "labels": list(labels) if labels is not None else None,
        "voters": list(voters) if voters is not None else None,
        "ties": ties,
        "optimal_votes": {"odd": optimal_votes.odd, "even": optimal_votes.even, "words": optimal_votes.words()}
        if optimal_votes is not None
        else None,
        "by_votes": [_facts(one, labels, voters) for one in descriptions],
    }


def _facts(one: Description, labels: Sequence[str] | None, voters: Sequence[str] | None) -> dict[str, Any]:
    return {
        "votes": one.n_votes,
        "verdict": one.verdict,
        "margin": finite(one.margin),
        "majority_accuracy": one.majority_accuracy,
        "optimal_accuracy": one.optimal_accuracy,
        "gap": one.gap,
        "handicap": finite(one.handicap),
        "radius": one.radius,
        "witness": {
            "counts": list(one.witness.counts),
            "ballot": list(one.witness.ballot) if one.witness.ballot is not None else None,
            "majority": one.witness.majority,
            "optimal": one.witness.optimal,
            "words": one.witness.words(labels, voters),
        },
    }


def finite(number: float | None) -> float | str | None:
    """A number that JSON can hold: infinite ones are the strings inf and -inf."""
    return number if number is None or math.isfinite(number) else str(number)


def theory_text(summary: dict[str, Any]) -> str:
    """What `majorant theory` prints: a row per number of votes, then the votes that come closest to disagreement."""
    head = ("votes", "verdict", "margin", "majority", "optimal rule", "gap", "handicap", "radius")
    rows = [head, *(_cells(facts) for facts in summary["by_votes"])]
    used = [c for c in range(len(head)) if any(row[c] for row in rows[1:])]
    width_c = {c: max(len(row[c]) for row in rows) for c in used}
    lines = ["  ".join(row[c].ljust(width_c[c]) if c == 1 else row[c].rjust(width_c[c]) for c in used) for row in rows]
    lines += ["", "The votes on which majority stands weakest:"]
    lines += [f"  {facts['witness']['words']}" for facts in summary["by_votes"]]
    if summary["optimal_votes"] is not None:
        words = summary["optimal_votes"]["words"]
        lines += ["", f"Majority is optimal (ties left out) for these numbers of votes: {words}."]
    if any(facts["gap"] is None for facts in summary["by_votes"]):
        lines += ["", "?: too many vote patterns to enumerate; majorant.theory.estimate_accuracy simulates."]
    if any(facts["votes"] % 2 == 0 for facts in summary["by_votes"]):
        lines += ["", f"Tied votes: {TIES[summary['ties']]}."]
    return "\n".join(lines)


def _cells(facts: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(facts["votes"]),
        facts["verdict"],
        _number(facts["margin"], "+.3f", " nats"),
        _number(facts["majority_accuracy"], ".4f") or "?",
        _number(facts["optimal_accuracy"], ".4f") or "?",
        _number(facts["gap"], ".3g") or "?",
        _number(facts["handicap"], "+.2f", " votes"),
        _number(facts["radius"], ".4f"),
    )


def _number(value: float | str | None, form: str, unit: str = "") -> str:
    return "" if value is None else f"{float(value):{form}}{unit}"
