"""Errata of figure 4 and of the plug-in check; numbers as in docs/errata.md."""

import numpy as np
import pytest

from majorant.paper.figure4 import ACCURACIES
from majorant.paper.panel import Model
from majorant.paper.verdicts import margin


def test_38_the_share_of_right_verdicts_is_not_the_true_positive_rate():
    """A check that never says "optimal" is right on six of seven models at prior .9, and finds nothing."""
    for nu0, satisfied in ((0.5, 7), (0.6, 7), (0.9, 1)):
        holds = np.array([margin(Model(nu0, accuracy, accuracy)) > 1e-9 for accuracy in ACCURACIES])
        never = np.zeros(len(holds), dtype=bool)
        assert holds.sum() == satisfied
        assert (never == holds).mean() == pytest.approx(1 - satisfied / 7)
        assert never[holds].mean() == 0


def test_39_dividing_by_column_sums_makes_a_matrix_symmetric():
    """The road ends at the doubly stochastic matrix with the same odds ratio; .55 and .8 become .689 both."""
    matrix = np.array([[0.55, 0.45], [0.2, 0.8]])
    for _ in range(2):  # as often as the published function does
        matrix /= matrix.sum(axis=1, keepdims=True)
        matrix /= matrix.sum(axis=0, keepdims=True)
    assert abs(matrix[0, 0] - matrix[1, 1]) < 0.02
    for _ in range(50):
        matrix /= matrix.sum(axis=1, keepdims=True)
        matrix /= matrix.sum(axis=0, keepdims=True)
    odds = np.sqrt(0.55 * 0.8 / (0.45 * 0.2))
    np.testing.assert_allclose(matrix.diagonal(), odds / (1 + odds), atol=1e-9)
    assert odds / (1 + odds) == pytest.approx(0.689, abs=5e-4)
