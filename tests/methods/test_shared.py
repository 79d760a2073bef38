"""One confusion for all: counts of labels are sufficient, and it equals Dawid-Skene with a single worker."""

import numpy as np
import pytest

import oracles.dawid_skene as oracle
from crowds import random_votes, votes_of
from majorant.kernels import in_memory
from majorant.methods.shared import SharedConfusion, count_patterns
from majorant.methods.tables import VoteData, count_totals
from majorant.tally import counts, distinct_counts
from majorant.votes import Votes


def of_one_worker(votes):
    return Votes.from_codes(
        votes.item_n,
        np.zeros(votes.n_votes),
        votes.label_n,
        items=votes.items,
        workers=["all"],
        labels=votes.labels,
        gold=votes.gold_i,
    )


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("clamped", [False, True])
def test_every_step_equals_an_independent_em_of_a_single_worker(n_classes, clamped):
    rng = np.random.default_rng(n_classes)
    votes = random_votes(rng, n_classes=n_classes, gold=clamped)
    weights = rng.integers(0, 3, size=len(votes.items))
    ours = SharedConfusion(max_iter=15, tol=0, accelerate=False, clamp_gold=clamped).fit(votes, weights=weights)
    gold = votes.gold_i if clamped else None
    _, _, _, objectives = oracle.em(of_one_worker(votes), 15, 0.01, weights, gold)
    confusion, prior, posterior, _ = oracle.em(of_one_worker(votes), 16, 0.01, weights, gold)
    np.testing.assert_allclose(ours.trace, objectives, rtol=1e-10)
    np.testing.assert_allclose(ours.confusion, confusion[0], atol=1e-9)
    np.testing.assert_allclose(ours.prior, prior, atol=1e-9)
    np.testing.assert_allclose(ours.posterior, posterior, atol=1e-9)


def test_only_distinct_counts_are_processed():
    rng = np.random.default_rng(0)
    confusion = np.repeat([[[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]], 50, axis=0)
    votes, _ = votes_of(rng, confusion, n_items=500, n_votes=4)
    expected = distinct_counts(counts(votes))
    engine = in_memory(votes, block_items=64)
    prepared = count_patterns(VoteData(votes, engine, count_totals(engine)))
    assert prepared.engine.shape == (len(expected.counts_pk), 1, 3)
    assert prepared.engine.shape[0] <= 15
    (block,) = prepared.engine.blocks
    np.testing.assert_array_equal(block.matrix.toarray()[prepared.pattern_i], counts(votes))
    assert sorted(block.weight_i) == sorted(expected.items_p)


def test_who_voted_does_not_matter():
    votes = random_votes(np.random.default_rng(4))
    ours, anonymous = SharedConfusion().fit(votes), SharedConfusion().fit(of_one_worker(votes))
    np.testing.assert_allclose(ours.posterior, anonymous.posterior, atol=1e-9)
    again = SharedConfusion().fit(votes, start=ours)
    assert again.n_iter <= 3


def test_it_recovers_its_own_model():
    confusion = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])
    rng, prior = np.random.default_rng(1), [0.5, 0.3, 0.2]
    votes, truth = votes_of(rng, np.repeat(confusion[None], 200, axis=0), n_items=40_000, n_votes=5, prior=prior)
    answer = SharedConfusion().fit(votes)
    np.testing.assert_allclose(answer.confusion, confusion, atol=0.02)
    np.testing.assert_allclose(answer.prior, prior, atol=0.02)
    assert (answer.codes("first") == truth).mean() > 0.9


@pytest.mark.parametrize("n_classes", [2, 4])
def test_counts_alone_give_the_same_matrix(n_classes):
    votes = random_votes(np.random.default_rng(n_classes), n_classes=n_classes)
    fit = SharedConfusion().fit(votes)
    prior_k, confusion_kl = SharedConfusion().fit_counts(distinct_counts(counts(votes)))
    np.testing.assert_allclose(prior_k, fit.prior, atol=1e-9)
    np.testing.assert_allclose(confusion_kl, fit.confusion, atol=1e-9)
