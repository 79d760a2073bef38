"""Three voters on counts of patterns: the same answers as votes one by one, brute force and certify_counts."""

from itertools import product

import numpy as np
import pytest

from majorant.evidence.certificate.anonymous import as_histograms, certify_counts, claim_from_counts, examine_counts
from majorant.evidence.certificate.radius import published_radius, shared_model
from majorant.methods import ESTIMATORS
from majorant.simulate import simulate
from majorant.theory import gap, majority_margin
from majorant.votes import Votes
from paper import verdicts
from paper.beyond_verdicts import MARGINS, NOISES, model_at
from paper.panel import (
    PATTERN_PJ,
    Model,
    certified,
    draw_patterns,
    estimate,
    histograms,
    pattern_shares,
    simulated_gap,
    vote_shares,
)

MODEL = Model(0.7, 0.6, 0.85)


def patterns_by_hand(model):
    """{votes: (joint with class 0, joint with class 1)}"""
    joint = {}
    for votes in product((0, 1), repeat=3):
        pairs = zip(model.prior, model.confusion, strict=True)
        joint[votes] = tuple(p * np.prod([row[label] for label in votes]) for p, row in pairs)
    return joint


def test_shares_of_patterns_and_votes_match_brute_force():
    joint = patterns_by_hand(MODEL)
    expected = [sum(joint[tuple(pattern)]) for pattern in PATTERN_PJ]
    np.testing.assert_allclose(pattern_shares(MODEL), expected, atol=1e-15)
    share_rk, differ_rk = vote_shares([MODEL])
    for zeros in range(4):
        rows = [both for votes, both in joint.items() if votes.count(0) == zeros]
        assert share_rk[0, zeros] == pytest.approx(sum(map(sum, rows)), abs=1e-15)
        assert differ_rk[0, zeros] == ((rows[0][0] > rows[0][1]) != (zeros > 1))


def test_histograms_count_votes_for_class_0():
    items_p = np.arange(1, 9)
    expected = [sum(n for n, p in zip(items_p, PATTERN_PJ, strict=True) if list(p).count(0) == k) for k in range(4)]
    assert histograms(items_p[None]).tolist() == [expected]


@pytest.mark.parametrize("method", ["iaa", "iwmv"])
def test_estimates_from_patterns_match_those_from_votes(method):
    votes, _ = simulate(MODEL.prior, MODEL.confusion, n_items=400, n_votes=3, n_workers=3, rng=5)
    code_i = votes.label_n.reshape(-1, 3) @ [1, 2, 4]  # workers vote in their order
    prior_k, confusion_kl = shared_model(votes, ESTIMATORS[method]().fit(votes))
    found = estimate(method.upper(), np.bincount(code_i, minlength=8))
    np.testing.assert_allclose(found.prior_k, prior_k, atol=1e-6)
    np.testing.assert_allclose(found.confusion_kl, confusion_kl, atol=1e-6)


@pytest.mark.parametrize("method", ["EBCC", "one shared matrix"])
def test_consistent_methods_find_the_model_behind_the_exact_shares(method):
    found = estimate(method, 1e9 * pattern_shares(MODEL))
    np.testing.assert_allclose(found.prior_k, MODEL.prior, atol=2e-3)
    np.testing.assert_allclose(found.confusion_kl, MODEL.confusion, atol=2e-3)


def test_certificates_of_many_sets_match_certify_counts():
    sets = [
        [155, 297, 241, 277],
        [300, 0, 0, 200],
        [900, 700, 650, 950],
        [500, 20, 900, 3000],
        [5000, 3100, 3000, 5200],
    ]
    for items_k in sets:
        rng = np.random.default_rng(3)
        tests = examine_counts(as_histograms({3: items_k}), rng)
        claim = claim_from_counts(tests, 0.95, rng, assumptions=())  # three votes cannot test independence
        proved, supported = certified(np.array([items_k], dtype=float))
        assert supported[0] == (claim.verdict == "optimal"), items_k
        assert proved[0] == (claim.certainty == "proved"), items_k
        assert certify_counts({3: items_k}).anonymous.verdict == "open"  # as the product answers
        assert supported[0] >= proved[0]


