"""Summaries as text: lines under titles and tables for the terminal, Markdown for a job."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from majorant.errors import ConfigError
from majorant.output import write_files
from majorant.render.numbers import count, in_points, one_decimal
from majorant.wording import COEFFICIENTS, SCORE_COEFFICIENTS, level_percent, listed, percent, printable, shown

INDENT = "         "  # under the title of a line
EMOJI = {"keep": "✅", "switch": "🔁"}
MARKDOWN_SIGNS = re.compile(r"([\\`*_\[\]<>|~#!])")


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
    command = f"majorant judges {read['source'].split(' (')[0]}"
    return _wrapped("Judges", f"{command} rates each judge by gold and says who repeats whom.")


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
        input_lines(summary["input"], most_notes=3),
        votes_lines(summary["votes"]),
        _wrapped("Agree", _agreement_sentence(summary["agreement"])),
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
        f"{title:<8} {printable(text)}", 116, subsequent_indent=INDENT, break_long_words=False, break_on_hyphens=False
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
    shares = {"majority": _with_ends(majority, percent)}
    if answer["other"] != "majority" and other["value"] is not None:
        shares[answer["other"]] = _with_ends(other, percent)
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
    return "-" if gain["value"] is None else f"{one_decimal(gain['value'])}  {_interval(gain, one_decimal)}".rstrip()


def comparison_lines(comparison: list[dict[str, Any]]) -> list[str]:
    """All methods side by side."""
    if not comparison:
        return []
    head = ("method", "right", "as majority", "note")
    rows = [
        (
            one["method"],
            "-" if one["accuracy"]["value"] is None else _with_ends(one["accuracy"], percent),
            "-" if one["agreement"] is None else percent(one["agreement"]),
            one["note"],
        )
        for one in comparison
    ]
    by = "by gold" if comparison[0]["source"] == "gold" else "by the model"
    return [f"Methods  right {by}; share of labels as majority vote gives them", *columns([head, *rows], left=(0, 3))]


def input_lines(account: dict[str, Any], *, most_notes: int | None = None) -> list[str]:
    """What was read, which column was taken for what, what was left out, and what to know about it."""
    lines = [f"Read     {_read_sentence(account)}"]
    if account["columns"]:
        lines.append(f"{INDENT}{_columns_words(account)}")
    every = [note for note in account["notes"] if not note["changes_meaning"]]  # the others were shown when read
    notes = every[:most_notes]
    lines += [f"Note     {printable(note['text'])}" for note in notes]
    if left := len(every) - len(notes):
        lines.append(f"Note     {left} more notes on the input: see result.json.")
    return lines


def votes_lines(votes: dict[str, Any]) -> list[str]:
    """How many votes, items, workers and classes there are."""
    return [f"Votes    {_votes_sentence(votes)}", f"{INDENT}{_votes_spread(votes)}"]


def agreement_lines(agreement: dict[str, Any], *, pairs: bool = False) -> list[str]:
    """Each coefficient with its interval or the reason why it is missing."""
    lines = [f"Agreement, with {level_percent(agreement['level'])} intervals"]
    for name, title in COEFFICIENTS.items():
        one = agreement[name]
        if name == "krippendorff_ordinal" and agreement["classes"] <= 2:
            continue  # the same number: two classes have no order
        if one["value"] is None:
            if pairs or name == "percent":
                lines.append(f"{INDENT}{title:<29}{one['reason']}")
            continue
        form = percent if name == "percent" else "{:.3f}".format
        lines.append(f"{INDENT}{title:<29}{form(one['value']):>7}  {_interval(one, form)}".rstrip())
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
    head = f"Pairs of workers with the most items in common, {len(rows)} of {agreement['n_pairs']:,}"
    return [head, *columns([("workers", "items", "agree", "Cohen's kappa"), *rows])]


def labels_lines(labels: dict[str, Any]) -> list[str]:
    """How many items got which label."""
    return [f"Labels   {_labels_sentence(labels)}"]


def plug_in_text(summary: dict[str, Any]) -> str:
    """What `majorant certify` with a plug-in prints; the warning stands before the numbers."""
    head = ("votes", "items", "verdict", "margin", "majority", "best rule", "gap")
    rows = [
        (
            str(row["votes"]),
            percent(row["items"]),
            row["verdict"],
            _nats(row["margin"]),
            *("?" if row[name] is None else percent(row[name]) for name in ("majority_accuracy", "optimal_accuracy")),
            "?" if row["gap"] is None else in_points(row["gap"]),
        )
        for row in summary["by_votes"]
    ]
    lines = [summary["sentence"], f"Note     {summary['note']}", "", _plug_in_estimate(summary)]
    return "\n".join([*lines, *columns([head, *rows], left=(2,))])


def labels_loss_lines(loss: dict[str, Any]) -> list[str]:
    """How the user's own labels compare."""
    head, facts = _labels_loss_facts(loss)
    return [head, *_facts(facts)]


