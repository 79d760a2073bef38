"""A single label, or no vote at all: model-based methods answer without a warning."""

import numpy as np
import pytest

from majorant.methods import ESTIMATORS
from majorant.votes import Votes

METHODS = ("dawid-skene", "hierarchical", "one-coin", "shared", "glad", "mace", "bwa", "ibcc", "ebcc")


def fit(name, votes):
    return ESTIMATORS[name]().fit(votes)


@pytest.mark.parametrize("name", METHODS)
def test_a_single_label_is_the_answer(name):
    votes = Votes.from_codes([0, 0, 1], [0, 1, 0], [0, 0, 0], items="ab", workers="xy", labels=["only"])
    assert fit(name, votes).labels() == ["only", "only"]


@pytest.mark.parametrize("name", METHODS)
def test_without_votes_there_are_no_labels(name):
    answer = fit(name, Votes.from_codes([], [], [], items="ab", workers="xy", labels="01"))
    assert answer.labels() == [None, None]
    np.testing.assert_allclose(answer.posterior.sum(axis=1), 1)
