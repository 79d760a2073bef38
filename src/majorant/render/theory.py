"""Text and JSON for `majorant theory`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from majorant.render.plain import Facts, facts_of
from majorant.render.words import columns

if TYPE_CHECKING:
    from majorant.theory import Description, OptimalVotes


def theory_summary(
    prior: Sequence[float],
    descriptions: Sequence[Description],
    ties: str,
    *,
    labels: Sequence[str] | None = None,
    voters: Sequence[str] | None = None,
    optimal_votes: OptimalVotes | None = None,
) -> Facts:
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


def _facts(one: Description, labels: Sequence[str] | None, voters: Sequence[str] | None) -> Facts:
    witness = facts_of(one.witness, "counts ballot majority optimal")
    return {
        **facts_of(one, "votes=n_votes verdict margin majority_accuracy optimal_accuracy gap handicap radius"),
        "witness": {**witness, "words": one.witness.words(labels, voters)},
    }


def theory_text(summary: Facts) -> str:
    """What `majorant theory` prints: a row per number of votes, then the votes closest to overturning the majority."""
    head = ("votes", "verdict", "margin", "majority", "optimal rule", "gap", "handicap", "radius")
    rows = [head, *(_cells(facts) for facts in summary["by_votes"])]
    used = [c for c in range(len(head)) if any(row[c] for row in rows[1:])]
    lines = columns([[row[c] for c in used] for row in rows], left=(1,), indent="")
    lines += ["", "The votes on which majority vote is closest to losing:"]
    lines += [f"  {facts['witness']['words']}" for facts in summary["by_votes"]]
    if summary["optimal_votes"] is not None:
        lines += [
            "",
            f"Leaving out ties, majority vote is optimal for these vote counts: {summary['optimal_votes']['words']}.",
        ]
    if any(facts["gap"] is None for facts in summary["by_votes"]):
        lines += ["", "?: too many vote patterns to enumerate."]
    if any(facts["votes"] % 2 == 0 for facts in summary["by_votes"]):
        ties = {
            "exclude": "are left out",
            "first": "go to the first class",
            "prior": "go to the class with the larger prior",
            "random": "are broken at random",
        }
        lines += ["", f"Ties {ties[summary['ties']]}."]
    return "\n".join(lines)


def _cells(facts: Facts) -> tuple[str, ...]:
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
