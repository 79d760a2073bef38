"""Stand-ins for an expert: a file, a column or a stronger judge."""

import csv
import json

import pytest

import majorant as mj
from majorant.ask.design import Design, recognise
from majorant.simulate import one_coin_workers


@pytest.fixture
def truth(tmp_path):
    """A panel of five weak judges and a strong one, with a column that says what is right."""
    crew = one_coin_workers([0.7, 0.45, 0.45, 0.4, 0.4, 0.99])
    votes, truth_i = mj.simulate([0.5, 0.5], crew, n_items=300, n_votes=6, rng=0)
    truth = {f"q{i}": ["bad", "good"][k] for i, k in enumerate(truth_i)}
    with (tmp_path / "votes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "worker", "label", "audit"])
        for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
            writer.writerow([f"q{i}", f"judge-{j}", ["bad", "good"][k], truth[f"q{i}"]])
    (tmp_path / "audit.csv").write_text("item,truth\n" + "".join(f"{item},{label}\n" for item, label in truth.items()))
    return truth


@pytest.mark.parametrize("who", ["audit.csv", "audit", "judge-5"])
def test_stand_in_expert_answers_until_settled(run, truth, tmp_path, who):
    code, out, err = run("ask", "votes.csv", "--expert-from", who)
    assert (code, err) == (0, "")
    assert f"{who} stands in for an expert: a label counts as right if {who} agrees with it." in out
    assert "is better" in out
    rows = list(csv.DictReader((tmp_path / "to_label.csv").read_text().splitlines()))
    assert sum(row["label"] == truth[row["item"]] for row in rows) >= 0.9 * len(rows)
    recognised = recognise(tmp_path / "to_label.csv")
    assert recognised.outcome.truth == who
    assert recognised.outcome.verdict == "better"
    code, out, _ = run("check", "votes.csv", "--gold-file", "to_label.csv", "--json")
    assert code == 0
    assert json.loads(out)["answer"]["action"] == "switch"


def test_votes_of_a_stand_in_judge_are_used_for_nothing_else(run, truth, tmp_path):
    run("ask", "votes.csv", "--expert-from", "judge-5")
    design = Design.read(tmp_path / "to_label.design.json")
    assert design.judged_by == "judge-5"
    assert "judge-5" not in design.question.workers


def test_an_unknown_substitute_is_refused(run, truth):
    code, _, err = run("ask", "votes.csv", "--expert-from", "nobody")
    assert (code, "No worker is called 'nobody'" in err) == (2, True)
