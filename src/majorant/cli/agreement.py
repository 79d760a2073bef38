"""`majorant agreement`: coefficients of agreement with intervals."""

from __future__ import annotations

import click

from majorant.cli.options import Grouped, as_flags, common_options, level_option, show
from majorant.cli.source import EngineChoice, Job, Source, input_options, memory_options


@click.command(cls=Grouped)
@input_options
@memory_options
@level_option
@common_options
def agreement(source: Source, engine: EngineChoice, level: float, seed: int, as_json: bool, quiet: bool) -> None:
    """How well the workers agree, beyond chance."""
    with engine.backend(Job(source=source)) as backend:
        from majorant.pipeline import measure_agreement
        from majorant.render.agreement import agreement_facts, agreement_lines
        from majorant.render.notes import account_facts
        from majorant.render.text import input_lines

        measured = measure_agreement(backend, level=level, seed=seed)
    facts = {
        "input": account_facts(backend.votes.account),
        "agreement": agreement_facts(measured, backend.votes.workers),
    }
    read = [] if quiet else input_lines(backend.votes.account)
    lines = [*read, *agreement_lines(measured, backend.votes.workers)]
    show(facts, as_flags("\n".join(lines)), as_json=as_json)
