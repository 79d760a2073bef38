"""Plans: what more votes gain, what stopping early saves, and which judges are enough."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import majorant as mj
from majorant.errors import ConfigError, NotIdentified
from majorant.evidence.certificate.gold import GoldCells, best_p_values, gold_needed, simes, worse_p_values
from majorant.render.plan import plan_facts, plan_line, plan_text
from majorant.results.plan import Advice, Stop, plan
from majorant.simulate import one_coin_workers, simulate
from majorant.theory import majority_accuracy
from majorant.votes import Votes

EVEN = {"prior": [0.5, 0.5], "confusion": [[0.8, 0.2], [0.2, 0.8]]}


def crowd(n_votes=3, gold=0.0, n_items=2000, **settings):
    return simulate(**EVEN, n_items=n_items, n_votes=n_votes, n_workers=60, gold=gold, rng=0, **settings).votes


def test_without_gold_a_crowd_gets_the_gain_of_more_votes_and_no_level():
    whole = plan(crowd(), target=0.9)
    assert whole.advice is Advice.NEEDS_LABELS
    assert whole.accuracy_now.value is None
    assert all(point.accuracy.value is None for point in whole.points)
    for n_votes in (1, 5, 9):
        expected = majority_accuracy(**EVEN, n_votes=n_votes) - majority_accuracy(**EVEN, n_votes=3)
        gain = whole.points[n_votes - 1].gain
        assert gain.value == pytest.approx(expected, abs=0.02)
        assert gain.low <= gain.value <= gain.high
    assert "Two more votes per item would gain about 4" in plan_line(whole)
    assert "label 50 random items." in plan_line(whole)


def test_fifty_gold_labels_anchor_the_level():
    votes = crowd(gold=0.2)
    whole = plan(votes, target=0.93)
    assert whole.accuracy_now.low < 0.896 < whole.accuracy_now.high
    assert whole.advice is Advice.MORE_VOTES
    assert whole.votes_needed in (5, 7)
    needed = whole.points[whole.votes_needed - 1]
    assert needed.accuracy.value == pytest.approx(whole.accuracy_now.value + needed.gain.value)
    assert plan(votes, target=0.8).advice is Advice.ENOUGH
    assert plan(votes, target=0.999, max_votes=5).advice is Advice.OUT_OF_REACH
    few = replace(votes, gold_i=np.where(np.cumsum(votes.gold_i >= 0) <= 49, votes.gold_i, -1))
    assert plan(few, target=0.8).advice is Advice.NEEDS_LABELS


def test_hard_items_do_not_make_the_anchored_level_too_high():
    """If the whole crowd is wrong on some items, the model alone is far too optimistic, and gold corrects it."""
    votes = crowd(n_votes=5, gold=0.5, concentration=2.0)
    whole = plan(votes, target=0.95)
    assert whole.accuracy_now.value < 0.9
    assert whole.advice is not Advice.ENOUGH


def test_panel_plan_names_enough_judges_instead_of_a_forecast():
    votes, _ = simulate([0.5, 0.5], one_coin_workers([0.95, 0.55, 0.55, 0.55, 0.55]), 500, 5, gold=1.0, rng=1)
    whole = plan(votes, target=0.9)
    assert whole.points == ()
    assert whole.advice is Advice.OTHER_JUDGES
    assert whole.sub_panels[0].judges == ("w0",)
    assert "Keep w0: better than all 5 judges together." in plan_text(whole)
    blind = plan(replace(votes, gold_i=None))
    assert blind.sub_panels == ()
    assert blind.advice is Advice.NEEDS_LABELS
    assert "cannot be forecast" in plan_line(blind)


def matrix(rows):
    label = np.array(rows)
    n_items, n_workers = label.shape
    return Votes.from_codes(
        np.repeat(np.arange(n_items), n_workers), np.tile(np.arange(n_workers), n_items), label.ravel(),
        items=range(n_items), workers="abcde"[:n_workers], labels="nyz"[: label.max() + 1],
    )  # fmt: skip


def saved_by_hand(rows):
    """The share of votes saved by stopping once decided, over all orders of each item's votes."""
    asked = total = 0.0
    for row in rows:
        orders = list(permutations(row))
        for order in orders:
            for h in range(1, len(order) + 1):
                count = np.sort(np.bincount(order[:h], minlength=3))
                if count[-1] - count[-2] > len(order) - h or h == len(order):
                    asked += h / len(orders)
                    break
        total += len(row)
    return 1 - asked / total


