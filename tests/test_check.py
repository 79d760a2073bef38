"""`check` from end to end: real sets, simulated crowds of each kind, data that cannot be judged, and its flags."""

import json
from functools import cache
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import majorant
import real
from crowds import coins
from majorant.ask.ask import ask
from majorant.datasets import load
from majorant.errors import ConfigError
from majorant.evidence.labels import gold_accuracy
from majorant.methods.majority import Majority
from majorant.output import votes_table, write_table
from majorant.pipeline import aggregate, check
from majorant.render.answer import say_answer
from majorant.render.summary import result_summary
from majorant.render.text import answer_text, check_text
from majorant.results.result import Result
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

SCHEMA = json.loads((Path(__file__).parent.parent / "docs" / "result.schema.json").read_text(encoding="utf-8"))
VALID = jsonschema.Draft202012Validator(SCHEMA)
FILES = [Path("results") / name for name in ("labels.csv", "workers.csv", "review.csv", "result.json", "report.html")]
QUICK, SLOW = ("SP_amt",), ("CF", "D-Product", "SP", "ZenCrowd_in", "ZenCrowd_us", "MS", "CF_amt")


def is_valid(summary: dict) -> bool:
    """Whether a summary, as JSON, follows the published schema."""
    VALID.validate(json.loads(json.dumps(summary, allow_nan=False)))
    return True


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(name, marks=real.checked_together(name, gold=False)) for name in QUICK),
        *(pytest.param(name, marks=[pytest.mark.long, real.checked_together(name, gold=False)]) for name in SLOW),
    ],
)
def test_check_does_no_harm_on_real_sets_without_gold(name):
    votes, result = real.load(name), real.checked(name, gold=False)
    summary = result_summary(result)
    assert is_valid(summary)
    assert answer_text(result, written=FILES).count("\nNext ") == 1
    assert check_text(result, written=FILES).startswith(answer_text(result, written=FILES))
    by_majority, by_choice = (
        gold_accuracy(votes, fit, level=0.95).value for fit in (Majority().fit(votes), result.labels.fit)
    )
    assert by_choice >= by_majority - 0.01
    assert (result.labels.fit.codes() == result.rules[result.rule].codes()).all()  # calibration moves no label
    assert None not in result.labels.to_dict()["label"]


@real.checked_together("D-Product", gold=True)
def test_gold_is_used_and_reported():
    result = real.checked("D-Product", gold=True)
    assert (result.answer.action, result.answer.certainty) == ("switch", "proved")
    assert result.answer.gain.value >= result.answer.gain.low > 0.02
    assert result.confidence.source == "gold"
    assert result.confidence.reliability.gold_items == 8_315
    assert set(result.labels.to_dict()["source"]) == {"gold"}
    assert is_valid(result_summary(result))


def crowd(kind: str) -> Votes:
    """A crowd of one kind, 400 items with 5 votes each."""
    skills = {
        "all alike": [0.8] * 20,
        "one expert": [0.97, *[0.62] * 9],
        "spammers": [0.85] * 8 + [0.5] * 8,
        "adversaries": [0.85] * 12 + [0.2] * 4,
    }
    if kind in skills:
        return simulate([0.5, 0.5], coins(skills[kind], 2), 400, 5, rng=1).votes
    if kind == "correlated judges":
        return simulate([0.5, 0.5], coins([0.8] * 5, 2), 400, 5, dependence=0.6, groups=list("aaabc"), rng=1).votes
    if kind == "hard items":
        return simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 400, 5, n_workers=20, concentration=2.0, rng=1).votes
    if kind == "rare class":
        return simulate([0.97, 0.03], coins([0.8] * 20, 2), 400, 5, rng=1).votes
    return simulate(np.full(20, 1 / 20), coins([0.7] * 10, 20), 400, 5, rng=1).votes


@cache
def found(kind: str) -> Result:
    """What `check` finds of a crowd."""
    return check(crowd(kind), rng=0)


