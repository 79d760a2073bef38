"""Parquet whose text is a dictionary is read by its codes; it must come out as DuckDB reads it."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from majorant.database import connect
from majorant.errors import DataError
from majorant.read import parquet, read


def both_ways(path, monkeypatch):
    coded = read(path)
    with connect(1) as connection:
        assert parquet._dictionaries(connection, path)["item"]
    monkeypatch.setattr(parquet, "_dictionaries", lambda *_: {})
    return coded, read(path)


def assert_same(ours, theirs):
    assert (ours.items, ours.workers, ours.labels) == (theirs.items, theirs.workers, theirs.labels)
    for name in ("item_n", "worker_n", "label_n", "offsets_i"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert ours.account == theirs.account


@pytest.mark.parametrize("row_group_size", [7, 1000])
@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_codes_of_the_file_give_the_same_votes(tmp_path, monkeypatch, row_group_size, order):
    rng = np.random.default_rng(0)
    cell = rng.choice(np.arange(40 * 30), size=400, replace=False)
    cell = np.sort(cell) if order == "sorted" else cell
    labels = np.where(rng.random(400) < 0.1, None, rng.choice(["yes", "no", "ü"], 400))
    table = pa.table(
        {"item": [f"i{c // 30}" for c in cell], "worker": [f"w{c % 30}" for c in cell], "label": labels.tolist()}
    )
    pq.write_table(table, tmp_path / "v.parquet", row_group_size=row_group_size)
    assert_same(*both_ways(tmp_path / "v.parquet", monkeypatch))


def test_whole_numbers_and_text_go_together(tmp_path, monkeypatch):
    table = pa.table({"item": ["a", "a", "b"], "worker": [7, 8, 7], "label": pa.array([1, 0, 1], pa.int32())})
    pq.write_table(table, tmp_path / "v.parquet")
    assert_same(*both_ways(tmp_path / "v.parquet", monkeypatch))


def test_values_stand_in_order_of_appearance_and_unused_ones_nowhere(tmp_path, monkeypatch):
    item = pa.DictionaryArray.from_arrays(pa.array([3, 1, 3, 0], pa.int32()), pa.array(["d", "b", "unused", "a"]))
    worker = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 1], pa.int32()), pa.array(["w", "x", "unused"]))
    pq.write_table(pa.table({"item": item, "worker": worker, "label": ["y", "n", "y", "n"]}), tmp_path / "v.parquet")
    ours = parquet._column(pa.chunked_array([item]))
    assert (ours.dictionary.to_pylist(), ours.indices.to_pylist()) == (["a", "b", "d"], [0, 1, 0, 2])
    holes = pa.DictionaryArray.from_arrays(pa.array([None, 1, None], pa.int32()), pa.array(["d", "b"]))
    ours = parquet._column(pa.chunked_array([holes]))
    assert (ours.dictionary.to_pylist(), ours.to_pylist()) == (["b"], [None, "b", None])


def test_text_that_is_no_utf8_is_refused(tmp_path):
    binary = pa.array([b"\xff\xfe", b"b"], pa.binary())
    bad = pa.Array.from_buffers(pa.string(), 2, binary.buffers())
    pq.write_table(pa.table({"item": bad, "worker": ["w", "w"], "label": ["y", "n"]}), tmp_path / "v.parquet")
    with pytest.raises(DataError, match="damaged"):
        read(tmp_path / "v.parquet")


def test_a_file_that_breaks_off_within_a_later_row_group_is_refused(tmp_path):
    path = tmp_path / "v.parquet"
    rows = 4000
    table = pa.table(
        {"item": [f"i{n}" for n in range(rows)], "worker": ["w"] * rows, "label": ["y", "n"] * (rows // 2)}
    )
    pq.write_table(table, path, row_group_size=1000, compression="NONE")
    data = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(2).column(0).dictionary_page_offset
    data[start : start + 40] = b"\x00" * 40
    path.write_bytes(data)
    with pytest.raises(DataError, match="damaged or cut off"):
        read(path)
