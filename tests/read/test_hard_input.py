"""Bad, doubtful and unusual tables give an error message, a note or the right votes."""

from __future__ import annotations

import gzip
import io
import json
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from majorant.errors import ConfigError, DataError
from majorant.read import read
from majorant.render.notes import note_text

HEADER = "item,worker,label\n"
ROWS = "q1,ana,yes\nq1,bo,no\nq2,ana,yes\n"


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="votes.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return str(path)

    return write_file


def refused(source, *words, error=DataError, **settings):
    """The message of the refusal, which must hold every word."""
    with pytest.raises(error) as caught:
        read(source, **settings)
    message = str(caught.value)
    for word in words:
        assert word in message, (word, message)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


def kinds(votes):
    return [note.kind for note in votes.account.notes]


def triples(votes):
    return [
        (votes.items[i], votes.workers[j], votes.labels[k])
        for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    ]


# Errors: file, row, column, value, next move.


def test_missing_file_is_named(tmp_path):
    refused(str(tmp_path / "nope.csv"), "nope.csv", "no such file", "Check the name")


def test_empty_file(write):
    refused(write(""), "votes.csv is empty", "export")


def test_blank_lines_only(write):
    refused(write("\n\n  \n"), "votes.csv")


@pytest.mark.parametrize("content", [HEADER, HEADER.strip(), HEADER + "\n\n"])
def test_header_only(write, content):
    refused(write(content), "votes.csv has a header but no rows")


def test_empty_json_array(write):
    refused(write("[]", "votes.json"), "votes.json holds no objects")


def test_ambiguous_column_error_names_the_flag(write):
    refused(write("item,task,worker,label\n1,2,3,4\n"), "'item' and 'task'", "item='NAME'")


def test_missing_column_error_names_the_flag_and_the_columns(write):
    refused(write("text,worker,label\nx,ana,yes\n"), "the item", "'text', 'worker', 'label'", "item='NAME'", "columns=")


def test_named_column_that_does_not_exist(write):
    refused(write(HEADER + ROWS), "no column 'colour'", "'item'", item="colour", error=ConfigError)


def test_headerless_file_suggests_columns(write):
    refused(write(ROWS), "looks like a vote", "columns='item,worker,label'")


def test_header_row_with_explicit_columns(write):
    refused(write(HEADER + ROWS), "row 1", "header", "columns=", columns="item,worker,label")


def test_too_few_names_in_columns(write):
    refused(write("q1,ana,yes,7\n"), "row 1", "4 fields", "_", columns="item,worker,label")


@pytest.mark.parametrize("n_before", [2, 300_000])
def test_row_with_too_few_fields(write, n_before):
    rows = "".join(f"q{n},ana,yes\n" for n in range(n_before))
    refused(
        write(HEADER + rows + "q9,bo\n" + ROWS),
        f"votes.csv, row {n_before + 2}",
        "2 fields where 3",
        "'q9,bo'",
        "remove",
    )


def test_row_with_too_many_fields(write):
    refused(write(HEADER + ROWS + "q9,bo,yes,really\n"), "row 5", "4 fields where 3", "quote")


def test_row_number_counts_records_not_lines(write):
    refused(write(HEADER + '"q\n1",ana,yes\nq9,bo\n'), "row 3", "2 fields")


def test_unclosed_quote(write):
    refused(write(HEADER + ROWS + 'q9,"bo,yes\n'), "row 5", "never closed")


def test_undecodable_bytes(write):
    message = refused(
        write(b"item,worker,label\nq1,ana,yes\nq2,Ren\xe9,no\n"), "row 3", "column 2", "encoding='latin-1'"
    )
    assert "Ren\\xe9" in message


def test_undecodable_bytes_in_json_lines(write):
    content = b'{"item":1,"worker":"a","label":0}\n{"item":1,"worker":"Ren\xe9","label":0}\n'
    refused(write(content, "votes.jsonl"), "votes.jsonl, line 2", "encoding='latin-1'")


def test_wrong_encoding_named_by_the_caller(write):
    refused(write("item,worker,label\nq1,René,yes\n"), "row 2", "ASCII", "encoding=", encoding="ascii")
    refused(write(HEADER + ROWS), "klingon", error=ConfigError, encoding="klingon")


def test_repeated_vote_that_differs(write):
    refused(
        write(HEADER + ROWS + "q1,bo,yes\n"),
        "votes.csv, row 5", "worker 'bo'", "item 'q1'", "'yes' after 'no' in row 3", "repeats='first'|'last'|'each'",
    )  # fmt: skip


