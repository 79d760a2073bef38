"""The answer: keep, switch or ask, by the evidence that assumes least; and nothing that the truth contradicts."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import majorant as mj
from crowds import foolable_votes
from majorant.ask.draw import Planned
from majorant.backend import MemoryBackend
from majorant.errors import ConfigError
from majorant.evidence.certificate.certificate import Certificate, Claim, Family, Verdict
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.majority import Majority
from majorant.render.summary import result_summary
from majorant.results.answer import ModelEvidence, answer_from, model_of
from majorant.results.difference import Difference, ExpectedGain, GoldLead, compare_fits, gold_lead
from majorant.simulate import one_coin_crew, simulate
from majorant.values import Estimate
from majorant.votes import Votes
from majorant.wording import MAJORITY_ALONE, MAJORITY_ASKED_FOR, gain_line

WIDE = Path(__file__).parent.parent / "read" / "fixtures" / "wide.csv"
APART = Difference(items=1000, differ=100, at_stake=95.0, tied=10, tied_differ=10)
EXPECTED = ExpectedGain(gain=0.03, luck=0.01, tied=0.002, lead=0.3, decisive=0.95, least=0.03, most=0.03)
SOUND = ModelEvidence(gain=Estimate(0.03, 0.015, 0.045))


def answered(**facts):
    given = {
        "other": "combination",
        "apart": APART,
        "model": SOUND,
        "expected": EXPECTED,
        "gold": None,
        "planned": lambda: Planned(25, 95),
    }
    return answer_from(**{**given, "tolerance": 0.01, "level": 0.95, **facts})


def by_gold(value, low, high, *, whole=False):
    return GoldLead(
        labels=100, used=30, wins=20, losses=10, lead=Estimate(value, low, high), tied_lead=0.0, whole=whole
    )


@pytest.mark.parametrize(
    ("facts", "action", "grade", "basis"),
    [
        ({}, "switch", "model", "model"),
        ({"model": replace(SOUND, panel=True)}, "ask", "none", "votes"),
        ({"model": replace(SOUND, failed=("independent votes",))}, "ask", "none", "votes"),
        ({"model": replace(SOUND, untested=("independent votes",))}, "ask", "none", "votes"),
        ({"model": ModelEvidence(gain=Estimate(0.03, -0.01, 0.06))}, "ask", "none", "votes"),
        ({"model": ModelEvidence(gain=Estimate(0.008, 0.002, 0.02))}, "ask", "none", "votes"),  # below the tolerance
        ({"model": ModelEvidence(gain=Estimate(0.002, -0.002, 0.006))}, "keep", "model", "model"),
        ({"model": replace(SOUND, best=True)}, "keep", "model", "model"),
        ({"model": replace(SOUND, best=True, untested=("x",), breakdown=0.05)}, "ask", "none", "votes"),
        ({"model": replace(SOUND, best=True, untested=("x",), breakdown=0.2)}, "keep", "model", "model"),
        ({"apart": APART._replace(differ=10, at_stake=9.5)}, "keep", "exact", "bound"),
        ({"apart": APART._replace(differ=0, at_stake=0.0)}, "keep", "exact", "bound"),
        ({"gold": by_gold(0.03, 0.01, 0.05)}, "switch", "exact", "gold"),
        ({"gold": by_gold(0.03, -0.01, 0.05)}, "ask", "none", "gold"),
        ({"gold": by_gold(-0.03, -0.05, -0.01)}, "keep", "exact", "gold"),
        ({"gold": by_gold(0.0, -0.02, 0.01)}, "keep", "exact", "gold"),
        ({"gold": by_gold(0.008, 0.008, 0.008, whole=True)}, "keep", "exact", "gold"),
        # gold outranks whatever a model says
        ({"gold": by_gold(-0.03, -0.05, -0.01), "model": replace(SOUND, best=False)}, "keep", "exact", "gold"),
    ],
)
def test_the_evidence_that_assumes_least_decides(facts, action, grade, basis):
    found = answered(**facts)
    assert (found.action, found.grade, found.basis) == (action, grade, basis)
    assert found.rule == ("combination" if action == "switch" else "majority")
    assert (found.ask is not None) == (grade != "exact")
    assert found.headline
    assert found.why
    assert found.next


ONLY_TIES = APART._replace(differ=30, at_stake=15.0, tied=40, tied_differ=30)


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"model": replace(SOUND, panel=True)},
        {"model": replace(SOUND, best=True)},
        {"gold": by_gold(0.03, -0.01, 0.05)},
    ],
)
def test_rules_whose_labels_are_the_same_once_ties_are_drawn_are_not_asked_about(facts):
    found = answered(apart=ONLY_TIES, planned=lambda: Planned(0, 0), **facts)
    assert (found.action, found.grade, found.basis, found.ask) == ("keep", "exact", "draw", None)
    assert (found.gain.value, found.gain.low, found.gain.high) == (None, -1.5, 1.5)
    assert "differ only on tied items" in found.why
    assert "Nothing" in found.next


def test_check_and_ask_agree_whichever_way_the_draw_of_a_tie_falls():
    """One of three votes on four items is missing, which leaves a tie that another rule decides."""
    actions = set()
    for seed in (0, 3):
        found, design = mj.check(WIDE, rng=seed), mj.ask(WIDE, rng=seed)
        asked = 0 if found.answer.ask is None else found.answer.ask.first
        assert asked == len(design.items)
        assert found.answer.action == ("ask" if asked else "keep")
        actions.add(found.answer.action)
        written = result_summary(found)["labels"]
        assert (written["method"], written["labelled"], written["tied"]) == ("majority", 3, 1)
    assert actions == {"ask", "keep"}


def test_a_model_that_gold_excludes_is_withdrawn_by_name():
    found = answered(model=ModelEvidence(gain=Estimate(0.087, 0.07, 0.1)), gold=by_gold(0.02, 0.005, 0.04))
    assert "The model expected +8.7 points; the gold labels allow at most +4.0." in found.why
    assert answered(gold=by_gold(0.02, 0.005, 0.04)).withdrawn is None


def test_a_claim_of_a_model_begins_with_its_condition():
    for model in (SOUND, replace(SOUND, best=True)):
        assert answered(model=model).why.startswith("If votes on an item are independent given its class")


def test_models_that_disagree_do_not_justify_a_switch():
    """One model expects a loss: the interval holds it, and with it 0."""
    loss = Estimate(0.04, 0.03, 0.05)
    claim = Claim(family=Family.ANONYMOUS, verdict=Verdict.NOT_OPTIMAL, loss=loss)
    certificate = Certificate(level=0.95, anonymous=claim)
    agreed, apart = (
        model_of(certificate, expected, 0.095)
        for expected in (EXPECTED._replace(luck=0.001), EXPECTED._replace(luck=0.001, least=-0.01, most=0.05))
    )
    assert (answered(model=agreed).action, answered(model=apart).action) == ("switch", "ask")
    assert (apart.gain.low, apart.gain.high) == pytest.approx((-0.012, 0.052))


def test_a_tolerance_is_a_share():
    with pytest.raises(ConfigError, match="tolerance is a difference in accuracy"):
        answered(tolerance=1.5)


def test_a_rule_that_was_asked_for_is_written_whatever_the_answer():
    found = answered(model=replace(SOUND, panel=True), asked_for=True)
    assert (found.action, found.rule) == ("ask", "combination")
    assert "as you asked" in found.headline


def votes_with_gold(seed, share):
    votes, truth = simulate([0.6, 0.4], one_coin_crew([0.9, 0.7, 0.65, 0.6]), 60, 4, rng=seed, gold=1.0)
    known = np.random.default_rng(seed).random(60) < share
    return votes, replace(votes, gold_i=np.where(known, votes.gold_i, -1)), truth


def right(fit, truth):
    best_ik = fit.posterior >= fit.posterior.max(axis=1, keepdims=True) - 1e-9
    return (best_ik / best_ik.sum(axis=1, keepdims=True))[np.arange(len(truth)), truth].mean()


def test_gold_on_every_item_gives_the_lead_itself():
    votes, _, truth = votes_with_gold(0, 1.0)
    fit, majority = DawidSkene().fit(votes), Majority().fit(votes)
    apart = compare_fits(majority, fit)
    found = gold_lead(MemoryBackend(votes), fit, apart, alpha=0.05)
    assert found.whole
    assert found.lead.low == found.lead.value == found.lead.high
    assert found.lead.value == pytest.approx(right(fit, truth) - right(majority, truth))
    assert abs(found.lead.value) <= apart.stake


def test_the_lead_of_a_few_gold_items_stays_within_what_is_at_stake():
    """Both tied items are decided wrongly: they count for half each, also where they are all that gold shows."""
    votes = Votes.from_codes(
        [0, 0, 1, 1, 2, 2], [0, 1] * 3, [0, 1, 0, 1, 1, 1], items="abc", workers="wx", labels="ny", gold=[0, -1, -1]
    )
    majority = Majority().fit(votes)
    fit = replace(majority, posterior=np.array([[0.1, 0.9], [0.1, 0.9], [0.9, 0.1]]))
    apart = compare_fits(majority, fit)
    found = gold_lead(MemoryBackend(votes), fit, apart, alpha=0.05).lead
    assert found.low <= found.value <= found.high


@pytest.mark.long
def test_gold_of_a_sample_holds_the_lead_at_its_level():
    misses, runs = 0, 300
    for seed in range(runs):
        votes, some, truth = votes_with_gold(seed, 0.4)
        fit, majority = DawidSkene().fit(votes), Majority().fit(votes)
        found = gold_lead(MemoryBackend(some), fit, compare_fits(majority, fit), alpha=0.2)
        lead = right(fit, truth) - right(majority, truth)
        misses += not found.lead.low - 1e-9 <= lead <= found.lead.high + 1e-9
    assert misses <= 0.2 * runs + 2 * np.sqrt(0.2 * 0.8 * runs)


def test_no_truth_puts_the_rules_further_apart_than_the_stake():
    """Brute force over all truths of three items, one of them a tie of three."""
    names = {"items": "abc", "workers": "xyz", "labels": range(3)}
    votes = Votes.from_codes([0, 0, 0, 1, 1, 2], [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 1, 0], **names)
    majority = Majority().fit(votes)
    for rows in permutations(np.eye(3)):
        fit = replace(majority, posterior=np.array(rows))
        leads = [right(fit, truth) - right(majority, truth) for truth in (np.array(t) for t in np.ndindex(3, 3, 3))]
        assert np.max(np.abs(leads)) <= compare_fits(majority, fit).stake + 1e-12


def test_a_wrong_consensus_is_asked_about_and_gold_decides_it():
    known = foolable_votes(np.random.default_rng(5), n_items=600, n_workers=12, n_votes=8, hard=0.3)
    alone = mj.check(replace(known, gold_i=None), rng=0).answer
    assert alone.action in ("ask", "keep")
    assert alone.grade != "model"
    told = mj.check(known, rng=0).answer
    assert told.grade == "exact"
    assert told.gold.whole


def test_workers_who_differ_are_worth_a_switch_and_it_gains_what_it_says():
    skill = np.random.default_rng(1).uniform(0.5, 0.95, size=40)
    votes, truth = simulate([0.5, 0.5], one_coin_crew(skill), 1500, 5, rng=3)
    found = mj.check(votes)
    answer = found.answer
    assert (answer.action, answer.grade, answer.rule) == ("switch", "model", "combination")
    gained = 100 * (right(found.fit, truth) - right(found.majority, truth))
    assert answer.gain.low <= gained <= answer.gain.high
    assert answer.why.startswith("If votes on an item are independent")


def test_a_panel_is_never_switched_by_a_model():
    votes, _ = simulate([0.5, 0.5], one_coin_crew([0.95, 0.7, 0.65, 0.6, 0.6]), 600, 5, rng=0)
    answer = mj.check(votes).answer
    assert answer.model.panel
    assert answer.action in ("ask", "keep")


def test_ties_count_as_fair_draws():
    """Four votes: majority leaves ties, which a fair draw gets right half of the time."""
    votes, truth = simulate([0.7, 0.3], [[0.8, 0.2], [0.2, 0.8]], n_items=1000, n_votes=4, n_workers=40, rng=0)
    found = mj.check(replace(votes, gold_i=truth.astype(np.int32)), rng=0)
    assert found.answer.tied == int(found.majority.tied_i.sum()) > 100
    assert f"{found.answer.tied:,} items ({100 * found.answer.tied / 1000:.1f} %) are tied" in gain_line(found.answer)
    exact = 100 * (right(found.decision.fit, truth) - right(found.majority, truth))
    assert found.answer.gain.value == pytest.approx(exact)


@pytest.mark.parametrize(
    ("votes", "method", "why"),
    [
        ([("a", "u", 0), ("a", "v", 1), ("b", "u", 1), ("b", "w", 1)], None, MAJORITY_ALONE),
        ([("a", "u", 1), ("b", "v", 1)], None, MAJORITY_ALONE),
        ([(i, w, (i + w) % 2) for i in range(9) for w in range(3)], "majority", MAJORITY_ASKED_FOR),
    ],
)
def test_majority_vote_that_stands_alone_is_not_called_exact(votes, method, why):
    answer = mj.check(votes, method=method).answer
    assert (answer.action, answer.grade, answer.ask, answer.why) == ("keep", "none", None, why)
    assert "compared with no other rule" in gain_line(answer)
    assert ("tied" in answer.next) == bool(answer.tied)
