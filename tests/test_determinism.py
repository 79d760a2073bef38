"""The same votes give the same bytes, and the same votes in another order the same answer."""

import csv
import json

import numpy as np

import majorant as mj
from majorant.report.files import write_result
from majorant.report.summary import result_summary
from majorant.simulate import one_coin_crew, simulate

TOLERANCE = 0.01  # of a confidence; docs/report.md: sums over votes in another order, and draws that follow it


def crowd():
    votes, _ = simulate([0.6, 0.4], one_coin_crew([0.9, 0.8, 0.75, 0.7, 0.6]), n_items=80, n_votes=3, rng=5)
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
    first, again, mixed = (
        files(some, tmp_path / str(n)) for n, some in enumerate((columns, columns, shuffled(columns, 1)))
    )
    assert first == again
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
        assert abs(float(row["accuracy"]) - float(same[name]["accuracy"])) <= TOLERANCE
