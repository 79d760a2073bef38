"""The campaign of `make fuzz`: a short run of every part, and ten minutes in the long tests."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import majorant as mj
from corpus import FOUND, READERS, campaign, fuzz, kills, readings
from majorant.render.figures import workers as worker_figures
from majorant.render.files import write_result
from majorant.render.summary import result_summary
from sizes import many


@pytest.mark.parametrize(
    ("part", "n"),
    [("inputs", 400), ("containers", 300), ("calls", 400), ("uploads", 60), ("readings", 300), ("orders", 3)],
)
def test_short_campaign(part, n, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    start = 1  # the first container is large
    assert [fault for _, fault in (campaign.run_case(part, start + case) for case in range(many(n)))] == [None] * many(
        n
    )


def test_interrupted_campaign_resumes(tmp_path):
    state = tmp_path / "state.json"
    words = [sys.executable, "-m", "corpus.campaign", "--part", "readings", "--processes", "1", "--state", str(state)]
    for cases in (5, 8):
        done = subprocess.run(
            [*words, "--cases", str(cases)], cwd=Path(__file__).parent, check=True, capture_output=True
        )
        found = json.loads(state.read_text())["readings"]
        assert (found["cases"], found["faults"]) == (cases, 0)
    assert b"8 readings: generated tables against a naive reader; 0 faults" in done.stdout


def test_a_fault_ends_the_campaign_with_a_distinct_exit_status(tmp_path):
    words = [sys.executable, "-m", "corpus.campaign", "--part", "kills", "--cases", "0", "--state", "state.json"]
    (tmp_path / "state.json").write_text('{"kills": {"cases": 4, "faults": 1, "seconds": 1}}')
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    assert subprocess.run(words, cwd=tmp_path, env=environment, check=False, capture_output=True).returncode == 1


def test_labels_survive_the_processes_that_wrote_them():
    assert [kills.run_kill(number) for number in range(many(60, quick=2))] == [
        (n, None) for n in range(many(60, quick=2))
    ]


def test_naive_reader_detects_different_votes(tmp_path, monkeypatch):
    """Detects a reader that strips names and one that reads numbers as text."""
    real = readings.read_ballots
    for change in (
        lambda ballots: Counter(
            {tuple((kind, str(value).strip()) for kind, value in vote): n for vote, n in ballots.items()}
        ),
        lambda ballots: Counter(list(ballots.elements())[1:]),
    ):
        monkeypatch.setattr(
            readings, "read_ballots", lambda votes, change=change: (change(real(votes)[0]), *real(votes)[1:])
        )
        assert any(readings.run_reading(number)[1] for number in range(40))


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
    } <= endings


def test_cases_are_reproducible():
    assert fuzz.input_case(7) == fuzz.input_case(7)
    assert fuzz.input_case(7) != fuzz.input_case(8)


@pytest.mark.parametrize("path", sorted(FOUND.glob("table-*")), ids=lambda path: path.name)
def test_tables_that_once_broke_check(path):
    columns = json.loads(path.read_text())
    assert fuzz.check_fault(columns, columns.pop("level")) is None


def has_note(content):
    """Whether this is JSON, whole or in lines, whose last vote bears the note that breaks something."""
    with contextlib.suppress(ValueError):
        last = json.loads(content.splitlines()[-1])
        return "é" in json.dumps(last, ensure_ascii=False)
    return False


def test_faults_are_found_and_minimised():
    assert fuzz.smaller(b"x" * 50 + b"BAD" + b"y" * 50, lambda part: b"BAD" in part) == b"BAD"
    votes = [*({"item": n, "label": "y"} for n in range(9)), {"item": "a", "note": {"x": [1, "é"]}, "label": "BAD"}]
    for content in (fuzz._dumped({"name": "x" * 500, "votes": votes}), fuzz._dumped_lines(votes)):
        small = fuzz.smaller(content, has_note)
        assert len(small) < 40
        assert has_note(small)
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
    command = [sys.executable, "-m", "corpus.campaign", "--minutes", "10"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_intervals_contain_their_estimate_down_to_the_lowest_level():
    assert fuzz.check_fault(VOTES, 0.501, whole=False) is None
    assert "level must lie between 0.5 and 1" in fuzz.check_fault(VOTES, 0.5, whole=False)


def test_a_table_goes_through_check_with_its_invariants():
    assert fuzz.run_table(0, keep=False) == (0, None)


VOTES = {  # a crowd: every item has 3 of 9 workers
    "item": [f"=i{n // 3}" for n in range(108)],
    "worker": [f"gpt-4.123{(4 * (n // 3) + 2 * (n % 3)) % 9}" for n in range(108)],
    "label": ["yes" if (n // 3 + n % 5 // 4) % 2 else "no" for n in range(108)],
}


@pytest.fixture(scope="module")
def whole_set(tmp_path_factory):
    folder = tmp_path_factory.mktemp("set")
    result = mj.check(VOTES, rng=0)
    write_result(result, result_summary(result), folder)
    assert list(fuzz.broken_set(folder, VOTES)) == []
    return folder


def replaced(old, new, n=1):
    return lambda text: text.replace(old, new, n)


def cell(column, value):
    """Another value in the first row of a CSV file."""

    def edit(text):
        header, first, rest = text.split("\n", 2)
        cells = first.split(",")
        cells[header.split(",").index(column)] = value
        return "\n".join([header, ",".join(cells), rest])

    return edit


def fact(value, *path):
    """Another value in result.json."""

    def edit(text):
        facts = json.loads(text)
        place = facts
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        return json.dumps(facts)

    return edit


@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        ("labels.csv", cell("item", "i0"), r"labels\.csv: items \['=i0', 'i0'\]"),
        ("labels.csv", lambda text: text + text.split("\n")[1] + "\n", r"labels\.csv: items \[\]"),
        ("labels.csv", cell("label", "y"), r"labels\.csv: labels \['y'\]"),
        ("labels.csv", cell("confidence", "1.5"), "1.5 is no probability"),
        ("labels.csv", cell("confidence", "nan"), r"labels\.csv\.confidence: nan"),
        ("labels.csv", cell("votes", "4"), "4 votes on =i0"),
        ("labels.csv", cell("tied", "true"), "tied=true on =i0"),
        ("labels.csv", cell("changed", "true"), "changed=true on =i0"),
        ("labels.csv", cell("majority", "yes"), "majority 'yes' on =i0"),
        ("labels.csv", cell("weighted_vote", "y"), r"labels\.csv: labels \['y'\]"),
        ("labels.csv", cell("source", "vote"), "source 'vote'"),
        ("workers.csv", cell("worker", "gpt-4.12"), r"workers\.csv: workers \['gpt-4.12', "),
        ("workers.csv", cell("estimated_low", "0.9999"), r"workers\.csv: .* outside"),
        ("workers.csv", cell("no labelled no", "1.2"), "1.2 is no probability"),
        ("workers.csv", cell("votes", "1"), "1 votes by gpt"),
        ("review.csv", cell("item", "=i0"), ""),
        ("review.csv", cell("item", "i0"), r"review\.csv: items \['i0'\]"),
        ("result.json", lambda text: json.dumps(json.loads(text) | {"answer": None}), "^schema: "),
        ("result.json", fact(2.0, "agreement", "percent", "value"), r"percent: 2.0 outside"),
        ("result.json", fact(-0.1, "accuracy", "majority", "low"), r"majority\.low: -0.1 is no probability"),
        ("result.json", fact([0.5, 0.6], "workers", "confusions", 0, "matrix", 0), "do not add up to 1"),
        ("result.json", fact(float("nan"), "confidence", "ece"), r"^\.confidence\.ece: nan"),
        ("result.json", fact(1.2, "workers", "rows", 0, "high"), "1.2 is|outside|schema"),
        ("report.html", replaced("</svg>", "<x></svg>"), "a figure is not XML"),
        ("report.html", replaced("<bdi>yes</bdi>", "<bdi>ye</bdi>", 99), r"figures: labels \['yes'\] are not"),
    ],
)
def test_each_invariant_detects_its_violation(whole_set, name, edit, fault):
    sound = (whole_set / name).read_text(encoding="utf-8")
    broken = edit(sound)
    assert broken != sound
    try:
        (whole_set / name).write_text(broken, encoding="utf-8")
        faults = list(fuzz.broken_set(whole_set, VOTES))
    finally:
        (whole_set / name).write_text(sound, encoding="utf-8")
    assert any(re.search(fault, one) for one in faults) if fault else not faults


def test_quick_mode_checks_the_same_cases(monkeypatch):
    """With small budgets, wrong names are noticed, and the usual budgets are restored afterwards."""
    before = [getattr(module, name) for module, name in fuzz.budgeted()]
    assert {name for _, name in fuzz.budgeted()} == set(fuzz.BUDGETS)
    assert fuzz.check_fault(VOTES, whole=False) is None
    assert [getattr(module, name) for module, name in fuzz.budgeted()] == before
    monkeypatch.setattr(worker_figures, "clipped", lambda name, most=18: str(name)[:1])
    assert "are not named" in fuzz.check_fault(VOTES, whole=False)


def test_reader_faults_are_minimised_and_kept(monkeypatch, tmp_path):
    def broken(path):
        if b"label" in path.read_bytes():
            raise KeyError("label")

    monkeypatch.setattr(fuzz, "FOUND", tmp_path)
    monkeypatch.setitem(READERS, "votes", broken)
    number = next(
        n for n in range(100) if fuzz.input_case(n).reader == "votes" and b"label" in fuzz.input_case(n).content
    )
    assert "KeyError" in fuzz.run_input(number)[1]
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"label"]
