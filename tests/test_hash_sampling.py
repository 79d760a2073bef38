"""Lots by name: fair, the same in any order and in any parts, and of text as of numbers."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from majorant.hash_sampling import drawn, lots

NAMES = [f"item {i}" for i in range(20_000)]


def test_lots_are_even_and_those_of_two_seeds_know_nothing_of_each_other():
    first, second = (lots(NAMES, seed) / 2.0**64 for seed in (0, 1))
    counts = np.histogram2d(first, second, bins=10, range=[[0, 1], [0, 1]])[0]
    assert ((counts - 200) ** 2 / 200).sum() < 150  # chi squared, 99 degrees of freedom: beyond it once in 1,000
    assert len(np.unique(first)) == len(NAMES)


def test_names_that_differ_little_have_other_lots():
    names = ["", "\0", "\0\0", "a", "a\0", "aa", "ab", "ba", "é", "1", "01", "1.0"]
    assert len(np.unique(lots(names, 0))) == len(names)


@pytest.mark.parametrize("n_parts", [1, 7])
def test_the_same_items_are_drawn_in_any_order_and_in_any_parts(n_parts):
    names = np.array(NAMES)
    expected = names[drawn([(0, NAMES)], 0.1, 3)]
    assert len(expected) == pytest.approx(2_000, abs=150)
    mixed = np.random.default_rng(0).permutation(names)
    edges = np.linspace(0, len(mixed), n_parts + 1).astype(int)
    parts = [(int(a), mixed[a:b].tolist()) for a, b in pairwise(edges)]
    assert mixed[drawn(parts, 0.1, 3)].tolist() == expected.tolist()


def test_numbers_count_as_their_text_wherever_they_come_from():
    numbers = list(range(-5, 3_000))
    expected = lots([str(number) for number in numbers], 4)
    for same in (numbers, np.array(numbers), pa.array(numbers), pa.array([str(number) for number in numbers])):
        np.testing.assert_array_equal(lots(same, 4), expected)
    sliced = pa.array(["x", *map(str, numbers)]).slice(1)
    np.testing.assert_array_equal(lots(sliced, 4), expected)
    assert len(lots([1, "x", 2.5, ("a", 1), 10**30], 0)) == 5
    assert drawn([(0, [])], 0.5, 0).tolist() == []
