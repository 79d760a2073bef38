"""One labelling session: a random sample teaches a rule, labels of other items prove it, and few proofs are wrong."""

import csv
import io
import json
import sys
from dataclasses import replace
from time import process_time

import numpy as np
import pytest

import majorant as mj
from majorant.ask.design import Design, recognise
from majorant.ask.evidence import evidence_from_labels
from majorant.ask.question import SKIPPED, UNASKED
from majorant.ask.session import BETS_F, BETTER, WORSE
from majorant.datasets import load
from majorant.errors import DataError
from majorant.evidence.betting import evidence_above
from majorant.evidence.evidence import Source
from majorant.evidence.learn import LEARNED
from majorant.read.tasks import ExpertAnswer
from majorant.render.ask import outcome_sentence
from majorant.simulate import one_coin_workers
from sizes import many

WRONG_PANEL = one_coin_workers([0.95, 0.35, 0.35, 0.4, 0.4])  # one good judge among four who are mostly wrong


def panel(n_items=300, seed=0, crew=WRONG_PANEL):
    votes, truth = mj.simulate([0.5, 0.5], crew, n_items=n_items, n_votes=len(crew), rng=seed)
    return votes, {item: votes.labels[k] for item, k in zip(votes.items, truth, strict=True)}


def run_session(design, truth, most=100):
    while True:
        labels = {item: truth[item] for item in design.items}
        longer = design.more(min(design.next_batch, most - len(labels)), labels)
        if design.evaluate(labels).decided or len(longer.items) == len(design.items):
            return design, labels
        design = longer


@pytest.fixture(scope="module")
def finished():
    votes, truth = panel()
    return votes, truth, *run_session(mj.ask(votes, draw="random"), truth)


@pytest.fixture(scope="module")
def taught():
    votes, truth = panel()
    return votes, truth, *run_session(mj.ask(votes), truth)


def test_teaching_is_the_default_for_panels_only():
    votes, _ = panel(100)
    assert mj.ask(votes).question.kind == "teach"
    assert (len(mj.ask(votes).items), mj.ask(votes).question.draw) == (10, "teach")
    assert len(mj.ask(votes, draw="random").items) == 30
    assert mj.ask(votes, n=20).question.draw == "random"  # labelled at once, a random sample teaches as much
    assert mj.ask(votes, draw="prove").question.kind == "rules"
    crowd, _ = mj.simulate([0.5, 0.5], one_coin_workers([0.9, 0.6] * 10), n_items=300, n_votes=3, rng=0)
    assert mj.ask(crowd).question.kind == "rules"
    assert mj.ask(crowd, question="teach").question.kind == "teach"


def test_thirty_labels_train_a_rule_and_a_few_more_prove_it(finished):
    votes, truth, design, labels = finished
    outcome = design.evaluate(labels)
    assert (outcome.verdict, outcome.leader, outcome.n_taught) == ("better", LEARNED, 30)
    assert 5 <= outcome.n_proving <= 40
    assert outcome.value.low > 0
    best = max(outcome.learned.weights, key=outcome.learned.weights.get)
    assert best == votes.workers[0]
    majority = mj.aggregate(votes, "majority")
    label = dict(zip(votes.items, majority.labels("first"), strict=True))
    session = design.question
    rule = dict(zip(design.order, session.taught.label_d, strict=True))
    for item in design.items[30:]:  # asked to prove: the rules differ there, and the votes are not tied
        assert votes.labels[rule[item]] != label[item]
    gain = sum((votes.labels[rule[item]] == truth[item]) - (label[item] == truth[item]) for item in design.order[30:])
    assert outcome.value.low <= gain / len(votes.items) <= outcome.value.high


def test_proof_items_follow_the_sample_in_order(finished):
    _, _, design, _ = finished
    assert list(design.asked[:30]) == list(range(30))
    assert list(design.asked[30:]) == sorted(design.asked[30:])
    assert design.asked[30] >= 30


