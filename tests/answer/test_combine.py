"""The combination: members weighed by items that they have not seen, where that says anything about the truth."""

from itertools import product

import numpy as np
import pytest

from crowds import foolable_votes, informed_votes
from majorant.answer import combine as module
from majorant.answer.candidates import CANDIDATES, fit_method, unsuited
from majorant.answer.combine import MEMBERS, combination, combine, stack
from majorant.answer.held_out import item_scores, log_evidence
from majorant.errors import ConfigError
from majorant.estimate import ESTIMATORS
from majorant.simulate import one_coin_crew, simulate
from majorant.votes import Votes


def all_ballots(workers, n_classes):
    """One item for every way in which these workers can vote."""
    ballots = np.array(list(product(range(n_classes), repeat=len(workers))))
    names = {"items": range(len(ballots)), "workers": range(max(workers) + 1), "labels": range(n_classes)}
    item = np.repeat(np.arange(len(ballots)), len(workers))
    return Votes.from_codes(item, np.tile(workers, len(ballots)), ballots.ravel(), **names)


@pytest.mark.parametrize("method", ["one-coin", "hierarchical", "ebcc", "shared", "dawid-skene", "ibcc", "mace"])
def test_probabilities_of_all_ballots_sum_to_one(method):
    votes = informed_votes(np.random.default_rng(0), n_items=40, n_workers=5, n_classes=3, n_votes=150)
    fit = fit_method(method, votes, 0)
    for workers in ([4], [1, 4], [0, 2, 3, 4]):
        assert np.exp(log_evidence(fit, all_ballots(workers, 3))).sum() == pytest.approx(1)


def test_evidence_is_that_of_the_model():
    votes = informed_votes(np.random.default_rng(1), n_items=30, n_workers=4, n_classes=2, n_votes=90)
    fit = fit_method("hierarchical", votes, 0)
    by_hand = [
        np.log(
            sum(
                fit.prior[k] * np.prod([fit.confusion[j, k, l] for j, l in zip(*_ballot(votes, i), strict=True)])
                for k in range(2)
            )
        )
        for i in range(30)
    ]
    np.testing.assert_allclose(log_evidence(fit, votes), by_hand, atol=1e-12)


def _ballot(votes, item):
    chosen = votes.item_n == item
    return votes.worker_n[chosen], votes.label_n[chosen]


def test_methods_without_a_model_of_votes_say_so():
    votes = informed_votes(np.random.default_rng(0))
    with pytest.raises(ConfigError, match="majority says nothing about how probable votes are"):
        log_evidence(fit_method("majority", votes, 0), votes)


def test_an_item_is_scored_by_models_that_have_not_seen_it(monkeypatch):
    """Changing an item's votes may change the scores of others, but its own only through its own new votes."""
    votes = informed_votes(np.random.default_rng(2), n_items=30, n_workers=5, n_classes=2, n_votes=120)
    seen = []

    def spy(method, kept, seed):
        seen.append(set(kept.items))
        return fit_method(method, kept, seed)

    monkeypatch.setattr("majorant.answer.held_out.fit_method", spy)
    item_scores(votes, ["one-coin"], seed=0)
    assert all(len(one) == 20 for one in seen)
    assert all(sum(item in one for one in seen) == 2 for item in votes.items)


def test_stacking_finds_the_highest_mixture():
    score_im = np.random.default_rng(0).normal(size=(50, 2))
    grid = np.linspace(0, 1, 10_001)
    height = np.logaddexp(
        np.log(grid + 1e-300)[:, None] + score_im[:, 0], np.log(1 - grid + 1e-300)[:, None] + score_im[:, 1]
    ).sum(axis=1)
    assert stack(score_im)[0] == pytest.approx(grid[height.argmax()], abs=2e-4)


def test_independent_votes_are_known_by_items_not_seen():
    skill = np.random.default_rng(0).uniform(0.55, 0.95, size=20)
    votes, _ = simulate([0.6, 0.4], one_coin_crew(skill), 800, 5, rng=0)
    made = combination(votes, 0)
    assert made.independent
    assert made.score["ebcc"] < max(made.score["one-coin"], made.score["hierarchical"])
    assert made.weight["ebcc"] < 1 / 3


def test_shared_errors_are_known_by_items_not_seen():
    votes = foolable_votes(np.random.default_rng(5), n_items=600, n_workers=12, n_votes=8, hard=0.3)
    made = combination(votes, 0)
    assert not made.independent
    assert made.score["ebcc"] > made.score["hierarchical"]
    assert set(made.weight.values()) == {1 / 3}


def test_few_items_weigh_nothing():
    votes = informed_votes(np.random.default_rng(0), n_items=20)
    made = combination(votes, 0)
    assert (made.score, made.independent, set(made.weight.values())) == ({}, False, {1 / 3})


def test_the_combination_is_the_weighted_mean():
    votes = informed_votes(np.random.default_rng(0))
    fits = {method: fit_method(method, votes, 0) for method in MEMBERS}
    made = combine(fits, {"one-coin": 0.5, "hierarchical": 0.3, "ebcc": 0.2})
    by_hand = 0.5 * fits["one-coin"].posterior + 0.3 * fits["hierarchical"].posterior + 0.2 * fits["ebcc"].posterior
    np.testing.assert_allclose(made.posterior, by_hand)
    np.testing.assert_allclose(made.posterior.sum(axis=1), 1)
    np.testing.assert_allclose(made.confusion.sum(axis=2), 1)


def test_members_without_weight_are_not_fitted_to_all_votes(monkeypatch):
    votes, _ = simulate([0.6, 0.4], one_coin_crew([0.9, 0.8, 0.7, 0.6, 0.6, 0.55]), 400, 5, rng=0)
    score = {"one-coin": np.zeros(400), "hierarchical": np.full(400, -0.1), "ebcc": np.full(400, -2.0)}
    monkeypatch.setattr(module, "item_scores", lambda *_, **__: score)
    made = combination(votes, 0)
    assert set(made.fits) == {"one-coin"}
    assert made.weight == {"one-coin": 1.0, "hierarchical": 0.0, "ebcc": 0.0}


def test_weights_are_learned_on_a_sample_of_large_data(monkeypatch):
    votes, _ = simulate([0.6, 0.4], one_coin_crew([0.9, 0.8, 0.7, 0.6, 0.6, 0.55]), 500, 5, rng=0)
    taken = []

    def spy(sample, methods, *, seed):
        taken.append(sample.n_votes)
        return item_scores(sample, methods, seed=seed)

    monkeypatch.setattr(module, "item_scores", spy)
    monkeypatch.setattr(module, "SAMPLE_ENTRIES", 2_000)
    made = combination(votes, 0)
    assert taken == [1_000]
    assert len(made.fit.posterior) == 500


def test_candidates_that_cannot_win_are_not_run():
    n_workers = 60_000
    names = {"items": range(10), "workers": range(n_workers), "labels": range(20)}
    votes = Votes.from_codes([0, 1], [0, 1], [0, 1], **names)
    assert {name for name in CANDIDATES if unsuited(name, votes)} == {
        "hierarchical", "dawid-skene", "ibcc", "ebcc", "mace",
    }  # fmt: skip
    assert unsuited("map", votes) == "needs confusion matrices that are given"
    assert all(name in ESTIMATORS for name in (*CANDIDATES, *MEMBERS))
    with pytest.raises(ConfigError, match="There is no method 'magic'"):
        unsuited("magic", votes)
