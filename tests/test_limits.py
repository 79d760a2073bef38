"""Unusually large tables are rejected at once with the name of the limit, or processed within it."""

import csv
import gzip
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import majorant as mj
from corpus import READERS
from majorant import pipeline
from majorant.errors import DataError
from majorant.evidence.certificate.anonymous import certify_counts
from majorant.evidence.certificate.assumption_tests import shuffle_within_items
from majorant.evidence.certificate.bootstrap import Case
from majorant.evidence.certificate.bootstrap_claims import multiclass_claim
from majorant.limits import LIMITS, sizes_within
from majorant.methods.shared import SharedConfusion
from majorant.read.files import identify
from majorant.read.options import ReadOptions
from majorant.read.parquet import _damaged
from majorant.render.files import write_result
from majorant.render.summary import result_summary
from majorant.simulate import simulate
from majorant.votes import Votes

SECONDS = 60  # of processor time; a shape that explodes takes hours


def test_many_classes_are_refused_at_once():
    label = [f"c{n % 900}" for n in range(2_700)]
    votes = mj.read({"item": [n // 3 for n in range(2_700)], "worker": [n % 30 for n in range(2_700)], "label": label})
    before = time.process_time()
    with pytest.raises(
        DataError, match=r"24,300,000 cells in 30 .* 900 classes, for 2,700 votes: the limit CONFUSION_C"
    ):
        mj.check(votes)
    assert time.process_time() - before < 2


def test_too_many_classes_for_the_items_are_not_resampled():
    votes, _ = simulate(np.full(25, 0.04), 0.5 * np.eye(25) + 0.02, n_items=100, n_votes=3, rng=0)
    claim = multiclass_claim(Case(votes=votes, fit=SharedConfusion().fit(votes)), None, level=0.95)
    assert claim.reason == "not identified"


def test_items_with_too_many_votes_are_excluded_or_rejected():
    many = np.zeros(100_001)
    many[70_000] = 1
    usual = {3: [260, 240, 240, 260]}
    claim = certify_counts({**usual, 100_000: many}).anonymous
    assert claim.margin == certify_counts(usual).anonymous.margin
    assert claim.n_items == 1_001
    assert certify_counts({100_000: many}).anonymous.reason == "not identified"


def test_the_most_common_numbers_of_votes_are_kept():
    assert sizes_within(dict.fromkeys(range(1, 400), 5.0)) == list(range(1, 62))
    assert sizes_within({1_999: 1.0, 3: 0.5}) == [1_999]


def test_votes_on_a_large_item_are_shuffled_within_it():
    item = [0] * 1_500 + [1] * 3 + [2] * 1_500
    votes = Votes.from_codes(item, [*range(1_500), 0, 1, 2, *range(1_500)], [0] * 3_003,
                             items=range(3), workers=range(1_500), labels="ny")  # fmt: skip
    order_n = shuffle_within_items(votes.item_n, np.random.default_rng(0))
    assert sorted(order_n) == list(range(3_003))
    assert [item[n] for n in order_n] == item
    assert (order_n != np.arange(3_003)).mean() > 0.99


def test_many_slices_are_refused_before_anything_is_counted(monkeypatch):
    monkeypatch.setattr(pipeline, "find_patterns", None)
    n = 5_000
    table = {"item": range(n), "worker": ["w"] * n, "label": [k % 2 for k in range(n)], "batch": range(n)}
    with pytest.raises(DataError, match=r"^5,000 slices.*: the limit SLICES is 100"):
        mj.check(table, by="batch")


def test_very_long_names(monkeypatch):
    monkeypatch.setitem(LIMITS, "NAME_LENGTH", 10)
    with pytest.raises(
        DataError, match=r"11 characters in one cell of .*'label': the limit NAME_LENGTH is 10. Name items by"
    ):
        mj.read({"item": ["a"], "worker": ["w"], "label": ["x" * 11]})
    assert mj.read({"item": ["a"], "worker": ["w"], "label": ["x" * 10]}).labels == ("x" * 10,)


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_decompression_bombs_are_rejected_before_unpacking(tmp_path, packing):
    path = tmp_path / f"votes.csv.{packing}"
    said = (2_000_000_000).to_bytes(4, "little")
    packed = gzip.compress(np.random.default_rng(0).bytes(3_000_000))[:-4] + said  # 667 times its size
    path.write_bytes(packed if packing == "gz" else bytes.fromhex("28b52ffd8058") + said + b"\0" * 90)
    with pytest.raises(DataError, match=r"bytes that each byte of .* unpacks to: the limit UNPACKED_RATIO is 300"):
        mj.read(path)


@pytest.mark.parametrize("text", ['{{"item": "a", "worker": "w", "label": {}}}\n', '[{{"item": "a", "label": {}}}]'])
def test_deep_values_are_refused_by_name_on_every_python(tmp_path, monkeypatch, text):
    path = tmp_path / "votes.jsonl"
    path.write_text(text.format("[" * 1_200 + "]" * 1_200))
    with pytest.raises(DataError, match=r"votes\.jsonl: 1,201 lists and .*: the limit NESTING is 500\. Give "):
        mj.read(path)
    path.write_text('{"item": "a[[", "worker": "w", "label": ' + json.dumps("[{" * 2_000) + "}\n")
    assert mj.read(path).labels == ("[{" * 2_000,)
    monkeypatch.setitem(LIMITS, "NESTING", 100_000)
    path.write_text('{"item": "a", "worker": "w", "label": ' + "[" * 90_000 + "]" * 90_000 + "}\n")
    with pytest.raises(DataError, match=r"votes\.jsonl: nested too deeply for Python, .* NESTING, 100,000"):
        mj.read(path)


@pytest.mark.parametrize("reader", ["result", "design"])
def test_deeply_nested_files_of_ours_are_reported_as_damaged(tmp_path, reader):
    path = tmp_path / f"{reader}.json"
    path.write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"\.json"):
        READERS[reader](path)


def test_error_for_too_much_text_for_arrow_names_the_limit(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"item": ["a"], "worker": ["w"], "label": ["y"]}), path)
    file = identify(path.name, path, ReadOptions())
    error = duckdb.Error("Arrow Appender: The maximum total string size for regular string buffers is 2147483647 but")
    assert "a.parquet: more than 2,147,483,647 bytes of text in one column of a few rows, the limit COLUMN_TEXT" in str(
        _damaged(file, error)
    )