def test_session_file_round_trips_at_every_stage(finished, tmp_path):
    votes, truth, _, _ = finished
    design = mj.ask(votes, draw="random")
    names = set()
    for _ in range(3):
        labels = {item: truth[item] for item in design.items}
        path = tmp_path / "to_label.csv"
        path.unlink(missing_ok=True)
        design.write(path, labels=labels)
        again = recognise(path)
        assert again.design.evaluate(labels).value == design.evaluate(labels).value
        assert [answer.label for answer in again.answers] == [str(label) for label in labels.values()]
        names.add(again.design.id)
        design = again.design.more(10, labels)
    assert len(names) == 1  # tasks in a tool keep belonging to the design
    assert design.question.taught is not None


def test_frozen_rule_does_not_change(finished):
    _, _, design, labels = finished
    first = next(iter(labels))
    other = next(label for label in design.labels if label != labels[first])
    again = design.more(5, {**labels, first: other})
    assert again.question.taught.label_d.tolist() == design.question.taught.label_d.tolist()


def test_too_few_labels_train_no_rule_and_ask_for_more(finished):
    votes, truth, _, _ = finished
    design = mj.ask(votes, draw="random")
    few = {item: truth[item] for item in design.items[:12]}
    outcome = design.evaluate(few)
    assert (outcome.verdict, outcome.more, outcome.n_taught) == ("open", 18, 12)
    nine = design.evaluate(dict(list(few.items())[:9]))
    assert nine.learned is None
    assert "9 labels so far; 21 more labels are enough to learn a rule" in outcome_sentence(nine)


def test_sample_continues_if_labels_train_no_rule():
    votes, truth = panel(400, crew=one_coin_workers([0.8] * 5))
    design = mj.ask(votes, draw="random")
    labels = {item: truth[item] for item in design.items}
    assert not design.evaluate(labels).learned.earned
    longer = design.more(10, labels)
    assert list(longer.asked) == list(range(40))
    last = longer.more(10, {item: truth[item] for item in longer.items})
    assert last.question.taught.positions == 40


def test_skipped_items_are_not_used_for_training_and_widen_the_claim():
    votes, truth = panel()
    design = mj.ask(votes, n=40, draw="random")
    labels = {item: "?" if n % 8 == 0 else truth[item] for n, item in enumerate(design.items)}
    longer = design.more(20, labels)
    assert longer.evaluate(labels).n_taught == 30
    taught = longer.question.taught
    assert taught.positions == 35  # five of them skipped
    answers = {**labels, **{item: truth[item] for item in longer.items[40:]}}
    outcome = longer.evaluate(answers)
    code_d = longer.codes([ExpertAnswer(*pair) for pair in answers.items()])
    whole = longer.question.judged(*longer.question.contest(), np.where(code_d == SKIPPED, 0, code_d))
    assert outcome.value.low <= whole.value.low
    assert outcome.skipped == 5


def test_false_proofs_are_rare_at_every_look():
    """Each rule is right on half of the items on which they differ: one is called better in at most 5 of 100 runs."""
    rng, n = np.random.default_rng(0), 60
    y_bt = rng.permuted(np.tile(np.arange(n) % 2, (20_000, 1)), axis=1)
    shown = evidence_above(y_bt[:, : n - 1], n, 0.5, BETS_F)
    assert (shown >= -np.log(BETTER * 0.05)).mean() <= BETTER * 0.05
    assert (shown >= -np.log(WORSE * 0.05)).mean() <= WORSE * 0.05 + 0.001
    assert BETTER + WORSE < 1


def test_a_design_over_some_items_makes_claims_about_all(finished):
    _, _, design, labels = finished
    session = replace(design.question, n_items=10 * design.question.size)
    part = replace(design, question=session).evaluate(labels)
    whole = design.evaluate(labels)
    assert (part.verdict, part.n_items, part.labels) == ("better", 10 * whole.n_items, whole.labels)
    assert part.value.low <= part.value.value <= part.value.high
    assert part.value.value == pytest.approx(whole.value.value, abs=0.15)  # the head of the order is a sample
    nothing = replace(design, question=session).evaluate(dict(list(labels.items())[:30]))
    assert (nothing.verdict, nothing.value.value) == ("open", None)


