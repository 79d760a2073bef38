"""Scores and ordered labels as plain data, lines and a table."""

from __future__ import annotations

from typing import Any

from majorant.agreement.scores import RULES, Scores
from majorant.output import Columns
from majorant.values import Estimate
from majorant.wording import nearer_sentence

NAMES = {
    "interval_alpha": "Krippendorff's alpha, interval",
    "icc": "ICC(1), one-way",
    "icc_agreement": "ICC(A,1), two-way, absolute agreement",
    "weighted_kappa": "Cohen's kappa, quadratic weights, mean over pairs",
}


def score_summary(found: Scores) -> dict[str, Any]:
    """The facts: each coefficient with its interval or the reason why there is none, each rule's distance from gold."""
    return {
        **{name: _facts(getattr(found, name)) for name in NAMES},
        "distance": {rule: _facts(found.distance[rule]) for rule in RULES},
        "nearer": {rule: _facts(one) for rule, one in found.nearer.items()},
        "closest": found.closest,
        "about": "ranks" if found.ranked else "scores",
        "level": found.level,
    }


def _facts(one: Estimate) -> dict[str, Any]:
    return {"value": one.value, "low": one.low, "high": one.high, "reason": one.reason}


def score_lines(facts: dict[str, Any]) -> list[str]:
    """The same as lines; distances are in the units of the scores."""
    lines = [f"Agreement by distance, between {facts['about']}:"]
    lines += [f"  {spelt}: {_spelt(facts[name])}" for name, spelt in NAMES.items()]
    lines.append("Mean distance from gold of each rule:")
    lines += [f"  {rule}: {_spelt(facts['distance'][rule])}" for rule in RULES]
    lines += [nearer_sentence(rule, one) for rule, one in facts["nearer"].items() if one["low"] is not None]
    if facts["closest"] is not None:
        lines.append(f"Closest to gold on these items: {facts['closest']}.")
    return lines


def _spelt(one: dict[str, Any]) -> str:
    if one["value"] is None:
        return f"not known ({one['reason']})"
    interval = "" if one["low"] is None else f" ({one['low']:.3f} to {one['high']:.3f})"
    return f"{one['value']:.3f}{interval}"


def score_table(found: Scores) -> Columns:
    """A row per item."""
    return {
        "item": found.items,
        "mean": found.mean_i,
        "median": found.median_i,
        "majority": found.majority_i,
        "votes": found.votes_i,
    }
