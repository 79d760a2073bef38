"""The worked example of docs/ask.md, on the public set that it names: every sentence of it is what is printed now."""

from dataclasses import replace
from pathlib import Path

import pytest

import majorant as mj
import real
from majorant import wording

PAGE = " ".join(
    (Path(__file__).parents[2] / "docs" / "ask.md").read_text(encoding="utf-8").replace("\n> ", " ").split()
)


@pytest.fixture(scope="module")
def votes():
    return real.load("SP")


def test_the_page_says_what_ask_says(votes):
    truth = {votes.items[i]: votes.labels[k] for i, k in enumerate(votes.gold_i) if k >= 0}
    assert f"SP: {votes.shape[0]:,} items, {votes.shape[1]:,} workers, two classes" in PAGE
    design = mj.ask(replace(votes, gold_i=None), n=25)
    before = design.evaluate({})
    facts = (before.n_differ, before.n_items, before.facts["stake"], before.tolerance)
    assert wording.at_stake(before.rules, *facts) in PAGE
    assert wording.labels_planned(design.expected, 25) in PAGE
    for labels in (25, 40):
        asked = design.more(labels - 25)
        assert wording.outcome_sentence(asked.evaluate({item: truth[item] for item in asked.items})) in PAGE
