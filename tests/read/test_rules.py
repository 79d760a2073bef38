"""The rules of docs/input.md for repeats, status, gold and labels, checked against simple implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from majorant.errors import ConfigError, DataError
from majorant.read import read
from majorant.read.build import Coder
from majorant.read.options import Choice, find_roles
from majorant.read.table import as_list, coded
from sizes import many


def triples(votes):
    return [
        (votes.items[i], votes.workers[j], votes.labels[k])
        for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    ]


rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0, 1, None])), min_size=1, max_size=40)


def by_hand(table, policy):
    """What is left under a policy: votes in order, copies, drops; None if it must be refused."""
    votes = [row for row in table if row[2] is not None]
    if policy == "each":
        return votes, 0, 0
    keep, merged, dropped = {}, 0, 0
    for item, worker, _ in votes:
        given_labels = [v[2] for v in votes if v[:2] == (item, worker)]
        if policy == "error" and len(set(given_labels)) > 1:
            return None
        keep[item, worker] = given_labels[-1 if policy == "last" else 0]
    for item, worker, label in votes:
        merged += label == keep[item, worker]
        dropped += label != keep[item, worker]
    return [(*pair, label) for pair, label in keep.items()], merged - len(keep), dropped


@settings(max_examples=many(150, quick=30), deadline=None)
@given(table=rows, policy=st.sampled_from(["error", "first", "last", "each"]))
def test_repeats_and_abstentions_against_counting_by_hand(table, policy):
    expected = by_hand(table, policy)
    if expected is None or not expected[0]:
        with pytest.raises(DataError, match=r"second time|no row contains a vote"):
            read(table, repeats=policy)
        return
    votes = read(table, repeats=policy)
    kept, merged, dropped = expected
    assert sorted(triples(votes)) == sorted(kept)
    assert (votes.account.merged, votes.account.dropped) == (merged, dropped)
    assert votes.account.abstained == sum(label is None for _, _, label in table)
    assert votes.account.balanced
    silent = {(i, j) for i, j, label in table if label is None} - {(i, j) for i, j, label in table if label is not None}
    counts = [sum(item == i for i, _ in silent) for item in votes.items]
    assert (votes.abstained_i.tolist() if votes.abstained_i is not None else [0] * len(votes.items)) == counts


def test_the_first_row_that_differs_is_refused():
    table = [("a", "w", 0), ("b", "w", 1), ("b", "w", 1), ("b", "w", 0), ("a", "w", 1)]
    with pytest.raises(DataError, match="row 4: worker 'w' labels item 'a'"):
        read(table)


def test_seconds_follow_their_votes():
    table = {"item": "baab", "worker": "xxyx", "label": "1111", "seconds": ["4", 3, 2.5, None]}
    votes = read({key: list(values) for key, values in table.items()}, repeats="last")
    assert votes.items == ("b", "a")
    assert np.isnan(votes.seconds_n[0])
    assert votes.seconds_n[1:].tolist() == [3, 2.5]


@pytest.mark.parametrize(
    ("status", "counts"),
    [("ok", True), ("OK ", True), (None, True), (True, True), ("abstain", False), ("parse_error", False),
     ("Refused", False), ("timed out", False), (False, False)],
)  # fmt: skip
def test_status(status, counts):
    votes = read({"item": [1, 1], "worker": ["a", "b"], "label": ["x", "y"], "status": ["ok", status]})
    assert votes.n_votes == 1 + counts
    assert votes.workers == ("a", "b")
    assert votes.labels == (("x", "y") if counts else ("x",))
    assert (0 if votes.abstained_i is None else votes.abstained_i.sum()) == (not counts)


def test_status_on_failed_votes_only(tmp_path):
    good = '{"item":1,"worker":"a","label":"x"}\n'
    (tmp_path / "v.jsonl").write_text(good + '{"item":1,"worker":"b","status":"error"}\n')
    votes = read(tmp_path / "v.jsonl")
    assert votes.abstained_i.tolist() == [1]


def test_gold_file(tmp_path):
    (tmp_path / "v.csv").write_text("item,worker,label\n01,a,1\n2,a,0\n3,a,1\n")
    (tmp_path / "g.csv").write_text("task,expected\n01,1\n2,7\n9,1\n")
    votes = read(tmp_path / "v.csv", gold_file=tmp_path / "g.csv")
    assert votes.labels == (0, 1, 7)
    assert votes.gold_i.tolist() == [1, 2, -1]
    assert {note.kind for note in votes.account.notes} == {"gold-unused", "gold-unknown-items"}
    votes = read([(2, "a", True), (3, "a", False)], gold_file={"item": ["2"], "label": ["True"]})
    assert [votes.labels[k] if k >= 0 else None for k in votes.gold_i] == [True, None]


def test_gold_file_that_is_wrong(tmp_path):
    votes = [("q1", "a", 1)]
    with pytest.raises(DataError, match="row 1: item 'q1' has gold label 0, but 1"):
        read(votes, gold_file={"item": ["q1", "q1"], "gold": [1, 0]})
    with pytest.raises(DataError, match=r"none of its 1 items, e\.g\. 'x'"):
        read(votes, gold_file={"item": ["x"], "gold": [1]})
    with pytest.raises(ConfigError, match="gold=''"):
        read({"item": [1], "worker": [1], "label": [1], "gold": [1]}, gold_file={"item": [1], "gold": [1]})
    with pytest.raises(DataError, match="the gold"):
        read(votes, gold_file={"item": ["q1"], "colour": [1]})


@pytest.mark.parametrize(
    "names",
    [["item", "worker", "label"], ["Task", "ANNOTATOR", "Rating"], ["item_id", "Worker ID", "answer"],
     ["example", "workerId", "value"], ["id", "model", "response"], ["question", "judge", "vote"]],
)  # fmt: skip
def test_usual_names_are_known(names):
    assert find_roles(names, Choice.of(), "v") == {"item": 0, "worker": 1, "label": 2}


def test_explicit_columns_take_precedence_over_names():
    names = ["label", "worker", "value", "text", "comment"]
    assert find_roles(names, Choice.of(item="TEXT", label="value"), "v") == {"item": 3, "worker": 1, "label": 2}
    assert "gold" not in find_roles(["item", "worker", "label", "gold"], Choice.of(gold=""), "v")


def test_unused_columns_and_choices_are_in_the_account():
    votes = read({"task": [1], "user": [2], "answer": [3], "comment": ["x"]})
    assert votes.account.columns == {"item": "task", "worker": "user", "label": "answer"}
    assert votes.account.ignored == ("comment",)


def test_max_classes():
    table = [(k, "w", k) for k in range(20)]
    assert len(read(table, max_classes=20).labels) == 20
    with pytest.raises(DataError, match="more than 19 different labels"):
        read(table, max_classes=19)


def test_progress_receives_rows_read_so_far():
    seen = []
    read([(k, "w", 1) for k in range(5)], progress=seen.append)
    assert seen[-1] == 5


columns = st.lists(st.lists(st.sampled_from(["a", "b", "c", "1", 1, 1.0, True, None]), max_size=6), max_size=8)


@settings(max_examples=many(200, quick=30), deadline=None)
@given(parts=columns)
def test_codes_of_parts_equal_codes_of_the_whole(parts):
    import pyarrow as pa

    whole = [value for part in parts for value in part]
    expected = coded(whole, "v", "label")
    coder = Coder("v", "label", merge_at=2)  # so that parts merge as they come
    for part in parts:
        text = all(isinstance(value, str) for value in part)
        coder.add(pa.array(part, pa.string()) if text else coded(part, "v", "label"))
    code_n, _, known = coder.finish()
    assert code_n.tolist() == expected.code_n.tolist()
    assert [(type(v), v) for v in as_list(known)] == [(type(v), v) for v in expected.values]


def test_codes_are_stable_across_parts():
    import pyarrow as pa

    rng = np.random.default_rng(0)
    names = [f"i{n}" for n in np.concatenate([rng.permutation(500) for _ in range(4)])]
    coder = Coder("votes.csv", "item")
    for start in range(0, len(names), 250):
        coder.add(pa.array(names[start : start + 250]))
    assert not coder.repeats
    code_n, _, known = coder.finish()
    first = {}
    assert code_n.tolist() == [first.setdefault(name, len(first)) for name in names]
    assert known.to_pylist() == list(first)
