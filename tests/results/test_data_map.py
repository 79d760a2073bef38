"""The map of a data set, against margins point by point, the likelihood by brute force, and the promised level."""

import numpy as np
import pytest
from matplotlib.path import Path
from scipy.special import logit
from scipy.stats import chi2

from majorant.evidence.certificate.claims import certification
from majorant.evidence.certificate.count_models import flatten, log_likelihood
from majorant.evidence.certificate.likelihood_region import accuracies_model, noise_model, outline
from majorant.results.map import _noise_limit, _optimal_accuracies, _optimal_noise, data_map
from majorant.simulate import one_coin_crew, simulate
from majorant.tally import histograms
from majorant.theory import majority_margin

CLEAR = 0.02  # nats: closer to the edge, the polygon may round to either side


def polygon(line):
    return Path(np.stack(line, axis=1))


@pytest.mark.parametrize("n_votes", [3, 4, 5, 9, 20])
@pytest.mark.parametrize("prior", [0.5, 0.7, 0.12])
def test_the_plane_of_accuracies_shows_where_the_margin_is_positive(n_votes, prior):
    inside = polygon(_optimal_accuracies(float(logit(prior)), n_votes))
    rng = np.random.default_rng(n_votes)
    seen = set()
    for t00, t11 in rng.uniform(0.02, 0.98, (150, 2)):
        margin = majority_margin([prior, 1 - prior], [[t00, 1 - t00], [1 - t11, t11]], n_votes)
        if abs(margin) > CLEAR and abs(t00 + t11 - 1) > 0.02:
            assert inside.contains_point((t00, t11)) == (margin > 0), (t00, t11, margin)
            seen.add(margin > 0)
    assert False in seen


@pytest.mark.parametrize("n_votes", [1, 2, 3, 4, 5, 9, 20])
@pytest.mark.parametrize("split", [0.5, 0.3, 0.8])
def test_the_plane_of_noise_shows_where_the_margin_is_positive(n_votes, split):
    inside = polygon(_optimal_noise(split, n_votes))
    rng = np.random.default_rng(n_votes)
    for prior, noise in rng.uniform(0.02, 0.98, (150, 2)) * [1, 0.5]:
        t00, t11 = 1 - 2 * noise * split, 1 - 2 * noise * (1 - split)
        margin = majority_margin([prior, 1 - prior], [[t00, 1 - t00], [1 - t11, t11]], n_votes)
        if abs(margin) > CLEAR:
            assert inside.contains_point((prior, noise)) == (margin > 0), (prior, noise, margin)


@pytest.mark.parametrize("prior", [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.25, 0.25, 0.3, 0.2]])
def test_even_noise_is_tolerated_up_to_its_limit(prior):
    n_classes, others = len(prior), np.array(prior[1:]) / (1 - prior[0])
    limit = _noise_limit(prior[0], others)
    for noise, optimal in ((limit - 0.01, True), (limit + 0.01, False)):
        confusion = np.full((n_classes, n_classes), noise / (n_classes - 1))
        np.fill_diagonal(confusion, 1 - noise)
        assert (majority_margin(prior, confusion, 5) > 0) == optimal


@pytest.mark.parametrize("model", [accuracies_model, noise_model])
def test_the_outline_is_where_the_best_likelihood_has_fallen_by_the_cut(model):
    votes, _ = simulate([0.6, 0.4], [[0.85, 0.15], [0.3, 0.7]], n_items=400, n_votes=5, rng=1)
    cells, items_c = flatten(histograms(votes))
    third = np.linspace(-8, 8, 4001)

    def best(x, y):
        share = model(np.array(x), np.array(y), third)
        fine = ((share > 0) & (share < 1)).all(axis=-1) & (share[:, 1] + share[:, 2] > 1)
        nu, a, b = share[fine].T
        return log_likelihood(cells, items_c, np.stack([logit(a), logit(1 - b), logit(nu)], axis=-1)).max()

    panel = data_map(votes, None, "crowd", level=0.9, rng=0)[0 if model is noise_model else 1]
    top = best(*panel.point)
    x_d, y_d = panel.region
    within = [(x, y) for x, y in zip(x_d, y_d, strict=True) if 0.001 < x < 0.999 and 0.001 < y < 0.999]
    assert len(within) > 50
    for x, y in within[::8]:
        assert top - best(x, y) == pytest.approx(chi2.ppf(0.9, 2) / 2, abs=0.06)


@pytest.mark.long
def test_the_region_of_a_crowd_holds_the_truth_at_its_level():
    truth = {noise_model: (0.65, 0.225), accuracies_model: (0.8, 0.75)}
    held = dict.fromkeys(truth, 0)
    for seed in range(100):
        votes, _ = simulate([0.65, 0.35], [[0.8, 0.2], [0.25, 0.75]], n_items=800, n_votes=5, rng=seed)
        panels = data_map(votes, None, "crowd", level=0.9, rng=0)
        for model, panel in zip(truth, panels, strict=True):
            held[model] += polygon(panel.region).contains_point(truth[model])
    assert all(81 <= count <= 99 for count in held.values()), held  # 90 expected, 3 standard deviations


def test_a_panel_is_at_the_mean_of_its_judges_with_a_shrinking_region():
    widths = []
    for n_items in (300, 3000):
        crew = one_coin_crew([0.9, 0.8, 0.75, 0.7, 0.6], n_classes=2)
        votes, _ = simulate([0.5, 0.5], crew, n_items=n_items, n_votes=5, rng=0)
        found = certification(votes, rng=0)
        assert found.design.kind == "panel"
        _, panel = data_map(votes, found.fit, "panel", level=0.95, rng=0)
        assert polygon(panel.region).contains_point(panel.point)
        widths.append(np.ptp(panel.region[0]))
    assert panel.point == pytest.approx((0.75, 0.75), abs=0.03)
    assert 2 < widths[0] / widths[1] < 5  # about the root of ten


def test_more_classes_get_one_plane_and_too_few_votes_none():
    votes, _ = simulate([0.5, 0.3, 0.2], np.full((3, 3), 0.15) + 0.55 * np.eye(3), n_items=300, n_votes=5, rng=0)
    panel, *rest = data_map(votes, certification(votes, rng=0).fit, "crowd", level=0.95, rng=0)
    assert not rest
    assert panel.region is None
    assert panel.point == pytest.approx((0.5, 0.3), abs=0.1)
    pairs, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=50, n_votes=2, rng=0)
    assert data_map(pairs, None, "crowd", level=0.95, rng=0) == ()


def test_an_outline_stays_within_the_plane():
    votes, _ = simulate([0.5, 0.5], [[0.97, 0.03], [0.04, 0.96]], n_items=60, n_votes=3, rng=0)
    cells, items_c = flatten(histograms(votes))
    x, y = outline(cells, items_c, accuracies_model, (0.97, 0.96, 0.0), 0.95)
    assert ((x >= 0) & (x <= 1) & (y >= 0) & (y <= 1)).all()
