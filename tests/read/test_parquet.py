"""Parquet: types, dictionaries and row groups are kept, and damaged files are rejected."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from majorant.errors import DataError
from majorant.read import parquet, read


def test_text_numbers_and_dictionaries_go_together(tmp_path):
    item = pa.DictionaryArray.from_arrays(pa.array([3, 1, 3, 0], pa.int32()), pa.array(["d", "b", "unused", "a"]))
    labels = pa.array([1, 0, None, 1], pa.int32())
    pq.write_table(pa.table({"item": item, "worker": [7, 8, 9, 7], "label": labels}), tmp_path / "v.parquet")
    votes = read(tmp_path / "v.parquet")
    assert (votes.items, votes.workers, votes.labels) == (("a", "b", "d"), (7, 8, 9), (0, 1))
    assert (votes.n_votes, votes.account.abstained) == (3, 1)


@pytest.mark.parametrize("row_group_size", [7, 1000])
def test_row_groups_are_read_in_order(tmp_path, row_group_size):
    rows = [(f"i{n // 3}", f"w{n % 3}", "yn"[n % 2]) for n in range(60)]
    columns = dict(zip(("item", "worker", "label"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "v.parquet", row_group_size=row_group_size)
    votes = read(tmp_path / "v.parquet")
    assert votes.items == tuple(f"i{n}" for n in range(20))
    assert [votes.labels[k] for k in votes.label_n] == [label for *_, label in rows]


def test_text_that_is_not_utf8_is_rejected(tmp_path):
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


def test_unpacked_size_counts_cells_that_run_lengths_hide(tmp_path, monkeypatch):
    cells = dict.fromkeys(("item", "worker", "label"), ["a"] * 100_000)
    pq.write_table(pa.table(cells), tmp_path / "v.parquet")
    assert (tmp_path / "v.parquet").stat().st_size < 10_000
    sizes = []
    monkeypatch.setattr(parquet, "refuse_unpacked", lambda name, size, unpacked: sizes.append((name, size, unpacked)))
    assert read(tmp_path / "v.parquet").account.merged == 99_999
    assert sizes
    assert min(unpacked for *_, unpacked in sizes) >= 300_000