def together(kind: str) -> pytest.MarkDecorator:
    """A mark for tests of `found`: those of one crowd run on the same core, which checks it once."""
    return pytest.mark.xdist_group(f"crowd, {kind}")


@pytest.mark.parametrize(
    "kind",
    [
        *(
            pytest.param(kind, marks=together(kind))
            for kind in ("one expert", "adversaries", "correlated judges", "rare class")
        ),
        *(pytest.param(kind, marks=pytest.mark.long) for kind in ("all alike", "spammers", "hard items", "20 classes")),
    ],
)
def test_every_kind_of_crowd_gets_a_complete_answer(kind):
    result = found(kind)
    summary = result_summary(result)
    assert is_valid(summary)
    assert result.answer.action in ("keep", "switch")
    accuracy = result.accuracy(result.answer.rule)
    assert 0 <= accuracy.value <= 1
    assert accuracy.low is None  # no gold: nothing that could cover the truth
    if kind == "correlated judges":
        assert result.certificate.named.verdict == "open"


DEGENERATE = {
    "one vote per item": [(i, i % 3, "yn"[i % 2]) for i in range(12)],
    "one worker": [(i, "w", "yn"[i % 2]) for i in range(12)],
    "one class": [(i, j, "y") for i in range(5) for j in range(3)],
    "all ties": [(i, j, "yn"[j]) for i in range(5) for j in range(2)],
    "one vote": [("a", "w", "y")],
}


@pytest.mark.parametrize("kind", DEGENERATE)
def test_partial_results_are_given_if_some_are_impossible(kind):
    rows = DEGENERATE[kind]
    items, workers, labels = (sorted({row[c] for row in rows}, key=str) for c in range(3))
    votes = Votes.from_codes(
        [items.index(row[0]) for row in rows],
        [workers.index(row[1]) for row in rows],
        [labels.index(row[2]) for row in rows],
        items=items,
        workers=workers,
        labels=labels,
    )
    result = check(votes, rng=0)
    assert result.certificate.anonymous.reason == "not identified"
    assert (result.answer.action, result.rule) == ("keep", "majority")
    assert result.plan is None
    assert (result.labels.fit.codes() == Majority().fit(votes).codes()).all()
    assert None not in result.labels.to_dict()["label"]
    summary = result_summary(result)
    assert is_valid(summary)
    assert summary["certificate"]["sentence"]  # says what is missing


def test_requested_method_is_used():
    votes = crowd("one expert")
    assert check(votes, rng=0, method="glad").rule == "glad"
    assert check(votes, rng=0, method="majority").rule == "majority"
    with pytest.raises(ConfigError, match="no method 'gladd'"):
        check(votes, rng=0, method="gladd")


@together("one expert")
def test_auto_gives_the_labels_of_check():
    assert aggregate(crowd("one expert")).labels() == found("one expert").labels.to_dict()["label"]


def test_auto_gives_the_labels_of_check_on_a_panel_with_ties():
    votes = simulate([0.5, 0.5], coins([0.7] * 4, 2), 100, 4, gold=0.3, rng=1).votes
    result = check(votes)
    assert result.tied
    assert aggregate(votes).labels() == result.labels.to_dict()["label"]


def test_a_tolerance_above_one_is_refused():
    with pytest.raises(ConfigError, match="tolerance"):
        majorant.check(crowd("spammers"), rng=0, tolerance=2.0)


def test_fail_on_turns_an_answer_into_an_exit_code(run):
    write_table("votes.csv", votes_table(simulate([0.5, 0.5], coins([0.9] * 5, 2), 300, 5, rng=0).votes))
    assert run("check", "votes.csv", "-q", "--fail-on", "switch")[0] == 0
    assert run("check", "votes.csv", "-q", "--fail-on", "unproved")[0] == 1  # only labels prove anything
    assert run("check", "votes.csv", "-q", "--fail-on", "not-optimal")[0] == 0


