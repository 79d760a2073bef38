"""Split e-values of several classes and of panels keep their level where majority's margin is exactly 0."""

import numpy as np
import pytest

from guarantees.levels import lowest_rate
from guarantees.test_named_level import anonymous_boundary
from majorant.theory import majority_margin
from panels import boundary_pool
from split_models import NOISE, crowd, one_coins, panel, weights

ALPHA = 0.05
BAR = np.log(1 / ALPHA)
LONG_RUNS = 40
MILD = np.array([[0.7, 0.15, 0.15], [0.13, 0.74, 0.13], [0.14, 0.14, 0.72]])


def boundary_prior(confusion, n_votes, low=0.4, high=0.98):
    """The share of class 0, the others equal, at which majority stops being optimal."""
    n_classes = len(confusion)
    for _ in range(60):
        middle = (low + high) / 2
        prior = [middle, *[(1 - middle) / (n_classes - 1)] * (n_classes - 1)]
        low, high = (middle, high) if majority_margin(prior, confusion, n_votes) > 0 else (low, middle)
    return np.array([low, *[(1 - low) / (n_classes - 1)] * (n_classes - 1)])


def model_of(name, rng):
    """Tables, and a model at the boundary ("edge") or without some classes ("one", "two"): never optimal.

    One class is also the law of votes that say nothing about the class.
    """
    what, n_classes, n_votes, twist = name.split()
    n_classes, n_votes = int(n_classes), int(n_votes)
    if what == "crowd":
        confusion = MILD if n_votes == 7 else NOISE[n_classes]  # with 7 votes no prior would make NOISE optimal
        kind, prior = crowd(n_classes, n_votes), boundary_prior(confusion, n_votes)
        assert abs(majority_margin(prior, confusion, n_votes)) < 1e-9
    else:
        kind = panel(2, n_votes, named=what == "named")
        prior, confusion = (boundary_pool if what == "named" else anonymous_boundary)(rng, n_votes)
    occurring = {"edge": n_classes, "one": 1, "two": 2}[twist]
    share_k = np.where(np.arange(n_classes) < occurring, prior, 0)
    return kind, share_k / share_k.sum(), confusion


CROWDS = ("crowd 3 3", "crowd 3 5", "crowd 3 7", "crowd 4 3")
PANELS = ("named 2 3", "named 2 5", "panel 2 3", "panel 2 5")
CELLS = [f"{what} {twist}" for twist in ("edge", "one") for what in (*CROWDS, *PANELS)]
CELLS += [f"{what} two" for what in CROWDS]


def assert_level(name, n_items, runs):
    rng = np.random.default_rng([CELLS.index(name), n_items])
    kind, prior, confusions = model_of(name, rng)
    found = list(weights(kind, prior, confusions, n_items, runs, rng))
    falsely = sum(one.log_e >= BAR for one in found)
    refuted = sum(one.log_against >= BAR for one in found) if name.endswith("edge") else 0
    ratio = sum(one.ratio > 1.921 for one in found)
    largest = max(one.log_e for one in found)
    print(
        f"{name}, {n_items} items: e {falsely}, against {refuted}, ratio {ratio} of {runs}; largest log e {largest:.1f}"
    )
    assert lowest_rate(falsely, runs) <= ALPHA
    assert lowest_rate(refuted, runs) <= ALPHA


@pytest.mark.parametrize("name", ["crowd 3 3 edge", "crowd 3 3 one", "named 2 3 edge"])
def test_e_values_at_the_boundary_are_rarely_large(name):
    assert_level(name, 1_000, runs=3)


@pytest.mark.long
@pytest.mark.parametrize("n_items", [500, 2_000, 10_000])
@pytest.mark.parametrize("name", CELLS)
def test_e_values_at_the_boundary_keep_their_level(name, n_items):
    assert_level(name, n_items, runs=LONG_RUNS)


def test_e_values_decide_clear_cases():
    rng = np.random.default_rng(0)
    even = np.full(3, 1 / 3)
    skilled = 0.6 * np.eye(3) + 0.4 / 3
    good = list(weights(crowd(3, 5), even, skilled, 5_000, 1, rng))
    assert all(one.log_e >= BAR > one.log_against for one in good)
    unlike = one_coins(0.55, 0.6, 0.6, 0.7, 0.95)
    bad = list(weights(panel(2, 5, named=True), [0.5, 0.5], unlike, 3_000, 1, rng))
    assert all(one.log_against >= BAR > one.log_e for one in bad)
    same = list(weights(panel(2, 5, named=False), [0.5, 0.5], unlike, 20_000, 1, rng))
    assert all(one.log_e >= BAR > one.log_against for one in same)
