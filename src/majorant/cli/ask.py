"""`majorant ask`: which items an expert should label."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.options import Grouped, placed, show, takes
from majorant.cli.progress import at_work
from majorant.cli.source import DATASET, Engine, Source, engine_options, input_options
from majorant.errors import ConfigError, DataError
from majorant.options import Ask, Common, Overwrite, Seed, Shown, Tolerance
from majorant.ownership import is_human_input, refuse_unsafe

if TYPE_CHECKING:
    from majorant.ask.design import Design, Recognised
    from majorant.votes import Votes


class _NameLists(Grouped):
    """A command whose --between and --race accept names separated by spaces: --between majority gpt-4o."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        name_lists = ("--between", "--race")
        joined, filling = list[str](), False
        for word in args:
            filling = filling and not (word.startswith("-") or _is_source(word))
            if filling:
                joined[-1] = f"{joined[-1]},{word}".strip(",")
            else:
                joined.append(word)
            if word in name_lists:
                joined.append("")  # --race alone: the usual rules
                filling = True
        return super().parse_args(ctx, joined)


def _is_source(word: str) -> bool:
    """Whether a word names votes rather than a rule."""
    return word.startswith(DATASET) or "*" in word or Path(word).exists()


@click.command(cls=_NameLists)
@input_options
@takes(Ask, Tolerance, Overwrite)
@engine_options
@takes(Common, Seed, Shown)
def ask(source: Source, engine: Engine, **options: Any) -> None:
    """Choose which items an expert should label, so that a few labels settle which rule is better."""
    from majorant.read.tasks import TASK_ENDINGS, design_path

    if options["rate"] and options["draw"] not in (None, "random"):
        raise ConfigError("--rate measures, so it draws at random: leave out --draw.")
    questions = [
        flag
        for flag in ("teach", "between", "race", "accuracy", "rate", "question")
        if options[flag] not in (None, False)
    ]
    if len(questions) > 1:
        raise ConfigError(f"--{questions[0]} and --{questions[1]} are different questions: choose one.")
    if options["more"] is not None and options["design"] is None:
        raise ConfigError("--more continues a design: name it, such as --design to_label.design.json.")
    if options["design"] is not None and options["more"] is None:
        raise ConfigError("--design continues a design: say how many items to add, such as --more 10.")
    usual = f"to_label{TASK_ENDINGS[options['tool']]}"
    out = Path(placed(options["out"] or usual, usual))
    if options["more"] is None:
        if options["out"] is not None:
            _refuse_labelled(out)
        refuse_unsafe(file for file in (out, design_path(out)) if not is_human_input(file))
    gold_file = source.options.gold_file
    if options["more"] is not None:  # the file holds labels of the design, not gold labels
        source = replace(source, options=replace(source.options, gold_file=None))
    substitute = _Substitute.of(options["expert_from"], source)
    with engine.open(substitute.source, out=str(out)) as votes:
        if options["more"] is not None:
            _more(votes, source, gold_file, options)
            return
        with at_work("comparing rules"):
            design, labels = substitute.answer(votes, options)
    _show(source, replace(design, call=_call()), out, labels, options)


@dataclass(frozen=True, slots=True)
class _Substitute:
    """Who stands in for the expert, and the votes to read for that."""

    name: str | None
    source: Source
    file: bool = False

    @classmethod
    def of(cls, name: str | None, source: Source) -> _Substitute:
        """The stand-in by its name: a file, or a column or worker of the votes."""
        if name is None or Path(name).is_file():
            return cls(name, source, file=name is not None)
        columns = _column_names(source)
        if name in columns:
            return cls(name, replace(source, options=replace(source.options, gold=name)))
        return cls(name, source)

    def answer(self, votes: Votes, options: dict[str, Any]) -> tuple[Design, dict[Any, Any]]:
        """The design, and the labels that are known already."""
        from majorant.ask.expert import answer_design, labels_of_worker, without_worker

        if self.name is None:
            return _drawn(votes, options), {}
        worker = None
        if self.file:
            label_of = _labels_in(self.name)
        elif self.source.options.gold == self.name and votes.gold_i is not None:
            known = [(item, k) for item, k in zip(votes.items, votes.gold_i, strict=True) if k >= 0]
            label_of = {str(item): votes.labels[k] for item, k in known}
        else:
            label_of, worker = labels_of_worker(votes, self.name), self.name
            votes = without_worker(votes, self.name)
        n_items = votes.shape[0]
        if len(label_of) < 0.5 * n_items:
            raise ConfigError(
                f"{self.name} labels {len(label_of):,} of {n_items:,} items, and a substitute for an expert must "
                "know most of them. Use these labels as they are: check with --gold or --gold-file."
            )
        votes = replace(votes, gold_i=None)  # the substitute alone says what is true
        design = replace(_drawn(votes, {**options, "n": options["n"] or 10}), truth=self.name, judged_by=worker)
        return answer_design(design, label_of, most=max(options["n"] or 0, 200))


