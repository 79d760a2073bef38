"""Summaries as text for the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from majorant.wording import MOST_LISTED, count, level_percent, listed, percent

NAMES = {
    "percent": "pairs of votes that agree",
    "krippendorff": "Krippendorff's alpha",
    "krippendorff_ordinal": "  the same, ordinal",
    "fleiss": "Fleiss' kappa",
    "cohen": "Cohen's kappa, mean of pairs",
    "gwet": "Gwet's AC1",
}
LONGEST_NAME, WIDTH = 40, 116


def to_json(summary: dict[str, Any]) -> str:
    """The summary as JSON, readable and with a line feed at its end."""
    return json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def input_lines(account: dict[str, Any], *, most_notes: int | None = None) -> list[str]:
    """What was read, which column was taken for what, what was left out, and what to know about it."""
    columns = ", ".join(f"{role} = {shown(name)}" for role, name in account["columns"].items())
    left_out = [
        f"{account[name]:,} {meaning}"
        for name, meaning in (
            ("abstained", "without a label"),
            ("merged", "exact copies merged"),
            ("dropped", f"repeats dropped (kept the {account['repeats']})"),
        )
        if account[name]
    ]
    form = f" ({account['format']})" if account["format"] else ""
    rows = ", ".join([count(account["rows"], "row"), *left_out])
    lines = [f"Read     {printable(account['source'])}{form}: {rows}."]
    if columns:
        unused = f"; not used: {listed(map(shown, account['ignored']))}" if account["ignored"] else ""
        lines.append(f"         {columns}{unused}")
    notes = account["notes"][:most_notes]
    lines += [f"Note     {printable(note['text'])}" for note in notes]
    if len(notes) < len(account["notes"]):
        lines.append(f"Note     {len(account['notes']) - len(notes)} more notes on the input: see result.json.")
    return lines


def votes_lines(votes: dict[str, Any]) -> list[str]:
    """How many votes, items, workers and classes there are."""
    labels = listed(f"{shown(row['label'])} {share(row['votes'], votes['votes'])}" for row in votes["label_votes"])
    sizes = votes["votes_per_item"]
    if len(sizes) > MOST_LISTED:
        spread = f"{sizes[0]['votes']} to {sizes[-1]['votes']}"
    else:
        spread = ", ".join(f"{row['votes']} on {count(row['items'], 'item')}" for row in sizes)
    worker = votes["votes_per_worker"]
    return [
        f"Votes    {count(votes['votes'], 'vote')} by {count(votes['workers'], 'worker')} on "
        f"{count(votes['items'], 'item')}; votes for: {labels}.",
        f"         Votes per item: {spread}. Per worker: {worker['least']:,} to {worker['most']:,}, "
        f"median {worker['median']:,.0f}.",
    ]


def agreement_lines(agreement: dict[str, Any], *, pairs: bool = False) -> list[str]:
    """Each coefficient with its interval or the reason why it is missing."""
    lines = [f"Agreement, with {level_percent(agreement['level'])} intervals"]
    for name, title in NAMES.items():
        one = agreement[name]
        if name == "krippendorff_ordinal" and agreement["classes"] <= 2:
            continue  # the same number: two classes have no order
        if one["value"] is None:
            if pairs or name == "percent":
                lines.append(f"         {title:<29}{one['reason']}")
            continue
        if name == "percent":
            value, ends = percent(one["value"]), interval(one, percent)
        else:
            value, ends = f"{one['value']:.3f}", interval(one, lambda x: f"{x:.3f}")
        lines.append(f"         {title:<29}{value:>7}{ends}")
    if pairs:
        lines += pair_lines(agreement)
    return lines


def pair_lines(agreement: dict[str, Any]) -> list[str]:
    """The pairs of workers with the most items in common."""
    if not agreement["pairs"]:
        return []
    rows = [
        (
            " and ".join(shown(name) for name in row["workers"]),
            f"{row['items']:,}",
            percent(row["agreed"]),
            "-" if row["cohen"] is None else f"{row['cohen']:.3f}",
        )
        for row in agreement["pairs"]
    ]
    head = f"Pairs of workers with the most items in common, {len(rows)} of {agreement['n_pairs']:,}"
    return [head, *columns([("workers", "items", "agree", "Cohen's kappa"), *rows])]


def labels_lines(labels: dict[str, Any]) -> list[str]:
    """How many items got which label."""
    open_items = [
        text
        for number, text in (
            (labels["tied"], f"{labels['tied']:,} tied and left open"),
            (labels["without_votes"], f"{labels['without_votes']:,} without votes"),
        )
        if number
    ]
    by_label = listed(f"{shown(row['label'])} {share(row['items'], labels['labelled'])}" for row in labels["by_label"])
    rest = f", {', '.join(open_items)}" if open_items else ", no ties"
    doubt = "" if labels["converged"] else f" Not converged after {labels['steps']:,} steps."
    return [f"Labels   by {labels['method']}: {count(labels['labelled'], 'item')} labelled{rest}: {by_label}.{doubt}"]


def workers_lines(workers: dict[str, Any]) -> list[str]:
    """The workers with the most votes, and how many stand out."""
    flagged = ", ".join(f"{flag} {number:,}" for flag, number in workers["flagged"].items())
    rows = [
        (
            shown(one["worker"]),
            f"{one['votes']:,}",
            "-" if one["accuracy"] is None else percent(one["accuracy"]),
            "" if one["accuracy"] is None else interval(one, percent).strip(),
            "-" if one["agreement"] is None else percent(one["agreement"]),
            "; ".join(flag["flag"] for flag in one["flags"]),
        )
        for one in workers["rows"]
    ]
    head = ("worker", "votes", "accuracy", f"{level_percent(workers['level'])} interval", "agreement", "stands out")
    return [
        f"Workers  {count(workers['workers'], 'worker')} by {workers['method']}; stand out: {flagged or 'none'}.",
        f"         Those with the most votes, {len(rows)} of {workers['workers']:,}:",
        *columns([head, *rows], left=(0, 5)),
    ]


def columns(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,), indent: str = "         ") -> list[str]:
    """Rows of text as aligned columns, those in `left` to the left, the others to the right."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return [
        indent + "  ".join(cell.ljust(w) if c in left else cell.rjust(w) for c, (cell, w) in cells).rstrip()
        for cells in (enumerate(zip(row, widths, strict=True)) for row in rows)
    ]


def shown(value: Any) -> str:
    """A user's value on the terminal: control signs made harmless, clipped."""
    text = printable(str(value))
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def printable(text: str) -> str:
    """Text without signs that could move the cursor, change colours or reverse the writing."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def share(part: int, whole: int) -> str:
    """Part of a whole in percent, or a dash of nothing."""
    return percent(part / whole) if whole else "-"


def with_ends(one: dict[str, Any], form: Any) -> str:
    """A number and its interval within a sentence.

    >>> with_ends({"value": 0.97, "low": 0.936, "high": 0.989}, percent)
    '97.0 % [93.6 %, 98.9 %]'
    """
    return f"{form(one['value'])}{interval(one, form).replace('  [', ' [')}"


def interval(one: dict[str, Any], form: Any) -> str:
    """[low, high], or nothing where there is no interval."""
    return "" if one["low"] is None else f"  [{form(one['low'])}, {form(one['high'])}]"
