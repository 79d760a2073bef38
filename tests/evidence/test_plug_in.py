"""The plug-in verdict: the margin at an estimate, which has no confidence level."""

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.evidence.certificate.plug_in import plug_in, shared_model
from majorant.methods import ESTIMATORS
from majorant.simulate import simulate
from majorant.theory import gap, majority_margin
from majorant.votes import Votes

PRIOR, CONFUSION = [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]]


def test_plug_in_is_the_margin_at_the_estimate():
    votes, _ = simulate(PRIOR, CONFUSION, 3000, ([3, 4, 7], [0.5, 0.3, 0.2]), n_workers=8, rng=3)
    fit = ESTIMATORS["dawid-skene"]().fit(votes)
    verdict = plug_in(votes, ESTIMATORS["dawid-skene"]().fit)
    votes_j = np.bincount(votes.worker_n)
    pooled = sum(n * one for n, one in zip(votes_j, fit.confusion, strict=True)) / votes.n_votes
    assert verdict.confusion == pytest.approx(pooled)
    assert set(verdict.by_votes) == {3, 4, 7}
    for n_votes, one in verdict.by_votes.items():
        assert one.margin == pytest.approx(majority_margin(fit.prior, pooled, n_votes))
    assert verdict.margin == min(one.margin for one in verdict.by_votes.values())
    lost = {n_votes: gap(fit.prior, pooled, n_votes, "exclude") for n_votes in (3, 4, 7)}
    assert verdict.loss == pytest.approx(sum(np.mean(votes.votes_i == n) * lost[n] for n in lost))


def test_plug_in_has_no_level():
    """On the boundary (prior .8 and all workers right with .8) it says yes about half of the time."""
    fit = ESTIMATORS["dawid-skene"]().fit
    crowds = (simulate([0.8, 0.2], [[0.8, 0.2], [0.2, 0.8]], 1000, 3, n_workers=20, rng=seed) for seed in range(40))
    assert 8 <= sum(plug_in(votes, fit).optimal for votes, _ in crowds) <= 32


def test_plug_in_from_a_share_of_the_items():
    votes, _ = simulate(PRIOR, CONFUSION, 2000, 3, rng=3)
    seen = []

    def refit(sample):
        seen.append(sample)
        return ESTIMATORS["majority"]().fit(sample)

    verdict = plug_in(votes, refit, share=0.1, rng=1)
    assert (verdict.n_items, verdict.share, len(seen[0].items), verdict.method) == (200, 0.1, 200, "majority")
    assert len(set(seen[0].items)) == 200
    again = plug_in(votes, refit, share=0.1, rng=1)
    assert np.array_equal(verdict.confusion, again.confusion)
    for share in (0, 1.5):
        with pytest.raises(ConfigError, match="share must lie above 0"):
            plug_in(votes, refit, share=share, rng=1)
    with pytest.raises(ConfigError, match="give rng"):
        plug_in(votes, refit, share=0.5)


def test_a_method_without_confusions_is_taken_at_its_posterior():
    votes = Votes.from_codes(
        [0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [0, 0, 1, 1, 1, 1], items="ab", workers="xyz", labels="ny"
    )
    prior, confusion = shared_model(votes, ESTIMATORS["majority"]().fit(votes))
    # class n: 2/3 of the first item, whose votes are n n y; class y: 1/3 of it and all of the second
    assert confusion == pytest.approx(np.array([[2 / 3, 1 / 3], [2 / 12, 10 / 12]]))
    assert prior == pytest.approx([2 / 6, 4 / 6])
