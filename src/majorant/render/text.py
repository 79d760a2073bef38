"""A result as text for the terminal, and as Markdown for a CI job."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from majorant.ask.evidence import rival_of
from majorant.decide import Action
from majorant.defaults import MAJORITY, MEDIAN
from majorant.evidence.evidence import Source
from majorant.render.agreement import agreement_sentence
from majorant.render.answer import accuracy_warning, rule_name, say_answer
from majorant.render.ask import answers_notes, outcome_sentence, sample_note
from majorant.render.certificate import (
    certificate_sentence,
    dependence_sentence,
    untested_sentence,
)
from majorant.render.notes import note_text
from majorant.render.plan import plan_text
from majorant.render.review import review_line
from majorant.render.words import (
    columns,
    count,
    interval,
    listed,
    one_decimal,
    percent,
    printable,
    shown,
    with_interval,
)
from majorant.render.workers import copies_text, workers_line
from majorant.votes import Account, NoteKind

if TYPE_CHECKING:
    from majorant.methods.fit import Fit
    from majorant.results.comparison import Alternative
    from majorant.results.labels import LabelCounts
    from majorant.results.plan import Plan
    from majorant.results.result import Result

INDENT = "         "  # under the title of a line


def answer_text(result: Result, *, command: str = "", written: Sequence[Path] = ()) -> str:
    """The answer, its reasons, ties, the files written and the next step; then any tables that were requested.

    `command` is the command for the next step.
    """
    answer = say_answer(result)
    lines = [
        *_wrapped("Answer", answer.headline),
        *_wrapped("Ties", answer.ties),
        *_wrapped("Labels", answer.quality),
        *_wrapped("Why", answer.evidence),
        *_wrapped("Copies", copies_text(result.copy_groups)),
        *_judges(result.votes.account),
        *_expert(result),
        *_written(written),
        *_wrapped("Next", answer.next),
        *([f"{INDENT}{printable(command)}"] if command else []),  # not wrapped, so that it can be pasted
    ]
    return "\n".join([*lines, *_slices(result), *_comparison(result.comparison)])


def check_text(result: Result, *, command: str = "", written: Sequence[Path] = ()) -> str:
    """The answer with more details; result.json and the report have all of them."""
    parts = [
        input_lines(result.votes.account, most_notes=3),
        [f"Votes    {_votes_sentence(result)}", f"{INDENT}{_votes_spread(result)}"],
        _wrapped("Agree", agreement_sentence(result.agreement)),
        _claims(result),
        _accuracy(result),
        labels_lines(result.written, result.written_counts),
        _wrapped("Workers", workers_line(result.workers, result.copy_groups, result.removal)),
        _wrapped("Errors", dependence_sentence(result.certificate.dependence)),
        _wrapped("Review", review_line(result.review)),
        [] if result.plan is None else _plan(result.plan),
    ]
    answer = answer_text(result, command=command, written=written)
    return "\n".join([answer, "", *(line for part in parts for line in part)])


def _wrapped(title: str, text: str) -> list[str]:
    """Wrap text after a title; no lines if there is no text."""
    if not text:
        return []
    return textwrap.wrap(
        f"{title:<8} {printable(text)}", 116, subsequent_indent=INDENT, break_long_words=False, break_on_hyphens=False
    )


def _judges(account: Account) -> list[str]:
    """A pointer to `majorant workers` for judge logs."""
    if not account.judges:
        return []
    command = f"majorant workers {account.source.split(' (')[0]}"
    return _wrapped("Judges", f"{command} rates each judge against gold and finds judges that repeat each other.")


def _expert(result: Result) -> list[str]:
    """What the labels of a design show about another question, and notes on the labels."""
    outcome = result.expert
    if outcome is None:
        return []
    # The answer itself says what labels prove about its two rules.
    is_said = result.answer.source in (Source.LABELS, Source.EARNED) and rival_of(outcome) is not None
    lines = [] if is_said else _wrapped("Labels", outcome_sentence(outcome))
    return [
        *lines,
        *(line for note in (*answers_notes(outcome), sample_note(outcome)) for line in _wrapped("Note", note)),
    ]


def _written(paths: Sequence[Path]) -> list[str]:
    """The files that were written, grouped by folder."""
    names: dict[Path, list[str]] = {}
    for path in paths:
        names.setdefault(path.parent, []).append(path.name)
    return [line for folder, files in names.items() for line in _wrapped("Wrote", f"{', '.join(files)} in {folder}")]


def _claims(result: Result) -> list[str]:
    """The claims, and the assumptions behind them that were not tested."""
    certificate = result.certificate
    lines = _wrapped("Claims", certificate_sentence(certificate))
    return [*lines, *_wrapped("", untested_sentence(certificate.claims))]


def _accuracy(result: Result) -> list[str]:
    """How often the rules are right on gold items; without gold, what the confidence of the labels implies."""
    if result.gold is None:
        share = result.expected_accuracy
        warning = accuracy_warning(result.setting.panel)
        return _wrapped("Accuracy", f"About {percent(share)} of the labels are right. {warning}" if share else "")
    rated = [row for row in result.rated[:2] if row.accuracy.value is not None]
    if not rated or rated[0].method != MAJORITY:
        return []
    majority, *others = (with_interval(row.accuracy, percent) for row in rated)
    text = f"Majority vote is right on {majority} of {count(result.gold.n_items, 'gold item')}"
    text += "".join(f", {rule_name(rated[1].method)} on {other}" for other in others)
    return _wrapped("Accuracy", f"{text}.")


def _plan(plan: Plan) -> list[str]:
    """The forecast of what more votes would gain, what stopping early would save, and which judges to keep."""
    sentences, *table = plan_text(plan)
    return [*_wrapped("Budget", sentences), *(f"{INDENT}{line}".rstrip() for line in table)]


def _slices(result: Result) -> list[str]:
    if not result.slices:
        return []
    several = any(note.kind is NoteKind.SEVERAL for note in result.votes.account.notes)
    kind = "label" if several else "slice"
    rows = [
        (
            shown(one.value),
            f"{one.n_items:,}",
            f"{one.n_votes:,}",
            f"{one.differ:,}",
            f"{one.answer.action} ({one.answer.certainty})",
            "-"
            if one.answer.gain.value is None
            else f"{one_decimal(one.answer.gain.value)}  {interval(one.answer.gain, one_decimal)}".rstrip(),
        )
        for one in result.slices
    ]
    head = (kind, "items", "votes", "rules differ on", "answer", "gain, points")
    return [f"{kind.title()}s", *columns([head, *rows], left=(0, 4))]


def _comparison(comparison: Sequence[Alternative]) -> list[str]:
    """All methods side by side."""
    if not comparison:
        return []
    rows = [
        (
            one.method,
            with_interval(one.accuracy, percent) or "-",
            "-" if one.agreement is None else percent(one.agreement),
            one.note or "",
        )
        for one in comparison
    ]
    by = "measured on gold labels" if comparison[0].source == "gold" else "estimated by the model"
    title = f"Methods  Accuracy, {by}, and share of labels that are the same as majority vote's."
    return [title, *columns([("method", "accuracy", "same labels", "note"), *rows], left=(0, 3))]


def input_lines(account: Account, *, most_notes: int | None = None) -> list[str]:
    """What was read, the role of each column, what was left out, and notes on the input."""
    left_out = {
        "without a label": account.abstained,
        "exact copies merged": account.merged,
        f"repeats dropped (kept the {account.repeats})": account.dropped,
    }
    rows = [count(account.rows, "row"), *(f"{number:,} {what}" for what, number in left_out.items() if number)]
    form = f" ({account.format})" if account.format else ""
    lines = [f"Read     {printable(account.source)}{form}: {', '.join(rows)}."]
    if account.columns:
        unused = f"; not used: {listed(map(shown, account.ignored))}" if account.ignored else ""
        lines.append(INDENT + ", ".join(f"{role} = {shown(name)}" for role, name in account.columns.items()) + unused)
    every = [note for note in account.notes if not note.kind.changes_meaning]  # the others were shown when read
    notes = every[:most_notes]
    lines += [f"Note     {note_text(note, flags=True)}" for note in notes]
    if left := len(every) - len(notes):
        lines.append(f"Note     {count(left, 'more note')} on the input in result.json.")
    return lines


def _votes_counted(result: Result) -> str:
    """How many votes, workers and items there are."""
    n_items, n_workers, _ = result.votes.shape
    n_votes = int(result.counts.votes_jl.sum())
    return f"{count(n_votes, 'vote')} by {count(n_workers, 'worker')} on {count(n_items, 'item')}"


def _votes_sentence(result: Result) -> str:
    """The number of votes, and the share of each label."""
    votes_l = result.counts.votes_jl.sum(axis=0)
    shares = (
        f"{shown(label)} {_share_of(int(n), int(votes_l.sum()))}"
        for label, n in zip(result.votes.labels, votes_l, strict=True)
    )
    return f"{_votes_counted(result)}; by label: {listed(shares)}."


def _votes_spread(result: Result) -> str:
    """How many votes each item and each worker has."""
    patterns, votes_j = result.counts.patterns, result.counts.votes_jl.sum(axis=1)
    items_s = np.bincount(patterns.votes_p, weights=patterns.items_p).astype(np.int64)
    sizes = np.flatnonzero(items_s)
    if len(sizes) > 8:
        spread = f"{sizes[0]} to {sizes[-1]}"
    else:
        spread = ", ".join(f"{s} on {count(int(items_s[s]), 'item')}" for s in sizes)
    least, middle, most = np.quantile(votes_j, [0, 0.5, 1]) if len(votes_j) else (0, 0, 0)
    per_worker = f"{least:,.0f} each" if least == most else f"{least:,.0f} to {most:,.0f}, median {middle:,.0f}"
    return f"Votes per item: {spread}. Per worker: {per_worker}."


def labels_lines(fit: Fit, counts: LabelCounts, *, ties: str = "coin") -> list[str]:
    """How many items got each label; `ties` is how ties were decided."""
    decided = int(counts.items_k.sum())
    labelled = decided if ties == "flag" else decided + counts.tied
    of_ties = "tied and left empty" if ties == "flag" else f"of them ties ({ties})"
    left = {of_ties: counts.tied, "without votes": counts.without_votes}
    rest = ", ".join(f"{number:,} {what}" for what, number in left.items() if number) or "no ties"
    others = "Without ties: " if counts.tied else "By label: "
    by_label = listed(
        f"{shown(label)} {_share_of(int(n), decided)}"
        for label, n in zip(fit.label_values, counts.items_k, strict=True)
    )
    doubt = "" if fit.converged else f" The method had not converged after {fit.n_iter:,} steps."
    return [
        f"Labels   {count(labelled, 'item')} labelled by {rule_name(fit.method)}, {rest}. {others}{by_label}.{doubt}"
    ]


def _share_of(part: int, whole: int) -> str:
    """A share in percent; a dash if the whole is zero."""
    return percent(part / whole) if whole else "-"


def markdown(result: Result, *, command: str = "") -> str:
    """A heading with the answer, a table with its reasons, the next step and the votes, and a table of the slices."""
    answer, source = say_answer(result), re.split(r"[/\\]", result.votes.account.source)[-1]
    rows = {
        "Ties": inert(answer.ties),
        "Labels": inert(answer.quality),
        "Why": inert(answer.evidence),
        "Next": inert(answer.next) + (f" `{printable(command)}`" if command else ""),
        "Votes": f"{inert(source)}: {_votes_counted(result)}",
    }
    sign = "🔁" if result.answer.action is Action.SWITCH and result.rule != MEDIAN else "✅"
    lines = [
        f"### {sign} {inert(answer.headline)}",
        "",
        "| | |",
        "|---|---|",
        *(f"| **{name}** | {text} |" for name, text in rows.items() if text),
    ]
    if result.slices:
        lines += ["", "| part | items | answer |", "|---|---:|---|"]
        lines += [
            f"| {inert(str(one.value))} | {one.n_items:,} | {one.answer.action} ({one.answer.certainty}) |"
            for one in result.slices
        ]
    return "\n".join(lines) + "\n"


def inert(text: str) -> str:
    """Escape Markdown, so that no name can create a link, an image, a tag or a table cell.

    >>> inert("a|b <script> [x](y)")
    'a\\\\|b \\\\<script\\\\> \\\\[x\\\\](y)'
    """
    return re.sub(r"([\\`*_\[\]<>|~#!])", r"\\\1", printable(" ".join(text.split())))
