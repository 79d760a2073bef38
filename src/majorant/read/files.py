"""From what the user named to files that can be read: which they are, whether they can, and what is in them."""

from __future__ import annotations

import codecs
import errno
import glob
import gzip
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import unquote

from majorant.database import STORES, connect_to_store, literal
from majorant.errors import ConfigError, DataError
from majorant.limits import refuse_beyond
from majorant.read.options import ReadOptions

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
STANDARD_INPUT = "standard input"
HEAD_BYTES = 1 << 18
DEFLATED = 1032  # bytes that one byte of gzip can become at most
LEAST_BOMB = 256_000_000  # bytes; less does no harm
BLOCK_CHARS = 1 << 22
PACKINGS = {".gz": "gzip", ".zst": "zstd"}
MAGIC = (
    (b"PAR1", "parquet", ""),
    (b"\x1f\x8b", "gzip", ""),
    (b"\x28\xb5\x2f\xfd", "zstd", ""),
    (b"BZh", "bzip2 data", "Unpack it with bunzip2, or pack it with gzip."),
    (b"\xfd7zXZ", "xz data", "Unpack it with unxz, or pack it with gzip."),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV."),
    (b"ARROW1", "an Arrow file", "Open it with pyarrow and hand the table to majorant.read, or save it as Parquet."),
    (b"$FL2", "an SPSS data file", "Save it as CSV, with the value labels or with codes='1=yes,2=no'."),
    (b"<stata_dta>", "a Stata data file", "Save it as CSV: export delimited."),
    (b"%PDF", "a PDF document", "Export the table as CSV."),
)
NOT_FOR_FILES = ("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7")
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip


class FileKind(NamedTuple):
    """A kind of file: what `File.format` calls it, what a message does, its endings, and what format= may call it."""

    name: str
    spelt: str
    endings: tuple[str, ...]
    words: tuple[str, ...] = ()


