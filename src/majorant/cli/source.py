"""The input of a command: FILE, the options that say how to read it, and where the votes are processed.

That is in memory, from sorted files (--memory) or on a cluster (--engine).  A new engine is a class with `flag`,
`refused` and `backend` like those here, and an entry in ENGINE_CHOICES.
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
from majorant.limits import THREADS_VARIABLE
from majorant.ownership import note_input

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
        """Read the votes with a row counter on the terminal; `by` names a column to slice the items by."""
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
    """Votes that may be larger than memory, sorted into a folder within a memory limit."""

    memory: str
    work: str | None
    resume: bool
    flag: ClassVar[str] = "--memory"
    refused: ClassVar[Mapping[str, str]] = {}

    @contextlib.contextmanager
    def backend(self, job: Job) -> Iterator[Backend]:
        """Sort the votes into a folder next to the output, which is removed at the end if all went well."""
        from majorant.backend.files import FileBackend
        from majorant.backend.prepare import prepare
        from majorant.backend.store import STORE_MANIFEST, mask_stored
        from majorant.backend.workfolder import WORK_FOLDER, locked
        from majorant.limits import parse_memory

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
                    click.echo(
                        f"The sorted votes are kept in {folder}: continue with --resume, or delete it.", err=True
                    )


def _beside(job: Job) -> Path:
    """A folder named after the source, so that --resume finds it."""
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
        """The votes as blocks on the cluster, which are freed at the end."""
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
    click.option("--memory", metavar="SIZE", help="Memory limit, e.g. 2GB: process votes on disk."),
    click.option("--work", metavar="DIR", help="With --memory: folder to keep the sorted votes in."),
    click.option("--resume", is_flag=True, help="With --memory: resume, reusing the sorted votes."),
)
_ENGINE = (
    click.option("--engine", metavar="|".join(ENGINE_CHOICES), default=MEMORY, show_default=True, help="Where to run."),
    click.option("--master", metavar="URL", help="Spark master URL; default: local[*]."),
)


def refuse_together(engine: EngineChoice, **options: Any) -> None:
    """Refuse options that do not go with an engine."""
    for name, why in engine.refused.items():
        if options.get(name):
            flag = "--mask" if name == "masked" else f"--{name} {options[name]}"
            raise ConfigError(f"{flag} does not go with {engine.flag}: {why}.")


def memory_options(command: Command) -> Command:
    """Add --memory, --work and --resume to a command, which receives them as `engine`."""
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
    click.option("--item", metavar="COLUMN", help="Item column; several: question,model."),
    click.option("--worker", metavar="COLUMN", help="Worker or judge column; file: one file per worker."),
    click.option("--label", metavar="COLUMN", help="Label column."),
    click.option("--gold", metavar="COLUMN|FILE", help="True labels: a column or a file; none: ignore."),
    click.option("--gold-file", metavar="FILE", help="True labels: a file with items and labels."),
    click.option("--status", metavar="COLUMN", help="Status column (ok, abstain, error); none: ignore."),
    click.option("--seconds", metavar="COLUMN", help="Column with the duration of each vote."),
    click.option("--text", metavar="COLUMN", help="Column with the item's text; none: ignore."),
    click.option("--columns", metavar="A,B,...", help="Column roles if there is no header; _ skips one."),
    click.option("--wide", is_flag=True, help="One row per item, one column per worker."),
    click.option("--workers", metavar="A,B,...", help="Worker columns of a wide table, e.g. 'Dr_*'."),
    click.option("--several", is_flag=True, help="A vote may have several labels (a list, or a|b)."),
    click.option("--order", metavar="LOW,...,HIGH", help="Labels from lowest to highest."),
    click.option("--threshold", type=float, metavar="SCORE", help="Turn scores into two classes, split at SCORE."),
    click.option("--codes", metavar="1=yes,...", help="Meaning of label codes."),
    click.option("--fold-case", is_flag=True, help="Merge labels that differ in case or spaces."),
    click.option("--allow-network", is_flag=True, help="Fetch s3://, gs:// and https:// addresses."),
    click.option("--sheet", metavar="NAME", help="Sheet of an Excel workbook."),
    choice_option(
        "--repeats", "error", "first", "last", "each", metavar="WHICH",
        help="Repeated votes: error, first, last or each.",
    ),
    click.option("--empty", metavar="TEXT", multiple=True, help="Label that means no vote, such as NA; repeatable."),
    click.option(
        "--format", type=click.Choice(format_words()), metavar="TYPE",
        help=f"{', '.join(format_words())}; overrides the extension.",
    ),
    click.option("--delimiter", metavar="SIGN", help="Field separator."),
    click.option("--encoding", metavar="NAME", help="Text encoding; UTF-8 and UTF-16 are detected."),
    click.option(
        "--max-classes", type=click.IntRange(min=1), default=1000, show_default=True, metavar="N",
        help="Maximum number of distinct labels.",
    ),
    click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Number of threads; default: all cores."),
)  # fmt: skip


def input_options(command: Command) -> Command:
    """Add FILE and the reading options to a command, which receives them as `source`."""
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
    """Add options to a command, which receives what `taken` makes of them."""

    @functools.wraps(command)
    def with_options(**values: Any) -> Any:
        return command(**taken(values))

    for option in reversed(options):
        with_options = option(with_options)
    return with_options
