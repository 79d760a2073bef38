"""Confusion matrices counted on gold items, with each gold item left out of its own prediction."""

from dataclasses import replace

import numpy as np
import pytest

from crowds import random_votes
from majorant.errors import ConfigError
from majorant.items import take_items
from majorant.kernels import in_memory
from majorant.methods.known_workers import AnchorMap
from majorant.simulate import simulate


def counted(votes):
    """Votes by worker, gold class and label, one at a time."""
    count = np.zeros((len(votes.workers), len(votes.labels), len(votes.labels)))
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        if votes.gold_i[i] >= 0:
            count[j, votes.gold_i[i], l] += 1
    return count


@pytest.mark.parametrize("shared", [True, False])
def test_every_vote_on_a_gold_item_counts_once(shared):
    votes = random_votes(np.random.default_rng(0), gold=True)
    answer = AnchorMap(shared=shared, smoothing=0.5).fit(votes)
    count = counted(votes).sum(axis=0) if shared else counted(votes)
    np.testing.assert_allclose(answer.confusion, (count + 0.5) / (count + 0.5).sum(axis=-1, keepdims=True))
    classes = np.bincount(votes.gold_i[votes.gold_i >= 0], minlength=3) + 0.5
    np.testing.assert_allclose(answer.prior, classes / classes.sum())


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_leaving_one_out_equals_fitting_without_its_gold(shared, n_classes, smoothing):
    votes = random_votes(np.random.default_rng(n_classes), n_classes=n_classes, gold=True)  # with repeated votes
    model = AnchorMap(shared=shared, smoothing=smoothing, leave_one_out=True)
    answer = model.fit(votes)
    plain = replace(model, leave_one_out=False)
    for i in range(len(votes.items)):
        gold_i = votes.gold_i.copy()
        gold_i[i] = -1
        alone = plain.fit(replace(votes, gold_i=gold_i))
        np.testing.assert_allclose(answer.posterior[i], alone.posterior[i], atol=1e-9)
    assert not np.allclose(answer.posterior, plain.fit(votes).posterior)


@pytest.mark.parametrize("shared", [True, False])
def test_weighted_items_are_left_out_one_copy_at_a_time(shared):
    votes = random_votes(np.random.default_rng(5), n_items=20, n_votes=100, gold=True)
    weights = np.random.default_rng(1).integers(1, 4, size=20)
    copies = take_items(votes, np.repeat(np.arange(20), weights))
    model = AnchorMap(shared=shared, leave_one_out=True)
    weighted, copied = model.fit(votes, weights=weights), model.fit(copies)
    np.testing.assert_allclose(weighted.posterior, copied.posterior[np.cumsum(weights) - weights], atol=1e-9)


@pytest.mark.parametrize("shared", [True, False])
def test_merged_items_are_left_out_one_at_a_time(shared):
    votes = random_votes(np.random.default_rng(0), n_items=5_000, n_workers=3, n_votes=8_000, n_classes=2, gold=True)
    model = AnchorMap(shared=shared, leave_one_out=True)
    merged, apart = model.fit(votes), model.fit(votes, engine=in_memory(votes))
    np.testing.assert_allclose(merged.posterior, apart.posterior, atol=1e-9)


def test_leave_one_out_removes_the_optimism_of_in_sample_accuracy():
    votes, truth = simulate([0.5, 0.5], np.full((2, 2), 0.5), n_items=400, n_votes=4, n_workers=200, rng=0, gold=1.0)
    in_sample = np.mean(np.array(AnchorMap(shared=False).fit(votes).labels()) == truth)
    honest = np.mean(np.array(AnchorMap(shared=False, leave_one_out=True).fit(votes).labels()) == truth)
    assert in_sample > 0.6
    assert honest < 0.55


def test_it_recovers_the_confusion_from_a_few_gold_items():
    confusion = np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
    votes, _ = simulate([0.5, 0.3, 0.2], confusion, n_items=20_000, n_votes=3, rng=1, gold=0.2)
    np.testing.assert_allclose(AnchorMap().fit(votes).confusion, confusion, atol=0.03)


def test_missing_gold_error_names_the_argument():
    votes = random_votes(np.random.default_rng(0))
    with pytest.raises(ConfigError, match="anchor-map learns from gold labels, but there are none: give a gold column"):
        AnchorMap().fit(votes)
    with pytest.raises(ConfigError, match="there are none"):
        AnchorMap().fit(replace(votes, gold_i=np.full(len(votes.items), -1)))
