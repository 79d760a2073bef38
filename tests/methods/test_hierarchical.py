"""Hierarchical recovers crowd, strength and spread, and moves between one matrix for all and one each."""

import numpy as np
import pytest

import oracles.variational as oracle
from crowds import coins, random_votes, votes_of
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.hierarchical import Hierarchical, likely_spread, tilt
from majorant.methods.majority import Majority
from majorant.methods.shared import SharedConfusion
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

CROWD = np.array([[0.75, 0.15, 0.1], [0.1, 0.7, 0.2], [0.05, 0.15, 0.8]])


def crew(rng, strength, n_workers=60):
    return np.array([[rng.dirichlet(strength * row) for row in CROWD] for _ in range(n_workers)])


def log_marginal(model, votes_jkl, crowd_kl, odds_j):
    """The log-posterior of a crowd and odds given counts, the workers' rows integrated out, term by term."""
    J, K, _ = votes_jkl.shape
    strength = crowd_kl.sum(axis=1)
    base = np.where(np.eye(K, dtype=bool), model.right, model.wrong)
    total = ((model.shape - 1) * np.log(strength) - model.rate * strength).sum()
    total += (base * np.log(crowd_kl / crowd_kl.sum(axis=1, keepdims=True))).sum()
    total -= (np.log(odds_j) ** 2).sum() / model.spread**2 / 2 if model.spread else 0
    for j in range(J):
        for k in range(K):
            row = crowd_kl[k] * np.where(np.arange(K) == k, odds_j[j], 1)
            total += oracle.log_polya(votes_jkl[j, k], row / row.sum() * crowd_kl[k].sum())
    return total


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_it_recovers_the_crowd_that_workers_were_drawn_from(spread):
    rng = np.random.default_rng(0)
    odds = np.exp(rng.normal(0, spread, size=100))
    confusion = np.array([[rng.dirichlet(row) for row in rows] for rows in tilt(8 * CROWD, odds)])
    votes_jkl = np.array([[rng.multinomial(60, row) for row in rows] for rows in confusion], dtype=float)
    model = Hierarchical(spread=spread, right=1, wrong=0.1)
    crowd_kl, odds_j = np.full((3, 3), 1.0), np.ones(100)
    values = [log_marginal(model, votes_jkl, crowd_kl, odds_j)]
    for steps in (1, 1, 1, 2, 5, 10, 30, 150):
        for _ in range(steps):
            crowd_kl, odds_j = model.raise_crowd(votes_jkl, crowd_kl, odds_j)
        values.append(log_marginal(model, votes_jkl, crowd_kl, odds_j))
    assert (np.diff(values) >= -1e-8).all()
    np.testing.assert_allclose(crowd_kl.sum(axis=1), 8, atol=3)
    np.testing.assert_allclose(crowd_kl / crowd_kl.sum(axis=1, keepdims=True), CROWD, atol=0.06)
    if spread:
        assert np.corrcoef(np.log(odds_j), np.log(odds))[0, 1] > 0.8
    for factor in (0.98, 1.02):  # a summit: steps along the strength, the mean and one worker's odds lead down
        assert log_marginal(model, votes_jkl, factor * crowd_kl, odds_j) < values[-1]
        mixed = np.roll(crowd_kl, 1, axis=1) * 0.02 + 0.98 * crowd_kl
        assert log_marginal(model, votes_jkl, mixed, odds_j) < values[-1]
        moved = odds_j * np.where(np.arange(100) == 7, factor**2, 1)
        assert not spread or log_marginal(model, votes_jkl, crowd_kl, moved) < values[-1]


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_the_objective_is_the_bound_written_out(spread):
    votes = random_votes(np.random.default_rng(1), n_items=8, n_workers=3, n_votes=30)
    model = Hierarchical(spread=spread, max_iter=3, tol=0, accelerate=False)
    first = model.fit(votes)
    again = Hierarchical(spread=spread, max_iter=1).fit(votes, start=first)
    crowd_kl, odds_j = first.learned["crowd_kl"], first.learned["odds_j"]
    prior_jkl, votes_jkl = tilt(crowd_kl, odds_j), first.learned["votes_jkl"]
    log_vote_jkl = np.array([[oracle.expected_log(row) for row in rows] for rows in votes_jkl])
    bound = oracle.items_part(votes, log_vote_jkl, oracle.expected_log(first.learned["items_k"]))
    bound += oracle.dirichlet_part(first.learned["items_k"], np.ones(3))
    bound += sum(oracle.dirichlet_part(votes_jkl[j, k], prior_jkl[j, k]) for j in range(3) for k in range(3))
    bound += log_marginal(model, np.zeros((3, 3, 3)), crowd_kl, odds_j)
    np.testing.assert_allclose(again.trace[0], bound, rtol=1e-10)


def error(answer, confusion):
    return np.abs(answer.confusion - confusion).mean()


