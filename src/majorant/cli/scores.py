"""`majorant scores`: agreement of labels that are numbers or have an order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from majorant.cli.options import Grouped, common_options, level_option, overwrite_option, placed, show
from majorant.cli.source import Source, input_options


@click.command(cls=Grouped)
@input_options
@click.option("--out", help="Also write a table with mean, median and majority per item: CSV, Parquet or a folder.")
@overwrite_option
@level_option
@common_options
def scores(source: Source, out: str | None, level: float, seed: int) -> None:
    """Measure agreement between scores or ordered labels, and get each item's mean, median and majority."""
    from majorant.output import write_files
    from majorant.render.agreement import score_facts, score_lines
    from majorant.render.notes import account_facts
    from majorant.render.text import input_lines
    from majorant.results.agreement.scores import scores as measure
    from majorant.votes import NoteKind

    votes = source.read()
    measured = measure(votes, rng=seed, level=level)
    notes = tuple(note for note in votes.account.notes if note.kind is not NoteKind.ORDER)  # it is about distances
    account = replace(votes.account, notes=notes)
    facts = {"input": account_facts(account), "scores": score_facts(measured)}
    if out is not None:
        out = placed(out, "scores.csv")
        write_files({Path(out): measured.table()})
    lines = [*score_lines(measured), *([] if out is None else [f"Wrote    {out}"])]
    show(facts, [*input_lines(account), *lines], quiet=lines)
