"""Majority vote draws where votes are tied: loss, accuracy and verdict of every claim include what that costs."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from majorant.evidence.certificate.claims import certify
from majorant.evidence.certificate.gold import gold_claim
from majorant.simulate import simulate

SYMMETRIC = [[0.8, 0.2], [0.2, 0.8]]
THREE = [[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]]


def exact(prior, confusion, n_votes):
    """Share of tied votes, loss on them, loss on all and accuracy of a fair draw, by writing out all votes."""
    confusion = np.array(confusion)
    share = tied_lost = lost = right = 0.0
    for votes in product(range(len(prior)), repeat=n_votes):
        joint = np.array(prior) * np.prod(confusion[:, votes], axis=1)
        counts = np.bincount(votes, minlength=len(prior))
        top = counts == counts.max()
        given_away = joint.max() - joint[top].mean()
        lost, right = lost + given_away, right + joint[top].mean()
        if top.sum() > 1:
            share, tied_lost = share + joint.sum(), tied_lost + given_away
    return share, tied_lost, lost, right


CASES = {
    "two classes, a panel": ([0.7, 0.3], SYMMETRIC, 4, {"n_workers": 4}),
    "three classes, a crowd": ([0.5, 0.3, 0.2], THREE, 4, {"n_workers": 40}),
    "three classes, a panel": ([0.5, 0.3, 0.2], THREE, 4, {"n_workers": 4}),
}


@pytest.mark.parametrize(
    "name",
    [
        "two classes, a panel",
        "three classes, a crowd",
        pytest.param("three classes, a panel", marks=pytest.mark.long),
    ],
)
def test_the_loss_of_every_claim_includes_ties(name):
    prior, confusion, n_votes, crowd = CASES[name]
    share, tied_lost, lost, right = exact(prior, confusion, n_votes)
    votes, truth = simulate(prior, confusion, 30_000, n_votes, rng=11, gold=1.0, **crowd)
    claims = certify(votes)
    assert claims.anonymous.model == ("named workers" if "panel" in name else "independent votes")
    for claim in (claims.anonymous, claims.named, claims.gold):
        assert claim.tied_share == pytest.approx(share, abs=0.01)
        assert claim.loss.value == pytest.approx(lost, abs=0.003)
        assert claim.tie_loss.value == pytest.approx(tied_lost, abs=0.003)
        assert claim.loss.low <= lost <= claim.loss.high
        assert claim.tie_loss.low <= tied_lost <= claim.tie_loss.high
        assert claim.evidence["majority_accuracy"] == pytest.approx(right, abs=0.006)
        assert claim.items_certified <= 1 - claim.tied_share + 0.01
        assert claim.verdict == "refuted"
        assert f"{100 * claim.tied_share:.1f} % of the items are tied, and a fair draw on them loses" in claim.why
    counts = np.zeros((len(votes.items), len(prior)))
    np.add.at(counts, (votes.item_n, votes.label_n), 1)
    top = counts == counts.max(axis=1, keepdims=True)
    fair = (top[np.arange(len(truth)), votes.gold_i] / top.sum(axis=1)).mean()
    assert claims.gold.evidence["majority_accuracy"] == pytest.approx(fair)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_even_ties_are_not_held_against_majority(n_classes):
    """Classes alike: a fair draw loses nothing, and whatever can be told apart from ties is told."""
    confusion = np.where(np.eye(n_classes, dtype=bool), 0.8, 0.2 / (n_classes - 1))
    prior = np.full(n_classes, 1 / n_classes)
    votes = simulate(prior, confusion, 4_000, 4, rng=2, gold=1.0, n_workers=4).votes
    claims = certify(votes)
    for claim in (claims.anonymous, claims.gold):
        assert claim.verdict in ("proved", "supported")
        assert claim.tie_loss.low == 0
        assert "apart from ties" in claim.why or claim.kind == "gold"


def test_ties_refute_by_gold_no_more_often_than_promised():
    """Even ties in many cells, everything else clear: 10 % of the runs may say that ties go to some class."""
    refuted, n_runs = 0, 300
    base = simulate([1 / 3] * 3, [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], 400, 4, rng=0, gold=1.0).votes
    counts = np.zeros((400, 3), int)
    np.add.at(counts, (base.item_n, base.label_n), 1)
    chance = np.where(counts == counts.max(axis=1, keepdims=True), 1.0, 0.0)
    chance /= chance.sum(axis=1, keepdims=True)
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        gold = (rng.random(400)[:, None] > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
        refuted += gold_claim(replace(base, gold_i=gold.astype(np.int32)), level=0.9).verdict == "refuted"
    assert refuted <= 45  # .999 quantile of the binomial law at .1 is 47
