"""What `majorant check` prints: what was read, the verdict, what to do, and what it is worth."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from majorant.report.dependence_text import dependence_sentence
from majorant.report.text import (
    WIDTH,
    columns,
    input_lines,
    interval,
    labels_lines,
    printable,
    shown,
    votes_lines,
    with_ends,
)
from majorant.wording import count, percent, points

LEAD = "         "
MOST_LINES, MOST_NOTES = 25, 3
SHORT = (("percent", "pairs of votes agree"), ("krippendorff", "Krippendorff's alpha"), ("gwet", "Gwet's AC1"))


def check_text(summary: dict[str, Any], written: Sequence[Path] = ()) -> str:
    """At most 25 lines, with the files written, and the tables that were asked for.

    Where it would be more, notes on the input are counted only, and then what a reader can best do without is left out;
    result.json has it all.
    """
    parts = {
        "input": input_lines(summary["input"], most_notes=MOST_NOTES),
        "votes": votes_lines(summary["votes"]),
        "agreement": _agreement(summary["agreement"]),
        "verdict": _wrapped("Verdict", summary["certificate"]["sentence"]),
        "loss": _loss(summary),
        "use": _use(summary),
        "labels": labels_lines(summary["labels"]),
        "gold": _gold(summary),
        "workers": _workers(summary["workers"]),
        "review": _review(summary["review"]),
        "plan": _plan(summary["plan"]),
        "written": _written(written),
    }
    for name, shorter in (("input", input_lines(summary["input"], most_notes=0)), ("review", []), ("loss", [])):
        if sum(map(len, parts.values())) > MOST_LINES:
            parts[name] = shorter
    tables = [*_slices(summary["slices"]), *comparison_lines(summary["comparison"])]
    return "\n".join([*(line for part in parts.values() for line in part), *tables])


def _written(paths: Sequence[Path]) -> list[str]:
    """The files, those of one folder together."""
    names: dict[Path, list[str]] = {}
    for path in paths:
        names.setdefault(path.parent, []).append(path.name)
    return [line for folder, files in names.items() for line in _wrapped("Wrote", f"{', '.join(files)} in {folder}")]


def _wrapped(title: str, text: str) -> list[str]:
    return textwrap.wrap(
        f"{title:<8} {printable(text)}", WIDTH, subsequent_indent=LEAD, break_long_words=False, break_on_hyphens=False
    )


def _agreement(agreement: dict[str, Any]) -> list[str]:
    if agreement["percent"]["value"] is None:
        return [f"Agree    {agreement['percent']['reason']}"]
    parts = []
    for name, title in SHORT:
        one, form = agreement[name], percent if name == "percent" else "{:.3f}".format
        if one["value"] is not None:
            parts.append(f"{title} {with_ends(one, form)}")
    return _wrapped("Agree", "; ".join(parts) + ".")


def _loss(summary: dict[str, Any]) -> list[str]:
    """What majority vote gives away against the best rule of each kind, where it is known."""
    certificate = summary["certificate"]
    parts = []
    for kind, rule in (("anonymous", "the best rule that ignores who voted"), ("named", "the best that knows")):
        claim = certificate[kind]
        loss = None if claim is None else claim["loss"]
        if loss is None or loss["value"] is None:
            continue
        ends = "" if loss["low"] is None else f" [{points(loss['low'])}, {points(loss['high'])}]"
        condition = " if votes were independent" if claim["verdict"] == "void" else ""
        parts.append(f"{points(loss['value'])} points{ends} against {rule}{condition}")
    return _wrapped("Loss", f"Majority vote gives away {'; '.join(parts)}.") if parts else []


def _use(summary: dict[str, Any]) -> list[str]:
    """The rule to use, why, what it promises and what it changes."""
    decision, accuracy = summary["decision"], summary["accuracy"]
    promised = accuracy["recommended"]
    text = f"{decision['method']}. {decision['reason']}"
    if promised["value"] is not None:
        text += f" Expect {with_ends(promised, percent)} right"
        other = accuracy["majority"]["value"]
        text += "." if decision["method"] == "majority" or other is None else f", majority vote {percent(other)}."
    if decision["method"] != "majority":
        text += (
            f" {count(decision['labels_changed'], 'label')} change, {count(decision['ties_settled'], 'tie')} settled."
        )
    return _wrapped("Use", text)


def _gold(summary: dict[str, Any]) -> list[str]:
    """How often majority vote, and the chosen rule, are right where the truth is known."""
    gold, decision = summary["gold"], summary["decision"]
    if gold is None:
        return []
    text = (
        f"Majority vote is right on {with_ends(gold, percent)} of {count(gold['n_items'], 'item')} with a known label"
    )
    chosen = next(one["gold"] for one in decision["alternatives"] if one["method"] == decision["method"])
    if decision["method"] != "majority" and chosen["value"] is not None:
        text += f", {decision['method']} on {with_ends(chosen, percent)}"
    if decision["gold_test"] is not None:
        text += f" (McNemar p = {decision['gold_test']['p_value']:.2g})"
    return _wrapped("Gold", f"{text}; a tie counts as a fair draw.")


def _workers(workers: dict[str, Any]) -> list[str]:
    flagged = {flag: n for flag, n in workers["flagged"].items() if flag != "too few votes"}
    found = ", ".join(f"{flag} {number:,}" for flag, number in flagged.items())
    text = f"{count(workers['workers'], 'worker')}; stand out: {found or 'none'}."
    if workers["removal"] is not None:
        gone = workers["removal"]
        text += f" Without the {gone['workers']:,} flagged, {count(gone['labels_changed'], 'label')} would change."
    text += f" {dependence_sentence(workers['dependence'])}".rstrip()
    return _wrapped("Workers", text)


def _review(review: dict[str, Any]) -> list[str]:
    if not review["items"]:
        return []
    first = review["rows"][0]
    return _wrapped(
        "Review",
        f"An expert on the {count(review['items'], 'most doubtful item')} would gain {points(review['gain'])} points; "
        f"the first is {shown(first['item'])} ({first['reason']}).",
    )


def _plan(plan: dict[str, Any] | None) -> list[str]:
    return [] if plan is None else _wrapped("Buy", plan["sentence"])


def _slices(slices: list[dict[str, Any]]) -> list[str]:
    if not slices:
        return []
    head = ("slice", "items", "votes", "ignoring who voted", "knowing who voted", "loss, points")
    rows = [
        (
            shown(one["value"]),
            f"{one['items']:,}",
            f"{one['votes']:,}",
            one["verdict"],
            one["named"] or "-",
            _short_loss(one["loss_named"] or one["loss_anonymous"]),
        )
        for one in slices
    ]
    title = f"Slices   each at {percent(slices[0]['level'], 2)}, so that all hold together"
    return [title, *columns([head, *rows], left=(0, 3, 4))]


def _short_loss(loss: dict[str, Any]) -> str:
    return "-" if loss["value"] is None else f"{points(loss['value'])}{interval(loss, points)}"


def comparison_lines(comparison: list[dict[str, Any]]) -> list[str]:
    """All methods side by side."""
    if not comparison:
        return []
    head = ("method", "expected", "as majority", "right on gold", "note")
    rows = [
        (
            one["method"],
            "-" if one["accuracy"]["value"] is None else percent(one["accuracy"]["value"]),
            "-" if one["agreement"] is None else percent(one["agreement"]),
            "-" if one["gold"]["value"] is None else f"{percent(one['gold']['value'])}{interval(one['gold'], percent)}",
            one["note"],
        )
        for one in comparison
    ]
    return [
        "Methods  expected accuracy, share of labels as majority's, and accuracy on gold",
        *columns([head, *rows], left=(0, 4)),
    ]


def judged_verdicts(summary: dict[str, Any], claim: str) -> list[str]:
    """The verdicts that a gate looks at: of the whole, and of each slice."""
    whole = summary["certificate"][claim]
    name = {"anonymous": "verdict", "named": "named", "gold": "gold"}[claim]
    found = [None if whole is None else whole["verdict"], *(one[name] for one in summary["slices"])]
    return [verdict or "unidentified" for verdict in found]