def test_exit_codes_follow_the_answer_with_gold(run):
    skills = coins([0.97, *[0.6] * 9], 2)
    write_table("votes.csv", votes_table(simulate([0.5, 0.5], skills, 600, 5, gold=1.0, rng=1).votes))
    code, out, _ = run("check", "votes.csv", "--json", "--fail-on", "switch")
    summary = json.loads(out)
    assert (code, summary["answer"]["action"], summary["answer"]["certainty"]) == (1, "switch", "proved")
    assert run("check", "votes.csv", "-q", "--fail-on", "unproved")[0] == 0


def test_each_slice_has_an_answer(run):
    good, _ = simulate([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 600, 5, n_workers=30, rng=0)
    few, _ = simulate([0.5, 0.5], coins([0.95] * 3 + [0.55] * 27, 2), 60, 5, rng=1)
    columns = {name: [] for name in ("item", "worker", "label", "lang")}
    for lang, votes in (("de", good), ("en", few)):
        columns["item"] += [f"{lang}{i}" for i in votes.item_n]
        columns["worker"] += [f"{lang}{j}" for j in votes.worker_n]
        columns["label"] += votes.label_n.tolist()
        columns["lang"] += [lang] * votes.n_votes
    write_table("votes.csv", columns)
    code, out, _ = run("check", "votes.csv", "--by", "lang", "--json")
    summary = json.loads(out)
    assert code == 0
    assert [(one["value"], one["items"]) for one in summary["slices"]] == [("de", 600), ("en", 60)]
    assert sum(one["differ"] for one in summary["slices"]) == summary["answer"]["differ"]
    assert {one["action"] for one in summary["slices"]} <= {"keep", "switch"}


def test_no_slice_of_a_panel_is_proved_without_labels():
    """Judges may share mistakes in each slice as in the whole file, even if switching would change no label."""
    rows = [
        {"item": i, "worker": f"judge {j}", "label": (i + (j == i % 7)) % 2, "part": "ab"[i % 2]}
        for i in range(200)
        for j in range(5)
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    result = check(columns, by="part")
    assert result.differ.differ == 0
    assert result.answer.certainty == "same"
    assert [str(one.answer.certainty) for one in result.slices] == ["same", "same"]


@pytest.mark.parametrize(
    ("share", "headline", "step"),
    [
        (0.0, "30 labels would tell you more.", "Label 10 items on which the votes differ"),
        (
            0.02,
            "your 10 labels point to no better rule yet; 30 more may.",
            "Label 10 more items on which the votes differ",
        ),
        (0.06, "30 more may find a better rule.", "Label 10 more items on which the votes differ"),
        (0.4, "proved by 200 labels.", "Use the labels."),
    ],
)
def test_panel_with_gold_reports_the_learned_rule(share, headline, step):
    votes = simulate([0.5, 0.5], one_coin_workers([0.8] * 5), 500, 5, rng=0, gold=share).votes
    result = check(votes)
    assert result.answer.n_labels == 500 * share
    assert say_answer(result).headline.startswith("Keep majority vote")
    assert say_answer(result).headline.endswith(headline)
    assert say_answer(result).next.startswith(step)


def test_design_still_teaches_if_gold_trained_no_rule():
    votes = simulate([0.5, 0.5], one_coin_workers([0.99, 0.99, 0.99]), 500, 3, rng=0, gold=0.06).votes
    design = ask(votes, n=30)
    assert design.question.taught is None
    gold = {item for item, code in zip(votes.items, votes.gold_i, strict=True) if code >= 0}
    assert not gold & set(design.items)


def test_a_slice_gets_its_share_of_the_best_guess():
    """The rules differ on a tenth of one part and hardly on the other, so the other can gain hardly anything."""
    unequal, _ = simulate([0.5, 0.5], coins([0.9] * 10 + [0.55] * 20, 2), 800, 5, rng=0)
    equal, _ = simulate([0.5, 0.5], coins([0.97] * 30, 2), 800, 5, rng=1)
    columns = {name: [] for name in ("item", "worker", "label", "part")}
    for part, votes in (("hard", unequal), ("easy", equal)):
        columns["item"] += [f"{part}{i}" for i in votes.item_n]
        columns["worker"] += votes.worker_n.tolist()
        columns["label"] += votes.label_n.tolist()
        columns["part"] += [part] * votes.n_votes
    result = check(columns, by="part", tolerance=0)
    assert result.answer.source == "track record"
    shares = {one.value: one.differ / one.n_items for one in result.slices}
    assert shares["hard"] > 4 * shares["easy"] > 0
    for one in result.slices:
        assert one.answer.gain.high <= shares[one.value] + 1e-9
        assert one.answer.gain.value == pytest.approx(
            result.answer.gain.value * shares[one.value] * result.differ.items / result.differ.differ
        )


def test_no_slice_is_proved_by_labels_that_taught_the_rule():
    confusions = coins([0.95, 0.4, 0.4, 0.4, 0.4], 2)
    votes, truth = simulate([0.5, 0.5], confusions, n_items=240, n_votes=5, rng=0)
    columns = {
        "item": votes.item_n.tolist(),
        "worker": votes.worker_n.tolist(),
        "label": votes.label_n.tolist(),
        "part": ["ab"[i % 2] for i in votes.item_n],
        "truth": [int(truth[i]) if i < 60 else None for i in votes.item_n],
    }
    result = check(columns, by="part", gold="truth", method="nitzan-paroush")
    assert {(str(one.answer.action), str(one.answer.certainty)) for one in result.slices} == {("switch", "likely")}


def test_too_many_slices_are_refused(run):
    rows = [(f"i{i}", f"w{j}", "yn"[j % 2], i) for i in range(120) for j in range(2)]
    write_table(
        "votes.csv", dict(zip(("item", "worker", "label", "n"), map(list, zip(*rows, strict=True)), strict=True))
    )
    code, _, err = run("check", "votes.csv", "--by", "n")
    assert code == 2
    assert "120 slices" in err


@together("adversaries")
def test_equal_labels_give_equal_guarantees():
    votes, _ = simulate([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 200, 5, n_workers=20, gold=0.3, rng=0)
    result = check(votes, rng=0)
    same = (result.labels.fit.codes() == Majority().fit(votes).codes()).all()
    assert same  # five good votes: no rule decides otherwise
    other = found("adversaries")
    assert other.accuracy("majority").value < other.accuracy("weighted-vote").value - 0.01


def test_compare_lists_every_method_after_the_text(run):
    write_table("votes.csv", votes_table(crowd("one expert")))
    _, out, _ = run("check", "votes.csv", "--compare", "--json")
    summary = json.loads(out)
    assert is_valid(summary)
    assert {row["method"] for row in summary["comparison"]} >= {"weighted-vote", "majority", "dawid-skene", "map"}
    assert any(row["note"] for row in summary["comparison"])  # what cannot be run says why
    _, text, _ = run("check", "votes.csv", "--compare")
    assert "Methods  Accuracy, estimated by the model" in text


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--engine", "spark", "--by", "label"], "--by label does not work with --engine spark: use --memory"),
        (["--engine", "spark", "--mask"], "rows on Spark have no order. Use --memory"),
        (["--engine", "spark", "--memory", "1GB"], "choose one"),
    ],
)
def test_unsupported_options_of_engines_are_rejected_with_advice(run, flags, message):
    write_table("votes.csv", votes_table(crowd("one expert")))
    code, _, err = run("check", "votes.csv", *flags)
    assert code == 2
    assert message in err


def test_the_rules_disagree_on_the_labels_that_a_switch_changes():
    result = check(load("judges"), gold_labels=False)
    assert result.tied > 0
    assert result.differ.disagree == result.labels.to_pandas().changed.sum() < result.differ.differ
