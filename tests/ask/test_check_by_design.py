"""The whole loop: check suggests ask, ask draws items, an expert labels them, and check switches."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import majorant as mj
from majorant.ask.design import Design
from majorant.ask.question import Outcome, Wanted
from majorant.ask.questions import race_between
from majorant.values import Estimate


def simulated():
    """Seven of twelve workers miss most of class yes, and a quarter of the items lead all of them to no."""
    confusion = np.array([[[0.97, 0.03], [0.75, 0.25]]] * 7 + [[[0.97, 0.03], [0.03, 0.97]]] * 5)
    votes, truth_i = mj.simulate([0.6, 0.4], confusion, n_items=500, n_votes=5, rng=2)
    rng = np.random.default_rng(0)
    led_n = (rng.random(500) < 0.25)[votes.item_n] & (rng.random(votes.n_votes) < 0.5)
    return replace(votes, label_n=np.where(led_n, 0, votes.label_n)), truth_i


@pytest.fixture
def truth(tmp_path):
    votes, truth_i = simulated()
    with (tmp_path / "votes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "worker", "label"])
        for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
            writer.writerow([f"q{i}", f"w{j}", ["no", "yes"][k]])
    return {f"q{i}": ["no", "yes"][k] for i, k in enumerate(truth_i)}


def fill(path, truth):
    rows = list(csv.DictReader(path.read_text().splitlines()))
    for row in rows:
        row["label"] = truth[row["item"]]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)


def labels_in(folder):
    rows = csv.DictReader((folder / "labels.csv").read_text().splitlines())
    return {row["item"]: row["label"] for row in rows}


def test_check_ask_label_check_proves_the_answer(run, truth, tmp_path):
    code, out, _ = run("check", "votes.csv", "--out", "before")
    assert code == 0
    assert "majorant ask votes.csv --n" in out
    assert run("ask", "votes.csv", "--n", 40)[0] == 0
    assert len((tmp_path / "to_label.csv").read_text().splitlines()) == 41  # a header and 40 items
    fill(tmp_path / "to_label.csv", truth)
    code, out, _ = run("check", "votes.csv", "--gold-file", "to_label.csv", "--out", "after")
    assert code == 0
    assert "Switch to the weighted vote" in out
    assert "proved by 40 labels" in out
    result = json.loads((tmp_path / "after" / "result.json").read_text())
    assert (result["answer"]["certainty"], result["answer"]["source"]) == ("proved", "labels")
    assert result["answer"]["expert"]["verdict"] == "better"
    assert result["gold"] is None  # no accuracy from labels that are no sample
    assert result["answer"]["gain"]["low"] > 0
    after = labels_in(tmp_path / "after")
    asked = csv.DictReader((tmp_path / "to_label.csv").read_text().splitlines())
    assert all(after[row["item"]] == row["label"] for row in asked)  # the expert has the last word


@pytest.mark.parametrize(
    ("asked", "n", "kind", "told"),
    [
        pytest.param(
            ("--accuracy", "--rule", "majority"), 60, "accuracy", "majority's labels are", marks=pytest.mark.long
        ),
    ],
)
def test_labels_of_other_questions_are_recognised_and_extended(run, truth, tmp_path, asked, n, kind, told):
    assert run("ask", "votes.csv", *asked, "--n", n)[0] == 0
    fill(tmp_path / "to_label.csv", truth)
    code, out, _ = run("check", "votes.csv", "--gold-file", "to_label.csv", "--out", "after")
    assert code == 0
    assert told in " ".join(out.split())
    result = json.loads((tmp_path / "after" / "result.json").read_text())
    expert = result["answer"]["expert"]
    assert (expert["kind"], expert["labels"], expert["verdict"]) == (kind, n, "open")
    assert expert["command"] == f"majorant ask votes.csv --more {expert['more']} --design to_label.design.json"
    assert expert["command"] in out
    page = (tmp_path / "after" / "report.html").read_text()
    assert expert["command"] in page
    assert expert["notes"][-1].replace("'", "&#39;") in page
    if kind == "accuracy":  # drawn uniformly from all items: gold like any other
        assert result["gold"]["n_items"] == n
        assert "these labels are a random sample" in out
    else:
        assert result["gold"] is None
    assert run("ask", "votes.csv", "--more", 10, "--design", "to_label.design.json")[0] == 0
    assert len((tmp_path / "to_label.csv").read_text().splitlines()) == n + 11


def test_a_uniform_design_is_gold_for_everything(run, truth, tmp_path):
    run("ask", "votes.csv", "--accuracy", "--rule", "majority", "--n", 60)
    fill(tmp_path / "to_label.csv", truth)
    votes = mj.read(str(tmp_path / "votes.csv"), gold_file=str(tmp_path / "to_label.csv"))
    known = {votes.items[i]: votes.labels[k] for i, k in enumerate(votes.gold_i) if k >= 0}
    assert len(known) == 60
    assert all(truth[item] == label for item, label in known.items())
    code, out, _ = run("aggregate", "votes.csv", "--gold-file", "to_label.csv", "--method", "majority")
    assert (code, "random sample" in out) == (0, True)
    design = tmp_path / "to_label.design.json"
    design.write_text(design.read_text().replace('"seed": 0', '"seed": 1'))
    code, _, err = run("certify", "votes.csv", "--gold-file", "to_label.csv")
    assert (code, "changed after it was drawn" in err) == (2, True)


def test_input_gold_and_design_labels_are_both_used(run, truth, tmp_path):
    rows = list(csv.reader((tmp_path / "votes.csv").read_text().splitlines()))
    known = set(list(truth)[:80])
    lines = [[*rows[0], "gold"], *([*row, truth[row[0]] if row[0] in known else ""] for row in rows[1:])]
    (tmp_path / "votes.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    for asked in (("--between", "majority", "dawid-skene"), ("--accuracy", "--rule", "majority")):
        run("ask", "votes.csv", *asked, "--n", 20, "--out", f"{asked[0][2:]}.csv")
        fill(tmp_path / f"{asked[0][2:]}.csv", truth)
        code, out, _ = run("check", "votes.csv", "--gold-file", f"{asked[0][2:]}.csv", "--json")
        assert code == 0
        result = json.loads(out)
        assert result["gold"]["n_items"] == 80
        assert result["answer"]["expert"]["labels"] == 20


def test_design_labels_are_refused_as_gold(run, truth, tmp_path):
    run("ask", "votes.csv", "--between", "majority", "dawid-skene")
    fill(tmp_path / "to_label.csv", truth)
    for command in (("aggregate", "votes.csv"), ("workers", "votes.csv"), ("certify", "votes.csv")):
        code, _, err = run(*command, "--gold-file", "to_label.csv")
        assert code == 2
        assert "do not use them to estimate accuracy" in err
    with pytest.raises(mj.DataError, match="do not use them to estimate accuracy"):
        mj.read(str(tmp_path / "votes.csv"), gold_file=str(tmp_path / "to_label.csv"))


def test_a_changed_votes_file_is_refused(run, truth, tmp_path):
    run("ask", "votes.csv", "--between", "majority", "dawid-skene")
    fill(tmp_path / "to_label.csv", truth)
    votes = tmp_path / "votes.csv"
    votes.write_text(votes.read_text().replace(",no\n", ",yes\n", 1))
    code, _, err = run("check", "votes.csv", "--gold-file", "to_label.csv")
    assert code == 2
    assert "The design was drawn for other votes" in err


def outcome(verdict, low, high, *, leader="auto", rules=("majority", "auto"), labels=20, more=0):
    return Outcome(
        kind="rules", verdict=verdict, decided=verdict != "open", value=Estimate((low + high) / 2, low, high),
        level=0.95, tolerance=0.01, n_items=500, n_differ=80, labels=labels, skipped=0, more=more, rules=rules,
        leader=leader, alive=rules, right=dict.fromkeys(rules, 10), below=0.0,
    )  # fmt: skip


def test_levels_of_whole_designs_hold():
    """Equal rules on sequential item names: the order depends on the seed, not on the names."""
    votes, _ = mj.simulate([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]], n_items=160, n_votes=3, rng=5)
    converged = mj.ESTIMATORS["dawid-skene"](smoothing=0.01, min_rise=None)  # differs on more items
    fits = {"majority": mj.aggregate(votes, "majority"), "other": converged.fit(votes)}
    runs = wrong = 0
    differ = set(race_between(votes, fits, Wanted(rules=tuple(fits))).order)
    size = len(differ) // 2 * 2
    for seed in range(300):
        design = race_between(votes, fits, Wanted(rules=tuple(fits), seed=seed))
        rank = {item: n for n, item in enumerate(sorted(differ))}
        frozen = np.asarray(design.question.label_rd)
        # The truth goes with the first rule on every second item by name: a lead of 0, or of one item.
        right_d = [frozen[rank[item] % 2, d] for d, item in enumerate(design.order)]
        answer_d = np.array(right_d)
        answer_d[-1] = -2
        standing = design.question.standing(answer_d)
        runs, wrong = runs + 1, wrong + bool(standing.beats_qr.any())
    assert size > 20
    assert wrong / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_rules_that_give_other_labels_now_are_refused(run, truth, tmp_path):
    """For example after an update: the design is intact, but the rule now gives other labels than the frozen ones."""
    run("ask", "votes.csv", "--between", "majority", "dawid-skene", "--n", 40)
    fill(tmp_path / "to_label.csv", truth)
    assert run("check", "votes.csv", "--gold-file", "to_label.csv")[0] == 0
    design = Design.read(tmp_path / "to_label.design.json")
    label_rd = design.question.label_rd.copy()
    label_rd[:, 3] = label_rd[::-1, 3]  # what each rule says of an item, exchanged
    other = replace(design, question=replace(design.question, label_rd=label_rd))
    (tmp_path / "to_label.design.json").write_text(json.dumps(other.to_dict()))
    file = tmp_path / "to_label.csv"
    file.write_text(file.read_text().replace(design.id, other.id))
    code, _, err = run("check", "votes.csv", "--gold-file", "to_label.csv")
    assert code == 2
    assert "now gives different labels than when the design was drawn" in err