def test_levels_hold_for_designs_with_only_some_of_the_items():
    """The rules agree on nine of ten items, and each is right on half of the others."""
    rng = np.random.default_rng(0)
    y = np.r_[np.full(900, 0.5), np.tile([0.0, 1.0], 50)]
    y_bt = rng.permuted(np.tile(y, (4_000, 1)), axis=1)[:, :400]
    assert (evidence_above(y_bt, 1000, 0.5, BETS_F) >= -np.log(BETTER * 0.05)).mean() <= BETTER * 0.05


@pytest.mark.long
def test_whole_sessions_are_rarely_wrong():
    """With equal judges majority vote is the best rule, so no learned rule is better."""
    wrong = 0
    for seed in range(100):
        votes, truth = panel(160, seed=seed, crew=one_coin_workers([0.65] * 5))
        design, labels = run_session(mj.ask(votes, draw="random", rng=seed), truth)
        outcome = design.evaluate(labels)
        if outcome.verdict == "better":
            everything = {item: truth[item] for item in design.order}
            wrong += design.more(1000).evaluate(everything).value.value <= 0
    assert wrong <= 8


def test_check_uses_the_evidence_of_a_session(finished, tmp_path):
    votes, truth, design, labels = finished
    design.write(tmp_path / "to_label.csv", labels=labels)
    recognised = recognise(tmp_path / "to_label.csv")
    (one,) = evidence_from_labels(recognised, recognised.outcome)
    assert (one.source, one.other, one.present) == (Source.LABELS, LEARNED, "majority")
    assert one.gain.low > 0
    assert one.n_labels == one.n_used == len(labels) - 30
    assert one.wins > one.losses
    table = votes.to_dict()
    gold = mj.read(table, gold_file=str(tmp_path / "to_label.csv")).gold_i
    assert {str(votes.items[i]) for i in np.flatnonzero(gold >= 0)} == {str(item) for item in design.order[:30]}
    result = mj.check(table, gold_file=str(tmp_path / "to_label.csv"))
    assert (str(result.answer.action), str(result.answer.certainty)) == ("switch", "proved")
    assert result.rule in (LEARNED, str(votes.workers[0]))  # the good judge alone may be proved better, too
    written = dict(zip(result.labels.to_dict()["item"], result.labels.to_dict()["label"], strict=True))
    assert all(written[item] == label for item, label in labels.items())
    assert np.mean([written[item] == truth[item] for item in truth]) > 0.85


def test_input_gold_trains_the_rule_and_only_proof_items_are_asked():
    votes, truth = panel()
    order = np.random.default_rng(0).permutation(len(votes.items))[:40]
    gold_i = np.full(len(votes.items), -1)
    gold_i[order] = [votes.labels.index(truth[votes.items[i]]) for i in order]
    design = mj.ask(replace(votes, gold_i=gold_i), n=20)
    assert design.question.taught.learned.n_labels == 40
    assert not set(design.order) & {votes.items[i] for i in order}
    outcome = design.evaluate({item: truth[item] for item in design.items})
    assert outcome.n_proving == 20
    assert outcome.verdict == "better"


def test_a_small_file_keeps_items_for_the_proof():
    votes, _ = panel(44)
    assert mj.ask(votes, draw="random").question.teaching == 22


def test_several_experts_and_gaps_work_in_sessions(finished):
    votes, truth, _, _ = finished
    design = mj.ask(votes, draw="random")
    said = [ExpertAnswer(item, truth[item], expert) for item in design.items[:20] for expert in ("a", "b")]
    other = {True: design.labels[0], False: design.labels[1]}
    said += [ExpertAnswer(design.items[20], other[expert == "a"], expert) for expert in ("a", "b")]
    said += [ExpertAnswer(design.items[22], truth[design.items[22]], "a")]
    outcome = design.judge(said)
    assert outcome.disagreed == (design.items[20],)
    assert (outcome.labels, outcome.skipped) == (21, 2)  # item 21 was left out above one that has a label
    assert (design.codes(said)[23:] == UNASKED).all()


