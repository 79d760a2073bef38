"""Summaries as text: lines under titles and tables for the terminal, Markdown for a job; wording.py has the words."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from majorant import wording
from majorant.errors import ConfigError
from majorant.output import write_files
from majorant.wording import interval, percent, points, printable, shown, votes_counted, with_ends

MOST_NOTES = 3  # on the input, below an answer
WIDTH = 116
INDENT = "         "  # under the title of a line
EMOJI = {"keep": "✅", "switch": "🔁"}
MARKDOWN_SIGNS = re.compile(r"([\\`*_\[\]<>|~#!])")
JOB_SUMMARY = "GITHUB_STEP_SUMMARY"  # the file to which every command of a job's step adds its part


def answer_text(summary: dict[str, Any], written: Sequence[Path] = ()) -> str:
    """The answer, what it rests on, ties, the files written and what to do next; then the tables asked for."""
    answer = summary["answer"]
    lines = [
        *_wrapped("Answer", answer["headline"]),
        *_wrapped("Why", answer["evidence"]),
        *(_wrapped("Ties", answer["ties"]) if answer["ties"] else []),
        *(_wrapped("Copies", text) if (text := summary["copies"]["text"]) else []),
        *_judges(summary["input"]),
        *_expert(answer),
        *_written(written),
        *_next(answer),
    ]
    return "\n".join(
        [*lines, *_slices(summary["slices"], summary["input"]["notes"]), *comparison_lines(summary["comparison"])]
    )


def _judges(read: dict[str, Any]) -> list[str]:
    """What else there is to ask of a log of judges."""
    if not read["judges"]:
        return []
    return _wrapped("Judges", wording.judges_sentence(read["source"].split(" (")[0]))


def _expert(answer: dict[str, Any]) -> list[str]:
    """What labels drawn by design say about another question, and what to know about the labels."""
    expert = answer["expert"]
    if expert is None:
        return []
    lines = [] if answer["source"] == "labels" else _wrapped("Labels", expert["sentence"])
    return [*lines, *(line for note in expert["notes"] for line in _wrapped("Note", note))]


def check_text(summary: dict[str, Any], written: Sequence[Path] = ()) -> str:
    """The answer, and under it what was read, counted and found; result.json and the report have it all."""
    plan = summary["plan"]
    parts = [
        input_lines(summary["input"], most_notes=MOST_NOTES),
        votes_lines(summary["votes"]),
        _wrapped("Agree", wording.agreement_sentence(summary["agreement"])),
        _claims(summary["certificate"]),
        _accuracy(summary),
        labels_lines(summary["labels"]),
        _wrapped("Workers", summary["workers"]["sentence"]),
        _dependence(summary["workers"]["dependence"]),
        _review(summary),
        [] if plan is None else _wrapped("Budget", plan["sentence"]),
    ]
    return "\n".join([answer_text(summary, written), "", *(line for part in parts for line in part)])


def _next(answer: dict[str, Any]) -> list[str]:
    """What to do now; the command stays whole, on a line of its own."""
    command = answer["command"]
    return [*_wrapped("Next", answer["next"]), *([f"{INDENT}{printable(command)}"] if command else [])]


def _written(paths: Sequence[Path]) -> list[str]:
    """The files, those of one folder together."""
    names: dict[Path, list[str]] = {}
    for path in paths:
        names.setdefault(path.parent, []).append(path.name)
    return [line for folder, files in names.items() for line in _wrapped("Wrote", f"{', '.join(files)} in {folder}")]


def _wrapped(title: str, text: str) -> list[str]:
    return textwrap.wrap(
        f"{title:<8} {printable(text)}", WIDTH, subsequent_indent=INDENT, break_long_words=False, break_on_hyphens=False
    )


def _claims(certificate: dict[str, Any]) -> list[str]:
    """The claims, up to which correlation of votes they hold, and what they take for granted."""
    lines = _wrapped("Claims", certificate["sentence"])
    for kind in ("anonymous", "named", "gold"):
        if (claim := certificate[kind]) and claim["breakdown_sentence"]:
            lines += _wrapped("", f"{claim['title']}: {claim['breakdown_sentence']}.")
    return [*lines, *(_wrapped("Untested", text) if (text := certificate["untested_sentence"]) else [])]


def _accuracy(summary: dict[str, Any]) -> list[str]:
    """How often majority vote and the other rule are right, and how far to believe it."""
    accuracy, answer = summary["accuracy"], summary["answer"]
    majority, other = accuracy["majority"], accuracy["other"]
    if majority["value"] is None:
        return []
    shares = {"majority": with_ends(majority, percent)}
    if answer["other"] != "majority" and other["value"] is not None:
        shares[answer["other"]] = with_ends(other, percent)
    said = ", ".join(f"{rule} {share}" for rule, share in shares.items())
    by = f"on {summary['gold']['n_items']:,} gold items" if accuracy["source"] == "gold" else accuracy["warning"]
    return _wrapped("Right", f"{said} {by}" if accuracy["source"] == "gold" else f"{said}. {by}")


def _review(summary: dict[str, Any]) -> list[str]:
    if not summary["review"]["items"]:
        return []
    return _wrapped("Review", summary["review"]["sentence"])


def _dependence(dependence: dict[str, Any] | None) -> list[str]:
    return _wrapped("Together", dependence["sentence"]) if dependence is not None and dependence["sentence"] else []


def _slices(slices: list[dict[str, Any]], notes: list[dict[str, Any]]) -> list[str]:
    if not slices:
        return []
    kind = "label" if any(note["kind"] == "several" for note in notes) else "slice"
    head = (kind, "items", "votes", "rules differ on", "answer", "gain, points")
    rows = [
        (
            shown(one["value"]),
            f"{one['items']:,}",
            f"{one['votes']:,}",
            f"{one['differ']:,}",
            f"{one['action']} ({one['certainty']})",
            _short_gain(one["gain"]),
        )
        for one in slices
    ]
    return [f"{kind.title() + 's'}", *columns([head, *rows], left=(0, 4))]


def _short_gain(gain: dict[str, Any]) -> str:
    return "-" if gain["value"] is None else f"{points(gain['value'])}  {interval(gain, points)}".rstrip()


def comparison_lines(comparison: list[dict[str, Any]]) -> list[str]:
    """All methods side by side."""
    if not comparison:
        return []
    head = ("method", "right", "as majority", "note")
    rows = [
        (
            one["method"],
            "-" if one["accuracy"]["value"] is None else with_ends(one["accuracy"], percent),
            "-" if one["agreement"] is None else percent(one["agreement"]),
            one["note"],
        )
        for one in comparison
    ]
    return [f"Methods  {wording.methods_heading(comparison[0]['source'])}", *columns([head, *rows], left=(0, 3))]


def input_lines(account: dict[str, Any], *, most_notes: int | None = None) -> list[str]:
    """What was read, which column was taken for what, what was left out, and what to know about it."""
    lines = [f"Read     {wording.read_sentence(account)}"]
    if account["columns"]:
        lines.append(f"{INDENT}{wording.columns_words(account)}")
    every = [note for note in account["notes"] if not note["changes_meaning"]]  # the others were shown when read
    notes = every[:most_notes]
    lines += [f"Note     {printable(note['text'])}" for note in notes]
    if left := len(every) - len(notes):
        lines.append(f"Note     {wording.more_notes(left)}")
    return lines


def votes_lines(votes: dict[str, Any]) -> list[str]:
    """How many votes, items, workers and classes there are."""
    return [f"Votes    {wording.votes_sentence(votes)}", f"{INDENT}{wording.votes_spread(votes)}"]


def agreement_lines(agreement: dict[str, Any], *, pairs: bool = False) -> list[str]:
    """Each coefficient with its interval or the reason why it is missing."""
    lines = [wording.agreement_heading(agreement["level"])]
    for name, title in wording.COEFFICIENTS.items():
        one = agreement[name]
        if name == "krippendorff_ordinal" and agreement["classes"] <= 2:
            continue  # the same number: two classes have no order
        if one["value"] is None:
            if pairs or name == "percent":
                lines.append(f"{INDENT}{title:<29}{one['reason']}")
            continue
        form = percent if name == "percent" else "{:.3f}".format
        lines.append(f"{INDENT}{title:<29}{form(one['value']):>7}  {interval(one, form)}".rstrip())
    return [*lines, *pair_lines(agreement)] if pairs else lines


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
    head = wording.pairs_heading(len(rows), agreement["n_pairs"])
    return [head, *columns([("workers", "items", "agree", "Cohen's kappa"), *rows])]


def labels_lines(labels: dict[str, Any]) -> list[str]:
    """How many items got which label."""
    return [f"Labels   {wording.labels_sentence(labels)}"]


def plug_in_text(summary: dict[str, Any]) -> str:
    """What `majorant certify` with a plug-in prints; the warning stands before the numbers."""
    head = ("votes", "items", "verdict", "margin", "majority", "best rule", "gap")
    rows = [
        (
            str(row["votes"]),
            percent(row["items"]),
            row["verdict"],
            wording.nats(row["margin"]),
            *("?" if row[name] is None else percent(row[name]) for name in ("majority_accuracy", "optimal_accuracy")),
            "?" if row["gap"] is None else wording.in_points(row["gap"]),
        )
        for row in summary["by_votes"]
    ]
    lines = [summary["sentence"], f"Note     {summary['note']}", "", wording.plug_in_estimate(summary)]
    return "\n".join([*lines, *columns([head, *rows], left=(2,))])


def labels_loss_lines(loss: dict[str, Any]) -> list[str]:
    """How the user's own labels compare."""
    head, facts = wording.labels_loss_facts(loss)
    return [head, *_facts(facts)]


