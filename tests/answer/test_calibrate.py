"""Calibrated confidence: labels stay, probabilities come nearer to the truth, and what is promised holds."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from answer.kinds import KINDS, crowd
from crowds import random_votes
from majorant.answer.calibrate import calibrate, keep_labels, scores, temper, tempered
from majorant.answer.echo import _ease, _lure, _urn, ballots
from majorant.answer.gold import gold_accuracy
from majorant.answer.promise import BLIND, Beliefs, promise
from majorant.answer.reliability import reliability
from majorant.estimate import ESTIMATORS
from majorant.estimate.dawid_skene import DawidSkene
from majorant.estimate.hierarchical import Hierarchical
from majorant.estimate.majority import Majority
from majorant.votes import Votes


def one_item(labels, n_classes):
    """An item on which worker j gives labels[j]."""
    n = len(labels)
    return Votes.from_codes([0] * n, range(n), labels, items="a", workers=range(n), labels=range(n_classes))


def all_ballots(n_votes, n_classes):
    return list(product(range(n_classes), repeat=n_votes))


def ballot_chances(shape, crew, echo):
    """P(ballot | class) of every ballot of the crew under one shape of echo, as the package computes it."""
    n_workers, n_classes, _ = crew.shape
    rows = []
    for labels in all_ballots(n_workers, n_classes):
        found = ballots(one_item(labels, n_classes))
        own_nk = crew[np.arange(n_workers), :, list(labels)]
        if shape == "urn":
            log_ik, _ = _urn(found, own_nk, echo)
        elif shape == "lure":
            log_ik, _ = _lure(found, own_nk, crew.mean(axis=0), echo)
        else:
            log_ik, _ = _ease(found, own_nk, np.einsum("jkk->jk", crew), echo)
        rows.append(np.exp(log_ik[0]))
    return np.array(rows)


CREW = np.array([[[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]]] * 2 + [[[0.5, 0.3, 0.2]] * 3])
ALIKE = np.array([[[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]]] * 3)


@pytest.mark.parametrize("shape", ["urn", "lure", "ease"])
def test_the_ballots_of_a_crew_have_probability_1_and_without_echo_are_independent(shape):
    np.testing.assert_allclose(ballot_chances(shape, CREW, 0.3).sum(axis=0), 1)
    alone = ballot_chances(shape, CREW, 1e-12)
    expected = [np.prod(CREW[np.arange(3), :, list(labels)], axis=0) for labels in all_ballots(3, 3)]
    np.testing.assert_allclose(alone, expected, atol=1e-5)


@pytest.mark.parametrize("shape", ["urn", "lure", "ease"])
def test_two_votes_have_the_correlation_that_is_called_echo(shape):
    """Of the indicator of the right label, given the class, by adding up all ballots of three workers alike."""
    echo = 0.3
    chance_bk, given = ballot_chances(shape, ALIKE, echo), np.array(all_ballots(3, 3))
    for k, (a, b) in product(range(3), [(0, 1), (0, 2), (1, 2)]):
        x, y = given[:, a] == k, given[:, b] == k
        p, q, both = (chance_bk[rows, k].sum() for rows in (x, y, x & y))
        assert np.isclose(p, ALIKE[0, k, k])
        assert np.isclose((both - p * q) / np.sqrt(p * (1 - p) * q * (1 - q)), echo)


def test_a_lure_is_a_hidden_draw_that_each_vote_repeats_or_not():
    pull, crew, labels = 0.6, CREW, (0, 0, 2)
    [log_k], _ = _lure(ballots(one_item(labels, 3)), crew[np.arange(3), :, list(labels)], crew.mean(axis=0), pull**2)
    habit = crew.mean(axis=0)
    for k in range(3):
        by_hand = sum(
            habit[k, z] * np.prod([(1 - pull) * crew[j, k, x] + pull * (x == z) for j, x in enumerate(labels)])
            for z in range(3)
        )
        assert np.isclose(np.exp(log_k[k]), by_hand)


@pytest.mark.parametrize("method", ["majority", "dawid-skene", "glad", "iwmv", "la-two-pass", "bwa", "kos"])
def test_no_label_and_no_tie_changes(method):
    votes = random_votes(np.random.default_rng(3), n_items=60, n_classes=2, n_votes=240)
    estimator = ESTIMATORS[method]()
    fit = estimator.fit(votes, rng=0) if estimator.stochastic else estimator.fit(votes)
    after = calibrate(votes, fit, rng=0).fit
    np.testing.assert_array_equal(after.codes(), fit.codes())
    np.testing.assert_array_equal(after.tied_i, fit.tied_i)
    np.testing.assert_allclose(after.posterior.sum(axis=1), 1)


def test_a_row_that_rounding_would_tie_keeps_its_probabilities():
    votes = one_item([0], 2)
    fit = replace(DawidSkene().fit(votes), posterior=np.array([[0.5 + 2e-9, 0.5 - 2e-9]]))
    assert keep_labels(fit, tempered(scores(fit), 10.0, 0.0)).posterior.tolist() == fit.posterior.tolist()


def test_the_temperature_and_slip_that_were_put_in_come_out():
    rng = np.random.default_rng(0)
    score = rng.normal(0, 3, (4000, 3))
    temperature, slip = temper(score, tempered(score, 1.7, 0.06))
    assert (round(temperature, 2), round(slip, 3)) == (1.7, 0.06)


def test_the_same_seed_gives_the_same_numbers():
    votes, _ = crowd("unequal", 0, 200)
    first, second = (calibrate(votes, Majority().fit(votes), rng=5) for _ in range(2))
    assert first.accuracy == second.accuracy
    np.testing.assert_array_equal(first.fit.posterior, second.fit.posterior)


def test_a_sample_serves_for_large_data(monkeypatch):
    votes, known = crowd("unequal", 1, 1500)
    fit = Hierarchical().fit(votes)
    whole = calibrate(votes, fit, rng=0)
    monkeypatch.setattr("majorant.answer.calibrate.ECHO_ENTRIES", 4_000)
    sampled = calibrate(votes, fit, rng=0)
    monkeypatch.setattr("majorant.answer.calibrate.MOST_ENTRIES", 8_000)
    refitted = calibrate(votes, fit, rng=0)
    for labels in (sampled, refitted):
        assert abs(labels.accuracy.value - whole.accuracy.value) < 0.02
        assert labels.accuracy.low < gold_accuracy(known, fit, level=0.95).value < labels.accuracy.high


@pytest.mark.parametrize(
    ("votes", "reason"),
    [
        (Votes.from_codes([], [], [], items="ab", workers="x", labels="ny"), "no item holds a vote"),
        (Votes.from_codes([0, 0], [0, 1], [0, 0], items="a", workers="xy", labels="n"), "all votes say the same"),
        (Votes.from_codes([0, 1], [0, 0], [0, 1], items="ab", workers="x", labels="ny"), "no item holds two votes"),
    ],
)
def test_what_cannot_be_told_is_not(votes, reason):
    labels = calibrate(votes, Majority().fit(votes), rng=0)
    assert labels.accuracy.value is None
    assert labels.accuracy.reason.startswith(reason)


def calibration_errors(kind, method, seeds, n_items):
    """The mean expected calibration error before and after."""
    errors = []
    for seed in seeds:
        votes, known = crowd(kind, seed, n_items)
        fit = ESTIMATORS[method]().fit(votes)
        errors.append([reliability(known, one).ece for one in (fit, calibrate(votes, fit, rng=0).fit)])
    return np.mean(errors, axis=0)


@pytest.mark.parametrize("kind", ["hard items", "correlated judges", "few votes each"])
def test_overconfident_fits_become_better_calibrated(kind):
    before, after = calibration_errors(kind, "dawid-skene", range(2), 400)
    assert before > 0.08
    assert after < 0.75 * before


@pytest.mark.parametrize("kind", ["unequal", "adversaries", "rare class"])
def test_shares_of_votes_become_probabilities(kind):
    before, after = calibration_errors(kind, "majority", range(2), 400)
    assert before > 0.07
    assert after < 0.035


def held(kind, method, seeds, n_items):
    """How often the interval holds the share of right labels."""
    hits = 0
    for seed in seeds:
        votes, known = crowd(kind, seed, n_items)
        fit = ESTIMATORS[method]().fit(votes)
        promised = calibrate(votes, fit, rng=0).accuracy
        hits += promised.low <= gold_accuracy(known, fit, level=0.95).value <= promised.high
    return hits


@pytest.mark.parametrize("kind", KINDS)
def test_the_promised_accuracy_holds(kind):
    assert held(kind, "hierarchical", range(100, 102), 300) == 2


@pytest.mark.long
@pytest.mark.parametrize("method", ["majority", "dawid-skene", "hierarchical"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_promised_accuracy_holds_nine_times_in_ten(kind, method):
    runs = 40
    hits = held(kind, method, range(1000, 1000 + runs), 500)
    print(f"{kind}, {method}: {hits} of {runs}")
    assert hits >= 0.9 * runs


BELIEFS = Beliefs(np.array([0.9]), np.zeros(1), np.zeros(1), np.ones(1), 0.0)


def sure(n_items, gold):
    """Items that all have the confidence .9, some of them with gold, right or wrong."""
    n = 2 * n_items
    votes = Votes.from_codes(
        np.arange(n) // 2, np.arange(n) % 2, [0] * n, items=range(n_items), workers="xy", labels="ny", gold=gold
    )
    return votes, replace(Majority().fit(votes), posterior=np.tile([0.9, 0.1], (n_items, 1)))


def test_the_interval_adds_up_luck_and_doubt():
    votes, fit = sure(400, None)
    accuracy, source = promise(votes, fit, BELIEFS, 0.95)
    spread = np.hypot(np.sqrt(0.9 * 0.1 / 400), 0.15 * 0.1)
    assert source == "votes"
    assert np.isclose(accuracy.value, 0.9)
    assert np.isclose(accuracy.high, 0.9 + 1.96 * spread, atol=1e-3)
    assert np.isclose(accuracy.low, (1 - BLIND) * (0.9 - 1.96 * spread), atol=1e-3)


def test_gold_joins_the_votes_overrules_them_or_says_it_all():
    some = np.full(400, -1)
    some[:40] = np.arange(40) >= 36  # 36 of 40 right
    joined, source = promise(*sure(400, some), BELIEFS, 0.95)
    alone, _ = promise(*sure(400, None), BELIEFS, 0.95)
    assert source == "gold and votes"
    assert joined.high - joined.low < alone.high - alone.low
    some[:40] = np.arange(40) >= 20
    overruled, source = promise(*sure(400, some), BELIEFS, 0.95)
    assert (source, overruled.value) == ("gold", 0.5)
    everything, source = promise(*sure(400, np.zeros(400, dtype=int)), BELIEFS, 0.95)
    assert (source, everything.value) == ("gold", 1.0)


def test_reliability_counts_bins_and_errors_by_hand():
    """Confidences .9 (right), .9 (wrong), .6 (tied: half right), one item without gold."""
    votes = Votes.from_codes([0, 1, 2, 3], [0] * 4, [0] * 4, items="abcd", workers="w", labels="ny", gold=[0, 1, 0, -1])
    posterior = np.array([[0.9, 0.1], [0.9, 0.1], [0.5, 0.5], [0.75, 0.25]])
    found = reliability(votes, replace(Majority().fit(votes), posterior=posterior))
    assert np.isclose(found.ece, (abs(1 - 1.8) + abs(0.5 - 0.5)) / 3)
    assert found.gold_items == 3
    last, middle = found.bins[8], found.bins[7]
    assert (last.items, last.gold_items, last.gold_right) == (2, 2, 1.0)
    assert (middle.items, middle.gold_items, middle.mean_confidence) == (1, 0, 0.75)
    assert found.bins[0].mean_confidence is None
