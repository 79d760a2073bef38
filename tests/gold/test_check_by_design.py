"""The whole story: check says ask, ask draws items, an expert labels them, check switches."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import majorant as mj
from majorant.gold.draw import draw_rules
from majorant.gold.question import Outcome
from majorant.interval import Estimate
from majorant.site import MemorySite


def simulated():
    """Seven of twelve workers miss most of class yes, and a quarter of the items lead all of them to no."""
    confusion = np.array([[[0.97, 0.03], [0.75, 0.25]]] * 7 + [[[0.97, 0.03], [0.03, 0.97]]] * 5)
    votes, truth_i = mj.simulate([0.6, 0.4], confusion, n_items=400, n_votes=5, rng=1)
    rng = np.random.default_rng(0)
    led_n = (rng.random(400) < 0.25)[votes.item_n] & (rng.random(votes.n_votes) < 0.5)
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


def test_check_asks_ask_draws_an_expert_labels_and_check_switches(run, truth, tmp_path):
    code, out, _ = run("check", "votes.csv", "--out", "before", "--fail-on", "ask")
    assert code == 1
    assert out.startswith("Answer   Ask an expert about")
    assert "majorant ask votes.csv --n" in out
    assert run("ask", "votes.csv", "--n", 30)[0] == 0
    assert len((tmp_path / "to_label.csv").read_text().splitlines()) == 31  # a header and 30 items
    fill(tmp_path / "to_label.csv", truth)

    code, out, _ = run("check", "votes.csv", "--gold-file", "to_label.csv", "--out", "after", "--fail-on", "switch")
    assert code == 1
    assert out.startswith("Answer   Switch to combination.")
    assert "Exact, by expert labels" in out
    assert "no random sample" in out
    result = json.loads((tmp_path / "after" / "result.json").read_text())
    assert (result["answer"]["grade"], result["answer"]["basis"]) == ("exact", "expert labels")
    assert result["answer"]["expert"]["verdict"] == "better"
    assert result["gold"] is None  # no accuracy from labels that are no sample

    before, after = labels_in(tmp_path / "before"), labels_in(tmp_path / "after")
    changed = [item for item in truth if before[item] != after[item]]
    assert changed
    assert sum(after[item] == truth[item] for item in truth) > sum(before[item] == truth[item] for item in truth)
    found = result["answer"]["gain"]
    assert found["low"] > 0


def test_design_labels_are_refused_as_gold(run, truth, tmp_path):
    run("ask", "votes.csv", "--between", "majority", "dawid-skene")
    fill(tmp_path / "to_label.csv", truth)
    for command in (("aggregate", "votes.csv"), ("workers", "votes.csv"), ("certify", "votes.csv")):
        code, _, err = run(*command, "--gold-file", "to_label.csv")
        assert code == 2
        assert "no random sample" in err
    with pytest.raises(mj.DataError, match="no random sample"):
        mj.read(str(tmp_path / "votes.csv"), gold_file=str(tmp_path / "to_label.csv"))


def test_a_changed_votes_file_is_refused(run, truth, tmp_path):
    run("ask", "votes.csv", "--between", "majority", "dawid-skene")
    fill(tmp_path / "to_label.csv", truth)
    votes = tmp_path / "votes.csv"
    votes.write_text(votes.read_text().replace(",no\n", ",yes\n", 1))
    code, _, err = run("check", "votes.csv", "--gold-file", "to_label.csv")
    assert code == 2
    assert "not those that the design was drawn for" in err


def outcome(verdict, low, high, *, leader="auto", rules=("majority", "auto"), labels=20, more=0):
    return Outcome(
        kind="rules", verdict=verdict, decided=verdict != "open", value=Estimate((low + high) / 2, low, high),
        level=0.95, tolerance=0.01, n_items=500, n_differ=80, labels=labels, skipped=0, more=more, rules=rules,
        leader=leader, alive=rules, right=dict.fromkeys(rules, 10), below=0.0,
        facts={"same_as": {}, "not_told_apart": ()},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("said", "action", "rule", "grade"),
    [
        (outcome("better", 0.01, 0.06), "switch", "auto", "exact"),
        (outcome("better", 0.001, 0.009), "keep", "majority", "exact"),
        (outcome("worse", -0.06, -0.01, leader="majority"), "keep", "majority", "exact"),
        (outcome("same", -0.008, 0.009), "keep", "majority", "exact"),
        (outcome("open", -0.02, 0.06, more=30), "ask", "majority", "none"),
        (outcome("within", -0.01, 0.06, rules=("majority", "auto", "mace")), "switch", "auto", "exact"),
        (
            outcome("within", 0.0, 0.0, leader="majority", rules=("majority", "auto", "mace")),
            "keep",
            "majority",
            "exact",
        ),
    ],
)
def test_what_expert_labels_say_is_done(said, action, rule, grade):
    from majorant.answer.answer import Model, weigh
    from majorant.answer.difference import Difference

    answer = weigh(
        other="auto", apart=Difference(500, 80, 80.0, 0, 0), model=Model(gain=Estimate(0.02, 0.01, 0.03)),
        expected=None, gold=None, tolerance=0.01, level=0.95, planned=lambda: 40, expert=said,
        design="to_label.design.json", source="votes.csv",
    )  # fmt: skip
    assert (answer.action, answer.rule, answer.grade, answer.basis) == (action, rule, grade, "expert labels")
    if action == "ask":
        assert answer.command.endswith("--more 30 --design to_label.design.json")
        assert answer.ask.labels == 30


def test_labels_of_another_question_do_not_decide():
    from majorant.answer.answer import Model, weigh
    from majorant.answer.difference import Difference

    said = outcome("better", 0.01, 0.06, rules=("mace", "auto"))
    answer = weigh(
        other="auto", apart=Difference(500, 80, 80.0, 0, 0), model=Model(gain=Estimate(None), failed=("x",)),
        expected=None, gold=None, tolerance=0.01, level=0.95, planned=lambda: 40, expert=said,
    )  # fmt: skip
    assert (answer.action, answer.basis) == ("ask", "votes")


def test_levels_of_whole_designs_hold():
    """Equal rules on sequential names: seeds, not luck of the names, decide the order."""
    votes, _ = mj.simulate([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]], n_items=160, n_votes=3, rng=5)
    fits = {"majority": mj.aggregate(votes, "majority"), "other": mj.aggregate(votes, "dawid-skene")}
    runs = wrong = 0
    differ = set(draw_rules(MemorySite(votes), fits, seed=0).order)
    size = len(differ) // 2 * 2
    for seed in range(300):
        design = draw_rules(MemorySite(votes), fits, seed=seed)
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
