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
