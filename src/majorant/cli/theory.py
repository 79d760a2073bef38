"""`majorant theory`: how far majority vote is from optimal for given workers, and votes simulated from them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from majorant.cli.options import Grouped, show, takes
from majorant.cli.simulate import simulate
from majorant.errors import ConfigError, DataError
from majorant.options import Shown, Theory


class _Theory(Grouped, click.Group):
    """A command with options of its own, and the subcommand simulate."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group(cls=_Theory, invoke_without_command=True)
@takes(Theory, Shown)
@click.pass_context
def theory(
    ctx: click.Context,
    prior: list[float] | None,
    confusion: list[list[float]] | None,
    panel: str | None,
    votes: list[int],
    ties: str,
    labels: list[str] | None,
) -> None:
    """Show how far majority vote is from optimal for given workers, or simulate their votes.

    Prints the margin in nats (positive if no rule beats majority vote on any votes), the accuracy of majority vote and
    of the optimal rule, the handicap (the head start of class 0, in votes), and the radius (how far the voters'
    accuracies may differ before majority vote is no longer optimal).
    """
    if ctx.invoked_subcommand is not None:
        return
    if prior is None:
        raise ConfigError(
            "Say how frequent the classes are: --prior .6,.4. To simulate votes: majorant theory simulate."
        )
    from majorant.render.theory import theory_summary, theory_text
    from majorant.theory import describe, describe_panel, optimal_votes

    if labels is not None and len(labels) != len(prior):
        raise ConfigError(f"--labels names {len(labels)} classes, --prior lists {len(prior)}.")
    if (confusion is None) == (panel is None):
        raise ConfigError("Say how the voters vote: either --confusion (shared by all) or --panel (one each).")
    voters, spans = None, None
    if panel is not None:
        voters, confusions = _read_panel(panel)
        descriptions = [describe_panel(prior, confusions, ties)]
    else:
        descriptions = [describe(prior, confusion or [], n_votes, ties) for n_votes in votes]
        spans = optimal_votes(prior, confusion or []) if len(prior) == 2 else None
    summary = theory_summary(prior, descriptions, ties, labels=labels, voters=voters, optimal_votes=spans)
    text = theory_text(summary)
    show(summary, [text], quiet=[text])


theory.add_command(simulate)


def _read_panel(source: str) -> tuple[list[str] | None, Any]:
    """The voters' names, if given, and their confusion matrices."""
    from majorant.ownership import note_input

    longest_panel = 100_000_000  # characters of JSON on standard input
    note_input(source)
    try:
        panel = json.loads(sys.stdin.read(longest_panel) if source == "-" else Path(source).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{source}: cannot be read ({error.strerror}). Check the name.") from None
    except (ValueError, RecursionError):
        raise DataError(f"{source}: not JSON. Give a list of matrices such as [[[.8,.2],[.3,.7]], ...].") from None
    if isinstance(panel, dict):
        return list(panel), list(panel.values())
    return None, panel
