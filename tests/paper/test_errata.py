"""Errata of the conditions, each shown; the number in a test's name is that of paper/errata.md."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from majorant.theory import paper
from oracles import paper as oracle

SYNTHETIC = {"alpha": (0.2, 0.7, 0.7), "beta": (0.5, 0.9, 0.9), "gamma": (0.3, 0.6, 0.75), "delta": (0.9, 0.6, 0.9)}


def test_01_code_for_theorem_3_4_is_wrong_on_48_percent_and_reverses_gamma_and_delta():
    prior_bk, right_b2 = oracle.draws(1, 8_000)
    margin_b = oracle.shared_margins(prior_bk, right_b2, 3)
    draw = zip(prior_bk[:, 0], *right_b2.T, strict=True)
    code = [paper.theorem_3_4_code(*oracle.model(*numbers), 3).holds for numbers in draw]
    assert np.mean(np.array(code) != (margin_b > 0)) == pytest.approx(0.48, abs=0.02)
    for name, reversed_ in [("alpha", False), ("beta", False), ("gamma", True), ("delta", True)]:
        right, wrong = (
            paper.theorem_3_4(*oracle.model(*SYNTHETIC[name]), 3),
            paper.theorem_3_4_code(*oracle.model(*SYNTHETIC[name]), 3),
        )
        assert right.holds == (oracle.margin(*SYNTHETIC[name], 3) > 0)
        assert (right.holds != wrong.holds) == reversed_


def test_04_anchor_estimate_counts_distinct_labels():
    assert paper.anchor_limit([[0.9, 0.1], [0.1, 0.9]], 5)[0, 0] == pytest.approx(0.709, abs=5e-4)
    rng = np.random.default_rng(4)
    vote_ih = rng.random((200_000, 5)) < 0.9
    seen_l = np.array([(~vote_ih).any(axis=1).sum(), vote_ih.any(axis=1).sum()])
    assert seen_l[1] / seen_l.sum() == pytest.approx(0.7095, abs=0.002)


def test_05_code_divides_the_threshold_by_rho():
    at = oracle.model(0.6, 0.7, 0.8)
    right = paper.vote_threshold(*at, 3, 0)
    assert 1 < right < 2
    assert right * np.log(paper.rho(at[1])) / paper.rho(at[1]) < 0.7
    assert paper.perturbed_sigma_code(*at, 3) > 2 * paper.perturbed_sigma_mended(*at, 3)


def test_06_printed_sigma_is_never_positive_from_two_votes_on():
    prior_bk, right_b2 = oracle.draws(6, 5_000, high=0.99)
    for prior_0, (a, b), n_votes in zip(prior_bk[:, 0], right_b2, 2 + np.arange(5_000) % 8, strict=True):
        assert paper.perturbed_sigma_printed(*oracle.model(prior_0, a, b), int(n_votes)) <= 0
    assert paper.perturbed_sigma_printed(*oracle.model(0.5, 0.8, 0.8), 1) > 0


def test_07_mended_sigma_is_sound_down_to_error_rates_of_a_thousandth():
    prior_bk, right_b2 = oracle.draws(7, 8_000, low=0.501, high=0.999)
    keep = oracle.shared_margins(prior_bk, right_b2, 3) > 1e-6
    prior_bk, right_b2 = prior_bk[keep], right_b2[keep]
    draw = zip(prior_bk[:, 0], *right_b2.T, strict=True)
    sigma_b = np.array([paper.perturbed_sigma_mended(*oracle.model(*numbers), 3) for numbers in draw])
    assert (oracle.worst_pool_margins(prior_bk, right_b2, 3, sigma_b) > -1e-9).all()


def test_07_mended_sigma_fails_for_nearly_perfect_workers():
    """The proof's -log(1-x) <= x/(1+x) is reversed, with a visible effect here; `perturbed_sigma` is safe."""
    right = 1 - 1.234098e-4
    at = oracle.model(0.5, right, right)
    both = np.array([[right, right]])
    mended, safe = (np.array([f(*at, 3)]) for f in (paper.perturbed_sigma_mended, paper.perturbed_sigma))
    assert mended[0] < 1 - right  # every T_h is a proper confusion
    assert oracle.worst_pool_margins(np.array([[0.5, 0.5]]), both, 3, mended)[0] < -1
    assert oracle.worst_pool_margins(np.array([[0.5, 0.5]]), both, 3, safe)[0] > 0
    assert paper.perturbed_sigma_mended(*oracle.model(0.5, 1 - 1e-5, 1 - 1e-5), 3) > 1e-5  # not even a proper confusion


