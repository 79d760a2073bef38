"""Rates from votes and labels: their output and validity."""

import csv
import os
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import majorant as mj
from majorant.cli import majorant
from majorant.results.rate_inputs import Measure, Order
from majorant.results.rates import Winner, rate_record
from needs import NO_DATA

JUDGES = {"strict": (0.8, 0.1), "kind": (0.98, 0.6), "fair": (0.9, 0.25), "blunt": (0.95, 0.5)}


def log(seed=0, *, questions=250, systems=None, judges=None):
    """Verdicts of judges on systems that answer the same questions, and the truth of each answer."""
    rng = np.random.default_rng(seed)
    systems = systems or {"alpha": 0.8, "beta": 0.55}
    truth, rows = {}, []
    for q in range(questions):
        for system, share in systems.items():
            item = f"q{q} | {system}"
            truth[item] = "pass" if rng.random() < share else "fail"
            for judge, (right, lenient) in (judges or JUDGES).items():
                said = rng.random() < (right if truth[item] == "pass" else lenient)
                rows.append((item, system, judge, "pass" if said else "fail"))
    names = ("item", "system", "judge", "verdict")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), truth, rng


def some(truth, rng, n):
    """A random sample of the items, in random order."""
    return {str(item): truth[str(item)] for item in rng.permutation(list(truth))[:n]}


def share(truth, system=""):
    return np.mean([label == "pass" for item, label in truth.items() if item.endswith(system)])


def test_labels_correct_what_the_judges_say():
    table, truth, rng = log()
    found = mj.rate(table, gold=some(truth, rng, 100), label="pass")
    assert found.low < share(truth) < found.high
    assert found.low <= found.value <= found.high
    assert found.high < found.overall.said_by("majority")
    assert found.overall.said_by("kind") > found.overall.said_by("strict")
    assert (found.measure, found.order, found.labels) == (Measure.SHARE, Order.GIVEN, 100)
    assert found.overall.more[0.05] < found.overall.more[0.03]


def test_without_labels_only_the_panels_rate_is_shown():
    table, _, _ = log()
    found = mj.rate(table, label="pass")
    assert (found.value, found.low, found.high, found.labels) == (None, None, None, 0)
    assert {one.name for one in found.overall.reported} == {"majority", "weighted-vote", *JUDGES}
    assert not found.at_least(0.1)


def test_labelling_every_item_gives_an_exact_answer():
    table, truth, _ = log(questions=40)
    found = mj.rate(table, gold=truth, label="pass")
    assert (found.low, found.value, found.high) == pytest.approx((share(truth),) * 3)


@pytest.mark.parametrize("by_question", [True, False])
def test_slices_and_differences_share_one_level(by_question):
    table, truth, rng = log(systems={"alpha": 0.85, "beta": 0.5, "gamma": 0.52})
    if by_question:
        chosen = [f"q{q}" for q in rng.permutation(250)[:90]]
        gold = {f"{q} | {system}": truth[f"{q} | {system}"] for q in chosen for system in ("alpha", "beta", "gamma")}
    else:
        gold = some(truth, rng, 270)
    found = mj.rate(table, gold=gold, label="pass", by="system")
    assert found.clustered is by_question
    for one in found.slices:
        assert one.low <= share(truth, one.name) <= one.high
    for one in found.differences:
        assert one.low <= share(truth, one.first) - share(truth, one.second) <= one.high
        assert one.paired is by_question
    winners = {(one.first, one.second): one.winner for one in found.differences}
    assert winners == {
        ("alpha", "beta"): Winner.FIRST,
        ("alpha", "gamma"): Winner.FIRST,
        ("beta", "gamma"): Winner.OPEN,
    }
    settled = {one.winner is Winner.OPEN: one.more for one in found.differences}
    assert settled[False] == 0
    assert settled[True] is None or settled[True] > 0


