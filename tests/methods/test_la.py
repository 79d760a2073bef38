"""LA equals a dictionary and a loop."""

import numpy as np
import pytest

import oracles.streaming as oracle
from crowds import random_votes
from majorant.errors import ConfigError
from majorant.methods import ESTIMATORS
from majorant.methods.la import LaOnePass, LaTwoPass
from majorant.simulate import one_coin_workers, simulate


def ballots(votes):
    found = {i: [] for i in range(len(votes.items))}
    for i, j, l in zip(votes.item_n.tolist(), votes.worker_n.tolist(), votes.label_n.tolist(), strict=True):
        found[i].append((j, l))
    return found


def best(answer):
    top = answer.posterior.max(axis=1, keepdims=True) - 1e-9
    return [set(np.flatnonzero(row).tolist()) for row in answer.posterior >= top]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shuffled", [False, True])
def test_both_passes_equal_a_dictionary_loop(seed, shuffled):
    rng = np.random.default_rng(seed)
    votes = random_votes(rng)
    order = rng.permutation(60) if shuffled else np.arange(60)
    first, accuracy = oracle.one_pass(ballots(votes), order.tolist())
    second = oracle.two_pass(ballots(votes), order.tolist(), 3)
    answers = [model.fit(votes, order=order) for model in (LaOnePass(), LaTwoPass())]
    voted = np.flatnonzero(votes.votes_i > 0).tolist()
    assert [best(answers[0])[i] for i in voted] == [first[i] for i in voted]
    assert [best(answers[1])[i] for i in voted] == [second[i] for i in voted]
    assert shuffled or any(len(tied) > 1 for tied in first.values())  # ties are among the cases
    for answer in answers:
        np.testing.assert_allclose(answer.skill, [accuracy[j] for j in range(9)], atol=1e-12)


def test_the_order_is_an_argument_and_matters():
    votes = random_votes(np.random.default_rng(0))
    forth, back = LaOnePass().fit(votes), LaOnePass().fit(votes, order=np.arange(60)[::-1])
    assert not np.allclose(forth.posterior, back.posterior)
    with pytest.raises(ConfigError, match=r"each item code 0\.\.59 once"):
        LaOnePass().fit(votes, order=[0, 0, 1])


def test_la_learns_worker_skill():
    crew = one_coin_workers([0.95, 0.9, 0.6, 0.5])
    votes, truth = simulate([0.5, 0.5], crew, n_items=4_000, n_votes=4, rng=0)
    majority, once, twice = (
        np.mean(np.array(ESTIMATORS[name]().fit(votes).labels(ties="random", rng=0)) == truth)
        for name in ("majority", "la-one-pass", "la-two-pass")
    )
    assert once > majority + 0.02  # weights between 0 and 1 break ties, and little else
    assert twice >= once


def test_weights_count_in_parts_too():
    votes = random_votes(np.random.default_rng(0), n_items=10, n_votes=40)
    order = np.arange(10)
    half = LaOnePass().fit(votes, weights=np.full(10, 0.5), order=order)
    assert (np.abs(half.skill - 0.5) <= np.abs(LaOnePass().fit(votes, order=order).skill - 0.5) + 0.25).all()
    nothing = LaOnePass().fit(votes, weights=np.zeros(10))
    np.testing.assert_allclose(nothing.skill, 0.5)
    with pytest.raises(ConfigError, match=r"weights must have shape \(10,\)"):
        LaOnePass().fit(votes, weights=[1.0])
