"""`majorant label`: label items in the terminal."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.options import Grouped
from majorant.errors import ConfigError, DataError, MajorantError

if TYPE_CHECKING:
    from majorant.ask.design import Design
    from majorant.ask.question import Outcome

SKIP, UNDO, QUIT, NOT_SURE = "s", "u", "q", "?"
AT_ONCE = 10  # items that are added when all are labelled and the question is open


@click.command(cls=Grouped)
@click.argument("file")
@click.option("--design", metavar="FILE", help="The design, if it is not beside the file.")
@click.option("--all", "go_on", is_flag=True, help="Go on to the last item, though the question is settled.")
def label(file: str, design: str | None, go_on: bool) -> None:
    """Label items in the terminal, one key each; stops when the question is settled.

    Every label is written at once, so you can stop at any time and go on later.
    """
    from majorant.ask.design import recognise
    from majorant.read.tasks import LABEL_KEYS, table_rows
    from majorant.render.ask import label_line, outcome_sentence

    path = Path(file)
    recognised = recognise(path, design=design) if path.is_file() else None
    if recognised is None:
        raise DataError(f"{file} is not a file that majorant ask wrote, with its design beside it.")
    drawn, place = recognised.design, recognised.path
    if path.suffix != ".csv" or len(drawn.labels) > len(LABEL_KEYS):
        raise ConfigError(f"majorant label takes a CSV file of up to {len(LABEL_KEYS)} classes. Use a labelling tool.")
    rows, keys = table_rows(path), dict(zip(LABEL_KEYS, map(str, drawn.labels), strict=False))
    outcome, done = _judged(drawn, path), [at for at, row in enumerate(rows) if _label_of(row)]
    at = max(done, default=-1) + 1
    while go_on or not outcome.decided:
        if at == len(rows):
            drawn = _ask_more(drawn, path, place)
            rows = table_rows(path)
            if at == len(rows):
                break
        click.echo("\n".join(label_line(at + 1, len(rows), _shown(rows[at]), keys)))
        key = _key()
        if key == QUIT:
            break
        if key == UNDO:
            at = max(at - 1, 0)
            _write(path, rows[at], "")
        elif key in keys or key in (SKIP, NOT_SURE):
            _write(path, rows[at], keys.get(key, NOT_SURE))
            at += 1
        else:
            click.echo(f"No class has the key {key!r}.")
        outcome = _judged(drawn, path)
    check = shlex.join(["majorant", "check", *(drawn.call or ["VOTES"]), "--gold-file", file])
    click.echo(f"{outcome_sentence(outcome)}\nNext     {check}")


def _ask_more(design: Design, path: Path, place: Path) -> Design:
    """The design with further items, which are added to the file with what the votes show of them."""
    from majorant.ask.design import Design
    from majorant.cli.ask import ask
    from majorant.read.tasks import read_answers

    longer = design.after(AT_ONCE, read_answers(path).answers)
    if len(longer.items) == len(design.items):
        return design
    if design.call:
        words = [*design.call, "--more", str(AT_ONCE), "--design", str(place), "--out", str(path), "--quiet"]
        gone = contextlib.suppress(MajorantError, OSError, click.ClickException)
        with gone, contextlib.redirect_stdout(io.StringIO()):
            ask.main(words, standalone_mode=False)
            return Design.read(place)
    longer.write_more(path, len(design.items), design=place)  # the votes are gone: items by their names
    return longer


def _judged(design: Design, path: Path) -> Outcome:
    from majorant.read.tasks import read_answers

    return design.judge(read_answers(path).answers)


def _label_of(row: dict[str, str]) -> str:
    return next((value or "" for name, value in row.items() if name and name.strip().casefold() == "label"), "").strip()


def _shown(row: dict[str, str]) -> dict[str, str]:
    """What a row says of its item: its own columns, or its name."""
    own = {
        name: value for name, value in row.items() if name and name.strip().casefold() not in ("draw", "item", "label")
    }
    return own or {"item": row["item"]}


def _write(path: Path, row: dict[str, Any], value: str) -> None:
    from majorant.output import write_files
    from majorant.read.tasks import relabelled_file

    write_files({path: relabelled_file(path, {int(row["draw"]): value})}, update=[path])


def _key() -> str:
    """One key from the terminal, or one sign from a pipe, whose end means quit."""
    if sys.stdin.isatty():
        return click.getchar().lower()
    sign = sys.stdin.read(1)
    while sign and sign.isspace():
        sign = sys.stdin.read(1)
    return sign.lower() or QUIT
