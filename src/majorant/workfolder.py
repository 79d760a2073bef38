"""Working folders for intermediate files, and which files may be created in and removed from them.

A working folder is one that we created or found empty. Its file `.majorant-work` lists each of our files before it is
written. Only listed files are ever removed, and a folder with files but no such list is refused. The list also serves
as the lock that keeps a second run out.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from majorant.atomic import cannot_write, lock, make_folder, remove_leftovers
from majorant.errors import ConfigError, use

LIST = ".majorant-work"
WORK_HEADER = "majorant working folder, format 1. majorant may remove the files listed below, and no others.\n"
WORK_FOLDER = "majorant-work"  # its name within a folder that the user chose


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """A folder that majorant created or found empty.

    >>> import tempfile
    >>> work = WorkFolder.open(Path(tempfile.mkdtemp()) / "work")
    >>> _ = work.claim("votes.parquet").write_text("ours")
    >>> _ = (work.path / "notes.txt").write_text("the user's")
    >>> work.remove()
    >>> [path.name for path in work.path.iterdir() if path.name != LIST]
    ['notes.txt']
    """

    path: Path
    names: set[str] = field(default_factory=set, compare=False, repr=False)  # claimed by this object

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, inputs: Iterable[str | os.PathLike[str]] = ()) -> WorkFolder:
        """Create the folder, or use one that is empty or already ours.

        Raises
        ------
        ConfigError
            If the folder holds files but is not ours, or if one of `inputs` is inside it.
        """
        folder = make_folder(path)
        for file in map(Path, inputs):
            if file.resolve().is_relative_to(folder.resolve()):
                raise ConfigError(
                    f"{file} is in the working folder {folder}. Choose another folder with {use('work', 'DIR')}."
                )
        if not (folder / LIST).is_file():
            if any(folder.iterdir()):
                raise ConfigError(
                    f"{folder} holds files that majorant did not write, so it cannot be used for intermediate files. "
                    f"Choose another folder with {use('work', 'DIR')}."
                )
            try:
                (folder / LIST).write_text(WORK_HEADER, encoding="utf-8")
            except OSError as error:
                (folder / LIST).unlink(missing_ok=True)
                raise cannot_write(folder, error) from error
        return cls(folder)

    def claim(self, name: str) -> Path:
        """List a file as ours before it is written; a name that ends in a slash is DuckDB's temporary folder."""
        path = self.path / name
        if name in self.names:
            return path
        if name not in self._claimed():
            if path.is_symlink() or path.exists():
                raise ConfigError(
                    f"{path} was not written by majorant. Choose another folder with {use('work', 'DIR')}."
                )
            with (self.path / LIST).open("a", encoding="utf-8") as file:
                file.write(f"{name}\n")
        self.names.add(name)
        return path

    def clear(self) -> None:
        """Remove the claimed files, and DuckDB's folder if nothing else is in it."""
        for name in self._claimed():
            path = self.path / name.removesuffix("/")
            if not name.endswith("/"):
                if path.is_symlink() or not path.is_dir():
                    path.unlink(missing_ok=True)
            elif not path.is_symlink():
                for file in path.glob("duckdb_temp*"):
                    file.unlink()
                with contextlib.suppress(OSError):  # it contains other files, or was never created
                    path.rmdir()
        remove_leftovers(self.path, ("part", "rows", "old"))
        self.names.clear()
        os.truncate(self.path / LIST, len(WORK_HEADER))

    def remove(self) -> None:
        """Clear the folder, and remove it unless it contains other files."""
        self.clear()
        if [path.name for path in self.path.iterdir()] == [LIST]:
            (self.path / LIST).unlink()
            self.path.rmdir()

    def _claimed(self) -> list[str]:
        try:
            header, *names = (self.path / LIST).read_text(encoding="utf-8").split("\n")
        except (OSError, ValueError):
            return []
        if f"{header}\n" != WORK_HEADER:
            return []
        plain = [name for name in names if name.removesuffix("/") not in ("", ".", "..")]
        return [name for name in plain if Path(name).name == name.removesuffix("/")]  # no paths to other folders


@contextlib.contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[WorkFolder]:
    """Open a working folder and lock it; the lock is released when the process ends, even if it is killed."""
    while True:
        work = WorkFolder.open(path)
        with (work.path / LIST).open("a") as file:
            if lock(file.fileno(), wait=False) is False:
                raise ConfigError(f"{work.path} is in use by another run. Wait for it, or choose another folder.")
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), (work.path / LIST).stat()):
                    yield work
                    return
        # the run that held the lock has removed the folder in the meantime: start again
