"""The input of a command: FILE, the options that say how to read it, and where the votes are prepared.

Votes are read into memory, sorted into a folder of memory-mapped arrays (--memory), or prepared on a cluster
(--engine).
A new engine is a context manager like `_on_spark` and an entry in OPENERS.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from majorant.cli.options import NONE, is_quiet, takes
from majorant.cli.progress import at_work, stages
from majorant.errors import ConfigError
from majorant.limits import THREADS_VARIABLE
from majorant.options import Cluster, Files, Ratings, Read
from majorant.ownership import note_input

if TYPE_CHECKING:
    from majorant.read.options import ReadOptions
    from majorant.votes import Account, Votes

Command = Callable[..., Any]
DATASET = "data:"  # prefix for the name of a public data set
MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Source:
    """The files of votes and how to read them."""

    file: tuple[str, ...]
    options: ReadOptions

    def read(self, by: str | None = None, *, masked: bool = False, with_notes: bool = True) -> Votes:
        """Read the votes with a row counter on the terminal; `by` is the column that slices the items."""
        if self.is_dataset:
            from majorant.datasets import load

            if by is not None:
                raise ConfigError(f"--by {by}: the public data sets have no other columns.")
            votes = load(self.file[0].removeprefix(DATASET))
            votes = replace(votes, gold_i=None) if self.options.gold == "" else votes
        else:
            from majorant.read import read_with

            with at_work("reading") as change_text:
                count = None if change_text is None else lambda rows: change_text(f"reading {rows:>13,} rows")
                votes = read_with(self.files, replace(self.options, by=by, progress=count))
        if masked:
            from majorant.read.build import mask

            votes = mask(votes)
        if with_notes:
            print_notes(votes.account)
        return votes

    @property
    def files(self) -> str | list[str]:
        """The file, or the list of them."""
        return list(self.file) if len(self.file) > 1 else self.file[0]

    @property
    def is_dataset(self) -> bool:
        """Whether the votes are a public data set."""
        return len(self.file) == 1 and self.file[0].startswith(DATASET)

    @property
    def is_on_disk(self) -> bool:
        """Whether the files can be read again, unlike standard input or a data set."""
        return self.file[0] != "-" and not self.file[0].startswith(DATASET)


def print_notes(account: Account) -> None:
    """Print the notes that change the meaning of the votes."""
    from majorant.render.notes import note_text

    for note in () if is_quiet() else account.notes:
        if note.kind.changes_meaning:
            click.echo(f"Note     {note_text(note, flags=True)}", err=True)


@dataclass(frozen=True, slots=True)
class Engine:
    """Where the votes are processed."""

    name: str = MEMORY
    master: str | None = None
    memory: str | None = None
    work: str | None = None
    resume: bool = False

    @property
    def flag(self) -> str:
        """The flag to leave out if a command needs all votes in memory; empty if they already are."""
        return "--memory" if self.memory is not None else "" if self.name == MEMORY else f"--engine {self.name}"

    def open(
        self, source: Source, *, out: str | None = None, by: str | None = None, masked: bool = False
    ) -> AbstractContextManager[Votes]:
        """Read the votes; `out` is the output file, `by` a column to slice by."""
        if self.flag and source.file[0].startswith(DATASET):
            raise ConfigError(f"{source.file[0]} fits in memory: leave out {self.flag}.")
        if self.memory is not None:
            return _in_files(self, source, out, by, masked)
        return OPENERS[self.name](self, source, by, masked)


@contextlib.contextmanager
def _in_memory(_: Engine, source: Source, by: str | None, masked: bool) -> Iterator[Votes]:
    yield source.read(by, masked=masked)


@contextlib.contextmanager
def _in_files(engine: Engine, source: Source, out: str | None, by: str | None, masked: bool) -> Iterator[Votes]:
    """Sort the votes into a folder within a memory limit; the folder is removed after success."""
    from majorant.limits import parse_memory
    from majorant.read.build import mask
    from majorant.read.sort import prepare
    from majorant.store import STORE_FILE
    from majorant.workfolder import WORK_FOLDER, locked

    memory = parse_memory(str(engine.memory))
    if engine.work is not None:
        folder = Path(engine.work) / WORK_FOLDER
    else:  # beside the output and named after the source, so that --resume finds it
        paths = "\n".join(str(Path(file).absolute()) for file in source.file)
        place = Path.cwd() if out in (None, "-") else Path(str(out)).parent
        folder = place / f".majorant-{hashlib.sha256(paths.encode()).hexdigest()[:12]}"
    done = False
    with locked(folder) as work:
        try:
            with stages() as report:
                options = replace(source.options, by=by)
                votes = prepare(source.files, folder, options, memory=memory, resume=engine.resume, report=report)
            votes = mask(votes) if masked else votes
            print_notes(votes.account)
            yield votes
            done = True
        finally:
            if not (folder / STORE_FILE).exists() or (done and engine.work is None):
                work.remove()
            elif not done:
                click.echo(f"The sorted votes are kept in {folder}: continue with --resume, or delete them.", err=True)


@contextlib.contextmanager
def _on_spark(engine: Engine, source: Source, by: str | None, masked: bool) -> Iterator[Votes]:
    """The votes, prepared on the cluster."""
    if by is not None:
        raise ConfigError(f"--by {by} does not work with --engine spark: use --memory, or check each slice separately.")
    if masked:
        raise ConfigError(
            "--mask does not work with --engine spark: names are numbered in row order, and rows on Spark have no "
            "order. Use --memory, or mask the names in the table."
        )
    from majorant.read.spark import read_files, spark_session

    with at_work("Spark"), spark_session(engine.master or "local[*]") as spark:
        votes = read_files(spark, source.file, source.options)
    print_notes(votes.account)
    yield votes


OPENERS: dict[str, Callable[[Engine, Source, str | None, bool], AbstractContextManager[Votes]]] = {
    MEMORY: _in_memory,
    "spark": _on_spark,
}


def memory_options(command: Command) -> Command:
    """Add --memory, --work and --resume to a command, which receives them as `engine`."""
    return _given(command, takes(Files), _with_engine)


def engine_options(command: Command) -> Command:
    """Add --engine and --master in addition to the options of `memory_options`."""
    return _given(command, takes(Files, Cluster), _with_engine)


def _with_engine(values: dict[str, Any]) -> dict[str, Any]:
    """Replace the options that describe the engine with an Engine."""
    name, master, memory, work, resume = (
        values.pop(option, None) for option in ("engine", "master", "memory", "work", "resume")
    )
    name = name or MEMORY
    if name not in OPENERS:
        raise ConfigError(f"--engine {name}: choose one of {', '.join(OPENERS)}.")
    if name == MEMORY and master is not None:
        raise ConfigError("--master needs --engine spark.")
    if memory is None and (work is not None or resume):
        raise ConfigError(f"{'--work' if work is not None else '--resume'} needs --memory, such as --memory 2GB.")
    if memory is not None and name != MEMORY:
        raise ConfigError(f"--memory is for this machine and --engine {name} for a cluster: choose one.")
    return {"engine": Engine(name, master, memory, work, resume), **values}


def input_options(command: Command) -> Command:
    """Add FILE and the reading options to a command, which receives them as `source`."""
    with_source = click.argument("file", nargs=-1, required=True)(_given(command, takes(Read, Ratings), _with_source))
    with_source.__doc__ = f"""{command.__doc__}

    FILE: CSV, TSV, JSON, JSONL, Parquet, Excel, a judge log or a labelling tool's export; also several
    files, a folder, 'votes-*.csv', - for standard input, or data:NAME (`majorant data list`)."""
    return with_source


def _with_source(values: dict[str, Any]) -> dict[str, Any]:
    """Replace the reading options with a Source."""
    if (threads := values.pop("threads")) is not None:
        os.environ[THREADS_VARIABLE] = str(threads)  # for the whole command
    from majorant.read.options import Reading, ReadOptions

    reading = {
        name: values.pop(name)
        for name in Reading.__annotations__
        if name in values and name not in ("by", "memory", "work")
    }
    for name in ("gold", "status", "seconds", "text"):
        reading[name] = "" if reading[name] == NONE else reading[name]
    if (unrated := values.pop("no_ratings", False)) and reading["ratings"] is not None:
        raise ConfigError("--ratings and --no-ratings exclude each other.")
    reading["ratings"] = False if unrated else reading["ratings"]
    reading["trust"] = _trust(reading["trust"]) or None
    source = Source(values.pop("file"), ReadOptions.of(reading))
    for file in (*source.file, *([source.options.gold_file] if source.options.gold_file is not None else [])):
        note_input(file)
    return {"source": source, **values}


def _trust(pairs: Sequence[str]) -> dict[str, float]:
    """Ratings by name, from arguments such as gpt-4=1290; a name may contain an equals sign."""
    trust = {}
    for pair in pairs:
        name, _, points = pair.rpartition("=")
        try:
            trust[name] = float(points)
        except ValueError:
            name = ""
        if not name:
            raise ConfigError(f"--trust {pair}: give a name and a rating in points, such as --trust gpt-4=1290.")
    return trust


def _given(command: Command, options: Command, taken: Callable[[dict[str, Any]], dict[str, Any]]) -> Command:
    """Add options to a command, which receives their values as converted by `taken`."""

    @functools.wraps(command)
    def with_options(**values: Any) -> Any:
        return command(**taken(values))

    return cast(Command, options(with_options))