def test_too_many_labels_suggest_the_wrong_column(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 1_000_000
    table = pa.table({"item": range(n), "worker": ["w"] * n, "label": [f"free text {k}" for k in range(n)]})
    pq.write_table(table, tmp_path / "votes.parquet", row_group_size=100_000)
    seen = []
    path = str(tmp_path / "votes.parquet")
    refused(path, "'label'", "1,000 different labels", "'free text 1000'", "label='NAME'", progress=seen.append)
    assert max(seen, default=0) < n  # it stops early


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("votes.parquet", HEADER + ROWS, ("not Parquet", "CSV")),
        ("votes.csv", b"PAR1 and so on", ("Parquet",)),
        ("votes.csv", '[{"item": 1}]', ("JSON", "format=")),
        ("votes.json", HEADER + ROWS, ("not JSON", "CSV")),
        ("votes.csv", gzip.compress(b"item,worker,label\n"), ("gzip", "votes.csv.gz")),
        ("votes.csv.gz", HEADER + ROWS, ("not gzip",)),
        ("votes.xlsx", b"PK\x03\x04abc", ("Excel", "CSV")),
        ("votes.csv", "<!DOCTYPE html><html>Please sign in</html>", ("web page", "login")),
        ("votes.csv", bytes(range(256)) * 20, ("not a text file",)),
    ],
    ids=range(9),  # packed bytes hold the time, and parallel runs need equal names
)
def test_file_that_is_not_what_its_ending_says(write, name, content, words):
    refused(write(content, name), name, *words)


def test_cut_off_json(write):
    whole = json.dumps([{"item": k, "worker": "ana", "label": "yes"} for k in range(9)], indent=1)
    refused(write(whole[:-60], "votes.json"), "votes.json, line", "column", "cut off")


@pytest.mark.parametrize("name", ["votes.json", "votes.json.gz"])
@pytest.mark.parametrize("end", ["", ",", ", \n", "\n"])
def test_json_cut_off_between_objects(write, name, end):
    content = ('[{"item": 1, "worker": "ana", "label": "yes"}' + end).encode()
    refused(write(gzip.compress(content) if name.endswith("gz") else content, name), name, "cut off")


def test_cut_off_json_lines(write):
    line = '{"item": 1, "worker": "ana", "label": "yes"}\n'
    refused(write(line * 3 + line[:20], "votes.jsonl"), "votes.jsonl, line 4, column")


def test_json_without_objects_is_rejected(write):
    refused(write('{"item": 1, "worker": "ana", "label": "yes"}\n[1, 2]\n', "votes.jsonl"), "line 2", "not an object")


def test_cut_off_gzip(write):
    packed = gzip.compress((HEADER + "".join(f"q{k},w{k * 7919},yes\n" for k in range(200_000))).encode())
    refused(write(packed[:-2000], "votes.csv.gz"), "votes.csv.gz", "end too early", "Copy")


