"""Where votes are few, no method loses to the votes themselves."""

import numpy as np
import pytest

from majorant.errors import NotIdentified
from majorant.methods import ESTIMATORS, unsuited
from majorant.votes import Votes

# Where most votes are for one class, these may take the other label for an error. Their documentation says so.
OVERRULE = {"shared", "hierarchical", "ibcc", "ebcc"}
REFUSE = {"iaa", "triplet", "spectral"}  # nothing can be compared
OTHERS = sorted(set(ESTIMATORS) - OVERRULE - REFUSE - {"given-map", "anchor-map"})


def one_vote_each(seed, n_workers, share=0.5, n_items=300, n_more=0):
    """Items with one vote (the last `n_more` have three) by workers who are right on 85%; and the truth."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_items) < share).astype(int)
    item = np.repeat(np.arange(n_items), np.where(np.arange(n_items) < n_items - n_more, 1, 3))
    worker = rng.integers(n_workers, size=len(item))
    label = np.where(rng.random(len(item)) < 0.85, truth[item], 1 - truth[item])
    names = {"items": range(n_items), "workers": range(n_workers), "labels": ("no", "yes")}
    return Votes.from_codes(item, worker, label, **names), truth


@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize("n_workers", [10, 60, 300])
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_the_only_vote_of_an_item_is_its_label(method, n_workers, share):
    votes, _ = one_vote_each(0, n_workers, share)
    if unsuited(method, votes):
        pytest.skip("not for these votes")
    code_i = ESTIMATORS[method]().fit(votes).codes()
    assert not ((code_i != votes.label_n) & (code_i >= 0)).any()


@pytest.mark.parametrize("method", sorted(OVERRULE))
def test_a_method_that_overrules_the_only_vote_says_so_in_its_first_line(method):
    assert "only vote" in ESTIMATORS[method].__doc__.splitlines()[0]


@pytest.mark.parametrize("method", sorted(REFUSE))
def test_votes_that_say_nothing_about_workers_are_refused(method):
    with pytest.raises(NotIdentified):
        ESTIMATORS[method]().fit(one_vote_each(0, 60)[0])


@pytest.mark.parametrize("method", ["dawid-skene", "one-coin"])
def test_few_votes_per_worker_do_not_cost_accuracy(method):
    """On 300 items, some with three votes, most workers give only one or two votes."""
    gains = []
    for seed in range(5):
        votes, truth = one_vote_each(seed, 300, n_more=100)
        fit, share = ESTIMATORS[method]().fit(votes), ESTIMATORS["majority"]().fit(votes)
        gains.append((fit.codes() == truth).mean() - (share.codes("first") == truth).mean())
    assert np.mean(gains) > -0.005