def test_10_lemma_3_2_at_a_whole_threshold():
    prior, confusion = oracle.model(0.6, 0.6, 0.6)
    truth = float(prior @ oracle.rates(np.array([prior]), oracle.shared([confusion], 3), "map")[0])
    text, appendix = paper.lemma_3_2_text(prior, confusion, 3), paper.lemma_3_2_appendix(prior, confusion, 3)
    assert truth == pytest.approx(0.648, abs=5e-4)
    assert prior @ paper.lemma_3_2(prior, confusion, 3) == pytest.approx(truth, abs=1e-12)
    assert prior @ text == pytest.approx(0.475, abs=5e-4)
    assert prior @ appendix == pytest.approx(0.821, abs=5e-4)


def test_11_accuracies_are_equal_on_the_boundary_too():
    for prior_0, a, b in [(0.6, 0.6, 0.6), (0.25, 0.75, 0.75)]:
        prior, confusion = oracle.model(prior_0, a, b)
        assert not paper.theorem_3_3(prior, confusion).holds
        assert prior @ paper.lemma_3_1(confusion, 3) == pytest.approx(prior @ paper.lemma_3_2(prior, confusion, 3))


def test_12_a_class_may_be_labelled_worse_than_by_chance():
    assert oracle.margin(0.5, 0.45, 0.6, 3) > 0
    assert paper.theorem_3_4(*oracle.model(0.5, 0.45, 0.6), 3).holds
    prior_bk, right_b2 = oracle.draws(12, 20_000, low=0.02, high=0.98)
    optimal = oracle.shared_margins(prior_bk, right_b2, 3) > 0
    assert (right_b2.sum(axis=1) > 1)[optimal].all()
    assert (right_b2.min(axis=1) < 0.5)[optimal].mean() > 0.05


def test_13_the_optimal_region_shrinks_as_votes_are_added():
    prior_bk, right_b2 = oracle.draws(13, 60_000, edge=0)
    share = [np.mean(oracle.shared_margins(prior_bk, right_b2, h) > 0) for h in (3, 5, 7, 11, 21, 51)]
    np.testing.assert_allclose(share, [0.406, 0.312, 0.253, 0.182, 0.108, 0.049], atol=0.008)
    assert (np.diff(share) < 0).all()


def test_21_two_category_sums_start_at_zero():
    first, second = oracle.model(0.5, 0.58, 0.8)[1], oracle.model(0.5, 0.8, 0.58)[1]
    truth = oracle.rates(
        np.array([[0.55, 0.45]]),
        np.concatenate([oracle.shared([first], 3), oracle.shared([second], 4)], axis=1),
        "majority",
    )[0]
    np.testing.assert_allclose(paper.two_category_majority(first, second, 3, 4), truth)
    lost = truth - paper.two_category_majority_printed(first, second, 3, 4)
    np.testing.assert_allclose(lost, [0.42**3 * 0.8**4, 0.2**3 * 0.58**4], rtol=1e-9)
    map_lost = paper.two_category_map([0.55, 0.45], first, second, 3, 4)
    map_lost = map_lost - paper.two_category_map_printed([0.55, 0.45], first, second, 3, 4)
    assert map_lost.min() > 0


def test_23_no_prior_satisfies_the_printed_multiclass_condition():
    rng = np.random.default_rng(23)
    for _ in range(4_000):
        n_classes = int(rng.integers(2, 7))
        error_rate = float(rng.uniform(0.01, 1 - 1 / n_classes - 0.01))
        assert not paper.multiclass_condition_printed(rng.dirichlet(np.full(n_classes, 5.0)), error_rate)
    assert not paper.multiclass_condition_printed([0.25] * 4, 0.1)
    assert paper.multiclass_condition([0.25] * 4, 0.1, 5).holds


def test_24_counting_ties_for_both_labels_makes_the_notebook_condition_unsatisfiable():
    """Two tied labels would each have to be likelier than the other: checked on models where majority is optimal."""
    rng = np.random.default_rng(24)
    prior_bk = rng.dirichlet([40.0] * 3, 500)
    confusion = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    crew_bhkl = oracle.shared(np.tile(confusion, (500, 1, 1)), 3)
    assert (oracle.panel_margins(prior_bk, crew_bhkl) > 0).all()
    pattern_ph = oracle.patterns(3, 3)
    joint_bpk = oracle.joint(prior_bk, crew_bhkl, pattern_ph)
    count_pk = np.stack([(pattern_ph == k).sum(axis=1) for k in range(3)], axis=1)
    winner_pk = count_pk == count_pk.max(axis=1, keepdims=True)
    least_b = np.full(500, np.inf)
    for i in range(3):
        for j in set(range(3)) - {i}:
            least_b = np.minimum(
                least_b, (joint_bpk[:, winner_pk[:, i], i] - joint_bpk[:, winner_pk[:, i], j]).min(axis=1)
            )
    assert (least_b <= 1e-9).all()


