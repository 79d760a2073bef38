"""Judges known by name decide what check writes, and everything says so."""

import json
from dataclasses import replace

import numpy as np
import pytest

import majorant as mj
from majorant.decide import Action
from majorant.evidence.evidence import Certainty
from majorant.known import half_by_name, know_judges, public_ratings
from majorant.render.answer import say_answer
from majorant.setting import Case
from majorant.simulate import one_coin_workers, simulate

JUDGES = ("GPT-4", "gpt-3.5-turbo", "Gemma-2B", "llama-2-7b", "someone")


def rows(names=JUDGES, n_items=60):
    """A panel whose first judge is right on 90%, the others on 60%, with shared errors on every third item."""
    rng = np.random.default_rng(5)
    for i in range(n_items):
        truth, shared = rng.integers(2), rng.random() < 0.3
        for j, name in enumerate(names):
            right = rng.random() < (0.9 if j == 0 else 0.65 - 0.5 * shared)
            yield f"q{i}", name, ("bad", "good")[truth if right else 1 - truth]


@pytest.fixture(scope="module")
def result():
    return mj.check(list(rows()))


def test_check_writes_half_by_name(result):
    known = know_judges(result.votes.workers, public_ratings())
    expected_ik = half_by_name(result.votes, known.weight_j)
    assert result.setting.case is Case.KNOWN_JUDGES
    assert (result.answer.action, result.rule) == (Action.SWITCH, "weighted-vote")
    np.testing.assert_allclose(result.written.posterior, expected_ik)
    for method in ("weighted-vote", "auto"):
        np.testing.assert_allclose(mj.aggregate(list(rows()), method).posterior, expected_ik)


def test_the_answer_is_likely_at_most_and_says_who_counts(result):
    assert result.answer.certainty is Certainty.LIKELY
    said = say_answer(result).evidence
    assert "GPT-4 counts 148 times as much as llama-2-7b" not in said  # the least is Gemma-2B
    assert "GPT-4 counts 79 times as much as Gemma-2B (public chat ratings, December 2025)." in said
    assert "better on 96, worse on 14, at worst by 9 points" in said
    assert "someone; --trust NAME=RATING says more" in said


def test_without_ratings_names_mean_nothing():
    unknown = mj.check(list(rows([f"judge {n}" for n in range(5)])))
    without = mj.check(list(rows()), ratings=False)
    assert without.setting.judges is None
    assert unknown.rule == without.rule
    assert unknown.answer.gain == without.answer.gain
    for one, other in ((unknown.written, without.written), (unknown.weighted, without.weighted)):
        assert (one.posterior == other.posterior).all()


def test_trust_and_files_change_the_weights(tmp_path, result):
    equal = mj.check(list(rows()), trust=dict.fromkeys(JUDGES, 1300))
    assert equal.setting.judges.weight_j.tolist() == [1.0] * 5
    assert "rated about equal" in say_answer(equal).evidence or equal.answer.certainty is Certainty.SAME
    (tmp_path / "mine.csv").write_text("model,rating\nsomeone,1500\ngpt-4,1300\nllama-2-7b,1200\n")
    mine = mj.check(list(rows()), ratings=tmp_path / "mine.csv")
    assert mine.setting.judges.judges[mine.setting.judges.best].name == "someone"


def test_what_the_best_judge_disputes_comes_first_in_review(result):
    n_disputed = 0
    for said, label in zip(result.review.said, result.review.label_p, strict=True):
        of_best = next(one.label for one in said if "GPT-4" in one.workers)
        disputed = of_best != result.votes.labels[label]
        assert not disputed or n_disputed == len(result.review.said[:n_disputed])
        n_disputed += disputed
    best = result.votes.workers.index("GPT-4")
    vote_n = result.votes.worker_n == best
    written = result.written.codes()[result.votes.item_n[vote_n]]
    assert n_disputed == min((written != result.votes.label_n[vote_n]).sum(), 100)


def test_result_json_names_source_digest_and_every_judge(result, tmp_path):
    result.save(tmp_path)
    facts = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["judges"]
    assert facts["sha256"] == public_ratings().sha256
    assert [(one["name"], one["model"]) for one in facts["judges"]][:2] == [
        ("GPT-4", "gpt-4"),
        ("gpt-3.5-turbo", "gpt-3.5-turbo"),
    ]
    assert facts["judges"][4]["rating"] is None
    assert "not recognised" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "workers.csv").read_text(encoding="utf-8").startswith("worker,votes,model,rating,")


def test_known_names_in_a_crowd_mean_nothing():
    names = [*JUDGES, *(f"w{n}" for n in range(40))]
    rng = np.random.default_rng(0)
    crowd = [(f"q{i}", names[j], str(rng.integers(2))) for i in range(200) for j in rng.permutation(len(names))[:3]]
    assert mj.check(crowd).setting.judges is None


def test_grades_of_known_judges_are_medians():
    graded = [(item, judge, {"bad": "low", "good": "high"}[label]) for item, judge, label in rows()]
    graded += [(f"x{n}", judge, "medium") for n in range(5) for judge in JUDGES]
    assert mj.check(graded).setting.case is Case.GRADES


def test_labels_overrule_names(result):
    """Gold that contradicts the names overrules them."""
    votes = result.votes
    gold_i = np.asarray(result.majority.codes("first"))
    with_gold = mj.check(replace(votes, gold_i=gold_i))
    assert with_gold.rule != "weighted-vote"


def test_trust_in_workers_weighs_votes_before_one_step():
    accuracy_j = np.array([0.95] * 6 + [0.52] * 34)
    votes, truth = simulate([0.5, 0.5], one_coin_workers(accuracy_j), n_items=600, n_votes=3, rng=3)
    told = replace(votes, trust_j=accuracy_j)
    blind, trusting = (mj.aggregate(one, "one-step").codes("first") for one in (votes, told))
    assert (trusting == truth).mean() > (blind == truth).mean() + 0.02
    silent = replace(votes, trust_j=np.full(40, 0.8))  # equal trust says nothing
    np.testing.assert_allclose(
        mj.aggregate(silent, "one-step").posterior, mj.aggregate(votes, "one-step").posterior, atol=1e-12
    )
