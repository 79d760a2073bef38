"""`majorant aggregate`: one label per item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from majorant.cli.memory import Large, memory_options
from majorant.cli.options import common_options
from majorant.cli.progress import at_work
from majorant.cli.source import Source, input_options

if TYPE_CHECKING:
    from majorant.estimate.fit import Ties


@click.command()
@input_options
@click.option(
    "--method",
    default="auto",
    show_default=True,
    help="How votes become labels; auto: by the rule that suits them best.",
)
@click.option(
    "--ties",
    type=click.Choice(["flag", "first", "random", "prior"]),
    default="flag",
    show_default=True,
    help="What becomes of a tie; flag leaves the label empty.",
)
@click.option("--out", default="labels.csv", show_default=True, help="CSV, or Parquet by its ending; - prints CSV.")
@memory_options
@common_options
def aggregate(
    source: Source,
    large: Large | None,
    method: str,
    ties: Ties,
    out: str,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write one label per item."""
    from majorant.decide.labels import label_table
    from majorant.errors import ConfigError
    from majorant.output import print_table, write_table
    from majorant.pipeline import aggregate as fit_labels
    from majorant.report.summary import account_summary, labels_summary
    from majorant.report.text import input_lines, labels_lines, to_json

    if as_json and out == "-":
        raise ConfigError("--json and the labels cannot both go to standard output: name a file with --out.")
    if large is not None:
        account, labels = _aggregate_large(source, large, method, ties, out, seed)
    else:
        votes = source.read()
        with at_work(method, quiet=quiet):
            fit = fit_labels(votes, method, rng=seed)
        table = label_table(votes, fit, ties=ties, rng=seed)
        if out == "-":
            print_table(table)
        else:
            write_table(out, table)
        account, labels = account_summary(votes.account), labels_summary(fit)
    if as_json:
        click.echo(to_json({"input": account, "labels": labels, "out": out}), nl=False)
    elif not quiet:
        lines = [*input_lines(account), *labels_lines(labels), f"Wrote    {out}"]
        click.echo("\n".join(lines), err=out == "-")


def _aggregate_large(
    source: Source, large: Large, method: str, ties: Ties, out: str, seed: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Labels of votes larger than memory, written in a stream."""
    from majorant.output import write_table
    from majorant.report.stored_summary import stored_labels_summary
    from majorant.report.summary import account_summary
    from majorant.stored import choose, fit_rule, label_tables

    with large.stored(source, out) as (stored, means):
        rule, start = choose(stored, method, means, rng=seed)
        fit = fit_rule(stored, rule, means, rng=start)
        write_table(out, label_tables(stored, fit, ties=ties, rng=seed, report=means.report))
        return account_summary(stored.account), stored_labels_summary(stored, fit)