def test_early_stopping_savings_match_all_orders():
    rows = [[0, 0, 0, 1, 1], [1, 1, 1, 1, 1], [0, 0, 1, 1, 2], [2, 2, 2, 1, 0]]
    [decided, lead] = plan(matrix(rows)).stopping
    assert decided.stop is Stop.DECIDED
    assert decided.votes_saved == pytest.approx(saved_by_hand(rows), abs=0.03)
    assert decided.labels_changed == 0
    assert decided.price_saved == pytest.approx(decided.votes_saved)
    assert lead.stop is Stop.LEAD_OF_THREE


def test_lead_of_three_reports_changed_labels():
    rows = [[0] * 3 + [1] * 4] * 20
    label = np.array(rows)
    votes = Votes.from_codes(np.repeat(np.arange(20), 7), np.tile(np.arange(7), 20), label.ravel(),
                             items=range(20), workers=range(7), labels="ny")  # fmt: skip
    lead = plan(votes).stopping[1]
    # The first three of seven are all zeros in 1 of 35 orders, and then the label differs from the majority of all.
    assert lead.labels_changed == pytest.approx(1 / 35, abs=0.02)


def test_cheap_judges_are_asked_first():
    rows = [[0, 0, 0], [1, 1, 1], [0, 0, 1], [0, 1, 0]]
    votes = matrix([*rows, *rows])
    decided = plan(votes, prices={"c": 10.0}).stopping[0]
    # Judges a and b agree on three items of four: the dear judge is asked on one.
    assert decided.votes_saved == pytest.approx(0.25)
    assert decided.price_saved == pytest.approx(30 / 48)
    assert "(62% of the cost)" in plan_text(plan(votes, prices={"c": 10.0}))[0]
    with pytest.raises(ConfigError, match="'dee', who has no votes"):
        plan(votes, prices={"dee": 1.0})


def test_the_facts_are_plain_and_copies_are_named():
    import json

    votes, _ = simulate([0.5, 0.5], one_coin_workers([0.8] * 5), 300, 5, rng=1)
    label = votes.label_n.copy()
    label[votes.worker_n == 1] = label[votes.worker_n == 0]
    same = Votes.from_codes(votes.item_n, votes.worker_n, label, items=votes.items, workers=votes.workers, labels="ny")
    facts = json.loads(json.dumps(plan_facts(plan(same))))
    assert facts["copies"]["groups"][0]["workers"] == ["w0", "w1"]
    assert facts["votes_now"] == 5
    assert plan(same).stopping == mj.check(same).plan.stopping


@pytest.mark.parametrize(
    ("odds_c", "share_c"), [([0.95, 0.7, 0.7, 0.95], [0.3, 0.2, 0.2, 0.3]), ([0.9, 0.3, 0.8], [0.4, 0.3, 0.3])]
)
def test_the_planned_gold_decides_most_of_the_time(odds_c, share_c):
    """Two classes; every cell is tested as the gold claim would, with as many gold items as planned."""
    odds_c, rng = np.array(odds_c), np.random.default_rng(0)
    needed = gold_needed(odds_c, np.array(share_c), 2, 0.05)
    assert needed is not None
    decided = 0
    for _ in range(300):
        gold_c = rng.multinomial(needed, share_c)
        right_c = rng.binomial(gold_c, odds_c)
        cells = GoldCells(np.tile([2, 1], (len(odds_c), 1)), gold_c, np.column_stack([right_c, gold_c - right_c]))
        decided += bool((best_p_values(cells) <= 0.05).all()) or simes(worse_p_values(cells)) <= 0.05
    assert 0.55 <= decided / 300 <= 0.97


@pytest.mark.parametrize("n_votes", [1, 2])
def test_votes_that_identify_nothing_get_no_plan(n_votes):
    with pytest.raises(NotIdentified, match="Collect a third vote"):
        plan(crowd(n_votes=n_votes, n_items=300))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": 0}, "target must be above 0"),
        ({"target": 1.2}, "target must be above 0"),
        ({"max_votes": 0}, "max_votes must be a whole number"),
        ({"price_per_vote": -1}, "The price 'price_per_vote' must be a number of at least 0"),
        ({"prices": {"w1": float("nan")}}, "The price 'w1' must be a number of at least 0"),
        ({"level": 1}, r"level must lie between \.5 and 1"),
    ],
)
def test_invalid_plan_settings_are_rejected(settings, message):
    with pytest.raises(ConfigError, match=message):
        plan(crowd(n_items=50), **settings)


def test_no_plan_without_votes():
    with pytest.raises(ConfigError, match="no votes to plan from"):
        plan(Votes.from_codes([], [], [], items="a", workers="x", labels="ny"))
    with pytest.raises(ConfigError, match="one class"):
        plan(Votes.from_codes([0], [0], [0], items="a", workers="w", labels="n"))
