"""`majorant workers`: how good each worker is, and whether a judge is good enough to gate on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from majorant.cli.options import Grouped, show, takes
from majorant.cli.progress import at_work
from majorant.cli.source import Engine, Source, input_options, memory_options, print_notes
from majorant.errors import ConfigError
from majorant.options import Common, Overwrite, Seed, Shown, Spreadsheet, Workers
from majorant.ownership import refuse_unsafe

if TYPE_CHECKING:
    from majorant.results.judges import Judges
    from majorant.results.positions import Position
    from majorant.votes import Votes


@click.command(cls=Grouped)
@input_options
@takes(Workers, Overwrite, Spreadsheet)
@memory_options
@takes(Common, Seed, Shown)
def workers(
    source: Source, engine: Engine, method: str, bar: float, position: str | None, out: str, spreadsheet: bool,
    level: float, seed: int,
) -> None:  # fmt: skip
    """Rate each worker or judge, worst first; with gold labels, see which judges are good enough to gate on.

    \b
    Exit codes: 0 success, 1 --bar is not met, 2 bad arguments or input, 130 interrupted
    """
    refuse_unsafe([Path(out)] if out != "-" else [], tables=True)
    has_bar = click.get_current_context().get_parameter_source("bar") is not ParameterSource.DEFAULT
    if engine.flag and position is not None:
        raise ConfigError(f"--position needs all votes in memory: leave out {engine.flag}.")
    with _opened(source, engine, out, position) as (votes, positions):
        from majorant.items import MOST_STUDIED
        from majorant.output import write_or_print
        from majorant.pipeline import aggregate, judge_workers
        from majorant.render.judges import gate_text, judges_facts
        from majorant.render.notes import account_facts
        from majorant.render.text import input_lines
        from majorant.render.workers import copies_facts, worker_columns, workers_facts, workers_lines
        from majorant.results.judges import Gate, judges
        from majorant.tabular import guard_columns

        with at_work(method):
            fit = aggregate(votes, method, rng=seed)
        judged, copies = judge_workers(votes, fit, level=level)
        gated = None
        if votes.n_votes <= MOST_STUDIED and (has_bar or positions or judged.panel):
            gated = replace(judges(votes, bar=bar, level=level), positions=positions)
    table = worker_columns(judged)
    write_or_print({Path(out): guard_columns(table) if spreadsheet else table})
    facts = {
        "input": account_facts(votes.account),
        "workers": workers_facts(judged),
        "copies": copies_facts(copies.groups),
        "judges": None if gated is None else judges_facts(gated),
        "out": out,
    }
    lines = [*input_lines(votes.account), *workers_lines(judged, copies.groups), f"Wrote    {out}"]
    gate = "" if gated is None or (gated.gate is Gate.NO_GOLD and not has_bar) else gate_text(gated)
    lines = [*([f"Gate     {gate}"] if gate else []), *lines, *_judges_lines(gated, source)]
    show(facts, lines, quiet=[gate] if gate else [], err=out == "-")
    if has_bar and gated is not None and gated.gate is not Gate.MET:
        raise SystemExit(1)


@contextlib.contextmanager
def _opened(
    source: Source, engine: Engine, out: str, position: str | None
) -> Iterator[tuple[Votes, tuple[Position, ...]]]:
    """The votes; of pairs judged in both orders, the verdicts that hold in both, and each judge's position bias."""
    columns = {name: getattr(source.options, name) for name in ("item", "worker", "label", "gold_file")}
    if position is None and source.is_on_disk and not engine.flag:
        from majorant.results.positions import find_position

        position = find_position(source.files, columns)
    if position is None:
        with engine.open(source, out=out) as votes:
            yield votes, ()
        return
    from majorant.results.positions import one_verdict_each

    verdicts, positions = one_verdict_each(source.files, position, columns)
    if verdicts is None:
        raise ConfigError("No judge gave the same verdict in both orders, so there are no votes to rate judges by.")
    print_notes(verdicts.account)
    yield verdicts, positions


def _judges_lines(gated: Judges | None, source: Source) -> list[str]:
    """The judges beside gold and each other, and the command that draws items to label if gold does not suffice."""
    from majorant.cli.next_command import repeat_call
    from majorant.read.tasks import design_path
    from majorant.render.judges import judges_lines
    from majorant.results.judges import Gate

    if gated is None:
        return []
    lines = judges_lines(gated)
    if gated.gate not in (Gate.NO_GOLD, Gate.OPEN):
        return lines
    gold: Any = source.options.gold_file
    path = None if gold is None else design_path(str(gold))
    design = () if path is None or not path.is_file() else ("--design", str(path))
    drawn = ("--rate", "--more", "30", *design) if design else ("--n", "30")  # extend the random sample
    command = repeat_call(click.get_current_context(), "ask", *drawn, without=("gold", "gold_file", "out"))
    return [*lines, "Next     Label 30 random items: they measure every judge.", f"         {command}"]
