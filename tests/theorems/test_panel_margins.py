"""Margins of many crews at once, and the distribution of their vote counts, against every ballot."""

import numpy as np
import pytest

from majorant.theory.panel import count_distribution, panel_margins
from oracles import margins as oracle


@pytest.mark.parametrize(("n_classes", "n_votes"), [(2, 1), (2, 3), (2, 4), (2, 5), (3, 3), (3, 4)])
@pytest.mark.parametrize("zeros", [0.0, 0.05])
@pytest.mark.parametrize("small", [True, False])
def test_margins_of_all_panels_under_all_models(n_classes, n_votes, zeros, small, monkeypatch):
    if not small:  # as larger panels are treated, and those beyond the first batch
        monkeypatch.setattr("majorant.theory.panel.can_enumerate_ballots", lambda *_: False)
        monkeypatch.setattr("majorant.theory.panel.PANEL_ELEMENTS", 1)
    rng = np.random.default_rng(10 * n_classes + n_votes)
    prior_bk, confusion_bjkl = oracle.draw_models(rng, 20, n_classes, 6, zeros=zeros)
    panel_sh = np.sort(rng.permuted(np.tile(np.arange(6), (4, 1)), axis=1)[:, :n_votes], axis=1)
    found_bs = panel_margins(prior_bk, confusion_bjkl, panel_sh)
    wanted_bs = np.stack([oracle.panel_margin(prior_bk, confusion_bjkl[:, panel]) for panel in panel_sh], axis=1)
    np.testing.assert_allclose(found_bs, wanted_bs, rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        panel_margins(prior_bk[0], confusion_bjkl[0], panel_sh), wanted_bs[0], rtol=0, atol=1e-10
    )


@pytest.mark.parametrize(("n_classes", "n_votes"), [(2, 1), (2, 5), (3, 4), (4, 3)])
def test_counts_are_the_sum_over_ballots(n_classes, n_votes):
    _, confusion_bhkl = oracle.draw_models(np.random.default_rng(n_votes), 1, n_classes, n_votes)
    given_kc, count_lc = count_distribution(confusion_bhkl[0])
    wanted = {tuple(count): np.zeros(n_classes) for count in count_lc.T.tolist()}
    for ballot in oracle.ballots(n_classes, n_votes):
        count = tuple(np.bincount(ballot, minlength=n_classes).tolist())
        wanted[count] += np.prod([confusion_bhkl[0][h, :, l] for h, l in enumerate(ballot)], axis=0)
    np.testing.assert_allclose(given_kc.T, list(wanted.values()), atol=1e-14)
    assert len(wanted) == count_lc.shape[1]
