"""Small tables with awkward cells, drawn at random, in all formats that hold a row per vote."""

import csv
import datetime
import decimal
import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TEXTS = (
    "a", "A", " a", "a ", "b", "c", "ä", "a\u0308", "a\u200b", "Müller", "naïve", "1", "01", "1.0", "1e3", "-0", "0",
    ".1", "9007199254740993", "123456789012345678", "123456789012345679", "99999999999999999999", "true", "True",
    "NaN", "nan", "null", "None", "NA", "x,y", 'say "hi"', '"', "'quoted'", "line\nbreak", "crlf\r\nbreak", "cr\rbreak",
    "tab\tx", "semi;x", "a|b", "#hash", "back\\slash", 'back\\"slash', "=1+1", "\U0001f600", "\ufeffbom", "\u00a0",
    "\u2028", "\x1c", "item", "worker", "label", "[1]", '{"a": 1}', "", " ",
)  # fmt: skip
VALUES = (
    1, 1.0, "1", 2, "2", True, "true", False, None, 0, -0.0, 0.1, 1e300, 123456789012345678, 123456789012345679,
    2**63 - 1, 2**63, 2**64, -(2**63), "a", "", " ", "ä", "line\nbreak", ["a"], ["a", "b"], [], {"a": 1},
)  # fmt: skip
CODE_PAGES = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16", "cp1252")
SPOILED = ("unclosed quote", "short row", "long row", "blank line", "header again", "zero byte", "cut off")


@dataclass
class DrawnTable:
    """A table, and the arguments with which it is read."""

    source: Any  # a file, or a frame
    settings: dict


def draw_table(folder, number):
    """The table of this number: always the same."""
    rng = np.random.default_rng(number)
    settings = {"repeats": str(rng.choice(["error", "each"]))}
    if rng.random() < 0.2:
        settings["empty"] = str(rng.choice(["NA", "1", "a"]))
    kind = rng.choice(["csv", "jsonl", "json", "parquet"], p=[0.5, 0.2, 0.05, 0.25])
    make = {"csv": _csv, "jsonl": _json, "json": _json, "parquet": _parquet}[str(kind)]
    path = folder / f"table-{number}.{kind}"
    make(rng, path)
    return DrawnTable(str(path), settings)


def _pick(rng, values, n):
    return [values[int(k)] for k in rng.integers(len(values), size=n)]


def _columns(rng, cells):
    """Columns of 4 to 24 rows; most cells are plain, so that most tables can be read."""
    n, plain = int(rng.integers(4, 25)), rng.random() < 0.3
    pools = {
        "item": ["i1", "i2", "i3", "i4", "i5"],
        "worker": ["ana", "bo", "cy", "di"],
        "label": ["yes", "no", "unsure"],
        "gold": ["yes", "no", None],
        "status": ["ok", "ok", "error", None],
    }
    names = ["item", "worker", "label", *(name for name in ("gold", "status") if rng.random() < 0.2)]
    columns = {name: _pick(rng, pools[name], n) for name in names}
    for name in names[:3] if not plain else ():
        few = _pick(rng, cells, int(rng.integers(1, 4)))
        columns[name] = [few[int(rng.integers(len(few)))] if rng.random() < 0.4 else value for value in columns[name]]
    if rng.random() < 0.8:  # else some worker may contradict itself
        pairs = [*map(str, zip(columns["item"], columns["worker"], strict=True))]
        first = [n for n, pair in enumerate(pairs) if pair not in pairs[:n]]
        columns = {name: [values[n] for n in first] for name, values in columns.items()}
    if "gold" in columns:  # the same for all rows of an item, mostly
        of_item = dict(zip(map(str, columns["item"]), columns["gold"], strict=True))
        columns["gold"] = [of_item[str(item)] for item in columns["item"]]
    return columns


def _csv(rng, path):
    columns = {name: ["" if v is None else v for v in values] for name, values in _columns(rng, TEXTS).items()}
    text = io.StringIO(newline="")
    ends, sign = str(rng.choice(["\n", "\n", "\r\n"])), str(rng.choice([",", ",", ";", "\t"]))
    quoting = [csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONE][int(rng.integers(4))]
    writer = csv.writer(text, delimiter=sign, lineterminator=ends, quoting=quoting, escapechar="\\", quotechar='"')
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    content = text.getvalue()
    if rng.random() < 0.25:
        content = _spoil(rng, content, sign, ends, str(rng.choice(SPOILED)))
    path.write_bytes(content.encode(str(rng.choice(CODE_PAGES)), errors="replace"))


def _spoil(rng, content, sign, ends, how):
    lines = content.split(ends)
    at = int(rng.integers(1, max(len(lines) - 1, 2)))
    spoiled = {
        "unclosed quote": f'"{lines[min(at, len(lines) - 1)]}',
        "short row": lines[min(at, len(lines) - 1)].rpartition(sign)[0],
        "long row": f"{lines[min(at, len(lines) - 1)]}{sign}more",
        "blank line": "",
        "header again": lines[0],
        "zero byte": f"{lines[min(at, len(lines) - 1)]}\0",
    }
    if how == "cut off":
        return content[: len(content) * 2 // 3]
    lines.insert(at, spoiled[how])
    return ends.join(lines)


def _json(rng, path):
    columns = _columns(rng, VALUES)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if rng.random() < 0.2:
        rows[0] = {name: value for name, value in rows[0].items() if name != "label"}
    ascii_only = bool(rng.random() < 0.5)
    lines = [json.dumps(row, ensure_ascii=ascii_only) for row in rows]
    content = "\n".join(lines) if path.suffix == ".jsonl" else f"[{', '.join(lines)}]"
    if rng.random() < 0.1:
        content = content[: len(content) * 2 // 3]
    path.write_text(content, encoding=str(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"])))


def _parquet(rng, path):
    columns = _columns(rng, TEXTS)
    table = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    n = len(columns["item"])
    typed = {
        "int": pa.array(rng.integers(5, size=n)),
        "small": pa.array(rng.integers(5, size=n).astype(np.int8)),
        "large": pa.array(_pick(rng, [2**62, 123456789012345678, 123456789012345679, -1], n)),
        "unsigned": pa.array(_pick(rng, [2**63, 2**64 - 1, 0], n), pa.uint64()),
        "float": pa.array(_pick(rng, [0.1, 1.0, 2.0, -0.0, 0.0], n)),
        "single": pa.array(_pick(rng, [0.1, 1.0, 2.5], n), pa.float32()),
        "nan": pa.array(_pick(rng, [1.0, 2.0, float("nan")], n)),
        "bool": pa.array(_pick(rng, [True, False], n)),
        "date": pa.array(_pick(rng, [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], n)),
        "time": pa.array(_pick(rng, [datetime.datetime(2024, 1, 1, 12), datetime.datetime(2024, 1, 2)], n)),
        "decimal": pa.array(_pick(rng, [decimal.Decimal("1.0"), decimal.Decimal("1.5")], n)),
        "dictionary": pa.array(_pick(rng, ["x", "y", "z"], n)).dictionary_encode(),
        "list": pa.array(_pick(rng, [["x"], ["y", "z"]], n)),
        "bytes": pa.array(_pick(rng, [b"x", b"\xff"], n)),
        "null": pa.nulls(n),
    }
    for name in ("item", "worker", "label"):
        if rng.random() < 0.4:
            table[name] = typed[str(rng.choice(list(typed)))]
    pq.write_table(pa.table(table), path, row_group_size=int(rng.integers(3, 30)))