def score_lines(scores: dict[str, Any]) -> list[str]:
    """Agreement by distance, and each rule's distance from gold, in the units of the scores."""
    lines = [wording.scores_heading(scores["about"])]
    lines += [f"  {title}: {wording.score(scores[name])}" for name, title in wording.SCORE_COEFFICIENTS.items()]
    lines.append(wording.DISTANCES_HEADING)
    lines += [f"  {rule}: {wording.score(one)}" for rule, one in scores["distance"].items()]
    lines += [wording.nearer_sentence(rule, one) for rule, one in scores["nearer"].items() if one["low"] is not None]
    return [*lines, *([] if scores["closest"] is None else [wording.closest_sentence(scores["closest"])])]


def columns(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,), indent: str = INDENT) -> list[str]:
    """Rows of text as aligned columns, those in `left` to the left, the others to the right."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return [
        indent + "  ".join(cell.ljust(w) if c in left else cell.rjust(w) for c, (cell, w) in cells).rstrip()
        for cells in (enumerate(zip(row, widths, strict=True)) for row in rows)
    ]


def _facts(facts: Iterable[tuple[str, str]]) -> list[str]:
    """Facts under their titles, beside their names."""
    return columns([(name, printable(text)) for name, text in facts], left=(0, 1))


def markdown(summary: dict[str, Any]) -> str:
    """A heading with the answer, what it does to the labels, and a table: gain, evidence, what next, which votes."""
    answer = summary["answer"]
    source = re.split(r"[/\\]", summary["input"]["source"])[-1]
    rows = {
        "Why": inert(answer["evidence"]),
        **({"Ties": inert(answer["ties"])} if answer["ties"] else {}),
        "Next": inert(answer["next"]) + (f" `{printable(answer['command'])}`" if answer["command"] else ""),
        "Votes": f"{inert(source)}: {votes_counted(summary['votes'])}",
    }
    lines = [
        f"### {EMOJI[answer['action']]} {inert(answer['headline'])}",
        "",
        "| | |",
        "|---|---|",
        *(f"| **{name}** | {text} |" for name, text in rows.items()),
    ]
    if summary["slices"]:
        lines += ["", "| part | items | answer |", "|---|---:|---|"]
        lines += [
            f"| {inert(str(one['value']))} | {one['items']:,} | {one['action']} ({one['certainty']}) |"
            for one in summary["slices"]
        ]
    return "\n".join(lines) + "\n"


def is_job_summary(path: str | os.PathLike[str]) -> bool:
    """Whether a file is the summary of a CI job, to which several commands add."""
    return os.environ.get(JOB_SUMMARY) == str(path)


def write_markdown(summary: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the answer in Markdown to a file."""
    return write_summary(markdown(summary), path)


def write_summary(text: str, path: str | os.PathLike[str]) -> Path:
    """Write Markdown to a file, or append it to a job summary, where other commands write too."""
    target = Path(path)
    if not is_job_summary(path):
        return write_files({target: text})[0]
    try:
        with target.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        raise ConfigError(f"Cannot write {target}: {error.strerror}.") from error
    return target


def inert(text: str) -> str:
    """Text in which no name makes a link, an image, a tag or a cell of its own.

    >>> inert("a|b <script> [x](y)")
    'a\\\\|b \\\\<script\\\\> \\\\[x\\\\](y)'
    """
    return MARKDOWN_SIGNS.sub(r"\\\1", printable(" ".join(text.split())))