def test_certificates_do_not_depend_on_other_sets_without_a_count():
    proved, supported = certified(np.array([[5000, 3100, 3000, 5200.0], [300, 0, 0, 200.0]]))
    assert (proved.tolist(), supported.tolist()) == ([True, False], [True, False])


def test_simulated_gap_is_right_on_average():
    draws = [simulated_gap(MODEL, 2_000, np.random.default_rng(seed)) for seed in range(200)]
    value, error = np.mean(draws, axis=0)
    exact = gap(MODEL.prior, MODEL.confusion, 3)
    assert abs(value - exact) < 4 * error / np.sqrt(200)
    assert np.std([one for one, _ in draws]) == pytest.approx(error, rel=0.15)


@pytest.mark.parametrize("accuracies", NOISES.values())
@pytest.mark.parametrize("margin", MARGINS)
def test_models_have_the_margin_asked_for(accuracies, margin):
    model = model_at(margin, accuracies)
    assert majority_margin(model.prior, model.confusion, 3) == pytest.approx(margin, abs=1e-9)


def test_the_radius_worked_by_hand():
    """K (sqrt K + 1) max nu / lambda_min sqrt(log(2 K^2 / .1) / 2N), K = 2, nu = .5, lambda_min = .6, N = 20,000."""
    by_hand = 2 * (2**0.5 + 1) * 0.5 / 0.6 * (np.log(80) / 40_000) ** 0.5
    found = published_radius(np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([0.5, 0.5]), 20_000, error=verdicts.GAMMA)
    assert found == pytest.approx(by_hand, rel=1e-12)


def test_theorem_3_5_certifies_only_from_many_items():
    model = Model(0.5, 0.85, 0.85)
    for n_items, expected in ((2_000, False), (1_000_000, True)):
        items_p = np.rint(n_items * pattern_shares(model)).astype(np.int64)
        says = verdicts.theorem_verdicts(estimate("IAA", items_p), items_p)
        assert says == {verdicts.PRINTED: expected, verdicts.MENDED: expected}


def test_only_consistent_methods_recognise_suboptimal_models_in_the_limit():
    model = Model(0.7, 0.65, 0.65)
    says = {method: verdicts.limit(model, method) for method in ("IAA", "IWMV", "EBCC", "one shared matrix")}
    assert says == {"IAA": True, "IWMV": True, "EBCC": False, "one shared matrix": False}


def test_verdict_rates_are_shares_of_data_sets():
    rng = np.random.default_rng(0)
    found = verdicts.rates(Model(0.5, 0.9, 0.9), 3_000, rng, methods=("IAA",), n_sets=6, n_certified=2)
    assert found["IAA"] == (1.0, 6)
    assert found[verdicts.PROVED] == (1.0, 2)
    assert verdicts.mean_rate([verdicts.Rate(0.5, 4), verdicts.Rate(1.0, 4)]) == (0.75, 8)
    assert 0 < verdicts.Rate(1.0, 6).error < 0.2


def test_drawn_patterns_have_the_right_shares():
    items_rp = draw_patterns(MODEL, 1_000, np.random.default_rng(1), 400)
    share_p = pattern_shares(MODEL)
    z_p = (items_rp.mean(axis=0) / 1_000 - share_p) / np.sqrt(share_p * (1 - share_p) / 400_000)
    assert np.abs(z_p).max() < 4


def test_a_method_without_confusions_is_taken_at_its_posterior():
    votes = Votes.from_codes(
        [0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [0, 0, 1, 1, 1, 1], items="ab", workers="xyz", labels="ny"
    )
    prior, confusion = shared_model(votes, ESTIMATORS["majority"]().fit(votes))
    # class n: 2/3 of the first item, whose votes are n n y; class y: 1/3 of it and all of the second
    assert confusion == pytest.approx(np.array([[2 / 3, 1 / 3], [2 / 12, 10 / 12]]))
    assert prior == pytest.approx([2 / 6, 4 / 6])
