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
from majorant.wording import interval, level_percent, percent, points, printable, shown, votes_counted, with_ends

JUDGE_LOGS = ("Inspect", "promptfoo", "DeepEval", "lm-eval", "Ragas")  # how their formats are described
MOST_NOTES = 3  # on the input, below an answer
WIDTH = 116
INDENT = "         "  # under the title of a line
EMOJI = {"keep": "✅", "switch": "🔁", "ask": "❓"}
MARKDOWN_SIGNS = re.compile(r"([\\`*_\[\]<>|~#!])")
JOB_SUMMARY = "GITHUB_STEP_SUMMARY"  # the file to which every command of a job's step adds its part


def answer_text(summary: dict[str, Any], written: Sequence[Path] = ()) -> str:
    """Five lines: the answer, the gain, the evidence, the files written, what next; then the tables asked for."""
    answer = summary["answer"]
    lines = [
        *_wrapped("Answer", answer["headline"]),
        *_wrapped("Gain", answer["gain_sentence"]),
        *_wrapped("Evidence", answer["why"]),
        *_judges(summary["input"]),
        *_expert(answer),
        *_written(written),
        *_next(answer["next"], answer["command"]),
    ]
    return "\n".join(
        [*lines, *_slices(summary["slices"], summary["input"]["notes"]), *comparison_lines(summary["comparison"])]
    )


def _judges(read: dict[str, Any]) -> list[str]:
    """What else there is to ask of a log of judges."""
    from majorant.read.columns import JUDGES, bare_word

    worker = bare_word(read["columns"].get("worker", ""))
    if worker not in JUDGES and not read["format"].startswith(JUDGE_LOGS):
        return []
    return _wrapped("Judges", wording.judges_sentence(read["source"].split(" (")[0]))


def _expert(answer: dict[str, Any]) -> list[str]:
    """What labels drawn by design say of another question, and what to know about the labels."""
    expert = answer["expert"]
    if expert is None:
        return []
    lines = [] if answer["basis"] == "expert labels" else _wrapped("Labels", expert["sentence"])
    lines += [f"{INDENT}{printable(expert['command'])}"] if expert["command"] else []
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
        _wrapped("Workers", wording.workers_sentence(summary["workers"])),
        _review(summary),
        [] if plan is None else _wrapped("Budget", plan["sentence"]),
    ]
    return "\n".join([answer_text(summary, written), "", *(line for part in parts for line in part)])


def _next(text: str, command: str) -> list[str]:
    """What to do now; a command stays whole, on a line of its own where the two are long."""
    lines = _wrapped("Next", text)
    if len(lines) == 1 or not command:
        return lines
    return [*_wrapped("Next", text.removesuffix(command)), f"{INDENT}{printable(command)}"]


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
    """How often majority vote and the other rule are right, by gold or, said to be that, by the model."""
    accuracy, answer = summary["accuracy"], summary["answer"]
    majority, other = accuracy["majority"], accuracy["other"]
    if majority["value"] is None:
        return []
    n_gold = summary["gold"]["n_items"] if accuracy["source"] == "gold" else None
    shares = {"majority": with_ends(majority, percent)}
    if answer["other"] != "majority" and other["value"] is not None:
        shares[answer["other"]] = with_ends(other, percent)
    return _wrapped("Right", wording.right_sentence(shares, n_gold))


def _review(summary: dict[str, Any]) -> list[str]:
    if not summary["review"]["items"]:
        return []
    return _wrapped("Review", wording.review_sentence(summary["review"], summary["confidence"]))


def _slices(slices: list[dict[str, Any]], notes: list[dict[str, Any]]) -> list[str]:
    if not slices:
        return []
    kind = "label" if any(note["kind"] == "several" for note in notes) else "slice"
    head = (kind, "items", "votes", "ignoring who voted", "knowing who voted", "loss by the model, points")
    rows = [
        (
            shown(one["value"]),
            f"{one['items']:,}",
            f"{one['votes']:,}",
            one["anonymous"]["verdict"],
            one["named"]["verdict"] if one["named"] else "-",
            _short_loss((one["named"] or one["anonymous"])["loss"]),
        )
        for one in slices
    ]
    title = f"{kind.title() + 's':<8} {wording.slices_level(slices[0]['level'])}"
    return [title, *columns([head, *rows], left=(0, 3, 4))]


def _short_loss(loss: dict[str, Any]) -> str:
    return "-" if loss["value"] is None else f"{points(loss['value'])}  {interval(loss, points)}".rstrip()


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
    notes = account["notes"][:most_notes]
    lines += [f"Note     {printable(note['text'])}" for note in notes]
    if left := len(account["notes"]) - len(notes):
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