def score_lines(scores: dict[str, Any]) -> list[str]:
    """Agreement by distance, and each rule's distance from gold, in the units of the scores."""
    lines = [f"Agreement by distance, between {scores['about']}:"]
    lines += [f"  {title}: {_score(scores[name])}" for name, title in SCORE_COEFFICIENTS.items()]
    lines.append("Mean distance from gold of each rule:")
    lines += [f"  {rule}: {_score(one)}" for rule, one in scores["distance"].items()]
    lines += [_nearer_sentence(rule, one) for rule, one in scores["nearer"].items() if one["low"] is not None]
    return [*lines, *([] if scores["closest"] is None else [f"Closest to gold on these items: {scores['closest']}."])]


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
        "Votes": f"{inert(source)}: {_votes_counted(summary['votes'])}",
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
    job_summary = "GITHUB_STEP_SUMMARY"  # the file to which every command of a job's step adds its part
    return os.environ.get(job_summary) == str(path)


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


def _read_sentence(account: Mapping[str, Any]) -> str:
    """What was read, and how many rows held no vote of their own."""
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
    return f"{printable(account['source'])}{form}: {', '.join([count(account['rows'], 'row'), *left_out])}."


def _columns_words(account: Mapping[str, Any]) -> str:
    """Which column was taken for what, and which were not used."""
    unused = f"; not used: {listed(map(shown, account['ignored']))}" if account["ignored"] else ""
    return ", ".join(f"{role} = {shown(name)}" for role, name in account["columns"].items()) + unused


def _votes_counted(votes: Mapping[str, Any]) -> str:
    """How many votes there are, by whom and on what."""
    return f"{count(votes['votes'], 'vote')} by {count(votes['workers'], 'worker')} on {count(votes['items'], 'item')}"


def _votes_sentence(votes: Mapping[str, Any]) -> str:
    """The same, and what the votes are for."""
    labels = listed(f"{shown(row['label'])} {_share_of(row['votes'], votes['votes'])}" for row in votes["label_votes"])
    return f"{_votes_counted(votes)}; votes for: {labels}."


def _votes_spread(votes: Mapping[str, Any]) -> str:
    """How many votes items and workers have."""
    sizes, worker = votes["votes_per_item"], votes["votes_per_worker"]
    if len(sizes) > 8:
        spread = f"{sizes[0]['votes']} to {sizes[-1]['votes']}"
    else:
        spread = ", ".join(f"{row['votes']} on {count(row['items'], 'item')}" for row in sizes)
    given = f"{worker['least']:,} to {worker['most']:,}, median {worker['median']:,.0f}"
    return f"Votes per item: {spread}. Per worker: {given}."


def _labels_sentence(labels: Mapping[str, Any]) -> str:
    """How many items got which label."""
    open_items = [
        text
        for number, text in (
            (labels["tied"], f"{labels['tied']:,} tied and left open"),
            (labels["without_votes"], f"{labels['without_votes']:,} without votes"),
        )
        if number
    ]
    by_label = listed(
        f"{shown(row['label'])} {_share_of(row['items'], labels['labelled'])}" for row in labels["by_label"]
    )
    rest = ", ".join(open_items) or "no ties"
    doubt = "" if labels["converged"] else f" Not converged after {labels['steps']:,} steps."
    return f"by {labels['method']}: {count(labels['labelled'], 'item')} labelled, {rest}: {by_label}.{doubt}"