def test_hierarchical_spans_shared_and_individual_matrices():
    rng = np.random.default_rng(2)
    alike, apart = crew(rng, 1e4), crew(rng, 3.0)
    for confusion in (alike, apart):
        votes, _ = votes_of(rng, confusion, n_items=1_500, n_votes=6)
        ours, each, all_one = (m.fit(votes) for m in (Hierarchical(), DawidSkene(), SharedConfusion()))
        if confusion is alike:
            assert ours.learned["strength"].min() > 25
            assert np.log(ours.learned["odds"]).std() < 0.25
            assert error(ours, confusion) < 0.5 * error(each, confusion)
            assert error(ours, confusion) < error(all_one, confusion) + 0.02
        else:
            np.testing.assert_allclose(ours.learned["strength"].mean(), 3, atol=1.5)
            assert error(ours, confusion) < 1.02 * error(each, confusion)
            assert error(ours, confusion) < 0.5 * error(all_one, confusion)


def test_odds_identify_workers_with_one_coin_each():
    rng = np.random.default_rng(3)
    confusion = coins(rng.beta(5, 2, size=40), 8)
    votes, truth = votes_of(rng, confusion, n_items=1_000, n_votes=5)
    ours, without, each = (m.fit(votes) for m in (Hierarchical(), Hierarchical(spread=0), DawidSkene()))
    assert error(ours, confusion) < 0.8 * error(without, confusion)
    assert error(ours, confusion) < 0.5 * error(each, confusion)
    accuracy = [(answer.codes("first") == truth).mean() for answer in (ours, each)]
    assert accuracy[0] > accuracy[1] + 0.01


def test_bound_never_decreases():
    for seed in range(3):
        for settings in ({}, {"spread": 0}, {"accelerate": False}):
            trace = Hierarchical(**settings).fit(random_votes(np.random.default_rng(seed))).trace
            assert (np.diff(trace) >= -1e-8).all()


def test_the_spread_is_learned_from_noisy_estimates_of_the_odds():
    rng = np.random.default_rng(4)
    for true in (0.0, 0.3, 1.0):
        found = []
        for _ in range(200):
            known_j = rng.uniform(0.5, 30, size=400)
            seen_j = rng.normal(0, np.sqrt(true**2 + 1 / known_j))
            found.append(likely_spread(known_j * seen_j, known_j))
        assert np.median(found) == pytest.approx(true, abs=0.03)
    assert likely_spread(np.zeros(3), np.ones(3)) == 0


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_the_spread_is_learned_from_votes_whose_classes_are_not_known(spread, n_classes):
    """From starts on either side: unknown classes neither create nor hide differences."""
    rng = np.random.default_rng(5)
    crowd_kl = np.where(np.eye(n_classes), 0.75, 0.25 / (n_classes - 1))
    confusion = tilt(crowd_kl, np.exp(rng.normal(0, spread, size=300)))
    votes, _ = votes_of(rng, confusion, n_items=3_000, n_votes=5)
    found = Hierarchical().fit(votes)
    np.testing.assert_allclose(found.learned["spread"], spread, atol=0.15)
    for first in (0.0, 1.5):
        begun = Hierarchical(spread=first).fit(votes)
        again = Hierarchical().fit(votes, start=begun)
        np.testing.assert_allclose(again.learned["spread"], found.learned["spread"], atol=0.05)


@pytest.mark.parametrize("n_items", [250, 1_000, 4_000, 10_000])
def test_model_is_no_worse_than_majority_if_workers_are_equal(n_items):
    lost = []
    for seed in range(8 if n_items < 4_000 else 2):
        rng = np.random.default_rng([seed, n_items])
        votes, truth = votes_of(rng, coins([0.82] * (n_items // 4), 2), n_items=n_items, n_votes=5)
        right = [(fit.codes("first") == truth).mean() for fit in (Majority().fit(votes), Hierarchical().fit(votes))]
        lost.append(100 * (right[0] - right[1]))
    assert np.mean(lost) < 0.1


def test_labels_use_mean_matrices_and_new_workers_get_the_crowds():
    rng = np.random.default_rng(6)
    confusion = np.array([rng.dirichlet([4, 1], size=2) for _ in range(40)])
    confusion[:, 1] = confusion[:, 1, ::-1]
    votes, _ = votes_of(rng, confusion, n_items=300, n_votes=6)
    names = {"items": votes.items, "workers": (*votes.workers, "new"), "labels": votes.labels}
    fit = Hierarchical().fit(Votes.from_codes(votes.item_n, votes.worker_n, votes.label_n, **names))
    np.testing.assert_allclose(fit.confusion[40], fit.learned["crowd"], atol=1e-6)
    for item in range(10):
        said = fit.confusion[votes.worker_n[votes.item_n == item], :, votes.label_n[votes.item_n == item]]
        by_hand = fit.prior * said.prod(axis=0)
        np.testing.assert_allclose(fit.posterior[item], by_hand / by_hand.sum(), atol=1e-9)


def test_the_priors_divide_skill_between_odds_and_crowd_in_few_steps():
    model, skill_j = Hierarchical(), np.random.default_rng(0).uniform(0.55, 0.95, 100)
    votes, _ = simulate([0.5, 0.5], one_coin_workers(skill_j), n_items=8_000, n_votes=5, rng=0)
    fit = model.fit(votes)
    pull = np.log(fit.learned["odds"]).sum() / fit.learned["spread"] ** 2
    base = (model.right - (model.right + model.wrong) * np.diag(fit.learned["crowd"])).sum()
    assert pull == pytest.approx(-base, rel=1e-3)
    assert fit.n_iter < 15  # 30 where each waited for the other, and more with more votes
