"""`majorant check`: the answer, the labels and all results of one table."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.aggregate import EXPORT_ENDINGS, export_text
from majorant.cli.options import Grouped, emphasised, prints_json, show, takes
from majorant.cli.progress import stages_of_check
from majorant.cli.source import Engine, Source, engine_options, input_options
from majorant.defaults import RESULT_FILES
from majorant.errors import ConfigError
from majorant.options import Check, Claim, Common, Overwrite, Seed, Shown, Spreadsheet, Tolerance
from majorant.ownership import refuse_unsafe

if TYPE_CHECKING:
    from majorant.ask.design import Recognised
    from majorant.results.result import Result


@click.command(cls=Grouped)
@input_options
@takes(Check, Spreadsheet, Overwrite, Tolerance)
@engine_options
@takes(Claim, Common, Seed, Shown)
def check(source: Source, engine: Engine, by: str | None, out: str | None, **options: Any) -> None:
    """Decide whether to keep majority vote or switch to another rule, and get the best labels.

    \b
    Exit codes: 0 success, 1 --fail-on applies, 2 bad arguments or input, 130 interrupted
    """
    how = {"rng": options["seed"], **{name: options[name] for name in ("level", "method", "tolerance", "target")}}
    how |= {"compare": options["compare"], "gold_labels": not options["no_gold_labels"]}
    digest, page = options["digest"], options["report"]
    _refuse_together(engine, out, options)
    from majorant.output import is_job_summary, write_summary

    pages = [Path(name) for name in (page, digest) if name not in (None, "-") and not is_job_summary(name)]
    refuse_unsafe([*pages, *(Path(out) / name for name in RESULT_FILES if out is not None)])
    source, labelled = _recognise(source, options)
    beside = None if out is None else str(Path(out) / "labels.csv")
    with engine.open(source, out=beside, by=by, masked=options["masked"]) as votes:
        from majorant.pipeline import check
        from majorant.render.answer import headline
        from majorant.render.files import write_result
        from majorant.render.html import write_report
        from majorant.render.summary import result_summary
        from majorant.render.text import answer_text, check_text, markdown

        with stages_of_check(logged=options["log_progress"]) as stage:
            result = check(votes, labelled=labelled, stage=stage, **how)
            then = _next_command(result, out)
            details = out is not None or page is not None or prints_json() or options["verbose"]
            summary = result_summary(
                result,
                command=shlex.join(["majorant", *sys.argv[1:]]),
                next_command=then,
                seed=options["seed"],
                details=details or options["fail_on"] == "not-optimal",
            )
        written = []
        if out is not None:
            more = _export(result, source, out, options["export"])
            written = write_result(result, summary, out, more=more, spreadsheet=options["spreadsheet"])
    if page is not None:
        written.append(write_report(summary, page))
    if digest == "-":
        click.echo(markdown(result, command=then), nl=False)
    else:
        if digest is not None:
            written.append(write_summary(markdown(result, command=then), digest))
        text = (check_text if options["verbose"] else answer_text)(result, command=then, written=written)
        action = result.answer.action
        show(summary, [emphasised(text, action)], quiet=[emphasised(headline(result), action)])
    if options["fail_on"] is not None:
        raise SystemExit(_exit_code(result, options["fail_on"], options["claim"]))


def _recognise(source: Source, options: dict[str, Any]) -> tuple[Source, Recognised | None]:
    """If the gold file holds labels for a `majorant ask` design, use them as such rather than as gold labels."""
    if source.options.gold_file is None:
        return source, None
    from majorant.ask.design import recognise

    labelled = recognise(source.options.gold_file, design=options["design"])
    if labelled is not None and options["masked"]:
        raise ConfigError("--mask hides the names that match expert labels to their items: leave it out.")
    if labelled is not None and not labelled.sample:
        source = replace(source, options=replace(source.options, gold_file=None))
    return source, labelled


def _export(result: Result, source: Source, out: str, tool: str | None) -> dict[Path, str]:
    """The file that a labelling tool imports, if one was asked for."""
    from majorant.render.files import labels_of

    if tool is None:
        return {}
    labels = list(result.labels.fit.label_values)
    text = export_text(tool, labels_of(result), labels, result.votes, source)
    return {Path(out) / f"labels-for-{tool}{EXPORT_ENDINGS[tool]}": text}


def _next_command(result: Result, out: str | None) -> str:
    """The command for the next step, with the same files and flags as this one."""
    from majorant.ask.ask import usual_question
    from majorant.cli.next_command import repeat_call
    from majorant.decide import Step
    from majorant.defaults import MAJORITY, WEIGHTED_VOTE

    ctx, step = click.get_current_context(), result.answer.next
    if step.step is Step.NOTHING:
        return "" if out is not None else repeat_call(ctx, "check", "--out", "results")
    begun = result.expert is not None and result.expert.kind == "teach"
    if step.step is Step.GO_ON or (step.step is Step.TEACH and begun):
        if step.waiting and (items := _items_to_label(result)) is not None:
            return shlex.join(["majorant", "label", items])
        design = [] if result.design_path is None else ["--design", result.design_path]
        return repeat_call(ctx, "ask", "--more", str(step.labels), *design, without=("gold_file", "design", "out"))
    named = [] if step.question == usual_question(result.votes, result.setting) else ["--teach"]
    if step.between and (step.between != (MAJORITY, WEIGHTED_VOTE) or named):
        named = ["--between", *step.between]
    n = [] if step.step is Step.TEACH else ["--n", str(step.labels)]  # `ask` draws the first ten that teach
    return repeat_call(ctx, "ask", *n, *named, without=("out", "design"))


def _items_to_label(result: Result) -> str | None:
    """The file of items beside the design, if `majorant label` can fill it in."""
    from majorant.read.tasks import DESIGN_ENDING

    path = Path(str(result.design_path).removesuffix(DESIGN_ENDING) + ".csv")
    return str(path) if path.is_file() else None


def _refuse_together(engine: Engine, out: str | None, options: dict[str, Any]) -> None:
    """Refuse options that contradict each other."""
    if out is not None and Path(out).suffix in (".csv", ".html", ".json", ".parquet"):
        raise ConfigError(f"--out takes a folder, and {out} is a file. To write only the report, use --report FILE.")
    if options["digest"] == "-" and prints_json():
        raise ConfigError("--json and --summary - cannot both print: name a file for the summary.")
    if options["export"] is not None and out is None:
        raise ConfigError("--export needs a folder: add --out DIR. To write only the labels, use majorant aggregate.")
    if options["export"] is not None and (engine.flag or options["masked"]):
        raise ConfigError("--export needs all votes and their names: leave out --memory, --engine and --mask.")
    if options["compare"] and engine.flag:
        raise ConfigError(
            f"--compare needs all votes in memory: leave out {engine.flag}, or check only some of the items."
        )


def _exit_code(result: Result, fail_on: str, claim: str | None) -> int:
    """1 if the condition of `--fail-on` holds for all items or for a slice, else 0."""
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
