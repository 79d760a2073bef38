"""The same votes give the same bytes, and the same votes in another order the same answer."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

import majorant as mj
from corpus.orders import answer_facts, difference, rename, shuffle_rows
from majorant import datasets
from majorant.render import files as files_of_results
from majorant.render.files import write_result
from majorant.render.summary import result_summary
from majorant.simulate import one_coin_workers, simulate
from needs import NO_DATA
from sizes import many

TOLERANCE = 0.02  # of a confidence; docs/report.md: votes echo those before them, and draws follow the order


def crowd():
    votes, _ = simulate([0.6, 0.4], one_coin_workers([0.9, 0.8, 0.75, 0.7, 0.6]), n_items=80, n_votes=3, rng=5)
    return {name: [str(value) for value in column] for name, column in votes.table().items() if name != "gold"}


def shuffled(columns, seed):
    order = np.random.default_rng(seed).permutation(len(columns["item"]))
    return {name: [values[n] for n in order] for name, values in columns.items()}


def files(columns, folder):
    result = mj.check(columns, rng=0)
    write_result(result, result_summary(result), folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def rows(content, key):
    return {row[key]: row for row in csv.DictReader(content.decode().splitlines())}


def test_the_same_votes_give_the_same_bytes_and_shuffled_rows_the_same_answer(tmp_path):
    columns = crowd()
    first, again = (files(columns, tmp_path / name) for name in ("first", "again"))
    assert first == again
    mixed = files(shuffled(columns, 1), tmp_path / "mixed")
    assert_same_answer(first, mixed)


def assert_same_answer(first, mixed):
    """Answer, verdicts and labels alike; confidences and accuracies within the tolerance that docs/report.md states."""
    one, other = (json.loads(some["result.json"]) for some in (first, mixed))
    assert one["answer"]["headline"] == other["answer"]["headline"]
    for claim in ("anonymous", "named"):
        assert one["certificate"][claim]["verdict"] == other["certificate"][claim]["verdict"]
    labels, others = rows(first["labels.csv"], "item"), rows(mixed["labels.csv"], "item")
    assert {item: row["label"] for item, row in labels.items()} == {item: row["label"] for item, row in others.items()}
    moved = [abs(float(row["confidence"]) - float(others[item]["confidence"])) for item, row in labels.items()]
    assert max(moved) <= TOLERANCE
    workers, same = rows(first["workers.csv"], "worker"), rows(mixed["workers.csv"], "worker")
    assert set(workers) == set(same)
    for name, row in workers.items():
        assert row["votes"] == same[name]["votes"]
        assert row["flags"] == same[name]["flags"]


ALPHABETS = ("ана", "花子", "علي", "ἄννα", "🦆", "e\u0301", "é", "𝔄", "שרה", "İ", "ß", "ﬀ")


def two_classes_with_gold():
    """Two classes, names in odd alphabets, some of them one text to the eye, and gold on a third of the items."""
    table = crowd()
    rng = np.random.default_rng(3)
    workers = {name: ALPHABETS[n] for n, name in enumerate(dict.fromkeys(table["worker"]))}
    items = list(dict.fromkeys(table["item"]))
    gold = {item: ("да", "нет")[rng.random() < 0.4] for item in items[::3]}
    return {
        "item": [f"{ALPHABETS[int(item) % len(ALPHABETS)]} {item}" for item in table["item"]],
        "worker": [workers[name] for name in table["worker"]],
        "label": [("да", "нет")[int(label)] for label in table["label"]],
        "gold": [gold.get(item, "") for item in table["item"]],
    }, []


def four_classes_with_ties():
    """Four classes and two votes on most items, so that many are tied."""
    votes, _ = simulate([0.4, 0.3, 0.2, 0.1], 0.6 * np.eye(4) + 0.1, n_items=90, n_votes=2, n_workers=6, rng=2)
    return {name: [str(value) for value in column] for name, column in votes.table().items() if name != "gold"}, []


def repeated_votes():
    """Workers who vote twice on an item, and mean it."""
    columns, _ = four_classes_with_ties()
    again = range(0, len(columns["item"]), 5)
    return {name: values + [values[n] for n in again] for name, values in columns.items()}, ["--repeats", "each"]


@pytest.mark.parametrize(
    "shape",
    [
        two_classes_with_gold,
        *(pytest.param(shape, marks=pytest.mark.long) for shape in (four_classes_with_ties, repeated_votes)),
    ],
)
@pytest.mark.parametrize(
    "where", [pytest.param([], id="memory", marks=pytest.mark.long), pytest.param(["--memory", "1GB"], id="files")]
)
def test_answer_does_not_depend_on_row_order(run, tmp_path, monkeypatch, shape, where):
    """Twice the same bytes; rows in another order, the same answer, labels and verdicts."""
    monkeypatch.setattr(files_of_results, "render", lambda summary: "page")  # its bytes are in the test above
    columns, options = shape()
    found = []
    for name, some in (("a", columns), ("b", columns), ("mixed", shuffled(columns, 1))):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)  # the same command for each
        with Path("votes.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([some, *zip(*some.values(), strict=True)])
        code, _, err = run("check", "votes.csv", "--out", "out", "-q", *options, *where)
        assert code == 0, err
        written = sorted(path for path in (folder / "out").iterdir())
        found.append({path.name: path.read_bytes() for path in written})
    first, again, mixed = found
    assert set(first) == {"labels.csv", "workers.csv", "review.csv", "report.html", "result.json"}
    assert first == again
    assert_same_answer(first, mixed)
    assert set(rows(first["labels.csv"], "item")) == set(columns["item"])
    assert set(rows(first["workers.csv"], "worker")) == set(columns["worker"])


NAMED = ("CF_amt", "CF", "MS", "SP_amt", "ZenCrowd_us", "ZenCrowd_in", "SP", "D-Product")
MORE = ("crowds/snow_temporal", "panels/llmbar_six")


def real_columns(name):
    """The votes of a public set, with gold labels, as columns of text."""
    if name in NAMED:
        if any(datasets.local_path(file) is None for file in datasets.find(name).files):
            pytest.skip(NO_DATA)
        votes = datasets.load(name)
    else:
        folder = Path(os.environ.get("MAJORANT_DATA", "nowhere")) / name
        if not folder.is_dir():
            pytest.skip(NO_DATA)
        votes = mj.read(folder / "label.csv", gold=folder / "truth.csv")
    table = votes.table()
    return {role: [None if value is None else str(value) for value in values] for role, values in table.items()
            if role in ("item", "worker", "label", "gold")}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "CF_amt" else [pytest.mark.long]) for name in (*NAMED, *MORE)]
)
def test_real_votes_in_any_order_and_by_any_name_give_the_same_answer(name):
    """Half of the draws are shuffled, half renamed as well; half have gold labels, half have none."""
    columns = real_columns(name)
    bare = {role: values for role, values in columns.items() if role != "gold"}
    first = {True: answer_facts(columns), False: answer_facts(bare)}
    found = [
        difference(columns if gold else bare, first[gold], np.random.default_rng(draw), renaming=draw % 2 == 1)
        for draw in range(many(50, quick=2))
        for gold in [draw // 2 % 2 == 1]
    ]
    assert found == [None] * len(found)


def test_order_dependence_is_detected(monkeypatch):
    columns, rng = crowd(), np.random.default_rng(0)
    renamed, old_names = rename(columns, rng)
    first = answer_facts(columns)
    assert answer_facts(shuffle_rows(renamed, rng), old_names)["labels"].items() <= first["labels"].items()
    first["labels"] = first["labels"] | {columns["item"][0]: "other"}
    assert "1 labels, such as 'other'" in difference(columns, first, rng, renaming=False)
