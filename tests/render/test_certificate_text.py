"""What a reader of a certificate sees: the sentence first, then the numbers; JSON holds the same."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from majorant.cli import main
from majorant.evidence.certificate.certificate import AssumptionTest, Certificate, Claim, Dependence, Pair
from majorant.evidence.certificate.plug_in import plug_in
from majorant.methods import ESTIMATORS
from majorant.render.plain import to_json
from majorant.render.summary import certificate_summary, dependence_summary, plug_in_summary
from majorant.render.text import certificate_text
from majorant.simulate import simulate
from majorant.values import Estimate
from majorant.wording import ALIKE_TEST, certificate_sentence, dependence_sentence

INDEPENDENT = AssumptionTest(name="independent votes", passed=True, p_value=0.31, text="The counts fit.")


def anonymous(verdict="supported", **more):
    facts = {
        "why": "The likelihood ratio is 3.2.",
        "by_votes": {5: verdict, 3: "proved"},
        "margin": 0.303,
        "handicap": -0.36,
        "loss": Estimate(0.0, 0.0, 0.004),
        "items_certified": 0.982,
        "evidence": {"e_value": 12.5, "likelihood_ratio": 3.2},
        "model": "independent votes",
        "gates": (INDEPENDENT,),
        "assumptions": ("votes are independent given the truth",),
    }
    return Claim(kind="anonymous", verdict=verdict, **{**facts, **more})


def named(verdict="refuted", **more):
    return Claim(kind="named", verdict=verdict, why="w", **{"loss": Estimate(0.029, 0.024, 0.034), **more})


def gold(verdict="proved", **more):
    return Claim(kind="gold", verdict=verdict, why="By gold.", model="none", **more)


def of(first, second=None, third=None, level=0.95):
    return Certificate(level=level, why="w", anonymous=first, named=second, gold=third)


SENTENCES = [
    (
        of(anonymous(), named()),
        "Majority vote is as good as any rule that ignores who voted (supported, 95 %). "
        "If votes are independent given the class and each worker keeps to one confusion matrix, knowing who voted "
        "would gain about 2.9 points [2.4, 3.4].",
    ),
    (
        of(anonymous("proved"), named("supported"), level=0.99),
        "Majority vote is as good as any rule that ignores who voted (proved, 99 %). "
        "If votes are independent given the class and each worker keeps to one confusion matrix, knowing who voted "
        "would not help either (supported, 99 %).",
    ),
    (
        of(anonymous("refuted", loss=Estimate(0.046, 0.013, 0.135))),
        "Majority vote is not the best rule for these votes: the best rule that ignores who voted would gain about "
        "4.6 points [1.3, 13.5] (refuted, 95 %).",
    ),
    (
        of(anonymous("undecided", more_items=1200), named("undecided", loss=Estimate(0.0001, 0.0, 0.0002))),
        "These votes cannot yet tell whether majority vote is as good as any rule that ignores who voted (undecided, "
        "95 %); at most 0.4 points are at stake; about 1,200 fresh items alone would tell. If votes are "
        "independent given the class and each worker keeps to one confusion matrix, knowing who voted would gain less "
        "than 0.1 points.",
    ),
    (
        of(anonymous("undecided", loss=Estimate(0.0, 0.0, 0.0001)), level=0.999),
        "These votes cannot yet tell whether majority vote is as good as any rule that ignores who voted (undecided, "
        "99.9 %); less than 0.1 points are at stake.",
    ),
    (
        of(anonymous(model="item difficulty")),
        "Majority vote is as good as any rule that ignores who voted (supported, 95 %, allowing for item difficulty).",
    ),
    (
        of(anonymous("undecided", loss=Estimate(None), more_items=1)),
        "These votes cannot yet tell whether majority vote is as good as any rule that ignores who voted (undecided, "
        "95 %); about 1 fresh item alone would tell.",
    ),
    (
        of(anonymous("void", why="Hard items."), None, gold("undecided", loss=Estimate(0, 0, 0.014), more_items=24317)),
        "Hard items. The gold labels cannot yet tell either; at most 1.4 points are at stake; about 24,317 fresh "
        "gold items alone would tell.",
    ),
    (
        of(anonymous("void", why="Votes depend on each other: hard items."), named("void")),
        "Votes depend on each other: hard items. "
        "If votes were independent, knowing who voted would gain about 2.9 points [2.4, 3.4].",
    ),
    (
        of(Claim(kind="anonymous", verdict="unidentified", why="No item has 3 votes.")),
        "No item has 3 votes.",
    ),
    (
        of(anonymous("void", why="w"), None, gold()),
        "By the gold labels, majority vote is as good as any rule that ignores who voted (proved, 95 %).",
    ),
    (
        of(anonymous("supported"), None, gold("refuted", loss=Estimate(0.0089, 0.0001, 0.0176))),
        "By the gold labels, majority vote is not the best rule for these votes: the best rule that ignores who voted "
        "would gain about 0.9 points [0.0, 1.8] (refuted, 95 %).",
    ),
    (
        of(anonymous(), None, gold("undecided")),
        "Majority vote is as good as any rule that ignores who voted (supported, 95 %).",
    ),
]


@pytest.mark.parametrize(("certificate", "sentence"), SENTENCES)
def test_the_sentence(certificate, sentence):
    assert certificate_sentence(certificate) == sentence
    assert certificate_text(certificate_summary(certificate)).splitlines()[0] == sentence


def test_the_numbers():
    text = certificate_text(certificate_summary(of(anonymous(), None, gold("undecided", more_items=40))))
    assert text == (
        "Majority vote is as good as any rule that ignores who voted (supported, 95 %).\n"
        "\n"
        "Rules that ignore who voted: supported at 95 %, independent votes\n"
        "         The likelihood ratio is 3.2.\n"
        "         The numbers below are the model's: they hold as far as its assumptions do.\n"
        "         by votes     3: proved, 5: supported\n"
        "         margin       +0.303 nats; handicap -0.36 votes\n"
        "         loss         0.0 points of accuracy [0.0, 0.4], the model's alone\n"
        "         breaks down  not known for more than two classes, or so many counts: any correlation of the votes "
        "on an item may turn the verdict\n"
        "         certified    98.2 % of the items\n"
        "         evidence     e-value 12.5, likelihood ratio 3.2\n"
        "         gate         independent votes: passed (p = 0.31). The counts fit.\n"
        "         assumes      votes are independent given the truth\n"
        "\n"
        "By gold labels alone, rules that ignore who voted: undecided at 95 %\n"
        "         By gold.\n"
        "         would decide  about 40 fresh gold items, judged by themselves"
    )


def test_void_numbers_are_marked_and_a_failed_gate_stands_out():
    failed = AssumptionTest(name="independent votes", passed=False, p_value=3e-33, text="Hard items.")
    untested = AssumptionTest(name="difficulty", passed=None, p_value=None, text="")
    text = certificate_text(certificate_summary(of(anonymous("void", gates=(failed, untested)))))
    assert "The numbers below are the model's alone: what they assume failed a test." in text
    assert "independent votes: FAILED (p = 3e-33). Hard items." in text
    assert "difficulty: cannot be tested." in text
    without = certificate_text(certificate_summary(of(Claim(kind="anonymous", verdict="void", why="w"))))
    assert "The numbers below" not in without


def test_workers_who_differ_are_a_finding_and_no_failed_gate():
    unlike = AssumptionTest(name=ALIKE_TEST, passed=False, p_value=0.002, text="Workers differ (p = 0.002).")
    text = certificate_text(certificate_summary(of(anonymous(), named(gates=(unlike,)))))
    assert "workers      Workers differ (p = 0.002)." in text
    assert "FAILED" not in text


def test_a_level_keeps_its_digits_and_a_handicap_without_sense_is_left_out():
    text = certificate_text(certificate_summary(of(anonymous(handicap=2.5e16), level=0.999)))
    assert "supported at 99.9 %" in text
    assert "handicap" not in text


def test_what_was_said_is_not_said_again():
    text = certificate_text(certificate_summary(of(anonymous("void", why="Items are hard."))))
    assert text.count("Items are hard.") == 1
    told = AssumptionTest(name="fit", passed=False, p_value=0.01, text="It does not fit (p = 0.01).")
    assert certificate_text(certificate_summary(of(anonymous(gates=(told,))))).count("0.01") == 1
    assert "would decide" not in certificate_text(certificate_summary(of(anonymous(more_items=0))))
    shown = certificate_text(certificate_summary(of(anonymous(evidence={"majority_accuracy": 0.982, "inner": 3.0}))))
    assert "majority     right on 98.2 % of the items" in shown
    assert "inner" not in shown


def test_json_holds_all_and_infinite_numbers():
    certificate = of(anonymous(margin=float("inf"), evidence={"e_value": float("inf")}), named(), gold())
    summary = json.loads(to_json(certificate_summary(certificate)))
    assert summary["anonymous"]["margin"] == "inf"
    assert summary["anonymous"]["evidence"] == {"e_value": "inf"}
    assert summary["anonymous"]["by_votes"] == [{"votes": 3, "verdict": "proved"}, {"votes": 5, "verdict": "supported"}]
    assert summary["named"]["loss"] == {"value": 0.029, "low": 0.024, "high": 0.034, "reason": "the model's alone"}
    assert summary["sentence"] == certificate_sentence(certificate)
    assert "+inf nats" in certificate_text(summary)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The command line in an empty folder with a table of votes: run("certify", ...) -> (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{i},w{j},{'yes' if (i + (j == i % 3)) % 2 else 'no'},{'yes' if i % 2 else 'no'}"
        for i in range(40)
        for j in range(3)
    ]
    Path("votes.csv").write_text("item,worker,label,gold\n" + "\n".join(rows) + "\n")

    def call(command, *arguments, certificate=None):
        if certificate is not None:
            room = importlib.import_module("majorant.evidence.certificate.claims")
            found = SimpleNamespace(certificate=certificate)
            monkeypatch.setattr(room, "certification", lambda backend, *, level, rng: found)
        monkeypatch.setattr(sys, "argv", ["majorant", command, "votes.csv", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return call


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("proved", 0), ("supported", 0), ("refuted", 1), ("undecided", 3), ("void", 3), ("unidentified", 3)],
)
def test_the_exit_code_is_the_verdict(run, verdict, code):
    certificate = of(anonymous(verdict), named(verdict), gold(verdict))
    for claim in ("anonymous", "named", "gold"):
        assert run("certify", "--claim", claim, certificate=certificate)[0] == code


def test_text_and_json_of_the_command(run):
    certificate = of(anonymous(), named("supported"))
    _, text, _ = run("certify", certificate=certificate)
    assert text.startswith("Majority vote is as good as any rule that ignores who voted (supported, 95 %).")
    _, printed, _ = run("certify", "--json", certificate=certificate)
    assert json.loads(printed)["anonymous"]["items_certified"] == 0.982
    assert json.loads(printed)["input"]["votes"] == 120


TOGETHER = Dependence(
    gate=AssumptionTest(
        name="independent workers", passed=False, p_value=1e-9, text="Workers err together (p = 1e-09)."
    ),
    truth="gold",
    pairs=(
        Pair(workers=("w1", "w2"), correlation=0.62, p_value=1e-8),
        Pair(workers=("w0", "w1"), correlation=0.03, p_value=0.5),
    ),
    n_eff=Estimate(1.93, 1.52, 2.41),
    redundant=("w2",),
)


def test_workers_who_err_together_are_told_of(run):
    certificate = replace(of(anonymous(), named()), dependence=TOGETHER)
    _, text, _ = run("certify", certificate=certificate)
    told = text[text.index("Do the workers err together?") :].splitlines()
    assert [" ".join(line.split()) for line in told[1:]] == [
        "test Workers err together (p = 1e-09).",
        "pairs correlated given the true label (on gold items): w1 and w2 +0.62",
        "worth the votes on an item are worth 1.9 independent ones [1.5, 2.4]",
    ]
    _, text, _ = run("certify", certificate=replace(certificate, level=1 - 1e-9))
    assert "none stands out" in text  # 1e-8, of two pairs
    _, printed, _ = run("certify", "--json", certificate=certificate)
    found = json.loads(printed)["dependence"]
    assert found["n_eff"]["value"] == 1.93
    assert (found["truth"], found["redundant"], len(found["pairs"])) == ("gold", ["w2"], 2)
    assert dependence_sentence(found) == (
        "They err together or avoid each other's errors (p = 1e-09); the votes on an item are worth 1.9 independent "
        "ones [1.5, 2.4]."
    )


def test_workers_who_do_not_are_not_said_to(run):
    passed = replace(TOGETHER.gate, passed=True, p_value=0.6, text="No dependence is seen (p = 0.6).")
    alone = replace(TOGETHER, gate=passed, truth="estimated", redundant=(), n_eff=Estimate(2.9, reason="rough"))
    alone = replace(alone, pairs=alone.pairs[1:])
    _, text, _ = run("certify", certificate=replace(of(anonymous()), dependence=alone))
    assert "none stands out" in text
    assert "worth at most about 2.9 independent ones" in text
    assert dependence_sentence(dependence_summary(alone)) == "No shared errors are seen (p = 0.6)."
    untested = replace(alone, gate=replace(passed, passed=None, p_value=None))
    assert dependence_sentence(dependence_summary(untested)) == ""
    assert "err together" not in run("certify", certificate=of(anonymous()))[1]


def test_a_claim_that_is_not_made_is_a_wrong_call(run):
    code, out, err = run("certify", "--claim", "gold", certificate=of(anonymous()))
    assert (code, "Traceback" in err) == (2, False)
    assert "needs gold labels (--gold or --gold-file)" in err
    assert out == ""


def test_own_labels(run):
    Path("mine.csv").write_text("item,label\n" + "\n".join(f"{i},{'yes' if i % 2 else 'no'}" for i in range(40)) + "\n")
    _, text, _ = run("certify", "--labels", "mine.csv", certificate=of(anonymous()))
    assert "Labels of mine.csv, on 40 items with a label and an untied vote" in text
    assert "right on gold       100.0 % [91.2 %, 100.0 %]" in text
    _, printed, _ = run("certify", "--labels", "mine.csv", "--json", certificate=of(anonymous()))
    assert json.loads(printed)["labels"]["accuracy"]["value"] == 1


def test_plug_in_is_marked_as_without_a_level(run):
    code, text, _ = run("certify", "--plug-in", "dawid-skene")
    assert code in (0, 1)
    assert "(plug-in, no level)" in text
    assert "no confidence level stands behind this verdict" in text
    code, printed, _ = run("certify", "--plug-in", "majority", "--share", ".5", "--json")
    facts = json.loads(printed)
    assert (facts["level"], facts["items"], facts["method"]) == (None, 20, "majority")
    assert code == (0 if facts["optimal"] else 1)


def test_plug_in_names_the_numbers_of_votes_that_fail():
    prior, confusion = [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]]
    votes, _ = simulate(prior, confusion, 400, ([3, 7], [0.5, 0.5]), rng=0)
    fit = replace(ESTIMATORS["dawid-skene"]().fit(votes), prior=np.array(prior), confusion=np.array(confusion))
    sentence = plug_in_summary(plug_in(votes, lambda _: fit))["sentence"]
    assert sentence == (
        "At the dawid-skene estimate majority vote is not the best rule that ignores who voted on items with 7 votes "
        "(plug-in, no level)."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--share", ".5"], "--share is for --plug-in"),
        (["--plug-in", "nope"], "no method 'nope'"),
        (["--plug-in", "majority", "--labels", "votes.csv"], "ask one at a time"),
        (["--share", "0", "--plug-in", "majority"], "--share"),
        (["--level", "1"], "--level"),
    ],
)
def test_wrong_calls(run, arguments, message):
    code, out, err = run("certify", *arguments, certificate=of(anonymous()))
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("arguments", [("certify",), ("certify", "--plug-in", "majority"), ("plan",)])
def test_notes_on_the_input_go_to_standard_error(run, arguments):
    votes = Path("votes.csv")
    votes.write_text(votes.read_text() + "0,w9,no,maybe\n".replace("0,", "40,", 1))
    _, text, err = run(*arguments)
    assert err == "Note     1 gold label that no worker used: 'maybe'.\n"
    assert "maybe" not in text.splitlines()[0]
    assert run(*arguments, "-q")[2] == ""


def test_plan_command(run):
    code, text, err = run("plan", "--target", ".9", "--price", ".05")
    assert (code, err) == (0, "")
    assert "Stopping once the votes to come cannot change the label saves" in text
    code, printed, _ = run("plan", "--target", ".9", "--json")
    facts = json.loads(printed)
    assert facts["votes_now"] == 3
    assert run("plan", "--target", "0")[0] == 2
    assert run("plan", "--price", "cheap")[0] == 2
