"""The rule that majority vote is compared with: the combination, what gold shows to be better, or what is asked for."""

from dataclasses import replace

import numpy as np
import pytest

from majorant.defaults import COMBINED
from majorant.errors import ConfigError
from majorant.methods import ESTIMATORS
from majorant.methods.majority import Majority
from majorant.results.choice import ENOUGH_GOLD, best_by_gold, compare, decide, fit_rule
from majorant.results.combine import combination, fit_method, unsuited
from majorant.results.workers import without_workers
from majorant.simulate import mixed_crew, one_coin_crew, simulate
from majorant.votes import Votes


def decided(votes, **settings):
    return decide(votes, Majority().fit(votes), **{"rng": 0, **settings})


def accuracy(fit, truth):
    best = fit.posterior >= fit.posterior.max(axis=1, keepdims=True) - 1e-9
    return float((best[np.arange(len(truth)), truth] / best.sum(axis=1)).mean())


def test_experts_among_spammers_are_heard():
    crew = mixed_crew([[0.9, 0.1], [0.1, 0.9]], honest=3, spammers=8)
    votes, truth = simulate([0.5, 0.5], crew, n_items=400, n_votes=7, rng=1)
    decision = decided(votes)
    assert decision.method == "combination"
    assert accuracy(decision.fit, truth) > accuracy(Majority().fit(votes), truth) + 0.05


def test_the_same_seed_gives_the_same_decision():
    votes, _ = simulate([0.5, 0.3, 0.2], one_coin_crew([0.8, 0.7, 0.6, 0.5], 3), 150, 3, rng=2, gold=0.5)
    one, two = decided(votes, rng=5), decided(votes, rng=5)
    assert one.alternatives == two.alternatives
    np.testing.assert_array_equal(one.fit.posterior, two.fit.posterior)


def test_a_method_asked_for_is_used():
    votes, _ = simulate([0.5, 0.5], one_coin_crew([0.9, 0.7, 0.6, 0.6]), n_items=100, n_votes=3, rng=0)
    decision = decided(votes, method="iwmv")
    assert (decision.method, decision.fit.method, decision.chosen_by) == ("iwmv", "iwmv", "user")
    with pytest.raises(ConfigError, match="no method 'magic'"):
        decided(votes, method="magic")
    with pytest.raises(ConfigError, match="anchor-map cannot be used on these votes: needs gold labels"):
        decided(votes, method="anchor-map")


def test_changes_and_settled_ties_are_counted():
    votes, _ = simulate([0.5, 0.5], one_coin_crew([0.95, 0.6, 0.6, 0.6]), n_items=300, n_votes=4, rng=0)
    decision = decided(votes)
    before, after = Majority().fit(votes).labels(), decision.fit.labels()
    assert decision.ties_settled == sum(b is None and a is not None for b, a in zip(before, after, strict=True)) > 0
    assert decision.labels_changed == sum(b is not None and a != b for b, a in zip(before, after, strict=True)) > 0


@pytest.mark.parametrize("n_votes", [1, 2])
def test_what_cannot_be_told_is_left_to_majority(n_votes):
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=200, n_votes=n_votes, n_workers=20, rng=0)
    decision = decided(votes)
    assert decision.method == "majority"


def test_few_gold_labels_do_not_choose():
    votes, truth = simulate([0.5, 0.5], one_coin_crew([0.9, 0.7, 0.6, 0.6]), n_items=200, n_votes=3, rng=0)
    gold = np.where(np.arange(200) < ENOUGH_GOLD - 1, truth, -1)
    decision = decided(replace(votes, gold_i=gold))
    assert decision.method == "combination"
    assert (decision.chosen_by, decision.n_rivals) == ("default", 1)


def test_gold_finds_a_rule_that_is_much_better_and_never_majority_itself():
    votes, truth = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=80, n_votes=3, rng=0, gold=1.0)
    majority = Majority().fit(votes)
    poor = replace(majority, posterior=np.eye(2)[1 - truth])
    fits = {"majority": majority, "combination": poor, "expert": replace(majority, posterior=np.eye(2)[truth])}
    assert best_by_gold(votes, fits, "combination") == "expert"
    assert best_by_gold(votes, {"majority": majority, "combination": poor}, "combination") == "combination"


