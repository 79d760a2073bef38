"""The same votes give the same certificate, regardless of row order and of item, worker and label names."""

from dataclasses import replace

import numpy as np
import pytest

from crowds import coins
from majorant.evidence.certificate.canonical import canonical_order
from majorant.evidence.certificate.claims import certification, certify
from majorant.simulate import simulate
from majorant.votes import Votes


def shuffled(votes, seed, *, rename):
    """The same votes with rows, workers, labels and items in another order, under other names if asked."""
    rng = np.random.default_rng(seed)
    row_n = rng.permutation(votes.n_votes)
    order_i, order_j, order_k = (rng.permutation(n) for n in votes.shape)
    names = [
        [f"{kind}{code}" for code in rng.permutation(len(old))] if rename else [old[code] for code in np.argsort(order)]
        for kind, old, order in zip(
            "iwl", (votes.items, votes.workers, votes.labels), (order_i, order_j, order_k), strict=True
        )
    ]
    gold = None
    if votes.gold_i is not None:
        gold = np.append(order_k, -1)[votes.gold_i[np.argsort(order_i)]]
    codes = order_i[votes.item_n[row_n]], order_j[votes.worker_n[row_n]], order_k[votes.label_n[row_n]]
    items, workers, labels = names
    return Votes.from_codes(*codes, items=items, workers=workers, labels=labels, gold=gold)


SETS = {
    "crowd, two classes": simulate([0.6, 0.4], coins(np.linspace(0.55, 0.9, 30), 2), 400, 5, rng=1).votes,
    "crowd, three classes": simulate([0.5, 0.3, 0.2], coins(np.linspace(0.5, 0.9, 25), 3), 300, 5, rng=2).votes,
    "alike": simulate([0.6, 0.4], [[0.8, 0.2], [0.3, 0.7]], 500, ([3, 4, 5], [1, 1, 1]), n_workers=40, rng=3).votes,
    "panel, gold": simulate([0.6, 0.4], coins([0.6, 0.7, 0.75, 0.8, 0.9], 2), 300, 5, rng=4, gold=0.4).votes,
    "panel, three classes": simulate([0.5, 0.3, 0.2], coins([0.6, 0.7, 0.75, 0.8, 0.9], 3), 300, 5, rng=5).votes,
    "thin": simulate([0.6, 0.4], coins(np.linspace(0.55, 0.9, 200), 2), 200, 3, rng=6).votes,
}


@pytest.mark.parametrize("rename", [False, True])
@pytest.mark.parametrize("name", SETS)
def test_order_and_names_change_nothing(name, rename):
    votes = SETS[name]
    first = certify(votes, rng=0)
    for seed in range(3):
        other = certify(shuffled(votes, seed, rename=rename), rng=0)
        assert (other.anonymous, other.named) == (first.anonymous, first.named)
        if first.gold is not None:  # nothing is drawn, but sums over classes round
            assert other.gold.verdict == first.gold.verdict
            assert other.gold.loss.ends == pytest.approx(first.gold.loss.ends, abs=1e-12)
        assert other.design == first.design
        if first.dependence is not None:
            assert other.dependence.tested == first.dependence.tested
            assert other.dependence.n_eff == first.dependence.n_eff


def test_pairs_and_matrices_keep_the_names_of_their_workers_and_labels():
    votes = SETS["panel, gold"]
    other = shuffled(votes, 0, rename=False)
    one, two = certification(votes, rng=0), certification(other, rng=0)
    assert one.certificate.dependence == two.certificate.dependence
    for found, where in ((one, votes), (two, other)):
        assert found.fit.label_values == where.labels
    place_j = [other.workers.index(name) for name in votes.workers]
    place_k = [other.labels.index(name) for name in votes.labels]
    np.testing.assert_array_equal(two.fit.confusion[place_j][:, place_k][:, :, place_k], one.fit.confusion)
    np.testing.assert_array_equal(two.fit.prior[place_k], one.fit.prior)


def test_a_canonical_order_keeps_every_vote():
    votes = SETS["crowd, three classes"]
    ordered = canonical_order(votes).votes
    table = lambda some: sorted(  # noqa: E731
        (some.items[i], some.workers[j], some.labels[k])
        for i, j, k in zip(some.item_n, some.worker_n, some.label_n, strict=True)
    )
    assert table(votes) == table(ordered)


def test_check_detects_a_violation():
    """Without a canonical order, shuffled rows give different replicates."""
    votes = SETS["panel, three classes"]
    changed = replace(votes, label_n=np.where(np.arange(votes.n_votes) == 7, (votes.label_n + 1) % 3, votes.label_n))
    assert certify(changed, rng=0).claims != certify(votes, rng=0).claims
