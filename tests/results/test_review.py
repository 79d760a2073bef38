"""Items to review: the gain of one more vote by brute force, the order, and the reasons."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowds import random_votes
from majorant.methods.majority import Majority
from majorant.results.review import crowd_confusion, review, review_table, vote_gain
from majorant.simulate import simulate
from majorant.votes import Votes


def gain_by_hand(posterior, confusion):
    """Draw the class, then the vote; label anew by Bayes' rule; how much more often is the label right?"""
    n_classes = len(posterior)
    right = 0.0
    for l in range(n_classes):
        joint = [posterior[k] * confusion[k][l] for k in range(n_classes)]
        best = int(np.argmax(joint))  # the label once the vote is l
        right += joint[best]
    return right - max(posterior)


@given(st.integers(2, 5), st.integers(0, 10**6))
def test_the_gain_of_a_vote_is_that_of_relabelling_by_bayes_rule(n_classes, seed):
    rng = np.random.default_rng(seed)
    posterior, confusion = rng.dirichlet(np.ones(n_classes), 4), rng.dirichlet(np.ones(n_classes), n_classes)
    expected = [gain_by_hand(row, confusion) for row in posterior]
    np.testing.assert_allclose(vote_gain(posterior, confusion), expected, atol=1e-12)


def test_the_gain_is_what_a_simulation_of_one_more_vote_gains():
    rng = np.random.default_rng(0)
    posterior, confusion = np.array([0.55, 0.3, 0.15]), np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]])
    truth = rng.choice(3, 200_000, p=posterior)
    vote = (confusion[truth].cumsum(axis=1) < rng.random(len(truth))[:, None]).sum(axis=1)
    relabelled = (posterior[:, None] * confusion).argmax(axis=0)[vote]
    gained = (relabelled == truth).mean() - (truth == 0).mean()
    assert abs(vote_gain(posterior[None], confusion)[0] - gained) < 0.005


def small():
    """Items: a split 2-1, b tied, c unanimous, d one vote, e none."""
    return Votes.from_codes(
        [0, 0, 0, 1, 1, 2, 2, 2, 3],
        [0, 1, 2, 0, 1, 0, 1, 2, 2],
        [0, 0, 1, 0, 1, 1, 1, 1, 1],
        items="abcde",
        workers="xyz",
        labels=["no", "yes"],
    )


def fit_of(votes, posterior):
    return replace(Majority().fit(votes), posterior=np.array(posterior), prior=np.array([0.5, 0.5]))


ROWS = [[0.4, 0.6], [0.5, 0.5], [0.01, 0.99], [0.3, 0.7], [0.5, 0.5]]


def test_an_expert_gains_the_doubt_and_ties_go_by_item_order():
    votes = small()
    found = review(votes, fit_of(votes, ROWS), most=4)
    assert found.item_p.tolist() == [1, 4, 0, 3]
    np.testing.assert_allclose(found.gain_expert_p, [0.5, 0.5, 0.4, 0.3])
    assert np.isclose(found.gain, 1.7 / 5)
    assert found.reason == ("tie", "no votes", "rule overturns majority", "only 1 vote")


def test_the_table_says_what_the_label_is_and_what_else_it_may_be():
    votes = small()
    fit = fit_of(votes, ROWS)
    table = review_table(votes, fit, review(votes, fit, most=3))
    assert list(table) == ["item", "label", "confidence", "runner_up", "votes", "gain_vote", "gain_expert", "reason"]
    assert (table["item"], table["label"]) == (["b", "e", "a"], [None, None, "yes"])
    assert table["runner_up"] == ["yes", None, "no"]
    assert table["votes"].tolist() == [2, 0, 3]
    assert np.isnan(table["confidence"][1])


def test_the_order_can_be_that_of_one_more_vote():
    votes, _ = simulate([0.9, 0.1], [[0.8, 0.2], [0.3, 0.7]], 300, 3, rng=0)
    fit = Majority().fit(votes)
    found = review(votes, fit, most=20, resource="vote")
    everything = vote_gain(fit.posterior, crowd_confusion(votes, fit))
    np.testing.assert_allclose(found.gain_vote_p, np.sort(everything)[::-1][:20], atol=1e-9)
    assert np.isclose(found.gain, found.gain_vote_p.sum() / 300)


def test_good_workers_who_disagree_are_named_as_the_reason():
    votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [0, 0, 1], items="a", workers="xyz", labels="ny")
    found = review(votes, fit_of(votes, [[0.7, 0.3]]), good=np.array([True, False, True]))
    assert found.reason == ("good workers disagree",)


def test_an_item_that_is_certain_is_not_listed_and_no_votes_at_all_are_no_error():
    votes = small()
    assert len(review(votes, fit_of(votes, np.tile([0.0, 1.0], (5, 1))), most=9).item_p) == 1  # the one without votes
    none = Votes.from_codes([], [], [], items="ab", workers="x", labels="ny")
    assert review(none, Majority().fit(none)).reason == ("no votes", "no votes")
    one_class = Votes.from_codes([0], [0], [0], items="a", workers="x", labels="n")
    assert review(one_class, Majority().fit(one_class)).item_p.tolist() == []


@pytest.mark.parametrize("seed", range(3))
def test_the_typical_vote_falls_as_the_votes_do(seed):
    votes = random_votes(np.random.default_rng(seed))
    confusion = crowd_confusion(votes, Majority().fit(votes))
    np.testing.assert_allclose(confusion.sum(axis=1), 1)
