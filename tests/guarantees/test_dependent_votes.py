"""Crowds whose votes depend on each other, and for which majority vote is not optimal, are not proved (review S1)."""

import numpy as np
import pytest

from majorant.evidence.certificate.anonymous import certify_counts
from oracles.histograms import HardItems
from sizes import many


def dependent_crowds(n_votes, n_items, n_crowds, rng):
    """Beta-binomial crowds with losses of at least half a point."""
    found = []
    while len(found) < n_crowds:
        nu, (a, b), concentration = rng.uniform(0.1, 0.9), rng.uniform(0.6, 0.95, 2), rng.uniform(3, 15)
        crowd = HardItems("", nu, a, 1 - b, {n_votes: n_items}, concentration)
        if crowd.loss() > 0.005:
            found.append(crowd)
    return found


def false_proofs(n_votes, n_items, n_crowds, seed):
    rng = np.random.default_rng(seed)
    proofs = []
    for crowd in dependent_crowds(n_votes, n_items, n_crowds, rng):
        claim = certify_counts({h: table[0] for h, table in crowd.draw(1, rng).items()}, rng=rng).anonymous
        proofs.append(claim.certainty == "proved")
    return sum(proofs)


def test_three_dependent_votes_are_never_proved():
    assert false_proofs(3, 1000, many(12, quick=4), seed=20261) == 0


@pytest.mark.long
@pytest.mark.parametrize(("n_votes", "n_items", "n_crowds"), [(3, 1000, 200), (3, 5000, 200), (5, 1000, 100)])
def test_dependent_votes_are_hardly_ever_proved(n_votes, n_items, n_crowds):
    """Three votes: 0 of 400; five, which a test sees: no more than the level."""
    proofs = false_proofs(n_votes, n_items, n_crowds, seed=20262)
    assert proofs == 0 if n_votes == 3 else proofs <= 0.05 * n_crowds