def _labels_in(file: str) -> dict[str, Any]:
    """The labels of a file by item."""
    from majorant.read.gold import load_gold
    from majorant.read.options import ReadOptions

    found = load_gold(file, ReadOptions().for_gold())
    return {str(item): label for item, label in zip(found.items, found.values, strict=True)}


def _column_names(source: Source) -> Sequence[str]:
    """The columns of a table of votes that do not belong to a worker."""
    from majorant.read.preview import preview

    if not source.is_on_disk:
        return ()
    looked = preview(source.file[0])
    return [name for name in looked.names if name not in looked.workers]


def _call() -> tuple[str, ...]:
    """The files and flags that the votes were read with, so that they can be read again."""
    from majorant.cli.next_command import repeat_call

    not_of_votes = (
        *(
            "teach",
            "draw",
            "between",
            "race",
            "accuracy",
            "rate",
            "question",
            "rule",
            "n",
            "more",
            "design",
            "expert_from",
        ),
        *("tolerance", "experts", "tool", "by", "out", "overwrite", "gold_file", "level", "seed", "as_json", "quiet"),
        "verbose",
    )
    ctx = click.get_current_context()
    return tuple(shlex.split(repeat_call(ctx, "ask", without=not_of_votes))[2:])


def _check_command(files: Sequence[str]) -> str:
    """The command that uses the labels: those of the filled-in file, or those that a tool exports."""
    from majorant.cli.next_command import repeat_call

    ctx, out_of_place = click.get_current_context(), ("gold_file", "out", "design", "method", "overwrite")
    if files and files[0].endswith(".csv"):
        return repeat_call(ctx, "check", "--gold-file", files[0], without=out_of_place)
    design = files[-1] if files else "to_label.design.json"
    return repeat_call(ctx, "check", "--gold-file", "EXPORT", "--design", design, without=out_of_place)


def _drawn(votes: Votes, options: dict[str, Any]) -> Design:
    from majorant.ask.ask import RATE_BATCH, ask, usual_race
    from majorant.ask.question import TEACH

    how = {name: options[name] for name in ("n", "draw", "tolerance", "level", "experts")}
    if options["question"] is not None:
        return ask(votes, question=options["question"], rng=options["seed"], **how)
    if options["accuracy"]:
        return ask(votes, question="accuracy", between=[options["rule"]], rng=options["seed"], **how)
    if options["rate"]:
        votes = replace(votes, gold_i=None)  # gold labels would replace the random sample
    if options["teach"] or options["rate"]:
        if options["rate"]:
            how |= {"n": options["n"] or RATE_BATCH, "draw": "random"}
        return ask(votes, question=TEACH, rng=options["seed"], **how)
    between: Sequence[str] | None = None
    if options["race"] is not None:
        between = [name for name in options["race"].split(",") if name] or usual_race(votes)
    elif options["between"]:
        between = options["between"].split(",")
    return ask(votes, between=between, rng=options["seed"], **how)


def _labelled(votes: Votes, design: str, labels: Any = None) -> Recognised:
    """A design of these votes, with the labels of a file (by default, the one beside it)."""
    from majorant.ask.design import Design, Recognised, recognise
    from majorant.ask.draw import votes_digest
    from majorant.ask.expert import votes_of_design
    from majorant.read.tasks import DESIGN_ENDING

    path = Path(design)
    stem = path.name.removesuffix(DESIGN_ENDING)
    beside = [path.with_name(stem + ending) for ending in (".csv", ".json", ".jsonl")]
    labelled = labels or next((file for file in beside if file.is_file()), None)
    recognised = None if labelled is None else recognise(labelled, design=path)
    recognised = recognised or Recognised(Design.read(path), path, ())
    recognised.design.refuse_other_votes(votes_digest(votes_of_design(recognised.design, votes)))
    return recognised


