"""Progress on standard error, only where a person watches a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


@contextlib.contextmanager
def row_counter(*, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """A callback that shows the number of rows read so far, or None where nobody watches."""
    with _spinner("reading {task.completed:>13,.0f} rows", quiet=quiet) as bar:
        yield None if bar is None else lambda rows: bar.update(bar.task_ids[0], completed=rows)


@contextlib.contextmanager
def at_work(what: str, *, quiet: bool) -> Iterator[None]:
    """Say what takes its time, with the time it has taken, where somebody watches."""
    with _spinner(what, quiet=quiet):
        yield


@contextlib.contextmanager
def items_bar(names: Sequence[str], *, quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """A callback that shows how far a list of items is, given the name of one and the share of it that is done."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=len(names))

        def show(name: str, share: float) -> None:
            at = names.index(name)
            bar.update(task, completed=at + share, description=f"{name} ({at + 1} of {len(names)})")

        yield show


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
