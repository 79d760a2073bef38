"""Accuracy of crews (one confusion matrix per voter), enumerated, against every vote."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.theory.accuracy import gap, majority_accuracy, map_accuracy, panel_accuracy, panel_gap
from oracles.accuracy import crew_answers
from sizes import many

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "theory.json").read_text())
TIES = ["random", "first", "prior", "exclude"]
N_DRAWS = many(20_000)


def coin(hit_0, hit_1):
    return [[hit_0, 1 - hit_0], [1 - hit_1, hit_1]]


def two_class_crews(rng, n_crews, n_voters):
    """Crews with adversaries; one entry in ten is 0 or 1, and about a third of the voters have an equal."""
    p_d = rng.random(n_crews)
    hit_dhk = rng.random((n_crews, n_voters, 2))
    hit_dhk[rng.random(hit_dhk.shape) < 0.05] = 0
    hit_dhk[rng.random(hit_dhk.shape) < 0.05] = 1
    twin_dh = rng.random((n_crews, n_voters)) < 0.3
    hit_dhk = np.where(twin_dh[:, :, None], hit_dhk[:, :1], hit_dhk)
    confusion_dhkl = np.stack([hit_dhk, 1 - hit_dhk], axis=3)
    confusion_dhkl[:, :, 1] = confusion_dhkl[:, :, 1, ::-1]
    return np.stack([p_d, 1 - p_d], axis=1), confusion_dhkl


@pytest.mark.parametrize("rule", ["majority", "map"])
def test_two_class_panels_equal_the_sum_over_every_vote(rule):
    rng = np.random.default_rng(3)
    for n_voters, n_crews in [
        *[(n_voters, N_DRAWS // 5) for n_voters in range(1, 6)],
        *[(n_voters, many(200)) for n_voters in (7, 8, 9)],
    ]:
        prior_dk, confusion_dhkl = two_class_crews(rng, n_crews, n_voters)
        expected_d = getattr(crew_answers(prior_dk, confusion_dhkl), rule)
        ours_d = [panel_accuracy(p, c, rule) for p, c in zip(prior_dk, confusion_dhkl, strict=True)]
        np.testing.assert_allclose(ours_d, expected_d, rtol=0, atol=1e-13)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("n_voters", "n_classes"), [(2, 2), (4, 2), (4, 3), (6, 3), (4, 4), (3, 5), (4, 6)])
def test_panels_of_any_number_of_classes_equal_the_sum_over_every_vote(n_voters, n_classes, ties):
    rng = np.random.default_rng(n_voters + 10 * n_classes)
    for _ in range(many(5, quick=2)):
        prior = rng.dirichlet(np.ones(n_classes))
        crew = rng.dirichlet(np.full(n_classes, 0.7), (n_voters, n_classes))
        crew[:, :, :-1][rng.random(crew[:, :, :-1].shape) < 0.1] = 0
        crew /= crew.sum(axis=2, keepdims=True)
        crew[0] = crew[-1]
        expected = crew_answers([prior], [crew], ties)
        assert panel_accuracy(prior, crew, "majority", ties) == pytest.approx(expected.majority[0], abs=1e-13)
        assert panel_accuracy(prior, crew, "map", ties) == pytest.approx(expected.map[0], abs=1e-13)
        assert panel_gap(prior, crew, ties) == pytest.approx(expected.gap[0], abs=1e-13)


def test_equal_voters_are_a_crowd():
    for model in [([0.7, 0.3], coin(0.6, 0.55), 301), ([0.2, 0.5, 0.3], np.full((3, 3), 0.2) + 0.4 * np.eye(3), 12)]:
        crew = np.repeat([model[1]], model[2], axis=0)
        assert panel_accuracy(model[0], crew, "majority") == pytest.approx(majority_accuracy(*model), abs=1e-12)
        assert panel_accuracy(model[0], crew, "map") == pytest.approx(map_accuracy(*model), abs=1e-12)
        assert panel_gap(model[0], crew) == pytest.approx(gap(*model), rel=1e-9)


@pytest.mark.parametrize("case", GOLDEN["test_vectors"]["binary_hetero"])
def test_golden_panels(case):
    prior = [case["nu0"], 1 - case["nu0"]]
    crew = [coin(a, b) for a, b in zip(case["T00"], case["T11"], strict=True)]
    assert panel_accuracy(prior, crew, "majority") == pytest.approx(case["mv_random_ties"], abs=1e-13)
    assert panel_accuracy(prior, crew, "map") == pytest.approx(case["omap"], abs=1e-13)


@pytest.mark.parametrize("sizes", ["A3B4", "A4B3"])
@pytest.mark.parametrize("case", GOLDEN["two_group_table"])
def test_golden_two_groups(case, sizes):
    prior = [case["nu0"], 1 - case["nu0"]]
    crew = [coin(*case["TA"])] * int(sizes[1]) + [coin(*case["TB"])] * int(sizes[3])
    expected = case[sizes]
    assert panel_accuracy(prior, crew, "majority") == pytest.approx(expected["mv"], abs=1e-13)
    assert panel_accuracy(prior, crew, "map") == pytest.approx(expected["omap"], abs=1e-13)
    assert panel_gap(prior, crew) == pytest.approx(expected["gap"], abs=1e-13)


def test_twenty_unequal_voters_are_enumerated():
    """Against the same crew with the last voter's two votes taken apart by hand."""
    rng = np.random.default_rng(20)
    prior_dk, confusion_dhkl = two_class_crews(rng, 1, 20)
    prior, crew = prior_dk[0], confusion_dhkl[0]
    crew = 0.1 + 0.8 * crew + 0.001 * np.arange(20)[:, None, None] * [[1, -1], [-1, 1]]
    apart = 0.0
    for label in (0, 1):
        after = prior * crew[-1][:, label]
        apart += after.sum() * panel_accuracy(after / after.sum(), crew[:-1], "map")
    assert panel_accuracy(prior, crew, "map") == pytest.approx(apart, abs=1e-12)


def test_invalid_input_error_names_the_argument():
    crew = [coin(0.5 + h / 100, 0.6) for h in range(30)]
    with pytest.raises(ConfigError, match=r"30 voters of 30 kinds .* too many to enumerate"):
        panel_accuracy([0.5, 0.5], crew, "map")
    with pytest.raises(ConfigError, match="too many to enumerate"):
        panel_gap([0.2, 0.3, 0.5], np.random.default_rng(0).dirichlet(np.ones(3), (30, 3)))
    with pytest.raises(ConfigError, match="too many to enumerate"):
        panel_accuracy(np.full(8, 0.125), np.random.default_rng(0).dirichlet(np.ones(8), (30, 8)), "majority")
    with pytest.raises(ConfigError, match="rule must be majority or map, not 'vote'"):
        panel_accuracy([0.5, 0.5], crew, "vote")
    with pytest.raises(ConfigError, match="every possible vote is a tie"):
        panel_accuracy([0.5, 0.5], [[[1, 0], [1, 0]], [[0, 1], [0, 1]]], "majority", "exclude")
