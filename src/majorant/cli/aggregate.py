"""`majorant aggregate`: one label per item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.options import Grouped, show, takes
from majorant.cli.progress import at_work
from majorant.cli.source import Engine, Source, input_options, memory_options
from majorant.options import Aggregate, Overwrite, Seed, Shown, Spreadsheet

if TYPE_CHECKING:
    from majorant.methods.fit import Fit
    from majorant.output import Columns
    from majorant.results.labels import LabelCounts, TiePolicy
    from majorant.votes import Account, Note

EXPORT_ENDINGS = {"label-studio": ".json", "argilla": ".json", "prodigy": ".jsonl"}  # by labelling tool


@click.command(cls=Grouped)
@input_options
@takes(Aggregate, Overwrite, Spreadsheet)
@memory_options
@takes(Seed, Shown)
def aggregate(
    source: Source,
    engine: Engine,
    method: str,
    ties: TiePolicy,
    out: str,
    spreadsheet: bool,
    export: str | None,
    save_rule: str | None,
    seed: int,
) -> None:
    """Write one label per item."""
    from majorant.errors import ConfigError
    from majorant.ownership import refuse_unsafe

    if save_rule is not None and (engine.flag or method == "auto" or is_rule_file(method)):
        raise ConfigError("--save-rule needs votes in memory and a method, such as --method dawid-skene.")
    if save_rule is not None and Path(save_rule).resolve() == Path(out).resolve():
        raise ConfigError(f"--out and --save-rule both name {out}. Choose another file for one of them.")
    if is_rule_file(method) and engine.flag:
        raise ConfigError(f"A saved rule labels votes in memory: leave out {engine.flag}.")
    if export is not None and (engine.flag or out == "-"):
        raise ConfigError("--export needs votes in memory and a file to write: leave out --memory and --out -.")
    if export is not None and spreadsheet:
        raise ConfigError("--export writes for a labelling tool, not for a spreadsheet: leave out --spreadsheet.")
    if export is not None and out == "labels.csv":
        out = f"labels{EXPORT_ENDINGS[export]}"
    refuse_unsafe([Path(file) for file in (out, save_rule) if file not in ("-", None)], tables=True)
    account, fit, counts, note = _aggregate(source, engine, method, ties, seed, out, export, spreadsheet, save_rule)
    from majorant.render.notes import account_facts, note_text
    from majorant.render.summary import labels_facts
    from majorant.render.text import input_lines, labels_lines

    kept = {} if save_rule is None else {"rule": save_rule}
    lines = [
        *([] if note is None else [f"Warning  {note_text(note)}"]),
        *input_lines(account),
        *labels_lines(fit, counts, ties=ties),
        *(f"Wrote    {path}" for path in (out, *kept.values())),
    ]
    facts = {"input": account_facts(account), "labels": labels_facts(fit, counts), "out": out, **kept}
    show(facts, lines, err=out == "-")


def _aggregate(
    source: Source,
    engine: Engine,
    method: str,
    ties: TiePolicy,
    seed: int,
    out: str,
    export: str | None,
    spreadsheet: bool,
    save_rule: str | None,
) -> tuple[Account, Fit, LabelCounts, Note | None]:
    """Compute the labels and write them."""
    with engine.open(source, out=out) as votes:
        import warnings

        import numpy as np

        from majorant.errors import DataNote
        from majorant.evidence.rules import AUTO
        from majorant.methods import load_rule
        from majorant.output import Content, write_or_print
        from majorant.pipeline import aggregate, check, collapse_note
        from majorant.render.files import label_fits, label_part, tables_of
        from majorant.results.labels import count_all_labels, label_table

        generator = np.random.default_rng(seed)  # shared by all parts of the table, so that the result is the same
        with at_work(method):
            if method == AUTO:
                result = check(votes, rng=seed)
                fits, part = label_fits(result), label_part(result, ties=ties, rng=generator)
            else:
                by_rule = is_rule_file(method)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DataNote)  # printed in the first line instead
                    fits = (load_rule(method).fit(votes) if by_rule else aggregate(votes, method, rng=seed),)
                part = partial(label_table, ties=ties, rng=generator)
        fit = fits[0]
        labels: Content = _guarded(tables_of(part, votes, *fits), spreadsheet)
        if export is not None:
            labels = export_text(export, part(votes, *fits), list(fit.label_values), votes, source)
        rule: dict[Path, Content] = {} if save_rule is None else {Path(save_rule): fit.rule().to_json()}
        write_or_print({Path(out): labels, **rule})
        return votes.account, fit, count_all_labels(votes, fit), collapse_note(votes, fit)


def is_rule_file(method: str) -> bool:
    """Whether a method is the name of a file written with --save-rule."""
    return method.endswith(".json")


def _guarded(table: Columns | Iterator[Columns], spreadsheet: bool) -> Columns | Iterator[Columns]:
    from majorant.tabular import guard_columns

    if not spreadsheet:
        return table
    return guard_columns(table) if isinstance(table, Mapping) else map(guard_columns, table)


def export_text(name: str, table: Any, labels: Sequence[Any], votes: Any, source: Source) -> str:
    """The labels as an import file for a tool; keeps item fields and control names if the votes came from that tool."""
    from majorant.read.consensus import Consensus, Tool, control_of, item_fields
    from majorant.read.consensus import export_text as text_of

    consensus = [
        Consensus(item, label, None if confidence != confidence else float(confidence))
        for item, label, confidence in zip(table["item"], table["label"], table["confidence"], strict=True)
    ]
    named = source.options.item
    fields = {} if not source.is_on_disk else item_fields(source.files, item=named if isinstance(named, str) else None)
    if not fields and getattr(votes, "text", None) is not None:
        texts = votes.text([one.item for one in consensus])
        fields = {str(one.item): {"text": text} for one, text in zip(consensus, texts, strict=True) if text is not None}
    question, about = control_of(source.files) or (source.options.label or "label", "text")
    return text_of(name, consensus, Tool(fields, labels, question, about))