@pytest.fixture
def files(tmp_path):
    votes, truth = panel()
    with (tmp_path / "panel.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "judge", "verdict", "text"])
        for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
            writer.writerow([f"q{i}", f"judge-{j}", ["fail", "pass"][k], f"Answer {i}"])
    return {f"q{item}": ["fail", "pass"][votes.labels.index(label)] for item, label in truth.items()}


FLAGS = ("--item", "question", "--worker", "judge", "--label", "verdict")


def test_label_walks_through_the_stages_without_a_pause(run, files, tmp_path, monkeypatch):
    code, out, _ = run("ask", "panel.csv", *FLAGS)
    assert code == 0
    assert "Label 10 items on which the votes differ" in out
    assert out.splitlines()[-1].endswith(f"majorant check panel.csv {' '.join(FLAGS)} --gold-file to_label.csv")
    design = Design.read(tmp_path / "to_label.design.json")
    whole, labels = run_session(design, files)
    keys = "".join({"fail": "1", "pass": "2"}[label] for label in labels.values())
    monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
    code, out, _ = run("label", "to_label.csv")
    assert code == 0
    rows = list(csv.DictReader((tmp_path / "to_label.csv").read_text().splitlines()))
    given = [row for row in rows if row["label"]]
    assert [row["item"] for row in given] == [str(item) for item in whole.items[: len(given)]]
    assert len(given) > 30
    assert all(row["text"] == f"Answer {row['item'][1:]}" for row in rows)  # also of items that were added
    assert "The learned rule is better" in out
    assert out.splitlines()[-1] == f"Next     majorant check panel.csv {' '.join(FLAGS)} --gold-file to_label.csv"
    code, out, _ = run(*out.splitlines()[-1].split()[2:])
    assert code == 0
    assert "Switch to" in out
    assert "proved by" in out


def test_interrupted_session_resumes(run, files, tmp_path, monkeypatch):
    run("ask", "panel.csv", *FLAGS)
    design = Design.read(tmp_path / "to_label.design.json")
    keys = ["1" if files[item] == "fail" else "2" for item in design.items]
    for part in (keys[:4], keys[4:10]):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join([*part, "q"])))
        run("label", "to_label.csv")
    outcome = recognise(tmp_path / "to_label.csv").outcome
    assert (outcome.labels, outcome.learned.n_labels) == (10, 10)


def test_label_continues_if_the_votes_are_gone(run, files, tmp_path, monkeypatch):
    run("ask", "panel.csv", *FLAGS)
    design = Design.read(tmp_path / "to_label.design.json")
    (tmp_path / "panel.csv").unlink()
    _, labels = run_session(design, files)
    keys = "".join("1" if label == "fail" else "2" for label in labels.values())
    monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
    code, out, _ = run("label", "to_label.csv")
    assert (code, "The learned rule is better" in out) == (0, True)


def test_a_tool_gets_its_next_items_from_its_export(run, files, tmp_path):
    run("ask", "panel.csv", *FLAGS, "--tool", "prodigy")
    tasks = [json.loads(line) for line in (tmp_path / "to_label.jsonl").read_text().splitlines()]
    done = [
        {
            **task,
            "accept": [files[task["item"]]],
            "answer": "accept",
            "_input_hash": 1,
            "_task_hash": 2,
            "_session_id": "x",
        }
        for task in tasks
    ]
    (tmp_path / "export.jsonl").write_text("\n".join(map(json.dumps, done)) + "\n")
    more = ("--more", 10, "--design", "to_label.design.json", "--tool", "prodigy", "--gold-file", "export.jsonl")
    code, out, err = run("ask", "panel.csv", *FLAGS, *more)
    assert (code, err) == (0, "")
    assert "10 labels taught a rule" in out
    design = Design.read(tmp_path / "to_label.design.json")
    assert len(design.items) == len(design.question.drawn.chance_t) == 20


def write_panel(folder, n_items=300):
    votes, truth = panel(n_items)
    rows = zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    (folder / "votes.csv").write_text("item,worker,label\n" + "".join(f"q{i},j{j},{k}\n" for i, j, k in rows))
    return {f"q{i}": truth[item] for i, item in enumerate(votes.items)}


