"""`majorant ask`: which items an expert should label."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.options import (
    Grouped,
    choice_option,
    common_options,
    level_option,
    overwrite_option,
    placed,
    show,
    tolerance_option,
)
from majorant.cli.progress import at_work
from majorant.cli.source import DATASET, EngineChoice, Job, Source, engine_options, input_options
from majorant.defaults import MAJORITY
from majorant.errors import ConfigError, DataError
from majorant.ownership import refuse_unsafe

if TYPE_CHECKING:
    from majorant.ask.design import Design, Recognised
    from majorant.backend import Backend

NAME_LISTS = ("--between", "--race")


class _NameLists(Grouped):
    """A command whose --between and --race take names without commas: --between majority auto."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        from majorant.defaults import WEIGHTED_VOTE
        from majorant.methods import ESTIMATORS

        known, joined, filling = {"auto", WEIGHTED_VOTE, *ESTIMATORS}, list[str](), False
        for word in args:
            first = filling and joined[-1] == "" and not word.startswith("-") and not Path(word).exists()
            filling = filling and (first or set(word.split(",")) <= known)
            if filling:
                joined[-1] = f"{joined[-1]},{word}".strip(",")
            else:
                joined.append(word)
            if word in NAME_LISTS:
                joined.append("")  # --race alone: the usual rules
                filling = True
        return super().parse_args(ctx, joined)


@click.command(cls=_NameLists)
@input_options
@click.option(
    "--between",
    metavar="A B ...",
    help="Which rules to compare, the one in use first; auto: what check would switch to.  [majority auto]",
)
@click.option("--race", metavar="[A B C ...]", help="Find the best of several rules, or of the usual four.")
@click.option("--accuracy", is_flag=True, help="How often the labels of --rule are right; takes hundreds of labels.")
@click.option("--rate", is_flag=True, help="Items drawn at random, to measure a pass rate or win rate: majorant rate.")
@click.option("--rule", default="auto", show_default=True, help="With --accuracy: whose labels.")
@click.option("--n", type=click.IntRange(min=1), help="How many items to ask about now.  [25]")
@click.option("--more", type=click.IntRange(min=1), help="Ask about so many further items of the design.")
@click.option(
    "--design",
    metavar="FILE",
    help="With --more: the design to go on with; with --accuracy: the race before it.",
)
@click.option(
    "--items", metavar="FILE", help="A table with the column item and what to show of each, such as its text."
)
@tolerance_option
@choice_option(
    "--experts",
    "majority",
    "unanimous",
    help="Which label counts where several experts label an item; without one the item counts as skipped.",
)
@choice_option("--tool", "csv", "label-studio", "argilla", "prodigy", help="What the file of items is for.")
@click.option("--out", help="Where the items go, a file or a folder; the design goes beside it.  [to_label.csv]")
@overwrite_option
@engine_options
@level_option
@common_options
def ask(source: Source, engine: EngineChoice, **options: Any) -> None:
    """Which items an expert should label, so that a few labels settle it without any model."""
    from majorant.read.tasks import TASK_ENDINGS, design_path

    if options["rate"] and options["accuracy"]:
        raise ConfigError("--accuracy and --rate are different questions: choose one.")
    if options["more"] is not None and options["design"] is None:
        raise ConfigError("--more goes on with a design: name it with --design to_label.design.json.")
    usual = f"to_label{TASK_ENDINGS[options['tool']]}"
    out = Path(placed(options["out"] or usual, usual))
    if options["more"] is None:
        _refuse_labelled(out)
        refuse_unsafe([out, design_path(out)])
    with engine.backend(Job(source=source, out=str(out))) as backend:
        if options["more"] is not None:
            _more(backend, source, options)
            return
        with at_work("comparing rules", quiet=options["quiet"] or backend.whole is None):
            design = _drawn(backend, options)
    _show(source, design, out, options)


def _drawn(backend: Backend, options: dict[str, Any]) -> Design:
    from majorant.ask.ask import BETWEEN, FIRST_BATCH, ask, usual_race

    wanted = options["n"]
    options = {**options, "n": wanted or FIRST_BATCH}
    how = {name: options[name] for name in ("n", "tolerance", "level", "experts")}
    if options["rate"]:
        from majorant.ask.ask import RATE_BATCH, ask_accuracy

        n = RATE_BATCH if wanted is None else wanted
        return ask_accuracy(backend, MAJORITY, n=n, seed=options["seed"], experts=options["experts"])
    if options["accuracy"]:
        return _accuracy(backend, options)
    between: Sequence[str] = BETWEEN
    if options["race"] is not None:
        between = [name for name in options["race"].split(",") if name] or usual_race(backend)
    elif options["between"]:
        between = options["between"].split(",")
    return ask(backend, between=between, rng=options["seed"], **how)


