"""The table of labels and its columns."""

import numpy as np

import majorant as mj
from majorant.evidence.labels import gold_accuracy
from majorant.methods.majority import Majority
from majorant.results.labels import Known, label_table
from majorant.values import clopper_pearson
from majorant.votes import Votes


def small(**more):
    return Votes.from_codes(
        [0, 0, 0, 1, 1, 3, 3],
        [0, 1, 2, 0, 1, 0, 1],
        [1, 1, 0, 0, 2, 2, 2],
        items=["a", "b", "silent", "d"],
        workers=["x", "y", "z"],
        labels=["l0", "l1", "l2"],
        **more,
    )


COLUMNS = [
    "item",
    "label",
    "source",
    "confidence",
    "majority",
    "weighted_vote",
    "runner_up",
    "votes",
    "tied",
    "changed",
]


def test_a_row_says_label_source_confidence_both_rules_votes_and_tie():
    votes = small()
    table = label_table(votes, Majority().fit(votes), ties="flag")
    assert list(table) == COLUMNS
    assert table["item"] == ["a", "b", "silent", "d"]
    assert list(table["label"]) == ["l1", None, None, "l2"]
    assert list(label_table(votes, Majority().fit(votes))["source"]) == ["rule", "tie", None, "rule"]
    np.testing.assert_allclose(table["confidence"], [2 / 3, 0.5, np.nan, 1], atol=1e-9)
    assert list(table["runner_up"]) == ["l0", "l2", None, None]
    assert table["votes"].tolist() == [3, 2, 0, 2]
    assert table["tied"].tolist() == [False, True, False, False]


def test_runner_up_of_a_broken_tie_is_the_other_label():
    votes = small()
    table = label_table(votes, Majority().fit(votes), ties="prior")
    assert (table["label"][1], table["runner_up"][1], table["tied"][1]) == ("l2", "l0", True)


def test_one_class_has_no_runner_up():
    votes = Votes.from_codes([0], [0], [0], items="a", workers="x", labels=["only"])
    table = label_table(votes, Majority().fit(votes))
    assert (list(table["label"]), list(table["runner_up"])) == (["only"], [None])


def test_tie_breaking_coin_depends_only_on_the_item_name():
    rows = [(f"q{i}", worker, label) for i in range(200) for worker, label in (("x", "no"), ("y", "yes"))]
    labels = dict(zip(*(mj.check(rows).labels.to_dict()[name] for name in ("item", "label")), strict=True))
    again = mj.check(list(reversed(rows[:100]))).labels.to_dict()
    assert all(labels[item] == label for item, label in zip(again["item"], again["label"], strict=True))
    assert 60 < list(labels.values()).count("yes") < 140


def test_gold_and_expert_labels_win_over_any_rule():
    votes = small(gold=[0, -1, -1, -1])
    table = label_table(votes, Majority().fit(votes), known=Known(expert={"b": "l0", "silent": "new", "d": "l1"}))
    assert list(table["label"]) == ["l0", "l0", "new", "l1"]
    assert list(table["source"]) == ["gold", "expert", "expert", "expert"]
    assert list(table["majority"])[3] == "l2"
    assert table["changed"].tolist() == [True, table["changed"][1], False, True]
    assert table["confidence"].tolist() == [1, 1, 1, 1]


def test_gold_accuracy_counts_ties_by_expectation_and_skips_items_without_votes():
    votes = small(gold=[1, 0, 2, 0])
    accuracy = gold_accuracy(votes, Majority().fit(votes), level=0.9)
    assert (accuracy.value, accuracy.n_items) == (0.5, 3)
    assert (accuracy.low, accuracy.high) == (0.5, 0.5)  # every item with votes has a gold label
    some = gold_accuracy(small(gold=[1, 0, 2, -1]), Majority().fit(votes), level=0.9)
    assert some.low < some.value < some.high
    assert gold_accuracy(small(), Majority().fit(small()), level=0.9) is None
    assert gold_accuracy(small(gold=[-1] * 4), Majority().fit(small()), level=0.9) is None


def test_clopper_pearson_covers_the_truth_at_its_level():
    """Summed exactly over the binomial, for 200 values of the truth."""
    from scipy.stats import binom

    n, level = 25, 0.9
    ends = np.array([clopper_pearson(k, n, level) for k in range(n + 1)])
    for truth in np.linspace(0.001, 0.999, 200):
        covered = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        assert binom.pmf(np.arange(n + 1), n, truth)[covered].sum() >= level
