"""Codes of whole numbers and the counting sort, beside dictionaries and Python's own sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from majorant.backend.spill import MOST_SHIFTS, any_repeat, grouped, pack_keys, unpack_keys
from majorant.read.encode import DenseTable

PARTS = st.lists(st.lists(st.integers(-40, 40), max_size=30), max_size=6)


@given(PARTS, st.sampled_from([0, 500, -(2**63) + 50, 2**62]))
def test_numbers_get_codes_in_order_of_appearance(parts, middle):
    table, known = DenseTable(room=10_000), {}
    for part in parts:
        code_n, new = table.encode(np.array([middle + x for x in part], dtype=np.int64))
        expected = [known.setdefault(middle + x, len(known)) for x in part]
        assert code_n.tolist() == expected
        assert [middle + part[n] for n in new] == list(known)[len(known) - len(new) :]
    assert table.numbers().tolist() == list(known)


def test_numbers_too_far_apart_are_refused_before_memory_is_taken():
    table = DenseTable(room=4_000)
    near = np.arange(100)
    assert table.bytes_with(near) <= 4_000
    table.encode(near)
    held = table.code_v.nbytes
    assert table.bytes_with(np.array([50])) == held
    assert table.bytes_with(np.array([999])) > held
    assert table.bytes_with(np.array([5_000])) is None
    many = np.arange(900)  # so many ids would pay for a table of 5,000 places
    assert table.bytes_with(np.append(many, 5_000)) is not None


@given(st.lists(st.integers(0, 9), max_size=80), st.booleans())
def test_records_are_grouped_in_their_order(groups, alone):
    dtype = np.dtype([("key", np.int64)] if alone else [("key", np.int64), ("gold", np.int32)])
    records = np.zeros(len(groups), dtype)
    records["key"] = np.arange(len(groups))
    found, begin = grouped(records, np.array(groups, dtype=np.int32), 10)
    assert found["key"].tolist() == sorted(range(len(groups)), key=groups.__getitem__)
    assert begin.tolist() == [sum(g < group for g in groups) for group in range(11)]


@pytest.mark.parametrize("n_votes", [1, 2, MOST_SHIFTS, MOST_SHIFTS + 1, 60])
def test_a_worker_who_votes_twice_on_an_item_is_seen(n_votes):
    rng = np.random.default_rng(n_votes)
    item_n = np.repeat(np.arange(20, dtype=np.int32), n_votes)
    worker_n = np.concatenate([rng.permutation(100)[:n_votes] for _ in range(20)]).astype(np.int32)
    zero_n = np.zeros_like(item_n)
    assert not any_repeat(pack_keys(item_n, worker_n, zero_n), n_votes)
    if n_votes > 1:
        worker_n[7 * n_votes + n_votes - 1] = worker_n[7 * n_votes]
        assert any_repeat(pack_keys(item_n, worker_n, zero_n), n_votes)


def test_a_vote_fits_one_number_at_its_limits():
    codes = np.array([[0, 65_535], [0, 2**31 - 1], [-1, 65_533]], dtype=np.int32)
    key_n = pack_keys(*codes)
    assert (key_n >= 0).all()
    assert [column.tolist() for column in unpack_keys(key_n)] == codes.tolist()
