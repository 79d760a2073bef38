"""Errata of Theorem 3.5 and of the appendix's bounds, each shown; numbers as in paper/errata.md."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.theory import paper
from oracles import paper as oracle

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "theory.json").read_text())


def steepest(xi, power_x, power_y, points=801):
    """Largest gradient of x^i (1-x)^j y^-k (1-y)^-l on a grid over [1/2, 1-xi]^2."""
    x, y = np.meshgrid(*[np.linspace(0.5, 1 - xi, points)] * 2)
    (i, j), (k, l) = power_x, power_y
    value = x**i * (1 - x) ** j / (y**k * (1 - y) ** l)
    return np.hypot(value * (i / x - j / (1 - x)), value * (l / (1 - y) - k / y)).max()


def printed(*args, **kwargs):
    with pytest.warns(paper.FalseAsPrinted):
        return paper.theorem_3_5_printed(*args, **kwargs)


def test_15_lipschitz_constants_are_far_too_small():
    of_h, of_f = steepest(0.1, (2, 1), (1, 2)), steepest(0.1, (1, 2), (2, 1))
    assert of_h == pytest.approx(311, abs=0.5)
    assert paper.lipschitz_h_printed(3, 0.1) == pytest.approx(7.4, abs=0.05)
    assert of_f == pytest.approx(12.4, abs=0.05)
    assert paper.lipschitz_f_printed(3, 0.1) == pytest.approx(1.1, abs=0.05)
    assert paper.chi(3, 0.1) < of_f  # the factor that Theorem 3.5 uses for f


@pytest.mark.parametrize("xi", [0.02, 0.1, 0.3])
def test_15_the_general_lemma_with_a_valid_constant(xi):
    """Never below the steepest point of a grid, above it by half at most, for f, h and other powers."""
    for i, j, k, l in product(range(4), repeat=4):
        constant = paper.lipschitz((i, j), (-k, -l), xi)
        steep = steepest(xi, (i, j), (k, l), points=61)
        assert steep * (1 - 1e-9) <= constant <= 1.5 * steep + 1e-9
    slopes = [(2, 1), (-1, -2)], [(1, 2), (-2, -1)]
    x, y = np.random.default_rng(0).uniform(0.5, 1 - xi, size=(2, 500, 2))
    for (i, j), (k, l) in slopes:
        value = x**i * (1 - x) ** j * y**k * (1 - y) ** l
        apart = np.hypot(np.diff(x), np.diff(y)) * paper.lipschitz((i, j), (k, l), xi)
        assert (np.abs(np.diff(value)) <= apart + 1e-9).all()
    with pytest.raises(ConfigError, match="xi must lie"):
        paper.lipschitz((1, 1), (1, 1), 0.5)


def test_16_theorem_3_5_as_printed_certifies_a_model_whose_optimum_is_not_majority():
    row = GOLDEN["test_vectors"]["theorem_3_5_counterexample"]
    prior, truth = oracle.model(*row["true"])
    shares = np.array(prior) @ np.array(truth)
    _, guess = oracle.model(*row["est"])
    assert np.linalg.norm(np.array(truth) - guess, 2) <= row["eps"]
    prior_guess = paper.prior_from_shares(shares, guess)
    assert prior_guess[0] == pytest.approx(row["est"][0], rel=1e-12)
    assumed = {"eps": row["eps"], "eta": row["eta"], "xi": row["xi"]}
    check = printed(prior_guess, guess, 3, **assumed)
    for field in ("psi", "chi", "lhs1", "rhs1", "lhs2", "rhs2"):
        assert getattr(check, field) == pytest.approx(row[field], rel=1e-9)
    with_singular = printed(prior_guess, guess, 3, **assumed, smallest="singular")
    assert with_singular.psi == pytest.approx(row["psi_with_singular_value"], rel=1e-9)
    assert check.certified
    assert with_singular.certified
    true = paper.theorem_3_4(prior, truth, 3)
    assert [true.lower, true.value, true.upper] == pytest.approx(row["true_fgh"], rel=1e-9)
    assert oracle.margin(*row["true"], 3) == pytest.approx(row["true_margin"], rel=1e-9)
    assert oracle.margin(*row["true"], 3) < -0.13
    assert not paper.theorem_3_5(shares, guess, 3, eps=row["eps"]).certified
    gap = prior @ paper.lemma_3_2(prior, truth, 3) - prior @ paper.lemma_3_1(truth, 3)
    assert gap == pytest.approx(row["gap"], rel=1e-9)


def test_16_the_printed_recovery_of_the_prior_does_not_save_theorem_3_5():
    row = GOLDEN["test_vectors"]["theorem_3_5_counterexample"]
    prior, truth = oracle.model(*row["true"])
    _, guess = oracle.model(*row["est"])
    literal = paper.prior_from_shares_printed(np.array(prior) @ np.array(truth), guess)
    ratio = literal[1] / literal[0]
    check = printed([1 / (1 + ratio), ratio / (1 + ratio)], guess, 3, eps=row["eps"], eta=0.44, xi=row["xi"])
    assert check.certified


def test_17_the_prior_needs_the_inverse_of_the_transpose():
    prior, confusion = oracle.model(0.7, 0.9, 0.6)
    shares = np.array(prior) @ np.array(confusion)
    np.testing.assert_allclose(paper.prior_from_shares(shares, confusion), prior)
    literal = paper.prior_from_shares_printed(shares, confusion)
    assert np.abs(literal - prior).max() > 0.02
    assert literal.sum() != pytest.approx(1, abs=0.01)
    assert np.linalg.norm(literal - prior) > paper.prior_error_printed(confusion, 1e-3)  # with no error at all


def test_18_the_smallest_eigenvalue_is_not_enough_for_four_classes():
    chain = 0.3 * np.eye(4) + 0.7 * np.eye(4, k=1)
    chain[3, 3] = 1.0
    prior, eps = np.full(4, 0.25), 1e-3
    shares = prior @ chain + eps * np.array([1, -1, 1, -1])
    error = np.linalg.norm(prior - paper.prior_from_shares(shares, chain))
    assert error > 2.1 * paper.prior_error_printed(chain, eps)
    assert error < paper.prior_error(chain, eps) < paper.prior_error_printed(chain, eps, smallest="singular")


def test_18_for_two_classes_the_smallest_eigenvalue_is_enough():
    """Errors of shares sum to zero, and such vectors are eigenvectors of T' for the eigenvalue T00 + T11 - 1."""
    rng = np.random.default_rng(18)
    for _ in range(3_000):
        prior_0, right_2 = rng.random(), rng.uniform(0.5, 1, 2)
        eps = 10 ** rng.uniform(-4, -1)
        angle = rng.uniform(0, 2 * np.pi)
        guess_2 = right_2 + eps / np.sqrt(2) * np.array([np.cos(angle), np.sin(angle)])
        if guess_2.max() > 1 or guess_2.sum() < 1 + 2 * eps:
            continue
        prior, truth = oracle.model(prior_0, *right_2)
        _, guess = oracle.model(prior_0, *guess_2)
        shares = np.clip(np.array(prior) @ np.array(truth) + eps * np.array([1, -1]), 0, 1)
        error = np.linalg.norm(prior - paper.prior_from_shares(shares, guess))
        assert error <= paper.prior_error_printed(guess, eps) * (1 + 1e-9)


