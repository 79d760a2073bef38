"""Tables of pairwise judgements are read as votes, without a flag, and the order of the candidates is handled."""

import pytest

import majorant as mj
from majorant.read.options import Choice
from majorant.read.pair_orders import is_tie
from majorant.read.pairs import find_columns, read_pairs


def arena(winners, *, swapped=None, **more):
    """Two judgements of q1 by one judge, x shown first and then y."""
    table = {
        "question_id": ["q1", "q1"],
        "model_a": ["x", "y"],
        "model_b": ["y", "x"],
        "judge": ["gpt", "gpt"],
        "winner": winners,
    }
    return {**table, **({} if swapped is None else {"swapped": swapped}), **more}


@pytest.mark.parametrize(
    ("winners", "label"),
    [
        (["A", "B"], "x"),
        (["model_a", "model_b"], "x"),
        (["x", "x"], "x"),
        (["[[B]]", "[[A]]"], "y"),
        (["2", "1"], "y"),
        (["tie (bothbad)", "Tie"], "tie"),
        (["A", "A"], "tie"),  # whichever came first: no preference
        (["first", "second"], "x"),
    ],
)
def test_a_judge_asked_in_both_orders_has_one_vote(winners, label):
    votes = mj.read(arena(winners))
    assert votes.to_dict() == {"item": ["q1 | x vs y"], "worker": ["gpt"], "label": [label]}


def test_flips_are_counted_by_direction():
    table = {
        "question": [1, 1, 2, 2, 3, 3, 4],
        "model_a": list("xyxyxyx"),
        "model_b": list("yxyxyxy"),
        "judge": ["j"] * 7,
        "winner": ["A", "A", "B", "B", "A", "B", "A"],
    }
    (judged,) = read_pairs(table).judged
    assert (judged.both_orders, judged.consistent, judged.first_twice, judged.second_twice) == (3, 1, 1, 1)
    assert (judged.for_first, judged.for_second) == (4, 3)


def test_swapped_column_reverses_positions():
    table = arena(["A", "A"], model_a=["x", "x"], model_b=["y", "y"], order=["original", "swapped"])
    assert mj.read(table).to_dict()["label"] == ["tie"]
    named = arena(["x", "x"], model_a=["x", "x"], model_b=["y", "y"], order=["original", "swapped"])
    assert mj.read(named).to_dict()["label"] == ["x"]


def test_several_pairs_become_slices():
    table = {
        "prompt": ["p"] * 3,
        "model_1": ["x", "y", "x"],
        "model_2": ["y", "z", "z"],
        "judge": ["j"] * 3,
        "winner": ["x", "z", "tie"],
    }
    pairs = read_pairs(table)
    assert pairs.candidates == (("x", "y"), ("x", "z"), ("y", "z"))
    assert pairs.votes.slices == ("x vs y", "x vs z", "y vs z")


def test_gold_in_the_same_layout_finds_its_items():
    gold = {"question_id": ["q1"], "model_a": ["y"], "model_b": ["x"], "winner": ["B"]}
    votes = mj.read(arena(["A", "B"]), gold_file=gold)
    assert votes.to_dict()["gold"] == ["x"]


def test_the_users_own_column_names():
    table = {"q": ["1"], "model_a": ["x"], "model_b": ["y"], "who": ["j"], "verdict": ["A"]}
    assert mj.read(table, item="q", worker="who").to_dict()["label"] == ["x"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (arena(["A", "C3PO"]), "row 1: winner 'C3PO' is neither 'y' nor 'x'"),
        (arena(["A", "B"], model_b=["y", "y"]), "row 1: a pair needs two candidates, not 'y' and 'y'"),
        (arena(["A", "B"], model_a=["x", "x"], model_b=["y", "y"]), "twice in the same order, 'y' after 'x'"),
    ],
)
def test_inconsistent_arguments_are_named(table, said):
    with pytest.raises(mj.DataError, match=said):
        mj.read(table)


@pytest.mark.parametrize(
    "names",
    [
        ["item", "worker", "label"],
        ["question", "model", "judge", "winner"],
        ["question", "model_a", "model_b", "winner"],
    ],
)
def test_other_tables_are_unchanged(names):
    assert find_columns(names, Choice.of(), "votes.csv") is None


def test_words_for_a_tie():
    assert all(map(is_tie, ["tie", "TIE", "tie (bothbad)", "draw", "neither"]))
    assert not any(map(is_tie, ["A", "model_b", "x"]))
