"""`majorant check`: the whole line on one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from majorant.cli.memory import Large, memory_options
from majorant.cli.options import claim_option, common_options, level_option
from majorant.cli.progress import at_work
from majorant.cli.source import Source, input_options
from majorant.errors import ConfigError

FROM_BEST_TO_WORST = ("proved", "supported", "undecided", "unidentified", "void", "refuted")
FAILED = 1


@click.command()
@input_options
@click.option(
    "--out",
    metavar="DIR",
    help="Also write labels.csv, workers.csv, review.csv, result.json and report.html into this folder.",
)
@click.option("--report", metavar="FILE", help="Also write the report: one HTML file that needs nothing else.")
@click.option("--mask", "masked", is_flag=True, help="Numbers in place of the names of items and workers, everywhere.")
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
@click.option("--compare", "compare_all", is_flag=True, help="Also a table of all methods.")
@click.option(
    "--fail-on",
    type=click.Choice(FROM_BEST_TO_WORST),
    help="Exit with 1 if the verdict, or that of a slice, is this or worse: for checks that run by themselves.",
)
@memory_options
@claim_option
@level_option
@common_options
def check(source: Source, large: Large | None, by: str | None, out: str | None, **options: Any) -> None:
    """Is majority vote the best rule for these votes, what to use if not, the labels, and what to buy."""
    from majorant.encode.mask import mask
    from majorant.pipeline import check as run
    from majorant.report.check_text import check_text, judged_verdicts
    from majorant.report.files import write_result
    from majorant.report.html import write_report
    from majorant.report.summary import result_summary
    from majorant.report.text import to_json

    seed, quiet = options["seed"], options["quiet"]
    how = {"rng": seed, **{name: options[name] for name in ("level", "method", "tolerance", "target", "compare_all")}}
    if large is not None:
        summary, written = _check_large(source, large, by, out, how)
    else:
        votes = source.read(by=by)
        if options["masked"]:
            votes = mask(votes)
        with at_work("certifying and deciding", quiet=quiet):
            result = run(votes, **how)
        summary = result_summary(result, command=command_line(), seed=seed)
        written = [] if out is None else write_result(result, summary, out)
    if options["report"] is not None:
        written.append(write_report(summary, options["report"]))
    if options["as_json"]:
        click.echo(to_json(summary), nl=False)
    elif not quiet:
        click.echo("\n".join([check_text(summary), *(f"Wrote    {path}" for path in written)]))
    if options["fail_on"] is not None:
        raise SystemExit(_exit_code(judged_verdicts(summary, options["claim"]), options["fail_on"]))


def _check_large(
    source: Source, large: Large, by: str | None, out: str | None, how: dict[str, Any]
) -> tuple[dict[str, Any], list[Path]]:
    """The line on votes larger than memory."""
    from majorant.report.stored_summary import stored_summary, write_stored_result
    from majorant.stored import check as run

    if by is not None or how.pop("compare_all"):
        raise ConfigError("--by and --compare need all votes in memory: leave out --memory.")
    beside = None if out is None else str(Path(out) / "labels.csv")
    with large.stored(source, beside) as (stored, means):
        found = run(stored, means, **how)
        summary = stored_summary(stored, found, command=command_line(), seed=how["rng"])
        written = [] if out is None else write_stored_result(stored, found, summary, out, report=means.report)
        return summary, written


def _exit_code(verdicts: list[str], fail_on: str) -> int:
    worst = max(FROM_BEST_TO_WORST.index(verdict) for verdict in verdicts)
    return FAILED if worst >= FROM_BEST_TO_WORST.index(fail_on) else 0


def command_line() -> str:
    """The command as it was given, for the record."""
    import shlex
    import sys

    return shlex.join(["majorant", *sys.argv[1:]])
