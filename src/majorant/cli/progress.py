"""Progress on standard error: a live display in a terminal, log lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from time import monotonic

import click

from majorant.cli.options import is_quiet

Report = Callable[[str, int, int | None], None]  # what is being done, how much is done, and the total if known
LONG = 10.0  # seconds after which a run without a terminal logs its progress
SHARE_OF_STAGE = {"counting": 0.02, "comparing": 0.35, "testing": 0.33, "judging": 0.15, "measuring": 0.15}  # 1e5 votes


def _is_watched() -> bool:
    return sys.stderr.isatty() and not is_quiet()


@contextlib.contextmanager
def at_work(what: str, *, shown: bool = True) -> Iterator[Callable[[str], None] | None]:
    """Show a spinner and the elapsed time; yields a function that changes the text, or None without a terminal."""
    if not shown or not _is_watched():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda text: bar.update(task, description=text)


@contextlib.contextmanager
def stages_of_check(*, logged: bool | None, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Yield a function that announces a stage of `check`, with the share done and the estimated time left.

    Without a terminal it logs lines: always if `logged` is true, never if it is false, else after LONG seconds.
    """
    start, seen = monotonic(), 0.0
    with at_work("", shown=shown and not logged) as change_text:

        def announce(stage: str) -> None:
            nonlocal seen
            passed, share = monotonic() - start, seen
            left = f", about {passed * (1 - share) / share:.0f} s left" if share and passed >= 1 else ""
            seen = min(share + SHARE_OF_STAGE[stage], 1.0)
            text = f"{stage} ({100 * share:.0f} % done after {passed:.0f} s{left})"
            if change_text is not None:
                change_text(text)
            elif (logged or (logged is None and passed >= LONG and not sys.stderr.isatty())) and not is_quiet():
                click.echo(f"majorant: {text}", err=True)

        yield announce


@contextlib.contextmanager
def stages() -> Iterator[Report]:
    """Yield a function that shows the progress of a step."""
    if not _is_watched():
        yield lambda what, done, total: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    text, rate = "{task.description} {task.fields[count]:>13}", "{task.fields[rate]}"
    columns = (TextColumn(text), BarColumn(), TextColumn(rate), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, current = bar.add_task("", count="", rate=""), ""

        def report(what: str, done: int, total: int | None) -> None:
            nonlocal current
            if what != current:
                current = what
                bar.reset(task)
            speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
            per_second = f"{speed:,.0f} a second" if speed else ""
            bar.update(task, description=what, completed=done, total=total, count=f"{done:,}", rate=per_second)
            if done == total:  # the next step may report nothing: a full bar would look stuck
                current = ""
                bar.reset(task, total=None, description=f"{what} done, computing", count="", rate="")

        yield report
