"""Text of certificates: each verdict and reason has its sentence, and text and JSON agree."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from majorant.cli import main
from majorant.evidence.certificate.certificate import (
    Certificate,
    Claim,
    Dependence,
    Family,
    Pair,
    Reason,
    Verdict,
    assume,
)
from majorant.evidence.evidence import Assumption, Certainty, Status, Tested
from majorant.render.certificate import (
    certificate_sentence,
    certificate_summary,
    certificate_text,
    claim_sentence,
    dependence_sentence,
)
from majorant.render.plain import to_json
from majorant.values import Estimate, Missing


def claim(verdict="optimal", kind="anonymous", certainty=Certainty.SUPPORTED, **more):
    given = None if verdict == "open" else certainty
    return Claim(family=Family(kind), verdict=Verdict(verdict), certainty=given, **more)


def of(anonymous, named=None, gold=None, level=0.95):
    return Certificate(level=level, anonymous=anonymous, named=named, gold=gold)


LOSS = Estimate(0.029, 0.024, 0.034)
FAILED = assume(claim(loss=LOSS), Tested(Assumption.INDEPENDENT_VOTES, Status.FAILED, 0.01))
THREE = assume(claim(kind="named"), Tested(Assumption.INDEPENDENT_WORKERS, Status.UNTESTABLE))
SENTENCES = [
    (claim(), "No rule that ignores who voted beats majority vote (supported, 95%)."),
    (claim(kind="named", certainty=Certainty.PROVED, level=0.999), "No rule beats majority vote (proved, 99.9%)."),
    (claim(kind="named"), "No rule beats majority vote (supported, 95%)."),
    (
        claim("not optimal", "named", loss=LOSS),
        "Another rule beats majority vote by about 2.9 points (2.4 to 3.4) (supported, 95%).",
    ),
    (
        claim("not optimal", loss=Estimate(0.029)),
        "Another rule that ignores who voted beats majority vote by about 2.9 points (supported, 95%).",
    ),
    (
        claim(kind="gold", certainty=Certainty.PROVED),
        "By the gold labels, no rule that ignores who voted beats majority vote (proved, 95%).",
    ),
    (
        FAILED,
        "It is unclear whether any rule that ignores who voted beats majority vote: the votes contradict the "
        "assumption that votes on an item are independent given the truth.",
    ),
    (
        THREE,
        "It is unclear whether any rule beats majority vote: these votes cannot test the assumption that workers make "
        "mistakes independently of each other.",
    ),
    (
        claim("open", reason=Reason.TOO_FEW_ITEMS, n_items=1000, more_items=4321),
        "It is unclear whether any rule that ignores who voted beats majority vote: there are too few items; a new "
        "sample of about 4,300 items would settle it.",
    ),
    (
        claim("open", "gold", reason=Reason.TOO_FEW_ITEMS),
        "By the gold labels, it is unclear whether any rule that ignores who voted beats majority vote: there are too "
        "few items; more gold labels are unlikely to settle it.",
    ),
    (
        claim("open", reason=Reason.NOT_IDENTIFIED),
        "It is unclear whether any rule that ignores who voted beats majority vote: these votes do not determine how "
        "accurate they are.",
    ),
]


@pytest.mark.parametrize(("one", "sentence"), SENTENCES)
def test_each_verdict_and_reason_has_its_sentence(one, sentence):
    assert claim_sentence(one) == sentence


@pytest.mark.parametrize("assumption", Assumption)
@pytest.mark.parametrize("status", [Status.FAILED, Status.UNTESTABLE])
def test_claim_sentence_for_every_assumption_and_status(assumption, status):
    sentence = claim_sentence(assume(claim(), Tested(assumption, status)))
    assert sentence.endswith(".")
    assert "None" not in sentence


def test_shared_reason_is_stated_once():
    both = of(FAILED, replace(FAILED, family=Family.NAMED))
    assert certificate_sentence(both) == claim_sentence(FAILED)
    assert certificate_sentence(of(claim(), THREE)) == f"{claim_sentence(claim())} {claim_sentence(THREE)}"


def test_decisive_gold_comes_first():
    gold = claim(kind="gold", certainty=Certainty.PROVED, n_labels=200)
    assert certificate_sentence(of(FAILED, gold=gold)).startswith("By the gold labels, no rule")


def test_numbers_and_assumptions_are_shown():
    full = replace(FAILED, margin=0.513, accuracy=0.912, tied_share=0.05, more_items=300)
    text = certificate_text(of(full))
    for part in (
        "open (assumption failed) at 95%",
        "margin     +0.513 nats",
        "loss       2.9 points (2.4 to 3.4)",
        "5.0% of the items, not counted",
        "votes on an item are independent given the truth: failed (p = 0.01)",
    ):
        assert part in text
    assert "right on" not in text  # by a model whose assumption failed
    assert "right on 91.2% of the items, by the model" in certificate_text(of(claim(accuracy=0.912)))


def test_json_contains_all_numbers_and_infinity_as_text():
    certificate = of(claim(margin=float("inf"), loss=LOSS), THREE)
    summary = json.loads(to_json(certificate_summary(certificate)))
    assert summary["anonymous"]["margin"] == "inf"
    assert summary["anonymous"]["loss"] == {"value": 0.029, "low": 0.024, "high": 0.034, "reason": ""}
    assert (summary["named"]["verdict"], summary["named"]["certainty"], summary["named"]["reason"]) == (
        "open",
        None,
        "cannot be tested",
    )
    assert summary["named"]["assumptions"][0]["status"] == "untestable"
    assert summary["sentence"] == certificate_sentence(certificate)
    assert summary["gold"] is None


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
            monkeypatch.setattr(room, "certification", lambda votes, *, level, rng: found)
        monkeypatch.setattr(sys, "argv", ["majorant", command, "votes.csv", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return call


@pytest.mark.parametrize(("verdict", "code"), [("optimal", 0), ("not optimal", 1), ("open", 3)])
def test_the_exit_code_is_the_verdict(run, verdict, code):
    certificate = of(*(claim(verdict, kind, reason=Reason.TOO_FEW_ITEMS) for kind in Family))
    for kind in Family:
        assert run("certify", "--claim", kind, certificate=certificate)[0] == code


def test_text_and_json_of_the_command(run):
    certificate = of(claim(), claim(kind="named", n_items=40))
    _, text, _ = run("certify", certificate=certificate)
    assert text.startswith("No rule that ignores who voted beats majority vote (supported, 95%).")
    _, printed, _ = run("certify", "--json", certificate=certificate)
    assert json.loads(printed)["named"]["n_items"] == 40
    assert json.loads(printed)["input"]["votes"] == 120


TOGETHER = Dependence(
    tested=Tested(Assumption.INDEPENDENT_WORKERS, Status.FAILED, 1e-9),
    truth="gold",
    pairs=(
        Pair(workers=("w1", "w2"), correlation=0.62, p_value=1e-8),
        Pair(workers=("w0", "w1"), correlation=0.03, p_value=0.5),
    ),
    n_eff=Estimate(1.93, 1.52, 2.41),
)


def test_workers_with_shared_mistakes_are_named(run):
    certificate = replace(of(claim(), THREE), dependence=TOGETHER)
    _, text, _ = run("certify", certificate=certificate)
    told = text[text.index("Do workers share mistakes?") :].splitlines()
    assert [" ".join(line.split()) for line in told[1:]] == [
        "test workers make mistakes independently of each other: failed (p = 1e-09)",
        "pairs correlated given the true label (on gold items): w1 and w2 +0.62",
        "worth the votes on an item are worth 1.9 independent ones (1.5 to 2.4)",
    ]
    _, text, _ = run("certify", certificate=replace(certificate, level=1 - 1e-9))
    assert "no pair is significantly correlated" in text  # 1e-8, of two pairs
    _, printed, _ = run("certify", "--json", certificate=certificate)
    found = json.loads(printed)["dependence"]
    assert found["n_eff"]["value"] == 1.93
    assert (found["truth"], len(found["pairs"])) == ("gold", 2)
    assert found["sentence"] == dependence_sentence(TOGETHER)


def test_no_workers_are_named_if_independence_passes(run):
    passed = Tested(Assumption.INDEPENDENT_WORKERS, Status.PASSED, 0.6)
    alone = replace(TOGETHER, tested=passed, truth="estimated", n_eff=Estimate(2.9, reason=Missing.GOLD_FOR_INTERVAL))
    alone = replace(alone, pairs=alone.pairs[1:])
    _, text, _ = run("certify", certificate=replace(of(claim()), dependence=alone))
    assert "no pair is significantly correlated" in text
    assert "worth at most about 2.9 independent ones" in text
    assert dependence_sentence(alone) == "No sign that workers share mistakes (p = 0.6)."
    assert dependence_sentence(replace(alone, tested=replace(passed, status=Status.UNTESTABLE))) == ""
    assert "share mistakes" not in run("certify", certificate=of(claim()))[1]


def test_unavailable_claim_is_an_error(run):
    code, out, err = run("certify", "--claim", "gold", certificate=of(claim()))
    assert (code, "Traceback" in err) == (2, False)
    assert "needs gold labels (--gold or --gold-file)" in err
    assert out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--level", "1"], "--level"),
    ],
)
def test_invalid_calls_are_errors(run, arguments, message):
    code, out, err = run("certify", *arguments, certificate=of(claim()))
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("arguments", [("certify",), ("agreement",)])
def test_notes_on_the_input_go_to_standard_error(run, arguments):
    votes = Path("votes.csv")
    votes.write_text(votes.read_text() + "0,w9,no,maybe\n".replace("0,", "40,", 1))
    _, text, err = run(*arguments)
    assert err == "Note     No worker ever used 1 gold label: 'maybe'.\n"
    assert "maybe" not in text.splitlines()[0]
    assert run(*arguments, "-q")[2] == ""


def test_verbose_check_prints_the_plan(run):
    code, text, err = run("check", "-v", "--target", ".9")
    assert (code, err) == (0, "")
    assert "Stopping once the remaining votes cannot change the label would" in " ".join(text.split())
    assert "The best judge: w1, right on 67.5%" in text
    assert run("check", "-v", "--target", "0")[0] == 2
