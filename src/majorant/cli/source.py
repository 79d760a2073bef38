"""Where the votes come from: FILE and all that says how to read it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.options import NONE, as_flags
from majorant.cli.progress import row_counter
from majorant.errors import ConfigError
from majorant.threads import THREADS_VARIABLE

if TYPE_CHECKING:
    from majorant.io.options import ReadOptions
    from majorant.votes import Account, Votes

Command = Callable[..., Any]
ABOUT_FILE = """FILE is CSV, TSV, JSON, JSONL or Parquet, also .gz or .zst; or several files, a folder,
    or a pattern such as 'votes-*.csv'; or - for standard
    input; or data:NAME for a public data set (`majorant data list`)."""
DATASET = "data:"  # before the name of a public data set, in place of a file


@dataclass(frozen=True, slots=True)
class Source:
    """Where the votes come from, as the command line says it."""

    file: tuple[str, ...]
    options: ReadOptions
    quiet: bool

    def read(self, by: str | None = None) -> Votes:
        """The votes, with a counter on the terminal while rows are read; `by` names a column to slice the items."""
        if self.file[0].startswith(DATASET) and len(self.file) == 1:
            from majorant.datasets import load

            if by is not None:
                raise ConfigError(f"--by {by}: the public data sets have no further columns.")
            return load(self.file[0].removeprefix(DATASET))
        from majorant.io import read_with

        with row_counter(quiet=self.quiet) as progress:
            return read_with(self.files, replace(self.options, by=by, progress=progress))

    @property
    def files(self) -> str | list[str]:
        """The file, or the list of them."""
        return list(self.file) if len(self.file) > 1 else self.file[0]


def say_notes(account: Account, *, quiet: bool) -> None:
    """What to know about the input, on standard error, where a command leads with its answer."""
    from majorant.report.text import printable

    for note in () if quiet else account.notes:
        click.echo(f"Note     {as_flags(printable(note.text))}", err=True)


_INPUT_OPTIONS = (
    click.argument("file", nargs=-1, required=True),
    click.option("--item", metavar="COLUMN", help="The column that names the item."),
    click.option("--worker", metavar="COLUMN", help="The column that names the worker or judge."),
    click.option("--label", metavar="COLUMN", help="The column that holds the label."),
    click.option(
        "--gold", metavar="COLUMN", help="The column that holds the true label, where it is known; none ignores it."
    ),
    click.option("--gold-file", metavar="FILE", help="A second table with the columns item and gold."),
    click.option("--status", metavar="COLUMN", help="The column that says ok, abstain or error; none ignores it."),
    click.option("--seconds", metavar="COLUMN", help="The column that says how long each vote took."),
    click.option(
        "--text", metavar="COLUMN", help="The column with the item's own text, shown in review; none: show none."
    ),
    click.option("--columns", metavar="A,B,...", help="No header: what each position holds; _ skips one."),
    click.option("--wide", is_flag=True, help="One row per item, one column per worker."),
    click.option("--workers", metavar="A,B,...", help="Of a wide table, the workers' columns; 'Dr_*' is a pattern."),
    click.option("--several", is_flag=True, help="Several labels per item (a list, or a|b): a yes or no on each."),
    click.option("--order", metavar="LOW,...,HIGH", help="The labels from lowest to highest."),
    click.option("--threshold", type=float, metavar="SCORE", help="Two classes of scores: below it, and at least it."),
    click.option("--codes", metavar="1=yes,...", help="What codes mean, as statistics packages keep labels."),
    click.option("--allow-network", is_flag=True, help="Fetch s3://, gs:// and https:// addresses through DuckDB."),
    click.option("--sheet", metavar="NAME", help="Of a workbook, the sheet to read."),
    click.option(
        "--repeats",
        type=click.Choice(["error", "first", "last", "each"]),
        default="error",
        show_default=True,
        help="When a worker labels an item twice and differently.",
    ),
    click.option("--empty", metavar="TEXT", multiple=True, help="A label that means no vote, such as NA; repeatable."),
    click.option(
        "--format", type=click.Choice(["csv", "tsv", "json", "jsonl", "parquet"]), help="Overrules the ending."
    ),
    click.option("--delimiter", metavar="SIGN", help="What separates fields; found by itself as a rule."),
    click.option("--encoding", metavar="NAME", help="Such as latin-1; UTF-8 and UTF-16 are found by themselves."),
    click.option("--max-classes", type=click.IntRange(min=1), default=1000, show_default=True),
    click.option("--threads", type=click.IntRange(min=1), help="Default: MAJORANT_THREADS, or all cores."),
)


def input_options(command: Command) -> Command:
    """Give a command FILE and all that says how to read it; it receives them as `source`."""

    def with_source(**values: Any) -> Any:
        if (threads := values.pop("threads")) is not None:
            os.environ[THREADS_VARIABLE] = str(threads)  # for all that this command does
        from majorant.io.options import Reading, ReadOptions

        reading = {name: values.pop(name) for name in Reading.__annotations__ if name in values and name != "by"}
        for name in ("gold", "status", "seconds", "text"):
            reading[name] = "" if reading[name] == NONE else reading[name]
        return command(source=Source(values.pop("file"), ReadOptions.of(reading), values["quiet"]), **values)

    with_source.__name__, with_source.__doc__ = command.__name__, f"{command.__doc__}\n\n    {ABOUT_FILE}"
    with_source.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(_INPUT_OPTIONS):
        with_source = option(with_source)
    return with_source
