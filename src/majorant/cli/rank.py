"""`majorant rank`: which differences between systems are real, and which systems cannot be told apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from majorant.cli.options import Grouped, show, takes
from majorant.cli.source import Source, input_options, print_notes
from majorant.errors import ConfigError
from majorant.options import Common, Overwrite, Rank, Seed, Shown
from majorant.ownership import refuse_unsafe


@click.command(cls=Grouped)
@input_options
@takes(Rank, Overwrite, Common, Seed, Shown)
def rank(source: Source, by: str, pair: str | None, wanted: str | None, folder: str | None, **how: Any) -> None:
    """Rank systems: which differences are real, which cannot be told apart, and what would separate them."""
    from majorant.output import write_files
    from majorant.render.rank import rank_facts, rank_text
    from majorant.results.rank import rank_systems, read_systems
    from majorant.votes import NoteKind

    if source.is_dataset:
        raise ConfigError(f"--by {by}: the public data sets have no other columns.")
    files = {} if folder is None else {name: Path(folder) / name for name in ("rank.csv", "pairs.csv", "rank.svg")}
    refuse_unsafe(list(files.values()), tables=True)
    gold = source.options.gold_file
    votes, options, question_i = read_systems(source.files, replace(source.options, gold_file=None), by, pair)
    notes = tuple(note for note in votes.account.notes if note.kind is not NoteKind.NUMBER_LABELS)
    print_notes(replace(votes.account, notes=notes))
    ranking = rank_systems(
        votes,
        gold,
        question_i,
        how=replace(options, gold_file=gold),
        by=by,
        label=wanted,
        limits=how["limits"],
        level=how["level"],
        rng=how["seed"],
    )
    if folder is not None:
        from majorant.atomic import make_folder
        from majorant.render.figures.rank import draw_ranking

        make_folder(folder)
        contents = (ranking.systems.table(), ranking.pairs.table(), draw_ranking(ranking))
        write_files(dict(zip(files.values(), contents, strict=True)), tables=True)
    lines = rank_text(ranking).split("\n")
    lines += [f"Wrote    {', '.join(files)} in {folder}"] if files else []
    show(rank_facts(ranking), lines, quiet=lines[:1])


for _parameter in rank.params:  # here --label names the class, so the label column gets a longer flag
    if _parameter.name == "label":
        _parameter.opts = ["--label-column"]
