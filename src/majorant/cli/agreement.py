"""`majorant agreement`: agreement coefficients with intervals."""

from __future__ import annotations

import click

from majorant.cli.options import Grouped, common_options, level_option, show
from majorant.cli.source import Engine, Source, input_options, memory_options


@click.command(cls=Grouped)
@input_options
@memory_options
@level_option
@common_options
def agreement(source: Source, engine: Engine, level: float, seed: int) -> None:
    """Measure how well the workers agree, beyond chance."""
    with engine.open(source) as backend:
        from majorant.pipeline import measure_agreement
        from majorant.render.agreement import agreement_facts, agreement_lines
        from majorant.render.notes import account_facts
        from majorant.render.text import input_lines

        measured = measure_agreement(backend, level=level, seed=seed)
    account, workers = backend.votes.account, backend.votes.workers
    facts = {"input": account_facts(account), "agreement": agreement_facts(measured, workers)}
    lines = agreement_lines(measured, workers)
    show(facts, [*input_lines(account), *lines], quiet=lines)
