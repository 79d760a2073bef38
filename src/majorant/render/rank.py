"""Text and JSON for `majorant rank`: tiers, the decided and the open pairs, and what would separate the next one."""

from __future__ import annotations

from typing import Any

from majorant.render.plain import to_plain
from majorant.render.words import columns, count, one_of, quoted_number, shown
from majorant.results.rank import Pair, Ranking, System
from majorant.results.rate_inputs import Measure, Order

PAIRS_LISTED = 12


def rank_facts(ranking: Ranking, *, command: str = "") -> dict[str, Any]:
    """Everything the output shows, as plain data."""
    facts: dict[str, Any] = to_plain(ranking)
    tiers = [[str(name) for name in tier] for tier in ranking.tiers]
    return {**facts, "tiers": tiers, "decided": ranking.decided, "headline": headline(ranking), "command": command}


def rank_text(ranking: Ranking, *, command: str = "") -> str:
    """The text for the terminal."""
    lines = [headline(ranking)]
    if ranking.pairs:
        lines += [f"Tiers    {tiers_line(ranking)}"] if len(ranking.systems) > 2 else []
        lines += [*_table(ranking), *_pair_lines(ranking)]
    else:
        lines += [judges_line(ranking), *_judges_table(ranking)]
    lines += [f"Note     {said}" for said in _notes(ranking)]
    lines += [f"Sure     {sure_line(ranking)}"] if ranking.pairs else []
    following = next_line(ranking)
    lines += [f"Next     {following}"] if following else []
    lines += [f"         {command}"] if command and following else []
    return "\n".join(line for line in lines if line)


def headline(ranking: Ranking) -> str:
    """What is decided, in one sentence."""
    systems, n_pairs = ranking.systems, len(ranking.pairs)
    if not ranking.pairs:
        return f"No rank of these {count(len(systems), 'system')} is known: there are no labels, only what judges say."
    measured = f"{count(ranking.labels, 'label')}" + (
        f" on {count(ranking.units, 'question')}" if ranking.paired else ""
    )
    if len(systems) == 2:
        [pair] = ranking.pairs
        if pair.decided:
            better = f"{shown(pair.a)} is {_points(pair, ranking)} better than {shown(pair.b)}"
            return f"{better}, decided at this n: {measured}."
        return f"{shown(pair.a)} or {shown(pair.b)}: open, {_points(pair, ranking)}, {measured}."
    best = ranking.tiers[0]
    first = (
        f"{shown(best[0])} is best"
        if len(best) == 1
        else f"{one_of([shown(name) for name in best])} are ahead and cannot be told apart"
    )
    if len(ranking.tiers) == 1:
        first = f"These {len(systems)} systems cannot be told apart"
    return f"{first}. {ranking.decided} of {count(n_pairs, 'pair')} decided at this n: {measured}."


def tiers_line(ranking: Ranking) -> str:
    """The tiers, best first."""
    return "; ".join(
        shown(tier[0]) if len(tier) == 1 else f"{one_of([shown(name) for name in tier])} (not told apart)"
        for tier in ranking.tiers
    )


def judges_line(ranking: Ranking) -> str:
    """What the judges say about the systems, and how far they disagree about ranks."""
    top = ranking.systems[0]
    firsts = [one.name for one in ranking.systems if one.first == 1]
    line = f"The judges together put {shown(top.name)} first ({_number(top.said, ranking)})."
    if len(firsts) > 1:
        return f"{line} Single judges put {one_of([shown(name) for name in firsts])} first."
    return f"{line} Every judge agrees on that."


def sure_line(ranking: Ranking) -> str:
    """What the decisions promise."""
    units = "questions" if ranking.paired else "items"
    drawn = "" if ranking.order is Order.DRAWN else f", and if the labelled {units} are a random sample"
    return (
        f"{100 * ranking.level:g}% that no pair is decided wrongly, if you fixed the number of labels before you saw "
        f"any{drawn}."
    )