def test_labels_by_question_are_recognised_without_slices():
    """Answers to the same question are correlated, so 60 questions are worth fewer than 180 answers."""
    rng, rows, truth = np.random.default_rng(8), [], {}
    for q in range(200):
        hard = rng.random() < 0.4
        for system in ("alpha", "beta", "gamma"):
            truth[f"q{q}", system] = "fail" if hard else "pass"
            rows.append((f"q{q}", system, "coin", "pass" if rng.random() < 0.5 else "fail"))
    table = dict(zip(("question", "system", "judge", "verdict"), map(list, zip(*rows, strict=True)), strict=True))
    chosen = rng.permutation(200)[:60]
    by_question = {(f"q{q}", s): truth[f"q{q}", s] for q in chosen for s in ("alpha", "beta", "gamma")}
    by_item = {(str(q), str(s)): truth[str(q), str(s)] for q, s in rng.permutation(list(truth))[:180]}
    clustered, spread = (
        mj.rate(table, gold=gold, label="pass", item="question,system") for gold in (by_question, by_item)
    )
    assert (clustered.clustered, spread.clustered) == (True, False)
    assert clustered.high - clustered.low > 1.3 * (spread.high - spread.low)


def test_slices_as_a_frame():
    table, truth, rng = log(questions=60)
    found = mj.rate(table, gold=some(truth, rng, 50), label="pass", by="system")
    columns = found.to_dict()
    assert columns["name"] == [None, "alpha", "beta"]
    assert columns["labels"][0] == 50 == sum(columns["labels"][1:])
    assert repr(found).startswith(f"Rates: {found.value:.3f} (")


def test_pairing_by_question_narrows_the_interval():
    """Questions are equally hard for both systems, so paired differences are much more precise."""
    rng, rows, truth = np.random.default_rng(3), [], {}
    for q in range(300):
        hard = rng.random() < 0.5
        for system, luck in (("alpha", 0.97), ("beta", 0.85)):
            item = f"q{q} | {system}"
            truth[item] = "fail" if hard or rng.random() > luck else "pass"
            rows.append((item, system, "coin", "pass" if rng.random() < 0.5 else "fail"))
    table = dict(zip(("item", "system", "judge", "verdict"), map(list, zip(*rows, strict=True)), strict=True))
    chosen = rng.permutation(300)[:80]
    paired = {f"q{q} | {s}": truth[f"q{q} | {s}"] for q in chosen for s in ("alpha", "beta")}
    (by_question,) = mj.rate(table, gold=paired, label="pass", by="system").differences
    (by_item,) = mj.rate(table, gold=some(truth, rng, 160), label="pass", by="system").differences
    assert by_question.high - by_question.low < 0.75 * (by_item.high - by_item.low)


def test_sorted_labels_are_shuffled_with_a_note():
    table, truth, _ = log()
    items = sorted(np.random.default_rng(1).permutation(list(truth))[:80], key=list(truth).index)
    found = mj.rate(table, gold={str(item): truth[str(item)] for item in items}, label="pass")
    assert found.order is Order.SHUFFLED
    assert found.low < share(truth) < found.high


def test_gold_beside_the_votes():
    table, truth, rng = log(questions=100)
    known = some(truth, rng, 60)
    found = mj.rate({**table, "gold": [known.get(item) for item in table["item"]]}, label="pass")
    assert (found.labels, found.order) == (60, Order.SHUFFLED)


def test_a_design_keeps_the_order_of_its_items(tmp_path):
    table, truth, _ = log(questions=100)
    votes = mj.read(table, item="item", worker="judge", label="verdict")
    design = mj.ask(votes, question="accuracy", n=50)
    design.write(tmp_path / "to_label.csv")
    lines = (tmp_path / "to_label.csv").read_text().splitlines()
    at = lines[0].split(",").index("label")
    filled = [lines[0]]
    for n, line in enumerate(lines[1:]):
        cells = line.split(",")
        item = next(cell for cell in cells if cell in truth)
        cells[at] = "?" if n == 4 else truth[item]
        filled.append(",".join(cells))
    (tmp_path / "to_label.csv").write_text("\n".join(filled) + "\n")
    found = mj.rate(votes, gold=str(tmp_path / "to_label.csv"), label="pass")
    assert (found.order, found.labels, found.overall.skipped) == (Order.DRAWN, 49, 1)
    assert found.low < share(truth) < found.high


