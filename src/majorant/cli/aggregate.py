"""`majorant aggregate`: one label per item."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.options import (
    Grouped,
    as_flags,
    choice_option,
    common_options,
    placed,
    refuse_both,
    show,
    spreadsheet_option,
    table_option,
)
from majorant.cli.progress import at_work
from majorant.cli.source import DATASET, EngineChoice, Job, Source, input_options, memory_options

if TYPE_CHECKING:
    from majorant.methods.fit import Fit
    from majorant.output import Columns, Content
    from majorant.results.labels import LabelCounts, TiePolicy
    from majorant.votes import Account, Votes

EXPORT_ENDINGS = {"label-studio": ".json", "argilla": ".json", "prodigy": ".jsonl"}  # of the tools that import labels


def export_option(what: str) -> Callable[[Any], Any]:
    """The option --export, with what it does there."""
    return click.option("--export", type=click.Choice([*EXPORT_ENDINGS]), metavar="TOOL", help=what)


@click.command(cls=Grouped)
@input_options
@click.option(
    "--method",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="A method, a worker, or auto: the rule that check chooses.",
)
@choice_option(
    "--ties",
    "coin",
    "flag",
    "first",
    "random",
    "prior",
    metavar="HOW",
    help="coin (fixed by the item's name), flag (leave empty), first, random, prior.",
)
@table_option("labels.csv")
@spreadsheet_option
@export_option("Write an import file for label-studio, argilla or prodigy instead.")
@click.option(
    "--state",
    metavar="FILE",
    help="For votes in batches: continue from this file, and update it.",
)
@memory_options
@common_options
def aggregate(
    source: Source,
    engine: EngineChoice,
    method: str,
    ties: TiePolicy,
    out: str,
    spreadsheet: bool,
    export: str | None,
    state: str | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write one label per item."""
    from majorant.errors import ConfigError
    from majorant.ownership import refuse_unsafe

    out = placed(out, "labels.csv")
    refuse_both(as_json, out, "labels")
    if state is not None and engine.flag:
        raise ConfigError("--state remembers votes in memory: leave out --memory.")
    if state is not None and Path(state).resolve() == Path(out).resolve():
        raise ConfigError(f"{out} is named for the labels and for --state. Name another file with --out.")
    if export is not None and (state is not None or engine.flag or out == "-"):
        raise ConfigError("--export writes a file from votes in memory: leave out --state, --memory and --out -.")
    if export is not None and spreadsheet:
        raise ConfigError("--export writes for a labelling tool, not for a spreadsheet: leave out --spreadsheet.")
    if export is not None and out == "labels.csv":
        out = f"labels{EXPORT_ENDINGS[export]}"
    refuse_unsafe([Path(out)] if out != "-" else [])
    write = partial(_write, out=out, spreadsheet=spreadsheet)
    if state is None:
        account, fit, counts = _aggregate(source, engine, method, ties, out, seed, export, write)
    else:
        with at_work(method, quiet=quiet):
            account, fit, counts = _aggregate_more(source, method, ties, write, Path(state), seed)
    from majorant.render.notes import account_facts
    from majorant.render.summary import labels_facts
    from majorant.render.text import input_lines, labels_lines

    kept = {} if state is None else {"state": state}
    lines = [
        *input_lines(account),
        *labels_lines(fit, counts, ties=ties),
        *(f"Wrote    {path}" for path in (out, *kept.values())),
    ]
    facts = {"input": account_facts(account), "labels": labels_facts(fit, counts), "out": out, **kept}
    show(facts, "" if quiet else as_flags("\n".join(lines)), as_json=as_json, err=out == "-")


def _aggregate(
    source: Source,
    engine: EngineChoice,
    method: str,
    ties: TiePolicy,
    out: str,
    seed: int,
    export: str | None,
    write: Callable[..., None],
) -> tuple[Account, Fit, LabelCounts]:
    """Label votes on any backend."""
    with engine.backend(Job(source=source, out=out)) as backend:
        import numpy as np

        from majorant.pipeline import aggregate, check
        from majorant.render.files import label_fits, label_part
        from majorant.results.labels import count_all_labels, label_table
        from majorant.results.rules import AUTO

        generator = np.random.default_rng(seed)  # one for all parts of the table: the draws are those of the whole
        with at_work(method, quiet=source.quiet or backend.whole is None):
            if method == AUTO:
                result = check(backend, rng=seed)
                fits, part = label_fits(result), label_part(result, ties=ties, rng=generator)
            else:
                fits = (aggregate(backend, method, rng=seed),)
                part = partial(label_table, ties=ties, rng=generator)
        fit, table = fits[0], backend.labelled(fits, part)
        if export is None:
            write(table)
        else:
            from majorant.output import write_files

            write_files({Path(out): export_text(export, table, list(fit.label_values), backend.votes, source)})
        return backend.votes.account, fit, count_all_labels(backend, fit)


def _aggregate_more(
    source: Source, method: str, ties: TiePolicy, write: Callable[..., None], state: Path, seed: int
) -> tuple[Account, Fit, LabelCounts]:
    """Labels of votes that come in batches, and the state that remembers them."""
    from majorant.results.labels import count_labels, label_table

    votes = source.read()
    labelled, fit, content = _go_on(votes, method, state)
    write(label_table(labelled, fit, ties=ties, rng=seed), files={state: content})
    return votes.account, fit, count_labels(labelled, fit)


def _go_on(votes: Votes, method: str, path: Path) -> tuple[Votes, Fit, bytes]:
    """The labelled votes, their fit, and the new content of the state file."""
    from majorant.methods.online import fit_or_update, votes_of_items
    from majorant.methods.state_file import load_state, state_bytes

    fit = fit_or_update(votes, method, load_state(path) if path.exists() else None)
    after = fit.state()
    return votes_of_items(after, votes.items) if after.items else votes, fit, state_bytes(after)


def _write(
    table: Columns | Iterator[Columns], *, out: str, spreadsheet: bool, files: dict[Path, Content] | None = None
) -> None:
    """The labels and the state, both or neither."""
    from majorant.output import print_table, write_files
    from majorant.tabular import guarded_columns

    if spreadsheet:
        table = guarded_columns(table) if isinstance(table, Mapping) else map(guarded_columns, table)
    if out == "-":
        write_files(files or {}, update=[*(files or {})])
        print_table(table)
    else:
        write_files({Path(out): table, **(files or {})}, update=[*(files or {})])


def export_text(name: str, table: Any, labels: Sequence[Any], votes: Any, source: Source) -> str:
    """The labels as a file that a tool imports; of its own export, with the items' fields and the names of controls."""
    from majorant.read.consensus import Consensus, Tool, control_of, item_fields
    from majorant.read.consensus import export_text as text_of

    consensus = [
        Consensus(item, label, None if confidence != confidence else float(confidence))
        for item, label, confidence in zip(table["item"], table["label"], table["confidence"], strict=True)
    ]
    public = source.file[0].startswith(DATASET) or source.file[0] == "-"
    named = source.options.item
    fields = {} if public else item_fields(source.files, item=named if isinstance(named, str) else None)
    if not fields and getattr(votes, "text", None) is not None:
        texts = votes.text([one.item for one in consensus])
        fields = {str(one.item): {"text": text} for one, text in zip(consensus, texts, strict=True) if text is not None}
    question, about = control_of(source.files) or (source.options.label or "label", "text")
    return text_of(name, consensus, Tool(fields, labels, question, about))


def export_path(folder: str, name: str) -> Path:
    """Where the labels for a tool go in a folder of results."""
    return Path(folder) / f"labels-for-{name}{EXPORT_ENDINGS[name]}"
