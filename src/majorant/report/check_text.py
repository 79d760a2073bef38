"""What `majorant check` prints: what was read, the verdict, what to do, and what it is worth."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from majorant.io.columns import JUDGES, bare_word
from majorant.report.certificate_text import dependence_sentence
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
from majorant.wording import count, judges_sentence, percent, points, right_sentence

LEAD = "         "
JUDGE_LOGS = ("Inspect", "promptfoo", "DeepEval", "lm-eval", "Ragas")  # how their formats are described
MOST_NOTES = 3
SHORT = (("percent", "pairs of votes agree"), ("krippendorff", "Krippendorff's alpha"), ("gwet", "Gwet's AC1"))


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
    worker = bare_word(read["columns"].get("worker", ""))
    if worker not in JUDGES and not read["format"].startswith(JUDGE_LOGS):
        return []
    return _wrapped("Judges", judges_sentence(read["source"].split(" (")[0]))


def _expert(answer: dict[str, Any]) -> list[str]:
    """What labels drawn by design say of another question, and what to know about the labels."""
    expert = answer["expert"]
    if expert is None:
        return []
    said = [] if answer["basis"] == "expert labels" else _wrapped("Labels", expert["sentence"])
    said += [f"{LEAD}{printable(expert['command'])}"] if expert["command"] else []
    return [*said, *(line for note in expert["notes"] for line in _wrapped("Note", note))]


def check_text(summary: dict[str, Any], written: Sequence[Path] = ()) -> str:
    """The answer, and under it what was read, counted and found; result.json and the report have it all."""
    parts = [
        input_lines(summary["input"], most_notes=MOST_NOTES),
        votes_lines(summary["votes"]),
        _agreement(summary["agreement"]),
        _claims(summary["certificate"]),
        _accuracy(summary),
        labels_lines(summary["labels"]),
        _workers(summary["workers"]),
        _review(summary["review"]),
        _plan(summary["plan"]),
    ]
    return "\n".join([answer_text(summary, written), "", *(line for part in parts for line in part)])


def _next(text: str, command: str) -> list[str]:
    """What to do now; a command stays whole, on a line of its own where the two are long."""
    lines = _wrapped("Next", text)
    if len(lines) == 1 or not command:
        return lines
    return [*_wrapped("Next", text.removesuffix(command)), f"{LEAD}{printable(command)}"]


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


def _claims(certificate: dict[str, Any]) -> list[str]:
    """The claims, up to which correlation of votes they stand, and what they take for granted."""
    lines = _wrapped("Claims", certificate["sentence"])
    for kind, title in (("anonymous", "ignoring who voted"), ("named", "knowing who voted")):
        if (claim := certificate[kind]) and claim["breaks_down"]:
            lines += _wrapped("", f"Rules {title}: {claim['breaks_down']}.")
    return [*lines, *(_wrapped("Untested", text) if (text := certificate["not_tested_sentence"]) else [])]


def _agreement(agreement: dict[str, Any]) -> list[str]:
    if agreement["percent"]["value"] is None:
        return [f"Agree    {agreement['percent']['reason']}"]
    parts = []
    for name, title in SHORT:
        one, form = agreement[name], percent if name == "percent" else "{:.3f}".format
        if one["value"] is not None:
            parts.append(f"{title} {with_ends(one, form)}")
    return _wrapped("Agree", "; ".join(parts) + ".")


def _accuracy(summary: dict[str, Any]) -> list[str]:
    """How often majority vote and the other rule are right, by gold or, said to be that, by the model."""
    accuracy, answer = summary["accuracy"], summary["answer"]
    majority, other = accuracy["majority"], accuracy["other"]
    if majority["value"] is None:
        return []
    n_gold = summary["gold"]["n_items"] if accuracy["source"] == "gold" else None
    shown = {"majority vote": with_ends(majority, percent)}
    if answer["other"] != "majority" and other["value"] is not None:
        shown[answer["other"]] = with_ends(other, percent)
    return _wrapped("Right", right_sentence(shown, n_gold))


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
            one["verdict"],
            one["named"] or "-",
            _short_loss(one["loss_named"] or one["loss_anonymous"]),
        )
        for one in slices
    ]
    title = f"{kind.title() + 's':<8} each at {percent(slices[0]['level'], 2)}, so that all hold together"
    return [title, *columns([head, *rows], left=(0, 3, 4))]


def _short_loss(loss: dict[str, Any]) -> str:
    return "-" if loss["value"] is None else f"{points(loss['value'])}{interval(loss, points)}"


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
    source = "by gold" if comparison[0]["source"] == "gold" else "by the model"
    return [
        f"Methods  right {source}; share of labels as majority's",
        *columns([head, *rows], left=(0, 3)),
    ]


def judged_verdicts(summary: dict[str, Any], claim: str | None) -> list[str]:
    """The verdicts that `--fail-on` looks at, of the whole and of each slice: of a claim, or of the one that stands."""
    certificate = summary["certificate"]
    whole = certificate[claim or certificate["standing"]]
    name = {"anonymous": "verdict", "named": "named", "gold": "gold"}
    parts = [one[name[claim or one["standing"]]] for one in summary["slices"]]
    return [verdict or "unidentified" for verdict in (None if whole is None else whole["verdict"], *parts)]
