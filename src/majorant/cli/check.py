"""`majorant check`: the whole line on one table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.aggregate import export_option, export_path, export_text
from majorant.cli.options import (
    Grouped,
    as_flags,
    claim_option,
    common_options,
    emphasised,
    level_option,
    spreadsheet_option,
    target_option,
    tolerance_option,
)
from majorant.cli.progress import stages_of_check
from majorant.cli.source import EngineChoice, Job, Source, engine_options, input_options, refuse_together
from majorant.errors import ConfigError

if TYPE_CHECKING:
    from majorant.evidence.certificate.certificate import Claim

FROM_BEST_TO_WORST = ("optimal", "open", "not-optimal")
ACTIONS = ("keep", "ask", "switch")  # from the one that needs nothing done to the one that needs most
FAILED = 1
ONE_FILE = (".csv", ".html", ".json", ".parquet")


@click.command(cls=Grouped)
@input_options
@click.option(
    "--out",
    metavar="DIR",
    help="Also write labels.csv, workers.csv, review.csv, result.json and report.html into this folder.",
)
@spreadsheet_option
@click.option("--report", metavar="FILE", help="Also write the report: one HTML file that needs nothing else.")
@export_option("With --out: also the labels with their confidence as a file that a labelling tool imports.")
@click.option(
    "--summary",
    "digest",
    metavar="FILE",
    help='Also write the answer in Markdown; - prints it. "$GITHUB_STEP_SUMMARY" is added to.',
)
@click.option("--mask", "masked", is_flag=True, help="Numbers in place of the names of items and workers, everywhere.")
@click.option("--method", metavar="NAME", help="Overrule the choice: a method, or combination.")
@click.option("-v", "--verbose", is_flag=True, help="Also what was read, counted and found, below the answer.")
@tolerance_option
@target_option
@click.option("--by", metavar="COLUMN", help="Also a verdict for each value of a column, such as language or batch.")
@click.option(
    "--design", metavar="FILE", help="The design of the labels in --gold-file, where it does not lie beside them."
)
@click.option("--compare", "compare_all", is_flag=True, help="Also a table of all methods.")
@click.option(
    "--fail-on",
    type=click.Choice([*ACTIONS[1:], *FROM_BEST_TO_WORST]),
    help="Exit with 1 if the answer is this one (ask: or switch), or if the verdict, or that of a slice, is this or "
    "worse: for checks that run by themselves.",
)
@click.option(
    "--log-progress/--no-log-progress",
    default=None,
    help="A line on standard error for each stage; without it where standard error is no terminal, after 10 s.",
)
@engine_options
@claim_option
@level_option
@common_options
def check(source: Source, engine: EngineChoice, by: str | None, out: str | None, **options: Any) -> None:
    """Keep majority vote, switch to another rule, or ask an expert about a few items.

    Five lines: the answer, what is gained, on what evidence, the files written, what to do next.

    \b
    Exit codes:
      0    done, and the answer or verdict is better than what --fail-on names
      1    the answer or verdict is what --fail-on names, or worse
           (keep, ask, switch; or optimal, open, not-optimal)
      2    wrong call or table
      130  interrupted
    """
    how = {"rng": options["seed"], **{name: options[name] for name in ("level", "method", "tolerance", "target")}}
    _refuse_elsewhere(engine, {**options, "by": by, "out": out})
    summary, written = _check(
        engine,
        Job(source=source, by=by, masked=options["masked"]),
        out,
        {**how, "compare_all": options["compare_all"]},
        options,
    )
    from majorant.render.html import write_report
    from majorant.render.plain import to_json
    from majorant.render.text import answer_text, check_text, markdown, write_markdown

    if options["report"] is not None:
        written.append(write_report(summary, options["report"]))
    if options["digest"] not in (None, "-"):
        written.append(write_markdown(summary, options["digest"]))
    if options["digest"] == "-":
        click.echo(markdown(summary), nl=False)
    elif options["as_json"]:
        click.echo(to_json(summary), nl=False)
    elif options["quiet"]:
        click.echo(emphasised(summary["answer"]["headline"], summary["answer"]["action"]))
    else:
        text = as_flags((check_text if options["verbose"] else answer_text)(summary, written))
        click.echo(emphasised(text, summary["answer"]["action"]))
    if options["fail_on"] is not None:
        raise SystemExit(_exit_code(summary, options["fail_on"], options["claim"]))


def _check(
    engine: EngineChoice, job: Job, out: str | None, how: dict[str, Any], options: dict[str, Any]
) -> tuple[dict[str, Any], list[Path]]:
    """The line, wherever the votes are to be worked on; the facts, and the files that were written."""
    labelled, source = None, job.source
    if source.options.gold_file is not None:
        from majorant.ask.design import recognise

        labelled = recognise(source.options.gold_file, design=options["design"])
    if labelled is not None:
        if not labelled.sample:
            source = replace(source, options=replace(source.options, gold_file=None))
        if options["masked"]:
            raise ConfigError("--mask hides the names by which expert labels find their items: leave it out.")
    beside = None if out is None else str(Path(out) / "labels.csv")
    with engine.backend(replace(job, source=source, out=beside)) as backend:
        from majorant.pipeline import check
        from majorant.render.files import labels_of, write_result
        from majorant.render.summary import result_summary

        log = {"quiet": options["quiet"], "logged": options["log_progress"]}
        with stages_of_check(**log, bar=backend.whole is not None) as stage:
            result = check(backend, labelled=labelled, stage=stage, early=None if options["quiet"] else _early, **how)
        shown = out is not None or any(options[name] for name in ("report", "digest", "as_json"))
        summary = result_summary(result, command=command_line(), seed=how["rng"], with_map=shown)
        export, more = options["export"], dict[Path, Any]()
        if out is not None and export is not None:
            table, labels = labels_of(result), list(result.fit.label_values)
            more = {export_path(out, export): export_text(export, table, labels, result.backend.votes, source)}
        safe = options["spreadsheet"]
        return summary, [] if out is None else write_result(result, summary, out, more=more, spreadsheet=safe)


def _early(claim: Claim) -> None:
    """What the counts alone say, while the rest is still to come."""
    from majorant.render.certificate import claim_sentence

    click.echo(f"First, from the vote counts: {claim_sentence(claim)} Workers, rules and labels follow.", err=True)


def _refuse_elsewhere(engine: EngineChoice, options: dict[str, Any]) -> None:
    """What does not go together, with what to leave out."""
    if options["out"] is not None and Path(options["out"]).suffix in ONE_FILE:
        raise ConfigError(f"--out names a folder, and {options['out']} is one file. The page alone: --report FILE.")
    if options["export"] is not None:
        if options["out"] is None:
            raise ConfigError("--export writes into the folder of --out: name one. Labels alone: majorant aggregate.")
        if engine.flag or options["masked"]:
            raise ConfigError("--export needs all votes and their names: leave out --memory, --engine and --mask.")
    if options["digest"] == "-" and options["as_json"]:
        raise ConfigError("--json and --summary - both print: name a file for the summary.")
    if options["compare_all"] and engine.flag:
        raise ConfigError(
            f"--compare needs all votes in memory: leave out {engine.flag}, or check a part of the items."
        )
    refuse_together(engine, **options)


def _exit_code(summary: dict[str, Any], fail_on: str, claim: str | None) -> int:
    """1 if the answer's action, or the worst of the verdicts, is `fail_on` or further down its scale."""
    scale = ACTIONS if fail_on in ACTIONS else FROM_BEST_TO_WORST
    verdicts = [summary["answer"]["action"]] if fail_on in ACTIONS else _judged_verdicts(summary, claim)
    return FAILED if max(map(scale.index, verdicts)) >= scale.index(fail_on) else 0


def _judged_verdicts(summary: dict[str, Any], claim: str | None) -> list[str]:
    """The verdicts that `--fail-on` looks at, of the whole and of each slice: of a claim, or of the one that stands."""
    certificate = summary["certificate"]
    whole = certificate[claim or certificate["standing"]]
    parts = [one[claim or one["standing"]] for one in summary["slices"]]
    return ["open" if one is None else one["verdict"].replace(" ", "-") for one in (whole, *parts)]


def command_line() -> str:
    """The command as it was given, for the record."""
    import shlex
    import sys

    return shlex.join(["majorant", *sys.argv[1:]])