def test_the_combination_is_the_mean_of_the_models_and_of_the_shares_of_votes():
    votes, _ = simulate([0.5, 0.3, 0.2], one_coin_crew([0.95, 0.9, 0.8, 0.6, 0.5, 0.4], 3), 200, 4, rng=0)
    fits = {method: fit_method(method, votes, 0) for method in COMBINED}
    made = combination(votes, 0)
    np.testing.assert_allclose(made.fit.posterior, np.mean([fit.posterior for fit in fits.values()], axis=0))
    assert set(made.fits) == {"one-coin", "hierarchical", "ebcc", "majority"}
    np.testing.assert_allclose(made.fit.posterior.sum(axis=1), 1)
    np.testing.assert_allclose(made.fit.confusion.sum(axis=2), 1)


def test_workers_who_cannot_be_told_apart_are_not_set_apart_by_noise():
    votes, _ = simulate([0.7, 0.3], [[0.82, 0.18], [0.18, 0.82]], n_items=4_000, n_votes=5, n_workers=1_000, rng=3)
    decision = decided(votes)
    assert {row.method for row in decision.alternatives} == {"hierarchical", "majority", "combination"}
    assert (decision.labels_changed, decision.ties_settled) == (0, 0)


def test_members_that_would_fill_the_memory_are_not_run():
    names = {"items": range(10), "workers": range(60_000), "labels": range(20)}
    votes = Votes.from_codes([0, 1], [0, 1], [0, 1], **names)
    assert {name for name in COMBINED if unsuited(name, votes)} == {"hierarchical", "ebcc"}
    assert unsuited("map", votes) == "needs confusion matrices that are given"
    with pytest.raises(ConfigError, match="There is no method 'magic'"):
        unsuited("magic", votes)


def test_compare_has_a_row_for_every_method():
    votes, _ = simulate([0.5, 0.3, 0.2], one_coin_crew([0.9, 0.8, 0.7, 0.6, 0.6], 3), 80, 4, rng=0, gold=0.5)
    rows = {row.method: row for row in compare(votes, rng=0)}
    assert set(rows) == {"combination", *ESTIMATORS}
    for name in ("kos", "triplet", "spectral", "map"):
        assert rows[name].note
        assert rows[name].accuracy.value is None
    assert rows["majority"].agreement == 1.0
    assert {row.source for row in rows.values() if row.accuracy.value is not None} == {"gold"}
    assert compare(votes, rng=0) == compare(votes, rng=0)
    without = {row.method: row for row in compare(replace(votes, gold_i=None), rng=0)}
    assert without["anchor-map"].note == "needs gold labels"
    assert without["combination"].source == "model"
    assert without["combination"].accuracy.low is None  # nothing that a model says of itself has an interval


def test_compare_says_what_the_data_cannot_tell():
    names = {"items": range(4), "workers": range(3), "labels": range(3)}
    votes = Votes.from_codes([0, 0, 0, 1, 1, 2, 3], [0, 1, 2, 0, 1, 2, 2], [1, 1, 0, 0, 0, 1, 2], **names)
    rows = {row.method: row for row in compare(votes, rng=0)}
    assert rows["kos"].note == "for two classes only"
    assert rows["majority"].note == ""


def test_models_that_go_on_from_an_earlier_fit_end_where_others_do():
    crew = one_coin_crew(np.linspace(0.95, 0.55, 20))
    votes, _ = simulate([0.5, 0.5], crew, n_items=1500, n_votes=5, rng=0)
    members = decided(votes).members
    left = without_workers(votes, np.arange(20) >= 17)
    for method, earlier in members.items():
        anew, going_on = fit_method(method, left, 0), fit_method(method, left, 0, earlier)
        assert np.abs(anew.posterior - going_on.posterior).mean() < 1e-3
        assert (anew.codes() != going_on.codes()).sum() <= 2
    one, two = fit_rule("combination", left, 0), fit_rule("combination", left, 0, members)
    assert (one.codes() != two.codes()).sum() <= 2
