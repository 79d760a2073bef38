"""`majorant label`: label items in the terminal."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from majorant.cli.options import Grouped
from majorant.errors import ConfigError, DataError, MajorantError

if TYPE_CHECKING:
    from majorant.ask.label_file import LabelFile


@click.command(cls=Grouped)
@click.argument("file")
@click.option("--design", metavar="FILE", help="Design file, if it is not beside FILE.")
@click.option("--all", "to_the_end", is_flag=True, help="Continue after the question is settled.")
def label(file: str, design: str | None, to_the_end: bool) -> None:
    """Label items in the terminal with single keys, until the question is settled.

    Every label is saved immediately, so you can stop at any time and continue later.
    """
    from majorant.ask.design import recognise
    from majorant.ask.label_file import LabelFile
    from majorant.read.tasks import LABEL_KEYS
    from majorant.render.ask import label_line, outcome_sentence

    path = Path(file)
    recognised = recognise(path, design=design) if path.is_file() else None
    if recognised is None:
        raise DataError(f"{file} is not a file written by majorant ask with its design beside it.")
    if path.suffix != ".csv" or len(recognised.design.labels) > len(LABEL_KEYS):
        raise ConfigError(
            f"majorant label takes a CSV file with up to {len(LABEL_KEYS)} classes. Use a labelling tool."
        )
    items = LabelFile.read(path, recognised.path)
    while to_the_end or not items.outcome.decided:
        if items.next is None:
            items = _with_more(items)
        if (place := items.next) is None:
            break
        shown = items.own_columns(place) or {"item": items.item(place)}
        click.echo("\n".join(label_line(place, len(items.rows), shown, items.keys)))
        key = _key()
        if key == "q":
            break
        if key == "u":
            items = items.undo()
        elif key in items.keys or key in ("s", "?"):
            items = items.write(place, items.keys.get(key, "?"))
        else:
            click.echo(f"There is no label for the key {key!r}.")
    check = shlex.join(["majorant", "check", *(items.design.call or ["VOTES"]), "--gold-file", file])
    click.echo(f"{outcome_sentence(items.outcome)}\nNext     {check}")


def _with_more(items: LabelFile) -> LabelFile:
    """The file with up to ten more items, with their columns if the votes can still be read."""
    from majorant.ask.label_file import LabelFile
    from majorant.cli.ask import ask

    longer = items.longer(10)
    if len(longer.items) == len(items.design.items):
        return items
    if items.design.call:
        more = ["--more", "10", "--design", str(items.design_path), "--out", str(items.path), "--quiet"]
        gone = contextlib.suppress(MajorantError, OSError, click.ClickException)
        with gone, contextlib.redirect_stdout(io.StringIO()):
            ask.main([*items.design.call, *more], standalone_mode=False)
            return LabelFile.read(items.path, items.design_path)
    return items.extend(longer)  # the votes cannot be read any more: show items by name


def _key() -> str:
    """One key from the terminal, or one character from a pipe; the end of the pipe means quit."""
    if sys.stdin.isatty():
        return click.getchar().lower()
    character = sys.stdin.read(1)
    while character and character.isspace():
        character = sys.stdin.read(1)
    return character.lower() or "q"
