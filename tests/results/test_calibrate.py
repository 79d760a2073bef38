"""Calibrated confidence: labels do not change, and probabilities become more accurate, above all with gold labels."""

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest

from crowds import random_votes
from majorant.methods import ESTIMATORS
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.hierarchical import Hierarchical
from majorant.methods.majority import Majority
from majorant.results import calibrate as calibrate_module
from majorant.results.calibrate import calibrate, keep_labels, learn_calibration, reliability, scores, tempered
from majorant.results.dependence_model import (
    _common_cause,
    _difficulty,
    _e_step,
    _m_step,
    _own,
    _polya_urn,
    vote_arrays,
)
from majorant.simulate import simulate
from majorant.tally import counts
from majorant.votes import Votes
from results.kinds import crowd


def one_item(labels, n_classes):
    """An item on which worker j gives labels[j]."""
    n = len(labels)
    return Votes.from_codes([0] * n, range(n), labels, items="a", workers=range(n), labels=range(n_classes))


def all_ballots(n_votes, n_classes):
    return list(product(range(n_classes), repeat=n_votes))


def ballot_chances(shape, crew, echo):
    """P(ballot | class) of every ballot of the crew under one shape of echo, as the package computes it."""
    n_workers, n_classes, _ = crew.shape
    ballots = all_ballots(n_workers, n_classes)  # an item each
    item_n, worker_n = np.divmod(np.arange(len(ballots) * n_workers), n_workers)
    label_n = np.ravel(ballots)
    names = {"items": range(len(ballots)), "workers": range(n_workers), "labels": range(n_classes)}
    found = vote_arrays(Votes.from_codes(item_n, worker_n, label_n, **names))
    own_nk = crew[worker_n, :, label_n]
    if shape == "urn":
        log_ik, _ = _polya_urn(found, found.each_vote, own_nk, echo)
    elif shape == "lure":
        log_ik, _ = _common_cause(found, found.each_vote, own_nk, crew.mean(axis=0), echo)
    else:
        log_ik, _ = _difficulty(found, own_nk, np.einsum("jkk->jk", crew), echo)
    return np.exp(log_ik)


CREW = np.array([[[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]]] * 2 + [[[0.5, 0.3, 0.2]] * 3])
ALIKE = np.array([[[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]]] * 3)


@pytest.mark.parametrize("shape", ["urn", "lure", "ease"])
def test_ballot_probabilities_sum_to_1_and_factorise_without_dependence(shape):
    np.testing.assert_allclose(ballot_chances(shape, CREW, 0.3).sum(axis=0), 1)
    alone = ballot_chances(shape, CREW, 1e-12)
    expected = [np.prod(CREW[np.arange(3), :, list(labels)], axis=0) for labels in all_ballots(3, 3)]
    np.testing.assert_allclose(alone, expected, atol=1e-5)


@pytest.mark.parametrize("shape", ["urn", "lure", "ease"])
def test_two_votes_have_the_stated_correlation(shape):
    """The correlation of correct votes given the class, summed over all ballots of three equal workers."""
    echo = 0.3
    chance_bk, given = ballot_chances(shape, ALIKE, echo), np.array(all_ballots(3, 3))
    for k, (a, b) in product(range(3), [(0, 1), (0, 2), (1, 2)]):
        x, y = given[:, a] == k, given[:, b] == k
        p, q, both = (chance_bk[rows, k].sum() for rows in (x, y, x & y))
        assert np.isclose(p, ALIKE[0, k, k])
        assert np.isclose((both - p * q) / np.sqrt(p * (1 - p) * q * (1 - q)), echo)


def test_common_cause_matches_its_definition():
    pull, crew, labels = 0.6, CREW, (0, 0, 2)
    found = vote_arrays(one_item(labels, 3))
    own_nk = crew[np.arange(3), :, list(labels)]
    [log_k], _ = _common_cause(found, found.each_vote, own_nk, crew.mean(axis=0), pull**2)
    habit = crew.mean(axis=0)
    for k in range(3):
        by_hand = sum(
            habit[k, z] * np.prod([(1 - pull) * crew[j, k, x] + pull * (x == z) for j, x in enumerate(labels)])
            for z in range(3)
        )
        assert np.isclose(np.exp(log_k[k]), by_hand)