def _accuracy(backend: Backend, options: dict[str, Any]) -> Design:
    from majorant.ask.ask import ask_accuracy
    from majorant.defaults import WEIGHTED_VOTE
    from majorant.results.rules import AUTO

    after, rule = None, options["rule"]
    if options["design"] is not None:
        recognised = _labelled(backend, options["design"])
        after, rule = (recognised.design, recognised.answers), recognised.outcome.leader if rule == AUTO else rule
    rule = WEIGHTED_VOTE if rule == AUTO else rule
    how = {"level": options["level"], "experts": options["experts"], "seed": options["seed"]}
    return ask_accuracy(backend, rule, n=options["n"], after=after, **how)


def _labelled(backend: Backend, design: str) -> Recognised:
    """A design of these votes, with the labels that stand in the file beside it."""
    from majorant.ask.design import Design, Recognised, recognise
    from majorant.ask.draw import votes_digest
    from majorant.read.tasks import DESIGN_ENDING

    path = Path(design)
    stem = path.name.removesuffix(DESIGN_ENDING)
    beside = [path.with_name(stem + ending) for ending in (".csv", ".json", ".jsonl")]
    labelled = next((file for file in beside if file.is_file()), None)
    recognised = None if labelled is None else recognise(labelled, design=path)
    recognised = recognised or Recognised(Design.read(path), path, ())
    recognised.design.refuse_other_votes(votes_digest(backend))
    return recognised


def _show(source: Source, design: Design, out: Path, options: dict[str, Any]) -> None:
    from majorant.wording import ask_lines

    written = []
    if design.items:
        written = design.write(out, format=options["tool"], columns=_columns(source, design.items, options))
    facts = _facts(design, written, source)
    if options["rate"] and written:
        from majorant.cli.next_command import repeat_call
        from majorant.read.pairs import VERSUS
        from majorant.render.rates import labelling_lines
        from majorant.results.rate_inputs import needs_class

        of_pairs = VERSUS in str(design.order[0])  # win rates need no class
        named = ["--label", str(design.labels[0])] if needs_class(design.labels) and not of_pairs else []
        command = repeat_call(click.get_current_context(), "rate", "--gold-file", str(out), *named)
        lines = labelling_lines(len(design.items), facts["files"], command)
        show({**facts, "question": "rate"}, "\n".join(lines), as_json=options["as_json"])
        return
    show(facts, "\n".join(ask_lines(**facts)), as_json=options["as_json"])


def _refuse_labelled(out: Path) -> None:
    """Refuse to write over labels that somebody gave."""
    from majorant.read.tasks import read_answers

    if not out.is_file():
        return
    with contextlib.suppress(DataError):  # whatever it is, majorant ask did not write it
        if any(answer.label is not None for answer in read_answers(out).answers):
            raise ConfigError(f"{out} holds labels. Go on with --more and --design, or name another file with --out.")


def _more(backend: Backend, source: Source, options: dict[str, Any]) -> None:
    from majorant.read.tasks import DESIGN_ENDING, TASK_ENDINGS
    from majorant.wording import more_lines, outcome_sentence

    recognised = _labelled(backend, options["design"])
    before = len(recognised.design.items)
    longer = recognised.design.after(options["more"], recognised.answers)
    usual = recognised.path.with_name(recognised.path.name.removesuffix(DESIGN_ENDING) + TASK_ENDINGS[options["tool"]])
    file = Path(options["out"] or usual)
    if options["tool"] == "csv" and not file.is_file():
        raise ConfigError(
            f"{file} is not there to add items to: name it with --out, or your labelling tool with --tool."
        )
    columns = _columns(source, longer.items[before:], options)
    written = [file, recognised.path]
    if len(longer.items) > before:
        written = longer.write_more(file, before, design=recognised.path, format=options["tool"], columns=columns)
    facts = {**_facts(longer, written, source), "added": len(longer.items) - before}
    lines = [outcome_sentence(recognised.outcome), *more_lines(facts["added"], facts["files"], facts["votes"])]
    show(facts, "\n".join(lines), as_json=options["as_json"])


def _columns(source: Source, items: Sequence[Any], options: dict[str, Any]) -> dict[str, list[Any]]:
    """What to show of each item: from --items, or from further columns of the votes."""
    from majorant.read.item_columns import ITEMS_ALONE, item_columns
    from majorant.read.options import ReadOptions

    if options["items"] is not None:
        return item_columns(options["items"], items, ReadOptions(**ITEMS_ALONE))
    reading = source.options
    if reading.columns or reading.text == "" or source.file[0] == "-" or source.file[0].startswith(DATASET):
        return {}
    return item_columns(source.files, items, reading)


def _facts(design: Design, written: Sequence[Path], source: Source) -> dict[str, Any]:
    from majorant.wording import in_command

    outcome = design.evaluate({})
    return {
        "question": design.question.kind,
        "rules": list(outcome.rules),
        "items": outcome.n_items,
        "differ": outcome.n_differ,
        "stake": outcome.facts.get("stake"),
        "tolerance": outcome.tolerance,
        "expected": design.expected,
        "asked": len(design.items),
        "labels": [str(label) for label in design.labels],
        "files": [str(path) for path in written],
        "votes": " ".join(map(in_command, source.file)),
    }