def test_check_points_to_drawn_items_without_a_label(run, tmp_path):
    truth = write_panel(tmp_path)
    design = mj.ask(str(tmp_path / "votes.csv"), draw="random")
    design.write(tmp_path / "to_label.csv", labels={item: truth[item] for item in design.items[:12]})
    out = run("check", "votes.csv", "--gold-file", "to_label.csv")[1]
    assert "Label the 18 items that have no label yet." in out
    assert "18 more labels are enough to learn a rule." in " ".join(out.split())
    assert "majorant label to_label.csv" in out


def test_the_learned_rule_stays_the_answer_while_labels_prove_it(tmp_path):
    truth = write_panel(tmp_path)
    votes, design = str(tmp_path / "votes.csv"), mj.ask(str(tmp_path / "votes.csv"), draw="random")
    labels = {item: truth[item] for item in design.items}
    for n in (5, 10):
        design = design.more(5, labels)
        labels |= {item: truth[item] for item in design.items}
        design.write(tmp_path / "to_label.csv", labels=labels)
        result = mj.check(votes, gold_file=str(tmp_path / "to_label.csv"))
        assert result.answer.rule == LEARNED, n


def test_proof_plan_uses_the_trained_rule():
    votes = load("judges")  # 30 gold labels; fewer than 40 more prove the rule with nearly every seed
    design, planned = mj.ask(votes), mj.check(votes).answer.next.labels
    assert 20 <= design.expected <= 70
    assert abs(planned - design.expected) <= 15


def test_stand_in_expert_with_few_labels_is_rejected(run, tmp_path):
    truth = write_panel(tmp_path)
    (tmp_path / "some.csv").write_text("item,gold\n" + "".join(f"{q},{truth[q]}\n" for q in list(truth)[:30]))
    code, _, err = run("ask", "votes.csv", "--expert-from", "some.csv")
    assert code == 2
    assert "labels 30 of 300 items" in err


def test_session_without_a_better_rule_extends_its_sample():
    votes, truth = panel(400, crew=one_coin_workers([0.9] * 5))
    design = mj.ask(votes, draw="random")
    while design.question.taught is None:
        labels = {item: truth[item] for item in design.items}
        design = design.more(10, labels)
    assert design.question.is_idle
    assert design.evaluate(labels).verdict == "same"
    head = len(design.items)
    longer = design.more(20, labels)
    assert longer.asked == tuple(range(head + 20))  # further items of the random order
    assert longer.n_sample == head + 20
    labels = {item: truth[item] for item in longer.items}
    again = longer.more(0, labels).question.taught
    assert again.positions > design.question.taught.positions
    assert again.learned.n_labels >= 60


def answers(design, truth, some=slice(None)):
    return {item: truth[item] for item in design.items[some]}


def test_labels_that_teach_come_in_ten_and_then_fives(taught):
    _, _, design, labels = taught
    session = design.question
    assert session.taught is not None
    n = session.taught.n_drawn
    assert n >= 30
    assert list(design.asked[:n]) == session.drawn.place_t.tolist()
    assert len(session.drawn.chance_t) == n
    assert ((session.drawn.chance_t > 0) & (session.drawn.chance_t <= 1)).all()
    assert not design.n_sample  # no random sample of all items
    outcome = design.evaluate(labels)
    assert (outcome.verdict, outcome.n_taught) == ("better", n)
    proving = set(design.asked[n:])
    assert not proving & set(session.drawn.place_t.tolist())


def test_first_items_are_those_on_which_judges_differ():
    votes, _ = panel(400, crew=one_coin_workers([0.9] * 5))
    share_ik = mj.aggregate(votes, "majority").posterior
    split = {item: share < 1 for item, share in zip(votes.items, share_ik.max(axis=1), strict=True)}
    drawn = [split[item] for seed in range(20) for item in mj.ask(votes, rng=seed).items]
    assert np.mean(list(split.values())) < 0.45
    assert np.mean(drawn) > 0.65