@pytest.mark.parametrize("shape", ["none", "polya_urn", "common_cause"])
def test_grouped_votes_match_individual_votes(shape):
    found = vote_arrays(random_votes(np.random.default_rng(1), n_items=80, n_classes=3, n_votes=600))
    params = _m_step(found, found.kinds, found.posterior_ik, found.kinds.matrix_iu.T @ found.posterior_ik, None)
    votes_jkl, posterior_ik = [], []
    for kinds in (found.kinds, found.each_vote):
        step = _e_step(found, kinds, _own(kinds, params), params, shape, 0.2)
        posterior_ik.append(step.posterior_ik)
        votes_jkl.append(_m_step(found, kinds, step.posterior_ik, step.first_hand(step.posterior_ik), params).votes_jkl)
    assert len(found.kinds.column_u) < len(found.each_vote.column_u)
    np.testing.assert_allclose(*posterior_ik, rtol=1e-9)
    np.testing.assert_allclose(*votes_jkl, rtol=1e-9)


@pytest.mark.parametrize("method", ["majority", "dawid-skene", "glad", "iwmv", "la-two-pass", "bwa", "kos"])
def test_no_label_and_no_tie_changes(method):
    votes = random_votes(np.random.default_rng(3), n_items=60, n_classes=2, n_votes=240)
    fit = ESTIMATORS[method]().fit(votes)
    after = calibrate(votes, fit, rng=0).fit
    np.testing.assert_array_equal(after.codes(), fit.codes())
    np.testing.assert_array_equal(after.tied_i, fit.tied_i)
    np.testing.assert_allclose(after.posterior.sum(axis=1), 1)


def test_near_ties_are_not_rounded_into_ties():
    votes = one_item([0], 2)
    fit = replace(DawidSkene().fit(votes), posterior=np.array([[0.5 + 2e-9, 0.5 - 2e-9]]))
    assert keep_labels(fit, tempered(scores(fit), 10.0, 0.0)).posterior.tolist() == fit.posterior.tolist()


def test_temperature_and_error_rate_are_recovered():
    rng = np.random.default_rng(0)
    score = rng.normal(0, 3, (4000, 3))
    temperature, epsilon = learn_calibration(score, tempered(score, 1.7, 0.06))
    assert (round(temperature, 2), round(epsilon, 3)) == (1.7, 0.06)


def test_the_same_seed_gives_the_same_numbers():
    votes, _ = crowd("unequal", 0, 200)
    first, second = (calibrate(votes, Majority().fit(votes), rng=5) for _ in range(2))
    assert first.calibration == second.calibration
    np.testing.assert_array_equal(first.fit.posterior, second.fit.posterior)


def test_calibration_uses_a_sample_of_large_data(monkeypatch):
    votes, _ = crowd("unequal", 1, 1500)
    fit = Hierarchical().fit(votes)
    whole = calibrate(votes, fit, rng=0)
    learn = calibrate_module._learn
    monkeypatch.setattr(calibrate_module, "_learn", partial(learn, few_entries=4_000))
    sampled = calibrate(votes, fit, rng=0)
    monkeypatch.setattr(calibrate_module, "_learn", partial(learn, few_entries=4_000, most_entries=8_000))
    refitted = calibrate(votes, fit, rng=0)
    for labels in (sampled, refitted):
        assert abs(labels.fit.posterior.max(axis=1).mean() - whole.fit.posterior.max(axis=1).mean()) < 0.02


@pytest.mark.parametrize(
    "votes",
    [
        Votes.from_codes([], [], [], items="ab", workers="x", labels="ny"),
        Votes.from_codes([0, 0], [0, 1], [0, 0], items="a", workers="xy", labels="n"),
    ],
)
def test_probabilities_are_unchanged_without_information(votes):
    fit = Majority().fit(votes)
    labels = calibrate(votes, fit, rng=0)
    assert (labels.fit, labels.calibration, labels.source) == (fit, None, None)


def test_fifty_gold_labels_calibrate_what_votes_cannot():
    """The whole crowd is wrong on a quarter of the items, which only gold labels can show."""
    votes, truth = simulate([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], n_items=1000, n_votes=7, n_workers=40, rng=0)
    misled = np.random.default_rng(0).random(1000) < 0.25
    known = replace(votes, gold_i=np.where(misled, 1 - truth, truth).astype(np.int32))
    some = np.where(np.arange(1000) < 60, known.gold_i, -1)
    fit = Majority().fit(known)
    by_votes = calibrate(replace(known, gold_i=None), fit, rng=0)
    by_gold = calibrate(replace(known, gold_i=some), fit, rng=0)
    assert (by_votes.source, by_gold.source) == ("votes", "gold")
    rest = replace(known, gold_i=np.where(np.arange(1000) < 60, -1, known.gold_i))
    before, after = (reliability(rest, fit, labels.confidence_i).ece for labels in (by_votes, by_gold))
    assert before > 0.15
    assert after < 0.08


