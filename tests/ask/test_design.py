"""Designs: what they fix, how experts may label, and which changes are rejected."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import majorant as mj
from majorant.ask.design import Design, Recognised, recognise
from majorant.ask.draw import votes_digest
from majorant.ask.question import Wanted
from majorant.ask.questions import race_between
from majorant.ask.race import Race
from majorant.read.tasks import ExpertAnswer, design_path, read_answers


def crowd(n_items=300, seed=1):
    """Class 1 is rare and most workers miss it: majority vote is wrong where a model is right."""
    confusion = np.array([[[0.97, 0.03], [0.6, 0.4]]] * 4 + [[[0.95, 0.05], [0.05, 0.95]]] * 2)
    return mj.simulate([0.6, 0.4], confusion, n_items=n_items, n_votes=5, rng=seed)


@pytest.fixture(scope="module")
def votes_and_truth():
    votes, truth = crowd()
    return votes, {item: votes.labels[k] for item, k in zip(votes.items, truth, strict=True)}


@pytest.fixture(scope="module")
def design(votes_and_truth):
    return mj.ask(votes_and_truth[0], between=("majority", "dawid-skene"), n=20)


def test_only_items_on_which_the_rules_differ_are_asked(votes_and_truth, design):
    votes, _ = votes_and_truth
    majority = dict(zip(votes.items, mj.aggregate(votes, "majority").labels(), strict=True))
    model = dict(zip(votes.items, mj.aggregate(votes, "dawid-skene").labels(), strict=True))
    differ = {item for item in votes.items if majority[item] is not None and majority[item] != model[item]}
    assert differ == set(design.order)
    assert len(design.items) == len(set(design.items)) == 20


def test_labels_settle_which_rule_is_better(votes_and_truth, design):
    _, truth = votes_and_truth
    outcome = design.evaluate({item: truth[item] for item in design.items})
    assert (outcome.verdict, outcome.leader, outcome.labels) == ("better", "dawid-skene", 20)
    everything = design.more(10_000)
    exact = everything.evaluate({item: truth[item] for item in everything.items}).value
    assert exact.low == pytest.approx(exact.high)
    assert outcome.value.low <= exact.value <= outcome.value.high


def test_the_order_of_the_rows_does_not_matter(votes_and_truth, design):
    votes, _ = votes_and_truth
    columns = {
        "item": [votes.items[i] for i in votes.item_n],
        "worker": [votes.workers[j] for j in votes.worker_n],
        "label": [votes.labels[k] for k in votes.label_n],
    }
    shuffled = np.random.default_rng(0).permutation(len(votes.item_n))
    other = mj.read({name: [values[n] for n in shuffled] for name, values in columns.items()})
    again = mj.ask(other, between=("majority", "dawid-skene"), n=20)
    assert again.items == design.items
    assert again.votes == design.votes


def test_changing_any_vote_changes_the_digest(votes_and_truth):
    votes, _ = votes_and_truth
    digest = votes_digest(votes)
    rows = list(zip(votes.item_n, votes.worker_n, votes.label_n, strict=True))

    def digest_of(rows, items=votes.items):
        named = [(items[i], votes.workers[j], votes.labels[k]) for i, j, k in rows]
        return votes_digest(mj.read(named))

    assert digest_of(rows) == digest
    assert digest_of(rows[1:]) != digest
    i, j, k = rows[7]
    assert digest_of([*rows[:7], (i, j, 1 - k), *rows[8:]]) != digest
    assert digest_of(rows, items=(*votes.items[1:], votes.items[0])) != digest


def test_ties_are_excluded_from_comparisons():
    votes, truth = mj.simulate([0.6, 0.4], [[0.8, 0.2], [0.45, 0.55]], n_items=400, n_votes=4, rng=1)
    by_item = {item: votes.labels[k] for item, k in zip(votes.items, truth, strict=True)}
    majority, other = (mj.aggregate(votes, rule) for rule in ("majority", "dawid-skene"))
    untied = np.flatnonzero(~majority.tied_i)
    right, before = ((fit.codes("first") == truth)[untied].sum() for fit in (other, majority))
    for seed in (0, 1):
        design = mj.ask(votes, between=("majority", "dawid-skene"), n=400, rng=seed)
        assert not {votes.items[i] for i in np.flatnonzero(majority.tied_i)} & set(design.order)
        outcome = design.evaluate({item: by_item[item] for item in design.items})
        assert outcome.tied == majority.tied_i.sum() > 50
        assert outcome.value.value == outcome.value.low == pytest.approx((right - before) / 400)


def test_tied_rule_keeps_the_plurality_label():
    votes = mj.read([(item, worker, int(worker == "c")) for item in range(30) for worker in "abc"])
    majority = mj.aggregate(votes, "majority")
    even = replace(majority, method="even", posterior=np.full((30, 2), 0.5))
    wanted = Wanted(rules=("majority", "even"))
    assert len(race_between(votes, {"majority": majority, "even": even}, wanted).order) == 0


def test_ties_of_written_labels_depend_on_the_name_alone():
    votes = mj.read([(item, worker, label) for item in range(400) for worker, label in (("a", 0), ("b", 1))])
    first, second = (mj.ask(votes, question="accuracy", between=("majority",), n=0, rng=seed) for seed in (0, 1))
    labels = [dict(zip(design.order, design.question.label_d, strict=True)) for design in (first, second)]
    assert labels[0] == labels[1]
    assert 160 < sum(labels[0].values()) < 240


def test_design_file_round_trips(votes_and_truth, design, tmp_path):
    path = tmp_path / "to_label.csv"
    assert design.write(path) == [path, tmp_path / "to_label.design.json"]
    again = Design.read(design_path(path))
    assert (again.items, again.to_dict()) == (design.items, design.to_dict())
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert list(rows[0]) == ["majorant_draw", "item", "label", "majorant_design"]
    assert [row["majorant_draw"] for row in rows] == [str(n) for n in range(1, 21)]
    assert {row["label"] for row in rows} == {""}


def damaged(path: Path, change) -> Path:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["content"]["label_rd"][0].__setitem__(0, 1 - content["content"]["label_rd"][0][0]),
        lambda content: content["order"].reverse(),
        lambda content: content["asked"].pop(),
        lambda content: content["content"].__setitem__("tolerance", 0.5),
        lambda content: content.__setitem__("votes", "0"),
    ],
)
def test_a_changed_design_is_refused(design, tmp_path, change):
    design.write(tmp_path / "to_label.csv")
    with pytest.raises(mj.DataError, match="was changed after it was drawn"):
        Design.read(damaged(tmp_path / "to_label.design.json", change))


def test_flipped_bits_in_a_design_are_detected(design, tmp_path):
    design.write(tmp_path / "to_label.csv")
    path = tmp_path / "to_label.design.json"
    content = bytearray(path.read_bytes())
    for place in np.random.default_rng(0).integers(len(content) - 1, size=40):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(place) % 7
        path.write_bytes(flipped)
        try:
            again = Design.read(path)
        except (mj.DataError, UnicodeDecodeError):
            continue
        assert again.to_dict() == design.to_dict()  # a blank between two fields


def test_other_votes_are_refused(design):
    other, _ = crowd(seed=2)
    with pytest.raises(mj.DataError, match="The design was drawn for other votes"):
        design.refuse_other_votes(votes_digest(other))


def test_rows_are_labelled_from_the_top_and_gaps_are_skipped(votes_and_truth, design):
    _, truth = votes_and_truth
    given = {item: truth[item] for item in design.items[:12]}
    gap = {item: label for item, label in given.items() if item != design.items[4]}
    outcome = design.evaluate(gap)
    assert (outcome.labels, outcome.skipped) == (11, 1)
    assert outcome.value.low < design.evaluate(given).value.low
    said = design.evaluate({**given, design.items[4]: "?"})
    assert (said.value.low, said.skipped) == (outcome.value.low, 1)


def test_labels_outside_the_design_or_of_unknown_classes_are_reported(votes_and_truth, design):
    votes, truth = votes_and_truth
    outside = next(item for item in votes.items if item not in design.order)
    outcome = design.evaluate({outside: 1, design.items[0]: truth[design.items[0]], design.items[1]: "perhaps"})
    assert (outcome.ignored, outcome.unknown, outcome.labels, outcome.skipped) == ((outside,), ("perhaps",), 1, 1)


def test_last_label_counts_and_relabelling_is_reported(votes_and_truth, design):
    _, truth = votes_and_truth
    item = design.items[0]
    answers = [ExpertAnswer(item, 1 - truth[item]), ExpertAnswer(item, truth[item])]
    outcome = design.judge(answers)
    assert outcome.relabelled == (item,)
    assert outcome.right == design.evaluate({item: truth[item]}).right


def test_several_experts(design):
    items = design.items[:3]
    by_majority = design.judge(
        [ExpertAnswer(item, label, expert) for item in items for expert, label in (("a", 1), ("b", 1), ("c", 0))]
        + [ExpertAnswer(design.items[3], label, expert) for expert, label in (("a", 1), ("b", 0))]
    )
    assert (by_majority.labels, by_majority.skipped, by_majority.disagreed) == (3, 1, (design.items[3],))


def test_unanimous_experts(votes_and_truth):
    design = mj.ask(votes_and_truth[0], between=("majority", "dawid-skene"), n=5, experts="unanimous")
    answers = [ExpertAnswer(design.items[0], label, expert) for expert, label in (("a", 1), ("b", 1), ("c", 0))]
    assert design.judge(answers).disagreed == (design.items[0],)
    with pytest.raises(mj.ConfigError, match="experts must be one of"):
        mj.ask(votes_and_truth[0], between=("majority", "dawid-skene"), experts="any")


def fill(path, truth, n=None, column="label", sign=","):
    rows = list(csv.DictReader(path.read_text().splitlines()))
    for row in rows[:n]:
        row[column] = truth[type(next(iter(truth)))(row["item"])]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], delimiter=sign)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_labelling_resumes_after_an_interrupt(votes_and_truth, design, tmp_path):
    _, truth = votes_and_truth
    path = tmp_path / "to_label.csv"
    design.write(path)
    recognised = recognise(fill(path, truth, 9, sign=";"))
    assert isinstance(recognised, Recognised)
    outcome = recognised.outcome
    assert (outcome.labels, outcome.skipped) == (9, 0)


def test_more_items_continue_in_the_same_order(votes_and_truth, design):
    assert design.more(7).items[:20] == design.items
    assert len(design.more(7).items) == 27
    assert design.more(10_000).more(5).items == design.more(10_000).items
    assert design.more(7).id == design.id


def test_gold_without_a_design_is_not_recognised(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text("item,gold\na,1\n")
    assert recognise(path) is None
    assert recognise({"item": ["a"], "gold": [1]}) is None
    assert recognise(None) is None


def test_renamed_file_needs_its_design_beside_it(votes_and_truth, design, tmp_path):
    _, truth = votes_and_truth
    path = tmp_path / "to_label.csv"
    design.write(path)
    renamed = fill(path, truth, 5).rename(tmp_path / "done.csv")
    assert recognise(renamed).outcome.labels == 5
    (tmp_path / "alone").mkdir()
    alone = renamed.rename(tmp_path / "alone" / "done.csv")
    assert recognise(alone) is None  # plain gold labels
    assert recognise(alone, design=tmp_path / "to_label.design.json").outcome.labels == 5


def test_labels_are_not_read_by_the_design_of_another_session(votes_and_truth, design, tmp_path):
    votes, truth = votes_and_truth
    other = mj.ask(votes, n=20, question="teach", rng=1)
    for folder, each in (("old", other), ("new", design)):
        (tmp_path / folder).mkdir()
        each.write(tmp_path / folder / "to_label.csv")
    mine = fill(tmp_path / "new" / "to_label.csv", truth, 5).rename(tmp_path / "old" / "to_label.csv")
    assert recognise(mine) is None
    with pytest.raises(mj.DataError, match="was not drawn by"):
        recognise(mine, design=tmp_path / "old" / "to_label.design.json")
    (tmp_path / "new" / "to_label.design.json").rename(tmp_path / "old" / "mine.design.json")
    assert recognise(mine).design.id == design.id


def test_several_files_are_several_experts(votes_and_truth, design, tmp_path):
    _, truth = votes_and_truth
    paths = [tmp_path / "to_label.csv", tmp_path / "second.csv"]
    design.write(paths[0])
    paths[1].write_text(paths[0].read_text())
    fill(paths[0], truth, 6)
    fill(paths[1], {item: 1 - label for item, label in truth.items()}, 2)
    outcome = recognise(paths).outcome
    assert (outcome.labels, len(outcome.disagreed)) == (4, 2)


def test_two_columns_are_two_experts(votes_and_truth, design, tmp_path):
    _, truth = votes_and_truth
    path = tmp_path / "to_label.csv"
    design.write(path)
    fill(path, truth, 4)
    rows = list(csv.reader(path.read_text().splitlines()))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[*rows[0], "label_2"], *([*row, 1] for row in rows[1:])])
    outcome = recognise(path).outcome
    assert outcome.labels + outcome.skipped == 20
    assert len(outcome.disagreed) == sum(truth[item] != 1 for item in design.items[:4])


def label_studio_export(path, truth, skip=()):
    tasks = json.loads(path.read_text())
    for number, task in enumerate(tasks):
        item = task["data"]["item"]
        choice = [
            {"from_name": "label", "to_name": "text_0", "type": "choices", "value": {"choices": [str(truth[item])]}}
        ]
        cancelled = item in skip
        task |= {
            "id": 900 + number,
            "annotations": [{"completed_by": 7, "result": [] if cancelled else choice, "was_cancelled": cancelled}],
        }
    path.write_text(json.dumps(tasks))


def prodigy_export(path, truth, skip=()):
    lines = []
    for line in path.read_text().splitlines():
        task = json.loads(line)
        skipped = task["item"] in skip
        answer = {"accept": [] if skipped else [truth[task["item"]]], "answer": "ignore" if skipped else "accept"}
        lines.append(json.dumps({**task, "_input_hash": 1, "_task_hash": 2, "_session_id": "x", **answer}))
    path.write_text("\n".join(lines))


def argilla_export(path, truth, skip=()):
    records = json.loads(path.read_text())
    for record in records:
        item = int(record["id"]) if record["id"].isdigit() else record["id"]
        status = "discarded" if item in skip else "submitted"
        record |= {
            "label.responses": [str(truth[item])],
            "label.responses.users": ["u"],
            "label.responses.status": [status],
        }
    path.write_text(json.dumps(records))


@pytest.mark.parametrize(
    ("format", "name", "export"),
    [
        ("label-studio", "to_label.json", label_studio_export),
        ("argilla", "to_label.json", argilla_export),
        ("prodigy", "to_label.jsonl", prodigy_export),
    ],
)
def test_labelling_tool_round_trip(votes_and_truth, design, tmp_path, format, name, export):
    _, truth = votes_and_truth
    path = tmp_path / name
    design.write(path, format=format, columns={"text": [f"text of {item}" for item in design.items]})
    assert "majority" not in path.read_text()
    export(path, truth, skip=design.items[3:4])
    exported = path.rename(tmp_path / f"project-1-export{path.suffix}")
    outcome = recognise(exported).outcome
    assert (outcome.labels, outcome.skipped, outcome.unknown) == (19, 1, ())
    full = design.evaluate({item: truth[item] for item in design.items if item != design.items[3]})
    assert outcome.right == full.right


def test_unlabelled_task_file_gives_no_outcome(design, tmp_path):
    for format, name in (("label-studio", "a.json"), ("prodigy", "b.jsonl"), ("argilla", "c.json")):
        design.write(tmp_path / name, format=format)
        assert recognise(tmp_path / name).outcome.labels == 0
    with pytest.raises(mj.ConfigError, match="format must be one of"):
        design.write(tmp_path / "d.txt", format="word")


def test_labels_in_an_unknown_format_are_rejected(design, tmp_path):
    path = tmp_path / "to_label.jsonl"
    design.write(path, format="prodigy")
    tasks = [{**json.loads(line), "accept": ["1"]} for line in path.read_text().splitlines()]
    path.write_text("\n".join(map(json.dumps, tasks)))
    with pytest.raises(mj.DataError, match="not an export of Label Studio, Argilla or Prodigy"):
        recognise(path)


def test_spreadsheet_guarding_of_names():
    race = Race.of(("majority", "auto"), np.array([[0, 0], [1, 1]]), n_items=9)
    design = Design(question=race, order=("007", "x"), labels=("Yes", "no"), votes="", seed=0).more(2)
    outcome = design.judge([ExpertAnswer("7", "yes ", draw=1), ExpertAnswer("8", "no", draw=1)])
    assert (outcome.labels, outcome.right["majority"], outcome.ignored) == (1, 1, ("8",))
    numbers = Design(question=race, order=("a", "b"), labels=(1, 2), votes="", seed=0).more(2)
    assert numbers.evaluate({"a": "1.0", "b": 2}).labels == 2


def test_answers_from_a_table_of_utf_16_with_tabs(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("draw\titem\tlabel\n1\tä\tyes\n2\tb\t\n", encoding="utf-16")
    assert read_answers(path).answers == (
        ExpertAnswer("ä", "yes", "", 1, row=2),
        ExpertAnswer("b", None, "", 2, row=3),
    )
    path.write_text("a,b\n1,2\n")
    with pytest.raises(mj.DataError, match="no column item"):
        read_answers(path)


def test_rules_are_named_in_errors(votes_and_truth):
    with pytest.raises(mj.ConfigError, match="There is no method 'magic'"):
        mj.ask(votes_and_truth[0], between=("majority", "magic"))
    with pytest.raises(mj.ConfigError, match="two to 20 rules"):
        mj.ask(votes_and_truth[0], between=("majority",))
