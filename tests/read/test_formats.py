"""The same votes give the same Votes in every supported format."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import majorant
from majorant.errors import ConfigError, DataError
from majorant.read import from_matrix, read
from sizes import many

SRC = str(Path(majorant.__file__).parents[1])
VOTES = [("q1", "ana", "yes"), ("q2", "bo", "no"), ("q1", "bo", "yes"), ("q3", "ana", "no")]
ROLES = ("item", "worker", "label")
COLUMNS = {role: [vote[p] for vote in VOTES] for p, role in enumerate(ROLES)}
LINES = "\n".join(json.dumps(dict(zip(ROLES, vote, strict=True))) for vote in VOTES)
TEXT = "item,worker,label\n" + "".join(",".join(vote) + "\n" for vote in VOTES)


def triples(votes):
    return [
        (votes.items[i], votes.workers[j], votes.labels[k])
        for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    ]


def check(votes):
    assert votes.items == ("q1", "q2", "q3")
    assert votes.workers == ("ana", "bo")
    assert votes.labels == ("no", "yes")
    assert triples(votes) == [VOTES[0], VOTES[2], VOTES[1], VOTES[3]]
    assert votes.account.rows == votes.account.votes == 4
    assert votes.account.balanced
    assert votes.account.notes == ()


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("v.csv", TEXT.encode(), "CSV, comma-separated, header, UTF-8"),
        ("v.csv", TEXT.encode("utf-8-sig"), "byte-order mark"),
        ("v.csv", TEXT.encode("utf-16"), "UTF-16"),
        ("v.csv", TEXT.encode("utf-16-le"), "UTF-16-LE"),
        ("v.csv", TEXT.encode("utf-16-be"), "UTF-16-BE"),
        ("v.tsv", TEXT.replace(",", "\t").encode(), "tab-separated"),
        ("v.txt", TEXT.replace(",", ";").encode(), "semicolon-separated"),
        ("v", TEXT.replace(",", "|").encode(), "bar-separated"),
        ("v.csv", TEXT.replace("\n", "\r\n").encode(), "CSV"),
        ("v.csv", TEXT.replace("\n", "\r").encode(), "CSV"),
        ("v.csv", TEXT.replace("\n", "\r\n", 2).encode(), "CSV"),  # mixed line ends
        ("v.csv", TEXT.rstrip("\n").encode(), "CSV"),
        ("v.csv", ("\n\n" + TEXT.replace("\n", "\n\n", 2)).encode(), "CSV"),  # blank lines
        ("v.csv", TEXT.replace("\n", ",\n").encode(), "CSV"),  # a delimiter at every line's end
        ("v.csv", "\n".join('"' + line.replace(",", '","') + '"' for line in TEXT.split()).encode(), "CSV"),
        ("v.csv", "\n".join("'" + line.replace(",", "','") + "'" for line in TEXT.split()).encode(), "CSV"),
        ("v.csv.gz", gzip.compress(TEXT.encode()), "gzip"),
        ("v.csv.gz", gzip.compress(TEXT.encode("utf-16")), "gzip"),
        ("v.csv.zst", zstd(TEXT.encode()), "zstd"),
        ("v.csv.zst", zstd(TEXT.encode("utf-16")), "zstd"),
        ("v.json", json.dumps([dict(zip(ROLES, vote, strict=True)) for vote in VOTES]).encode(), "JSON"),
        ("v.json", json.dumps([dict(zip(ROLES, v, strict=True)) for v in VOTES], indent=2).encode("utf-8-sig"), "JSON"),
        ("v.jsonl", LINES.encode(), "JSON Lines"),
        ("v.json", "\n".join(json.dumps(dict(zip(ROLES, v, strict=True)), indent=1) for v in VOTES).encode(), "JSON L"),
        ("v.jsonl.gz", gzip.compress(LINES.encode()), "gzip"),
    ],
    ids=range(25),  # packed bytes hold the time, and parallel runs need equal names
)  # fmt: skip
def test_text_files(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    votes = read(tmp_path / name)
    check(votes)
    assert told in votes.account.format


def test_latin_1_by_name(tmp_path):
    (tmp_path / "v.csv").write_bytes("item,worker,label\nq1,René,où\n".encode("latin-1"))
    assert triples(read(tmp_path / "v.csv", encoding="latin-1")) == [("q1", "René", "où")]


def test_any_delimiter_by_name(tmp_path):
    (tmp_path / "v.csv").write_text(TEXT.replace(",", "~"))
    check(read(tmp_path / "v.csv", delimiter="~"))
    (tmp_path / "v.csv").write_text(TEXT.replace(",", "\t"))
    check(read(tmp_path / "v.csv", delimiter="tab"))
    check(read(tmp_path / "v.csv", format="tsv"))
    with pytest.raises(ConfigError, match="single character"):
        read(tmp_path / "v.csv", delimiter="ab")


def test_the_delimiter_is_detected_from_rows_not_from_text_in_them(tmp_path):
    (tmp_path / "v.csv").write_text("item;worker;label\na,b,c;ana;yes\nd,e,f;bo;no\n")
    assert read(tmp_path / "v.csv").items == ("a,b,c", "d,e,f")


def test_backslash_escapes(tmp_path):
    (tmp_path / "v.csv").write_text('item,worker,label\n"say \\"hi\\", twice",ana,yes\n')
    assert read(tmp_path / "v.csv").items == ('say "hi", twice',)


def test_no_header(tmp_path):
    (tmp_path / "v.csv").write_text("".join(f"{w},x,{i},{l},{l},7\n" for i, w, l in [*VOTES[:2], VOTES[3]]))
    votes = read(tmp_path / "v.csv", columns="worker,_,item,label,gold,seconds")
    assert triples(votes) == [VOTES[0], VOTES[1], VOTES[3]]
    assert [votes.labels[k] for k in votes.gold_i] == ["yes", "no", "no"]
    assert votes.seconds_n.tolist() == [7, 7, 7]


def test_many_files_are_read_in_order_and_rows_are_named_by_file(tmp_path):
    (tmp_path / "a.csv").write_text("item,worker,label\nq1,ana,yes\nq2,bo,no\n")
    (tmp_path / "b.csv").write_text("annotator;answer;task\nbo;yes;q1\nana;no;q3\n")
    check(read(str(tmp_path / "*.csv")))
    check(read([tmp_path / "a.csv", tmp_path / "b.csv"]))
    assert "(2 files)" in read(str(tmp_path / "*.csv")).account.source
    (tmp_path / "b.csv").write_text("annotator;answer;task\nbo;yes;q1\nana;no;q1\n")
    with pytest.raises(DataError, match=r"b\.csv, row 3: worker 'ana'.* 'no' after 'yes' in .*a\.csv, row 2\."):
        read(str(tmp_path / "*.csv"))


def test_file_name_with_signs_of_a_pattern(tmp_path):
    (tmp_path / "votes[1]*'s.csv").write_text(TEXT)
    check(read(tmp_path / "votes[1]*'s.csv"))


def test_parquet_and_its_types(tmp_path):
    pq.write_table(pa.table(COLUMNS), tmp_path / "v.parquet")
    check(read(tmp_path / "v.parquet"))
    table = pa.table({"item": [7, 8], "worker": [1.5, 2.5], "label": [True, False], "seconds": [1, None]})
    pq.write_table(table, tmp_path / "v.parquet")
    votes = read(tmp_path / "v.parquet")
    assert (votes.items, votes.workers, votes.labels) == ((7, 8), (1.5, 2.5), (False, True))
    assert votes.seconds_n[0] == 1
    assert np.isnan(votes.seconds_n[1])


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas with objects": lambda columns: pd.DataFrame(columns).astype(object),
    "pandas with categories": lambda columns: pd.DataFrame(columns).astype("category"),
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "polars with categories": lambda columns: pl.DataFrame(columns, schema=dict.fromkeys(ROLES, pl.Categorical)),
    "pyarrow": pa.table,
    "pyarrow in chunks": lambda columns: pa.concat_tables([pa.table(columns).slice(k, 1) for k in range(4)]),
    "pyarrow reader": lambda columns: pa.table(columns).to_reader(),
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
    "dict of lists": dict,
    "dict of arrays": lambda columns: {key: np.array(values) for key, values in columns.items()},
    "dict of series": lambda columns: {key: pd.Series(values) for key, values in columns.items()},
    "list of triples": lambda columns: list(zip(*columns.values(), strict=True)),
    "list of dicts": lambda columns: [dict(zip(ROLES, v, strict=True)) for v in zip(*columns.values(), strict=True)],
    "structured array": lambda columns: np.array(VOTES, dtype=[(role, "U9") for role in ROLES]),
}


@pytest.mark.parametrize("shape", FRAMES)
def test_frames(shape):
    source = FRAMES[shape](COLUMNS)
    check(read(source))


def test_category_that_no_row_uses_is_no_item():
    frame = pd.DataFrame(COLUMNS)
    frame["item"] = pd.Categorical(frame["item"], categories=["q9", "q3", "q2", "q1"])
    check(read(frame))


def test_list_of_votes_in_another_order():
    check(read([(w, l, i) for i, w, l in VOTES], columns="worker,label,item"))
    with pytest.raises(DataError, match="row 1"):
        read([("q", "w", 1), ("q", "w")])


def test_frames_that_cannot_be_read():
    with pytest.raises(DataError, match="differ in length"):
        read({"item": [1, 2], "worker": [1], "label": [1]})
    with pytest.raises(ConfigError, match="from_matrix"):
        read(np.ones((2, 3)))
    with pytest.raises(ConfigError, match="columns= is for tables without"):
        read(pd.DataFrame(COLUMNS), columns="item,worker,label")
    with pytest.raises(DataError, match="holds no rows"):
        read(pd.DataFrame({"item": [], "worker": [], "label": []}))


def test_wide_file(tmp_path):
    (tmp_path / "v.csv").write_text("question,ana,bo,truth\nq1,yes,yes,no\nq2,,no,\nq4, ,,yes\nq3,no,,no\n")
    votes = read(tmp_path / "v.csv", wide=True)
    assert votes.items == ("q1", "q2", "q4", "q3")
    assert votes.workers == ("ana", "bo")
    assert triples(votes) == [("q1", "ana", "yes"), ("q1", "bo", "yes"), ("q2", "bo", "no"), ("q3", "ana", "no")]
    assert [votes.labels[k] if k >= 0 else None for k in votes.gold_i] == ["no", None, "yes", "no"]
    assert votes.account.rows == votes.account.votes == 4
    assert votes.abstained_i is None
    assert [note.kind for note in votes.account.notes] == ["unlabelled-items"]


def test_wide_rows_are_named_by_their_row(tmp_path):
    (tmp_path / "v.csv").write_text("item,ana,bo\nq1,yes,yes\nq2,,no\nq1,no,yes\n")
    with pytest.raises(DataError, match=r"v\.csv, row 4: worker 'ana' .*'no' after 'yes' in row 2"):
        read(tmp_path / "v.csv", wide=True)


def test_wide_json(tmp_path):
    (tmp_path / "v.json").write_text('[{"item": "a", "x\\"y": 1, "bo": ""}, {"item": "b", "bo": "1"}]')
    votes = read(tmp_path / "v.json", wide=True)
    assert triples(votes) == [("a", 'x"y', 1), ("b", "bo", "1")]
    assert votes.account.rows == 2


def test_files_are_read_without_importing_pandas(tmp_path):
    (tmp_path / "v.csv").write_text("item,worker,label,gold,seconds\na,b,1,1,3\na,c,,,\n")
    (tmp_path / "v.jsonl").write_text(
        '{"item": "a", "worker": 1, "label": null}\n{"item": "a", "worker": 2, "label": 3}\n'
    )
    pq.write_table(pa.table({"item": ["a", "b"], "worker": [1, 2], "label": [None, "x"]}), tmp_path / "v.parquet")
    program = "import sys; from majorant.read import read; [read(path) for path in sys.argv[1:]]; "
    program += "sys.exit('pandas' in sys.modules)"
    command = [sys.executable, "-c", program, *map(str, tmp_path.iterdir())]
    assert subprocess.run(command, env=os.environ | {"PYTHONPATH": SRC}).returncode == 0


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict])
def test_wide_frames_with_mixed_columns(make):
    votes = read(make({"item": ["a", "b"], "ana": [1, 0], "bo": ["1", None]}), wide=True)
    assert triples(votes) == [("a", "ana", 1), ("a", "bo", "1"), ("b", "ana", 0)]


@pytest.mark.parametrize(
    "matrix",
    [
        np.array([[1, 0, -1], [-1, 1, 1]]),
        np.array([[1, 0, np.nan], [np.nan, 1, 1]]),
        [[1, 0, None], [None, 1, 1]],
        pd.DataFrame([[1, 0, None], [None, 1, 1]]),
        pl.DataFrame([[1, None], [0, 1], [None, 1]], schema=["0", "1", "2"]),
    ],
)
def test_matrix(matrix):
    votes = from_matrix(matrix, workers=["ana", "bo", "cy"])
    assert triples(votes) == [(0, "ana", 1), (0, "bo", 0), (1, "bo", 1), (1, "cy", 1)]
    assert [type(label) for label in votes.labels] == [int, int]


def test_matrix_takes_names_from_a_frame_and_keeps_types():
    frame = pd.DataFrame([["x", None], [None, None]], index=["a", "b"], columns=["ana", "bo"])
    votes = from_matrix(frame)
    assert (votes.items, votes.workers, votes.labels) == (("a", "b"), ("ana", "bo"), ("x",))
    assert from_matrix([[1.5, "a", True]]).labels == (True, 1.5, "a")
    for bad, error in ((np.ones(3), ConfigError), ([[1], [1, 2]], DataError), (np.empty((0, 2)), DataError)):
        with pytest.raises(error):
            from_matrix(bad)


name = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('\n\r\t,;"\\|'), min_size=1, max_size=8)
name = name.filter(lambda text: text.strip() and "\x00" not in text)
table = st.dictionaries(st.tuples(name, name), st.sampled_from(["a", "b,\n", "é", '"', "0"]), min_size=1, max_size=12)


def written(votes, shape):
    out = io.StringIO(newline="")
    if shape == "csv":
        writer = csv.writer(out, quoting=csv.QUOTE_ALL)
        writer.writerows([ROLES, *votes])
        return out.getvalue().encode()
    if shape == "jsonl":
        return "".join(json.dumps(dict(zip(ROLES, vote, strict=True))) + "\n" for vote in votes).encode()
    buffer = io.BytesIO()
    pq.write_table(pa.table({role: [vote[p] for vote in votes] for p, role in enumerate(ROLES)}), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("shape", ["csv", "jsonl", "parquet"])
@settings(max_examples=many(25, quick=10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=table)
def test_any_text_round_trips(tmp_path, shape, table):
    votes = [(item, worker, label) for (item, worker), label in table.items()]
    (tmp_path / f"v.{shape}").write_bytes(written(votes, shape))
    back = read(tmp_path / f"v.{shape}")
    items = list(dict.fromkeys(item for item, _, _ in votes))
    assert back.items == tuple(items)
    assert back.workers == tuple(dict.fromkeys(worker for _, worker, _ in votes))
    text = [(item, worker, str(label)) for item, worker, label in triples(back)]
    assert text == sorted(votes, key=lambda vote: items.index(vote[0]))
