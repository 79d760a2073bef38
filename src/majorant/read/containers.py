"""Files inside files: packed text and archives, with a bound on what they may unpack to.

What a container says of its size is checked before it is opened, and what comes out of it while it is read.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

from majorant.errors import DataError
from majorant.limits import limit, refuse_beyond


def refuse_unpacked(name: str, size: int, unpacked: int, harmless: int = 256_000_000) -> None:
    """Refuse a container of some size that unpacks to hundreds of times as much, as tables of votes do not."""
    if unpacked > harmless:
        what = f"bytes that each byte of {name} unpacks to"
        refuse_beyond("UNPACKED_RATIO", unpacked // max(size, 1), what, "Unpack it yourself if you trust it")


def declared_size(path: Path, packing: str, head: bytes) -> int:
    """How large packed data say they are; 0 if they do not say."""
    if packing == "zstd":
        return zstd_size(head)
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(-min(4, size), os.SEEK_END)
        unpacked = int.from_bytes(file.read(4), "little")
    return unpacked if unpacked <= 1032 * size else 0  # gzip cannot pack better: the file is cut off


def zstd_size(head: bytes) -> int:
    """The size that the first frame declares; 0 if it declares none, or is cut off.

    >>> zstd_size(bytes.fromhex("28b52ffd") + bytes([0x80, 0x58]) + (10**9).to_bytes(4, "little"))
    1000000000
    """
    flags = head[4] if len(head) > 4 else 0
    kind, single, dictionary = flags >> 6, flags >> 5 & 1, (0, 1, 2, 4)[flags & 3]
    start = 5 + (0 if single else 1) + dictionary
    n_bytes = (single, 2, 4, 8)[kind]
    return int.from_bytes(head[start : start + n_bytes], "little") + (256 if kind == 1 else 0)


def open_packed(name: str, path: Path, packing: str) -> IO[bytes]:
    """The bytes of a file, unpacked; damage is an OSError or EOFError, and too many bytes are refused."""
    if not packing:
        return path.open("rb")
    if packing == "gzip":
        stream: Any = gzip.GzipFile(path, "rb")
    else:
        import pyarrow as pa

        stream = pa.input_stream(str(path), compression="zstd")
    return io.BufferedReader(_Unpacked(name, path.stat().st_size, stream), 1 << 16)


class _Unpacked(io.RawIOBase):
    """A stream that counts what comes out of a container."""

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
    """The names in a ZIP archive, once its directory has shown that it is safe to open."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError):  # such as a version that nobody wrote
        raise DataError(
            f"{name} is an Excel workbook or a ZIP archive that is damaged or cut off. Copy the file again, or save "
            "the sheet as CSV."
        ) from None
    for info in infos:
        if info.flag_bits & 0x61:  # encrypted, patched, strongly encrypted: what zipfile does not read
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
    """The content of a file in an archive, if it is not larger than one object may be."""
    zstandard = 93  # a way of packing archives that Python itself reads from 3.14 on
    most, info = limit("MEMBER_BYTES"), archive.getinfo(member)
    with _open_zstandard(archive, info) if info.compress_type == zstandard else archive.open(info) as stream:
        content: bytes = stream.read(most + 1)
    refuse_beyond("MEMBER_BYTES", len(content), f"bytes in {member} of {name}", "Leave out what is not a score")
    return content


def _open_zstandard(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    """A member that is packed by Zstandard, as Inspect packs its logs, by way of Arrow."""
    import pyarrow as pa

    file: Any = archive.fp
    file.seek(info.header_offset)
    header = file.read(30)  # the local header: the lengths of the name and of what follows it are at its end
    if header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"{info.filename} does not begin where the directory says")
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), os.SEEK_CUR)
    return pa.CompressedInputStream(pa.BufferReader(file.read(info.compress_size)), "zstd")