def test_gold_can_show_that_labels_are_mostly_wrong():
    """Judges who are misled on most items agree, and are wrong: confidence goes below one half, labels stay."""
    votes, truth = simulate([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], n_items=600, n_votes=5, n_workers=5, rng=0)
    misled = np.random.default_rng(0).random(600) < 0.7
    gold = np.where(misled, 1 - truth, truth).astype(np.int32)
    fit = Majority().fit(votes)
    labels = calibrate(replace(votes, gold_i=np.where(np.arange(600) < 100, gold, -1)), fit, rng=0)
    right = gold[100:] == fit.codes()[100:]
    assert abs(labels.confidence_i[100:].mean() - right.mean()) < 0.07
    assert labels.confidence_i.mean() < 0.4
    np.testing.assert_array_equal(labels.fit.codes(), fit.codes())
    assert (labels.fit.posterior.max(axis=1) > 0.5).all()


def test_twenty_gold_labels_are_enough_and_fewer_are_not_used():
    votes, known = crowd("unequal", 2, 300)
    fit = Majority().fit(votes)
    for n_gold, source in ((19, "votes"), (20, "gold")):
        gold_i = np.where(np.cumsum(votes.votes_i > 0) <= n_gold, known.gold_i, -1)
        assert calibrate(replace(votes, gold_i=gold_i), fit, rng=0).source == source


def test_confidence_is_between_the_model_and_the_share_of_votes():
    votes, _ = crowd("unequal", 0, 300)
    fit = Hierarchical().fit(votes)
    labels = calibrate(votes, fit, rng=0)
    rows = np.flatnonzero(~fit.tied_i & (fit.votes_i > 0))
    code = fit.codes()[rows]
    model = tempered(scores(fit), labels.calibration.temperature, labels.calibration.epsilon)[rows, code]
    share = (counts(votes)[rows, code] + 0.5) / (votes.votes_i[rows] + 1)
    low, high = np.minimum(model, share).clip(0.01, 0.99), np.maximum(model, share)
    assert ((labels.confidence_i[rows] >= low - 1e-9) & (labels.confidence_i[rows] <= high + 1e-9)).all()


def test_a_gold_item_is_not_tempered_by_its_own_label():
    votes, known = crowd("unequal", 2, 300)
    fit = Hierarchical().fit(votes)
    first = int(np.flatnonzero(votes.votes_i)[0])
    other = known.gold_i.copy()
    other[first] = 1 - other[first]
    one, two = (calibrate(replace(votes, gold_i=gold), fit, rng=0).fit.posterior for gold in (known.gold_i, other))
    np.testing.assert_array_equal(one[first], two[first])
    assert (one != two).any()


def calibration_errors(kind, method, seeds, n_items):
    """The mean expected calibration error before and after."""
    errors = []
    for seed in seeds:
        votes, known = crowd(kind, seed, n_items)
        fit = ESTIMATORS[method]().fit(votes)
        labels = calibrate(votes, fit, rng=0)
        before_i, after_i = fit.posterior.max(axis=1), labels.confidence_i
        errors.append([reliability(known, fit, confidence_i).ece for confidence_i in (before_i, after_i)])
    return np.mean(errors, axis=0)


@pytest.mark.parametrize("kind", ["hard items", "correlated judges"])
def test_overconfident_fits_become_better_calibrated(kind):
    before, after = calibration_errors(kind, "dawid-skene", range(2), 400)
    assert before > 0.08
    assert after < 0.75 * before


@pytest.mark.parametrize("kind", ["unequal", "adversaries", "rare class"])
def test_shares_of_votes_become_probabilities(kind):
    """If voters are independent, which is rare in practice, confidence is slightly too low."""
    before, after = calibration_errors(kind, "majority", range(2), 400)
    assert before > 0.07
    assert after < 0.07
    assert after < 0.8 * before


def test_reliability_counts_bins_and_errors_by_hand():
    """Confidences .9 (right), .9 (wrong), .6 (tied: half right), one item without gold."""
    votes = Votes.from_codes([0, 1, 2, 3], [0] * 4, [0] * 4, items="abcd", workers="w", labels="ny", gold=[0, 1, 0, -1])
    posterior = np.array([[0.9, 0.1], [0.9, 0.1], [0.5, 0.5], [0.75, 0.25]])
    found = reliability(votes, replace(Majority().fit(votes), posterior=posterior), posterior.max(axis=1))
    assert np.isclose(found.ece, (abs(1 - 1.8) + abs(0.5 - 0.5)) / 3)
    assert found.gold_items == 3
    last, middle = found.bins[8], found.bins[7]
    assert (last.items, last.gold_items, last.gold_right) == (2, 2, 1.0)
    assert (middle.items, middle.gold_items, middle.mean_confidence) == (1, 0, 0.75)
    assert found.bins[0].mean_confidence is None