def test_items_drawn_where_rules_differ_are_refused(tmp_path):
    table, _, _ = log(questions=100, judges={**JUDGES, "fifth": (0.6, 0.5)})
    votes = mj.read(table, item="item", worker="judge", label="verdict")
    design = mj.ask(votes, between=("majority", "dawid-skene"), n=4)
    if not design.items:
        pytest.skip("the rules do not differ")
    design.write(tmp_path / "to_label.csv")
    with pytest.raises(mj.DataError, match="chosen because rules disagree"):
        mj.rate(votes, gold=str(tmp_path / "to_label.csv"), label="pass")


@pytest.mark.parametrize(("low", "high"), [(1, 5), (0, 1), (0, 100)])
def test_scores_are_averaged_in_their_own_unit(low, high):
    rng = np.random.default_rng(4)
    true = {f"q{i}": float(np.clip(rng.normal(0.6, 0.2), 0, 1)) for i in range(300)}
    scaled = {item: round(low + (high - low) * value, 2) for item, value in true.items()}
    rows = [
        (item, judge, round(float(np.clip(value + (high - low) * (0.1 + rng.normal() * 0.05), low, high)), 2))
        for item, value in scaled.items()
        for judge in "abc"
    ]
    table = dict(zip(("item", "judge", "score"), map(list, zip(*rows, strict=True)), strict=True))
    gold = {str(item): scaled[str(item)] for item in rng.permutation(list(scaled))[:60]}
    found = mj.rate(table, gold=gold)
    mean = np.mean(list(scaled.values()))
    assert (found.measure, found.limits) == (Measure.SCORE, (low, high))
    assert found.low < mean < found.high
    assert found.high < found.overall.said_by("mean of the judges")


def test_scores_out_of_range_are_refused():
    rows = [(i, j, 3) for i in range(5) for j in "ab"] + [(9, "a", 1), (9, "b", 2)]
    with pytest.raises(mj.DataError, match="Label 7 of item 1 is not a score from 1 to 5"):
        mj.rate(rows, gold={1: 7})
    with pytest.raises(mj.ConfigError, match="Specify the possible range"):
        mj.rate([(1, "a", -3), (1, "b", 400), (2, "a", 7)])
    assert mj.rate([(1, "a", -3), (1, "b", 400)], limits=(-10, 1000)).limits == (-10, 1000)


def test_two_numbers_are_classes_unless_a_range_says_otherwise():
    verdicts = [(i, j, 1 + (i + j) % 2) for i in range(6) for j in range(3)]  # answer 1 or answer 2
    with pytest.raises(mj.ConfigError, match=r"Choose the class.*If they are scores"):
        mj.rate(verdicts)
    assert mj.rate(verdicts, label=2).overall.said_by("majority") == 0.5
    assert mj.rate(verdicts, limits=(1, 5)).limits == (1, 5)
    assert mj.rate([(i, j, (i + j) % 2) for i in range(6) for j in range(3)]).label == 1