KINDS = (  # each has its reader in `opening.READERS`
    FileKind("csv", "a delimited text file (CSV)", (".csv", ".tsv", ".tab", ".psv"), ("csv", "tsv")),
    FileKind("json", "JSON", (".json", ".jsonl", ".ndjson"), ("json", "jsonl")),
    FileKind("parquet", "Parquet", (".parquet", ".pq"), ("parquet",)),
    FileKind("eval", "an Inspect log", (".eval",)),
    FileKind("cvat", "a CVAT export", (".xml",)),
    FileKind("excel", "a spreadsheet", (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")),
)
KIND_OF_ENDING = {ending: kind.name for kind in KINDS for ending in kind.endings}
KIND_OF_WORD = {word: kind.name for kind in KINDS for word in kind.words}


@dataclass(frozen=True, slots=True)
class NamedFile(os.PathLike[str]):
    """A file that messages call by another name: an upload, stored under a name of ours.

    >>> f"{NamedFile(Path('/tmp/votes-1.csv'), 'my votes.csv')} is empty"
    'my votes.csv is empty'
    """

    path: Path
    name: str

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return self.name


def files_in(name: str, folder: Path) -> list[Path]:
    """The files below a folder whose endings are known, in sorted order; hidden and marker files are left out."""
    if (folder / "_delta_log").is_dir() or (folder / ".hoodie").is_dir() or _is_iceberg(folder):
        raise DataError(
            f"{name} is a Delta, Iceberg or Hudi table: some of its files may be deleted rows. Read it with its own "
            "library and hand the frame over, or export it as Parquet."
        )
    files = []
    for path in sorted(folder.rglob("*")):
        own = path.relative_to(folder).parts
        if any(part.startswith((".", "_")) for part in own) or not path.is_file():
            continue
        if Path(_ending(path.name)[1]).suffix.lower() in KIND_OF_ENDING:
            files.append(path)
    if not files:
        raise DataError(
            f"{name} is a directory without files of votes ({', '.join(KIND_OF_ENDING)}). Name the files in it, e.g. "
            f"{str(Path(name) / '*.csv')!r}."
        )
    return files


def _is_iceberg(folder: Path) -> bool:
    return any((folder / "metadata").glob("*.metadata.json")) if (folder / "metadata").is_dir() else False


def partitions(path: str) -> dict[str, str | None]:
    """What the folders of a path say, as Hive names them.

    >>> partitions("votes/lang=en/day=2026-01-01/part-0.parquet")
    {'lang': 'en', 'day': '2026-01-01'}
    """
    values = {}
    for part in Path(path).parts[:-1]:
        if match := re.fullmatch(r"([A-Za-z_]\w*)=(.+)", part):
            value = unquote(match[2])
            values[match[1]] = None if value == NO_VALUE else value
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that exists, can be read and holds something."""

    name: str  # as the user wrote it
    path: Path  # where its bytes are
    format: str  # the name of its FileKind
    packing: str  # "" | gzip | zstd
    encoding: str
    head: bytes  # the first bytes, unpacked

    def open(self) -> IO[bytes]:
        """Its bytes, unpacked."""
        return _open(self.path, self.packing)


def find_files(
    source: str | os.PathLike[str] | Sequence[Any], stack: ExitStack, how: ReadOptions
) -> list[tuple[str, Path]]:
    """The files that a path, a folder, a glob, "-" or a list of these names, each as (name for messages, path)."""
    if not isinstance(source, (str, os.PathLike)):
        found = [file for one in source for file in find_files(one, stack, how)]
        if not found:
            raise ConfigError("the list of files is empty.")
        return found
    if isinstance(source, NamedFile):
        return [(source.name, source.path)]
    name = os.fspath(source)
    if name == "-":
        if sys.stdin is None:
            raise DataError("standard input is closed. Name a file, or send the table through a pipe.")
        return [(STANDARD_INPUT, _spool(sys.stdin.buffer, stack))]
    if not name or "\0" in name:
        raise ConfigError(f"{name!r} is no file name. Name the table of votes, or - for standard input.")
    if is_address(name):
        if not how.allow_network:
            raise ConfigError(
                f"{name} is an address, and majorant opens no connection by itself. Allow it with allow_network=True, "
                "or download the file first."
            )
        return fetch(name, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="majorant-"))))
    path = expanded(name)
    if path.exists() and not path.is_file() and not path.is_dir():
        if stat.S_ISCHR(path.stat().st_mode) and not _is_terminal(path):
            raise ConfigError(f"{name} is a device. Name a file or a pipe.")
        with _guarded(name, path) as pipe:  # a named pipe or <(...) can be read only once
            return [(name, _spool(pipe, stack))]
    return [(name if file == path else str(file), file) for file in files_of(name, path)]


def files_of(name: str, path: Path) -> list[Path]:
    """The files that a name stands for: the one at its path, those in a folder, or those that match a pattern."""
    if path.is_dir():
        return files_in(name, path)
    if path.exists() or not glob.has_magic(name):
        return [path]
    matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 (absolute ones)
    files = [match for match in matches if not match.is_dir()]
    if not matches:
        raise DataError(f"{name}: no file matches. Check the folder and the pattern.")
    if not files:
        raise DataError(f"{name}: only folders match. Name the files in them, e.g. {str(path / '*.csv')!r}.")
    return files


def _spool(stream: IO[bytes], stack: ExitStack) -> Path:
    path = temporary(stack)
    with _room(), path.open("wb") as out:
        shutil.copyfileobj(stream, out, 1 << 20)
    return path


@contextmanager
def _room() -> Iterator[None]:
    """A full temporary folder is not the table's fault."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
            raise
        raise ConfigError(
            f"Cannot write to the temporary folder {tempfile.gettempdir()}: {error.strerror}. Make room there, or name "
            "another with the environment variable TMPDIR."
        ) from None


def expanded(name: str) -> Path:
    """The path, ~ and ~user replaced; a name that only begins so, such as ~$votes.csv, stays as it is."""
    path = Path(name)
    if not name.startswith("~") or path.exists():
        return path
    try:
        return path.expanduser()
    except RuntimeError:  # no such user
        return path


def _is_terminal(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.isatty()
    except OSError:
        return False


def temporary(stack: ExitStack) -> Path:
    """The name of an empty file that is removed when `stack` closes."""
    handle, name = tempfile.mkstemp(prefix="majorant-")
    os.close(handle)
    stack.callback(Path(name).unlink, missing_ok=True)
    return Path(name)


def identify(name: str, path: Path, how: ReadOptions) -> File:
    """What the file holds, by its first bytes; an error where its ending says otherwise."""
    with _guarded(name, path) as stream:
        raw = stream.read(HEAD_BYTES)
    if not raw:
        raise DataError(f"{name} is empty (0 bytes). Check that the export that wrote it finished.")
    content, next_move = next(((what, move) for magic, what, move in MAGIC if raw.startswith(magic)), ("", ""))
    if next_move:
        raise DataError(f"{name} holds {content}, which majorant does not read. {next_move}")
    if archive := _archive(name, path, raw):
        return File(name=name, path=path, format=archive, packing="", encoding="utf-8", head=raw)
    packing = content if content in ("gzip", "zstd") else ""
    ending, unpacked_name = _ending(name)
    if packing != ending and name != STANDARD_INPUT:
        _refuse_packing(name, packing, ending)
    if packing:
        _refuse_bomb(name, path, packing, raw)
    head = raw if not packing else _unpacked_head(name, path, packing)
    if packing and not head:
        raise DataError(f"{name} holds an empty file, packed. Check that the export that wrote it finished.")
    if head.startswith(b"PAR1") and packing:
        raise DataError(f"{name} holds a packed Parquet file. Unpack it first; Parquet is compressed already.")
    code = _encoding(name, head, how.encoding)
    kind = _format(name, unpacked_name, head, code, how.format)
    return File(name=name, path=path, format=kind, packing=packing, encoding=code, head=head)


def _refuse_bomb(name: str, path: Path, packing: str, raw: bytes) -> None:
    """Refuse a packed file that says it unpacks to hundreds of times its size: tables of votes do not."""
    size = path.stat().st_size
    if packing == "gzip":
        with path.open("rb") as file:
            file.seek(-4, os.SEEK_END)
            unpacked = int.from_bytes(file.read(4), "little")
        if unpacked > DEFLATED * size:  # no size at all: the file is cut off
            return
    else:
        unpacked = _zstd_size(raw)
    if unpacked > LEAST_BOMB:
        what = f"bytes that each byte of {name} unpacks to"
        refuse_beyond("UNPACKED_RATIO", unpacked // max(size, 1), what, "Unpack it yourself if you trust it")


def _zstd_size(raw: bytes) -> int:
    """The size that the first frame says it has; 0 where it does not say, or is cut off.

    >>> _zstd_size(bytes.fromhex("28b52ffd") + bytes([0x80, 0x58]) + (10**9).to_bytes(4, "little"))
    1000000000
    """
    head = raw[4] if len(raw) > 4 else 0
    kind, whole, named = head >> 6, head >> 5 & 1, (0, 1, 2, 4)[head & 3]
    start = 5 + (0 if whole else 1) + named
    n_bytes = (whole, 2, 4, 8)[kind]
    return int.from_bytes(raw[start : start + n_bytes], "little") + (256 if kind == 1 else 0)


def _archive(name: str, path: Path, raw: bytes) -> str:
    """What a ZIP archive or an old workbook holds: an Inspect log, a workbook or a CVAT export; "" for other files."""
    if raw.startswith(b"\xd0\xcf\x11\xe0"):
        return "excel"
    if not raw.startswith(b"PK\x03\x04"):
        return ""
    try:
        with zipfile.ZipFile(path) as archive:
            members = set(archive.namelist())
    except (zipfile.BadZipFile, OSError, NotImplementedError):  # the last: a version of ZIP that nobody wrote
        raise DataError(
            f"{name} is an Excel workbook or a ZIP archive that is damaged or cut off. Copy the file again, or save "
            "the sheet as CSV."
        ) from None
    if {"header.json", "_journal/start.json"} & members:
        return "eval"
    if "[Content_Types].xml" in members or {"mimetype", "content.xml"} <= members:
        return "excel"
    if "annotations.xml" in members:
        return "cvat"
    raise DataError(f"{name} holds a ZIP archive. Unpack it and name the files in it.")


def _guarded(name: str, path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise DataError(f"{name}: no such file. Check the name and the folder ({Path.cwd()}).") from None
    except PermissionError:
        raise DataError(f"{name}: no permission to read it. Ask its owner, or chmod +r it.") from None
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}.") from None


def _ending(name: str) -> tuple[str, str]:
    packing = PACKINGS.get(Path(name).suffix.lower(), "")
    return packing, name[: -len(Path(name).suffix)] if packing else name


def _refuse_packing(name: str, packing: str, ending: str) -> None:
    if ending:
        raise DataError(
            f"{name} is not {ending} data, although its name says so. Rename it without {Path(name).suffix}."
        )
    suffix = next(suffix for suffix, known in PACKINGS.items() if known == packing)
    raise DataError(f"{name} holds {packing} data, although its name does not say so. Rename it to {name}{suffix}.")


def _unpacked_head(name: str, path: Path, packing: str) -> bytes:
    try:
        with _open(path, packing) as stream:
            return stream.read(HEAD_BYTES)
    except (OSError, EOFError) as error:
        raise DataError(f"{name}: its {packing} data are damaged or cut off ({error}). Copy the file again.") from None


def _open(path: Path, packing: str) -> IO[bytes]:
    if packing == "gzip":
        return _Gzip(path, "rb")  # type: ignore[return-value]
    if packing == "zstd":
        import pyarrow as pa

        return io.BufferedReader(pa.input_stream(str(path), compression="zstd"))
    return path.open("rb")


class _Gzip(gzip.GzipFile):
    """Damage within is an OSError, as damage of the head and the end is."""

    def _guard(self, read: Callable[..., Any], *args: Any) -> Any:
        try:
            return read(*args)
        except zlib.error as error:
            raise gzip.BadGzipFile(str(error)) from None

    def read(self, size: int | None = -1) -> bytes:
        return bytes(self._guard(super().read, size))

    def read1(self, size: int = -1) -> bytes:
        return bytes(self._guard(super().read1, size))

    def readline(self, size: int | None = -1) -> bytes:
        return bytes(self._guard(super().readline, size))


def _encoding(name: str, head: bytes, encoding: str | None) -> str:
    if encoding is not None:
        try:
            code = codecs.lookup(encoding).name
            if code not in NOT_FOR_FILES:
                b"a,b\n".decode(code, errors="surrogateescape")  # a LookupError where it makes no text
                return code
        except (LookupError, UnicodeError):
            pass
        raise ConfigError(f"encoding={encoding!r}: no encoding of text files. Try utf-8, latin-1, cp1252, utf-16.")
    for bom, code in BOMS:
        if head.startswith(bom):
            return code
    if b"\0" in head[:4096] and not head.startswith(b"PAR1"):
        sample = head[: min(len(head), 4096) // 2 * 2]
        even, odd = sample[::2].count(0), sample[1::2].count(0)
        if max(even, odd) > len(sample) // 4 and min(even, odd) < max(even, odd) // 8 + 1:
            return "utf-16-be" if even > odd else "utf-16-le"
        raise DataError(f"{name} holds zero bytes: it is not a text file. Export the votes as CSV, JSON or Parquet.")
    return "utf-8"


def _format(name: str, unpacked_name: str, head: bytes, encoding: str, format: str | None) -> str:
    if format is not None and format not in KIND_OF_WORD:
        raise ConfigError(f"format={format!r}: choose one of {', '.join(KIND_OF_WORD)}.")
    content = _content(name, head, encoding)
    named = KIND_OF_WORD.get(format or "", "")
    expected = named or KIND_OF_ENDING.get(Path(unpacked_name).suffix.lower(), "")
    if expected and expected != content and not (named == "csv" and content == "json"):
        spelt = {kind.name: kind.spelt for kind in KINDS}
        raise DataError(
            f"{name} is not {spelt[expected]}, although {f'format={format!r}' if named else 'its name'} says so: it "
            f"looks like {spelt[content]}. Rename it or say format=."
        )
    return expected or content


def _content(name: str, head: bytes, encoding: str) -> str:
    if head.startswith(b"PAR1"):
        return "parquet"
    text = head.decode(encoding, errors="replace").lstrip()
    if re.match(r"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?<annotations>", text, re.DOTALL):
        return "cvat"
    if re.match(r"<(!doctype|html|\?xml)", text, re.IGNORECASE):
        raise DataError(f"{name} is a web page or XML, not a table of votes. Perhaps a download asked for a login.")
    return "json" if re.match(r"\{\s*[\"}]|\[\s*[\[{\]]|\[\s*$", text) else "csv"


def as_utf8(file: File, stack: ExitStack) -> Path:
    """A file with the same text in UTF-8 without a mark: itself (packed or not) if it is one, else a temporary copy.

    Raises UnicodeDecodeError where the bytes are not what the encoding says.
    """
    if file.encoding == "utf-8":
        return file.path
    path = temporary(stack)
    with _room(), file.open() as raw, path.open("w", encoding="utf-8", newline="") as out:
        text = io.TextIOWrapper(raw, encoding=file.encoding, newline="")
        while block := text.read(BLOCK_CHARS):
            out.write(block)
    return path


def is_address(name: str) -> bool:
    """Whether a name is an address such as s3://bucket/votes.parquet.

    >>> is_address("s3://bucket/votes.parquet"), is_address("votes.csv")
    (True, False)
    """
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+://", name) is not None


def fetch(name: str, folder: Path) -> list[tuple[str, Path]]:
    """The files behind an address, a pattern too, copied into `folder`, each with its address."""
    import duckdb

    scheme = name.split("://")[0].casefold()
    if scheme not in STORES:
        raise ConfigError(f"{name}: {scheme}:// is no store that DuckDB reads. Download the file first.")
    files: list[tuple[str, Path]] = []
    try:
        with connect_to_store(scheme) as connection:
            blobs = connection.execute(f"SELECT filename, content FROM read_blob({literal(name)}) ORDER BY filename")
            while (row := blobs.fetchone()) is not None:
                path = folder / f"{len(files):06}-{row[0].rsplit('/', 1)[-1]}"
                path.write_bytes(row[1])
                files.append((row[0], path))
    except duckdb.Error as error:
        raise DataError(
            f"{name} cannot be fetched: {str(error).splitlines()[0]} Check the address and your credentials."
        ) from None
    if not files:
        raise DataError(f"{name}: no file matches. Check the bucket and the pattern.")
    return files
