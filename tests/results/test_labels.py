"""The label table: what stands behind each label."""

import numpy as np

from majorant.evidence.labels import gold_accuracy
from majorant.methods.majority import Majority
from majorant.results.labels import label_table
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


def test_a_row_says_label_confidence_runner_up_margin_votes_and_tie():
    votes = small()
    table = label_table(votes, Majority().fit(votes))
    assert table["item"] == ["a", "b", "silent", "d"]
    assert list(table["label"]) == ["l1", None, None, "l2"]
    np.testing.assert_allclose(table["confidence"], [2 / 3, 0.5, np.nan, 1], atol=1e-9)
    assert list(table["runner_up"]) == ["l0", "l2", None, None]
    np.testing.assert_allclose(table["margin"], [1 / 3, 0, np.nan, 1], atol=1e-9)
    assert table["votes"].tolist() == [3, 2, 0, 2]
    assert table["tied"].tolist() == [False, True, False, False]


def test_a_broken_tie_names_the_other_as_runner_up():
    votes = small()
    table = label_table(votes, Majority().fit(votes), ties="prior")
    assert (table["label"][1], table["runner_up"][1], table["tied"][1]) == ("l2", "l0", True)


def test_one_class_has_no_runner_up():
    votes = Votes.from_codes([0], [0], [0], items="a", workers="x", labels=["only"])
    table = label_table(votes, Majority().fit(votes))
    assert (list(table["label"]), list(table["runner_up"]), table["margin"].tolist()) == (["only"], [None], [1.0])


def test_accuracy_on_gold_takes_ties_in_expectation_and_leaves_out_silent_items():
    votes = small(gold=[1, 0, 2, 0])
    accuracy = gold_accuracy(votes, Majority().fit(votes), level=0.9)
    assert (accuracy.value, accuracy.n_items) == (0.5, 3)
    assert (accuracy.low, accuracy.high) == (0.5, 0.5)  # every item with votes has a gold label
    some = gold_accuracy(small(gold=[1, 0, 2, -1]), Majority().fit(votes), level=0.9)
    assert some.low < some.value < some.high
    assert gold_accuracy(small(), Majority().fit(small()), level=0.9) is None
    assert gold_accuracy(small(gold=[-1] * 4), Majority().fit(small()), level=0.9) is None


def test_clopper_pearson_holds_the_truth_at_its_level():
    """Summed exactly over the binomial, for 200 values of the truth."""
    from scipy.stats import binom

    n, level = 25, 0.9
    ends = np.array([clopper_pearson(k, n, level) for k in range(n + 1)])
    for truth in np.linspace(0.001, 0.999, 200):
        covered = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        assert binom.pmf(np.arange(n + 1), n, truth)[covered].sum() >= level
