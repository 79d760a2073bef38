"""Where the votes come from, FILE and all that says how to read it, and where a command works on them.

That is in memory, from sorted files (--memory) or on a cluster (--engine).  A new engine is a class with `flag`,
`refused` and `backend` like those here, and a line in ENGINE_CHOICES.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import click

from majorant.cli.options import NONE, choice_option
from majorant.cli.progress import at_work, row_counter, stages
from majorant.errors import ConfigError
from majorant.filetypes import format_words
from majorant.ownership import note_input
from majorant.resources import THREADS_VARIABLE

if TYPE_CHECKING:
    from majorant.backend import Backend
    from majorant.read.options import ReadOptions
    from majorant.votes import Account, Votes

Command = Callable[..., Any]
ABOUT_FILE = """FILE: CSV, TSV, JSON, JSONL, Parquet, Excel, a judge log or a labelling tool's export; also several
    files, a folder, 'votes-*.csv', - for standard input, or data:NAME (`majorant data list`)."""
DATASET = "data:"  # before the name of a public data set, in place of a file
MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Source:
    """Where the votes come from, as the command line says it."""

    file: tuple[str, ...]
    options: ReadOptions
    quiet: bool

    def read(self, by: str | None = None, *, masked: bool = False) -> Votes:
        """The votes, with a counter on the terminal while rows are read; `by` names a column to slice the items."""
        if self.file[0].startswith(DATASET) and len(self.file) == 1:
            from majorant.datasets import load

            if by is not None:
                raise ConfigError(f"--by {by}: the public data sets have no further columns.")
            votes = load(self.file[0].removeprefix(DATASET))
            votes = replace(votes, gold_i=None) if self.options.gold == "" else votes
        else:
            from majorant.read import read_with

            with row_counter(quiet=self.quiet) as progress:
                votes = read_with(self.files, replace(self.options, by=by, progress=progress))
        if masked:
            from majorant.read.build import mask

            votes = mask(votes)
        say_notes(votes.account, quiet=self.quiet)
        return votes

    @property
    def files(self) -> str | list[str]:
        """The file, or the list of them."""
        return list(self.file) if len(self.file) > 1 else self.file[0]


def say_notes(account: Account, *, quiet: bool) -> None:
    """Print the notes that change what the votes mean, as soon as they are read."""
    from majorant.render.notes import note_text

    for note in () if quiet else account.notes:
        if note.kind.changes_meaning:
            click.echo(f"Note     {note_text(note, flags=True)}", err=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be opened: the votes, where a table will go, a column to slice by, whether names are hidden."""

    source: Source
    out: str | None = None
    by: str | None = None
    masked: bool = False


class EngineChoice(Protocol):
    """Somewhere to work on votes."""

    flag: ClassVar[str]  # what the user says for it, to be left out where something else needs all votes in memory
    refused: ClassVar[Mapping[str, str]]  # options that do not go with it, and why

    def backend(self, job: Job) -> AbstractContextManager[Backend]:
        """The votes, read and ready."""
        ...


@dataclass(frozen=True, slots=True)
class InMemory:
    """All votes in memory."""

    flag: ClassVar[str] = ""
    refused: ClassVar[Mapping[str, str]] = {}

    @contextlib.contextmanager
    def backend(self, job: Job) -> Iterator[Backend]:
        """The votes as they are read."""
        votes = job.source.read(job.by, masked=job.masked)  # a wrong table is reported before the rest is imported
        from majorant.backend import MemoryBackend

        yield MemoryBackend(votes)


@dataclass(frozen=True, slots=True)
class FromFiles:
    """Votes that need not fit into memory: sorted into a folder, within a limit."""

    memory: str
    work: str | None
    resume: bool
    flag: ClassVar[str] = "--memory"
    refused: ClassVar[Mapping[str, str]] = {}

    @contextlib.contextmanager
    def backend(self, job: Job) -> Iterator[Backend]:
        """The sorted votes; a folder of our own lies beside the output, and goes if all went well."""
        from majorant.backend.files import FileBackend
        from majorant.backend.prepare import prepare
        from majorant.backend.store import STORE_MANIFEST, mask_stored
        from majorant.backend.workfolder import WORK_FOLDER, locked
        from majorant.resources import parse_memory

        memory, source = parse_memory(self.memory), job.source
        if source.file[0].startswith(DATASET):
            raise ConfigError(f"{source.file[0]} fits into memory: leave out --memory.")
        folder = Path(self.work) / WORK_FOLDER if self.work else _beside(job)
        done = False
        with locked(folder) as work, stages(quiet=source.quiet) as (report, progress):
            try:
                options = replace(source.options, by=job.by)
                stored = prepare(source.files, folder, options, memory=memory, resume=self.resume, report=report)
                stored = mask_stored(stored) if job.masked else stored
                say_notes(stored.account, quiet=source.quiet)
                yield FileBackend(stored, memory, report, progress)
                done = True
            finally:
                if not (folder / STORE_MANIFEST).exists() or (done and self.work is None):
                    work.remove()
                elif not done:
                    click.echo(f"The sorted votes stay in {folder}: go on with --resume, or remove it.", err=True)


