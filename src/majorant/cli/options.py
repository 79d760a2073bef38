"""The options that commands share: how results are shown and how chance is seeded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]


def common_options(command: Command) -> Command:
    """--json, --seed and -q, on every command."""
    for option in (
        click.option("-q", "--quiet", is_flag=True, help="No progress, no notes on the input."),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
        click.option("--json", "as_json", is_flag=True, help="The same facts as JSON."),
    ):
        command = option(command)
    return command


level_option = click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level of intervals and verdicts.",
)

claim_option = click.option(
    "--claim",
    type=click.Choice(["anonymous", "named", "gold"]),
    help="The claim that the exit code is about; else the one that stands: gold where it decides, or anonymous.",
)


def number_list(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    """.5,.5"""
    try:
        return None if value is None else [float(number) for number in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as .5,.5", ctx, param) from None


def number_rows(ctx: click.Context, param: click.Parameter, value: str | None) -> list[list[float]] | None:
    """.8,.2/.3,.7 or, where it is quoted, .8,.2;.3,.7"""
    try:
        rows = [] if value is None else value.replace(";", "/").split("/")
        return None if value is None else [[float(number) for number in row.split(",")] for row in rows]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of rows such as .8,.2/.3,.7", ctx, param) from None


def name_list(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:  # noqa: ARG001
    """no,yes"""
    return None if value is None else value.split(",")
