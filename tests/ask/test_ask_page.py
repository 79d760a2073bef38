"""The worked example of docs/ask.md matches the current output on the public data set that it names."""

from dataclasses import replace
from pathlib import Path

import pytest

import majorant as mj
import real
from majorant.render.ask import at_stake, labels_planned, outcome_sentence

PAGE = " ".join(
    (Path(__file__).parents[2] / "docs" / "ask.md").read_text(encoding="utf-8").replace("\n> ", " ").split()
)


@pytest.fixture(scope="module")
def votes():
    return real.load("SP")


def test_page_and_ask_say_the_same(votes):
    truth = {votes.items[i]: votes.labels[k] for i, k in enumerate(votes.gold_i) if k >= 0}
    assert f"SP has {votes.shape[0]:,} items, {votes.shape[1]:,} workers and two classes" in PAGE
    design = mj.ask(replace(votes, gold_i=None), n=25)
    before = design.evaluate({})
    assert at_stake(before.rules, before.n_differ, before.n_items, before.tolerance) in PAGE
    assert labels_planned(design.expected, 25) in PAGE
    assert outcome_sentence(design.evaluate({item: truth[item] for item in design.items[:10]})) in PAGE
