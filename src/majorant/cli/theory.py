"""`majorant theory`: how far majority vote is from optimal for given workers, and votes simulated from them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from majorant.cli.options import Grouped, show, takes
from majorant.cli.simulate import simulate
from majorant.cli.source import Source
from majorant.errors import ConfigError, DataError
from majorant.options import Shown, Theory
from majorant.values import FloatArray


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
    data: str | None,
    plot: str | None,
) -> None:
    """Show how far majority vote is from optimal for given workers or votes, or simulate votes.

    Prints the margin in nats (positive if no rule beats majority vote on any votes), the accuracy of majority vote and
    of the optimal rule, the handicap (the head start of class 0, in votes), and the radius (how far the voters'
    accuracies may differ before majority vote is no longer optimal). With --data, it walks through the paper's
    conditions for a file of votes, with the estimates in place of what is not known.
    """
    if ctx.invoked_subcommand is not None:
        return
    if data is not None:
        if prior is not None or confusion is not None or panel is not None:
            raise ConfigError("--data estimates --prior, --confusion and --panel from the votes; leave them out.")
        _walk(data, plot)
        return
    if prior is None:
        raise ConfigError(
            "Say how frequent the classes are: --prior .6,.4, or give votes: --data votes.csv. To simulate votes: "
            "majorant theory simulate."
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
    if plot is not None:
        matrices = np.asarray(confusion if panel is None else confusions, dtype=float)
        each = matrices if panel is not None else None
        mean = matrices if each is None else each.mean(axis=0)
        names = tuple(labels) if labels is not None else ("class 0", "class 1")
        counts = votes if panel is None else [len(matrices)]
        margin = descriptions[0].margin if panel is not None else None
        _draw(plot, tuple(prior), mean, counts, names, each, margin)
    show(summary, [text], quiet=[text])


def _draw(
    path: str,
    prior: tuple[float, ...],
    confusion: FloatArray,
    n_votes: Sequence[int],
    labels: tuple[Any, ...],
    voters: FloatArray | None,
    margin: float | None,
) -> None:
    """Write the picture of a two-class model."""
    from majorant.output import write_files
    from majorant.render.figures.theory import Drawn, check_format, draw_theory

    ending = check_format(path)
    if len(prior) != 2:
        raise ConfigError(f"--plot is for two classes; there are {len(prior)}.")
    names = (str(labels[0]), str(labels[1]))
    drawn = Drawn(prior=prior, confusion=confusion, n_votes=n_votes, labels=names, voters=voters, margin=margin)
    write_files({Path(path): draw_theory(drawn, ending)})


def _walk(source: str, plot: str | None) -> None:
    """Walk through the paper's flow chart for a file of votes."""
    from majorant.evidence.certificate.claims import certification
    from majorant.evidence.certificate.radius import error_radius
    from majorant.read.options import ReadOptions
    from majorant.render.certificate import certificate_summary
    from majorant.render.walk import walk_facts, walk_steps, walk_text
    from majorant.theory.paper import theorem_3_5_within

    votes = Source((source,), ReadOptions()).read()
    found = certification(votes, rng=0)
    certificate, checks, radius = found.certificate, {}, None
    optimality = certificate.optimality
    if optimality is not None and len(optimality.labels) == 2 and not optimality.by_worker:
        radius = error_radius(votes)
        within = {"prior_radius": radius.prior_radius, "confusion_radius": radius.confusion_radius}
        sizes = [one.n_votes for one in optimality.by_votes]
        checks = {h: theorem_3_5_within(optimality.prior, optimality.confusion, h, **within) for h in sizes}
    if plot is not None and optimality is not None:
        voters = found.fit.confusion if optimality.by_worker and found.fit is not None else None
        common = sorted(optimality.by_votes, key=lambda one: -one.share)[:3]
        sizes = sorted(one.n_votes for one in common)
        margin = min(one.margin for one in common) if optimality.by_worker else None
        _draw(plot, optimality.prior, np.array(optimality.confusion), sizes, optimality.labels, voters, margin)
    steps = walk_steps(certificate, radius, checks)
    text = walk_text(steps)
    show({**walk_facts(steps, radius, checks), "certificate": certificate_summary(certificate)}, [text], quiet=[text])


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