def one_vote_each(n):
    """Each worker votes once, five of them on an item."""
    return {
        "item": [i // 5 for i in range(n)],
        "worker": range(n),
        "label": [(i // 5 + (i % 7 == 0)) % 2 for i in range(n)],
    }


def items_with_one_vote(n):
    return {"item": range(n), "worker": [i % 50 for i in range(n)], "label": [(i + (i % 7 == 0)) % 2 for i in range(n)]}


def long_labels(n):
    label = ["xy"[(i // 3 + (i % 7 == 0)) % 2] * n for i in range(90)]
    return {"item": [i // 3 for i in range(90)], "worker": [i % 3 for i in range(90)], "label": label}


@pytest.mark.parametrize(
    ("make", "size"), [(one_vote_each, 1_000), (items_with_one_vote, 3_000), (long_labels, 100_000)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)  # fmt: skip
def test_tables_of_unusual_shape_are_answered_in_seconds(tmp_path, make, size):
    """The whole sizes, 100,000 workers, 1,000,000 items and labels of 1 MB, are in benchmarks/limits.py."""
    table, before = make(size), time.process_time()
    result = mj.check(table, rng=0)
    write_result(result, result_summary(result), tmp_path)
    assert time.process_time() - before < SECONDS
    with (tmp_path / "labels.csv").open(newline="") as file:
        csv.field_size_limit(10**7)
        rows = list(csv.DictReader(file))
    assert len(rows) == len(set(table["item"]))
    assert {row["label"] for row in rows} <= {str(label) for label in table["label"]} | {""}


@pytest.mark.long
def test_the_measured_cases_stay_within_their_bound():
    benchmark = Path(__file__).parent.parent / "benchmarks" / "limits.py"
    done = subprocess.run([sys.executable, str(benchmark)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("answered") == 4
    assert done.stdout.count("rejected: ") == 6


def test_out_of_memory_is_reported(tmp_path, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    (tmp_path / "a.csv").write_text("item,worker,label\na,w,y\n")
    monkeypatch.setattr(sys.modules["majorant.read"], "build_votes", full)
    with pytest.raises(DataError, match=r"a\.csv does not fit into memory"):
        mj.read(tmp_path / "a.csv")


def test_the_page_lists_every_limit():
    page = (Path(__file__).parent.parent / "docs" / "limits.md").read_text(encoding="utf-8")
    for name, value in LIMITS.items():
        [row] = [line for line in page.splitlines() if f"`{name}`" in line and line.startswith("|")]
        assert re.search(rf"\b{value:,}\b", row), row
