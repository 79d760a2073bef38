"""The labels to look at first, in words."""

from __future__ import annotations

from typing import Any

from majorant.render.plain import number, plain
from majorant.results.review import Review
from majorant.wording import count, shown

MOST_ROWS, MOST_TEXT = 20, 200


def review_line(review: Review) -> str:
    """What a look at the most doubtful labels is expected to gain, and which comes first."""
    if not len(review.item_p):
        return ""
    gain = f"An expert on the {count(len(review.item_p), 'most doubtful item')} would add about {_points(review.gain)}"
    return f"{gain} of accuracy. The first is {shown(review.items[0])} ({review.reason[0]})."


def _points(share: float) -> str:
    points = 100 * share
    return f"{points:.1f} points" if points < 10 else f"{points:.0f} points"


def review_about(review: Review) -> str:
    """How the list is ordered, above it."""
    order = (
        "those first that models of the votes doubt most (the median of three)"
        if review.by_models
        else "the least confident first"
    )
    return f"The {count(len(review.item_p), 'label')} to look at first: {order}."


def review_facts(review: Review) -> dict[str, Any]:
    """The facts for JSON and the report; the first items one by one, with who said what."""
    columns = review.table()
    rows = []
    for p in range(min(len(review.item_p), MOST_ROWS)):
        text = review.text[p] if review.text else None
        rows.append(
            {
                "item": plain(review.items[p]),
                "label": plain(columns["label"][p]),
                "confidence": number(float(review.confidence_p[p])),
                "runner_up": plain(columns["runner_up"][p]),
                "votes": int(review.votes_p[p]),
                "reason": str(review.reason[p]),
                "said": [
                    {
                        "label": plain(said.label),
                        "votes": len(said.workers),
                        "workers": [plain(w) for w in said.workers[:10]],
                    }
                    for said in review.said[p]
                ],
                **({} if text is None else {"text": text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"}),
            }
        )
    return {
        "items": len(review.item_p),
        "gain": review.gain,
        "by_models": review.by_models,
        "about": review_about(review),
        "sentence": review_line(review),
        "rows": rows,
    }
