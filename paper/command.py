"""`python -m paper`: reproduce the tables and figures of the paper."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from majorant.cli.options import is_quiet, prints_json, takes
from majorant.options import Seed, Shown

if TYPE_CHECKING:
    from paper.store import Finished

EXIT_UNEXPLAINED = 1


@click.command()
@click.argument("names", nargs=-1, metavar="[all | NAME...]")
@click.option("--out", metavar="DIR", default="paper-out", show_default=True, help="Where the files go.")
@click.option("--quick", is_flag=True, help="Fewer draws and coarser grids: under a minute.")
@click.option("--list", "only_list", is_flag=True, help="Name the tables and figures, and stop.")
@takes(Seed, Shown)
def reproduce(names: tuple[str, ...], out: str, quick: bool, only_list: bool, seed: int) -> None:
    """Reproduce the tables and figures of the paper, and compare them with the printed ones.

    NAME is an item from --list or a common prefix: figure3 means 3a to 3f.  Finished items are kept in DIR and reused
    unless their inputs have changed.  Exits with 1 if a cell is unexplained, or if a complete run writes another
    reproduction.md than the one in paper/.
    """
    from majorant.render.plain import to_json
    from paper.registry import chosen
    from paper.run import is_complete, stale_lines, summary
    from paper.run import reproduce as run

    wanted = chosen(names)
    if only_list:
        click.echo("".join(f"{item.name:<20}{item.title}\n" for item in wanted), nl=False)
        return
    with items_bar([item.name for item in wanted]) as progress:
        done = run(names, out, quick=quick, rng=seed, progress=progress)
    facts = summary(done)
    if prints_json():
        click.echo(to_json(facts), nl=False)
    elif not is_quiet():
        click.echo("".join(f"{_line(one)}\n" for one in done), nl=False)
        counted = ", ".join(f"{count} {mark}" for mark, count in facts["marks"].items() if count)
        click.echo(f"\nCells    {counted}.")
        if facts["missing"]:
            click.echo(f"Missing  {', '.join(facts['missing'])}: get them with  majorant data get NAME")
        click.echo(f"Wrote    {Path(out) / 'index.html'}")
    stale = stale_lines(Path(out)) if is_complete(done) else []
    if stale:
        click.echo("paper/reproduction.md is not what this run wrote; copy it:\n" + "\n".join(stale), err=True)
    if facts["marks"]["unexplained"] or stale:
        raise SystemExit(EXIT_UNEXPLAINED)


@contextlib.contextmanager
def items_bar(names: Sequence[str]) -> Iterator[Callable[[str, float], None]]:
    """A progress callback for a list of items, which takes the name of an item and the share that is done."""
    if is_quiet() or not sys.stderr.isatty():
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


def _line(one: Finished) -> str:
    marks = [cell.mark for cell in one.outcome.cells]
    counted = ", ".join(f"{marks.count(mark)} {mark}" for mark in dict.fromkeys(marks))
    missing = f"; without {', '.join(one.outcome.missing)}" if one.outcome.missing else ""
    return f"{one.name:<20}{counted or 'a figure'}{missing}"
