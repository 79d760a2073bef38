"""`majorant serve`: the page on this machine."""

from __future__ import annotations

import click

from majorant.cli.options import Grouped


@click.command(cls=Grouped)
@click.argument("file", nargs=-1)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Where to listen on 127.0.0.1.  [one that is free]"
)
@click.option("--no-browser", is_flag=True, help="Print the address, open nothing.")
@click.option(
    "--memory",
    default="2GB",
    show_default=True,
    metavar="SIZE",
    help="A file that would take more is worked on from files.",
)
@click.option("--max-upload", default="4GB", show_default=True, metavar="SIZE", help="The largest upload.")
def serve(file: tuple[str, ...], port: int, no_browser: bool, memory: str, max_upload: str) -> None:
    """Drop a file into a page on this machine, see the answer, label a few items.

    FILE is opened from the start, where it lies: a large one need not be sent.  Nothing leaves the machine; all that
    the page keeps goes when the server ends (Ctrl-C).
    """
    from majorant.resources import parse_memory, parse_size
    from majorant.web import serve as serve_until_interrupted

    def say(address: str) -> None:
        click.echo(f"{address}\nOpen this address: it holds the key. Nothing leaves this machine. Ctrl-C ends it.")

    serve_until_interrupted(
        file, port=port, browser=not no_browser, memory=parse_memory(memory),
        limit=parse_size(max_upload, "max_upload"), say=say,
    )  # fmt: skip
    click.echo("Stopped; what the page kept is removed.", err=True)
