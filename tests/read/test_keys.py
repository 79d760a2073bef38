"""Composite item keys, and gold labels in every form."""

import json

import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import majorant as mj
from majorant.cli import majorant
from majorant.read.reshape import join_key, split_key
from majorant.votes import NoteKind

JUDGES = ("claude", "gemini", "gpt")
ROWS = [
    (f"q{i}", system, judge, "pass" if (5 * i + 3 * j + 2 * s) % 4 else "fail")
    for i in range(15)
    for s, system in enumerate(("A", "B"))
    for j, judge in enumerate(JUDGES)
]
PANEL = pd.DataFrame(ROWS, columns=["question", "system", "judge", "verdict"])
HUMAN = pd.DataFrame(
    [(f"q{i}", system, "pass" if i % 3 else "fail") for i in range(8) for system in "AB"],
    columns=["question", "system", "label"],
)
KEY = "question,system"


@pytest.fixture(params=["csv", "jsonl", "parquet", "pandas", "polars", "dict", "records"])
def panel(request, tmp_path):
    path = tmp_path / f"panel.{request.param}"
    if request.param == "csv":
        PANEL.to_csv(path, index=False)
    elif request.param == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in PANEL.to_dict("records")))
    elif request.param == "parquet":
        PANEL.to_parquet(path)
    else:
        columns = PANEL.to_dict("list")
        return {
            "pandas": PANEL, "polars": pl.DataFrame(columns), "dict": columns, "records": PANEL.to_dict("records"),
        }[request.param]  # fmt: skip
    return path


@pytest.mark.parametrize("key", [KEY, "question, system", ["question", "system"], ("question", "system")])
def test_two_columns_name_an_item_in_any_source(panel, key):
    votes = mj.read(panel, item=key)
    assert votes.shape == (30, 3, 2)
    assert votes.items[:2] == ("q0 | A", "q0 | B")
    assert votes.account.columns["item"] == KEY
    assert votes.account.ignored == ()


def test_system_column_is_added_to_the_item_automatically(panel):
    votes = mj.read(panel)
    assert votes.shape == (30, 3, 2)
    (note,) = votes.account.notes
    assert note.kind == NoteKind.JOINED_ITEMS
    assert note.facts == {"columns": ["question", "system"]}


@pytest.mark.parametrize("key", [None, KEY])
def test_slices_by_system(panel, key):
    votes = mj.read(panel, by="system", item=key)
    assert votes.slices == ("A", "B")
    assert [votes.slices[s] for s in votes.slice_i[:2]] == ["A", "B"]


@pytest.mark.parametrize("key", [None, KEY])
def test_true_labels_find_their_items_by_the_same_two_columns(panel, key, tmp_path):
    path = tmp_path / "human.csv"
    HUMAN.to_csv(path, index=False)
    for gold in (path, str(path), HUMAN, HUMAN.to_dict("list"), {"q1 | A": "pass", "q2 | B": "fail"}):
        votes = mj.read(panel, item=key, gold=gold)
        known = {votes.items[i]: votes.labels[k] for i, k in enumerate(votes.gold_i) if k >= 0}
        assert known["q1 | A"] == "pass"
        assert len(known) == (2 if isinstance(gold, dict) and "q1 | A" in gold else 16)


def test_a_column_may_have_a_comma_in_its_name():
    frame = PANEL[PANEL.system == "A"].rename(columns={"question": "a,b"})
    assert mj.read(frame, item="a,b").items[0] == "q0"


def test_a_missing_or_empty_part_is_an_error():
    with pytest.raises(mj.ConfigError, match="no column 'sytem' to take for the item"):
        mj.read(PANEL, item="question,sytem")
    with pytest.raises(mj.DataError, match="the item is empty"):
        mj.read(PANEL.assign(system=[None, *PANEL.system[1:]]), item=KEY)


@given(st.lists(st.lists(st.text("|a ", max_size=4), min_size=2, max_size=2), max_size=12))
def test_composite_keys_are_unique_and_reversible(parts):
    assert len({join_key(part) for part in parts}) == len(set(map(tuple, parts)))
    for part in parts:
        if not any(text.strip() != text for text in part):
            assert split_key(join_key(part)) == tuple(part)


