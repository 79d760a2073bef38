"""A plan as plain data and as text."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from majorant.plan import DOUBTS, INDEPENDENT, Plan
from majorant.report.plain import plain
from majorant.report.text import columns, shown, with_ends
from majorant.wording import count, one_of, percent, would_decide

ADVICE = {
    "enough": "The votes you have are enough.",
    "better rule": "No more votes are needed: the best rule reaches it with the votes you have.",
    "more votes": "It takes more votes; a better rule saves none of them.",
    "both": "The best rule saves votes.",
    "know who votes": "No more votes are needed: the best rule that knows who voted reaches it with those you have.",
    "doubtful": "The data put that in doubt, so expect less.",
    "out of reach": "No number of votes up to this limit reaches it: better workers or instructions would.",
}


def plan_summary(plan: Plan) -> dict[str, Any]:
    """The facts of a plan."""
    return {
        "target": plan.target,
        "advice": plan.advice,
        "sentence": _sentence(plan),
        "votes_now": plan.votes_now,
        "majority_votes": plan.majority_votes,
        "best_votes": plan.best_votes,
        "price_per_vote": plan.price_per_vote,
        "majority_cost": plan.majority_cost,
        "best_cost": plan.best_cost,
        "gold_items": plan.gold_items,
        "more_gold": plan.more_gold,
        "more_items": plan.more_items,
        "prior": plan.prior.tolist(),
        "confusion": plan.confusion.tolist(),
        "points": [{"votes": p.n_votes, "majority": p.majority, "best": p.best} for p in plan.points],
        "crew": [{"worker": plain(s.worker), "majority": s.majority, "best": s.best} for s in plan.crew],
        "expected_now": plan.expected_now,
        "observed_now": asdict(plan.observed_now),
        "keep": [plain(worker) for worker in plan.keep],
        "assumptions": list(plan.assumptions),
        "doubts": list(plan.doubts),
    }


def _sentence(plan: Plan) -> str:
    def votes(needed: int | None) -> str:
        return f"more than {len(plan.points)} votes" if needed is None else count(needed, "vote")

    now = "" if plan.votes_now is None else f" You have {plan.votes_now:.3g}."
    condition, takes = (one_of(plan.doubts), "would take") if plan.doubts else ("votes are independent", "takes")
    return (
        f"If {condition}, being right on {100 * plan.target:g} % of the items {takes} {votes(plan.majority_votes)} per "
        f"item by majority, {votes(plan.best_votes)} by the best rule that ignores who voted.{now} "
        f"{ADVICE[plan.advice]}"
    )


def plan_text(summary: dict[str, Any]) -> str:
    """What `majorant plan` prints."""
    lines = [summary["sentence"], *_doubt(summary), "", *_points(summary)]
    wants = [
        (summary["gold_items"], "gold item", ""),
        (summary["more_gold"], "fresh gold item", ", judged by themselves,"),
        (summary["more_items"], "fresh item", " without gold, judged by themselves,"),
    ]
    condition = f", if {one_of(summary['doubts'])}" if summary["doubts"] else ""
    decide = [
        would_decide(number, what, more, condition if what == "gold item" else "")
        for number, what, more in wants
        if number is not None
    ]
    lines += ["", *decide] if decide else []
    if summary["crew"]:
        lines += ["", *_crew(summary)]
    return "\n".join([*lines, "", *(f"Assumes: {text}." for text in summary["assumptions"])])


def _doubt(summary: dict[str, Any]) -> list[str]:
    """A warning where gold, or the votes themselves, show that the model promises too much."""
    if DOUBTS[INDEPENDENT] not in summary["doubts"]:
        return []
    seen, expected = summary["observed_now"], summary["expected_now"]
    if expected is None or seen["high"] is None or seen["high"] >= expected:
        return [
            "Note     Votes depend on each other (hard items, shared errors): they gain less than the numbers below."
        ]
    right = with_ends(seen, percent)
    return [
        f"Note     By gold, majority is right on {right} of the items. The numbers below expect",
        f"         {percent(expected)}: votes depend on each other (hard items, shared errors).",
    ]


def _points(summary: dict[str, Any]) -> list[str]:
    """A row for each number of votes, as far as it matters."""
    needed = [n for n in (summary["majority_votes"], summary["best_votes"], summary["votes_now"]) if n is not None]
    last = len(summary["points"]) if summary["majority_votes"] is None else round(max(needed)) + 1
    rows = [
        (
            str(row["votes"]),
            *("?" if row[name] is None else percent(row[name]) for name in ("majority", "best")),
            f"{row['votes'] * summary['price_per_vote']:.{_decimals(summary['price_per_vote'])}f}",
        )
        for row in summary["points"][:last]
    ]
    return columns([("votes per item", "majority", "best rule", "price per item"), *rows], left=())


def _crew(summary: dict[str, Any]) -> list[str]:
    head = ("the workers, best addition first", "majority of them", "best rule that knows them")
    rows = [(shown(row["worker"]), percent(row["majority"]), percent(row["best"])) for row in summary["crew"]]
    keep = ", ".join(shown(worker) for worker in summary["keep"])
    reached = percent(summary["crew"][len(summary["keep"]) - 1]["best"])
    together = "together " if len(summary["keep"]) > 1 else ""
    condition = f" if {one_of(summary['doubts'])}" if summary["doubts"] else ""
    told = f"Keep {keep}: {together}right on {reached}{condition}, by the best rule that knows who voted."
    return [told, *columns([head, *rows])]


def _decimals(price: float) -> int:
    """As many decimals as the price was given with.

    >>> _decimals(0.05), _decimals(1.0), _decimals(2.5)
    (2, 0, 1)
    """
    from decimal import Decimal

    exponent = Decimal(repr(float(price))).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
