"""Stored votes equal votes read into memory in every code, name, count, note and message."""

import dataclasses
import json
import re

import numpy as np
import pytest

import awkward
import majorant
from majorant import database
from majorant.errors import ConfigError, DataError
from majorant.items import take_items
from majorant.read import sort as sorting
from majorant.read.options import ReadOptions
from majorant.read.sort import prepare
from majorant.votes import cut
from majorant.workfolder import LIST

MEMORY = 1_000_000_000

pytestmark = pytest.mark.usefixtures("small_parts")


def assert_same(stored, votes):
    """Every field of two Votes, types of names included."""
    for field in dataclasses.fields(votes):
        a, b = getattr(stored, field.name), getattr(votes, field.name)
        if field.name == "scratch":
            continue
        assert (a is None) == (b is None), field.name
        if isinstance(b, np.ndarray):
            np.testing.assert_array_equal(a, b, err_msg=field.name)
        else:
            assert (tuple(a), tuple(b)) == (tuple(b), tuple(a)) if field.name == "items" else a == b, field.name
            assert not isinstance(b, tuple) or list(map(type, a)) == list(map(type, b)), field.name


def both(source, folder, **settings):
    stored = prepare(source, folder, ReadOptions(**settings), memory=MEMORY)
    return stored, majorant.read(source, **settings)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_shuffled_table_with_gold_is_stored_unchanged(crowd_file, tmp_path, ending):
    source = str(crowd_file.with_suffix(f".{ending}"))
    stored = prepare(source, tmp_path / "work", ReadOptions(repeats="each"), memory=MEMORY)
    votes = majorant.read(source, repeats="each")
    assert len(list(cut(stored.offsets_i))) > 5
    assert_same(stored, votes)
    chosen = np.sort(np.random.default_rng(0).choice(len(votes.items), 90, replace=False))
    assert_same(take_items(stored, chosen), take_items(votes, chosen))


def rows(n, **more):
    """Rows with repeated, empty and failed votes, and columns of other kinds."""
    rng = np.random.default_rng(3)
    return [
        {
            "item": f"i{rng.integers(n // 4)}",
            "worker": int(rng.integers(30)),
            "label": ["yes", "no", "", "perhaps"][rng.choice(4, p=[0.5, 0.3, 0.1, 0.1])],
            "status": ["ok", "error", ""][rng.choice(3, p=[0.8, 0.1, 0.1])],
            "seconds": round(float(rng.exponential(9)), 2),
            **more,
        }
        for _ in range(n)
    ]


@pytest.mark.parametrize("repeats", ["first", "last", "each"])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_repeats_abstentions_status_seconds_and_slices(tmp_path, repeats, ending):
    table = rows(1500)
    for row in table:
        row["language"] = {"7": ""}.get(row["item"][-1], "de" if int(row["item"][1:]) % 3 else "en")
    path = tmp_path / f"votes.{ending}"
    if ending == "csv":
        path.write_text("\n".join([",".join(table[0]), *(",".join(map(str, row.values())) for row in table)]))
    else:
        path.write_text("\n".join(map(json.dumps, table)))
    stored, votes = both(str(path), tmp_path / "work", repeats=repeats, by="language", empty=("perhaps",))
    assert votes.account.abstained > 0
    assert votes.slices == ("de", "en")
    assert_same(stored, votes)


def test_a_gold_file_is_matched_by_name_and_by_text(tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("item,worker,label\n" + "".join(f"{i},w{i % 3},{i % 2}\n" for i in range(200)))
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"item": 7, "gold": 1}\n{"item": "8", "gold": 2}\n{"item": "none such", "gold": 1}\n')
    stored, read = both(str(votes), tmp_path / "work", gold_file=str(gold))
    assert read.gold_i.max() == 2
    assert_same(stored, read)


