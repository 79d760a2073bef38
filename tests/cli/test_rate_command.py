"""`majorant rate`: its output, its exit codes, and that the commands it prints run."""

import csv
import json
import re
import shlex

import numpy as np
import pytest
from click.testing import CliRunner

from majorant.cli import majorant

JUDGES = {"gpt-4o": (0.97, 0.6), "claude": (0.92, 0.35), "gemini": (0.9, 0.3)}


def write(path, names, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A judge log of two systems, labels of 120 answers in random order, and a few of them."""
    folder, rng = tmp_path_factory.mktemp("rate"), np.random.default_rng(0)
    truth, rows = {}, []
    for q in range(200):
        for system, share in (("alpha", 0.85), ("beta", 0.5)):
            item = f"q{q} | {system}"
            truth[item] = bool(rng.random() < share)
            for judge, (right, lenient) in JUDGES.items():
                said = rng.random() < (right if truth[item] else lenient)
                rows.append((item, system, judge, "pass" if said else "fail"))
    write(folder / "log.csv", ("item", "system", "judge", "verdict"), rows)
    labels = [(str(item), "pass" if truth[str(item)] else "fail") for item in rng.permutation(list(truth))[:160]]
    write(folder / "labels.csv", ("item", "label"), labels)
    return folder


def run(folder, *words, code=0):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(majorant, ["rate", *words])
    assert result.exit_code == code, result.output
    return result.output


def test_the_rate_leads_and_the_panel_follows(folder):
    first, second, *rest = run(folder, "log.csv", "--gold-file", "labels.csv", "--label", "pass").splitlines()
    assert re.fullmatch(r"Share of pass: \d\d% \(\d\d to \d\d\), measured on 160 labels\.", first)
    assert re.fullmatch(r"Majority vote says \d\d% and the weighted vote says \d\d%: too high\.", second)
    assert any(line.startswith("Judges   gpt-4o") for line in rest)
    assert any("even if you stop early, if the items were labelled in random order" in line for line in rest)


def test_who_beats_whom(folder):
    said = run(folder, "log.csv", "--gold-file", "labels.csv", "--label", "pass", "--by", "system")
    assert re.search(r"^alpha beats beta by \d\d points \(\d+ to \d\d\)\.$", said, re.MULTILINE)
    assert re.search(r"alpha +\d\d% \(\d\d to \d\d\) +\d\d%", said)
    assert "all intervals together" in said


def test_without_labels_the_next_command_draws_items_and_then_measures(folder):
    said = run(folder, "log.csv", "--label", "pass", "--worker", "judge")
    assert "There are no labels to check that." in said
    assert re.search(r"On \d public panels of judges, majority vote's own rate was off by 1 to \d\d points", said)
    command = shlex.split(said.splitlines()[-1].strip())
    assert command == ["majorant", "ask", "log.csv", "--worker", "judge", "--rate", "--n", "60"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        asked = CliRunner().invoke(majorant, command[1:])
    assert asked.exit_code == 0, asked.output
    assert "60 items drawn at random" in asked.output
    following = shlex.split(asked.output.splitlines()[-1].removeprefix("Then").strip())
    truth = dict(csv.reader((folder / "labels.csv").read_text().splitlines()))
    rows = list(csv.DictReader((folder / "to_label.csv").read_text().splitlines()))
    write(folder / "to_label.csv", list(rows[0]), [[*{**r, "label": truth.get(r["item"], "?")}.values()] for r in rows])
    said = run(folder, *following[2:])
    assert "even if you stop early." in said
    assert re.search(r"Note     The interval assumes the worst case for \d+ items without a label", said)


@pytest.mark.parametrize(("bar", "code", "word"), [(".4", 0, "Passed"), (".9", 1, "Failed"), (".7", 1, "Failed")])
def test_at_least_sets_the_exit_code(folder, bar, code, word):
    said = run(folder, "log.csv", "--gold-file", "labels.csv", "--label", "pass", "--at-least", bar, code=code)
    assert f"\n{word}: " in said


def test_gate_fails_without_labels(folder):
    assert "Failed" in run(folder, "log.csv", "--label", "pass", "--at-least", ".1", code=1)


def test_markdown_summary(folder, tmp_path):
    words = ("log.csv", "--gold-file", "labels.csv", "--label", "pass", "--by", "system", "--at-least", ".4")
    text = run(folder, *words, "--summary", "-")
    assert text.startswith("### ✅ Share of pass")
    assert "| alpha | " in text
    run(folder, *words, "--summary", str(tmp_path / "summary.md"))
    assert (tmp_path / "summary.md").read_text().startswith(text)  # and the digest in a comment


def test_json_contains_the_same_facts(folder):
    facts = json.loads(
        run(folder, "log.csv", "--gold-file", "labels.csv", "--label", "pass", "--by", "system", "--json")
    )
    assert facts["overall"]["low"] < facts["overall"]["value"] < facts["overall"]["high"]
    assert [one["name"] for one in facts["slices"]] == ["alpha", "beta"]
    assert facts["differences"][0]["winner"] == "first"
    assert facts["headline"].startswith("Share of pass")


def test_the_column_of_labels_has_its_own_flag(folder):
    said = run(folder, "log.csv", "--label-column", "verdict", "--label", "pass", "-q")
    assert said.startswith("Share of pass: ")
    assert "--label-column" in run(folder, "--help")


def test_output_says_that_scores_are_averaged(folder):
    write(
        folder / "scores.csv",
        ("item", "judge", "score"),
        [(i, j, (i + n) % 5 + 1) for i in range(40) for n, j in enumerate("abc")],
    )
    said = run(folder, "scores.csv")
    assert said.startswith("Mean score: the panel says ")
    assert "--threshold 3" in said
    assert run(folder, "scores.csv", "--threshold", "3").startswith("Share of at least 3")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("log.csv", "--label", "ok"), "label='ok' is not a label"),
        (("log.csv", "--label", "pass", "--by", "nope"), "has no column 'nope'"),
        (("log.csv", "--label", "pass", "--gold-file", "log.csv"), "Keep one"),
        (("log.csv", "--label", "pass", "--json", "--summary", "-"), "both print"),
    ],
)
def test_invalid_calls_are_reported(folder, words, said):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(majorant, ["rate", *words])
    assert said in str(result.exception) or said in result.output


def test_the_command_names_the_class_where_it_is_not_obvious(folder):
    write(
        folder / "animals.csv",
        ("item", "judge", "label"),
        [(i, j, ["cat", "dog"][(i + j) % 2]) for i in range(9) for j in (1, 2, 3)],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        asked = CliRunner().invoke(
            majorant, ["ask", "animals.csv", "--rate", "--n", "3", "--out", "animals_to_label.csv"]
        )
    assert asked.output.splitlines()[-1].endswith(
        "majorant rate animals.csv --gold-file animals_to_label.csv --label cat"
    )


def test_several_pairs_are_reported_one_by_one(folder):
    rng, rows, gold = np.random.default_rng(2), [], []
    strength = {"llama": 0.0, "mistral": 0.2, "qwen": 2.0}
    for q in range(120):
        for a, b in (("llama", "mistral"), ("mistral", "qwen"), ("qwen", "llama")):
            won = a if rng.random() < 1 / (1 + np.exp(strength[b] - strength[a])) else b
            rows += [(q, a, b, judge, won if rng.random() < 0.8 else a) for judge in ("gpt", "claude")]
            gold.append((q, a, b, won))
    write(folder / "arena.csv", ("question", "model_a", "model_b", "judge", "winner"), rows)
    chosen = [gold[place] for place in rng.permutation(len(gold))[:150]]
    write(folder / "human.csv", ("question", "model_a", "model_b", "winner"), chosen)
    said = run(folder, "arena.csv", "--gold-file", "human.csv")
    assert said.startswith("Win rates of 3 pairs, measured on 150 labels.\n")
    assert re.search(r"^qwen beats llama: wins \d\d% \(\d\d to \d\d\), \d+ labels\.$", said, re.MULTILINE)
    assert re.search(r"^(llama or mistral|mistral or llama): open, ", said, re.MULTILINE)
    assert re.search(r"^Order    gpt picked whichever came first in \d\d% of pairs\.$", said, re.MULTILINE)
    assert "the judges give llama" in run(folder, "arena.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        refused = CliRunner().invoke(majorant, ["rate", "arena.csv", "--at-least", ".5"])
    assert "there are 3 pairs" in str(refused.exception)


def test_sample_continues_at_random_after_proof_items(tmp_path, monkeypatch):
    """Neither gold labels in the input nor items picked to prove a rule replace the random sample."""
    monkeypatch.chdir(tmp_path)
    rng, invoke = np.random.default_rng(0), CliRunner().invoke
    truth = {f"q{i}": ("fail", "pass")[int(rng.random() < 0.6)] for i in range(300)}
    rows = [
        (q, judge, t if rng.random() < right else ("fail", "pass")[t == "fail"], t if n < 30 else "")
        for n, (q, t) in enumerate(truth.items())
        for judge, right in zip("abcde", (0.95, 0.4, 0.4, 0.4, 0.45), strict=True)
    ]
    write(tmp_path / "log.csv", ("item", "judge", "verdict", "gold"), rows)

    def fill_in():
        with (tmp_path / "to_label.csv").open() as file:
            items = [row["item"] for row in csv.DictReader(file)]
        write(
            tmp_path / "to_label.csv",
            ("draw", "item", "label"),
            [(n, item, truth[item]) for n, item in enumerate(items, start=1)],
        )

    asked = invoke(majorant, ["ask", "log.csv", "--rate", "--n", "40"])
    assert asked.exit_code == 0
    fill_in()
    assert "measured on 40 labels" in run(tmp_path, "log.csv", "--gold-file", "to_label.csv")
    assert invoke(majorant, ["ask", "log.csv", "--more", "10", "--design", "to_label.design.json"]).exit_code == 0
    fill_in()
    said = run(tmp_path, "log.csv", "--gold-file", "to_label.csv")
    assert "measured on 40 labels" in said
    command = next(line.strip() for line in said.splitlines() if "--more" in line)
    words = shlex.split(command)[1:]
    words[words.index("--more") + 1] = "20"
    assert invoke(majorant, words).exit_code == 0
    fill_in()
    measured = json.loads(run(tmp_path, "log.csv", "--gold-file", "to_label.csv", "--json"))["overall"]
    assert 60 <= measured["labels"] <= 70  # with the proving items that lie among them
    share = sum(t == "pass" for t in truth.values()) / 300
    assert measured["low"] <= share <= measured["high"]


@pytest.mark.parametrize("by", [(), ("--by", "system")])
def test_votes_on_disk_give_the_same_answer(folder, by):
    words = ("log.csv", "--gold-file", "labels.csv", "--label", "pass", *by, "--json")
    whole, stored = (json.loads(run(folder, *words, *more)) for more in ((), ("--memory", "1GB", "-q")))
    assert stored["headline"] == whole["headline"]
    for one, other in zip((stored["overall"], *stored["slices"]), (whole["overall"], *whole["slices"]), strict=True):
        assert [one[name] for name in ("low", "value", "high")] == pytest.approx(
            [other[name] for name in ("low", "value", "high")]
        )
        assert [said["name"] for said in one["reported"]] == [said["name"] for said in other["reported"]]
        assert [said["rate"] for said in one["reported"]] == pytest.approx([said["rate"] for said in other["reported"]])
    assert [one["winner"] for one in stored["differences"]] == [one["winner"] for one in whole["differences"]]


def test_a_bar_outside_the_range_is_refused(folder):
    words = ["rate", str(folder / "log.csv"), "--gold-file", str(folder / "labels.csv"), "--at-least", "70"]
    assert "the rate lies between 0 and 1" in str(CliRunner().invoke(majorant, words).exception)


def test_a_sample_that_is_not_labelled_yet_asks_for_labels(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(majorant, ["ask", str(folder / "log.csv"), "--rate", "--n", "20"])
    said = run(tmp_path, str(folder / "log.csv"), "--gold-file", "to_label.csv")
    assert said.splitlines()[-1] == "Next     Label the items that were drawn, from the top, and run this again."


def test_pairwise_judgements_on_disk_are_refused(folder):
    rows = [(q, "x", "y", "j", "AB"[q % 2]) for q in range(20)]
    write(folder / "arena.csv", ("question", "model_a", "model_b", "judge", "winner"), rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(majorant, ["rate", "arena.csv", "--memory", "1GB"])
    assert "pairwise judgements must be read into memory: leave out --memory" in str(result.exception)


def test_judges_next_command_extends_the_drawn_sample(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log, invoke = str(folder / "log.csv"), CliRunner().invoke
    with (folder / "labels.csv").open() as file:
        known = {row["item"]: row["label"] for row in csv.DictReader(file)}
    assert invoke(majorant, ["ask", log, "--rate", "--n", "30"]).exit_code == 0
    with (tmp_path / "to_label.csv").open() as file:
        rows = [(row["majorant_draw"], row["item"], known.get(row["item"], "?")) for row in csv.DictReader(file)]
    write(tmp_path / "to_label.csv", ("majorant_draw", "item", "label"), rows)
    said = invoke(majorant, ["workers", log, "--gold-file", "to_label.csv", "--bar", ".9"]).output
    words = shlex.split(said.splitlines()[-1])[1:]
    assert words[-5:] == ["--rate", "--more", "30", "--design", "to_label.design.json"]
    assert invoke(majorant, words).exit_code == 0
