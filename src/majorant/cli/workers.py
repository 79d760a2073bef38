"""`majorant workers`: how good each worker is."""

from __future__ import annotations

from pathlib import Path

import click

from majorant.cli.options import Grouped, common_options, level_option, show, spreadsheet_option, table_option
from majorant.cli.progress import at_work
from majorant.cli.source import Engine, Source, input_options, memory_options
from majorant.defaults import WORKER_METHOD
from majorant.ownership import refuse_unsafe


@click.command(cls=Grouped)
@input_options
@click.option("--method", default=WORKER_METHOD, show_default=True, help="Model for the estimates.")
@table_option("workers.csv")
@spreadsheet_option
@memory_options
@level_option
@common_options
def workers(source: Source, engine: Engine, method: str, out: str, spreadsheet: bool, level: float, seed: int) -> None:
    """Rate each worker: accuracy, agreement and warning flags, worst first."""
    refuse_unsafe([Path(out)] if out != "-" else [])
    with engine.open(source, out=out) as backend:
        from majorant.output import write_or_print
        from majorant.pipeline import aggregate, judge_workers
        from majorant.render.notes import account_facts
        from majorant.render.text import input_lines
        from majorant.render.workers import copies_facts, worker_columns, workers_facts, workers_lines
        from majorant.tabular import guard_columns

        with at_work(method, shown=backend.whole is not None):
            fit = aggregate(backend, method, rng=seed)
        judged, copies = judge_workers(backend, fit, level=level, seed=seed)
    table = worker_columns(judged)
    write_or_print({Path(out): guard_columns(table) if spreadsheet else table})
    account = backend.votes.account
    lines = [*input_lines(account), *workers_lines(judged, copies.groups), f"Wrote    {out}"]
    facts = {
        "input": account_facts(account),
        "workers": workers_facts(judged),
        "copies": copies_facts(copies.groups),
        "out": out,
    }
    show(facts, lines, err=out == "-")
