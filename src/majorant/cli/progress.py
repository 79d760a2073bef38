"""Progress on standard error: where a person watches a terminal, or where a log is wanted."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from time import monotonic
from typing import TYPE_CHECKING

import click

Report = Callable[[str, int, int | None], None]  # what is done, how much of it, out of how much if that is known
LONG = 10.0  # seconds; a run that takes longer says in a log how far it is
SHARE_OF_STAGE = {"counting": 0.02, "comparing": 0.35, "testing": 0.33, "judging": 0.15, "measuring": 0.15}  # 1e5 votes

if TYPE_CHECKING:
    from rich.progress import Progress


@contextlib.contextmanager
def row_counter(*, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """A callback that shows the number of rows read so far, or None where nobody watches."""
    with _spinner("reading {task.completed:>13,.0f} rows", quiet=quiet) as bar:
        yield None if bar is None else lambda rows: bar.update(bar.task_ids[0], completed=rows)


@contextlib.contextmanager
def at_work(what: str, *, quiet: bool) -> Iterator[None]:
    """Show what is being done and for how long, on a terminal."""
    with _spinner(what, quiet=quiet):
        yield


@contextlib.contextmanager
def stages_of_check(*, quiet: bool, logged: bool | None, bar: bool = True) -> Iterator[Callable[[str], None]]:
    """A callback for the stages of `check`: shows each with the share done and the time left.

    On a terminal as a bar, unless another one is there already; else as lines on standard error, if they are `logged`:
    None logs those of a run that has taken LONG, no others.
    """
    start, seen = monotonic(), 0.0
    watched = sys.stderr.isatty() and not logged
    with _spinner("{task.description}", quiet=quiet or not watched or not bar) as shown:

        def tell(stage: str) -> None:
            nonlocal seen
            passed, share = monotonic() - start, seen
            left = f", about {passed * (1 - share) / share:.0f} s left" if share and passed >= 1 else ""
            seen = min(share + SHARE_OF_STAGE[stage], 1.0)
            text = f"{stage} ({100 * share:.0f} % done after {passed:.0f} s{left})"
            if shown is not None:
                shown.update(shown.task_ids[0], description=text)
            elif not quiet and not watched and logged is not False and (logged or passed >= LONG):
                click.echo(f"majorant: {text}", err=True)

        yield tell


@contextlib.contextmanager
def stages(*, quiet: bool) -> Iterator[tuple[Report, Callable[[int, float], None] | None]]:
    """Two callbacks: how far a stage is, shown with its rate and the time left; and which step a fit is at."""
    short = 0.5  # seconds; a pass that takes less is not timed by itself
    if quiet or not sys.stderr.isatty():
        yield _to_nobody, None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    text, rate = "{task.description} {task.fields[count]:>13}", "{task.fields[rate]}"
    columns = (TextColumn(text), BarColumn(), TextColumn(rate), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, at = bar.add_task("", count="", rate=""), {"what": "", "step": ""}

        def report(what: str, done: int, total: int | None) -> None:
            if what != at["what"] or (done < bar.tasks[0].completed and (bar.tasks[0].elapsed or 0) > short):
                at["what"] = what
                bar.reset(task)
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            shown = f"{speed:,.0f} a second" if speed else ""
            described = f"{what}{at['step'] if what == 'passing' else ''}"
            bar.update(task, description=described, completed=done, total=total, count=f"{done:,}", rate=shown)
            if done == total and what != "passing":  # what comes next may count no votes: a full bar would look stuck
                at["what"] = ""
                bar.reset(task, total=None, description=f"{what} done, computing", count="", rate="")

        def progress(step: int, objective: float) -> None:
            at["step"] = f", step {step + 1} ({objective:,.2f})"

        yield report, progress


def _to_nobody(what: str, done: int, total: int | None) -> None:
    """Nobody watches."""


@contextlib.contextmanager
def _spinner(text: str, *, quiet: bool) -> Iterator[Progress | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn(text), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task("", total=None)
        yield bar
