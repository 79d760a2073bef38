"""Charts of the votes: how many each item has, how many items majority vote decides, and how well votes agree."""

from __future__ import annotations

from typing import Any

from majorant.render.agreement import COEFFICIENTS
from majorant.render.figures.charts import Bars, Dot, Dots


def votes_charts(summary: dict[str, Any]) -> list[Bars]:
    """How many votes items have, and how many items majority vote decides."""
    sizes = summary["votes"]["votes_per_item"]
    if not sizes:
        return []
    names, items = zip(*_ranges(sizes), strict=True)
    majority = summary["majority"]
    outcomes = {"labelled": "labelled", "tied": "tied", "without_votes": "without votes"}
    decided = [majority[outcome] for outcome in outcomes]
    return [
        Bars("Items by number of votes", names, items),
        Bars("What majority vote decides", list(outcomes.values()), decided, shares=True),
    ]


def _ranges(sizes: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """The number of items for each number of votes; if there are many, for ranges of equal width, the last one open."""
    most_bars = 12
    if len(sizes) <= most_bars:
        return [(f"{row['votes']}", row["items"]) for row in sizes]
    left, last = sum(row["items"] for row in sizes), sizes[-1]["votes"]
    total, first = left, sizes[0]["votes"]
    for row in sizes:
        left -= row["items"]
        if left <= 0.02 * total:
            last = row["votes"]
            break
    width = max(1, -(-(last - first + 1) // (most_bars - 1)))
    open_from = first + -(-(last - first + 1) // width) * width
    ranges: dict[str, int] = {}
    for start in range(first, open_from, width):
        ranges[f"{start}" if width == 1 else f"{start}–{start + width - 1}"] = sum(
            row["items"] for row in sizes if start <= row["votes"] < start + width
        )
    rest = sum(row["items"] for row in sizes if row["votes"] >= open_from)
    return [*ranges.items(), *([(f"≥ {open_from}", rest)] if rest else [])]


def agreement_charts(summary: dict[str, Any]) -> list[Dots]:
    """The coefficients with their intervals."""
    agreement = summary["agreement"]
    estimates = {
        title.strip(): agreement[name]
        for name, title in COEFFICIENTS.items()
        if agreement[name]["value"] is not None and (name != "krippendorff_ordinal" or agreement["classes"] > 2)
    }
    rows = [Dot(title, e["value"], e["low"], e["high"], f"{e['value']:.2f}") for title, e in estimates.items()]
    if not rows:
        return []
    return [Dots("Agreement between votes", rows, start=min(0.0, *(min(r.value, r.low or 0.0) for r in rows)))]
