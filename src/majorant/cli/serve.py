"""`majorant serve`: the local web page."""

from __future__ import annotations

import click

from majorant.cli.options import Grouped


@click.command(cls=Grouped)
@click.argument("file", nargs=-1)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1.  [default: a free one]")
@click.option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
@click.option(
    "--memory",
    default="2GB",
    show_default=True,
    metavar="SIZE",
    help="Memory limit; larger files are processed on disk.",
)
@click.option("--max-upload", default="4GB", show_default=True, metavar="SIZE", help="Maximum size of an upload.")
def serve(file: tuple[str, ...], port: int, no_browser: bool, memory: str, max_upload: str) -> None:
    """Open a local web page to check a file and label a few items.

    FILE is listed on the page and read in place, so that large files need no upload.  No data leaves this machine, and
    everything the page stores is deleted when the server stops (Ctrl-C).
    """
    from majorant.limits import parse_memory, parse_size
    from majorant.web import serve as serve_until_interrupted

    def say(address: str) -> None:
        click.echo(f"{address}\nOpen this address; it contains the key. No data leaves this machine. Stop with Ctrl-C.")

    serve_until_interrupted(
        file, port=port, browser=not no_browser, memory=parse_memory(memory),
        limit=parse_size(max_upload, "max_upload"), say=say,
    )  # fmt: skip
    click.echo("Stopped; all uploads and results were deleted.", err=True)
