"""`majorant agreement`: agreement coefficients with intervals, for classes and for scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from majorant.cli.options import Grouped, placed, show, takes
from majorant.cli.source import Engine, Source, input_options, memory_options
from majorant.errors import ConfigError
from majorant.options import Agreement, Common, Overwrite, Seed, Shown

if TYPE_CHECKING:
    from majorant.results.agreement.scores import Scores
    from majorant.votes import Account


@click.command(cls=Grouped)
@input_options
@takes(Agreement, Overwrite)
@memory_options
@takes(Common, Seed, Shown)
def agreement(source: Source, engine: Engine, by_distance: bool, out: str | None, level: float, seed: int) -> None:
    """Measure how well the workers agree, beyond chance."""
    if out is not None and not by_distance:
        raise ConfigError("--out is for the table of --scores: add --scores.")
    with engine.open(source) as votes:
        from majorant.pipeline import measure_agreement
        from majorant.render.agreement import agreement_facts, agreement_lines, score_facts, score_lines
        from majorant.render.notes import account_facts
        from majorant.render.text import input_lines
        from majorant.results.agreement.scores import scores

        measured = measure_agreement(votes, level=level, seed=seed)
        distances = scores(votes, rng=seed, level=level) if by_distance else None
    account, workers = votes.account, votes.workers
    facts = {"agreement": agreement_facts(measured, workers)}
    lines = agreement_lines(measured, workers)
    if distances is not None:
        account = _without_advice(account)
        facts["scores"] = score_facts(distances)
        lines += [*score_lines(distances), *_write(distances, out)]
    show({"input": account_facts(account), **facts}, [*input_lines(account), *lines], quiet=lines)


def _without_advice(account: Account) -> Account:
    """The account without the advice to measure distances."""
    from majorant.votes import NoteKind

    return replace(account, notes=tuple(note for note in account.notes if note.kind is not NoteKind.ORDER))


def _write(distances: Scores, out: str | None) -> list[str]:
    from majorant.output import write_files

    if out is None:
        return []
    path = placed(out, "scores.csv")
    write_files({Path(path): distances.table()}, tables=True)
    return [f"Wrote    {path}"]
