"""Items that need no expert: the promise, the tests behind it, and what is refused."""

import numpy as np
import pytest
from scipy.stats import binom

import majorant as mj
from majorant.ask.accept import find_levels, order_of
from majorant.errors import ConfigError, DataError
from majorant.results.accept import accept
from majorant.simulate import one_coin_workers, simulate


def crowd(seed, accuracies=(0.95, 0.8, 0.7, 0.65, 0.6), n_items=800):
    votes, truth = simulate([0.5, 0.5], one_coin_workers(list(accuracies)), n_items=n_items, n_votes=5, rng=seed)
    return votes, truth


def labels_of(votes, truth, item_n):
    return {votes.items[i]: votes.labels[truth[i]] for i in item_n}


@pytest.mark.parametrize("exact", [False, True])
def test_the_promise_is_kept(exact):
    broken, shares = 0, []
    for seed in range(20):
        votes, truth = crowd(seed)
        picked = np.random.default_rng(seed).permutation(len(votes.items))[:150]
        found = accept(votes, labels_of(votes, truth, picked), at=0.9, exact=exact)
        right_n = found.label_n == truth[found.item_n]
        broken += found.n_accepted > 0 and right_n[: found.n_accepted].mean() < 0.9
        shares.append(found.share)
    assert broken <= 4  # 5 or more of 20 at 5% happen in .3% of runs
    assert np.mean(shares) > 0.2


def test_accepted_items_are_the_surest_and_all_items_are_listed_once():
    votes, truth = crowd(1)
    found = accept(votes, labels_of(votes, truth, range(150)), at=0.85)
    assert sorted([*found.accept, *found.escalate], key=str) == sorted(votes.items, key=str)
    confidence = found.table()["confidence"]
    assert found.n_accepted
    assert (np.diff(confidence) <= 1e-9).all()
    assert sum(found.table()["accepted"]) == len(found.accept)


def test_levels_follow_the_binomial_test_and_stop_at_the_first_failure():
    rng = np.random.default_rng(0)
    rank_n, right_n = rng.random(120), rng.random(120) < 0.93
    levels = np.arange(1, 11) / 10
    found = find_levels(rank_n, right_n, levels, 0.9, 0.05)
    for level in found:
        inside = rank_n <= level.share
        assert (level.labels, level.wrong) == (inside.sum(), (inside & ~right_n).sum())
        assert level.passed == (binom.cdf(level.wrong, level.labels, 0.1) <= 0.05)
    assert all(level.passed for level in found[:-1])


def test_equally_sure_items_are_accepted_together():
    order = order_of(np.repeat([[0.9, 0.1], [0.6, 0.4]], [30, 70], axis=0), own_levels=True)
    assert order.levels.tolist() == pytest.approx([0.3, 1.0])


def test_judges_at_chance_leave_everything_to_the_expert():
    votes, truth = crowd(2, (0.5, 0.5, 0.5, 0.5, 0.5))
    found = accept(votes, labels_of(votes, truth, range(100)), at=0.9)
    assert found.accept == ()
    assert len(found.escalate) == len(votes.items)


def test_a_label_that_nobody_voted_for_counts_as_wrong():
    votes, truth = crowd(3, (0.97,) * 5)
    gold = labels_of(votes, truth, range(100))
    first = accept(votes, gold, at=0.9)
    unheard = accept(
        votes, {item: "other" if n % 4 == 0 else label for n, (item, label) in enumerate(gold.items())}, at=0.9
    )
    assert first.share > 0.9
    assert unheard.share < first.share


def test_prices_add_up():
    votes, truth = crowd(1)
    found = accept(votes, labels_of(votes, truth, range(150)), at=0.85)
    assert found.cost_per_item(0.02, 1.0) == pytest.approx(0.1 + len(found.escalate) / len(votes.items))


@pytest.mark.parametrize(
    ("n", "at", "said"), [(10, 0.9, "at least 29"), (40, 0.95, "at least 59"), (0, 0.9, "ask --rate")]
)
def test_too_few_labels_are_refused_with_the_number_needed(n, at, said):
    votes, truth = crowd(0)
    with pytest.raises(DataError, match=said):
        accept(votes, labels_of(votes, truth, range(n)) or None, at=at)


def test_an_impossible_accuracy_is_refused():
    with pytest.raises(ConfigError, match="between 0 and 1"):
        mj.accept(crowd(0)[0], at=1.0)
