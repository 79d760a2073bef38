"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from majorant.errors import ConfigError


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name beside `path`, moved to it when the block ends well and removed when it does not.

    >>> import tempfile; folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as name:
    ...     _ = name.write_text("all of it")
    >>> (folder / "a.txt").read_text(), len(list(folder.iterdir()))
    ('all of it', 1)
    """
    target = Path(path)
    if target.is_dir():
        raise ConfigError(f"Cannot write {target}: it is a folder. Name a file in it.")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:60]}.", suffix=".part", dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise cannot_write(target, error) from error
    part = Path(name)
    try:
        yield part
        _give_usual_permissions(part)
        part.replace(target)
    except OSError as error:
        raise cannot_write(target, error) from error
    finally:
        part.unlink(missing_ok=True)


def make_folder(path: str | os.PathLike[str]) -> Path:
    """The folder for output, created with its parents where it is missing."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    return folder


def cannot_write(target: Path, error: OSError) -> ConfigError:
    """The error for a file or folder that cannot be written, with the system's reason."""
    reason = error.strerror or str(error)
    return ConfigError(f"Cannot write {target}: {reason}. Nothing was left behind; choose another place with --out.")


def _give_usual_permissions(path: Path) -> None:
    """Temporary files are private; the finished file gets what the user's umask would have given it."""
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o666 & ~umask)
