"""The campaign of mutated inputs: a little of it in every run, ten minutes of it in the long one."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import majorant as mj
from corpus import FOUND, READERS, fuzz
from majorant.report.files import write_result
from majorant.report.summary import result_summary


def test_a_little_of_the_campaign():
    assert [fuzz.run_input(number, keep=False)[1] for number in range(25)] == [None] * 25


def test_every_reader_takes_part():
    assert {case.reader for case in fuzz.seeds()} == set(READERS)
    endings = {case.name.partition(".")[2] for case in fuzz.seeds()}
    assert {
        "csv",
        "tsv",
        "csv.gz",
        "json",
        "jsonl",
        "ndjson",
        "parquet",
        "xml",
        "eval",
        "xlsx",
        "ods",
        "bin",
    } <= endings


def test_a_case_is_the_same_whenever_it_is_drawn():
    assert fuzz.input_case(7) == fuzz.input_case(7)
    assert fuzz.input_case(7) != fuzz.input_case(8)


@pytest.mark.parametrize("path", sorted(FOUND.glob("table-*")), ids=lambda path: path.name)
def test_tables_that_once_broke_check(path):
    columns = json.loads(path.read_text())
    assert fuzz.check_fault(columns, columns.pop("level")) is None


def test_a_fault_is_found_and_made_small():
    assert fuzz.smaller(b"x" * 50 + b"BAD" + b"y" * 50, lambda part: b"BAD" in part) == b"BAD"
    facts = {"a": [{"low": 0.1, "value": 0.5, "high": 0.4}, float("nan")], "confidence": 1.1, "n": 7}
    assert list(fuzz.broken_numbers(facts)) == [
        ".a[0]: 0.5 outside [0.1, 0.4]",
        ".a[1]: nan",
        ".confidence: 1.1 is no probability",
    ]
    rows = {"item": list("abcdefgh"), "worker": list("wxwxwxwx"), "label": list("nynyZyny")}
    assert fuzz.smaller_table(rows, lambda some: "Z" in some["label"]) == {
        "item": ["e"],
        "worker": ["w"],
        "label": ["Z"],
    }


@pytest.mark.long
def test_ten_minutes_of_the_campaign():
    command = [sys.executable, "-m", "corpus.fuzz", "--minutes", "10", "--inputs", "20000", "--tables", "300"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_table_goes_through_check_with_its_invariants():
    assert fuzz.run_table(0, keep=False) == (0, None)


def test_the_invariants_see_what_is_wrong(tmp_path):
    columns = fuzz.table(np.random.default_rng(1))
    result = mj.check(columns, rng=0)
    write_result(result, result_summary(result), tmp_path)
    assert list(fuzz.broken_set(tmp_path, columns)) == []
    text = (tmp_path / "labels.csv").read_text(encoding="utf-8")
    (tmp_path / "labels.csv").write_text(text + "unknown\n", encoding="utf-8")
    facts = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    facts.pop("answer")
    (tmp_path / "result.json").write_text(json.dumps(facts), encoding="utf-8")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    (tmp_path / "report.html").write_text(page.replace("</svg>", "<x></svg>", 1), encoding="utf-8")
    kinds = {fault.partition(":")[0] for fault in fuzz.broken_set(tmp_path, columns)}
    assert {"schema", "labels.csv", "a figure is not XML"} <= kinds
