"""Votes larger than memory: --memory, where the sorted votes are kept, and going on after a cut."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.progress import stages
from majorant.cli.source import DATASET, Source
from majorant.errors import ConfigError

if TYPE_CHECKING:
    from majorant.backend.files import FileBackend

Command = Callable[..., Any]
_OPTIONS = (
    click.option(
        "--memory", metavar="SIZE", help="For votes larger than memory: work from files within this much, such as 2GB."
    ),
    click.option("--work", metavar="DIR", help="With --memory: keep the sorted votes in this folder."),
    click.option(
        "--resume", is_flag=True, help="With --memory: go on where a run was cut off, or use its sorted votes again."
    ),
)


@dataclass(frozen=True, slots=True)
class Large:
    """How to work on votes that need not fit into memory."""

    memory: int
    work: str | None
    resume: bool

    @contextlib.contextmanager
    def backend(self, source: Source, out: str | None = None, by: str | None = None) -> Iterator[FileBackend]:
        """The votes, sorted into a folder; one of our own lies beside the output, and goes if all went well."""
        from majorant.backend.files import FileBackend
        from majorant.backend.prepare import clear, locked, prepare
        from majorant.backend.store import MANIFEST

        if source.file[0].startswith(DATASET):
            raise ConfigError(f"{source.file[0]} fits into memory: leave out --memory.")
        folder = Path(self.work) if self.work else _beside(out, source)
        done = False
        with locked(folder), stages(quiet=source.quiet) as (report, progress):
            try:
                options = replace(source.options, by=by)
                stored = prepare(source.files, folder, options, memory=self.memory, resume=self.resume, report=report)
                yield FileBackend(stored, self.memory, report, progress)
                done = True
            finally:
                if self.work is None and (done or not (folder / MANIFEST).exists()):
                    clear(folder)
                    _remove(folder)
                elif not done and (folder / MANIFEST).exists():
                    click.echo(f"The sorted votes stay in {folder}: go on with --resume, or remove it.", err=True)


def _large(memory: str, work: str | None, resume: bool) -> Large:
    from majorant.backend.budget import parse_memory

    return Large(parse_memory(memory), work, resume)


def memory_options(command: Command) -> Command:
    """Give a command --memory, --work and --resume; it receives them as `large`, None without --memory."""

    def with_large(**values: Any) -> Any:
        memory, work, resume = values.pop("memory"), values.pop("work"), values.pop("resume")
        if memory is None and (work is not None or resume):
            raise ConfigError(f"{'--work' if work is not None else '--resume'} goes with --memory, such as 2GB.")
        return command(large=None if memory is None else _large(memory, work, resume), **values)

    with_large.__name__, with_large.__doc__ = command.__name__, command.__doc__
    with_large.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(_OPTIONS):
        with_large = option(with_large)
    return with_large


def _beside(out: str | None, source: Source) -> Path:
    """A folder of our own whose name tells the source, so that --resume finds it."""
    name = hashlib.sha256("\n".join(str(Path(file).absolute()) for file in source.file).encode()).hexdigest()[:12]
    place = Path.cwd() if out in (None, "-") else Path(out).parent
    return place / f".majorant-{name}"


def _remove(folder: Path) -> None:
    (folder / "lock").unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # somebody else's file is in it
        folder.rmdir()
