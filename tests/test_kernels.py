"""Gather and scatter equal a loop over votes, for any block size, threads and weights."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles.kernels as oracle
from crowds import random_votes
from majorant.errors import ConfigError
from majorant.kernels import MemoryEngine, add_up, gather, in_memory, scatter, softmax_rows, weighted_sum
from majorant.limits import thread_count


class Sums(NamedTuple):
    table: np.ndarray
    total: np.ndarray
    count: float


def one_pass(engine: MemoryEngine, table: np.ndarray) -> Sums:
    def step(block):
        score = gather(block, table)
        return Sums(scatter(block, score), weighted_sum(block, score), float(block.stop - block.start))

    return engine.map_sum(step)


@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(1, 5),
    block_items=st.integers(1, 70),
    threads=st.integers(1, 4),
    vector=st.booleans(),
    weighted=st.booleans(),
)
def test_one_pass_equals_a_loop_over_votes(seed, n_classes, block_items, threads, vector, weighted):
    rng = np.random.default_rng(seed)
    votes = random_votes(rng, n_classes=n_classes)
    n_columns = len(votes.workers) * n_classes
    table = rng.normal(size=n_columns if vector else (n_columns, n_classes))
    weights = rng.integers(0, 4, size=len(votes.items)) if weighted else None
    sums = one_pass(in_memory(votes, weights=weights, block_items=block_items, threads=threads), table)

    score = oracle.gather(votes, table)
    np.testing.assert_allclose(sums.table, oracle.scatter(votes, score, weights), rtol=1e-12, atol=1e-12)
    plain = np.ones(len(votes.items)) if weights is None else weights
    np.testing.assert_allclose(sums.total, plain @ score, rtol=1e-12, atol=1e-12)
    assert sums.count == len(votes.items)


def test_blocks_and_threads_change_nothing_on_many_blocks():
    rng = np.random.default_rng(7)
    votes = random_votes(rng, n_items=20_000, n_workers=50, n_classes=2, n_votes=100_000)
    table = rng.normal(size=(100, 2))
    expected = one_pass(in_memory(votes, threads=1, block_items=20_000), table)
    for block_items in (1_000, 7_777, None):
        single = one_pass(in_memory(votes, threads=1, block_items=block_items), table)
        double = one_pass(in_memory(votes, threads=2, block_items=block_items), table)
        np.testing.assert_allclose(single.table, expected.table, rtol=1e-12)
        np.testing.assert_array_equal(single.table, double.table)  # threads: not even the last digit


def test_map_blocks_keeps_the_order_of_items():
    votes = random_votes(np.random.default_rng(0))
    engine = in_memory(votes, block_items=7, threads=3)
    starts = list(engine.map_blocks(lambda block: block.start))
    assert starts == sorted(starts)
    assert len(starts) > 5


def test_an_error_in_a_block_reaches_the_caller():
    engine = in_memory(random_votes(np.random.default_rng(0)), block_items=5, threads=2)

    def fail(block):
        raise KeyError(block.index)

    with pytest.raises(KeyError):
        engine.map_sum(fail)


def test_summing_does_not_modify_the_parts():
    first, second = np.ones(3), np.ones(3)
    assert add_up(iter([first, second, second])).tolist() == [3, 3, 3]
    assert first.tolist() == second.tolist() == [1, 1, 1]


def test_no_votes_and_no_items():
    votes = random_votes(np.random.default_rng(0), n_votes=0)
    assert one_pass(in_memory(votes), np.ones((27, 3))).table.sum() == 0
    nothing = random_votes(np.random.default_rng(0), n_items=1, n_votes=0)
    assert one_pass(in_memory(nothing), np.ones(27)).count == 1


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_softmax_rows_equals_a_loop(seed, n_classes):
    score = np.random.default_rng(seed).normal(scale=800, size=(20, n_classes))
    score[3, 0] = -np.inf if n_classes > 1 else 0.0
    expected = oracle.softmax(score)
    posterior, log_total = softmax_rows(score.copy())
    np.testing.assert_allclose(posterior, expected, atol=1e-14)
    np.testing.assert_allclose(log_total, np.logaddexp.reduce(score, axis=1), rtol=1e-13)


def test_softmax_of_an_impossible_row_is_uniform_and_reported():
    posterior, log_total = softmax_rows(np.full((2, 4), -np.inf))
    assert (posterior == 0.25).all()
    assert np.isneginf(log_total).all()


def test_bad_settings_are_named(monkeypatch):
    votes = random_votes(np.random.default_rng(0))
    with pytest.raises(ConfigError, match=r"weights\[2\] is -1"):
        in_memory(votes, weights=[0, 0, -1] + [1] * 57)
    with pytest.raises(ConfigError, match="shape"):
        in_memory(votes, weights=[1, 2])
    with pytest.raises(ConfigError, match="block_items"):
        in_memory(votes, block_items=0)
    monkeypatch.setenv("MAJORANT_THREADS", "many")
    with pytest.raises(ConfigError, match=r"MAJORANT_THREADS .* 'many'"):
        in_memory(votes)


def test_threads_come_from_the_argument_then_the_environment(monkeypatch):
    monkeypatch.setenv("MAJORANT_THREADS", "3")
    assert (thread_count(), thread_count(5)) == (3, 5)
    monkeypatch.delenv("MAJORANT_THREADS")
    assert thread_count() >= 1
