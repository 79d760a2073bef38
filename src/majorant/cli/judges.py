"""`majorant judges`: compare judges with gold labels."""

from __future__ import annotations

import click
from click.core import ParameterSource

from majorant.cli.options import Grouped, level_option, share_option, show, shown_options
from majorant.cli.source import Source, input_options


@click.command(cls=Grouped)
@input_options
@share_option("--bar", 0.9, "Accuracy that the gate requires; if you set it, exit with 1 unless a judge meets it.")
@click.option(
    "--position",
    metavar="COLUMN",
    help="For pairs judged in both orders: column that says which one came first (order and swapped are detected).",
)
@level_option
@shown_options
def judges(source: Source, bar: float, position: str | None, level: float) -> None:
    """Rate judges against gold labels: which to keep, and are any good enough to gate on?"""
    from majorant.render.judges import judges_facts, judges_lines
    from majorant.results.judges import Gate
    from majorant.results.judges import judges as judge
    from majorant.results.positions import find_position

    columns = {name: getattr(source.options, name) for name in ("item", "worker", "label", "gold_file")}
    if position is None and not source.is_dataset:
        position = find_position(source.files, columns)
    if position is None:
        judged = judge(source.read(), bar=bar, level=level)
    else:
        judged = judge(source.files, bar=bar, level=level, position=position, **columns)
    lines = judges_lines(judged)
    if judged.gate in (Gate.NO_GOLD, Gate.OPEN):
        from majorant.cli.next_command import repeat_call
        from majorant.read.tasks import design_path

        path = None if source.options.gold_file is None else design_path(str(source.options.gold_file))
        design = () if path is None or not path.is_file() else ("--design", str(path))
        drawn = ("--rate", "--more", "30", *design) if design else ("--n", "30")  # extend the random sample
        command = repeat_call(click.get_current_context(), "ask", *drawn, without=("gold", "gold_file"))
        lines += ["Next     Label 30 random items: they measure every judge.", f"         {command}"]
    show(judges_facts(judged), lines, quiet=lines[:1])
    asked = click.get_current_context().get_parameter_source("bar") is not ParameterSource.DEFAULT
    if asked and judged.gate is not Gate.MET:
        raise SystemExit(1)
