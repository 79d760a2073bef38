"""Crews: entries by hand, and what they refuse."""

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.simulate import grouped_crew, mixed_crew, one_coin_crew, perturbed_crew

TWO = np.array([[0.8, 0.2], [0.3, 0.7]])
THREE = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.25, 0.25, 0.5]])


def test_perturbed_workers_move_along_the_papers_matrix():
    crew = perturbed_crew(TWO, 1000, 0.15, rng=1)
    shift = TWO[0, 0] - crew[:, 0, 0]
    expected = TWO + shift[:, None, None] * np.array([[-1.0, 1.0], [1.0, -1.0]])
    np.testing.assert_allclose(crew, expected, atol=1e-15)
    assert -0.15 <= shift.min() < -0.14
    assert 0.14 < shift.max() <= 0.15
    # Uniform on [-s, s]: mean 0 and variance s**2 / 3, each within four standard errors.
    assert abs(shift.mean()) < 4 * 0.15 / np.sqrt(3 * 1000)
    assert abs(shift.var() / (0.15**2 / 3) - 1) < 4 * np.sqrt(0.8 / 1000)


def test_perturbed_workers_of_three_classes_spread_the_shift_evenly_over_wrong_labels():
    crew = perturbed_crew(THREE, 50, 0.2, rng=2)
    shift = (THREE[0, 0] - crew[:, 0, 0])[:, None, None]
    np.testing.assert_allclose(crew - THREE, shift * (0.5 - 1.5 * np.eye(3)), atol=1e-15)
    np.testing.assert_allclose(crew.sum(axis=2), 1, atol=1e-12)
    assert ((crew >= 0) & (crew <= 1)).all()


def test_the_largest_sigma_is_accepted_and_a_larger_one_refused_by_its_number():
    assert perturbed_crew(TWO, 100, 0.2, rng=0).min() >= 0
    assert perturbed_crew(1 - TWO[:, ::-1], 100, 0.2, rng=0).min() >= 0
    with pytest.raises(ConfigError, match=r"sigma must lie in 0\.\.0\.2"):
        perturbed_crew(TWO, 100, 0.21, rng=0)


def test_groups_stand_one_after_the_other():
    crew = grouped_crew([TWO, 1 - TWO], [2, 1])
    np.testing.assert_array_equal(crew, [TWO, TWO, 1 - TWO])


def test_one_coin_rows():
    crew = one_coin_crew([0.7, 0.25], n_classes=4)
    np.testing.assert_allclose(crew[0], np.full((4, 4), 0.1) + 0.6 * np.eye(4))
    np.testing.assert_allclose(crew[1], np.full((4, 4), 0.25))


def test_spammers_know_nothing_and_adversaries_report_the_next_label():
    crew = mixed_crew(THREE, 2, spammers=1, adversaries=1)
    np.testing.assert_array_equal(crew[:2], [THREE, THREE])
    np.testing.assert_allclose(crew[2], 1 / 3)
    np.testing.assert_array_equal(crew[3], [[0.1, 0.6, 0.3], [0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: one_coin_crew([0.5, 1.1]),
        lambda: one_coin_crew([]),
        lambda: one_coin_crew(0.5),
        lambda: one_coin_crew([0.5], n_classes=1),
        lambda: one_coin_crew(["good"]),
        lambda: perturbed_crew(TWO, 3, -0.1, rng=0),
        lambda: perturbed_crew(TWO, 3, float("nan"), rng=0),
        lambda: perturbed_crew(TWO, 0, 0.1, rng=0),
        lambda: perturbed_crew(TWO, 3, 0.1, rng=None),
        lambda: perturbed_crew(TWO[:1], 3, 0.1, rng=0),
        lambda: perturbed_crew([[1, 0], [1]], 3, 0.1, rng=0),
        lambda: perturbed_crew([[1.0]], 3, 0.1, rng=0),
        lambda: grouped_crew([TWO, TWO], [1]),
        lambda: grouped_crew([TWO, TWO], [0, 0]),
        lambda: grouped_crew([TWO, TWO], [1, -1]),
        lambda: grouped_crew(TWO, [1, 1]),
        lambda: mixed_crew(TWO, -1),
        lambda: mixed_crew(TWO, 0),
        lambda: mixed_crew(TWO + 0.1, 1),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ConfigError):
        call()
