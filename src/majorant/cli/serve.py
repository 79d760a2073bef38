"""`majorant serve`: the local web page."""

from __future__ import annotations

import click

from majorant.cli.options import Grouped, takes
from majorant.options import Serve


@click.command(cls=Grouped)
@click.argument("file", nargs=-1)
@takes(Serve)
def serve(file: tuple[str, ...], port: int, no_browser: bool, memory: str, max_upload: str) -> None:
    """Open a local web page to check a file and label a few items.

    FILE is listed on the page and read in place, so that large files need no upload.  No data leaves this machine, and
    everything the page stores is deleted when the server stops (Ctrl-C), except labels that you gave.
    """
    from majorant.limits import parse_memory, parse_size
    from majorant.web import serve as serve_until_interrupted

    def say(address: str) -> None:
        click.echo(f"{address}\nOpen this address; it contains the key. No data leaves this machine. Stop with Ctrl-C.")

    labels = serve_until_interrupted(
        file, port=port, browser=not no_browser, memory=parse_memory(memory),
        limit=parse_size(max_upload, "max_upload"), say=say,
    )  # fmt: skip
    click.echo("Stopped; all uploads and results were deleted.", err=True)
    if labels:
        click.echo(f"The labels that you gave are kept: {', '.join(map(str, labels))}", err=True)
