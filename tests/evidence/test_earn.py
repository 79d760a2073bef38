"""The gain of rules learned from labels: the formula, written out, and what it may announce."""

import numpy as np
import pytest
from scipy.stats import beta

from majorant.evidence.earn import (
    Change,
    Expected,
    average,
    changed_labels,
    expected_change,
    expected_gain,
    observed_change,
    weight_of_learned,
)


def leaders(q_ik):
    """Each item's best label, shared equally in a tie; slow."""
    return np.array([[(q == max(row)) / sum(p == max(row) for p in row) for q in row] for row in q_ik])


@pytest.fixture
def rules():
    rng = np.random.default_rng(3)
    share_ik = rng.multinomial(4, [0.4, 0.3, 0.3], size=200) / 4
    rule_ik = rng.dirichlet([1, 1, 1], size=200)
    labelled, truth_n = np.arange(0, 200, 7), rng.integers(3, size=29)
    return share_ik, rule_ik, labelled, truth_n, rng.dirichlet([1, 1, 1], size=29)


def test_the_gain_is_that_of_the_formula(rules):
    share_ik, rule_ik, labelled, truth_n, held_out_nk = rules
    shift_ik = leaders(rule_ik) - leaders(share_ik)
    shift_nk = leaders(held_out_nk) - leaders(share_ik[labelled])
    d, f = abs(shift_ik).sum() / 2 / 200, (shift_ik * rule_ik).sum() / 200
    h, e = abs(shift_nk).sum() / 2, sum(shift_nk[n, k] for n, k in enumerate(truth_n))
    value = 0.9 * (20 * f + d * e) / (20 + h)
    size, mean = 5 + h / 2, (1 + value / d) / 2
    low, fifth, high = (d * (2 * beta(size * mean, size * (1 - mean)).ppf(p) - 1) for p in (0.1, 0.2, 0.9))
    on_labels = observed_change(share_ik[labelled], held_out_nk, truth_n)
    gain = expected_gain(expected_change(share_ik, rule_ik), on_labels, 29, n_classes=3)
    assert (gain.value, gain.low, gain.high) == pytest.approx((value, low, high))
    assert gain.earned == (fifth > 0 and value >= 0.6 / 29)


def test_changes_of_parts_add_up(rules):
    share_ik, rule_ik, *_ = rules
    parts = expected_change(share_ik[:80], rule_ik[:80]).change + expected_change(share_ik[80:], rule_ik[80:]).change
    whole = expected_change(share_ik, rule_ik).change
    assert (parts.changed, parts.gained) == pytest.approx((whole.changed, whole.gained))
    assert changed_labels(share_ik, rule_ik).sum() == pytest.approx(parts.changed)


def test_a_rule_that_changes_nothing_gains_nothing_and_announces_nothing():
    gain = expected_gain(Expected(Change(0, 0), 70, 100), Change(0, 0), 30, n_classes=2)
    assert (gain.value, gain.low, gain.high, gain.earned) == (0, 0, 0, False)


def test_a_tie_that_labels_decide_counts_half():
    tied, decided = np.array([[0.5, 0.5]]), np.array([[0.3, 0.7]])
    assert observed_change(tied, decided, np.array([1])) == Change(0.5, 0.5)
    assert observed_change(tied, decided, np.array([0])) == Change(0.5, -0.5)


@pytest.mark.parametrize(("on_labels", "earned"), [(Change(8, 7), True), (Change(8, 0), False), (Change(8, -6), False)])
def test_labels_earn_the_sentence(on_labels, earned):
    assert expected_gain(Expected(Change(60, 24), 210, 300), on_labels, 30, n_classes=2).earned == earned


def test_judges_near_chance_must_earn_more():
    on_labels = Change(8, 3)
    gains = [
        expected_gain(Expected(Change(60, 24), right, 300), on_labels, 30, n_classes=n_classes)
        for right, n_classes in ((210, 2), (170, 2), (170, 3))
    ]
    assert gains[0].low < 0
    assert [gain.earned for gain in gains] == [True, False, True]


def test_gains_smaller_than_labels_can_show_are_not_announced():
    on_items, on_labels = Expected(Change(6, 5), 210, 300), Change(1, 1)
    assert not expected_gain(on_items, on_labels, 30, n_classes=2).earned
    assert expected_gain(on_items, on_labels, 60, n_classes=2).earned


def test_the_average_follows_the_rule_that_predicts_the_labels():
    good_nk, bad_nk, truth_n = np.array([[0.1, 0.9]] * 8), np.array([[0.6, 0.4]] * 8), np.ones(8, int)
    assert weight_of_learned(good_nk, bad_nk, truth_n) == pytest.approx(0.9**8 / (0.9**8 + 0.4**8))
    assert weight_of_learned(good_nk, good_nk, truth_n) == 0.5
    impossible_nk = np.array([[1.0, 0.0]] * 8)
    assert weight_of_learned(impossible_nk, bad_nk, truth_n) == pytest.approx(0.01**8 / (0.01**8 + 0.4**8))
    assert average(np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]), 0.25).tolist() == [[0.75, 0.25]]