def workers_lines(workers: dict[str, Any]) -> list[str]:
    """The workers with the most votes, and how many stand out."""
    rows = [
        (
            shown(one["worker"]),
            f"{one['votes']:,}",
            "-" if one["accuracy"] is None else percent(one["accuracy"]),
            "" if one["accuracy"] is None else interval(one, percent),
            "-" if one["agreement"] is None else percent(one["agreement"]),
            "; ".join(flag["flag"] for flag in one["flags"]),
        )
        for one in workers["rows"]
    ]
    head = ("worker", "votes", "accuracy", f"{level_percent(workers['level'])} interval", "agreement", "stands out")
    first, busiest = wording.workers_judged(workers, len(rows))
    return [f"Workers  {first}", f"{INDENT}{busiest}", *columns([head, *rows], left=(0, 5))]


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


def plan_text(summary: dict[str, Any]) -> str:
    """What `majorant plan` prints."""
    lines = [summary["sentence"], *_plan_doubt(summary), "", *_plan_points(summary)]
    if decide := wording.plan_decides(summary):
        lines += ["", *decide]
    if summary["panel"]:
        head = ("the workers, best addition first", "majority of them", "best rule that knows them")
        rows = [(shown(row["worker"]), percent(row["majority"]), percent(row["best"])) for row in summary["panel"]]
        lines += ["", wording.plan_keeps(summary), *columns([head, *rows])]
    return "\n".join([*lines, "", *(f"Assumes: {text}." for text in summary["assumptions"])])


def _plan_doubt(summary: dict[str, Any]) -> list[str]:
    """A warning where gold, or the votes themselves, show that the model promises too much."""
    first, *rest = wording.plan_doubt(summary) or [""]
    return [f"Note     {first}", *(f"{INDENT}{line}" for line in rest)] if first else []


def _plan_points(summary: dict[str, Any]) -> list[str]:
    """A row for each number of votes, as far as it matters."""
    needed = [n for n in (summary["majority_votes"], summary["best_votes"], summary["votes_now"]) if n is not None]
    last = len(summary["points"]) if summary["majority_votes"] is None else round(max(needed)) + 1
    rows = [
        (
            str(row["votes"]),
            *("?" if row[name] is None else percent(row[name]) for name in ("majority", "best")),
            wording.price(row["votes"], summary["price_per_vote"]),
        )
        for row in summary["points"][:last]
    ]
    return columns([("votes per item", "majority", "best rule", "price per item"), *rows], left=())


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
        "Gain": inert(answer["gain_sentence"]),
        "Evidence": inert(answer["why"]),
        "Next": _with_code(answer["next"], answer["command"]),
        "Votes": f"{inert(source)}: {votes_counted(summary['votes'])}",
    }
    lines = [
        f"### {EMOJI[answer['action']]} {inert(answer['headline'])}",
        "",
        inert(answer["labels_sentence"]),
        "",
        "| | |",
        "|---|---|",
        *(f"| **{name}** | {text} |" for name, text in rows.items()),
    ]
    if summary["slices"]:
        lines += ["", "| part | items | verdict |", "|---|---:|---|"]
        parts = [(inert(str(one["value"])), one["items"], one[one["standing"]]["verdict"]) for one in summary["slices"]]
        lines += [f"| {value} | {n_items:,} | {verdict} |" for value, n_items, verdict in parts]
    return "\n".join(lines) + "\n"


def write_markdown(summary: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the Markdown to a file; to a job's summary it is added, since other commands write there too."""
    target = Path(path)
    if os.environ.get(JOB_SUMMARY) != str(path):
        return write_files({target: markdown(summary)})[0]
    try:
        with target.open("a", encoding="utf-8") as file:
            file.write(f"{markdown(summary)}\n")
    except OSError as error:
        raise ConfigError(f"Cannot write {target}: {error.strerror}.") from error
    return target


def inert(text: str) -> str:
    """Text in which no name makes a link, an image, a tag or a cell of its own.

    >>> inert("a|b <script> [x](y)")
    'a\\\\|b \\\\<script\\\\> \\\\[x\\\\](y)'
    """
    return MARKDOWN_SIGNS.sub(r"\\\1", printable(" ".join(text.split())))


def _with_code(text: str, command: str) -> str:
    """The sentence with the command that it ends with as code, where nothing in it could end the code."""
    if not command or not text.endswith(command) or "`" in command or "|" in command:
        return inert(text)
    return f"{inert(text[: -len(command)])} `{printable(command)}`"
