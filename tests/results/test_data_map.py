"""The map of a data set, against margins point by point, the likelihood by brute force, and the promised level."""

import numpy as np
import pytest
from matplotlib.path import Path
from scipy.special import logit

from majorant.results.map import Plane, _optimal_accuracies, _optimal_noise, data_map
from majorant.simulate import simulate
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
def test_noise_plane_shows_where_the_margin_is_positive(n_votes, split):
    inside = polygon(_optimal_noise(split, n_votes))
    rng = np.random.default_rng(n_votes)
    for prior, noise in rng.uniform(0.02, 0.98, (150, 2)) * [1, 0.5]:
        t00, t11 = 1 - 2 * noise * split, 1 - 2 * noise * (1 - split)
        margin = majority_margin([prior, 1 - prior], [[t00, 1 - t00], [1 - t11, t11]], n_votes)
        if abs(margin) > CLEAR:
            assert inside.contains_point((prior, noise)) == (margin > 0), (prior, noise, margin)


@pytest.mark.parametrize("runs", [12, pytest.param(100, marks=pytest.mark.long)])
def test_region_of_a_crowd_covers_the_truth_at_its_level(runs):
    truth = {Plane.BALANCE: (0.65, 0.225), Plane.ACCURACIES: (0.8, 0.75)}
    held = dict.fromkeys(truth, 0)
    for seed in range(runs):
        votes, _ = simulate([0.65, 0.35], [[0.8, 0.2], [0.25, 0.75]], n_items=800, n_votes=5, rng=seed)
        for panel in data_map(votes, level=0.9):
            held[panel.plane] += polygon(panel.region).contains_point(truth[panel.plane])
    spread = 3 * np.sqrt(0.09 * runs)
    assert all(0.9 * runs - spread <= count <= 0.9 * runs + spread for count in held.values()), held


def test_more_classes_and_too_few_votes_have_no_map():
    votes, _ = simulate([0.5, 0.3, 0.2], np.full((3, 3), 0.15) + 0.55 * np.eye(3), n_items=300, n_votes=5, rng=0)
    assert data_map(votes, level=0.95) == ()
    pairs, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=50, n_votes=2, rng=0)
    assert data_map(pairs, level=0.95) == ()


def test_a_region_stays_within_the_plane():
    votes, _ = simulate([0.5, 0.5], [[0.97, 0.03], [0.04, 0.96]], n_items=60, n_votes=3, rng=0)
    for panel in data_map(votes, level=0.95):
        x, y = map(np.array, panel.region)
        assert ((x >= 0) & (x <= 1) & (y >= 0) & (y <= 1)).all()
        assert polygon(panel.region).contains_point(panel.point)