def _agreement_sentence(agreement: Mapping[str, Any]) -> str:
    """The coefficients that say most, for a reader in a hurry."""
    if agreement["percent"]["value"] is None:
        return str(agreement["percent"]["reason"])
    parts = [f"pairs of votes agree {_with_ends(agreement['percent'], percent)}"]
    for name in ("krippendorff", "gwet"):
        if agreement[name]["value"] is not None:
            parts.append(f"{COEFFICIENTS[name]} {_with_ends(agreement[name], '{:.3f}'.format)}")
    return "; ".join(parts) + "."


def _score(estimate: Mapping[str, Any]) -> str:
    """A coefficient or a distance with its interval, or why there is none."""
    if estimate["value"] is None:
        return f"not known ({estimate['reason']})"
    ends = "" if estimate["low"] is None else f" ({estimate['low']:.3f} to {estimate['high']:.3f})"
    return f"{estimate['value']:.3f}{ends}"


def _nearer_sentence(rule: str, lead: Mapping[str, float]) -> str:
    """Whether a rule comes nearer to gold scores than majority vote.

    >>> _nearer_sentence("median", {"value": .2, "low": .1, "high": .3})
    '  median: nearer to gold than majority vote by 0.200 (0.100 to 0.300)'
    >>> _nearer_sentence("mean", {"value": .02, "low": -.1, "high": .1})
    '  mean: not told apart from majority vote (nearer to gold by -0.100 to 0.100)'
    """
    low, high = lead["low"], lead["high"]
    if low <= 0 <= high:
        return f"  {rule}: not told apart from majority vote (nearer to gold by {low:.3f} to {high:.3f})"
    where, sign = ("nearer to", 1) if low > 0 else ("farther from", -1)
    ends = sorted((sign * low, sign * high))
    return f"  {rule}: {where} gold than majority vote by {abs(lead['value']):.3f} ({ends[0]:.3f} to {ends[1]:.3f})"


def _plug_in_estimate(verdict: Mapping[str, Any]) -> str:
    """From what a plug-in verdict was computed."""
    source = f"all {verdict['items']:,} items" if verdict["share"] == 1 else count(verdict["items"], "random item")
    prior = ", ".join(f"{p:.3f}" for p in verdict["prior"])
    confusion = " / ".join(", ".join(f"{value:.3f}" for value in row) for row in verdict["confusion"])
    return f"Estimate from {source}: prior {prior}; confusion {confusion}"


def _labels_loss_facts(loss: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """How labels from elsewhere compare: of how many items, and each number with its name."""
    numbers: dict[str, tuple[str, Callable[[float], str]]] = {
        "accuracy": ("right on gold", percent),
        "over_majority": ("lead over majority", in_points),
        "loss": ("loss, by gold", in_points),
        "model_loss": ("loss, by the model", in_points),
    }
    facts = []
    for name, (title, form) in numbers.items():
        one = loss[name]
        text = one["reason"]
        if one["value"] is not None:
            text = f"{form(one['value'])} {_interval(one, form) or f'({text})'}"
        facts.append((title, text))
    items = f"{loss['n_items']:,} items with a label and an untied vote"
    return f"Labels of {printable(loss['source'])}, on {items}", facts


def _share_of(part: int, whole: int) -> str:
    """Part of a whole in percent, or a dash of nothing."""
    return percent(part / whole) if whole else "-"


def _interval(estimate: Mapping[str, Any], form: Callable[[Any], str]) -> str:
    """[low, high], or nothing where there is no interval."""
    return "" if estimate["low"] is None else f"[{form(estimate['low'])}, {form(estimate['high'])}]"


def _with_ends(estimate: Mapping[str, Any], form: Callable[[Any], str]) -> str:
    """A number and its interval within a sentence.

    >>> _with_ends({"value": 0.97, "low": 0.936, "high": 0.989}, percent)
    '97.0% [93.6%, 98.9%]'
    """
    return f"{form(estimate['value'])} {_interval(estimate, form)}".rstrip()


def _nats(margin: float | str) -> str:
    """A margin with its unit; JSON holds an infinite one as a string.

    >>> _nats(.5), _nats("inf")
    ('+0.500 nats', '+inf nats')
    """
    return f"{float(margin):+.3f} nats"
