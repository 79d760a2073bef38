"""`majorant check`: the answer, the labels and all results of one table."""

from __future__ import annotations

import shlex
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
    overwrite_option,
    spreadsheet_option,
    target_option,
    tolerance_option,
)
from majorant.cli.progress import stages_of_check
from majorant.cli.source import EngineChoice, Job, Source, engine_options, input_options, refuse_together
from majorant.defaults import RESULT_FILES
from majorant.errors import ConfigError
from majorant.ownership import refuse_unsafe

if TYPE_CHECKING:
    from majorant.results.result import Result


@click.command(cls=Grouped)
@input_options
@click.option(
    "--out",
    metavar="DIR",
    help="Write the labels, tables and report to this folder.",
)
@overwrite_option
@spreadsheet_option
@click.option("--report", metavar="FILE", help="Write only the report, as one HTML file.")
@export_option("With --out: also write a file that a labelling tool imports.")
@click.option(
    "--summary",
    "digest",
    metavar="FILE",
    help="Write the answer as Markdown, e.g. for CI; - prints it.",
)
@click.option("--mask", "masked", is_flag=True, help="Replace the names of items and workers by numbers.")
@click.option(
    "--method",
    metavar="NAME",
    help="Rule to compare: a method, a worker, or a+b.",
)
@click.option("--no-gold-labels", is_flag=True, help="Do not copy gold labels into labels.csv.")
@click.option("-v", "--verbose", is_flag=True, help="Print more details.")
@tolerance_option
@target_option
@click.option("--by", metavar="COLUMN", help="Also check each value of this column separately.")
@click.option("--design", metavar="FILE", help="Design file written by ask, if it was moved.")
@click.option("--compare", is_flag=True, help="Add a table that compares all methods.")
@click.option(
    "--fail-on",
    type=click.Choice(["switch", "unproved", "not-optimal"]),
    metavar="WHAT",
    help="Exit with 1 on switch, unproved or not-optimal.",
)
@click.option(
    "--log-progress/--no-log-progress",
    default=None,
    help="Print a line per stage.",
)
@engine_options
@claim_option
@level_option
@common_options
def check(source: Source, engine: EngineChoice, by: str | None, out: str | None, **options: Any) -> None:
    """Decide whether to keep majority vote or switch to another rule, and get the best labels.

    \b
    Exit codes: 0 success, 1 --fail-on applies, 2 bad arguments or input, 130 interrupted
    """
    how = {"rng": options["seed"], **{name: options[name] for name in ("level", "method", "tolerance", "target")}}
    _refuse_elsewhere(engine, {**options, "by": by, "out": out})
    _refuse_unsafe(out, options)
    result, summary, written = _check(
        engine,
        Job(source=source, by=by, masked=options["masked"]),
        out,
        {**how, "compare": options["compare"], "gold_labels": not options["no_gold_labels"]},
        options,
    )
    from majorant.render.answer import headline
    from majorant.render.html import write_report
    from majorant.render.plain import to_json
    from majorant.render.text import answer_text, check_text, markdown, write_summary

    then = _next_command(result, out)
    if options["report"] is not None:
        written.append(write_report(summary, options["report"]))
    if options["digest"] not in (None, "-"):
        written.append(write_summary(markdown(result, command=then), options["digest"]))
    if options["digest"] == "-":
        click.echo(markdown(result, command=then), nl=False)
    elif options["as_json"]:
        click.echo(to_json(summary), nl=False)
    elif options["quiet"]:
        click.echo(emphasised(headline(result), result.answer.action))
    else:
        text = (check_text if options["verbose"] else answer_text)(result, command=then, written=written)
        click.echo(emphasised(as_flags(text), result.answer.action))
    if options["fail_on"] is not None:
        raise SystemExit(_exit_code(result, options["fail_on"], options["claim"]))