def test_wide_tables_and_texts_with_keys(tmp_path):
    wide = PANEL.pivot_table(index=["question", "system"], columns="judge", values="verdict", aggfunc="first")
    path = tmp_path / "wide.csv"
    wide.reset_index().assign(text="hm " + wide.reset_index().question).to_csv(path, index=False)
    votes = mj.read(path, item=KEY)
    assert votes.shape == (30, 3, 2)
    assert votes.text(["q1 | B", "q2 | A"]) == ["hm q1", "hm q2"]


def test_commands_take_keys_slices_and_true_labels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PANEL.to_csv("panel.csv", index=False)
    HUMAN.to_csv("human.csv", index=False)
    for command in (
        ["check", "panel.csv", "--item", KEY, "--by", "system"],
        ["check", "panel.csv", "--by", "system", "--gold", "human.csv"],
        ["workers", "panel.csv", "--gold", "human.csv"],
        ["agreement", "panel.csv", "--item", KEY],
        ["check", "panel.csv", "--item", KEY, "--gold-file", "human.csv", "--memory", "1GB"],
    ):
        done = CliRunner().invoke(majorant, command)
        assert done.exit_code == 0, (command, done.output)


SIMPLE = PANEL[PANEL.system == "A"][["question", "judge", "verdict"]].reset_index(drop=True)
TRUE = {f"q{i}": "pass" if i % 3 else "fail" for i in range(8)}
GOLD = {
    "dict": TRUE,
    "Series": pd.Series(TRUE),
    "Series with a name": pd.Series(TRUE, name="label").rename_axis("question"),
    "frame": pd.DataFrame({"question": list(TRUE), "label": list(TRUE.values())}),
    "frame with other names": pd.DataFrame({"item": list(TRUE), "truth": list(TRUE.values())}),
    "indexed frame": pd.DataFrame({"question": list(TRUE), "label": list(TRUE.values())}).set_index("question"),
    "polars": pl.DataFrame({"question": list(TRUE), "gold": list(TRUE.values())}),
    "dict of columns": {"item": list(TRUE), "gold": list(TRUE.values())},
    "list of dicts": [{"question": item, "gold": label} for item, label in TRUE.items()],
}


@pytest.mark.parametrize("way", GOLD)
def test_gold_may_be_anything_that_pairs_items_with_labels(way):
    votes = mj.read(SIMPLE, gold=GOLD[way])
    assert {votes.items[i]: votes.labels[k] for i, k in enumerate(votes.gold_i) if k >= 0} == TRUE
    assert mj.check(SIMPLE, gold=GOLD[way]).gold is not None


def test_gold_may_be_a_column_a_path_or_nothing(tmp_path):
    assert mj.read(SIMPLE.assign(h="pass"), gold="h").gold_i.min() == 1
    assert mj.read(SIMPLE.assign(gold="pass"), gold="").gold_i is None
    with pytest.raises(mj.DataError, match=r"truth\.csv: no such file"):
        mj.read(SIMPLE, gold=tmp_path / "truth.csv")
    with pytest.raises(mj.ConfigError, match="no column 'truth' to take for the gold"):
        mj.read(SIMPLE, gold="truth")
    with pytest.raises(mj.ConfigError, match="gold= and gold_file= both"):
        mj.read(SIMPLE, gold=TRUE, gold_file="truth.csv")


def test_items_of_a_gold_file_without_votes_are_noted():
    votes = mj.read(SIMPLE, gold={**TRUE, "q99": "pass"})
    facts = next(note.facts for note in votes.account.notes if note.kind == NoteKind.GOLD_UNKNOWN_ITEMS)
    assert (facts["items"], facts["count"]) == (["q99"], 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [("item", 3), ("worker", ["a"]), ("label", 1.5), ("threshold", float("nan")), ("threshold", "x"), ("wide", "yes"),
     ("empty", 3), ("workers", [1]), ("max_classes", 0), ("codes", [1]), ("repeats", None), ("several", 1)],
)  # fmt: skip
def test_arguments_of_the_wrong_type_are_refused_by_name(name, value):
    with pytest.raises(mj.ConfigError, match=name):
        mj.read(SIMPLE, **{name: value})


@pytest.mark.parametrize(
    "source", [{"a": 1}, {"item": "q1", "worker": "w", "label": "x"}, "x" * 5000, "item,worker\na,b"]
)
def test_non_tables_are_rejected_with_a_message(source):
    with pytest.raises(mj.ConfigError, match=r"not a column|not the name of a file"):
        mj.read(source)