def test_win_rates_count_ties_half():
    rng, rows, truth = np.random.default_rng(5), [], {}
    for q in range(200):
        winner = rng.choice(["x", "y", "tie"], p=[0.55, 0.3, 0.15])
        truth[f"q{q} | x vs y"] = str(winner)
        for judge in ("gpt", "claude"):
            for a, b in (("x", "y"), ("y", "x")):
                said = winner if rng.random() < 0.8 else a
                rows.append((f"q{q}", a, b, judge, str(said)))
    names = ("question", "model_a", "model_b", "judge", "winner")
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    found = mj.rate(table, gold={str(item): truth[str(item)] for item in rng.permutation(list(truth))[:80]})
    mean = np.mean([{"x": 1.0, "y": 0.0}.get(label, 0.5) for label in truth.values()])
    assert (found.measure, found.candidates) == (Measure.WIN, (("x", "y"),))
    assert found.low < mean < found.high
    assert all(one.both_orders == 200 and one.first_twice > one.second_twice for one in found.positions)
    assert all(one.p_value < 0.01 for one in found.positions)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"label": "maybe"}, "label='maybe' is not a label of these votes. The labels are 'fail', 'pass'"),
        ({"level": 2}, "level must lie between"),
        ({"limits": (1,)}, "takes two numbers"),
        ({"itme": "x"}, "Did you mean item="),
    ],
)
def test_invalid_calls_explain_the_fix(how, said):
    table, _, _ = log(questions=5)
    with pytest.raises(mj.ConfigError, match=said):
        mj.rate(table, **how)


def test_ambiguous_class_must_be_specified():
    with pytest.raises(mj.ConfigError, match="Choose the class to measure"):
        mj.rate([(1, "a", "cat"), (1, "b", "dog"), (2, "a", "cow")])
    assert mj.rate([(1, "a", "fail"), (1, "b", "pass")]).label == "pass"


def test_slices_require_by_when_reading():
    table, _, _ = log(questions=5)
    with pytest.raises(mj.ConfigError, match="Pass by='system' when you read them"):
        mj.rate(mj.read(table), label="pass", by="system")


def test_the_record_of_public_panels_is_shipped():
    record = rate_record()
    assert record.panels >= 5
    assert 0 <= record.least <= record.middle <= record.most <= 1


TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "rates.md"


def test_the_tutorials_public_panel_prints_what_it_shows(tmp_path, monkeypatch):
    panel = Path(os.environ.get("MAJORANT_DATA", "nowhere")) / "panels" / "faithbench"
    if not panel.is_dir():
        pytest.skip(NO_DATA)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "label.csv").write_bytes((panel / "label.csv").read_bytes())
    run = CliRunner().invoke
    assert run(majorant, ["ask", "label.csv", "--rate", "--n", "100"]).exit_code == 0
    truth = dict(csv.reader((panel / "truth.csv").read_text().splitlines()))
    rows = list(csv.DictReader(Path("to_label.csv").read_text().splitlines()))
    with Path("to_label.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, rows[0])
        out.writeheader()
        out.writerows({**row, "label": truth[row["item"]]} for row in rows)
    said = run(majorant, ["rate", "label.csv", "--gold-file", "to_label.csv", "--label", "consistent"]).output
    shown = re.search(r"```text\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    assert said == shown[1]


def test_expert_labels_match_in_any_case_and_unknown_ones_are_reported():
    verdicts = [(item, judge, "pass" if item < "c" else "fail") for item in "abcd" for judge in "xy"]
    shouted = mj.rate(verdicts, gold={"a": "PASS", "b": " Pass", "c": "Fail", "d": "FAIL"}, label="pass")
    assert (shouted.value, shouted.unheard) == (0.5, ())
    unclear = mj.rate(verdicts, gold={"a": "pass", "b": "pass", "c": "fail", "d": "unclear"}, label="pass")
    assert (unclear.value, unclear.unheard) == (0.5, ("unclear",))


def test_drawn_items_without_a_label_are_not_dropped_with_the_votes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, _, _ = log(questions=40)
    votes = mj.read(table)
    mj.ask(votes, draw="random", n=10).write("to_label.csv")
    with open("to_label.csv", newline="") as file:  # noqa: PTH123
        rows = list(csv.DictReader(file))
    with open("to_label.csv", "w", newline="") as file:  # noqa: PTH123
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "label": "?" if n == 3 else "pass"} for n, row in enumerate(rows))
    assert mj.rate(votes, gold="to_label.csv", label="pass").overall.skipped == 1
    with pytest.raises(mj.DataError, match="without a label"):
        mj.rate(mj.read(table, gold_file="to_label.csv"), label="pass")
