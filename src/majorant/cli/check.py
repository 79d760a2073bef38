"""`majorant check`: the whole line on one table."""

from __future__ import annotations

import click

from majorant.cli.options import common_options, level_option
from majorant.cli.progress import at_work
from majorant.cli.source import Source, input_options


@click.command()
@input_options
@click.option("--out", metavar="DIR", help="Also write labels.csv and result.json into this folder.")
@level_option
@common_options
def check(source: Source, out: str | None, level: float, seed: int, as_json: bool, quiet: bool) -> None:
    """Read votes, measure agreement, say whether majority vote is the best rule, and write the labels."""
    from majorant.pipeline import check as run
    from majorant.report.files import write_result
    from majorant.report.summary import result_summary
    from majorant.report.text import check_text, to_json

    votes = source.read()
    with at_work("counting and certifying", quiet=quiet):
        result = run(votes, level=level, rng=seed)
    summary = result_summary(result)
    written = [] if out is None else write_result(result, summary, out)
    if as_json:
        click.echo(to_json(summary), nl=False)
    elif not quiet:
        click.echo(check_text(summary))
        for path in written:
            click.echo(f"Wrote    {path}")
