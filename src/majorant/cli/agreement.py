"""`majorant agreement`: coefficients of agreement with intervals."""

from __future__ import annotations

import click

from majorant.cli.options import Grouped, as_flags, common_options, level_option
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
        from majorant.report.plain import to_json
        from majorant.report.summary import account_summary, agreement_summary
        from majorant.report.text import agreement_lines, input_lines

        found = measure_agreement(backend, level=level, seed=seed)
    facts = {
        "input": account_summary(backend.votes.account),
        "agreement": agreement_summary(found, backend.votes.workers),
    }
    if as_json:
        click.echo(to_json(facts), nl=False)
        return
    lines = agreement_lines(facts["agreement"], pairs=True)
    click.echo(as_flags("\n".join(lines if quiet else [*input_lines(facts["input"]), *lines])))
