"""On crowds of each kind the decision is right, or at least does no harm."""

import numpy as np
import pytest

from crowds import foolable_votes, mixed_crew
from majorant.defaults import TOLERANCE
from majorant.evidence.labels import gold_accuracy
from majorant.methods.majority import Majority
from majorant.pipeline import check
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

GOOD = np.array([[0.85, 0.15], [0.15, 0.85]])


def alike(rng):
    return simulate([0.5, 0.5], GOOD, 1500, 5, n_workers=5, rng=rng, gold=1.0).votes


def one_expert(rng):
    return simulate([0.5, 0.5], one_coin_workers([0.97, 0.6, 0.6, 0.6, 0.6]), 500, 5, rng=rng, gold=1.0).votes


def spammers(rng):
    return simulate([0.5, 0.5], mixed_crew(GOOD, 4, spammers=8), 400, 7, rng=rng, gold=1.0).votes


def adversaries(rng):
    return simulate([0.5, 0.5], mixed_crew(GOOD, 9, adversaries=4), 400, 7, rng=rng, gold=1.0).votes


def correlated(rng):
    return simulate([0.5, 0.5], one_coin_workers([0.8] * 6), 400, 6, rng=rng, dependence=0.5, gold=1.0).votes


def rare_class(rng):
    confusion = [[0.9, 0.1], [0.35, 0.65]]
    return simulate([0.95, 0.05], confusion, 600, 3, n_workers=12, rng=rng, gold=1.0).votes


def twenty_classes(rng):
    skill = np.random.default_rng(rng).uniform(0.4, 0.9, size=12)
    return simulate(np.full(20, 0.05), one_coin_workers(skill, 20), 250, 5, rng=rng, gold=1.0).votes


def hard_items(rng):
    """A third of the items on which most workers fall for the same wrong label."""
    return foolable_votes(np.random.default_rng(rng), n_items=500, n_workers=40, n_votes=7, hard=0.3)


KINDS = (alike, one_expert, spammers, adversaries, correlated, rare_class, twenty_classes, hard_items)


def lead(votes, seed=0):
    """What `check` finds without gold, and how much better its labels are than majority vote."""
    blind = Votes.from_codes(
        votes.item_n, votes.worker_n, votes.label_n, items=votes.items, workers=votes.workers, labels=votes.labels
    )
    result = check(blind, rng=seed)
    found, other = (gold_accuracy(votes, fit, level=0.95).value for fit in (result.labels.fit, Majority().fit(blind)))
    return result, found - other


def thinned(votes):
    """The votes with four of ten kept at random: no worker votes on half of the items."""
    kept = np.random.default_rng(0).random(votes.n_votes) < 0.4
    return Votes.from_codes(
        votes.item_n[kept], votes.worker_n[kept], votes.label_n[kept], items=votes.items, workers=votes.workers,
        labels=votes.labels, gold=votes.gold_i,
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_recommendations_do_no_harm(kind):
    votes = kind(1)
    _, gained = lead(votes)
    assert gained >= -0.01 - 1e-9


@pytest.mark.parametrize(("kind", "least"), [(twenty_classes, 0.01)])
def test_crowds_of_unequal_workers_get_the_weighted_vote(kind, least):
    result, gained = lead(thinned(kind(3)))
    assert (result.answer.action, result.answer.certainty) == ("switch", "likely")
    assert gained >= least


def test_panels_keep_majority_vote_until_labels_train_a_rule():
    result, _ = lead(one_expert(3))
    assert (result.answer.action, result.answer.certainty) == ("keep", "same")
    assert result.answer.next.step == "teach"


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_recommendations_do_no_harm_in_many_runs(kind):
    gained = [lead(kind(seed), seed)[1] for seed in range(100, 106)]
    assert np.mean(gained) >= -TOLERANCE  # judges who err together and are equally good: majority is as good as any
    assert min(gained) >= -0.02