def test_cut_off_parquet(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "votes.parquet"
    pq.write_table(pa.table({"item": [1], "worker": [1], "label": [1]}), path)
    path.write_bytes(path.read_bytes()[:-9])
    refused(str(path), "votes.parquet", "damaged or cut off")


def test_directory(tmp_path):
    refused(str(tmp_path), "is a folder", "*.csv")


def test_no_permission(write, monkeypatch):
    path = write(HEADER + ROWS)
    real = Path.open

    def locked(self, *args, **kwargs):
        if str(self) == path:
            raise PermissionError(13, "Permission denied", path)
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", locked)  # tests may run as root, whom no mode stops
    refused(path, "votes.csv", "no permission", "chmod")


def test_addresses_are_refused():
    refused("https://example.org/votes.csv", "download", error=ConfigError)
    refused("s3://bucket/votes.csv", "download", error=ConfigError)


def test_pattern_without_files(tmp_path):
    refused(str(tmp_path / "*.csv"), "no file matches")


@pytest.mark.parametrize("column", ["item", "worker"])
@pytest.mark.parametrize("blank", ["", '""', "  "])
def test_empty_item_or_worker(write, column, blank):
    row = f"{blank},bo,no\n" if column == "item" else f"q1,{blank},no\n"
    refused(write(HEADER + "q0,ana,yes\n" + row), "row 3", f"column '{column}'", f"the {column} is empty")


def test_every_label_empty(write):
    refused(write(HEADER + "q1,ana,\nq1,bo, \n"), "no row contains a vote", "label=")


def test_unknown_status_error_names_row_and_fix(write):
    path = write("item,worker,label,status\nq1,ana,yes,ok\nq1,bo,no,perhaps\n")
    refused(path, "row 3", "'status'", "'perhaps'", "status=''")
    assert read(path, status="").n_votes == 2


def test_non_numeric_seconds(write):
    refused(write("item,worker,label,seconds\nq1,ana,yes,3\nq1,bo,no,fast\n"), "row 3", "'seconds'", "'fast'")


def test_gold_that_contradicts_itself(write):
    path = write("item,worker,label,gold\nq1,ana,yes,yes\nq1,bo,no,no\n")
    refused(path, "row 3", "'gold'", "item 'q1'", "'no'", "'yes'", "row 2")


def test_label_that_is_a_list(write):
    path = write('{"item":1,"worker":"a","label":"x"}\n{"item":1,"worker":"b","label":["x","y"]}\n', "votes.jsonl")
    refused(path, "record 2", "'label'", "['x', 'y']", "list")


def test_files_of_different_kinds(write):
    one, other = write(HEADER + ROWS), write('{"item":1,"worker":"a","label":"x"}\n', "more.jsonl")
    refused([one, other], "votes.csv", "more.jsonl", "one kind")


def test_bad_settings():
    votes = [("q", "w", 1)]
    refused(votes, "repeats=", error=ConfigError, repeats="maybe")
    refused(votes, "for files", error=ConfigError, encoding="utf-8")
    refused("x.csv", "'colour'", error=ConfigError, columns="worker,item,colour")
    refused("x.csv", "twice", error=ConfigError, columns="worker,item,item,label")
    refused(3, "cannot read votes from int", error=ConfigError)


# Notes: it works, and the account says so.


def test_single_class(write):
    votes = read(write(HEADER + "q1,ana,yes\nq1,bo,yes\n"))
    assert votes.labels == ("yes",)
    assert kinds(votes) == ["single-class"]


def test_an_unlabelled_item_stays_an_item(write):
    votes = read(write(HEADER + "q1,ana,yes\nq2,ana,\nq1,bo,no\n"))
    assert votes.items == ("q1", "q2")
    assert votes.votes_i.tolist() == [2, 0]
    assert votes.abstained_i.tolist() == [0, 1]
    assert "unlabelled-items" in kinds(votes)
    assert "'q2'" in next(note_text(note) for note in votes.account.notes if note.kind == "unlabelled-items")


def test_gold_labels_that_no_worker_used(write):
    votes = read(write("item,worker,label,gold\nq1,ana,yes,maybe\nq1,bo,no,maybe\nq2,bo,no,\n"))
    assert votes.labels == ("maybe", "no", "yes")
    assert [votes.labels[k] if k >= 0 else None for k in votes.gold_i] == ["maybe", None]
    assert "'maybe'" in next(note_text(note) for note in votes.account.notes if note.kind == "gold-unused")


def test_labels_that_differ_by_case_or_spaces_are_named(write):
    votes = read(write(HEADER + "q1,ana,Yes\nq1,bo,yes\nq2,ana,yes \nq2,bo,no\n"))
    assert votes.labels == ("Yes", "no", "yes", "yes ")
    (note,) = (note for note in votes.account.notes if note.kind == "label-variants")
    assert "'Yes' (1), 'yes' (1) and 'yes ' (1)" in note_text(note)


def test_identical_repeats_are_merged_and_counted(write):
    votes = read(write(HEADER + ROWS + "q1,bo,no\nq1,bo,no\n"))
    assert (votes.account.rows, votes.account.votes, votes.account.merged) == (5, 3, 2)
    assert votes.account.balanced
    assert kinds(votes) == ["merged"]


def test_empty_labels_are_abstentions(write):
    votes = read(write(HEADER + 'q1,ana,yes\nq1,bo,\nq1,cy,""\nq1,di,  \nq1,ed,no\n'))
    assert votes.n_votes == 2
    assert votes.workers == ("ana", "bo", "cy", "di", "ed")
    assert votes.abstained_i.tolist() == [3]
    assert votes.account.abstained == 3
    assert votes.account.balanced
    assert {"abstained", "silent-workers"} <= set(kinds(votes))


def test_null_and_nan_are_empty_in_frames():
    import pandas as pd

    frame = pd.DataFrame({"item": [1, 1, 1], "worker": ["a", "b", "c"], "label": [1.0, float("nan"), None]})
    assert read(frame).abstained_i.tolist() == [2]
    assert read({"item": [1, 1], "worker": ["a", "b"], "label": [None, "x"]}).abstained_i.tolist() == [1]


@pytest.mark.parametrize("word", ["NA", "N/A", "None", "null", "nan"])
def test_na_is_a_label_with_a_note_unless_declared_empty(write, word):
    path = write(HEADER + f"q1,ana,1\nq1,bo,{word}\nq2,bo,0\n")
    votes = read(path)
    assert word in votes.labels
    assert f"empty={word!r}" in next(note_text(note) for note in votes.account.notes if note.kind == "missing-label")
    votes = read(path, empty=[word])
    assert votes.labels == (0, 1)
    assert votes.abstained_i.tolist() == [1, 0]
    assert "na-label" not in kinds(votes)


# Just works.


def test_worker_with_one_vote(write):
    votes = read(write(HEADER + ROWS))
    assert (votes.worker_n == votes.workers.index("bo")).sum() == 1


def test_unusual_ids_are_kept_unchanged(write):
    ids = ["a,b", 'say "hi"', "two\nlines", "carriage\r\nreturn", "😀", "007", " spaced ", "'", "NULL", "1e5", "#no"]
    text = io.StringIO()
    import csv

    out = csv.writer(text)
    out.writerow(["item", "worker", "label"])
    out.writerows((one, other, "yes") for one in ids for other in ids)
    votes = read(write(text.getvalue()))
    assert votes.items == tuple(ids)
    assert votes.workers == tuple(ids)


def test_numbers_as_labels(write):
    assert read(write(HEADER + "1,1,10\n1,2,9\n")).labels == (9, 10)
    assert read(write(HEADER + "1,1,1.5\n1,2,-3\n")).labels == (-3, 1.5)
    assert read(write(HEADER + "1,1,01\n1,2,1\n")).labels == ("01", "1")
    assert read(write(HEADER + "1,1,1e3\n1,2,1\n")).labels == ("1", "1e3")
    assert read(write(HEADER + "01,1,1\n1,2,1\n")).items == ("01", "1")


def test_mixed_types_are_kept_apart_and_noted(write):
    path = write(
        '[{"item":1,"worker":"a","label":1},{"item":1,"worker":"b","label":"1"},'
        '{"item":1,"worker":"c","label":true},{"item":1,"worker":"d","label":1.0}]',
        "votes.json",
    )
    for votes in (read(path), read([(1, "a", 1), (1, "b", "1"), (1, "c", True), (1, "d", 1.0)])):
        assert [type(label) for label in votes.labels] == [bool, int, str]
        assert votes.label_n.tolist() == [1, 2, 0, 1]
        assert "mixed-labels" in kinds(votes)


def test_mixed_types_in_a_pandas_column():
    import pandas as pd

    frame = pd.DataFrame({"item": [1, "1", True], "worker": ["a", "a", "a"], "label": [0, "0", False]})
    votes = read(frame)
    assert len(votes.items) == 3
    assert len(votes.labels) == 3


def test_integers_beyond_64_bits(write):
    big = 2**80
    path = write(
        f'{{"item":{big},"worker":{big + 1},"label":1}}\n{{"item":{big + 1},"worker":7,"label":0}}\n', "v.jsonl"
    )
    assert read(path).items == (str(big), str(big + 1))
    assert read(path).workers == (str(big + 1), 7)
    assert read(write(HEADER + f"{big},{big},1\n")).items == (str(big),)
    assert read([(big, "w", 1), (big + 1, "w", 0)]).items == (big, big + 1)


def test_standard_input(monkeypatch):
    for text in (HEADER + ROWS, '{"item":"q1","worker":"ana","label":"yes"}\n', '[{"item":1,"worker":2,"label":3}]'):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert read("-").account.source == "standard input"


def test_no_temporary_files_remain(write, monkeypatch, tmp_path):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    read(write((HEADER + ROWS).encode("utf-16")))
    refused(write((HEADER + "q1,ana\n").encode("utf-16")), "row 2")
    assert list((tmp_path / "temp").iterdir()) == []


def test_quoted_backslash_is_not_an_escape(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text('"item","worker","label"\n"0","\\","a"\n')
    assert read(path).workers == ("\\",)


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), Decimal("Infinity")])
def test_infinite_labels_are_refused_at_once(tmp_path, value):
    labels = [1, 2, value, 1]
    columns = {"item": ["a", "a", "b", "b"], "worker": ["u", "v", "u", "v"], "label": labels}
    with pytest.raises(DataError, match=r"the label -?Infinity|the label -?inf is infinite"):
        read(columns)
    assert read(columns, empty=str(value)).n_votes == 3
    assert read(columns, threshold=1.5).labels == ("below 1.5", "at least 1.5")
    with pytest.raises(DataError, match="is infinite"):
        read({**columns, "label": [1, 2, 2, 1], "gold": [None, None, value, value]})
    path = tmp_path / "votes.json"
    path.write_text(json.dumps([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
                               default=float))  # fmt: skip
    with pytest.raises(DataError):
        read(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_threshold_is_a_finite_score(value):
    with pytest.raises(ConfigError, match="must be a number"):
        read([("a", "u", 1), ("a", "v", 2)], threshold=value)
