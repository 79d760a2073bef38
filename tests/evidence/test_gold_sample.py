"""Gold that is not a random sample is recognised from the votes on it; random gold rarely is taken for such."""

from math import comb

import numpy as np
import pytest

from majorant.evidence.gold_sample import Count, Kind, examine_sample


def test_the_p_value_is_exact():
    """20 of 100 items are split; 9 of 15 labelled items are."""
    chance = [comb(20, k) * comb(80, 15 - k) / comb(100, 15) for k in range(16)]
    sample = examine_sample(15, 100, {Kind.SPLIT: Count(9, 20)}, right=10)
    assert sample.p_value == pytest.approx(2 * sum(chance[9:]))
    assert sample.worst is Kind.SPLIT
    assert not sample.is_random


def test_too_few_disputed_items_are_no_random_sample_either():
    assert not examine_sample(40, 400, {Kind.SPLIT: Count(4, 200)}, right=38).is_random


def test_ties_of_two_judges_are_one_test_with_splits():
    twice = {Kind.SPLIT: Count(9, 20), Kind.TIED: Count(9, 20)}
    assert examine_sample(15, 100, twice, 10).p_value == examine_sample(15, 100, {Kind.SPLIT: Count(9, 20)}, 10).p_value


def test_majority_wrong_on_all_of_ten_labels_is_a_list_of_errors():
    usual = {Kind.SPLIT: Count(3, 60)}
    assert examine_sample(10, 200, usual, right=0).all_wrong
    assert not examine_sample(10, 200, usual, right=0).is_random
    assert examine_sample(9, 200, usual, right=0).is_random
    assert examine_sample(10, 200, usual, right=0.5).is_random


def test_all_items_labelled_is_no_sample_at_all_and_passes():
    assert examine_sample(50, 50, {Kind.SPLIT: Count(30, 30), Kind.TIED: Count(2, 2)}, 40).is_random


def test_random_labels_pass():
    """At least 95 of 100 pass, whatever the share of split, tied and overturned items."""
    rng, passed, runs = np.random.default_rng(0), 0, 3000
    for _ in range(runs):
        n_items, n_labels = int(rng.integers(100, 400)), int(rng.integers(20, 80))
        disputed = rng.random(n_items) < rng.random()
        tied = disputed & (rng.random(n_items) < 0.3)
        overturned = ~tied & (rng.random(n_items) < 0.2)
        drawn = rng.choice(n_items, n_labels, replace=False)
        kinds = {Kind.SPLIT: disputed, Kind.TIED: tied, Kind.OVERTURNED: overturned}
        counts = {kind: Count(int(is_i[drawn].sum()), int(is_i.sum())) for kind, is_i in kinds.items()}
        passed += examine_sample(n_labels, n_items, counts, right=20).is_random
    assert passed >= 0.95 * runs - 2 * np.sqrt(0.05 * 0.95 * runs)
