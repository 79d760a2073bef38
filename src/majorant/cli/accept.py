"""`majorant accept`: which items need no expert."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from majorant.cli.options import Grouped, show, takes
from majorant.cli.source import Source, input_options
from majorant.errors import ConfigError
from majorant.options import Accept, Common, Overwrite, Seed, Shown
from majorant.ownership import refuse_unsafe


@click.command(cls=Grouped)
@input_options
@takes(Accept, Overwrite, Common, Seed, Shown)
def accept(
    source: Source,
    at: float,
    exact: bool,
    price_vote: float | None,
    price_label: float | None,
    folder: str | None,
    level: float,
    seed: int,
) -> None:
    """Choose the items whose labels need no expert, so that enough of them are right."""
    from majorant.output import write_files
    from majorant.render.accept import accept_facts, accept_text
    from majorant.results.accept import accept as choose

    if (price_vote is None) != (price_label is None):
        raise ConfigError("--price-vote and --price-label belong together: give both.")
    prices = None if price_vote is None or price_label is None else (price_vote, price_label)
    files = [] if folder is None else [Path(folder) / name for name in ("accept.csv", "escalate.csv")]
    refuse_unsafe(files)
    gold = source.options.gold_file
    votes = replace(source, options=replace(source.options, gold_file=None)).read()
    found = choose(votes, gold, at=at, level=level, exact=exact, rng=seed)
    if folder is not None:
        from majorant.atomic import make_folder

        make_folder(folder)
        table = {name: column for name, column in found.table().items() if name != "accepted"}
        n = found.n_accepted
        parts = ({name: column[:n] for name, column in table.items()},
                 {name: column[n:][::-1] for name, column in table.items()})  # fmt: skip
        write_files(dict(zip(files, parts, strict=True)))
    lines = accept_text(found, prices).split("\n")
    lines += [f"Wrote    accept.csv and escalate.csv in {folder}"] if folder is not None else []
    show(accept_facts(found, prices), lines, quiet=lines[:1])
