"""The decision: majority vote where it is enough, else the combination, else what gold labels show to be better."""

from dataclasses import replace

import numpy as np
import pytest

from majorant.answer.choice import decide, why_enough
from majorant.answer.gold_choice import ENOUGH_GOLD
from majorant.certify.certificate import Certificate, Claim
from majorant.errors import ConfigError
from majorant.estimate.majority import Majority
from majorant.interval import Estimate
from majorant.simulate import mixed_crew, one_coin_crew, simulate


def certificate(**named):
    anonymous = Claim(kind="anonymous", verdict="undecided", why="")
    claim = Claim(kind="named", why="", **named) if named else None
    return Certificate(level=0.95, why="", anonymous=anonymous, named=claim)


UNDECIDED = certificate(verdict="undecided")


def decided(votes, *, about=UNDECIDED, **settings):
    return decide(votes, about, Majority().fit(votes), **{"rng": 0, **settings})


def accuracy(fit, truth):
    best = fit.posterior >= fit.posterior.max(axis=1, keepdims=True) - 1e-9
    return float((best[np.arange(len(truth)), truth] / best.sum(axis=1)).mean())


@pytest.mark.parametrize(
    ("named", "enough"),
    [
        ({}, False),
        ({"verdict": "supported", "items_certified": 0.99}, True),
        ({"verdict": "undecided", "items_certified": 0.98}, False),
        ({"verdict": "undecided", "loss": Estimate(0.001, 0.0, 0.0049)}, True),
        ({"verdict": "undecided", "loss": Estimate(0.001, 0.0, 0.0051)}, False),
        ({"verdict": "undecided", "loss": Estimate(None, reason="too few votes per worker")}, False),
        # Its numbers hold only if votes were independent, and they are not.
        ({"verdict": "void", "items_certified": 1.0, "loss": Estimate(0.0, 0.0, 0.0)}, False),
    ],
)
def test_majority_is_enough(named, enough):
    assert bool(why_enough(certificate(**named), 0.005)) == enough


def test_where_majority_is_enough_nothing_else_is_run():
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=200, n_votes=3, rng=0)
    decision = decided(votes, about=certificate(verdict="supported", items_certified=1.0))
    assert (decision.method, decision.majority_enough, decision.labels_changed) == ("majority", True, 0)
    assert {row.method for row in decision.alternatives if not row.note} == {"majority"}


def test_experts_among_spammers_are_heard():
    crew = mixed_crew([[0.9, 0.1], [0.1, 0.9]], honest=3, spammers=8)
    votes, truth = simulate([0.5, 0.5], crew, n_items=400, n_votes=7, rng=1)
    decision = decided(votes)
    assert decision.method == "combination"
    assert accuracy(decision.fit, truth) > accuracy(Majority().fit(votes), truth) + 0.05


def test_the_same_seed_gives_the_same_decision():
    votes, _ = simulate([0.5, 0.3, 0.2], one_coin_crew([0.8, 0.7, 0.6, 0.5], 3), 150, 3, rng=2, gold=0.5)
    one, two = decided(votes, rng=5), decided(votes, rng=5)
    assert one.alternatives == two.alternatives
    assert one.gold_test == two.gold_test
    np.testing.assert_array_equal(one.fit.posterior, two.fit.posterior)


def test_a_method_asked_for_is_used():
    votes, _ = simulate([0.5, 0.5], one_coin_crew([0.9, 0.7, 0.6, 0.6]), n_items=100, n_votes=3, rng=0)
    decision = decided(votes, method="iwmv")
    assert (decision.method, decision.fit.method, decision.reason) == ("iwmv", "iwmv", "iwmv was asked for.")
    with pytest.raises(ConfigError, match="no method 'magic'"):
        decided(votes, method="magic")
    with pytest.raises(ConfigError, match="anchor-map cannot be used on these votes: needs gold labels"):
        decided(votes, method="anchor-map")


def test_changes_and_settled_ties_are_counted():
    votes, _ = simulate([0.5, 0.5], one_coin_crew([0.95, 0.6, 0.6, 0.6]), n_items=300, n_votes=4, rng=0)
    decision = decided(votes)
    before, after = Majority().fit(votes).labels(), decision.fit.labels()
    assert decision.ties_settled == sum(b is None and a is not None for b, a in zip(before, after, strict=True)) > 0
    assert decision.labels_changed == sum(b is not None and a != b for b, a in zip(before, after, strict=True)) > 0


@pytest.mark.parametrize("n_votes", [1, 2])
def test_what_cannot_be_told_is_left_to_majority(n_votes):
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=200, n_votes=n_votes, n_workers=20, rng=0)
    decision = decided(votes)
    assert decision.method == "majority"


def test_few_gold_labels_do_not_choose():
    votes, truth = simulate([0.5, 0.5], one_coin_crew([0.9, 0.7, 0.6, 0.6]), n_items=200, n_votes=3, rng=0)
    gold = np.where(np.arange(200) < ENOUGH_GOLD - 1, truth, -1)
    decision = decided(replace(votes, gold_i=gold))
    assert decision.method == "combination"
    assert (decision.gold_test.folds, decision.gold_test.n_items) == (1, ENOUGH_GOLD - 1)
    assert decision.reason.endswith(f"; {ENOUGH_GOLD - 1} gold items are too few to choose by.")


@pytest.mark.parametrize("tolerance", [-0.1, 1.5])
def test_a_tolerance_is_a_share(tolerance):
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=20, n_votes=3, rng=0)
    with pytest.raises(ConfigError, match="tolerance is a share"):
        decided(votes, tolerance=tolerance)
