"""Vote counts against plain loops."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from majorant.errors import ConfigError
from majorant.tally import (
    by_votes,
    counts,
    distinct_counts,
    histograms,
    pair_counts,
    tally,
    tied,
    votes_by_worker,
)
from majorant.votes import Votes
from oracles.agreement import pair_tables


def make_votes(triples, n_items, n_workers, n_classes):
    item, worker, label = np.array(triples, dtype=int).reshape(-1, 3).T
    return Votes.from_codes(
        item, worker, label, items=range(n_items), workers=range(n_workers), labels=range(n_classes)
    )


@st.composite
def crowds(draw, max_classes=4):
    """Any votes, repeats of a worker on an item and items without votes included."""
    n_items, n_workers, n_classes = draw(st.integers(1, 7)), draw(st.integers(1, 5)), draw(st.integers(1, max_classes))
    vote = st.tuples(st.integers(0, n_items - 1), st.integers(0, n_workers - 1), st.integers(0, n_classes - 1))
    return make_votes(draw(st.lists(vote, max_size=40)), n_items, n_workers, n_classes)


def loop_counts(votes):
    counted = np.zeros((len(votes.items), len(votes.labels)), dtype=int)
    for i, l in zip(votes.item_n, votes.label_n, strict=True):
        counted[i, l] += 1
    return counted


@given(crowds(), st.sampled_from([1, 2, 3, 1 << 18]))
def test_counts_equal_a_loop_for_any_block(votes, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("majorant.tally.VOTES_PER_BLOCK", block)
        found = counts(votes)
        assert np.array_equal(votes_by_worker(votes).sum(), votes.n_votes)
    assert np.array_equal(found, loop_counts(votes))


@given(crowds(), st.sampled_from([1, 3, 1 << 13]))
def test_ties_and_patterns_equal_a_loop_for_any_block(votes, block):
    rows = loop_counts(votes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("majorant.tally.ROWS_PER_BLOCK", block)
        found, patterns = tied(rows), distinct_counts(rows)
    assert found.tolist() == [bool(row.max() > 0 and (row == row.max()).sum() > 1) for row in rows]
    expected = sorted(Counter(map(tuple, rows.tolist())).items())
    assert list(zip(map(tuple, patterns.counts_pk.tolist()), patterns.items_p.tolist(), strict=True)) == expected
    assert patterns.votes_p.tolist() == [sum(row) for row, _ in expected]


@pytest.mark.parametrize("n_classes", [3, 12, 40])
def test_patterns_are_the_same_by_digits_by_sorting_and_by_ranks(n_classes):
    """Few, many and overflowing keys take different code paths: 2**62 holds 12 digits of base 30 but not 40."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 30, size=(50, n_classes))[rng.integers(50, size=400)]
    rows[0, 0] = 29
    patterns = distinct_counts(rows)
    expected, number = np.unique(rows, axis=0, return_counts=True)
    assert np.array_equal(patterns.counts_pk, expected)
    assert np.array_equal(patterns.items_p, number)


@given(crowds(max_classes=2))
def test_histograms_count_items_by_votes_for_the_first_class(votes):
    rows = loop_counts(votes)
    found = histograms(votes)
    assert set(found) == {int(row.sum()) for row in rows if row.sum()}
    for n_votes, items in found.items():
        assert items.tolist() == [
            sum(int(row.sum() == n_votes and row[0] == k) for row in rows) for k in range(n_votes + 1)
        ]
    assert {n: h.tolist() for n, h in tally(votes).histograms.items()} == {n: h.tolist() for n, h in found.items()}


def test_histograms_reject_three_classes_with_advice():
    votes = make_votes([(0, 0, 2)], 1, 1, 3)
    with pytest.raises(ConfigError, match="by_votes"):
        histograms(votes)
    assert tally(votes).histograms is None


@given(crowds())
def test_patterns_by_votes_partition_the_items_with_votes(votes):
    rows = loop_counts(votes)
    for n_votes, group in by_votes(distinct_counts(rows)).items():
        expected = Counter(tuple(row) for row in rows.tolist() if sum(row) == n_votes)
        assert dict(zip(map(tuple, group.counts_pk.tolist()), group.items_p.tolist(), strict=True)) == expected


@given(crowds())
def test_votes_by_worker_equal_a_loop(votes):
    expected = np.zeros(votes.shape[1:], dtype=int)
    for j, l in zip(votes.worker_n, votes.label_n, strict=True):
        expected[j, l] += 1
    found = tally(votes)
    assert np.array_equal(found.votes_jl, expected)
    assert np.array_equal(found.votes_j, expected.sum(axis=1))
    assert not found.counts_ik.flags.writeable


def ballots_of(votes):
    """For each item its (worker, label), as the oracle wants them."""
    ballots = [[] for _ in votes.items]
    for i, j, l in zip(votes.item_n.tolist(), votes.worker_n.tolist(), votes.label_n.tolist(), strict=True):
        ballots[i].append((j, l))
    return ballots


@given(crowds(), st.sampled_from([1, 10, 1000]))
def test_pair_tables_equal_a_loop_for_any_chunk(votes, chunk):
    n_classes = len(votes.labels)
    found_items, found_tables = {}, {}
    for pairs in pair_counts(votes, chunk_pairs=chunk):
        table_pkl = pairs.table_pc.toarray().reshape(-1, n_classes, n_classes)
        assert np.array_equal(pairs.vote_pairs_p, table_pkl.sum(axis=(1, 2)))
        assert np.array_equal(pairs.agreed_p, np.trace(table_pkl, axis1=1, axis2=2))
        for a, b, items, table_kl in zip(
            pairs.worker_a_p.tolist(), pairs.worker_b_p.tolist(), pairs.items_p.tolist(), table_pkl, strict=True
        ):
            found_items[a, b] = items
            found_tables[a, b] = {cell: int(table_kl[cell]) for cell in zip(*np.nonzero(table_kl), strict=True)}
    assert (found_items, found_tables) == pair_tables(ballots_of(votes))


def test_a_crowded_item_stays_within_the_chunks():
    n_workers = 2000
    votes = make_votes([(0, j, j % 2) for j in range(n_workers)] + [(1, 0, 0), (1, 1, 0)], 3, n_workers, 2)
    n_pairs = 0
    for pairs in pair_counts(votes, chunk_pairs=500_000):
        assert pairs.table_pc.nnz <= 500_000
        n_pairs += len(pairs.items_p)
    assert n_pairs == n_workers * (n_workers - 1) // 2


def test_an_item_with_half_a_million_votes_is_counted():
    label_n = np.arange(500_001) % 2
    votes = Votes.from_codes(
        np.r_[np.zeros(500_001, int), 2, 2],
        np.zeros(500_003),
        np.r_[label_n, 0, 1],
        items="abc",
        workers="w",
        labels="ny",
    )
    assert counts(votes).tolist() == [[250_001, 250_000], [0, 0], [1, 1]]
    assert tied(counts(votes)).tolist() == [False, False, True]
