"""Export of labels to labelling tools."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import majorant as mj
from majorant.cli.aggregate import aggregate
from majorant.cli.check import check

HERE = Path(__file__).parent / "fixtures"
MAJORITY = {1: "pos", 2: "neg", 3: "neg", 4: "pos"}  # item 3 is a tie, decided by its name


def exported(tmp_path, name, source):
    out = tmp_path / "out.json"
    told = [str(HERE / source), "--export", name, "--method", "majority", "--out", str(out), "-q"]
    done = CliRunner().invoke(aggregate, told, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return out


def test_label_studio_reads_its_predictions_with_the_text_and_the_controls(tmp_path):
    out = exported(tmp_path, "label-studio", "label_studio.json")
    tasks = json.loads(out.read_text())
    assert {task["id"]: task["predictions"][0]["result"][0]["value"]["choices"][0] for task in tasks} == MAJORITY
    first = tasks[0]
    assert first["data"]["text"] == "great phone"
    assert first["predictions"][0]["score"] == pytest.approx(2 / 3)
    assert first["predictions"][0]["result"][0]["from_name"] == "sentiment"
    out.write_text(json.dumps([{**task, "annotations": []} for task in tasks]))
    again = mj.read(out, worker="model_version")
    assert again.shape == (4, 1, 2)


def test_argilla_gets_suggestions(tmp_path):
    records = json.loads(exported(tmp_path, "argilla", "argilla.json").read_text())
    assert {int(record["id"]): record["suggestions"]["label"]["value"] for record in records} == MAJORITY
    assert records[0]["fields"] == {"text": "great phone"}
    assert records[0]["suggestions"]["label"]["agent"] == "majorant"


def test_prodigy_gets_tasks_with_the_label_chosen(tmp_path):
    lines = [json.loads(line) for line in exported(tmp_path, "prodigy", "doccano_user.jsonl").read_text().splitlines()]
    assert {line["meta"]["item"]: line["accept"][0] for line in lines} == MAJORITY
    assert lines[0]["meta"]["confidence"] == pytest.approx(2 / 3)
    assert [option["id"] for option in lines[0]["options"]] == ["neg", "pos"]


def test_an_export_needs_a_file_and_votes_in_memory(tmp_path):
    told = [str(HERE / "wide.csv"), "--export", "prodigy", "--out", "-", "-q"]
    assert "leave out" in str(CliRunner().invoke(aggregate, told).exception)


def test_the_text_of_a_table_goes_into_exports_reviews_and_reports(tmp_path):
    votes, out = tmp_path / "votes.csv", tmp_path / "tasks.jsonl"
    rows = [
        "item,worker,label,sentence",
        *(f"{i},w{j},{'yes' if i else 'no'},Say {i}" for i in (0, 1) for j in range(3)),
    ]
    votes.write_text("\n".join(rows) + "\n")
    told = [str(votes), "--out", str(out), "--export", "prodigy", "-q"]
    assert CliRunner().invoke(aggregate, told, catch_exceptions=False).exit_code == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(line["text"], line["accept"]) for line in lines] == [("Say 0", ["no"]), ("Say 1", ["yes"])]
    assert CliRunner().invoke(check, [str(votes), "--out", str(tmp_path), "-q"], catch_exceptions=False).exit_code == 0
    assert (tmp_path / "review.csv").read_text().splitlines()[0].endswith(",reason,text")
    assert "Say 1" in (tmp_path / "report.html").read_text()


def test_check_exports_the_labels_beside_its_files(tmp_path):
    told = [str(HERE / "label_studio.json"), "--export", "label-studio"]
    assert CliRunner().invoke(check, [*told, "--out", str(tmp_path), "-q"], catch_exceptions=False).exit_code == 0
    tasks = json.loads((tmp_path / "labels-for-label-studio.json").read_text())
    assert {task["id"]: task["predictions"][0]["result"][0]["value"]["choices"][0] for task in tasks} == MAJORITY
    assert "--out" in str(CliRunner().invoke(check, told).exception)
