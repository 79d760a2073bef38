"""Merging equal items loses nothing, and sampling items by name is uniform and independent of order."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles.kernels as oracle
from crowds import random_votes
from majorant.items import draw_by_name, draw_items, merge_equal_items, name_hashes, take_items
from majorant.kernels import gather, in_memory, scatter
from majorant.votes import Votes

NAMES = [f"item {i}" for i in range(20_000)]


@given(st.integers(0, 10**6), st.booleans())
def test_patterns_are_the_distinct_ballots(seed, gold):
    votes = random_votes(np.random.default_rng(seed), n_items=80, n_workers=2, n_classes=2, n_votes=120, gold=gold)
    ballot_i = oracle.ballots(votes)
    merged = merge_equal_items(votes, at_most=1)
    ballot_p = oracle.ballots(merged.votes)
    assert len(set(ballot_p)) == len(ballot_p) == len(set(ballot_i))
    assert [ballot_p[p] for p in merged.pattern_i] == ballot_i
    assert merged.weight_p.tolist() == [ballot_i.count(ballot) for ballot in ballot_p]


def test_weighted_sums_over_patterns_equal_sums_over_items():
    rng = np.random.default_rng(3)
    votes = random_votes(rng, n_items=5_000, n_workers=3, n_classes=2, n_votes=9_000)
    merged = merge_equal_items(votes)
    table = rng.normal(size=(6, 2))

    def step(block):
        return scatter(block, np.tanh(gather(block, table)))

    plain = in_memory(votes).map_sum(step)
    weighted = in_memory(merged.votes, weights=merged.weight_p).map_sum(step)
    np.testing.assert_allclose(weighted, plain, rtol=1e-12)


def test_merging_is_skipped_if_not_worthwhile():
    assert merge_equal_items(random_votes(np.random.default_rng(0), n_workers=40)) is None


@pytest.mark.parametrize("chosen", [[3, 0, 3], [], [59]])
def test_take_items_keeps_their_votes(chosen):
    votes = random_votes(np.random.default_rng(1), gold=True)
    ballot_i, taken = oracle.ballots(votes), take_items(votes, np.array(chosen, dtype=int))
    assert oracle.ballots(taken) == [ballot_i[i] for i in chosen]
    assert taken.items == tuple(votes.items[i] for i in chosen)


def test_large_panels_are_merged_and_large_crowds_are_not():
    rng = np.random.default_rng(0)
    crowd = random_votes(rng, n_items=20_000, n_workers=500, n_classes=2, n_votes=100_000)
    assert merge_equal_items(crowd, at_most=1) is None
    panel = random_votes(rng, n_items=20_000, n_workers=2, n_classes=2, n_votes=20_000)
    merged = merge_equal_items(panel)
    assert merged.weight_p.sum() == 20_000
    assert len(merged.weight_p) == len(set(oracle.ballots(panel)))


def test_items_are_drawn_up_to_so_many_votes_and_never_none():
    item = np.repeat(np.arange(50), 4)
    votes = Votes.from_codes(item, np.tile(range(4), 50), item % 2, items=range(50), workers="wxyz", labels="01")
    every = np.arange(50)
    assert draw_items(votes, every, 200, rng=np.random.default_rng(0)) is every  # they fit: nothing is drawn
    some = draw_items(votes, every[10:], 40, rng=np.random.default_rng(0))
    assert len(some) == 10  # exactly the limit is allowed
    assert (np.diff(some) > 0).all()
    assert some.min() >= 10
    assert len(draw_items(votes, every, 43, rng=np.random.default_rng(0))) == 10
    assert len(draw_items(votes, every, 3, rng=np.random.default_rng(0))) == 1


def test_hashes_are_uniform_and_independent_across_seeds():
    first, second = (name_hashes(NAMES, seed) / 2.0**64 for seed in (0, 1))
    counts = np.histogram2d(first, second, bins=10, range=[[0, 1], [0, 1]])[0]
    assert ((counts - 200) ** 2 / 200).sum() < 150  # chi squared, 99 degrees of freedom: beyond it once in 1,000
    assert len(np.unique(first)) == len(NAMES)


def test_names_that_differ_little_have_other_lots():
    names = ["", "\0", "\0\0", "a", "a\0", "aa", "ab", "ba", "é", "1", "01", "1.0"]
    assert len(np.unique(name_hashes(names, 0))) == len(names)


@pytest.mark.parametrize("n_parts", [1, 7])
def test_the_same_items_are_drawn_in_any_order_and_in_any_parts(n_parts):
    names = np.array(NAMES)
    expected = names[draw_by_name([(0, NAMES)], 0.1, 3)]
    assert len(expected) == pytest.approx(2_000, abs=150)
    mixed = np.random.default_rng(0).permutation(names)
    edges = np.linspace(0, len(mixed), n_parts + 1).astype(int)
    parts = [(int(a), mixed[a:b].tolist()) for a, b in pairwise(edges)]
    assert mixed[draw_by_name(parts, 0.1, 3)].tolist() == expected.tolist()


def test_numbers_hash_like_their_text_in_every_container():
    numbers = list(range(-5, 3_000))
    expected = name_hashes([str(number) for number in numbers], 4)
    for same in (numbers, np.array(numbers), pa.array(numbers), pa.array([str(number) for number in numbers])):
        np.testing.assert_array_equal(name_hashes(same, 4), expected)
    sliced = pa.array(["x", *map(str, numbers)]).slice(1)
    np.testing.assert_array_equal(name_hashes(sliced, 4), expected)
    assert len(name_hashes([1, "x", 2.5, ("a", 1), 10**30], 0)) == 5
    assert draw_by_name([(0, [])], 0.5, 0).tolist() == []
