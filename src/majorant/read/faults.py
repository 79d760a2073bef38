"""Errors of parsers and decoders, as errors of ours that name the source."""

from __future__ import annotations

import csv
import errno
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec

from majorant.errors import DataError, MajorantError
from majorant.limits import limit
from majorant.read.values import TooDeepError
from majorant.resources import T

P = ParamSpec("P")


@contextmanager
def named_faults(source: Any) -> Iterator[None]:
    """Turn what parsers and decoders raise on damaged input into a DataError that names the source.

    Bugs of our own, such as a TypeError, are let through.

    >>> with named_faults("votes.csv"):
    ...     b"\\xff".decode("utf-8")
    Traceback (most recent call last):
    ...
    majorant.errors.DataError: votes.csv cannot be read: 'utf-8' codec can't decode byte 0xff in position 0: invalid...
    """
    try:
        yield
    except MajorantError:
        raise
    except RecursionError as error:
        raise too_deep(_name(source), error) from None
    except MemoryError:
        raise DataError(
            f"{_name(source)} does not fit into memory: its text, or one value in it, is too long. Check that it is a "
            "table of votes; one that is large is read from the disk with memory=."
        ) from None
    except Exception as error:
        if not _is_of_input(error):
            raise
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        raise DataError(
            f"{_name(source)} cannot be read: {reason[:200]}. Copy or export it again, or say how it is "
            "encoded with encoding=."
        ) from error


def too_deep(source: str, error: RecursionError, instead: str = "Give one plain value a cell") -> DataError:
    """The error for values that are nested too deeply."""
    most = limit("NESTING")
    if isinstance(error, TooDeepError):
        depth = f"{error.depth:,} lists and objects inside each other: the limit NESTING is {most:,}"
        return DataError(f"{source}: {depth}. {instead}, or set the environment variable MAJORANT_NESTING.")
    return DataError(f"{source}: nested too deeply for Python, though not for the limit NESTING, {most:,}. {instead}.")


def naming_faults(read: Callable[P, T]) -> Callable[P, T]:
    """Make a function raise a DataError that names its first argument where the input is damaged."""

    @wraps(read)
    def guarded(*args: P.args, **named: P.kwargs) -> T:
        with named_faults(next(iter((*args, *named.values())), "votes")):
            return read(*args, **named)

    return guarded


def _is_of_input(error: Exception) -> bool:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS):
        return False  # of a file that is being written, which is reported elsewhere
    if isinstance(error, json.JSONDecodeError):  # in a cell
        return True
    if type(error) is LookupError:  # an unknown encoding that a file names
        return True
    if isinstance(error, (OSError, EOFError, UnicodeError, OverflowError, csv.Error, zlib.error, zipfile.BadZipFile)):
        return True
    from xml.etree.ElementTree import ParseError

    import duckdb
    import pyarrow as pa

    return isinstance(error, (duckdb.Error, pa.ArrowException, ParseError))


def _name(source: Any) -> str:
    if isinstance(source, (str, os.PathLike)):
        return "standard input" if os.fspath(source) == "-" else str(source)
    return type(source).__name__
