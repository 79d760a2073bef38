"""Unequal but independent workers pass the tests at their level; workers who share mistakes do not."""

import numpy as np
import pytest

from guarantees.levels import lowest_rate
from majorant.evidence.certificate.assumption_tests import check_exchangeable
from majorant.evidence.certificate.dependence import dependence
from majorant.items import merge_equal_items
from majorant.simulate import one_coin_workers, simulate
from panels import all_patterns, fit_panel, pattern_joint, seen
from sizes import many

ALPHA = 0.05
PANELS = {
    "4": ([0.5, 0.5], one_coin_workers([0.6, 0.7, 0.8, 0.9])),
    "5": ([0.5, 0.5], one_coin_workers([0.6, 0.65, 0.7, 0.8, 0.9])),
    "5 skewed": ([0.8, 0.2], one_coin_workers([0.6, 0.7, 0.75, 0.8, 0.85])),
    "5 good": ([0.5, 0.5], one_coin_workers([0.9, 0.92, 0.95, 0.97, 0.9])),
    "7": ([0.6, 0.4], one_coin_workers([0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9])),
    "4 of 3 classes": ([0.3, 0.3, 0.4], one_coin_workers([0.6, 0.7, 0.8, 0.85], 3)),
}


def assert_independent_panels_pass(name, n_items, runs):
    prior, crew = PANELS[name]
    rng = np.random.default_rng([len(name), n_items])
    patterns, chance_p = all_patterns(len(crew), len(prior)), pattern_joint(prior, crew).sum(axis=1)
    refused = 0
    for _ in range(runs):
        votes, copies = seen(patterns, rng.multinomial(n_items, chance_p))
        found = dependence(votes, fit_panel(votes, copies), level=1 - ALPHA, copies=copies, rng=rng)
        assert found.tested.status in ("passed", "failed")
        refused += found.tested.status == "failed"
    print(f"{name}, {n_items} items: {refused} of {runs} refused")
    assert lowest_rate(refused, runs) <= 0.06


@pytest.mark.parametrize("name", ["5", "5 skewed"])
def test_panels_of_unequal_workers_pass(name):
    assert_independent_panels_pass(name, 10_000, runs=many(60, quick=20))


@pytest.mark.long
@pytest.mark.parametrize("n_items", [300, 1_000, 10_000])
@pytest.mark.parametrize("name", PANELS)
def test_panels_of_unequal_workers_pass_at_the_level(name, n_items):
    assert_independent_panels_pass(name, n_items, runs=1000)


def measured(**how):
    votes = simulate([0.5, 0.5], one_coin_workers([0.7, 0.7, 0.75, 0.8, 0.85]), 5_000, 5, rng=3, **how).votes
    merged = merge_equal_items(votes)
    return dependence(merged.votes, fit_panel(merged.votes, merged.weight_p), copies=merged.weight_p, rng=0)


@pytest.mark.parametrize(
    "how",
    [{"dependence": 0.5}, {"dependence": 0.5, "groups": "aabcd"}, {"dependence": 0.5, "groups": "aabbc"},
     {"concentration": 8}],
)  # fmt: skip
def test_shared_errors_are_detected(how):
    found = measured(**how)
    assert found.tested.p_value < 1e-6
    assert found.n_eff.value < 4.6


def test_pair_with_shared_errors_is_named():
    assert measured(dependence=0.5, groups="aabcd").pairs[0].workers == ("w0", "w1")


def test_n_eff_of_independent_workers_is_their_number():
    assert 4.7 < measured().n_eff.value <= 5


DIFFER = {
    "crowd": {"confusion": [[0.8, 0.2], [0.3, 0.7]], "n_votes": 3, "n_workers": 40},
    "panel": {"confusion": np.tile([[0.8, 0.2], [0.3, 0.7]], (5, 1, 1)), "n_votes": 5},
    "difficult": {"confusion": [[0.8, 0.2], [0.3, 0.7]], "n_votes": 5, "n_workers": 30, "concentration": 4},
}


def assert_equal_workers_pass(name, runs):
    refused = 0
    for seed in range(runs):
        votes = simulate([0.4, 0.6], n_items=150, rng=seed, **DIFFER[name]).votes
        refused += check_exchangeable(votes, rng=seed, level=0.95).status == "failed"
    print(f"{name}: {refused} of {runs} said to differ")
    assert lowest_rate(refused, runs) <= ALPHA


@pytest.mark.parametrize("name", DIFFER)
def test_equal_workers_pass(name):
    assert_equal_workers_pass(name, runs=many(40, quick=15))


@pytest.mark.long
@pytest.mark.parametrize("name", DIFFER)
def test_equal_workers_pass_at_the_level(name):
    assert_equal_workers_pass(name, runs=1000)


SKILLED = one_coin_workers([0.65, 0.7, 0.75, 0.8, 0.85])
BIASED = [[[0.9, 0.1], [0.4, 0.6]], [[0.6, 0.4], [0.1, 0.9]], [[0.75, 0.25], [0.25, 0.75]]]


@pytest.mark.parametrize("crew", [SKILLED, BIASED])
def test_different_workers_are_detected(crew):
    votes = simulate([0.5, 0.5], crew, 1_000, 3, rng=0).votes
    assert check_exchangeable(votes, rng=0).p_value < 0.01