def _show(source: Source, design: Design, out: Path, labels: dict[Any, Any], options: dict[str, Any]) -> None:
    from majorant.render.ask import ask_lines, substitute_lines

    written = []
    if design.items:
        columns = _columns(source, design.items, options)
        how = {"format": options["tool"], "columns": columns, "labels": labels}
        written = design.write(out, **how, next_name=options["out"] is None)
    facts = _facts(design, written)
    if labels:
        lines = substitute_lines(design.evaluate(labels), facts["files"], facts["check"])
        show(facts, lines, quiet=lines)
        return
    if options["rate"] and written:
        from majorant.cli.next_command import repeat_call
        from majorant.read.pairs import VERSUS
        from majorant.render.rates import labelling_lines
        from majorant.results.rate_inputs import needs_class

        of_pairs = VERSUS in str(design.order[0])  # win rates need no class
        named = ["--label", str(design.labels[0])] if needs_class(design.labels) and not of_pairs else []
        command = repeat_call(click.get_current_context(), "rate", "--gold-file", str(out), *named)
        lines = labelling_lines(len(design.items), facts["files"], command)
        show({**facts, "question": "rate"}, lines, quiet=lines)
        return
    lines = ask_lines(facts, facts["check"], design.evaluate({}).learned)
    show(facts, lines, quiet=lines)


def _refuse_labelled(out: Path) -> None:
    """Refuse to overwrite labels, before anything is computed."""
    from majorant.read.tasks import read_answers

    if not out.is_file():
        return
    with contextlib.suppress(DataError):  # not a file that majorant ask wrote
        if any(answer.label is not None for answer in read_answers(out).answers):
            raise ConfigError(f"{out} holds labels. Add items with --more and --design, or choose another --out.")


def _more(votes: Votes, source: Source, gold_file: Any, options: dict[str, Any]) -> None:
    from majorant.read.tasks import DESIGN_ENDING, TASK_ENDINGS
    from majorant.render.ask import more_lines, outcome_sentence

    recognised = _labelled(votes, options["design"], gold_file)
    before = len(recognised.design.items)
    longer = recognised.design.after(options["more"], recognised.answers, at_random=options["rate"])
    usual = recognised.path.with_name(recognised.path.name.removesuffix(DESIGN_ENDING) + TASK_ENDINGS[options["tool"]])
    file = Path(options["out"] or usual)
    if options["tool"] == "csv" and not file.is_file():
        raise ConfigError(
            f"{file} does not exist, so no items can be added to it: name the file with --out, or your labelling tool "
            "with --tool."
        )
    columns = _columns(source, longer.items[before:], options)
    written = [file, recognised.path]
    if len(longer.items) > before:
        written = longer.write_more(file, before, design=recognised.path, format=options["tool"], columns=columns)
    facts = {**_facts(longer, written), "added": len(longer.items) - before}
    lines = [outcome_sentence(recognised.outcome), *more_lines(facts["added"], facts["files"], facts["check"])]
    show(facts, lines, quiet=lines)


def _columns(source: Source, items: Sequence[Any], options: dict[str, Any]) -> dict[str, list[Any]]:
    """What to show the expert for each item: from --items, or from other columns of the votes."""
    from majorant.read.item_columns import ITEMS_ALONE, item_columns
    from majorant.read.options import ReadOptions

    if options["items"] is not None:
        return item_columns(options["items"], items, ReadOptions(**ITEMS_ALONE))
    reading = source.options
    if reading.columns or reading.text == "" or not source.is_on_disk:
        return {}
    return item_columns(source.files, items, reading)


def _facts(design: Design, written: Sequence[Path]) -> dict[str, Any]:
    outcome = design.evaluate({})
    files = [str(path) for path in written]
    return {
        "question": design.question.kind,
        "draw": getattr(design.question, "draw", "random"),
        "rules": list(outcome.rules),
        "items": outcome.n_items,
        "differ": outcome.n_differ,
        "stake": outcome.stake,
        "ties": outcome.tied,
        "tolerance": outcome.tolerance,
        "expected": design.expected,
        "asked": len(design.items),
        "labels": [str(label) for label in design.labels],
        "files": files,
        "check": _check_command(files),
    }
