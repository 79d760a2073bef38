"""On crowds of each kind the decision is right, or at least does no harm."""

import numpy as np
import pytest

from crowds import foolable_votes
from majorant.defaults import TOLERANCE
from majorant.evidence.labels import gold_accuracy
from majorant.methods.majority import Majority
from majorant.results.rules import decide
from majorant.simulate import mixed_crew, one_coin_crew, simulate
from majorant.votes import Votes

GOOD = np.array([[0.85, 0.15], [0.15, 0.85]])


def alike(rng):
    return simulate([0.5, 0.5], GOOD, 1500, 5, n_workers=5, rng=rng, gold=1.0).votes


def one_expert(rng):
    return simulate([0.5, 0.5], one_coin_crew([0.97, 0.6, 0.6, 0.6, 0.6]), 500, 5, rng=rng, gold=1.0).votes


def spammers(rng):
    return simulate([0.5, 0.5], mixed_crew(GOOD, 4, spammers=8), 400, 7, rng=rng, gold=1.0).votes


def adversaries(rng):
    return simulate([0.5, 0.5], mixed_crew(GOOD, 9, adversaries=4), 400, 7, rng=rng, gold=1.0).votes


def correlated(rng):
    return simulate([0.5, 0.5], one_coin_crew([0.8] * 6), 400, 6, rng=rng, dependence=0.5, gold=1.0).votes


def rare_class(rng):
    confusion = [[0.9, 0.1], [0.35, 0.65]]
    return simulate([0.95, 0.05], confusion, 600, 3, n_workers=12, rng=rng, gold=1.0).votes


def twenty_classes(rng):
    skill = np.random.default_rng(rng).uniform(0.4, 0.9, size=12)
    return simulate(np.full(20, 0.05), one_coin_crew(skill, 20), 250, 5, rng=rng, gold=1.0).votes


def hard_items(rng):
    """A third of the items on which most workers fall for the same wrong label."""
    return foolable_votes(np.random.default_rng(rng), n_items=500, n_workers=40, n_votes=7, hard=0.3)


KINDS = (alike, one_expert, spammers, adversaries, correlated, rare_class, twenty_classes, hard_items)


def lead(votes, seed=0):
    """The decision without gold, and how far its accuracy lies above majority's."""
    blind = Votes.from_codes(
        votes.item_n, votes.worker_n, votes.label_n, items=votes.items, workers=votes.workers, labels=votes.labels
    )
    majority = Majority().fit(blind)
    decision = decide(blind, majority, rng=seed)
    found, other = (gold_accuracy(votes, fit, level=0.95).value for fit in (decision.fit, majority))
    return decision, found - other


@pytest.mark.parametrize("kind", KINDS)
def test_no_harm(kind):
    votes = kind(1)
    _, gained = lead(votes)
    assert gained >= -0.01 - 1e-9


@pytest.mark.parametrize(("kind", "least"), [(one_expert, 0.1), (spammers, 0.05), (adversaries, 0.05)])
def test_workers_who_differ_are_told_apart(kind, least):
    decision, gained = lead(kind(3))
    assert decision.method == "combination"
    assert gained >= least


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_no_harm_in_many_runs(kind):
    gained = [lead(kind(seed), seed)[1] for seed in range(100, 106)]
    assert np.mean(gained) >= -TOLERANCE  # judges who err together and are equally good: majority is as good as any
    assert min(gained) >= -0.02
