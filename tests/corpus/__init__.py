"""Inputs that once broke a reader: each is a few bytes, made here, and read by tests/read/test_faults.py.

`make fuzz` writes what it finds into tests/corpus/found as files called after their reader, which the same test reads;
tables that broke `check` are called table, and tests/test_fuzz.py checks them.
"""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

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
    "answers-superscript.csv": lambda: "draw,item,label\n²,i1,y\n".encode(),
    "answers-digits.csv": lambda: b"draw,item,label\n" + b"9" * 5000 + b",i1,y\n",
    "infinite.jsonl": lambda: b'{"item": "a", "worker": "w", "label": 1e999}\n',
    "not-a-number.jsonl": lambda: b'{"item": NaN, "worker": "w", "label": 1}\n',
}


ODD_VALUES: tuple[Any, ...] = (
    "a", "b", "c", None, math.nan, math.inf, -math.inf, 0, 1, -1, 1.0, 0.5, True, False, "", " ", "nan", "null", b"",
    b"a", b"\xff", "\ud800", "\0", "a\nb", "é", "e\u0301", 2**63, 2**64, 10**400, -(2**63), 1e300, Decimal("1.5"),
    Decimal("nan"), date(2020, 1, 1), datetime(2020, 1, 1, 1), (), (1, 2), ("a",), [], ["a"], {}, {"a": 1},
    {"a": {"b": [1]}}, {1}, frozenset("a"), 1j, object, len, ..., range(3), "x" * 5000, "1", "01", "1.0", "1e999",
    "=1", "#", ",", '"', ";", "\t", "{", "[", "accept", "ok",
)  # fmt: skip


def frame_of(facts: dict[str, Any]) -> Any:
    """A dict, list or frame of odd values from their places in the list; None where the kind cannot hold them."""
    import numpy as np
    import pandas as pd

    kind = facts.pop("kind")
    columns = {name: [ODD_VALUES[n % len(ODD_VALUES)] for n in places] for name, places in facts.items()}
    rows = list(zip(*columns.values(), strict=False))
    try:
        match kind:
            case 0:
                return columns
            case 1:
                return rows
            case 2:
                return [dict(zip(columns, row, strict=True)) for row in rows]
            case 3:
                return pd.DataFrame(columns, dtype=object)
            case 4:
                return pd.DataFrame(columns).astype("category")
            case 5:
                return np.array(rows, dtype=object)
            case 6:
                return pa.table({name: pa.array(values) for name, values in columns.items()})
            case 7:
                import polars as pl

                return pl.DataFrame(columns, strict=False)
            case _:
                return {name: np.array(values) for name, values in columns.items()}
    except BaseException:  # of the frame's own making; polars panics
        return None


def _names(votes: Any) -> None:
    for value in (*votes.items, *votes.workers, *votes.labels):
        str(value).encode()


def _votes(**how: Any) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        import majorant as mj

        _names(mj.read(path, **how))

    return read


def _few_votes() -> Any:
    import majorant as mj

    return mj.read({"item": ["i1", "i2", "i3"], "worker": ["w"] * 3, "label": ["n", "y", "y"]})


def _read_gold(path: Path) -> None:
    import majorant as mj

    _names(mj.read({"item": ["i1", "i2", "i3"], "worker": ["w"] * 3, "label": ["n", "y", "y"]}, gold_file=path))


def _read_answers(path: Path) -> None:
    from majorant.read.tasks import read_answers

    read_answers(path)


def _read_export(path: Path) -> None:
    from majorant.read.consensus import control_of, item_fields

    item_fields(path)
    control_of(path)


def _read_rule(path: Path) -> None:
    from majorant.methods import load_rule

    load_rule(path)


def _read_design(path: Path) -> None:
    from majorant.ask.design import Design

    Design.read(path)


def _read_result(path: Path) -> None:
    from majorant.render.files import foreign_files, read_summary

    foreign_files(read_summary(path), path)


def _read_page(path: Path) -> None:
    from majorant.render.files import read_summary, render_saved

    render_saved(read_summary(path), path)


def _read_frame(path: Path) -> None:
    import majorant as mj

    try:
        frame = frame_of(json.loads(path.read_text()))
    except (ValueError, AttributeError, KeyError, TypeError):  # a frame that was made smaller than it can be
        return
    if frame is not None:
        _names(mj.read(frame))


READERS: dict[str, Callable[[Path], None]] = {
    "votes": _votes(),
    "wide": _votes(wide=True),
    "several": _votes(several=True),
    "gold": _read_gold,
    "answers": _read_answers,
    "export": _read_export,
    "rule": _read_rule,
    "design": _read_design,
    "result": _read_result,
    "page": _read_page,
    "frame": _read_frame,
}


def reader_of(name: str) -> tuple[str, str]:
    """The reader that a kept input is for, and its name; votes where it does not say."""
    before = name.partition("-")[0]
    return (before if before in READERS else "votes"), name


def inputs() -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of every input that is kept."""
    for name, make in CASES.items():
        yield name, make()
    for path in sorted(FOUND.glob("*")):
        if not path.name.startswith("table-"):
            yield path.name, path.read_bytes()
