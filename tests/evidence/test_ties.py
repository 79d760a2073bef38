"""Tied items are left out of verdict and loss: how a tie is broken is not majority vote's decision."""

from itertools import product

import numpy as np
import pytest

from majorant.evidence.certificate.claims import certify
from majorant.simulate import simulate

SYMMETRIC = [[0.8, 0.2], [0.2, 0.8]]
THREE = [[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]]


def exact(prior, confusion, n_votes):
    """Share of tied votes, loss on untied ones and accuracy of a fair draw, by writing out all votes."""
    confusion = np.array(confusion)
    share = lost = right = 0.0
    for votes in product(range(len(prior)), repeat=n_votes):
        joint = np.array(prior) * np.prod(confusion[:, votes], axis=1)
        counts = np.bincount(votes, minlength=len(prior))
        top = counts == counts.max()
        right += joint[top].mean()
        if top.sum() > 1:
            share += joint.sum()
        else:
            lost += joint.max() - joint[top].mean()
    return share, lost, right


@pytest.mark.parametrize(
    ("prior", "confusion", "n_workers"),
    [([0.7, 0.3], SYMMETRIC, 4), ([0.5, 0.3, 0.2], THREE, 40), ([0.5, 0.3, 0.2], THREE, 4)],
    ids=["two classes, a panel", "three classes, a crowd", "three classes, a panel"],
)
def test_the_loss_of_every_claim_leaves_ties_out(prior, confusion, n_workers):
    share, lost, right = exact(prior, confusion, 4)
    votes, _ = simulate(prior, confusion, 30_000, 4, n_workers=n_workers, rng=11, gold=1.0)
    claims = certify(votes)
    assert claims.anonymous.model == ("named workers" if n_workers == 4 else "one confusion matrix")
    for claim in claims.claims:
        assert claim.tied_share == pytest.approx(share, abs=0.01)
        assert claim.loss.value == pytest.approx(lost, abs=0.003)
        assert claim.loss.low - 1e-9 <= lost <= claim.loss.high + 1e-9
        assert claim.accuracy == pytest.approx(right, abs=0.006)
        assert claim.verdict != "not optimal" or lost > 0
