"""Names that a spreadsheet would run as formulas are escaped in files for spreadsheets and restored when read."""

import csv
import itertools

import pytest

import majorant as mj
from majorant.ask.design import Design
from majorant.read.label_table import LabelTable
from majorant.read.tasks import read_answers
from majorant.render.files import write_result
from majorant.render.summary import result_summary
from majorant.tabular import guard_cell, guard_columns, unguard_cell

NAMES = ["=1+1", "+1-2", "-x", "@sum", "\tx", "\rx", "'=1", "''+y", "'tis", "a=b", "-1.5", "1e5", "+7", "plain", ""]
RUNS = ("=", "+", "-", "@", "\t", "\r")


def column(path, name):
    with path.open(encoding="utf-8", newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def crowd():
    items = [f"{name}{i}" for i, name in enumerate(NAMES[:9] * 4)]
    rows = [(item, worker, label) for item in items for worker, label in zip(NAMES[:5], "=====", strict=True)]
    labels = [("=1+1", "n")[(hash_of(i, j)) % 2] for i, j in itertools.product(range(len(items)), range(5))]
    return {"item": [r[0] for r in rows], "worker": [r[1] for r in rows], "label": labels}


def hash_of(i, j):
    return (i * 7 + j * (3 if i % 3 else 2)) // 5


@pytest.mark.parametrize("name", NAMES)
def test_every_name_comes_back(name):
    assert unguard_cell(guard_cell(name)) == name
    safe = guard_cell(name)
    assert not safe.startswith(RUNS) or safe.lstrip("+-").replace(".", "").isdigit()
    assert guard_columns({"a": [name, None]})["a"].to_pylist() == [safe, None]


def test_different_names_stay_different():
    assert len({guard_cell(name) for name in NAMES}) == len(NAMES)


def test_files_for_spreadsheets_are_safe_and_the_others_keep_names(crowd, tmp_path):
    result = mj.check(crowd, rng=0)
    summary = result_summary(result)
    write_result(result, summary, tmp_path / "plain")
    write_result(result, summary, tmp_path / "safe", spreadsheet=True)
    assert set(column(tmp_path / "plain" / "labels.csv", "item")) == set(crowd["item"])
    assert set(column(tmp_path / "plain" / "workers.csv", "worker")) == set(crowd["worker"])
    for file, name in (("labels.csv", "item"), ("labels.csv", "label"), ("workers.csv", "worker")):
        cells = column(tmp_path / "safe" / file, name)
        assert [unguard_cell(cell) for cell in cells] == column(tmp_path / "plain" / file, name)
        assert not any(cell.startswith(RUNS) for cell in cells)
    for folder in ("plain", "safe"):
        assert not any(cell.startswith(RUNS) for cell in column(tmp_path / folder / "review.csv", "item"))
    again = [mj.read(crowd, gold_file=tmp_path / folder / "labels.csv") for folder in ("plain", "safe")]
    assert again[0].gold_i.tolist() == again[1].gold_i.tolist()
    assert (again[0].gold_i >= 0).all()


def test_items_to_label_come_back(crowd, tmp_path):
    votes = mj.read(crowd)
    design = mj.ask(votes, n=6, question="accuracy", rng=0)
    path = tmp_path / "to_label.csv"
    design.write(path)
    assert not any(cell.startswith(RUNS) for cell in column(path, "item"))
    table = LabelTable.read(path)
    assert [table.cell(row, table.columns.item) for row in range(6)] == list(design.items)
    path.write_bytes(table.with_labels({0: "=1+1", 1: "n"}).to_bytes())
    answers = read_answers(path).answers
    assert [(answer.item, answer.label) for answer in answers][:3] == [
        (design.items[0], "=1+1"),
        (design.items[1], "n"),
        (design.items[2], None),
    ]
    assert Design.read(tmp_path / "to_label.design.json").judge(answers).labels == 2


def test_command_prints_it(run, crowd, tmp_path):
    with (tmp_path / "votes.csv").open("w", newline="") as file:
        csv.writer(file).writerows([crowd, *zip(*crowd.values(), strict=True)])
    code, _, err = run("check", "votes.csv", "--out", "o", "--spreadsheet")
    assert code == 0, err
    assert not any(cell.startswith(RUNS) for cell in column(tmp_path / "o" / "workers.csv", "worker"))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["aggregate", "--method", "majority", "--ties", "first"], "item"),
        (["aggregate", "--method", "majority", "--ties", "first", "--memory", "1GB"], "item"),
        (["workers", "--method", "one-coin"], "worker"),
    ],
    ids=" ".join,
)
def test_tables_of_other_commands_are_spreadsheet_safe_on_request(run, crowd, tmp_path, words, name):
    with (tmp_path / "votes.csv").open("w", newline="") as file:
        csv.writer(file).writerows([crowd, *zip(*crowd.values(), strict=True)])
    command, *options = words
    for out, more in (("plain.csv", []), ("safe.csv", ["--spreadsheet"])):
        code, _, err = run(command, "votes.csv", *options, "--out", out, "-q", *more)
        assert code == 0, err
    plain, safe = (column(tmp_path / file, name) for file in ("plain.csv", "safe.csv"))
    assert set(plain) == set(crowd[name])
    assert not any(cell.startswith(RUNS) for cell in safe)
    assert [unguard_cell(cell) for cell in safe] == plain
    if command == "aggregate":
        assert not any(cell.startswith(RUNS) for cell in column(tmp_path / "safe.csv", "label"))
        again = mj.read(crowd, gold_file=tmp_path / "safe.csv")
        assert [again.labels[code] for code in again.gold_i] == column(tmp_path / "plain.csv", "label")


def test_files_for_tools_are_for_no_spreadsheet(run, tmp_path):
    (tmp_path / "votes.csv").write_text("item,worker,label\na,w,y\n")
    code, _, err = run("aggregate", "votes.csv", "--export", "label-studio", "--spreadsheet")
    assert (code, "leave out --spreadsheet" in err) == (2, True)
