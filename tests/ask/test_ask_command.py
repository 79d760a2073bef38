"""The output and behavior of `majorant ask` and `majorant label`."""

import csv
import io
import json
import sys

import numpy as np
import pytest

import majorant as mj


@pytest.fixture
def truth(tmp_path):
    """votes.csv of a crowd that misses the class yes, with the items' text; the truth by item."""
    confusion = np.array([[[0.97, 0.03], [0.65, 0.35]]] * 4 + [[[0.95, 0.05], [0.05, 0.95]]] * 2)
    votes, truth_i = mj.simulate([0.6, 0.4], confusion, n_items=300, n_votes=6, rng=3)
    with (tmp_path / "votes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "worker", "label", "text", "comment"])
        for n, (i, j, k) in enumerate(zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)):
            writer.writerow([f"q{i}", f"w{j}", ["no", "yes"][k], f"Is it {i}, or not?", n])
    return {f"q{i}": ["no", "yes"][k] for i, k in enumerate(truth_i)}


BETWEEN = ("--between", "majority", "dawid-skene")


def rows_of(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_ask_reports_the_stake_and_hides_the_votes(run, truth, tmp_path):
    code, out, _ = run("ask", "votes.csv", *BETWEEN, "--n", 12)
    assert code == 0
    assert "Majority vote and dawid-skene differ on" in out
    assert "points are at stake" in out
    assert "About" in out
    rows = rows_of(tmp_path / "to_label.csv")
    assert list(rows[0]) == [
        "majorant_draw",
        "item",
        "text",
        "label",
        "majorant_design",
    ]  # comment differs between the votes of an item
    assert len(rows) == 12
    assert all(row["text"].startswith(f"Is it {row['item'][1:]},") for row in rows)


def test_names_may_follow_without_commas_in_any_place(run, truth):
    for arguments in (
        ("votes.csv", "--between", "majority", "mace", "--json"),
        ("--between", "majority,mace", "votes.csv", "--json"),
        ("--between", "majority", "mace", "votes.csv", "--json"),
    ):
        code, out, err = run("ask", *arguments)
        assert (code, err) == (0, "")
        assert json.loads(out)["rules"] == ["majority", "mace"]


def test_race_without_names_runs_the_usual_rules(run, truth):
    code, out, _ = run("ask", "votes.csv", "--race", "--json")
    assert code == 0
    workers = [f"w{j}" for j in range(6)]
    assert json.loads(out)["rules"] == ["majority", "weighted-vote", *workers]  # a panel: each judge is a rule


def test_message_explains_how_to_use_a_tools_export(run, truth):
    _, out, _ = run("ask", "votes.csv", *BETWEEN, "--tool", "label-studio", "--n", 4)
    check = "majorant check votes.csv --gold-file EXPORT --design to_label.design.json"
    assert out.splitlines()[-1] == f"Next     {check}"
    code, _, err = run("ask", "votes.csv", "--more", 2, "--design", "to_label.design.json")
    assert (code, "your labelling tool with --tool" in err) == (2, True)
    _, out, _ = run("ask", "votes.csv", "--more", 2, "--design", "to_label.design.json", "--tool", "label-studio")
    assert "to_label-5.json" in out
    assert out.splitlines()[-1] == f"Next     {check}"


def test_commands_name_files_with_spaces_as_a_shell_takes_them(run, truth, tmp_path):
    (tmp_path / "votes.csv").rename(tmp_path / "my votes.csv")
    _, out, _ = run("ask", "my votes.csv", *BETWEEN, "--n", 4, "--out", "to label.csv")
    assert out.splitlines()[-1].endswith("majorant check 'my votes.csv' --gold-file 'to label.csv'")
    _, out, _ = run("ask", "my votes.csv", "--more", 500, "--design", "to label.design.json")
    _, out, _ = run("ask", "my votes.csv", "--more", 1, "--design", "to label.design.json")
    assert out.splitlines()[-2:][0] == "There are no items left to label."
    assert out.splitlines()[-1].startswith("Next     majorant label 'to label.csv'")


def test_no_items_are_drawn_if_rules_hardly_differ(run, truth, tmp_path):
    code, out, _ = run("ask", "votes.csv", *BETWEEN, "--tolerance", 0.9)
    assert code == 0
    assert "whichever you use, accuracy changes by at most" in out
    assert "No labels are needed." in out


def test_item_texts_come_from_a_separate_table(run, truth, tmp_path):
    (tmp_path / "items.csv").write_text("item,title\n" + "".join(f"{item},Title of {item}\n" for item in truth))
    run("ask", "votes.csv", *BETWEEN, "--items", "items.csv", "--out", "mine.csv")
    row = rows_of(tmp_path / "mine.csv")[0]
    assert row["title"] == f"Title of {row['item']}"
    assert (tmp_path / "mine.design.json").exists()


def test_labels_are_not_overwritten(run, truth, tmp_path):
    run("ask", "votes.csv", *BETWEEN)
    path = tmp_path / "to_label.csv"
    path.write_text(path.read_text().replace('?",,', '?",yes,'))
    before = path.read_bytes()
    code, _, err = run("ask", "votes.csv", *BETWEEN, "--out", "to_label.csv")
    assert code == 2
    assert "holds labels" in err
    assert "Wrote    to_label-2.csv" in run("ask", "votes.csv", *BETWEEN)[1]
    assert path.read_bytes() == before


def label_with(monkeypatch, run, keys, *arguments):
    monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
    return run("label", "to_label.csv", *arguments)


def test_label_in_the_terminal_with_undo_skip_and_quit(run, truth, tmp_path, monkeypatch):
    run("ask", "votes.csv", *BETWEEN, "--n", 8)
    path = tmp_path / "to_label.csv"
    code, out, _ = label_with(monkeypatch, run, "12u1sxq")
    assert code == 0
    assert [row["label"] for row in rows_of(path)] == ["no", "no", "?", "", "", "", "", ""]
    assert "[1] no   [2] yes" in out
    assert "There is no label for the key 'x'" in out
    assert "Open: on 2 of the" in out
    label_with(monkeypatch, run, "2")  # goes on where it was
    assert [row["label"] for row in rows_of(path)][:4] == ["no", "no", "?", "yes"]


def test_labelling_stops_when_the_question_is_settled(run, truth, tmp_path, monkeypatch):
    run("ask", "votes.csv", *BETWEEN, "--n", 30)
    path = tmp_path / "to_label.csv"
    keys = "".join({"no": "1", "yes": "2"}[truth[row["item"]]] for row in rows_of(path))
    _, out, _ = label_with(monkeypatch, run, keys)
    given = sum(row["label"] != "" for row in rows_of(path))
    assert 5 <= given < 30
    assert "dawid-skene is better" in out
    label_with(monkeypatch, run, keys[given:], "--all")
    assert all(row["label"] for row in rows_of(path))


def test_more_adds_items_and_keeps_labels(run, truth, tmp_path, monkeypatch):
    run("ask", "votes.csv", *BETWEEN, "--n", 4)
    label_with(monkeypatch, run, "12")
    before = rows_of(tmp_path / "to_label.csv")
    code, out, _ = run("ask", "votes.csv", "--more", 3, "--design", "to_label.design.json")
    rows = rows_of(tmp_path / "to_label.csv")
    assert code == 0
    assert (rows[:4], len(rows)) == (before, 7)
    assert rows[6]["majorant_draw"] == "7"
    assert rows[6]["text"]
    assert "3 more items" in out
    assert out.splitlines()[-1].startswith("Next     majorant label to_label.csv")


def test_more_for_other_votes_is_refused(run, truth, tmp_path):
    run("ask", "votes.csv", *BETWEEN)
    votes = tmp_path / "votes.csv"
    votes.write_text(votes.read_text().replace(",no,", ",yes,", 1))
    code, _, err = run("ask", "votes.csv", "--more", 3, "--design", "to_label.design.json")
    assert code == 2
    assert "The design was drawn for other votes" in err


def test_accuracy_asks_about_a_random_sample(run, truth, tmp_path):
    code, out, _ = run("ask", "votes.csv", "--accuracy", "--rule", "dawid-skene", "--n", 60, "--out", "accuracy.csv")
    assert code == 0
    assert "How often are the labels of dawid-skene right" in out
    assert "hundreds of labels" in out
    assert len(rows_of(tmp_path / "accuracy.csv")) == 60


def test_invalid_calls_are_errors(run, truth):
    for arguments, message in (
        (("votes.csv", "--more", 5), "name it, such as --design"),
        (("votes.csv", "--accuracy", "--design", "to_label.design.json"), "--more 10"),
        (("votes.csv", "--between", "majority,magic"), "There is no method 'magic'"),
    ):
        code, _, err = run("ask", *arguments)
        assert code == 2
        assert message in err
    code, _, err = run("label", "votes.csv")
    assert code == 2
    assert "is not a file written by majorant ask" in err
