"""Majority vote and the tie policies."""

import numpy as np
import pytest

from crowds import random_votes
from majorant.errors import ConfigError
from majorant.methods import ESTIMATORS, Fit
from majorant.votes import Votes


def by_hand(votes):
    """For each item the set of labels with the most votes, by counting one vote at a time."""
    ballots = {i: [] for i in range(len(votes.items))}
    for i, l in zip(votes.item_n, votes.label_n, strict=True):
        ballots[i].append(int(l))
    return [
        {l for l in ballot if ballot.count(l) == max(ballot.count(m) for m in ballot)} for ballot in ballots.values()
    ]


def fit(votes: Votes) -> Fit:
    return ESTIMATORS["majority"]().fit(votes)


@pytest.mark.parametrize("seed", range(5))
def test_the_winner_has_the_most_votes_and_ties_are_reported(seed):
    votes = random_votes(np.random.default_rng(seed))
    answer, winners = fit(votes), by_hand(votes)
    assert answer.tied_i.tolist() == [len(w) > 1 for w in winners]
    assert any(len(w) > 1 for w in winners)
    for label, code, winner in zip(answer.labels(), answer.codes(), winners, strict=True):
        if len(winner) == 1:
            assert code == min(winner)
            assert label == votes.labels[code]
        else:
            assert (label, code) == (None, -1)


def test_first_takes_the_first_of_the_tied():
    votes = random_votes(np.random.default_rng(0))
    expected = [min(w) if w else -1 for w in by_hand(votes)]
    assert fit(votes).codes(ties="first").tolist() == expected


def test_random_takes_one_of_the_tied_evenly_and_by_seed():
    votes = random_votes(np.random.default_rng(0))
    answer, winners = fit(votes), by_hand(votes)
    np.testing.assert_array_equal(answer.codes("random", rng=5), answer.codes("random", rng=5))
    item = next(i for i, w in enumerate(winners) if len(w) == 2)
    drawn = [int(answer.codes("random", rng=seed)[item]) for seed in range(400)]
    assert set(drawn) == winners[item]
    assert 150 < drawn.count(min(winners[item])) < 250
    np.testing.assert_array_equal(answer.codes("random"), answer.codes("random", rng=0))


def test_prior_takes_the_more_frequent_class_and_leaves_the_rest_open():
    votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [0, 1, 1], items="ab", workers="wx", labels=("no", "yes"))
    assert fit(votes).labels(ties="prior") == ["yes", "yes"]
    even = Votes.from_codes([0, 0], [0, 1], [0, 1], items="a", workers="wx", labels=("no", "yes"))
    assert fit(even).labels(ties="prior") == [None]


def test_label_values_of_any_type_are_returned_unchanged():
    votes = Votes.from_codes([0, 1], [0, 0], [0, 1], items="ab", workers="w", labels=(("a", 1), "1"))
    assert fit(votes).labels() == [("a", 1), "1"]


def test_an_unknown_policy_is_an_error():
    with pytest.raises(ConfigError, match="'coin'"):
        fit(random_votes(np.random.default_rng(0))).codes("coin")
