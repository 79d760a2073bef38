"""`majorant label`: label items in the terminal."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.options import Grouped, takes
from majorant.errors import ConfigError, DataError, MajorantError, use
from majorant.options import Label

if TYPE_CHECKING:
    from majorant.ask.label_file import LabelFile


@click.command(cls=Grouped)
@click.argument("file")
@takes(Label)
def label(file: str, design: str | None, to_the_end: bool, restore: int | None) -> None:
    """Label items in the terminal with single keys, until the question is settled.

    Every label is saved immediately, so you can stop at any time and continue later. FILE.journal records every save.
    """
    from majorant.ask.label_file import LabelFile

    path = Path(file)
    if restore is not None:
        _restore(path, restore)
        return
    with LabelFile.lock(path, "majorant label"):
        _label(path, design, to_the_end=to_the_end)


def _label(path: Path, design: str | None, *, to_the_end: bool) -> None:
    from majorant.ask.design import recognise
    from majorant.ask.label_file import LabelFile
    from majorant.read.tasks import LABEL_KEYS
    from majorant.render.ask import label_line, outcome_sentence, progress_line

    if not path.is_file():
        raise DataError(f"{path}: no such file. Name the file that majorant ask wrote, such as to_label.csv.")
    recognised = recognise(path, design=design)
    if recognised is None:
        raise DataError(
            f"{path} is not a file written by majorant ask with its design beside it. If the design is elsewhere, name "
            f"it with {use('design', 'FILE')}. Without a design, its labels are still good as gold "
            "labels: majorant check VOTES "
            f"--gold-file {shlex.quote(str(path))}"
        )
    if path.suffix.lower() in (".json", ".jsonl") or len(recognised.design.labels) > len(LABEL_KEYS):
        raise ConfigError(
            f"majorant label takes a CSV file with up to {len(LABEL_KEYS)} classes. Use a labelling tool."
        )
    items = LabelFile.read(path, recognised.path)
    items.table.to_bytes()  # a workbook is refused before anybody labels
    while to_the_end or not items.outcome.decided:
        if items.next is None:
            if items.design.is_drawing:
                click.echo(progress_line(items.outcome))
            items = _with_more(items)
        if (place := items.next) is None:
            break
        shown = items.own_columns(place) or {"item": items.item(place)}
        click.echo("\n".join(label_line(place, items.n_items, shown, items.keys)))
        key = _key()
        if key == "q":
            break
        if key == "u":
            items = items.undo()
        elif key in items.keys or key in ("s", "?"):
            items = items.write(place, items.keys.get(key, "?"))
        else:
            click.echo(f"There is no label for the key {key!r}.")
    check = shlex.join(["majorant", "check", *_for_check(items.design.call or ("VOTES",)), "--gold-file", str(path)])
    click.echo(f"{outcome_sentence(items.outcome)}\nNext     {check}")


def _for_check(call: Sequence[str]) -> list[str]:
    """The files and options of `ask` that `check` has as well."""
    from majorant.cli.check import check

    known = {name for option in check.params for name in (*option.opts, *option.secondary_opts)}
    kept, taking = list[str](), True
    for word in call:
        taking = word.split("=")[0] in known if word.startswith("--") else taking or word == call[0]
        if taking:
            kept.append(word)
    return kept


def _restore(path: Path, number: int) -> None:
    from majorant.ask.journal import journal_path, read_saves
    from majorant.ask.label_file import restore

    saves = read_saves(path)
    if not saves:
        raise DataError(f"{journal_path(path)} records no save of {path}, so there is nothing to restore.")
    if number:
        restore(path, number)
        click.echo(f"{path} is as it was after save {number}. The state before that is kept as a later save.")
        return
    for save in saves:
        click.echo(f"{save.number:>5}  {save.at}  {_change(save.change)}")
    click.echo(f"To bring back a state: majorant label {shlex.quote(str(path))} --restore N")


def _change(change: Mapping[str, Any]) -> str:
    """What a save did, in words."""
    match change:
        case {"item": item, "label": ""}:
            return f"{item}: label removed"
        case {"item": item, "label": label}:
            return f"{item}: {label}"
        case {"found": how}:
            return f"the file {how}"
        case {"added": n}:
            return f"{n} more items"
        case {"restored": n}:
            return f"save {n} restored"
        case _:
            return "changed"


def _with_more(items: LabelFile) -> LabelFile:
    """The file with a few more items, with their columns if the votes can still be read."""
    from majorant.ask.label_file import LabelFile
    from majorant.cli.ask import ask

    n = items.design.next_batch
    longer = items.longer(n)
    if len(longer.items) == len(items.design.items):
        return items
    if items.design.call:
        more = ["--more", str(n), "--design", str(items.design_path), "--out", str(items.path), "--quiet"]
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