def _beside(job: Job) -> Path:
    """A folder of our own whose name tells the source, so that --resume finds it."""
    paths = "\n".join(str(Path(file).absolute()) for file in job.source.file)
    place = Path.cwd() if job.out in (None, "-") else Path(str(job.out)).parent
    return place / f".majorant-{hashlib.sha256(paths.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class OnSpark:
    """A Spark cluster."""

    master: str
    flag: ClassVar[str] = "--engine spark"
    refused: ClassVar[Mapping[str, str]] = {
        "by": "use --memory, or check each slice by itself",
        "masked": "names are numbered in the order of the rows, and rows on Spark have none. Use --memory, or mask the "
        "names in the table",
    }

    @contextlib.contextmanager
    def backend(self, job: Job) -> Iterator[Backend]:
        """The votes of the files as blocks on the cluster, which go at the end."""
        from majorant.backend.spark.reading import read_files
        from majorant.backend.spark.session import spark_session

        source = job.source
        if source.file[0].startswith(DATASET):
            raise ConfigError(f"{source.file[0]} fits into memory: leave out --engine spark.")
        with at_work("Spark", quiet=source.quiet), spark_session(self.master) as spark:
            backend = read_files(spark, source.file, source.options)
            say_notes(backend.votes.account, quiet=source.quiet)
            yield backend


ENGINE_CHOICES: dict[str, Callable[[str | None], EngineChoice]] = {  # by the word of --engine, from that of --master
    MEMORY: lambda _: InMemory(),
    "spark": lambda master: OnSpark(master or "local[*]"),
}
_FILES = (
    click.option("--memory", metavar="SIZE", help="Votes beyond memory: work from files, within 2GB or so."),
    click.option("--work", metavar="DIR", help="With --memory: keep the sorted votes here."),
    click.option("--resume", is_flag=True, help="With --memory: continue, or reuse the sorted votes."),
)
_ENGINE = (
    click.option(
        "--engine", metavar="|".join(ENGINE_CHOICES), default=MEMORY, show_default=True, help="Where to compute."
    ),
    click.option("--master", metavar="URL", help="Spark's master, such as local[2]; default: local[*]."),
)


def refuse_together(engine: EngineChoice, **options: Any) -> None:
    """Refuse options that do not go with an engine."""
    for name, why in engine.refused.items():
        if options.get(name):
            flag = "--mask" if name == "masked" else f"--{name} {options[name]}"
            raise ConfigError(f"{flag} does not go with {engine.flag}: {why}.")


def memory_options(command: Command) -> Command:
    """Give a command --memory, --work and --resume; it receives where to work as `engine`."""
    return _given(command, _FILES, _with_engine)


def engine_options(command: Command) -> Command:
    """The same and --engine and --master."""
    return _given(command, (*_FILES, *_ENGINE), _with_engine)


def _with_engine(values: dict[str, Any]) -> dict[str, Any]:
    """Where to work, in place of the options that say so."""
    chosen = [values.pop(name, None) for name in ("engine", "master", "memory", "work", "resume")]
    return {"engine": _engine(*chosen), **values}


def _engine(name: str | None, master: str | None, memory: str | None, work: str | None, resume: bool) -> EngineChoice:
    name = name or MEMORY
    if name not in ENGINE_CHOICES:
        raise ConfigError(f"--engine {name}: choose one of {', '.join(ENGINE_CHOICES)}.")
    if name == MEMORY and master is not None:
        raise ConfigError("--master goes with --engine spark.")
    if memory is None:
        if work is not None or resume:
            raise ConfigError(f"{'--work' if work is not None else '--resume'} goes with --memory, such as 2GB.")
        return ENGINE_CHOICES[name](master)
    if name != MEMORY:
        raise ConfigError(f"--memory works on this machine, --engine {name} on a cluster: choose one.")
    return FromFiles(memory, work, resume)