def test_19_the_probability_of_theorem_3_5_has_three_forms():
    text = paper.theorem_3_5_confidence_text(0.1, 0.01, 5000)
    appendix = paper.theorem_3_5_confidence(0.1, 0.01, 5000)
    code = paper.theorem_3_5_confidence_code(0.1, 0.01, 5000)
    assert text < 0 < appendix < 1 < code


def test_20_noisy_label_shares_are_not_the_prior():
    prior, confusion = oracle.model(0.9, 0.7, 0.7)
    shares = np.array(prior) @ np.array(confusion)
    assert shares[0] == pytest.approx(0.66)
    assert paper.theorem_3_3(shares, confusion).holds
    assert not paper.theorem_3_3(prior, confusion).holds


def test_29_the_gap_theorem_fails_when_the_prior_is_estimated_too():
    """One-parameter T, one vote: nu = .9, T = .51, estimate .6; the paper's eMAP takes its prior from the estimate."""
    prior, truth = oracle.model(0.9, 0.51, 0.51)
    _, guess = oracle.model(0.9, 0.6, 0.6)
    shares = np.array(prior) @ np.array(truth)
    prior_guess = paper.prior_from_shares_printed(shares, guess)  # T is symmetric, so print is right here
    one = [np.array([x]) for x in (prior, truth, prior_guess, guess)]
    loss = oracle.plug_in_loss(*one, 1)[0]
    assert loss == pytest.approx(0.39, abs=1e-9)
    assert loss > 1.9 * paper.estimated_map_loss_printed(0.9, 1, 0.09)
    assert loss < paper.estimated_map_loss(1, 0.09, abs(prior[0] - prior_guess[0]))
    known = oracle.plug_in_loss(one[0], one[1], one[0], one[3], 1)[0]
    assert known <= paper.estimated_map_loss_printed(0.9, 1, 0.09)


def test_29_the_gap_theorem_holds_when_the_prior_is_known():
    prior_bk, right_b2 = oracle.draws(29, 20_000)
    rng = np.random.default_rng(29)
    guess_b2 = np.clip(right_b2 + rng.uniform(-0.2, 0.2, right_b2.shape), 0.01, 0.99)
    eps_b = np.abs(guess_b2 - right_b2).max(axis=1)
    loss_b = oracle.plug_in_loss(prior_bk, oracle.diagonal(*right_b2.T), prior_bk, oracle.diagonal(*guess_b2.T), 3)
    bound_b = [paper.estimated_map_loss_printed(p, 3, e) for p, e in zip(prior_bk[:, 0], eps_b, strict=True)]
    assert (loss_b <= bound_b).all()
