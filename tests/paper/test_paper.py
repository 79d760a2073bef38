"""The paper's statements that hold, against every vote pattern of at least 20,000 random draws each.

`make test` takes a tenth of them.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.theory import paper
from oracles import paper as oracle
from sizes import many

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "theory.json").read_text())
DRAWS = many(20_000)
NEAR = 1e-9  # a margin this small is the boundary, which has its own tests


def confusion(right_0, right_1):
    return [[right_0, 1 - right_0], [1 - right_1, right_1]]


def two_class_draws(seed, n, low=0.02, high=0.98):
    rng = np.random.default_rng(seed)
    prior_0 = rng.uniform(0.02, 0.98, n)
    right_b2 = rng.uniform(low, high, (n, 2))
    return np.stack([prior_0, 1 - prior_0], axis=1), right_b2, oracle.diagonal(*right_b2.T)


def agrees(condition, margin):
    return abs(margin) < NEAR or condition.holds == (margin > 0)


@pytest.mark.parametrize("n_votes", [1, 3, 5, 7])
def test_theorem_3_3_is_exact(n_votes):
    prior_bk, right_b2, _ = two_class_draws(n_votes, DRAWS // 4, low=0.505)
    confusion_bkl = oracle.diagonal(right_b2[:, 0], right_b2[:, 0])
    margin_b = oracle.panel_margins(prior_bk, oracle.shared(confusion_bkl, n_votes))
    holds = [paper.theorem_3_3(p, t) for p, t in zip(prior_bk, confusion_bkl, strict=True)]
    assert all(map(agrees, holds, margin_b))
    assert 0.3 < np.mean(margin_b > 0) < 0.7


@pytest.mark.parametrize("n_votes", [1, 3, 5, 7])
def test_theorem_3_4_is_exact_for_any_confusion(n_votes):
    """Also where T_cc < 1/2 or T00 + T11 < 1, which the paper leaves out."""
    prior_bk, _, confusion_bkl = two_class_draws(10 + n_votes, DRAWS // 4)
    margin_b = oracle.panel_margins(prior_bk, oracle.shared(confusion_bkl, n_votes))
    holds = [paper.theorem_3_4(p, t, n_votes) for p, t in zip(prior_bk, confusion_bkl, strict=True)]
    assert all(map(agrees, holds, margin_b))
    assert np.mean(margin_b > 0) > 0.05


@pytest.mark.parametrize("n_votes", [1, 3, 5])
def test_lemmas_3_1_and_3_2_give_the_rates_of_both_rules(n_votes):
    prior_bk, right_b2, confusion_bkl = two_class_draws(20 + n_votes, many(7_000))
    keep = right_b2.sum(axis=1) > 1.001
    mv_bk = oracle.rates(prior_bk, oracle.shared(confusion_bkl, n_votes), "majority")
    map_bk = oracle.rates(prior_bk[keep], oracle.shared(confusion_bkl[keep], n_votes), "map")
    np.testing.assert_allclose([paper.lemma_3_1(t, n_votes) for t in confusion_bkl], mv_bk, atol=1e-12)
    ours_bk = [paper.lemma_3_2(p, t, n_votes) for p, t in zip(prior_bk[keep], confusion_bkl[keep], strict=True)]
    np.testing.assert_allclose(ours_bk, map_bk, atol=1e-12)


def equal_step_draws(seed, n):
    """Two categories with rho_A = rho_B: the last diagonal entry is solved for."""
    rng = np.random.default_rng(seed)
    prior_bk, right_b2, a_bkl = two_class_draws(seed, n, low=0.3, high=0.95)
    odds_b2 = right_b2 / (1 - right_b2)
    right_0 = rng.uniform(0.3, 0.95, n)
    odds_1 = odds_b2.prod(axis=1) * (1 - right_0) / right_0
    return prior_bk, a_bkl, oracle.diagonal(right_0, odds_1 / (1 + odds_1))


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 2), (2, 1), (2, 3), (3, 4)])
def test_two_category_condition_is_exact_when_steps_are_equal(n_a, n_b):
    prior_bk, a_bkl, b_bkl = equal_step_draws(30 + n_a + 10 * n_b, DRAWS // 4)
    crew_bhkl = np.concatenate([oracle.shared(a_bkl, n_a), oracle.shared(b_bkl, n_b)], axis=1)
    margin_b = oracle.panel_margins(prior_bk, crew_bhkl)
    holds = [paper.two_category_condition(p, a, b, n_a, n_b) for p, a, b in zip(prior_bk, a_bkl, b_bkl, strict=True)]
    assert all(map(agrees, holds, margin_b))
    assert np.mean(margin_b > 0) > 0.05


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 2), pytest.param(2, 3, marks=pytest.mark.long)])
def test_two_category_sums_from_zero_give_the_rates_of_both_rules(n_a, n_b):
    prior_bk, _, a_bkl = two_class_draws(50 + n_a, DRAWS // 2)
    b_bkl = two_class_draws(60 + n_b, DRAWS // 2, low=0.51)[2]
    crew_bhkl = np.concatenate([oracle.shared(a_bkl, n_a), oracle.shared(b_bkl, n_b)], axis=1)
    draws = list(zip(prior_bk, a_bkl, b_bkl, strict=True))
    mv_bk = [paper.two_category_majority(a, b, n_a, n_b) for _, a, b in draws]
    map_bk = [paper.two_category_map(p, a, b, n_a, n_b) for p, a, b in draws]
    np.testing.assert_allclose(mv_bk, oracle.rates(prior_bk, crew_bhkl, "majority"), atol=1e-12)
    np.testing.assert_allclose(map_bk, oracle.rates(prior_bk, crew_bhkl, "map"), atol=1e-12)


@pytest.mark.parametrize(
    ("n_classes", "n_votes", "n"),
    [
        *[(2, h, 2000) for h in (1, 2, 4, 5)],
        *[(3, h, 2000) for h in (1, 2, 3, 4)],
        *[(4, 2, 1500), (4, 3, 1500), (4, 4, 1000), (5, 3, 1000)],
    ],
)
def test_multiclass_condition_is_exact(n_classes, n_votes, n):
    n = many(n)
    rng = np.random.default_rng(100 * n_classes + n_votes)
    prior_bk = rng.dirichlet(np.full(n_classes, 6.0), n)
    error_b = rng.uniform(0.02, (n_classes - 1) / n_classes - 0.01, n)
    off = np.ones((n_classes, n_classes)) - np.eye(n_classes)
    confusion_bkl = (1 - error_b)[:, None, None] * np.eye(n_classes) + error_b[:, None, None] * off / (n_classes - 1)
    margin_b = oracle.panel_margins(prior_bk, oracle.shared(confusion_bkl, n_votes))
    holds = [paper.multiclass_condition(p, float(r), n_votes) for p, r in zip(prior_bk, error_b, strict=True)]
    assert all(map(agrees, holds, margin_b))
    assert 0.02 < np.mean(margin_b > 0) < 0.98


@pytest.mark.parametrize("n_votes", [1, 3, 5])
def test_perturbed_sigma_keeps_every_pool_optimal(n_votes):
    """Also with error rates down to 1e-8, where the merely mended bound fails, and with one class below chance."""
    rng = np.random.default_rng(70 + n_votes)
    n = many(7_500)
    plain_b2, tiny_b2 = rng.uniform(0.02, 0.48, (n // 3, 2)), 10 ** rng.uniform(-8, -1, (n // 3, 2))
    below = rng.uniform(0.5, 0.97, n // 3)
    wrong_b2 = np.concatenate([plain_b2, tiny_b2, np.stack([below, (1 - below) * rng.random(n // 3)], axis=1)])
    prior_0 = rng.uniform(0.02, 0.98, n)
    prior_bk = np.stack([prior_0, 1 - prior_0], axis=1)
    confusion_bkl = oracle.diagonal(*(1 - wrong_b2).T)
    sigma_b = np.array([paper.perturbed_sigma(p, t, n_votes) for p, t in zip(prior_bk, confusion_bkl, strict=True)])
    margin_b = oracle.panel_margins(prior_bk, oracle.shared(confusion_bkl, n_votes))
    assert (sigma_b[margin_b < -NEAR] == 0).all()
    some = sigma_b > 0
    assert some.mean() > 0.1
    assert (oracle.worst_pool_margins(prior_bk[some], 1 - wrong_b2[some], n_votes, sigma_b[some]) > -NEAR).all()


def estimate_draws(seed, n):
    """Truths, and estimates within eps of them: the confusion in spectral norm, the shares entry by entry."""
    rng = np.random.default_rng(seed)
    prior_0, right_b2 = rng.uniform(0.2, 0.8, n), rng.uniform(0.3, 0.95, (n, 2))
    eps_b = 10 ** rng.uniform(-4, -1.3, n)
    angle = rng.uniform(0, 2 * np.pi, n)
    step = (eps_b / np.sqrt(2) * np.where(rng.random(n) < 0.5, 1, rng.random(n)))[:, None]
    guess_b2 = right_b2 + step * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ok = (guess_b2 < 1).all(axis=1) & (guess_b2.sum(axis=1) > 1.05)
    prior_0, right_b2, guess_b2, eps_b = prior_0[ok], right_b2[ok], guess_b2[ok], eps_b[ok]
    truth_bkl, guess_bkl = oracle.diagonal(*right_b2.T), oracle.diagonal(*guess_b2.T)
    assert (np.linalg.norm(truth_bkl - guess_bkl, ord=2, axis=(1, 2)) <= eps_b * (1 + 1e-9)).all()
    share_0 = prior_0 * right_b2[:, 0] + (1 - prior_0) * (1 - right_b2[:, 1])
    share_0 = np.clip(share_0 + rng.choice([-1, 1], len(share_0)) * eps_b, 0, 1)
    prior_bk = np.stack([prior_0, 1 - prior_0], axis=1)
    return prior_bk, truth_bkl, np.stack([share_0, 1 - share_0], axis=1), guess_bkl, eps_b


@pytest.mark.parametrize("n_votes", [2, 3, 5])
def test_theorem_3_5_never_promises_more_than_the_true_margin(n_votes):
    prior_bk, truth_bkl, share_bl, guess_bkl, eps_b = estimate_draws(80 + n_votes, many(9_500))
    margin_b = oracle.panel_margins(prior_bk, oracle.shared(truth_bkl, n_votes))
    ours = [paper.theorem_3_5(s, t, n_votes, eps=e) for s, t, e in zip(share_bl, guess_bkl, eps_b, strict=True)]
    promised_b = np.array([check.margin for check in ours])
    assert (promised_b <= margin_b + NEAR).all()
    certified = np.array([check.certified for check in ours])
    assert certified.mean() > 0.1
    assert (margin_b[certified] > 0).all()


def test_theorem_3_5_margin_is_attained_in_its_box():
    """No slack beyond the box: a grid over it comes within a hair of the margin reported."""
    _, _, share_bl, guess_bkl, eps_b = estimate_draws(90, 80)
    for shares, guess, eps in zip(share_bl, guess_bkl, eps_b, strict=True):
        check = paper.theorem_3_5(shares, guess, 3, eps=eps)
        side = np.linspace(-1, 1, 9)
        p, a, b = (x.ravel() for x in np.meshgrid(side, side, side))
        prior_0 = check.prior_0 + p * check.prior_radius
        right_0, right_1 = guess[0, 0] + a * check.confusion_radius, guess[1, 1] + b * check.confusion_radius
        ok = (prior_0 > 0) & (prior_0 < 1) & (np.maximum(right_0, right_1) < 1)
        if not ok.all():
            continue
        prior_bk = np.stack([prior_0, 1 - prior_0], axis=1)
        grid_b = oracle.panel_margins(prior_bk, oracle.shared(oracle.diagonal(right_0, right_1), 3))
        assert check.margin <= grid_b.min() + NEAR
        assert check.margin >= grid_b.min() - 0.05 * abs(grid_b.min()) - 1e-3


def noisy_models(seed, n_classes, n):
    """True and guessed (prior, confusion, shares) with the guess within eps in spectral norm and entry by entry."""
    rng = np.random.default_rng(seed)
    prior_bk = rng.dirichlet(np.ones(n_classes), n)
    truth_bkl = rng.dirichlet(np.ones(n_classes), (n, n_classes)) * 0.5 + 0.5 * np.eye(n_classes)
    other_bkl = rng.dirichlet(np.ones(n_classes), (n, n_classes))
    guess_bkl = truth_bkl + 10 ** rng.uniform(-4, -0.5, n)[:, None, None] * (other_bkl - truth_bkl)
    eps_b = np.linalg.norm(guess_bkl - truth_bkl, ord=2, axis=(1, 2))
    share_bl = np.einsum("bk,bkl->bl", prior_bk, truth_bkl)
    move_bl = rng.dirichlet(np.ones(n_classes), n) - share_bl
    move_bl *= np.minimum(1, eps_b / np.abs(move_bl).max(axis=1))[:, None]
    return prior_bk, truth_bkl, share_bl + move_bl, guess_bkl, eps_b


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_prior_error_bounds_the_recovered_prior(n_classes):
    prior_bk, _, share_bl, guess_bkl, eps_b = noisy_models(n_classes, n_classes, many(7_000))
    for prior_k, share_l, guess_kl, eps in zip(prior_bk, share_bl, guess_bkl, eps_b, strict=True):
        error = np.linalg.norm(prior_k - paper.prior_from_shares(share_l, guess_kl))
        assert error <= paper.prior_error(guess_kl, eps) * (1 + 1e-9)


@pytest.mark.parametrize(("n_classes", "n_votes", "n"), [(2, 1, 5000), (2, 3, 6000), (2, 5, 5000), (3, 3, 4500)])
def test_estimated_map_loses_at_most_the_total_variation_bound(n_classes, n_votes, n):
    n = many(n)
    prior_bk, truth_bkl, _, guess_bkl, _ = noisy_models(40 + n_votes, n_classes, n)
    rng = np.random.default_rng(n_votes)
    guess_prior_bk = prior_bk + rng.random((n, 1)) ** 3 * (rng.dirichlet(np.ones(n_classes), n) - prior_bk)
    eps_b = np.abs(truth_bkl - guess_bkl).sum(axis=2).max(axis=1) / 2
    prior_eps_b = np.abs(prior_bk - guess_prior_bk).sum(axis=1) / 2
    loss_b = oracle.plug_in_loss(prior_bk, truth_bkl, guess_prior_bk, guess_bkl, n_votes)
    bound_b = [paper.estimated_map_loss(n_votes, e, p) for e, p in zip(eps_b, prior_eps_b, strict=True)]
    assert (loss_b <= np.array(bound_b) + 1e-12).all()
    assert loss_b.max() > 0.01
    known_b = oracle.plug_in_loss(prior_bk, truth_bkl, prior_bk, guess_bkl, n_votes)
    assert (known_b <= 2 * n_votes * eps_b + 1e-12).all()


def test_anchor_limit_matches_golden():
    for row in GOLDEN["test_vectors"]["anchor_T_bias"]:
        limit_kl = paper.anchor_limit(confusion(*row["T"]), row["H"])
        np.testing.assert_allclose(limit_kl.diagonal(), row["formula"], rtol=1e-12)
        np.testing.assert_allclose(limit_kl.diagonal(), row["code_T"], atol=0.005)


@pytest.mark.parametrize("row", GOLDEN["perturbed_table"])
def test_sigma_matches_golden(row):
    model = ([row["nu0"], 1 - row["nu0"]], confusion(row["T00"], row["T11"]), row["H"])
    if not row["base_boundary"]:  # A_1 = 2 exactly there, so the printed floor hangs on rounding
        assert paper.perturbed_sigma_printed(*model) == pytest.approx(row["sigma_paper_as_printed"], rel=1e-9)
    assert paper.perturbed_sigma_code(*model) == pytest.approx(row["sigma_used_by_code_signed"], rel=1e-9)
    assert paper.perturbed_sigma_mended(*model) == pytest.approx(row["sigma_paper_corrected"], rel=1e-9, abs=1e-12)
    assert paper.perturbed_sigma(*model) <= row["sigma_star_exact"] + 1e-12


@pytest.mark.parametrize("row", GOLDEN["test_vectors"]["sigma_star"])
def test_mended_sigma_is_below_the_exact_radius(row):
    model = ([row["nu0"], 1 - row["nu0"]], confusion(row["T00"], row["T11"]), row["H"])
    assert paper.perturbed_sigma_mended(*model) == pytest.approx(row["sigma_paper_corrected"], rel=1e-9)
    assert paper.perturbed_sigma(*model) == pytest.approx(row["sigma_paper_corrected"], rel=1e-9)
    assert paper.perturbed_sigma(*model) < row["sigma_star"]


def test_theorem_3_4_matches_golden_margins():
    rows = [*GOLDEN["synthetic_table"].values(), *GOLDEN["estimated_table"]]
    for row in rows:
        condition = paper.theorem_3_4([row["nu0"], 1 - row["nu0"]], confusion(row["T00"], row["T11"]), row["H"])
        margin = min(np.log(condition.value / condition.lower), np.log(condition.upper / condition.value))
        assert margin == pytest.approx(row["margin"], abs=1e-12)
        assert condition.holds == row["optimal"]


def test_lemmas_match_golden_accuracies():
    for row in GOLDEN["synthetic_table"].values():
        prior, kl = [row["nu0"], 1 - row["nu0"]], confusion(row["T00"], row["T11"])
        assert prior @ paper.lemma_3_1(kl, 3) == pytest.approx(row["mv"], abs=1e-12)
        assert prior @ paper.lemma_3_2(prior, kl, 3) == pytest.approx(row["omap"], abs=1e-12)


def test_theorem_3_5_printed_warns_on_every_call():
    with pytest.warns(paper.FalseAsPrinted, match="theorem_3_5"):
        paper.theorem_3_5_printed([0.5, 0.5], confusion(0.8, 0.8), 3, eps=0.01, eta=0.4, xi=0.1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: paper.theorem_3_3([0.5, 0.5], confusion(0.8, 0.7)), "T01 = T10"),
        (lambda: paper.theorem_3_4([0.5, 0.5], confusion(1.0, 0.7), 3), "strictly between 0 and 1"),
        (lambda: paper.theorem_3_4([0.2, 0.3, 0.5], confusion(0.9, 0.7), 3), "two classes"),
        (lambda: paper.theorem_3_4([0.5, 0.5], confusion(0.9, 0.7), 0), "n_votes"),
        (lambda: paper.lemma_3_1(confusion(0.9, 0.7), 4), "odd"),
        (lambda: paper.perturbed_sigma([0.5, 0.5], confusion(0.9, 0.7), 4), "odd"),
        (lambda: paper.lemma_3_2([0.5, 0.5], confusion(0.3, 0.7), 3), r"T00 \+ T11 > 1"),
        (lambda: paper.two_category_map([0.5, 0.5], confusion(0.9, 0.9), confusion(0.3, 0.7), 1, 2), "category B"),
        (lambda: paper.two_category_condition([0.5, 0.5], confusion(0.9, 0.9), confusion(0.8, 0.7), 1, 2), "rho_A"),
        (lambda: paper.perturbed_sigma_mended([0.0, 1.0], confusion(0.9, 0.9), 3), "without zeros"),
        (lambda: paper.multiclass_condition([0.5, 0.3, 0.2], 0.7, 3), "error_rate"),
        (lambda: paper.multiclass_condition([0.5, 0.3, 0.2], float("nan"), 3), "error_rate"),
        (lambda: paper.theorem_3_5([0.5, 0.5], confusion(0.5, 0.5), 3, eps=0.01), "no inverse"),
        (lambda: paper.theorem_3_5([0.5, 0.5], confusion(0.8, 0.8), 3, eps=0.0), "eps"),
        (lambda: paper.chi(3, 0.6), "xi"),
    ],
)
def test_invalid_calls_are_rejected_with_a_message(call, words):
    with pytest.raises(ConfigError, match=words):
        call()


def test_a_class_that_never_occurs_makes_majority_suboptimal():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not paper.theorem_3_4([0.0, 1.0], confusion(0.9, 0.9), 3).holds
        assert not paper.multiclass_condition([0.0, 0.5, 0.5], 0.1, 3).holds
        assert paper.lemma_3_2([0.0, 1.0], confusion(0.9, 0.9), 3).tolist() == [0.0, 1.0]
        assert paper.two_category_map([0.0, 1.0], confusion(0.9, 0.9), confusion(0.8, 0.8), 1, 2).tolist() == [0, 1]


def test_theorem_3_4_refuses_an_even_number_of_votes():
    with pytest.raises(ConfigError, match="odd number of votes"):
        paper.theorem_3_4([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 4)


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0)])
def test_two_categories_with_an_empty_one_are_theorem_3_4(sizes):
    a, b = [[0.58, 0.42], [0.2, 0.8]], [[0.8, 0.2], [0.42, 0.58]]
    for nu in (0.2, 0.4, 0.6, 0.8):
        found = paper.two_category_condition([nu, 1 - nu], a, b, *sizes)
        wanted = paper.theorem_3_4([nu, 1 - nu], b if sizes[0] == 0 else a, 3)
        assert (found.lower, found.value, found.upper) == pytest.approx((wanted.lower, wanted.value, wanted.upper))
