"""Gold that is no random sample, or is wrong: what is said of each, and that nothing false is called proved."""

from types import SimpleNamespace

import numpy as np
import pytest

import majorant as mj
from majorant.evidence.evidence import Certainty
from majorant.render.answer import evidence_line

OTHER = {"n": "y", "y": "n"}
NO_SAMPLE = "not a random sample"


@pytest.fixture(scope="module")
def crowd():
    """Fourteen workers who are right on 60% and six on 90%: votes, truth, majority's label and the votes by item."""
    rng, accuracy_j = np.random.default_rng(0), np.array([0.6] * 14 + [0.9] * 6)
    rows, truth = [], {}
    for i in range(300):
        truth[f"i{i}"] = "ny"[rng.integers(2)]
        for j in rng.choice(20, 5, replace=False):
            label = truth[f"i{i}"] if rng.random() < accuracy_j[j] else OTHER[truth[f"i{i}"]]
            rows.append((f"i{i}", f"w{j}", label))
    votes = mj.read(rows)
    majority = dict(zip(votes.items, mj.aggregate(votes, "majority").labels(), strict=True))
    said = {item: {row[2] for row in rows if row[0] == item} for item in truth}
    return votes, truth, majority, said


def wrong_ones(truth, share, rng):
    return {item: OTHER[label] if rng.random() < share else label for item, label in truth.items()}


def errors(c):
    return [item for item in c.truth if c.majority[item] != c.truth[item]]


SAME = "are the same, and majority vote often disagrees. Was a column filled in by accident?"
GOLD = {  # kind of gold -> the labels, and what must be said; nothing where no test can tell
    "errors only": (lambda c: {i: c.truth[i] for i in errors(c)}, "labels. Is this a list of its errors?"),
    "disputed only": (
        lambda c: {i: c.truth[i] for i in [*c.truth][:90] if len(c.said[i]) > 1},
        f"{NO_SAMPLE}: 100% of them are disputed",
    ),
    "unanimous only": (
        lambda c: {i: c.truth[i] for i in c.truth if len(c.said[i]) == 1},
        f"{NO_SAMPLE}: 0% of them are disputed",
    ),
    "half an audit of errors": (lambda c: {i: c.truth[i] for i in [*errors(c)[:40], *[*c.sample][:20]]}, NO_SAMPLE),
    "all one label": (lambda c: dict.fromkeys(c.sample, "y"), f"All 60 labels {SAME}"),
    "thirty of one label": (lambda c: dict.fromkeys([*c.sample][:30], "n"), f"All 30 labels {SAME}"),
    "10% wrong": (lambda c: wrong_ones(c.sample, 0.1, c.rng), ""),
    "25% wrong": (lambda c: wrong_ones(c.sample, 0.25, c.rng), ""),
    "an expert who follows the majority": (
        lambda c: {i: c.majority[i] if c.rng.random() < 0.5 else c.truth[i] for i in c.sample},
        "",
    ),
}


@pytest.mark.parametrize("kind", GOLD)
def test_what_is_said_of_gold_that_is_no_random_sample(crowd, kind):
    votes, truth, majority, said = crowd
    rng = np.random.default_rng(1)
    sample = {item: truth[item] for item in rng.permutation([*truth])[:60].tolist()}
    make, sentence = GOLD[kind]
    gold = make(SimpleNamespace(truth=truth, majority=majority, said=said, sample=sample, rng=rng))
    result = mj.check(votes_with(votes, gold), rng=0)
    assert result.answer.certainty is not Certainty.PROVED
    told = evidence_line(result)
    if sentence:
        assert sentence in told
        assert result.answer.rule != "learned"
    else:
        assert "teach and prove nothing" not in told


def votes_with(votes, gold):
    table = votes.table()
    rows = {name: [*values] for name, values in table.items()}
    return {**rows, "gold": [gold.get(item) for item in rows["item"]]}


def test_random_gold_of_one_class_that_the_votes_share_is_believed():
    """A class of 97%: thirty random labels are usually all the same, and so is majority vote there."""
    rng = np.random.default_rng(2)
    truth = {f"i{i}": "y" if i % 33 == 0 else "n" for i in range(330)}
    rows = [
        (item, f"w{j}", label if rng.random() < 0.95 else OTHER[label])
        for item, label in truth.items()
        for j in range(5)
    ]
    gold = {item: truth[item] for item in [*truth][1:31]}
    result = mj.check(rows, gold_file={"item": [*gold], "gold": [*gold.values()]}, rng=0)
    assert result.gold_sample is None or not result.gold_sample.one_label
