"""Text and JSON for plans: what more votes would gain, and what stopping early would save."""

from __future__ import annotations

from majorant.render.judges import keep_text, label_more, sub_panels_facts
from majorant.render.plain import Facts, facts_of
from majorant.render.words import columns, count, points_and_ends
from majorant.render.workers import copies_facts
from majorant.results.plan import GOLD_TO_ANCHOR, Advice, Plan, PlanPoint, Stop, Stopping
from majorant.values import Estimate


def plan_line(plan: Plan) -> str:
    """The plan in a sentence or two."""
    return " ".join([_advice(plan), *_saving(plan)[:1]])


def _advice(plan: Plan) -> str:
    target = f"{100 * plan.target:g}%"
    if plan.advice is Advice.NEEDS_LABELS:
        see = f"whether these judges reach {target}" if plan.panel else f"how many votes it takes to reach {target}"
        need = f"To see {see} accuracy, {label_more(GOLD_TO_ANCHOR, plan.n_gold)}."
        return f"{_gain(plan)} {need}".strip()
    now = f"Majority vote is right on {_ends(plan.accuracy_now)} of {count(plan.n_gold, 'gold item')}"
    if plan.advice is Advice.ENOUGH:
        return f"{now}: you have enough votes for {target}."
    if plan.advice is Advice.MORE_VOTES:
        needed = f"About {count(plan.votes_needed or 0, 'vote')} per item would reach {target}"
        return f"{now}. {needed}; you have {plan.votes_now:.3g}."
    if plan.advice is Advice.OTHER_JUDGES:
        return f"{now}, below {target}. More judges like these would hardly help: on public panels they gained nothing."
    return f"{now}. Even {len(plan.points)} votes per item would not reach {target}: improve workers or instructions."


def _gain(plan: Plan) -> str:
    """What two more votes per item would gain; there is no forecast for panels."""
    if plan.panel:
        return "The gain of more judges cannot be forecast: on public panels, more of the same kind gained nothing."
    ahead = round(plan.votes_now) + 2
    more = [point for point in plan.points if point.n_votes == ahead and point.gain.value is not None]
    if not more:
        return ""
    return f"Two more votes per item would gain about {points_and_ends(more[0].gain)}."


def _ends(accuracy: Estimate) -> str:
    between = f" ({accuracy.low or 0:.1%} to {accuracy.high or 0:.1%})" if accuracy.low is not None else ""
    return f"{accuracy.value or 0:.1%}{between}"


def _saving(plan: Plan) -> list[str]:
    return [text for one in plan.stopping if (text := stopping_text(one))]


def stopping_text(one: Stopping) -> str:
    """What stopping early would have saved.

    >>> stopping_text(Stopping(Stop.DECIDED, .31, .31, 0.0))
    'Stopping once the remaining votes cannot change the label would save 31% of the votes and change no label.'
    >>> stopping_text(Stopping(Stop.LEAD_OF_THREE, .5, .8, .013))
    'Stopping at a lead of three votes would save 50% of the votes (80% of the cost) and change 1.3% of the labels.'
    """
    if one.votes_saved < 0.005:
        return ""
    when = (
        "once the remaining votes cannot change the label" if one.stop is Stop.DECIDED else "at a lead of three votes"
    )
    money = "" if abs(one.price_saved - one.votes_saved) < 0.005 else f" ({one.price_saved:.0%} of the cost)"
    share = "fewer than 0.1%" if one.labels_changed < 0.0005 else f"{one.labels_changed:.1%}"
    changes = "no label" if one.labels_changed == 0 else f"{share} of the labels"
    return f"Stopping {when} would save {one.votes_saved:.0%} of the votes{money} and change {changes}."


def plan_text(plan: Plan) -> list[str]:
    """The plan in a few sentences; then, line by line, which judges to keep or what each number of votes would gain."""
    sentences = " ".join([_advice(plan), *_saving(plan)])
    if plan.panel:
        return [sentences, *keep_text(plan.sub_panels, plan.n_judges, plan.n_gold)]
    return [sentences, *(_table(plan) if plan.points else [])]


def _table(plan: Plan) -> list[str]:
    """A row for each number of votes, up to where more would not matter."""
    now, known = round(plan.votes_now), plan.accuracy_now.value is not None
    last = max(plan.votes_needed or 0, now + 10)
    rows = [("votes per item", "gain, points", "range", *(["right"] if known else []))]
    # With ties decided by a coin flip, an even number of votes is only as good as one vote fewer.
    rows += [
        _row(point, plan, known=known) for point in plan.points[:last] if point.n_votes % 2 or point.n_votes == now
    ]
    basis = "The gain is a model's forecast; the range reflects how such forecasts turned out on public crowds."
    return [*columns(rows, left=(), indent=""), basis]


def _row(point: PlanPoint, plan: Plan, *, known: bool) -> tuple[str, ...]:
    if point.gain.value is None:
        gain = ("?", "")
    elif point.n_votes == round(plan.votes_now):
        gain = ("now", "")
    else:
        low, high = (100 * (end or 0.0) for end in (point.gain.low, point.gain.high))
        gain = (f"{100 * point.gain.value:+.1f}", f"{low:+.1f} to {high:+.1f}")
    right = () if not known else ("?" if point.accuracy.value is None else f"{point.accuracy.value:.1%}",)
    return (str(point.n_votes), *gain, *right)


def plan_facts(plan: Plan) -> Facts:
    """The facts for JSON and the report."""
    return {
        **facts_of(plan, "target advice"),
        "sentence": plan_line(plan),
        **facts_of(plan, "panel accuracy_now gold=n_gold votes_now votes_needed price_per_vote"),
        "points": [facts_of(point, "votes=n_votes gain accuracy price") for point in plan.points],
        "stopping": [
            {**facts_of(one, "stop votes_saved price_saved labels_changed"), "sentence": stopping_text(one)}
            for one in plan.stopping
        ],
        "sub_panels": sub_panels_facts(plan.sub_panels),
        "copies": copies_facts(plan.copies.groups),
    }
