"""Find the files that the user named, recognise their types, and unpack them within limits."""

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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from majorant.database import STORES, connect_to_store, literal
from majorant.errors import ConfigError, DataError, use
from majorant.filetypes import FILE_TYPES, PACKINGS, FileType, format_words, type_of_ending, type_of_word
from majorant.limits import LIMITS, refuse_beyond
from majorant.ownership import note_input
from majorant.read.options import ReadOptions


def refuse_unpacked(name: str, size: int, unpacked: int, harmless: int = 256_000_000) -> None:
    """Refuse a compressed file that unpacks to hundreds of times its size, which tables of votes never do."""
    if unpacked > harmless:
        what = f"bytes that each byte of {name} unpacks to"
        refuse_beyond("UNPACKED_RATIO", unpacked // max(size, 1), what, "Unpack it yourself if you trust it")


def declared_size(path: Path, packing: str, head: bytes) -> int:
    """The unpacked size according to the compressed data; 0 if not stated."""
    if packing == "zstd":
        return zstd_size(head)
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(-min(4, size), os.SEEK_END)
        unpacked = int.from_bytes(file.read(4), "little")
    return unpacked if unpacked <= 1032 * size else 0  # gzip cannot do better: it is cut off


def zstd_size(head: bytes) -> int:
    """The size stated in the first frame; 0 if there is none, or it is cut off.

    >>> zstd_size(bytes.fromhex("28b52ffd") + bytes([0x80, 0x58]) + (10**9).to_bytes(4, "little"))
    1000000000
    """
    flags = head[4] if len(head) > 4 else 0
    kind, single, dictionary = flags >> 6, flags >> 5 & 1, (0, 1, 2, 4)[flags & 3]
    start = 5 + (0 if single else 1) + dictionary
    n_bytes = (single, 2, 4, 8)[kind]
    return int.from_bytes(head[start : start + n_bytes], "little") + (256 if kind == 1 else 0)


def open_packed(name: str, path: Path, packing: str) -> IO[bytes]:
    """Open a compressed file; damage raises OSError or EOFError, and too many bytes are refused."""
    if not packing:
        return path.open("rb")
    if packing == "gzip":
        stream: Any = gzip.GzipFile(path, "rb")
    else:
        import pyarrow as pa

        stream = pa.input_stream(str(path), compression="zstd")
    return io.BufferedReader(_Unpacked(name, path.stat().st_size, stream), 1 << 16)


class _Unpacked(io.RawIOBase):
    """A stream that counts the unpacked bytes."""

    def __init__(self, name: str, size: int, stream: Any) -> None:
        self.name, self.size, self.stream, self.n_bytes = name, size, stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            block = self.stream.read(len(buffer))
        except zlib.error as error:
            raise gzip.BadGzipFile(str(error)) from None
        self.n_bytes += len(block)
        refuse_unpacked(self.name, self.size, self.n_bytes)
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        self.stream.close()
        super().close()


def archive_members(name: str, path: Path) -> set[str]:
    """The file names in a ZIP archive, after checking in its directory that it is safe to open."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError):  # e.g. an unknown version
        raise DataError(
            f"{name} is an Excel workbook or a ZIP archive that is damaged or cut off. Copy the file again, or save "
            "the sheet as CSV."
        ) from None
    for info in infos:
        if info.flag_bits & 0x61:  # encrypted, patched or strongly encrypted, which zipfile cannot read
            raise DataError(
                f"{name}: {info.filename} in it is protected by a password. Unpack the archive yourself and name the "
                "files in it."
            )
    instead = "Unpack it yourself if you trust it"
    refuse_beyond("ARCHIVE_MEMBERS", len(infos), f"files in {name}", instead)
    refuse_unpacked(name, path.stat().st_size, sum(info.file_size for info in infos))
    for info in infos:  # JSON takes up to fifty times its size in memory
        refuse_unpacked(f"{info.filename} of {name}", info.compress_size, info.file_size, harmless=16_000_000)
    return {info.filename for info in infos}


def read_member(name: str, archive: zipfile.ZipFile, member: str) -> bytes:
    """The content of a file in an archive, which must not exceed the limit for one object."""
    zstandard = 93  # compression method that Python supports from 3.14 on
    most, info = LIMITS["MEMBER_BYTES"], archive.getinfo(member)
    with _open_zstandard(archive, info) if info.compress_type == zstandard else archive.open(info) as stream:
        content: bytes = stream.read(most + 1)
    refuse_beyond("MEMBER_BYTES", len(content), f"bytes in {member} of {name}", "Leave out what is not a score")
    return content


def _open_zstandard(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    """Open a member compressed by Zstandard, as in Inspect logs, with Arrow."""
    import pyarrow as pa

    file: Any = archive.fp
    file.seek(info.header_offset)
    header = file.read(30)  # the local header ends with the lengths of the name and of the extra field
    if header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"{info.filename} does not start where the directory says")
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), os.SEEK_CUR)
    return pa.CompressedInputStream(pa.BufferReader(file.read(info.compress_size)), "zstd")


STANDARD_INPUT = "standard input"


@dataclass(frozen=True, slots=True)
class NamedFile(os.PathLike[str]):
    """A file with another name for display, such as an upload.

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
    """The files in a folder and its subfolders with a known extension, sorted, without hidden and marker files."""
    iceberg = any((folder / "metadata").glob("*.metadata.json"))
    if iceberg or (folder / "_delta_log").is_dir() or (folder / ".hoodie").is_dir():
        raise DataError(
            f"{name} is a Delta, Iceberg or Hudi table: some of its files may be deleted rows. Read it with its own "
            "library and pass the frame, or export it as Parquet."
        )
    files = []
    for path in sorted(folder.rglob("*")):
        own = path.relative_to(folder).parts
        if any(part.startswith((".", "_")) for part in own) or not path.is_file():
            continue
        if type_of_ending(Path(_ending(path.name)[1]).suffix) is not None:
            files.append(path)
    if not files:
        endings = ", ".join(ending for kind in FILE_TYPES for ending in kind.endings)
        raise DataError(
            f"{name} is a folder without files of votes ({endings}). Name the files in it, e.g. "
            f"{str(Path(name) / '*.csv')!r}."
        )
    return files


def partitions(path: str) -> dict[str, str | None]:
    """The values in Hive-style folder names of a path.

    >>> partitions("votes/lang=en/day=2026-01-01/part-0.parquet")
    {'lang': 'en', 'day': '2026-01-01'}
    """
    values = {}
    for part in Path(path).parts[:-1]:
        if match := re.fullmatch(r"([A-Za-z_]\w*)=(.+)", part):
            value = unquote(match[2])
            values[match[1]] = None if value == "__HIVE_DEFAULT_PARTITION__" else value
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that exists, is readable, and is not empty."""

    name: str  # as the user gave it
    path: Path  # where the content is
    type: FileType
    packing: str  # "" | gzip | zstd
    encoding: str
    head: bytes  # the first bytes, unpacked
    item_prefix: str = ""  # distinguishes the items of this log from those of other logs
    worker_suffix: str = ""  # the same for workers

    def open(self) -> IO[bytes]:
        """Open the file, unpacking it; more bytes than a table of votes could unpack to are refused."""
        return open_packed(self.name, self.path, self.packing)

    def refuse_beyond(self, n_bytes: int) -> None:
        """Refuse a compressed file that unpacks to at least this many bytes, if that is too much."""
        if self.packing:
            refuse_unpacked(self.name, self.path.stat().st_size, n_bytes)


def find_files(
    source: str | os.PathLike[str] | Sequence[Any], stack: ExitStack, how: ReadOptions
) -> list[tuple[str, Path]]:
    """The files given by a path, a folder, a pattern, "-" or a list of these, each as (name for messages, path)."""
    if not isinstance(source, (str, os.PathLike)):
        found = [file for one in source for file in find_files(one, stack, how)]
        if not found:
            raise ConfigError("the list of files is empty.")
        return found
    if isinstance(source, NamedFile):
        note_input(source)
        return [(source.name, source.path)]
    name = os.fspath(source)
    if name == "-":
        if sys.stdin is None:
            raise DataError("standard input is closed. Name a file, or send the table through a pipe.")
        return [(STANDARD_INPUT, _spool(STANDARD_INPUT, sys.stdin.buffer, stack))]
    if not name or "\0" in name or "\n" in name or len(name) > 4096:
        shown = name if len(name) <= 60 else f"{name[:59]}…"
        raise ConfigError(f"{shown!r} is not the name of a file. Name the table of votes, or - for standard input.")
    if is_address(name):
        if not how.allow_network:
            raise ConfigError(
                f"{name} is an address, and majorant does not use the network unless you say "
                f"{use('allow_network', True)}. Or download the file first."
            )
        return fetch(name, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="majorant-"))))
    path = expanded(name)
    note_input(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        with _guarded(name, path) as pipe:  # a named pipe or <(...) can be read only once
            if stat.S_ISCHR(path.stat().st_mode) and not pipe.isatty():
                raise ConfigError(f"{name} is a device. Name a file or a pipe.")
            return [(name, _spool(name, pipe, stack))]
    files = files_of(name, path)
    for file in files:
        note_input(file)
    return [(name if file == path else str(file), file) for file in files]


def files_of(name: str, path: Path) -> list[Path]:
    """The files that a name refers to: one file, the files in a folder, or those that match a pattern."""
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


def _spool(name: str, stream: IO[bytes], stack: ExitStack) -> Path:
    """Copy a stream, which can be read only once, to a temporary file."""
    path, size = temporary(stack), 0
    with _room(), path.open("wb") as out:
        while block := stream.read(1 << 20):
            size += len(block)
            refuse_beyond("STREAM_BYTES", size, f"bytes of {name}", "Write them to a file and name it")
            if size % (1 << 28) < len(block) and shutil.disk_usage(path.parent).free < 1 << 30:
                raise OSError(errno.ENOSPC, "less than 1 GB is left")
            out.write(block)
    return path


@contextmanager
def _room() -> Iterator[None]:
    """Report clearly if the temporary folder is full."""
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
    """Expand ~ and ~user in a path; a file called ~$votes.csv stays as it is."""
    path = Path(name)
    if not name.startswith("~") or path.exists():
        return path
    try:
        return path.expanduser()
    except RuntimeError:  # no such user
        return path


def temporary(stack: ExitStack) -> Path:
    """Create an empty temporary file that is removed when `stack` closes."""
    handle, name = tempfile.mkstemp(prefix="majorant-")
    os.close(handle)
    stack.callback(Path(name).unlink, missing_ok=True)
    return Path(name)


def refuse_other_types(name: str, head: bytes) -> None:
    """Refuse a file of a type that we cannot read, and say how to convert it."""
    signatures = (
        (b"BZh", "bzip2 data", "Unpack it with bunzip2, or pack it with gzip."),
        (b"\xfd7zXZ", "xz data", "Unpack it with unxz, or pack it with gzip."),
        (b"SQLite format 3", "an SQLite database", "Export the table as CSV."),
        (b"ARROW1", "an Arrow file", "Pass the table to majorant.read with pyarrow, or save it as Parquet."),
        (b"$FL2", "an SPSS data file", f"Save it as CSV, with the value labels or with {use('codes', '1=yes,2=no')}."),
        (b"<stata_dta>", "a Stata data file", "Save it as CSV: export delimited."),
        (b"%PDF", "a PDF document", "Export the table as CSV."),
    )
    for signature, description, remedy in signatures:
        if head.startswith(signature):
            raise DataError(f"{name} is {description}, which majorant cannot read. {remedy}")


def identify(name: str, path: Path, how: ReadOptions) -> File:
    """Recognise a file by its first bytes; it is an error if the extension says otherwise."""
    head_bytes = 1 << 18
    with _guarded(name, path) as stream:
        raw = stream.read(head_bytes)
    if not raw:
        raise DataError(f"{name} is empty (0 bytes). Check that the export that wrote it finished.")
    refuse_other_types(name, raw)
    if raw.startswith(b"PK\x03\x04"):
        members = archive_members(name, path)
        kind = next((kind for kind in FILE_TYPES if any(some <= members for some in kind.members)), None)
        if kind is None:
            raise DataError(f"{name} holds a ZIP archive. Unpack it and name the files in it.")
        return File(name=name, path=path, type=kind, packing="", encoding="utf-8", head=raw)
    packing = "gzip" if raw.startswith(b"\x1f\x8b") else "zstd" if raw.startswith(b"\x28\xb5\x2f\xfd") else ""
    ending, unpacked_name = _ending(name)
    if ending and packing != ending and name != STANDARD_INPUT:
        raise DataError(
            f"{name} is not {ending} data, although its name says so. Rename it without {Path(name).suffix}."
        )
    if packing and not ending and name != STANDARD_INPUT:
        suffix = next(suffix for suffix, known in PACKINGS.items() if known == packing)
        raise DataError(f"{name} holds {packing} data, although its name does not say so. Rename it to {name}{suffix}.")
    head = raw
    if packing:
        refuse_unpacked(name, path.stat().st_size, declared_size(path, packing, raw))
        try:
            with open_packed(name, path, packing) as stream:
                head = stream.read(head_bytes)
        except (OSError, EOFError) as error:
            trouble = f"its {packing} data are damaged or cut off ({error})"
            raise DataError(f"{name}: {trouble}. Copy the file again.") from None
        if not head:
            raise DataError(f"{name} contains an empty compressed file. Check that the export that wrote it finished.")
    binary = next((kind for kind in FILE_TYPES if kind.magic and head.startswith(kind.magic)), None)
    if packing and binary is not None:
        raise DataError(
            f"{name} holds a compressed Parquet file or workbook. Unpack it; the format is compressed already."
        )
    code = "utf-8" if binary is not None else _encoding(name, head, how.encoding)
    kind = _expected_type(name, unpacked_name, binary or _type_of_text(name, head, code), how.format)
    return File(name=name, path=path, type=kind, packing=packing, encoding=code, head=head)


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


def stem_of(path: Path) -> str:
    """The name of a file without the extensions that show its type.

    >>> stem_of(Path("gemini-2.5-pro.jsonl.gz")), stem_of(Path("notes.final"))
    ('gemini-2.5-pro', 'notes.final')
    """
    name = _ending(path.name)[1]
    return Path(name).stem if type_of_ending(Path(name).suffix) is not None else name


def _encoding(name: str, head: bytes, encoding: str | None) -> str:
    if encoding is not None:
        try:
            code = codecs.lookup(encoding).name
            if code not in ("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"):
                b"a,b\n".decode(code, errors="surrogateescape")  # raises LookupError if the codec is not for text
                return code
        except (LookupError, ValueError):  # ValueError: for example a zero byte in the name
            pass
        raise ConfigError(
            f"{use('encoding', encoding)}: not an encoding of text files. Try utf-8, latin-1, cp1252, utf-16."
        )
    for bom, code in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
    ):  # fmt: skip
        if head.startswith(bom):
            return code
    if b"\0" in head[:4096]:
        sample = head[: min(len(head), 4096) // 2 * 2]
        even, odd = sample[::2].count(0), sample[1::2].count(0)
        if max(even, odd) > len(sample) // 4 and min(even, odd) < max(even, odd) // 8 + 1:
            return "utf-16-be" if even > odd else "utf-16-le"
        raise DataError(f"{name} contains NUL bytes: it is not a text file. Export the votes as CSV, JSON or Parquet.")
    return "utf-8"


def _expected_type(name: str, unpacked_name: str, content: FileType, format: str | None) -> FileType:
    """The file type according to --format or the extension, checked against the content."""
    named = None if format is None else type_of_word(format)
    if format is not None and named is None:
        raise ConfigError(f"{use('format', format)}: choose one of {', '.join(format_words())}.")
    expected = named or type_of_ending(Path(unpacked_name).suffix)
    forced = named is not None and named == FILE_TYPES[0] and not content.magic  # any text can be read as CSV
    if expected is not None and expected != content and not forced:
        raise DataError(
            f"{name} is not {expected.description}, although {use('format', format) if named else 'its name'} says so: "
            f"it looks like {content.description}. Rename it or pass {use('format')}."
        )
    return expected or content


def _type_of_text(name: str, head: bytes, encoding: str) -> FileType:
    text = head.decode(encoding, errors="replace").lstrip().lstrip("\ufeff")
    for kind in FILE_TYPES:
        if kind.text and re.match(kind.text, text, re.DOTALL):
            return kind
    if re.match(r"<(!doctype|html|\?xml)", text, re.IGNORECASE):
        raise DataError(
            f"{name} is a web page or XML, not a table of votes. A download may have been redirected to a login page."
        )
    return FILE_TYPES[0]


def as_utf8(file: File, stack: ExitStack) -> Path:
    """The file itself if it is UTF-8 without a byte-order mark, otherwise a temporary copy that is.

    Raises UnicodeDecodeError if the bytes are not in the file's encoding.
    """
    if file.encoding == "utf-8":
        return file.path
    path = temporary(stack)
    with _room(), file.open() as raw, path.open("w", encoding="utf-8", newline="") as out:
        text = io.TextIOWrapper(raw, encoding=file.encoding, newline="")
        while block := text.read(1 << 22):
            out.write(block)
    return path


def is_address(name: str) -> bool:
    """Whether a name is an address such as s3://bucket/votes.parquet.

    >>> is_address("s3://bucket/votes.parquet"), is_address("votes.csv")
    (True, False)
    """
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+://", name) is not None


def fetch(name: str, folder: Path) -> list[tuple[str, Path]]:
    """Download the files at an address or pattern into `folder`; return each with its address."""
    import duckdb

    scheme = name.split("://")[0].casefold()
    if scheme not in STORES:
        raise ConfigError(f"{name}: DuckDB cannot read {scheme}://. Download the file first.")
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
