"""`majorant theory simulate` writes what the library draws, and nothing on a bad call; `majorant data demo` runs."""

import csv
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from majorant.simulate import one_coin_workers, simulate

CROWD = ["--items", "40", "--votes", "3", "--confusion", ".8,.2/.3,.7"]
TWO = [[0.8, 0.2], [0.3, 0.7]]


@pytest.fixture
def simulated(run):
    """Call the command in an empty folder."""

    def call(*arguments):
        code, out, err = run("theory", "simulate", *arguments)
        return SimpleNamespace(returncode=code, stdout=out, stderr=err)

    return call


def rows_of(text):
    return list(csv.reader(text.splitlines()))


def expected_rows(votes):
    codes = zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    return [[str(votes.items[i]), votes.workers[j], str(votes.labels[k])] for i, j, k in codes]


def test_votes_and_truth_match_the_library(simulated, tmp_path):
    done = simulated(*CROWD, "--seed", "7", "--out", "votes.csv", "--truth", "truth.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "votes.csv: 120 votes by 30 workers on 40 items, seed 7.\n"
    votes, truth = simulate([0.5, 0.5], TWO, 40, 3, rng=7)
    assert rows_of((tmp_path / "votes.csv").read_text()) == [["item", "worker", "label"], *expected_rows(votes)]
    assert rows_of((tmp_path / "truth.csv").read_text())[1:] == [[str(i), str(k)] for i, k in enumerate(truth)]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name[0] != ".") == ["truth.csv", "votes.csv"]


def test_a_panel_by_skills_goes_to_standard_output_with_names_and_gold(simulated, tmp_path):
    options = ["--skills", ".9,.6,.7", "--labels", 'no,yes,"so so"', "--prior", ".2,.5,.3", "--gold", ".5"]
    extra = ["--difficulty", "4", "--dependence", ".5", "--groups", "a,a,b"]
    done = simulated("--items", "10", *options, *extra)
    assert done.returncode == 0
    votes, truth = simulate(
        [0.2, 0.5, 0.3],
        one_coin_workers([0.9, 0.6, 0.7], 3),
        10,
        3,
        rng=0,
        labels=("no", "yes", '"so so"'),
        concentration=4,
        dependence=0.5,
        groups="aab",
        gold=0.5,
    )
    header, *rows = rows_of(done.stdout)
    assert header == ["item", "worker", "label", "gold"]
    assert [row[:3] for row in rows] == expected_rows(votes)
    known = np.asarray(votes.gold_i) >= 0
    assert [row[3] for row in rows[::3]] == [name if there else "" for name, there in zip(truth, known, strict=True)]
    assert sum(known) == 5


def test_numbers_of_votes_may_be_a_distribution_and_facts_come_as_json(simulated, tmp_path):
    options = ["--items", "500", "--votes", "2:1,4:3", "--confusion", ".8,.2/.3,.7", "--workers", "9"]
    done = simulated(*options, "--out", "v.csv", "--json")
    votes = simulate([0.5, 0.5], TWO, 500, ([2, 4], [1, 3]), rng=0, n_workers=9).votes
    facts = json.loads(done.stdout)
    assert facts == {
        "items": 500,
        "workers": 9,
        "classes": 2,
        "votes": votes.n_votes,
        "seed": 0,
        "out": "v.csv",
        "truth": None,
    }
    assert rows_of((tmp_path / "v.csv").read_text())[1:] == expected_rows(votes)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--items", "3", "--votes", "2"], "either --confusion"),
        ([*CROWD, "--skills", ".9,.8"], "either --confusion"),
        (["--items", "3", "--confusion", ".8,.2/.3,.7"], "--votes"),
        (["--items", "3", "--votes", "2", "--confusion", ".8,.2/.3,x"], "not a list of rows"),
        (["--items", "3", "--votes", "2", "--confusion", ".8,.2/.3,.8"], "confusion[1] sums to 1.1"),
        (["--items", "3", "--votes", "2", "--confusion", ".8,.2/.3"], "rectangular"),
        (["--items", "3", "--votes", "two", "--confusion", ".8,.2/.3,.7"], "neither a whole number nor"),
        ([*CROWD, "--prior", "half"], "not a list of numbers"),
        ([*CROWD, "--workers", "2"], "only 2 workers"),
        ([*CROWD, "--difficulty", "-1"], "concentration must be positive"),
        ([*CROWD, "--out", "missing/votes.csv"], "Cannot write missing"),
        ([*CROWD, "--out", "votes.csv", "--truth", "missing/truth.csv"], "Cannot write missing"),
        ([*CROWD, "--out", "votes.csv", "--truth", "votes.csv"], "its own file"),
        ([*CROWD, "--json"], "--out"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else None,
)
def test_invalid_call_exits_2_with_one_message_and_writes_nothing(arguments, says, simulated, tmp_path):
    done = simulated(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_demo_compares_each_answer_with_the_truth(run, tmp_path):
    code, out, _ = run("data", "demo", "--out", str(tmp_path))
    assert code == 0
    lines = out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("Answer")] == ["Switch", "Keep", "Switch"]
    shares = [re.findall(r"[\d.]+(?=%)", line) for line in lines if line.startswith("Truth")]
    assert all(
        float(labels) >= float(majority) for labels, majority in shares
    )  # ties are decided better than by a coin
    assert {folder.name for folder in tmp_path.iterdir()} == {"crowd", "panel", "labelled-panel"}
