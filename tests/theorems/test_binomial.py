"""Binomial probabilities and log-odds against rational arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from majorant.theory.patterns import log_binomial, log_odds


def log_of(value: Fraction) -> float:
    """To the last digit, for fractions beyond the range of floats too."""
    if value == 0:
        return -np.inf
    with localcontext() as context:
        context.prec = 50
        return float(Decimal(value.numerator).ln() - Decimal(value.denominator).ln())


def rows(hit: float) -> np.ndarray:
    return np.array([[hit, 1 - hit], [1 - hit, hit]])


def exact_row(n_votes, row):
    hit, miss = (Fraction(float(entry)) / sum(map(Fraction, row.tolist())) for entry in row)
    return [comb(n_votes, h) * hit**h * miss ** (n_votes - h) for h in range(n_votes + 1)]


@pytest.mark.parametrize("n_votes", [1, 2, 65, 150])
@pytest.mark.parametrize("hit", [0.0, 1.0, 0.5, 0.6, 1e-12, 1 - 1e-9])
def test_log_binomial_is_exact_to_rounding(n_votes, hit):
    ours_kh = log_binomial(n_votes, rows(hit))
    for ours_h, row in zip(ours_kh, rows(hit), strict=True):
        expected_h = [log_of(value) for value in exact_row(n_votes, row)]
        np.testing.assert_allclose(ours_h, expected_h, rtol=4e-15, atol=2e-13)


@pytest.mark.parametrize("n_votes", [1, 4, 65])
@pytest.mark.parametrize("p", [0.0, 0.6, 0.6 + 1e-15, 1.0])
@pytest.mark.parametrize(("hit_0", "hit_1"), [(0.6, 0.6), (0.6, 0.3), (1.0, 0.7), (0.2, 1.0), (0.0, 1.0), (1.0, 0.0)])
def test_log_odds_are_right_up_to_rounding(n_votes, p, hit_0, hit_1):
    prior, confusion = np.array([p, 1 - p]), np.array([[hit_0, 1 - hit_0], [1 - hit_1, hit_1]])
    ours_h = log_odds(prior, confusion, n_votes)
    given_0, given_1 = (exact_row(n_votes, row) for row in confusion)
    for h, ours in enumerate(ours_h):
        joint = [Fraction(p) * given_0[h], Fraction(1 - p) * given_1[h]]
        if 0 in joint:
            assert ours == (0 if joint == [0, 0] else np.inf if joint[0] else -np.inf)
        else:
            assert ours == pytest.approx(log_of(joint[0] / joint[1]), rel=1e-10, abs=1e-15 * (n_votes + 1))
