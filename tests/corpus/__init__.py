"""Inputs that once broke a reader: each is a few bytes, made here, and read by tests/io/test_faults.py.

`make fuzz` writes what it finds into tests/corpus/found as files; they are read by the same test.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

TABLE = "item,worker,label\n" + "".join(f"i{n // 3},w{n % 3},{'ny'[n % 2]}\n" for n in range(60))
FOUND = Path(__file__).parent / "found"
DEEP = 1200


def _flipped_gzip() -> bytes:
    packed = bytearray(gzip.compress(TABLE.encode() * 50, mtime=0))
    packed[len(packed) // 2] ^= 0xFF
    return bytes(packed)


def _damaged_names() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"item": ["a"], "worker": ["w"], "label": ["y"]}), file)
    return file.getvalue().replace(b"worker", b"wor\xff\xfer")


def _export(**changed: object) -> bytes:
    annotation = {
        "id": 1,
        "completed_by": 1,
        "result": [{"type": "choices", "from_name": "q", "value": {"choices": ["y"]}}],
    }
    return json.dumps([{"id": 1, "data": {"text": "t"}, "annotations": [annotation], **changed}]).encode()


def _vote(**changed: object) -> bytes:
    return (json.dumps({"item": "a", "worker": "w", "label": "y"} | changed) + "\n").encode()


def _nested(depth: int) -> bytes:
    return b'{"item": "a", "worker": "w", "label": ' + b"[" * depth + b"]" * depth + b"}\n"


CASES: dict[str, Callable[[], bytes]] = {
    "flipped.csv.gz": _flipped_gzip,
    "cut.csv.gz": lambda: gzip.compress(TABLE.encode() * 50, mtime=0)[:-200],
    "cut-utf16.csv": lambda: TABLE.encode("utf-16")[:-1],
    "cut-utf16.json": lambda: _vote().decode().encode("utf-16")[:-1],
    "cut-utf16-array.json": lambda: _export().decode().encode("utf-16")[:-3],
    "text-for-data.json": lambda: _export(data="text"),
    "list-for-data.json": lambda: _export(data=[1, 2]),
    "deep.jsonl": lambda: _nested(DEEP),
    "deep-array.json": lambda: b"[" + _nested(DEEP) + b"]",
    "deeper.json": lambda: b"[" * 100_000 + b"]" * 100_000,
    "empty-key.jsonl": lambda: b'{"_input_hash": 1, "_session_id": "s", "answer": "accept", "": 1}\n',
    "nested-gold.jsonl": lambda: _vote(gold={"x": 1}),
    "nested-list-gold.jsonl": lambda: _vote(gold=[1, 2]),
    "nested-item.jsonl": lambda: _vote(item={"x": 1}),
    "nested-status.jsonl": lambda: _vote(status={"x": 1}),
    "names.parquet": _damaged_names,
    "control.jsonl": lambda: b'{"item": "a", "worker": "w", "label": "y\x01\tz"}\n',
    "digits.jsonl": lambda: b'{"item": "a", "worker": "w", "label": ' + b"9" * 5000 + b"}\n",
    "surrogate.jsonl": lambda: b'{"item": "a", "worker": "w", "label": "\\ud800"}\n',
    "zeros.csv": lambda: b"\0" * 5000,
    "only-bom.csv": lambda: b"\xef\xbb\xbf",
    "cut.parquet": lambda: _damaged_names()[:-20],
    "only-magic.parquet": lambda: b"PAR1",
    "only-magic.csv.gz": lambda: b"\x1f\x8b",
    "only-magic.csv.zst": lambda: b"\x28\xb5\x2f\xfd\0\0",
    "quote.csv": lambda: b'item,worker,label\na,w,"y\n',
    "infinite.jsonl": lambda: b'{"item": "a", "worker": "w", "label": 1e999}\n',
    "not-a-number.jsonl": lambda: b'{"item": NaN, "worker": "w", "label": 1}\n',
}


def inputs() -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of every input that is kept."""
    for name, make in CASES.items():
        yield name, make()
    for path in sorted(FOUND.glob("*")):
        yield path.name, path.read_bytes()
