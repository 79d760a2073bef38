"""Packed files and archives that are cut off, edited in their headers, or unpack to very much."""

from __future__ import annotations

import gzip
import io
import json
import resource
import struct
import zipfile
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corpus import TABLE, fuzz

MOST_GROWTH = 1_500_000_000  # bytes by which one case may raise the memory of its process
BOMB_EVERY = 1_000  # cases
FIXTURES = Path(__file__).parent.parent / "read" / "fixtures"


@cache
def sound() -> dict[str, bytes]:
    """A sound container of each kind, by the name of its file."""
    text = TABLE.encode()
    rows = [line.split(",") for line in TABLE.split()]
    parquet = {}
    for packing in ("none", "snappy", "zstd", "gzip"):
        file = io.BytesIO()
        columns = dict(zip(rows[0], map(list, zip(*rows[1:], strict=True)), strict=True))
        pq.write_table(pa.table(columns), file, compression=packing, row_group_size=25)
        parquet[f"{packing}.parquet"] = file.getvalue()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("votes.csv", text)
    sheets = {path.name: path.read_bytes() for path in FIXTURES.rglob("*") if path.suffix in (".xlsx", ".ods", ".eval")}
    cvat = io.BytesIO()
    with zipfile.ZipFile(cvat, "w", zipfile.ZIP_DEFLATED) as out:
        out.write(next(FIXTURES.rglob("cvat/*.xml")), "annotations.xml")
    return {
        "cvat.zip": cvat.getvalue(),
        "a.csv.gz": gzip.compress(text, mtime=0),
        "twice.csv.gz": gzip.compress(text[:400], mtime=0) + gzip.compress(text[400:], mtime=0),
        "nested.csv.gz": gzip.compress(gzip.compress(text, mtime=0), mtime=0),
        "a.jsonl.gz": gzip.compress(
            "\n".join(json.dumps(dict(zip(rows[0], row, strict=True))) for row in rows[1:]).encode(), mtime=0
        ),
        "a.csv.zst": pa.compress(text, codec="zstd", asbytes=True),
        "twice.csv.zst": b"".join(pa.compress(part, codec="zstd", asbytes=True) for part in (text[:400], text[400:])),
        "a.zip": archive.getvalue(),
        **parquet,
        **sheets,
    }


def container_case(number: int) -> tuple[fuzz.Case, bool]:
    """Case `number`, and whether it unpacks to very much."""
    rng = np.random.default_rng([4, number])
    if number % BOMB_EVERY == 0:
        name, content = bomb(rng)
        return fuzz.Case("votes", name, content), True
    names = sorted(sound())
    slow = (".xlsx", ".ods")  # read in a process of their own
    name = names[int(rng.integers(len(names)))]
    while name.endswith(slow) and rng.random() < 0.97:
        name = names[int(rng.integers(len(names)))]
    content = sound()[name]
    match int(rng.integers(4)):
        case 0:
            content = content[: int(rng.integers(len(content)))]
        case 1:
            content = _with_numbers_changed(content, rng, at_end=bool(rng.integers(2)))
        case 2 if content[:2] == b"PK":
            content = _with_directory_changed(content, rng)
        case _:
            content = fuzz._mutated(content, rng)
    if rng.random() < 0.1:  # under the name of another kind
        name = names[int(rng.integers(len(names)))]
    return fuzz.Case("votes", name, content), False


def _with_numbers_changed(content: bytes, rng: np.random.Generator, *, at_end: bool) -> bytes:
    """Sizes, offsets and flags stand in the first or last bytes of a container."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        span = min(60, len(changed))
        at = int(rng.integers(span)) if not at_end else len(changed) - 1 - int(rng.integers(span))
        width = int(rng.choice([1, 2, 4, 8]))
        value = int(rng.choice([0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1])) % 256**width
        changed[at : at + width] = value.to_bytes(width, "little")
    return bytes(changed)


def _with_directory_changed(content: bytes, rng: np.random.Generator) -> bytes:
    """A field of an entry in the directory of a ZIP archive with another value."""
    places = [n for n in range(len(content) - 4) if content[n : n + 4] == b"PK\x01\x02"]
    if not places:
        return fuzz._mutated(content, rng)
    at = places[int(rng.integers(len(places)))]
    offset, width = [(8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (42, 4)][int(rng.integers(8))]
    value = int(rng.choice([0, 1, 8, 99, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, int(rng.integers(2**31))])) % 256**width
    changed = bytearray(content)
    changed[at + offset : at + offset + width] = value.to_bytes(width, "little")
    return bytes(changed)


def bomb(rng: np.random.Generator) -> tuple[str, bytes]:
    """A few hundred megabytes in a small file, of votes or of nothing."""
    megabytes = int(rng.integers(270, 500))
    line = [b"i1,w1,yes\n", b"\0", b"\n", b"a", b'"'][int(rng.integers(5))]
    block = (line * (1 << 20))[: 1 << 20]
    match int(rng.integers(6)):
        case 0:
            return "bomb.csv.gz", _gzip(block, megabytes)
        case 1:  # the size at its end is that of the last member
            return "two.csv.gz", _gzip(block, megabytes) + gzip.compress(b"i2,w1,yes\n", mtime=0)
        case 2:  # the size at its end is a lie
            return "lie.csv.gz", _gzip(block, megabytes)[:-4] + struct.pack("<I", 100)
        case 3:
            return "bomb.csv.zst", pa.compress(block * megabytes, codec="zstd", asbytes=True)
        case 4:
            member = "header.json" if rng.random() < 0.3 else "samples/1_epoch_1.json"
            return "bomb.eval", _zip({"header.json": b"{}", member: block * min(megabytes, 60)})
        case _:
            sheet = next(name for name in sorted(sound()) if name.endswith(".xlsx"))
            with zipfile.ZipFile(io.BytesIO(sound()[sheet])) as book:
                parts = {name: book.read(name) for name in book.namelist()}
            large = [name for name in parts if "sheet" in name][-1]
            return "bomb.xlsx", _zip({**parts, large: parts[large] + block * min(megabytes, 60)})


def _gzip(block: bytes, n: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(block) for _ in range(n)), packer.flush()])


def _zip(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def run_container(number: int) -> tuple[int, str | None]:
    """Case `number`: read, or refused in our words, within time and memory."""
    case, _ = container_case(number)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fault = fuzz.read_fault(case)
    growth = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if fault is None and growth > MOST_GROWTH:
        fault = f"memory grew by {growth / 1e9:.1f} GB reading {case.name}, {len(case.content):,} bytes"
    if fault is not None and len(case.content) < 100_000:
        fuzz.keep_case(case.reader, case.content, case.name[case.name.index(".") :])
    return number, fault
