"""Gold labels choose a method only where they can, and what they chose is judged by labels that had no part in it."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from majorant.answer.compare import compare
from majorant.answer.gold_choice import ANCHORED, ENOUGH_GOLD, choose_by_gold
from majorant.answer.gold_test import mcnemar
from majorant.estimate import ESTIMATORS
from majorant.estimate.fit import Fit
from majorant.estimate.majority import Majority
from majorant.simulate import one_coin_crew, simulate
from majorant.votes import Votes


def exact_p(wins, losses):
    """Two-sided by counting: twice the share of the sequences of tosses with at most so many of the rarer side."""
    n = wins + losses
    return min(1.0, 2 * sum(comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (5, 1), (3, 3), (2, 14), (40, 21)])
def test_mcnemar_is_exact(wins, losses):
    right = np.array([True] * wins + [False] * losses + [True] * 7)
    majority = np.array([False] * wins + [True] * losses + [True] * 7)
    found = mcnemar(right, majority, level=0.95)
    assert (found.wins, found.losses, found.n_items) == (wins, losses, wins + losses + 7)
    assert found.p_value == pytest.approx(exact_p(wins, losses))
    assert found.difference.low <= found.difference.value <= found.difference.high
    assert found.difference.value == pytest.approx((wins - losses) / (wins + losses + 7))


def test_the_interval_of_the_difference_holds_its_level():
    rng, misses, runs = np.random.default_rng(0), 0, 400
    for _ in range(runs):
        outcome = rng.choice(3, size=120, p=[0.12, 0.06, 0.82])  # win, loss, the same
        found = mcnemar(outcome == 0, outcome == 1, level=0.9).difference
        misses += not found.low <= 0.06 <= found.high
    assert misses <= 0.1 * runs


def coin_labels(votes, truth, rng):
    """A method that is right on half of the items, whatever the votes."""
    right = rng.random(len(truth)) < 0.5
    posterior = np.eye(2)[np.where(right, truth, 1 - truth)]
    return Fit(method="coin", posterior=posterior, prior=np.full(2, 0.5), votes_i=votes.votes_i, label_values=(0, 1))


def useless_votes(rng, n_items):
    truth = rng.integers(2, size=n_items)
    names = {"items": range(n_items), "workers": "w", "labels": range(2)}
    return Votes.from_codes(np.arange(n_items), np.zeros(n_items), rng.integers(2, size=n_items), **names, gold=truth)


def test_the_accuracy_of_what_gold_chose_is_not_flattered():
    """Of 30 methods that toss coins the best looks good; what is reported for the choice must not."""
    looks, reported = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        votes = useless_votes(rng, 60)
        fits = {f"coin {m}": coin_labels(votes, votes.gold_i, rng) for m in range(30)}
        fits["majority"] = Majority().fit(votes)
        found = choose_by_gold(votes, fits, "majority", level=0.95, rng=rng)
        looks.append(max(one.value for one in found.accuracy.values()))
        reported.append(found.chosen.value)
    assert np.mean(looks) > 0.6  # so that the test could fail
    assert np.mean(reported) < 0.5 + 3 * 0.5 / np.sqrt(60 * 60)


def test_gold_finds_a_method_that_is_much_better():
    rng = np.random.default_rng(0)
    votes = useless_votes(rng, ENOUGH_GOLD)
    expert = replace(coin_labels(votes, votes.gold_i, rng), posterior=np.eye(2)[votes.gold_i])
    fits = {"majority": Majority().fit(votes), "expert": expert}
    found = choose_by_gold(votes, fits, "majority", level=0.95, rng=rng)
    assert (found.method, found.chosen.value, found.test.folds) == ("expert", 1.0, 5)
    assert found.test.p_value < 0.001
    assert choose_by_gold(votes, fits, "majority", level=0.95, rng=rng, free=False).method == "majority"


def test_a_learner_never_sees_the_gold_label_that_judges_it():
    """Workers who say nothing: learning each item's own label by heart would be right always."""
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=80)
    names = {"items": range(80), "workers": range(80), "labels": range(2)}  # one worker, one vote: a matrix of its own
    votes = Votes.from_codes(np.arange(80), np.arange(80), rng.integers(2, size=80), **names, gold=truth)
    by_heart = ESTIMATORS["anchor-map"](shared=False).fit(votes)
    assert (by_heart.posterior.argmax(axis=1) == truth).mean() > 0.9
    found = choose_by_gold(votes, {"majority": Majority().fit(votes)}, "majority", level=0.95, rng=rng)
    assert found.accuracy[ANCHORED].value < 0.65


def test_compare_has_a_row_for_every_method():
    votes, _ = simulate([0.5, 0.3, 0.2], one_coin_crew([0.9, 0.8, 0.7, 0.6, 0.6], 3), 80, 4, rng=0, gold=0.5)
    rows = {row.method: row for row in compare(votes, rng=0)}
    assert set(rows) == {"combination", *ESTIMATORS}
    for name in ("kos", "triplet", "spectral", "map"):
        assert rows[name].note
        assert rows[name].accuracy.value is None
    assert rows["majority"].agreement == 1.0
    assert rows["anchor-map"].gold.value is not None
    assert compare(votes, rng=0) == compare(votes, rng=0)
    without = {row.method: row for row in compare(replace(votes, gold_i=None), rng=0)}
    assert without["anchor-map"].note == "needs gold labels"
    assert without["combination"].accuracy == rows["combination"].accuracy


def test_compare_says_what_the_data_cannot_tell():
    names = {"items": range(4), "workers": range(3), "labels": range(3)}
    votes = Votes.from_codes([0, 0, 0, 1, 1, 2, 3], [0, 1, 2, 0, 1, 2, 2], [1, 1, 0, 0, 0, 1, 2], **names)
    rows = {row.method: row for row in compare(votes, rng=0)}
    assert "fewer than 3 classes" in rows["spectral-em"].note
    assert rows["majority"].note == ""