def _check(
    engine: EngineChoice, job: Job, out: str | None, how: dict[str, Any], options: dict[str, Any]
) -> tuple[Result, dict[str, Any], list[Path]]:
    """The result, wherever the votes are to be worked on; its facts, and the files that were written."""
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
        details = out is not None or any(options[name] for name in ("report", "as_json", "verbose"))
        details = details or options["fail_on"] == "not-optimal"
        with stages_of_check(**log, bar=backend.whole is not None) as stage:
            result = check(backend, labelled=labelled, stage=stage, **how)
            then = _next_command(result, out)
            summary = result_summary(
                result, command=command_line(), next_command=then, seed=how["rng"], details=details
            )
        export, more = options["export"], dict[Path, Any]()
        if out is not None and export is not None:
            table, labels = labels_of(result), list(result.labels.fit.label_values)
            more = {export_path(out, export): export_text(export, table, labels, result.backend.votes, source)}
        safe = options["spreadsheet"]
        return result, summary, [] if out is None else write_result(result, summary, out, more=more, spreadsheet=safe)


def _refuse_unsafe(out: str | None, options: dict[str, Any]) -> None:
    """Refuse outputs that would replace the user's files, before anything is computed."""
    files = [] if out is None else [Path(out) / name for name in RESULT_FILES]
    if options["report"] is not None:
        files.append(Path(options["report"]))
    if options["digest"] not in (None, "-"):
        from majorant.render.text import is_job_summary

        files += [] if is_job_summary(options["digest"]) else [Path(options["digest"])]
    refuse_unsafe(files)


def _next_command(result: Result, out: str | None) -> str:
    """The command that takes the next step, with the files and flags of this call."""
    from majorant.cli.next_command import repeat_call
    from majorant.decide import Step

    ctx, step = click.get_current_context(), result.answer.next
    if step.step is Step.NOTHING:
        return "" if out is not None else repeat_call(ctx, "check", "--out", "results")
    begun = result.expert is not None and result.expert.kind == "teach"
    if step.step is Step.GO_ON or (step.step is Step.TEACH and begun):
        if step.waiting and (items := _items_to_label(result)) is not None:
            return shlex.join(["majorant", "label", items])
        design = [] if result.design_path is None else ["--design", result.design_path]
        return repeat_call(ctx, "ask", "--more", str(step.labels), *design, without=("gold_file", "design", "out"))
    method = ctx.params["method"]
    named = [] if method is None or step.step is Step.TEACH else ["--between", "majority", result.answer.other]
    return repeat_call(ctx, "ask", "--n", str(step.labels), *named, without=("out", "design"))


def _items_to_label(result: Result) -> str | None:
    """The file of items that lies beside the design, if `majorant label` can fill it in."""
    from majorant.read.tasks import DESIGN_ENDING

    path = Path(str(result.design_path).removesuffix(DESIGN_ENDING) + ".csv")
    return str(path) if path.is_file() else None


def _refuse_elsewhere(engine: EngineChoice, options: dict[str, Any]) -> None:
    """What does not go together, with what to leave out."""
    one_file = (".csv", ".html", ".json", ".parquet")
    if options["out"] is not None and Path(options["out"]).suffix in one_file:
        raise ConfigError(f"--out names a folder, and {options['out']} is one file. The page alone: --report FILE.")
    if options["export"] is not None:
        if options["out"] is None:
            raise ConfigError("--export writes into the folder of --out: name one. Labels alone: majorant aggregate.")
        if engine.flag or options["masked"]:
            raise ConfigError("--export needs all votes and their names: leave out --memory, --engine and --mask.")
    if options["digest"] == "-" and options["as_json"]:
        raise ConfigError("--json and --summary - both print: name a file for the summary.")
    if options["compare"] and engine.flag:
        raise ConfigError(
            f"--compare needs all votes in memory: leave out {engine.flag}, or check a part of the items."
        )
    refuse_together(engine, **options)


def _exit_code(result: Result, fail_on: str, claim: str | None) -> int:
    """1 where what `--fail-on` names holds for the whole or for a slice."""
    from majorant.decide import Action
    from majorant.evidence.certificate.certificate import Verdict
    from majorant.evidence.evidence import Certainty

    answers = [result.answer, *(one.answer for one in result.slices)]
    if fail_on == "switch":
        return int(any(one.action is Action.SWITCH for one in answers))
    if fail_on == "unproved":
        return int(any(one.certainty is not Certainty.PROVED for one in answers))
    found = result.certificate.standing if claim is None else getattr(result.certificate, claim)
    return int(found is not None and found.verdict is Verdict.NOT_OPTIMAL)


def command_line() -> str:
    """The command as it was given, for the record."""
    import sys

    return shlex.join(["majorant", *sys.argv[1:]])
