"""The erratum of figure 4; its number as in paper/errata.md."""

import numpy as np
import pytest

from paper.figure4 import ACCURACIES
from paper.panel import Model
from paper.verdicts import margin


def test_44_the_share_of_right_verdicts_is_not_the_true_positive_rate():
    """A check that never says "optimal" is right on six of seven models at prior .9 without detecting anything."""
    for nu0, satisfied in ((0.5, 7), (0.6, 7), (0.9, 1)):
        holds = np.array([margin(Model(nu0, accuracy, accuracy)) > 1e-9 for accuracy in ACCURACIES])
        never = np.zeros(len(holds), dtype=bool)
        assert holds.sum() == satisfied
        assert (never == holds).mean() == pytest.approx(1 - satisfied / 7)
        assert never[holds].mean() == 0