def test_the_same_labels_lead_to_the_same_items(taught):
    """Whatever the order of the labels, and with a session that is stored and read again after every label."""
    votes, truth, _, _ = taught
    once = mj.ask(votes)
    for _ in range(3):
        once = once.more(5, answers(once, truth))
    again = mj.ask(votes)
    for _ in range(3):
        labels = answers(again, truth)
        for n in range(len(labels)):  # looking at the outcome changes nothing
            assert again.evaluate(dict(list(labels.items())[: n + 1])).labels == n + 1
        again = Design.from_dict(json.loads(json.dumps(again.to_dict())))
        again = again.more(5, dict(reversed(labels.items())))
    assert again.items == once.items
    assert np.array_equal(again.question.drawn.chance_t, once.question.drawn.chance_t)


def test_other_labels_lead_to_other_items(taught):
    votes, truth, _, _ = taught
    design = mj.ask(votes)
    labels = answers(design, truth)
    other = {item: next(k for k in design.labels if k != label) for item, label in labels.items()}
    assert design.more(5, labels).items != design.more(5, other).items
    assert design.id == design.more(5, labels).id


def test_skipped_items_count_as_drawn_and_not_as_labelled(taught):
    votes, truth, _, _ = taught
    design = mj.ask(votes)
    labels = {item: "?" if n < 3 else truth[item] for n, item in enumerate(design.items)}
    longer = design.more(5, labels)
    assert len(set(longer.items)) == 15
    outcome = longer.evaluate({**labels, **answers(longer, truth, slice(10, None))})
    assert (outcome.labels, outcome.skipped, outcome.n_taught) == (12, 3, 12)


def test_labels_drawn_to_teach_are_no_random_sample(run, taught, tmp_path):
    votes, truth, _, _ = taught
    design = mj.ask(votes)
    design.write(tmp_path / "to_label.csv", labels=answers(design, truth))
    table = votes.to_dict()
    for consumer in (mj.read, mj.rate, mj.workers):
        more = {"label": votes.labels[0]} if consumer is mj.rate else {}
        with pytest.raises(DataError, match="no random sample"):
            consumer(table, gold_file=str(tmp_path / "to_label.csv"), **more)
    result = mj.check(table, gold_file=str(tmp_path / "to_label.csv"))
    assert result.gold is None
    assert all(one.source is not Source.LABELS for one in result.answer.evidence)
    assert str(result.answer.certainty) != "proved"


def test_labels_drawn_to_teach_measure_without_bias():
    """Over many designs, the mean of the measured accuracies is the accuracy; intervals hold at their level."""
    votes, truth = panel(200)
    label = dict(zip(votes.items, mj.aggregate(votes, "majority").labels("first"), strict=True))
    right = np.mean([label[item] == truth[item] for item in truth])
    found = []
    for seed in range(many(60)):
        design = mj.ask(votes, rng=seed)
        design = design.more(5, answers(design, truth))
        found.append(design.evaluate(answers(design, truth)).measured[0].accuracy)
    values = np.array([one.value for one in found])
    assert abs(values.mean() - right) < 3 * values.std() / np.sqrt(len(values)) + 0.01
    assert np.mean([one.low <= right <= one.high for one in found]) >= 0.95 - 0.05


def test_measuring_still_draws_every_item_equally_often():
    votes, _ = panel(40)
    times, runs = np.zeros(40), 60
    for seed in range(runs):
        design = mj.ask(votes, draw="random", n=20, rng=seed)
        times[[votes.items.index(item) for item in design.items]] += 1
    expected = runs * 20 / 40
    assert ((times - expected) ** 2 / expected).sum() < 72  # 39 degrees of freedom, 1 in 1,000


def test_a_thousand_items_and_nine_judges_take_a_moment():
    votes, truth = panel(10_000, crew=one_coin_workers([0.8] * 9))
    design = mj.ask(votes)
    labels = answers(design, truth)
    start = process_time()
    design.question.draw_next(design.codes([ExpertAnswer(*pair) for pair in labels.items()]), 5)
    assert process_time() - start < 1
