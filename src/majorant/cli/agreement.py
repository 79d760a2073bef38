"""`majorant agreement`: coefficients of agreement with intervals."""

from __future__ import annotations

import click

from majorant.cli.memory import Large, memory_options
from majorant.cli.options import common_options, level_option
from majorant.cli.source import Source, input_options


@click.command()
@input_options
@memory_options
@level_option
@common_options
def agreement(source: Source, large: Large | None, level: float, seed: int, as_json: bool, quiet: bool) -> None:
    """How well the workers agree, beyond chance."""
    from majorant.agreement import agreement as measure
    from majorant.report.summary import account_summary, agreement_summary
    from majorant.report.text import agreement_lines, input_lines, to_json

    if large is not None:
        from majorant.stored import agreement as measure_stored

        with large.stored(source) as (stored, means):
            found, workers, account = (
                measure_stored(stored, means, level=level, rng=seed),
                stored.workers,
                stored.account,
            )
    else:
        votes = source.read()
        found, workers, account = measure(votes, level=level, rng=seed), votes.workers, votes.account
    facts = {"input": account_summary(account), "agreement": agreement_summary(found, workers)}
    if as_json:
        click.echo(to_json(facts), nl=False)
        return
    lines = agreement_lines(facts["agreement"], pairs=True)
    click.echo("\n".join(lines if quiet else [*input_lines(facts["input"]), *lines]))
