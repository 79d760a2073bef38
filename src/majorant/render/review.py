"""Text and JSON for the items to review: the most doubtful labels."""

from __future__ import annotations

from majorant.render.plain import Facts, number, plain
from majorant.render.words import about_points, count
from majorant.results.review import Reason, Review

REASON_HEADINGS = {  # above items with the same reason
    Reason.TIE: "Ties",
    Reason.ONE_VOTE: "Only one vote",
    Reason.OVERTURNED: "The rule overturns the majority",
    Reason.GOOD_WORKERS_DISAGREE: "Good workers disagree",
    Reason.NEAR_TIE: "Near-ties",
    Reason.TWO_VOTES: "Only two votes",
    Reason.VOTES_DISAGREE: "Votes disagree",
    Reason.WEAK_WORKERS: "Weak workers decide",
}


def review_line(review: Review) -> str:
    """The expected gain from reviewing the most doubtful labels."""
    if not len(review.item_p):
        return ""
    items = count(len(review.item_p), "most doubtful item")
    gain = "slightly" if review.gain < 0.003 else f"by {about_points(review.gain)}"
    return f"Having an expert review the {items} would raise accuracy {gain}; review.csv lists them."


def review_facts(review: Review) -> Facts:
    """The facts for JSON and the report; the first items are listed with who said what."""
    most_text = 200
    columns = review.table()
    rows = []
    for p in range(min(len(review.item_p), 20)):
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
                **({} if text is None else {"text": text if len(text) <= most_text else f"{text[: most_text - 1]}…"}),
            }
        )
    return {
        "items": len(review.item_p),
        "gain": review.gain,
        "by_models": review.by_models,
        "sentence": review_line(review),
        "rows": rows,
    }
