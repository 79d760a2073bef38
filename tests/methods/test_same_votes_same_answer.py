"""The same votes give the same answer, in whatever order they come and however items, workers and labels are named."""

import numpy as np
import pytest

from majorant.methods import ESTIMATORS
from majorant.methods.weighted_vote import fit_weighted_vote
from majorant.setting import Setting
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes
from real import load

METHODS = [name for name, method in ESTIMATORS.items() if method.traits.order_free and not method.traits.needs]


def rename(votes, rng):
    """The votes in another order, with other codes; also the new code of each item and label."""
    item_of, worker_of, label_of = (rng.permutation(n) for n in votes.shape)
    order = rng.permutation(votes.n_votes)
    renamed = Votes.from_codes(
        item_of[votes.item_n[order]],
        worker_of[votes.worker_n[order]],
        label_of[votes.label_n[order]],
        items=range(votes.shape[0]),
        workers=range(votes.shape[1]),
        labels=range(votes.shape[2]),
    )
    return renamed, item_of, label_of


def crowds():
    yield (
        "copied panel",
        lambda: (
            simulate(
                [0.6, 0.4], one_coin_workers([0.9, 0.8, 0.7, 0.65, 0.6]), n_items=300, n_votes=5, dependence=0.6, rng=0
            ).votes
        ),
    )
    yield (
        "thin crowd",
        lambda: (
            simulate(
                [0.5, 0.3, 0.2], one_coin_workers(np.linspace(0.5, 0.9, 60), 3), n_items=200, n_votes=4, rng=1
            ).votes
        ),
    )
    for name in ("SP_amt", "MS", "CF"):
        yield name, lambda name=name: load(name)


@pytest.fixture(params=[name for name, _ in crowds()], scope="module")
def pair(request):
    votes = dict(crowds())[request.param]()
    return votes, *rename(votes, np.random.default_rng(2))


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_does_not_depend_on_order_and_names(method, pair):
    votes, renamed, item_of, label_of = pair
    if ESTIMATORS[method].traits.classes == 2 and len(votes.labels) != 2:
        pytest.skip("for two classes")
    fit, other = (ESTIMATORS[method]().fit(one) for one in (votes, renamed))
    # Paths differ in their last digits, and a loop may stop a step earlier; labels must not change.
    np.testing.assert_allclose(other.posterior[item_of][:, label_of], fit.posterior, atol=1e-4)


def test_the_weighted_vote_does_not_depend_on_order_and_names(pair):
    votes, renamed, item_of, label_of = pair
    fit, other = (fit_weighted_vote(one, Setting.of(one)) for one in (votes, renamed))
    np.testing.assert_allclose(other.posterior[item_of][:, label_of], fit.posterior, atol=1e-4)
