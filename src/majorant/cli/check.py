"""`majorant check`: the whole line on one table."""

from __future__ import annotations

from typing import Any

import click

from majorant.cli.options import claim_option, common_options, level_option
from majorant.cli.progress import at_work
from majorant.cli.source import Source, input_options

FROM_BEST_TO_WORST = ("proved", "supported", "undecided", "unidentified", "void", "refuted")
FAILED = 1


@click.command()
@input_options
@click.option(
    "--out", metavar="DIR", help="Also write labels.csv, workers.csv, review.csv and result.json into this folder."
)
@click.option("--method", metavar="NAME", help="Overrule the choice: a method, or combination.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.005,
    show_default=True,
    help="Accuracy that majority vote may give away and still be used; .005 is half a point.",
)
@click.option(
    "--target",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.95,
    show_default=True,
    help="The accuracy to buy votes for.",
)
@click.option("--by", metavar="COLUMN", help="Also a verdict for each value of a column, such as language or batch.")
@click.option(
    "--fail-on",
    type=click.Choice(FROM_BEST_TO_WORST),
    help="Exit with 1 if the verdict, or that of a slice, is this or worse: for checks that run by themselves.",
)
@claim_option
@level_option
@common_options
def check(source: Source, by: str | None, out: str | None, **options: Any) -> None:
    """Is majority vote the best rule for these votes, what to use if not, the labels, and what to buy."""
    from majorant.pipeline import check as run
    from majorant.report.check_text import check_text, judged_verdicts
    from majorant.report.files import write_result
    from majorant.report.summary import result_summary
    from majorant.report.text import to_json

    votes = source.read(by=by)
    seed, quiet = options["seed"], options["quiet"]
    with at_work("certifying and deciding", quiet=quiet):
        result = run(
            votes,
            level=options["level"],
            rng=seed,
            method=options["method"],
            tolerance=options["tolerance"],
            target=options["target"],
        )
    summary = result_summary(result, command=command_line(), seed=seed)
    written = [] if out is None else write_result(result, summary, out)
    if options["as_json"]:
        click.echo(to_json(summary), nl=False)
    elif not quiet:
        click.echo("\n".join([check_text(summary), *(f"Wrote    {path}" for path in written)]))
    if options["fail_on"] is not None:
        raise SystemExit(_exit_code(judged_verdicts(summary, options["claim"]), options["fail_on"]))


def _exit_code(verdicts: list[str], fail_on: str) -> int:
    worst = max(FROM_BEST_TO_WORST.index(verdict) for verdict in verdicts)
    return FAILED if worst >= FROM_BEST_TO_WORST.index(fail_on) else 0


def command_line() -> str:
    """The command as it was given, for the record."""
    import shlex
    import sys

    return shlex.join(["majorant", *sys.argv[1:]])