def test_whole_numbers_floats_and_dates_as_ids(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    table = {
        "item": pa.array(rng.integers(-(2**62), 2**62, 300)).take(pa.array(rng.integers(300, size=900))),
        "worker": pa.array(rng.integers(20, size=900) / 4),
        "label": pa.array([bool(x) for x in rng.integers(2, size=900)]),
    }
    pq.write_table(pa.table(table), tmp_path / "votes.parquet")
    assert_same(*both(str(tmp_path / "votes.parquet"), tmp_path / "work", repeats="first"))


def parquet_files(folder, *columns):
    """A file for each column of items; every item gets a vote of the file's worker."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for n, item in enumerate(columns):
        votes = {
            "item": item,
            "worker": pa.array([10 * n] * len(item)),
            "label": pa.array([i % 2 for i in range(len(item))]),
        }
        pq.write_table(pa.table(votes), folder / f"part-{n}.parquet")
    return str(folder / "part-*.parquet")


def test_whole_numbers_close_together_and_then_far_apart_keep_their_codes(tmp_path):
    rng = np.random.default_rng(2)
    near, far = rng.permutation(np.arange(-150, 150)), np.array([7, 2**60, -(2**62), 149, 3])
    pattern = parquet_files(tmp_path, near, near[::-1] + 100, far.astype(np.int64), far[:4])
    assert_same(*both(pattern, tmp_path / "work"))


def test_row_without_a_label_is_not_a_vote(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    label = [None if i % 7 == 0 else i % 2 for i in range(300)]
    table = {"item": np.arange(300) % 140, "worker": np.arange(300), "label": pa.array(label)}
    pq.write_table(pa.table(table), tmp_path / "votes.parquet")
    stored, votes = both(str(tmp_path / "votes.parquet"), tmp_path / "work")
    assert votes.account.abstained == 43
    assert_same(stored, votes)


@pytest.mark.parametrize("other", [["a", "b"], [1.5, 2.0], np.array([2**63 + 1, 4], np.uint64)])
def test_ids_of_several_types_are_refused(tmp_path, other):
    pattern = parquet_files(tmp_path, np.array([1, 2]), other)
    with pytest.raises(
        DataError, match=r"column 'item': items of several types can only be read in memory\. Write all"
    ):
        prepare(pattern, tmp_path / "work", memory=MEMORY)


def test_files_with_different_column_types_are_rejected(tmp_path):
    for n in range(3):
        content = "".join(f"i{(7 * i + n) % 150},w{i % 11},{i % 2}\n" for i in range(300))
        (tmp_path / f"part-{n}.csv").write_text(f"item,worker,label\n{content}")
    pattern = str(tmp_path / "part-*.csv")
    assert_same(*both(pattern, tmp_path / "work", repeats="first"))


def test_item_larger_than_a_batch_is_not_split(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BATCH_ROWS", 16)
    content = "".join(f"{item},w{worker},{(item + worker) % 2}\n" for worker in range(150) for item in (7, 3, worker))
    (tmp_path / "votes.csv").write_text(f"item,worker,label\n{content}")
    stored, votes = both(str(tmp_path / "votes.csv"), tmp_path / "work")
    assert votes.votes_i.max() > 100
    assert_same(stored, votes)


def test_items_without_votes_are_kept(tmp_path):
    content = "".join(f"i{n},w{n % 5},{'' if n < 400 or n > 900 else n % 2}\n" for n in range(1200))
    (tmp_path / "votes.csv").write_text(f"item,worker,label\n{content}")
    stored, votes = both(str(tmp_path / "votes.csv"), tmp_path / "work")
    assert (votes.votes_i == 0).sum() > 600
    assert_same(stored, votes)


MESSAGES = [
    "item,worker,label\na,w,1\n,w,2\n",
    "item,worker,label\na,w,1\nb, ,2\n",
    "item,worker,label\na,w,1\nb,w,0\na,w,2\n",
    "item,worker,label\na,w,\nb,w,\n",
    "item,worker,label,status\na,w,1,ok\na,x,1,perhaps\n",
    "item,worker,label,gold\na,w,1,1\na,x,1,2\n",
    "item,worker,label,seconds\na,w,1,3\na,x,1,fast\n",
    "item,worker,label\na,w,1\na,x\n",
    "item,worker,label\n",
]


@pytest.mark.parametrize("content", MESSAGES)
def test_bad_tables_give_the_same_error_as_reading(tmp_path, content):
    path = tmp_path / "votes.csv"
    path.write_text(content)
    with pytest.raises(DataError) as expected:
        majorant.read(str(path))
    with pytest.raises(DataError) as found:
        prepare(str(path), tmp_path / "work", memory=MEMORY)
    assert str(found.value) == str(expected.value)
    assert [entry.name for entry in (tmp_path / "work").iterdir()] == [LIST]


def test_an_id_written_in_two_ways_is_refused(tmp_path):
    path = tmp_path / "votes.jsonl"
    path.write_text('{"item": 1, "worker": "a", "label": 0}\n{"item": 1.0, "worker": "b", "label": 0}\n')
    with pytest.raises(DataError, match="items of several types"):
        prepare(str(path), tmp_path / "work", memory=MEMORY)


def test_a_second_run_uses_the_sorted_file_unless_something_changed(crowd_file, tmp_path, monkeypatch):
    each = ReadOptions(repeats="each")
    first = prepare(str(crowd_file), tmp_path / "work", each, memory=MEMORY)
    with monkeypatch.context() as patch:
        patch.setattr(sorting, "_build", None)  # nothing is built
        again = prepare(str(crowd_file), tmp_path / "work", each, resume=True, memory=MEMORY)
    assert_same(again, first)
    other = prepare(str(crowd_file), tmp_path / "work", ReadOptions(repeats="first"), resume=True, memory=MEMORY)
    assert other.n_votes < first.n_votes  # sorted again
    again = prepare(str(crowd_file), tmp_path / "work", each, resume=True, memory=MEMORY)
    assert again.n_votes == first.n_votes


def test_a_damaged_folder_is_an_error_and_says_that_it_can_be_removed(crowd_file, tmp_path):
    options, folder = ReadOptions(repeats="each"), tmp_path / "work"
    prepare(str(crowd_file), folder, options, memory=MEMORY)
    files = {path.name for path in folder.iterdir() if path.name != LIST}
    arrays = {"offsets_i", "item_n", "worker_n", "label_n", "gold_i"}
    assert files == {*arrays, "items.arrow", "votes.json", "CACHEDIR.TAG"}
    assert "can be deleted" in (folder / "CACHEDIR.TAG").read_text()
    for name in sorted(arrays | {"items.arrow"}):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-4])
        with pytest.raises(DataError, match=rf"{name} is damaged \(.* bytes instead of .*\)\. Remove .*work, which"):
            prepare(str(crowd_file), folder, options, resume=True, memory=MEMORY)
        (folder / name).unlink()
        with pytest.raises(DataError, match=rf"{name} is damaged \(No such file"):
            prepare(str(crowd_file), folder, options, resume=True, memory=MEMORY)
        (folder / name).write_bytes(content)
    for name in ("item_n", "worker_n", "offsets_i"):  # codes out of range, or votes out of order
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:40] + b"\x7f" * 4 + content[44:])
        with pytest.raises(DataError, match=r"work is damaged \(.*\)\. Remove .*work, which"):
            prepare(str(crowd_file), folder, options, resume=True, memory=MEMORY)
        (folder / name).write_bytes(content)
    prepare(str(crowd_file), folder, options, resume=True, memory=MEMORY)


def test_a_folder_without_its_description_is_filled_again(crowd_file, tmp_path):
    options, folder = ReadOptions(repeats="each"), tmp_path / "work"
    first = prepare(str(crowd_file), folder, options, memory=MEMORY)
    (folder / "votes.json").unlink()
    assert_same(prepare(str(crowd_file), folder, options, resume=True, memory=MEMORY), first)


def test_a_file_that_changes_while_it_is_read_is_an_error(crowd_file, tmp_path):
    def touch(what, done, total):
        if what == "sorting":
            crowd_file.touch()

    with pytest.raises(DataError, match="changed while it was read"):
        prepare(str(crowd_file), tmp_path / "work", ReadOptions(repeats="each"), memory=MEMORY, report=touch)
    assert [entry.name for entry in (tmp_path / "work").iterdir()] == [LIST]


def test_too_little_memory_error_states_the_minimum(crowd_file, tmp_path):
    with pytest.raises(ConfigError, match=r"memory='100MB' is too little to read votes at all.*at least 400MB"):
        prepare(str(crowd_file), tmp_path / "work", memory=100_000_000)


def test_awkward_rows_mean_the_same_in_memory_and_in_files(tmp_path):
    (tmp_path / "votes.csv").write_text(awkward.TABLE, encoding="utf-8")
    for votes in both(str(tmp_path / "votes.csv"), tmp_path / "work", empty="NA"):
        awkward.holds(votes)


@pytest.mark.parametrize("row", awkward.REFUSED)
def test_additional_invalid_rows_are_rejected_in_memory_and_in_files(tmp_path, row):
    (tmp_path / "votes.csv").write_text(f"{awkward.TABLE}{row}\n", encoding="utf-8")
    messages = []
    for read in (majorant.read, lambda path, **told: prepare(path, tmp_path / "w", ReadOptions(**told), memory=MEMORY)):
        with pytest.raises(DataError, match=re.escape(awkward.REFUSED[row])) as refused:
            read(str(tmp_path / "votes.csv"), empty="NA")
        messages.append(str(refused.value))
    assert messages[0] == messages[1]
    assert "votes.csv, row 16" in messages[0]
