"""Text and JSON for `majorant rate`: the rate, what judges report, who beats whom, and how many labels are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from majorant.defaults import MAJORITY, WEIGHTED_VOTE
from majorant.render.plain import to_plain
from majorant.render.text import inert
from majorant.render.words import columns, count, quoted_number, shown
from majorant.results.rate_inputs import Measure, Order
from majorant.results.rate_panel import Reported
from majorant.results.rates import Difference, Rate, Rates, Winner

RATES_LISTED = 12  # most judges or comparisons to print one by one


def rate_facts(rates: Rates, *, bar: float | None = None, command: str = "") -> dict[str, Any]:
    """Everything the output shows, as plain data."""
    facts: dict[str, Any] = to_plain(rates)
    facts["more"] = [{"half_width": aim, "labels": labels} for aim, labels in rates.overall.more.items()]
    for one in (facts["overall"], *facts["slices"]):
        one.pop("more")
    for one, difference in zip(facts["differences"], rates.differences, strict=True):
        one["winner"] = str(difference.winner)
    sentences = {"headline": headline(rates), "panel": panel_line(rates), "sure": sure_line(rates)}
    return {
        **facts,
        **sentences,
        "at_least": None if bar is None else {"bar": bar, "reached": rates.at_least(bar)},
        "command": command,
    }


def rate_text(rates: Rates, *, bar: float | None = None, command: str = "") -> str:
    """The text for the terminal."""
    lines = [headline(rates)]
    if bar is not None:
        lines.append(gate_line(rates, bar))
    if _several_pairs(rates):
        lines += _pair_lines(rates)
    else:
        lines += [panel_line(rates), *_judge_lines(rates), *_slice_lines(rates), *_difference_lines(rates)]
    lines += [f"Order    {said}" for said in _position_sentences(rates)]
    lines += [f"Note     {said}" for said in _notes(rates)]
    if rates.labels:
        lines.append(f"Sure     {sure_line(rates)}")
    following = next_line(rates)
    if following:
        lines.append(f"Next     {following}")
    if command:
        lines.append(f"         {command}")
    return "\n".join(line for line in lines if line)


def rate_markdown(rates: Rates, *, bar: float | None = None, command: str = "") -> str:
    """The same as Markdown, for a pull request or a job summary."""
    passed = None if bar is None else rates.at_least(bar)
    sign = {None: "", True: "✅ ", False: "❌ "}[passed]
    lines = [f"### {sign}{inert(headline(rates))}", ""]
    gate = gate_line(rates, bar) if bar is not None else ""
    said = _pair_lines(rates) if _several_pairs(rates) else [panel_line(rates)]
    lines += [inert(line) for line in (gate, *said) if line]
    if rates.slices and rates.labels and not _several_pairs(rates):
        lines += ["", "| | rate | judges say | labels |", "|---|---|---|---:|"]
        lines += [f"| {inert(_name(one))} | {_ends(one, rates)} | {_panel_rate(one, rates)} | {one.labels} |"
                  for one in rates.slices]  # fmt: skip
    listed = [*_comparisons(rates), *_position_sentences(rates)]
    lines += ["", *(f"- {inert(line)}" for line in listed)] if listed else []
    lines += ["", inert(sure_line(rates))] if rates.labels else []
    following = inert(next_line(rates))
    lines += ["", f"{following} `{command}`" if command else following] if following or command else []
    return "\n".join(lines) + "\n"


def headline(rates: Rates) -> str:
    """The rate in one sentence."""
    what, overall = _what(rates), rates.overall
    if _several_pairs(rates):
        known = f"measured on {count(overall.labels, 'label')}" if overall.labels else "according to the judges"
        return f"Win rates of {count(len(rates.slices), 'pair')}, {known}."
    if overall.value is not None:
        return f"{what}: {_ends(overall, rates)}, measured on {count(overall.labels, 'label')}."
    said = sorted(one.rate for one in overall.reported if not one.judge)
    low, high = _number(said[0], rates), _number(said[-1], rates)
    if len(said) == 1 or low == high:
        return f"{what}: the panel says {low}. There are no labels to check that."
    return f"{what}: {low} to {high}, depending on the rule. There are no labels to check that."


def panel_line(rates: Rates) -> str:
    """The rates that the rules report, and whether the labels contradict them."""
    rules = [one for one in rates.overall.reported if not one.judge]
    if rates.overall.value is None and rates.measure is Measure.SCORE:
        return ""
    if rates.overall.value is None:
        record = rates.record
        return (
            f"On {record.panels} public panels of judges, majority vote's own rate was off by {100 * record.least:.0f} "
            f"to {100 * record.most:.0f} points ({100 * record.middle:.0f} median)."
        )
    sides = [_side(one, rates.overall) for one in rules]
    said = [f"{_rule(one.name)} says {_number(one.rate, rates)}" for one in rules]
    if len(set(sides)) == 1:
        refuted = "" if sides[0] == "possible" else f", which is {sides[0]}" if len(rules) == 1 else f": {sides[0]}"
        line = " and ".join(said) + refuted
    else:
        line = ", ".join(
            text if side == "possible" else f"{text} ({side})" for text, side in zip(said, sides, strict=True)
        )
    return f"{line[:1].upper()}{line[1:]}."


def gate_line(rates: Rates, bar: float) -> str:
    """Whether the rate is above the bar."""
    shown_bar = _number(bar, rates)
    if rates.at_least(bar):
        return f"Passed: the rate is above {shown_bar}."
    if rates.high is not None and rates.high < bar:
        return f"Failed: the rate is below {shown_bar}."
    return f"Failed: the labels do not show that the rate is above {shown_bar}."


def sure_line(rates: Rates) -> str:
    """The level of the intervals and the assumption behind it."""
    if rates.overall.labels == rates.overall.n_items:
        return "every item has a label, so this is exact."
    level = f"{100 * rates.level:g}%"
    together = ", all intervals together" if rates.slices else ""
    if rates.at_n:
        drawn = (
            ""
            if rates.order is Order.DRAWN
            else f", and the {'questions' if rates.clustered else 'items'} were drawn at random"
        )
        return f"{level}{together}, at this number of labels, if you fixed it before you saw any{drawn}."
    if rates.order is Order.DRAWN:
        return f"{level}{together}, even if you stop early."
    unit = "questions" if rates.clustered else "items"
    if rates.order is Order.GIVEN:
        return f"{level}{together}, even if you stop early, if the {unit} were labelled in random order."
    return f"{level}{together}, if the labelled {unit} are a random sample."


def next_line(rates: Rates) -> str:
    """How many more labels would narrow the interval."""
    if _several_pairs(rates) and rates.labels:
        still_open = any((one.low or 0.0) <= 0.5 <= (one.high or 1.0) for one in rates.slices)
        return "More labels of the random sample would decide the open pairs." if still_open else ""
    scale = rates.limits[1] - rates.limits[0]
    more = " more" if rates.labels else ""
    steps = [
        f"about {labels:,}{more} for ±{100 * aim:.0f} points" if rates.measure is not Measure.SCORE
        else f"about {labels:,}{more} for ±{aim * scale:.2g}"
        for aim, labels in rates.overall.more.items() if labels
    ]  # fmt: skip
    if not rates.labels and rates.order is Order.DRAWN:
        return "Label the items that were drawn, from the top, and run this again."
    if not rates.labels:
        return f"Label a few items drawn at random{f': {steps[0]}' if steps else ''}."
    return f"Label {', or '.join(steps)}." if steps else ""


def _what(rates: Rates) -> str:
    if rates.measure is Measure.SCORE:
        return "Mean score"
    if rates.measure is Measure.WIN:
        return f"Win rate of {shown(rates.candidates[0][0])}"
    return f"Share of {quoted_number(rates.label)}"


def _several_pairs(rates: Rates) -> bool:
    return rates.measure is Measure.WIN and len(rates.slices) > 1


def _pair_lines(rates: Rates) -> list[str]:
    """Who wins each pair according to the labels, or to the judges if there are none."""
    lines = []
    for one, (first, second) in zip(rates.slices, rates.candidates, strict=True):
        if one.value is None or one.low is None or one.high is None:
            lines.append(
                f"{shown(first)} or {shown(second)}: the judges give {shown(first)} {_panel_rate(one, rates)}."
            )
            continue
        turned = one.value < 0.5
        ahead, behind = (second, first) if turned else (first, second)
        value, low, high = (1 - one.value, 1 - one.high, 1 - one.low) if turned else (one.value, one.low, one.high)
        ends = f"{100 * value:.0f}%" + (f" ({100 * low:.0f} to {100 * high:.0f})" if low < high else "")
        labels = count(one.labels, "label")
        if low > 0.5:
            lines.append(f"{shown(ahead)} beats {shown(behind)}: wins {ends}, {labels}.")
        else:
            lines.append(f"{shown(ahead)} or {shown(behind)}: open, {shown(ahead)} wins {ends}, {labels}.")
    return lines


def _number(value: float, rates: Rates) -> str:
    if rates.measure is Measure.SCORE:
        return f"{value:.2f}"
    return f"{100 * value:.1f}%" if 0 < value < 0.02 or 0.98 < value < 1 else f"{100 * value:.0f}%"


def _ends(rate: Rate | Difference, rates: Rates) -> str:
    """A rate with its interval, the unit once."""
    if rate.value is None or rate.low is None or rate.high is None:
        return "not known"
    value, low, high = (_number(end, rates) for end in (rate.value, rate.low, rate.high))
    return value if low == high else f"{value} ({low.removesuffix('%')} to {high.removesuffix('%')})"


def _points(difference: Difference, rates: Rates, *, turned: bool = False) -> str:
    """A difference with its interval, in points or in the unit of the score."""
    assert difference.value is not None
    assert difference.low is not None
    assert difference.high is not None
    ends = (difference.value, difference.low, difference.high)
    value, low, high = (-ends[0], -ends[2], -ends[1]) if turned else ends
    if rates.measure is Measure.SCORE:
        return f"{value:.2f}" if low == high else f"{value:.2f} ({low:.2f} to {high:.2f})"
    decided = low > 0
    style = "{:.0f}" if decided else "{:+.0f}"
    shown_ends = [style.format(100 * end).replace("-0", "0").replace("+0", "0") for end in (value, low, high)]
    unit = "point" if shown_ends[0] in ("1", "+1", "-1") else "points"
    return f"{shown_ends[0]} {unit}" + (f" ({shown_ends[1]} to {shown_ends[2]})" if low < high else "")


def _side(reported: Reported, rate: Rate) -> str:
    if rate.low is not None and reported.rate < rate.low:
        return "too low"
    return "too high" if rate.high is not None and reported.rate > rate.high else "possible"


def _rule(name: Any) -> str:
    return {MAJORITY: "majority vote", WEIGHTED_VOTE: "the weighted vote"}.get(name, f"the {shown(name)}")


def _judge_lines(rates: Rates) -> list[str]:
    judges = sorted((one for one in rates.overall.reported if one.judge), key=lambda one: -one.rate)
    if len(judges) < 2:
        return []
    if len(judges) > RATES_LISTED:
        most, least = judges[0], judges[-1]
        return [f"Judges   from {_number(least.rate, rates)} ({shown(least.name)}) to {_number(most.rate, rates)} "
                f"({shown(most.name)})"]  # fmt: skip
    return ["Judges   " + ", ".join(f"{shown(one.name)} {_number(one.rate, rates)}" for one in judges)]


def _name(rate: Rate) -> str:
    return "all" if rate.name is None else shown(rate.name)


def _panel_rate(rate: Rate, rates: Rates) -> str:
    first = next((one for one in rate.reported if not one.judge), None)
    return "" if first is None else _number(first.rate, rates)


def _slice_lines(rates: Rates) -> list[str]:
    if not rates.slices:
        return []
    if not rates.labels:
        return columns(
            [("", "judges say"), *((_name(one), _panel_rate(one, rates)) for one in rates.slices)], left=(0,)
        )
    head = ("", "rate", "judges say", "labels")
    ranked = sorted(rates.slices, key=lambda one: -(one.value if one.value is not None else -1.0))
    rows = [(_name(one), _ends(one, rates), _panel_rate(one, rates), f"{one.labels:,}") for one in ranked]
    return columns([head, *rows], left=(0, 1))


def _comparisons(rates: Rates) -> list[str]:
    """A sentence for each decided pair, then the open ones, closest to a decision first."""
    lines, still_open = [], []
    for one in rates.differences:
        first, second = shown(one.first), shown(one.second)
        if one.winner is Winner.FIRST:
            lines.append(f"{first} beats {second} by {_points(one, rates)}.")
        elif one.winner is Winner.SECOND:
            lines.append(f"{second} beats {first} by {_points(one, rates, turned=True)}.")
        elif one.value is not None and one.low is not None:
            turned = one.value < 0
            ahead, behind = (second, first) if turned else (first, second)
            more = (
                "this file cannot settle it"
                if one.more is None
                else f"about {count(max(one.more, 5), 'more label')} would settle it"
            )
            line = f"{ahead} or {behind}: open, {_points(one, rates, turned=turned)}; {more}."
            still_open.append((one.more is None, one.more or 0, line))
    return [*lines, *(line for *_, line in sorted(still_open))]


def _difference_lines(rates: Rates) -> list[str]:
    lines = _comparisons(rates)
    hidden = len(lines) - RATES_LISTED
    return lines if hidden <= 0 else [*lines[:RATES_LISTED], f"{hidden} more comparisons: --json lists them."]


def _position_sentences(rates: Rates) -> list[str]:
    """How the order of the candidates affected each judge."""
    lines = []
    for one in rates.positions:
        judge = shown(one.judge)
        if one.both_orders:
            flips = one.both_orders - one.consistent
            side = "first" if one.first_twice >= one.second_twice else "second"
            biased = one.p_value is not None and one.p_value < 0.01
            leaning = f", mostly to whichever came {side}" if biased else ""
            lines.append(f"{judge} changed its mind on {flips:,} of {one.both_orders:,} pairs when the order "
                         f"was swapped{leaning}.")  # fmt: skip
        elif one.first_share is not None:
            lines.append(f"{judge} picked whichever came first in {100 * one.first_share:.0f}% of pairs.")
    return lines[:RATES_LISTED]


def _notes(rates: Rates) -> list[str]:
    notes = []
    if rates.measure is Measure.SCORE:
        low, high = rates.limits
        middle = f"{(low + high) / 2:g}"
        notes.append(f"Labels are scores from {low:g} to {high:g} (--range changes that), and this is their "
                     f"mean. For the share of {middle} or more: --threshold {middle}.")  # fmt: skip
    if rates.unheard:
        foreign = ", ".join(quoted_number(label) for label in rates.unheard[:5])
        notes.append(f"No judge uses {foreign}, so it counts as not {quoted_number(rates.label)}.")
    if rates.overall.skipped:
        notes.append(f"The interval assumes the worst case for {count(rates.overall.skipped, 'item')} without a label.")
    if rates.ignored:
        notes.append(f"Left out {count(rates.ignored, 'labelled item')} without votes.")
    return notes


def labelling_lines(asked: int, files: Sequence[str], command: str) -> list[str]:
    """What `majorant ask --rate` wrote, and what to do with it."""
    return [
        f"{count(asked, 'item')} drawn at random to measure a rate.",
        f"Wrote    {files[0]} and its design. Label from the top; enter ? if you cannot tell.",
        f"Then     {command}",
    ]