def next_line(ranking: Ranking) -> str:
    """What would separate the next pair."""
    if not ranking.pairs:
        if ranking.paired:
            return f"Label all {len(ranking.systems)} answers to 30 questions drawn at random."
        return "Label items drawn at random: at least 30 of each system."
    pair = ranking.next_pair
    if pair is None or pair.more is None:
        return "" if ranking.decided == len(ranking.pairs) else "Only labelling nearly everything would decide more."
    if not ranking.paired:
        return f"About {count(pair.more, 'more label')} of each would separate {shown(pair.a)} and {shown(pair.b)}."
    labels = round(pair.more * ranking.items_per_unit)
    return (
        f"About {count(pair.more, 'more question')} ({count(labels, 'label')}) would separate {shown(pair.a)} and "
        f"{shown(pair.b)}."
    )


def _number(value: float, ranking: Ranking) -> str:
    return f"{value:.2f}" if ranking.measure is Measure.SCORE else f"{100 * value:.0f}%"


def _ends(one: System, ranking: Ranking) -> str:
    assert one.value is not None
    if one.low is None or one.high is None:
        return f"{_number(one.value, ranking)} (too few labels)"
    low, high = (_number(end, ranking).removesuffix("%") for end in (one.low, one.high))
    return f"{_number(one.value, ranking)} ({low} to {high})"


def _points(pair: Pair, ranking: Ranking) -> str:
    """A difference with its interval."""
    ends = (pair.difference, pair.low, pair.high)
    if ranking.measure is Measure.SCORE:
        value, low, high = ("?" if end is None else f"{end:.2f}" for end in ends)
        unit = ""
    else:
        value, low, high = ("?" if end is None else f"{100 * end:.0f}".replace("-0", "0") for end in ends)
        unit = " point" if value == "1" else " points"
    return f"{value}{unit}" + ("" if pair.low is None else f" ({low} to {high})")


def _ranks(one: System) -> str:
    return f"{one.first}" if one.first == one.last else f"{one.first}-{one.last}"


def _table(ranking: Ranking) -> list[str]:
    head = ("rank", "", "mean score" if ranking.measure is Measure.SCORE else "rate", "judges say", "labels")
    rows = [
        (_ranks(one), shown(one.name), _ends(one, ranking), _number(one.said, ranking), f"{one.labels:,}")
        for one in ranking.systems
    ]
    return columns([head, *rows], left=(0, 1, 2))


def _judges_table(ranking: Ranking) -> list[str]:
    rows = [(shown(one.name), _number(one.said, ranking), _ranks(one)) for one in ranking.systems]
    return columns([("", "judges say", "ranks by single judges"), *rows], left=(0,))


def _pair_lines(ranking: Ranking) -> list[str]:
    """Neighbours in the ranking: decided or open."""
    if len(ranking.systems) == 2:
        return []
    place = {one.name: n for n, one in enumerate(ranking.systems)}
    lines = []
    for pair in sorted(ranking.pairs, key=lambda pair: min(place[pair.a], place[pair.b])):
        if abs(place[pair.a] - place[pair.b]) == 1:
            verdict = "decided" if pair.decided else "open"
            lines.append(f"{shown(pair.a)} over {shown(pair.b)}: {_points(pair, ranking)}, {verdict}.")
    hidden = len(lines) - PAIRS_LISTED
    return lines if hidden <= 0 else [*lines[:PAIRS_LISTED], f"{hidden} more neighbours: --json lists all pairs."]


def _notes(ranking: Ranking) -> list[str]:
    notes = []
    if not ranking.paired:
        notes.append("The systems share no question, so their items are compared as two samples. Name one with --pair.")
    if ranking.measure is Measure.SHARE:
        notes.append(f"Systems are ranked by the share of {quoted_number(ranking.label)}.")
    if ranking.skipped:
        notes.append(f"{count(ranking.skipped, 'drawn item')} without a label: left out, as if skipped by chance.")
    return notes