_INPUT_OPTIONS = (
    click.argument("file", nargs=-1, required=True),
    click.option("--item", metavar="COLUMN", help="Names the item; several: question,model."),
    click.option("--worker", metavar="COLUMN", help="Names the worker or judge; file: one file each."),
    click.option("--label", metavar="COLUMN", help="Holds the label."),
    click.option("--gold", metavar="COLUMN|FILE", help="True labels: a column or a table; none: no gold."),
    click.option("--gold-file", metavar="FILE", help="The same, always a table of items and labels."),
    click.option("--status", metavar="COLUMN", help="Says ok, abstain or error; none: no status."),
    click.option("--seconds", metavar="COLUMN", help="How long each vote took."),
    click.option("--text", metavar="COLUMN", help="The item's text, to show to people; none: no text."),
    click.option("--columns", metavar="A,B,...", help="Roles by position if there is no header; _ skips."),
    click.option("--wide", is_flag=True, help="One row per item, one column per worker."),
    click.option("--workers", metavar="A,B,...", help="The workers' columns of a wide table, or 'Dr_*'."),
    click.option("--several", is_flag=True, help="Several labels per vote (a list, or a|b)."),
    click.option("--order", metavar="LOW,...,HIGH", help="Labels from lowest to highest."),
    click.option("--threshold", type=float, metavar="SCORE", help="Make two classes: below and at least SCORE."),
    click.option("--codes", metavar="1=yes,...", help="What codes mean."),
    click.option("--fold-case", is_flag=True, help="Merge labels that differ in case or spaces."),
    click.option("--allow-network", is_flag=True, help="Fetch s3://, gs:// and https:// addresses."),
    click.option("--sheet", metavar="NAME", help="The sheet of a workbook."),
    choice_option(
        "--repeats", "error", "first", "last", "each", metavar="WHICH",
        help="If a worker labels an item twice: error, first, last or each.",
    ),
    click.option("--empty", metavar="TEXT", multiple=True, help="A label that means no vote, such as NA; repeatable."),
    click.option(
        "--format", type=click.Choice(format_words()), metavar="TYPE",
        help=f"{', '.join(format_words())}, whatever the extension.",
    ),
    click.option("--delimiter", metavar="SIGN", help="What separates fields."),
    click.option("--encoding", metavar="NAME", help="Such as latin-1; UTF-8 and UTF-16 are detected."),
    click.option(
        "--max-classes", type=click.IntRange(min=1), default=1000, show_default=True, metavar="N",
        help="Refuse more different labels.",
    ),
    click.option("--threads", type=click.IntRange(min=1), metavar="N", help="CPU cores to use; default: all."),
)  # fmt: skip


def input_options(command: Command) -> Command:
    """Give a command FILE and all that says how to read it; it receives them as `source`."""
    with_source = _given(command, _INPUT_OPTIONS, _with_source)
    with_source.__doc__ = f"{command.__doc__}\n\n    {ABOUT_FILE}"
    return with_source


def _with_source(values: dict[str, Any]) -> dict[str, Any]:
    """The source, in place of the options that say how to read it."""
    if (threads := values.pop("threads")) is not None:
        os.environ[THREADS_VARIABLE] = str(threads)  # for all that this command does
    from majorant.read.options import Reading, ReadOptions

    reading = {name: values.pop(name) for name in Reading.__annotations__ if name in values and name != "by"}
    for name in ("gold", "status", "seconds", "text"):
        reading[name] = "" if reading[name] == NONE else reading[name]
    source = Source(values.pop("file"), ReadOptions.of(reading), values["quiet"])
    for file in (*source.file, *([source.options.gold_file] if source.options.gold_file is not None else [])):
        note_input(file)
    return {"source": source, **values}


def _given(command: Command, options: Sequence[Command], taken: Callable[[dict[str, Any]], dict[str, Any]]) -> Command:
    """Give a command options; it receives what is `taken` from them."""

    @functools.wraps(command)
    def with_options(**values: Any) -> Any:
        return command(**taken(values))

    for option in reversed(options):
        with_options = option(with_options)
    return with_options
