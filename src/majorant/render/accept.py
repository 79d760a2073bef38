"""Text and JSON for `majorant accept`: how many items need no expert, the promise, and the curve behind it."""

from __future__ import annotations

from typing import Any

from majorant.render.words import columns, count
from majorant.results.accept import VOTES, Acceptance


def accept_facts(found: Acceptance, prices: tuple[float, float] | None = None) -> dict[str, Any]:
    """Everything the output shows, as plain data."""
    names = ("at", "level", "exact", "order", "labels", "inside", "wrong", "accuracy")
    return {
        **{name: getattr(found, name) for name in names},
        "headline": headline(found),
        "items": len(found.item_n),
        "accepted": found.n_accepted,
        "curve": [level._asdict() for level in found.curve],
        "cost_per_item": None if prices is None else found.cost_per_item(*prices),
    }


def accept_text(found: Acceptance, prices: tuple[float, float] | None = None) -> str:
    """The text for the terminal."""
    lines = [headline(found), f"Why      {reason(found)}", *_curve(found), f"Sure     {sure_line(found)}"]
    if prices is not None:
        lines.append(f"Cost     {found.cost_per_item(*prices):,.3g} per item; labelling every item, "
                     f"{found.cost_per_item(prices[0], 0) + prices[1]:,.3g}.")  # fmt: skip
    return "\n".join(lines)


def headline(found: Acceptance) -> str:
    """What can be accepted, in one sentence."""
    n, percent = len(found.item_n), f"{100 * found.at:g}%"
    if not found.n_accepted:
        return f"Nothing can be accepted at {percent}: an expert should look at all {count(n, 'item')}."
    if found.n_accepted == n:
        return f"Accept all {count(n, 'item')} without a look: at least {percent} of the labels are right."
    return (
        f"Accept {found.n_accepted:,} of {count(n, 'item')} without a look: at least {percent} of them are right. Look "
        f"at the other {n - found.n_accepted:,}."
    )


def reason(found: Acceptance) -> str:
    """What the labels showed."""
    by = "how many votes agree" if found.order == VOTES else "a rule learned from the labels"
    if found.n_accepted:
        return (
            f"{found.inside - found.wrong:,} of {count(found.inside, 'label')} among them are right, ordered by {by}."
        )
    if not found.curve:
        return f"{count(found.labels, 'label')} are too few for any tenth of the items."
    first = found.curve[0]
    return (
        f"Even of the surest {100 * first.share:.0f}% of the items, ordered by {by}, {count(first.wrong, 'label')} of "
        f"{first.labels:,} are wrong."
    )


def sure_line(found: Acceptance) -> str:
    """The promise, and what it rests on."""
    level = f"{100 * found.level:g}%"
    if found.exact:
        return f"{level}, exact, if the labelled items are a random sample."
    return (
        f"{level}, kept on public data sets, if the labelled items are a random sample. For an exact promise: --exact."
    )


def _curve(found: Acceptance) -> list[str]:
    if not found.curve:
        return []
    head = ("items", "labels", "right", "")
    rows = [
        (
            f"{100 * one.share:.0f}%",
            f"{one.labels:,}",
            f"{100 * (1 - one.wrong / one.labels):.0f}%",
            "accepted" if one.passed else "not shown",
        )
        for one in found.curve
    ]
    return columns([head, *rows], left=(3,))
