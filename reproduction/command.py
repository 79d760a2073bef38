"""`python -m reproduction`: the tables and figures of the paper, with what is printed beside what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from majorant.cli.options import common_options

if TYPE_CHECKING:
    from reproduction.store import Finished

EXIT_UNEXPLAINED = 1


@click.command()
@click.argument("names", nargs=-1, metavar="[all | NAME...]")
@click.option("--out", metavar="DIR", default="paper-out", show_default=True, help="Where the files go.")
@click.option("--quick", is_flag=True, help="Fewer draws and coarser grids: under a minute.")
@click.option("--list", "only_list", is_flag=True, help="Name the tables and figures, and stop.")
@common_options
def reproduce(
    names: tuple[str, ...], out: str, quick: bool, only_list: bool, seed: int, as_json: bool, quiet: bool
) -> None:
    """Make the tables and figures of the paper again, and show what is printed beside what comes out.

    NAME is one of those that --list names, or the beginning of several: figure3 means 3a to 3f.  Finished items are
    kept in DIR and used again unless what they were made from has changed.
    """
    from majorant.report.text import to_json
    from reproduction.registry import chosen
    from reproduction.run import reproduce as run
    from reproduction.run import summary

    wanted = chosen(names)
    if only_list:
        click.echo("".join(f"{item.name:<20}{item.title}\n" for item in wanted), nl=False)
        return
    from majorant.cli.progress import items_bar

    with items_bar([item.name for item in wanted], quiet=quiet) as progress:
        done = run(names, out, quick=quick, rng=seed, progress=progress)
    facts = summary(done)
    if as_json:
        click.echo(to_json(facts), nl=False)
    elif not quiet:
        click.echo("".join(f"{_line(one)}\n" for one in done), nl=False)
        counted = ", ".join(f"{count} {mark}" for mark, count in facts["marks"].items() if count)
        click.echo(f"\nCells    {counted}.")
        if facts["missing"]:
            click.echo(f"Missing  {', '.join(facts['missing'])}: get them with  majorant data get NAME")
        click.echo(f"Wrote    {Path(out) / 'index.html'}")
    if facts["marks"]["unexplained"]:
        raise SystemExit(EXIT_UNEXPLAINED)


def _line(one: Finished) -> str:
    marks = [cell.mark for cell in one.outcome.cells]
    counted = ", ".join(f"{marks.count(mark)} {mark}" for mark in dict.fromkeys(marks))
    missing = f"; without {', '.join(one.outcome.missing)}" if one.outcome.missing else ""
    return f"{one.name:<20}{counted or 'a figure'}{missing}"
