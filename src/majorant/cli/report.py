"""`majorant report`: the report of a saved result."""

from __future__ import annotations

import click

from majorant.cli.options import Grouped, placed, show, takes
from majorant.options import Overwrite, Report, Shown


@click.command(cls=Grouped)
@click.argument("result", metavar="RESULT.json", type=click.Path())
@takes(Report, Overwrite, Shown)
def report(result: str, out: str) -> None:
    """Rebuild the report of a saved result."""
    from pathlib import Path

    from majorant.output import write_files
    from majorant.ownership import sealed
    from majorant.render.files import foreign_files, mixed_set, read_summary, render_saved

    out = placed(out, "report.html")
    summary = read_summary(result)
    page = render_saved(summary, result)
    foreign = foreign_files(summary, result)  # checked before the report may replace one of them
    write_files({Path(out): sealed(page)})
    if foreign:
        click.echo(f"majorant: {mixed_set(result, foreign)}", err=True)
    show(summary, [f"Wrote    {out}"])