def test_36_wilcoxon_on_labels_does_not_see_accuracy():
    truth = np.repeat([0, 1], 500)
    worse = truth.copy()
    worse[:100], worse[-100:] = 1, 0
    assert stats.wilcoxon(worse, truth, method="asymptotic").pvalue > 0.99
    assert stats.binomtest(0, 200).pvalue < 1e-50  # McNemar: 200 items differ, the truth is right on all


def test_45_equal_ceilings_do_not_order_numbers():
    assert np.ceil(1.9) <= np.ceil(1.1)
    assert 1.9 > 1.1


def test_46_two_classes_give_theorem_3_3():
    rng = np.random.default_rng(46)
    for nu, right in zip(rng.uniform(0.05, 0.95, 300), rng.uniform(0.55, 0.95, 300), strict=True):
        odds = max(nu / (1 - nu), (1 - nu) / nu)
        assert (odds < right / (1 - right)) == bool(paper.theorem_3_3(*oracle.model(nu, right, right)).holds)


def test_47_both_rates_exceed_only_if_the_accuracies_sum_to_one():
    """The lemma by brute force over counts; at T00 = .7, T11 = .3 rho is 1 and neither is 1/2."""
    rng = np.random.default_rng(47)
    for nu, a, b in zip(rng.uniform(0.05, 0.95, 400), *rng.uniform(0.52, 0.97, (2, 400)), strict=True):
        at = oracle.model(nu, a, b)
        k = np.arange(6)
        own = nu * stats.binom.pmf(k, 5, a) > (1 - nu) * stats.binom.pmf(5 - k, 5, b)
        exceeds = stats.binom.pmf(k, 5, a)[own].sum() > paper.lemma_3_1(at[1], 5)[0] + 1e-12
        found = paper.lemma_rate_exceeds(*at, 5)
        assert found[0] == exceeds
        assert found != (True, True)
    assert paper.rho([[0.7, 0.3], [0.7, 0.3]]) == pytest.approx(1)
    for nu, right in [(0.7, 0.8), (0.85, 0.8), (0.15, 0.8)]:
        at = oracle.model(nu, right, right)
        assert paper.corollary_one_parameter_exceeds(at[0], right) == paper.lemma_rate_exceeds(*at, 7)
        assert paper.corollary_one_parameter(at[0], right) == (not any(paper.lemma_rate_exceeds(*at, 7)))


def test_48_the_sum_over_sets_begins_at_the_ceiling():
    at = oracle.model(0.5, 0.8, 0.7)
    ceiling = int(np.ceil(paper.vote_threshold(*at, 3, 0)))
    rate = paper.expected_map_rates(*at, 3)[0]
    assert stats.binom.sf(ceiling - 1, 3, 0.8) == pytest.approx(rate)
    assert stats.binom.sf(ceiling, 3, 0.8) < rate - 0.3


def test_expected_rates_match_the_mean_over_voters():
    """Brute force over voters whose accuracy is moved up or down by a fair coin."""
    rates = []
    for signs in np.ndindex(2, 2, 2):
        right_h = 0.8 + 0.05 * (2 * np.array(signs) - 1)
        votes_ph = np.array(list(np.ndindex(2, 2, 2)))
        chance_p = np.where(votes_ph == 1, right_h, 1 - right_h).prod(axis=1)
        rates.append(chance_p[votes_ph.sum(axis=1) >= 2].sum())
    assert np.mean(rates) == pytest.approx(paper.expected_majority_rates([[0.8, 0.2], [0.2, 0.8]], 3)[0])


def test_49_log_odds_differ_by_more_than_the_proof_says():
    x, estimate = 0.5, 0.4
    differ = np.log(x / (1 - x)) - np.log(estimate / (1 - estimate))
    assert differ == pytest.approx(0.405, abs=1e-3)
    assert differ > 4 * np.log1p(abs(x - estimate))


def test_docs_name_every_erratum_and_only_tests_and_functions_that_exist():
    root = Path(__file__).parents[2]
    page = (root / "paper" / "errata.md").read_text()
    defined = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert sorted(map(int, re.findall(r"^### (\d+)\. ", page, re.MULTILINE))) == list(range(1, 50))
    named = set(re.findall(r"`(test_\w+)`", page))
    assert {name for name in named if f"def {name}(" not in defined} == set()
    shown = set(re.findall(r"def (test_\d\d_\w+)\(", defined))
    assert shown - named == set()
    functions = set(re.findall(r"`((?:theorem|lemma|perturbed|two_category|multiclass|prior|anchor)_\w+)`", page))
    assert functions <= set(paper.__all__)
