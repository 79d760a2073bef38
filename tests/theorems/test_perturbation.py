"""docs/theory/perturbation.md: how different the voters may be."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from majorant.errors import ConfigError
from majorant.theory import majority_margin, perturbation_radius
from majorant.theory.two_class import worst_margin
from oracles import margins as oracle
from oracles.golden import theory, two_class
from sizes import many

MOVE = np.array([[-1.0, 1.0], [1.0, -1.0]])


def worst_pool_margin(prior_bk, confusion_bkl, n_votes, sigma_b, steps=(-1.0, 1.0)):
    """The smallest margin over all crews whose voters move by these multiples of sigma, as far as is legal."""
    right_bk = np.stack([confusion_bkl[:, 0, 0], confusion_bkl[:, 1, 1]], axis=1)
    worst_b = np.full(len(prior_bk), np.inf)
    for signs in product(steps, repeat=n_votes):
        if list(signs) != sorted(signs):
            continue  # the order of voters does not matter
        move_bh = np.clip(
            sigma_b[:, None] * np.array(signs), right_bk.max(axis=1)[:, None] - 1, right_bk.min(axis=1)[:, None]
        )
        crew_bhkl = confusion_bkl[:, None] + move_bh[..., None, None] * MOVE
        worst_b = np.minimum(worst_b, oracle.panel_margin(prior_bk, np.clip(crew_bhkl, 0, 1)))
    return worst_b


def draw(rng, n_models):
    nu, a, b = rng.uniform(0.02, 0.98, n_models), rng.uniform(0.3, 0.99, n_models), rng.uniform(0.3, 0.99, n_models)
    confusion_bkl = np.stack([a, 1 - a, 1 - b, b], axis=1).reshape(-1, 2, 2)
    return np.stack([nu, 1 - nu], axis=1), confusion_bkl


@pytest.mark.parametrize("n_votes", [1, 2, 3, 4, 5, 6])
def test_the_worst_panel_is_at_the_ends(n_votes):
    rng = np.random.default_rng(n_votes)
    prior_bk, confusion_bkl = draw(rng, many(3500))
    sigma_b = rng.uniform(0.001, 0.2, len(prior_bk))
    found_b = [
        worst_margin(prior, confusion, n_votes, sigma)
        for prior, confusion, sigma in zip(prior_bk, confusion_bkl, sigma_b, strict=True)
    ]
    wanted_b = worst_pool_margin(prior_bk, confusion_bkl, n_votes, sigma_b)
    finite_b = np.isfinite(wanted_b) & (wanted_b > -25)  # clipped ends leave log(rounding) in the oracle
    np.testing.assert_allclose(np.array(found_b)[finite_b], wanted_b[finite_b], atol=1e-9)
    assert (np.array(found_b)[~finite_b] < -20).all()
    inside_b = worst_pool_margin(prior_bk[:500], confusion_bkl[:500], n_votes, sigma_b[:500], (-1.0, -0.3, 0.4, 1.0))
    assert (inside_b >= np.array(found_b)[:500] - 1e-9).all()


@pytest.mark.parametrize("n_votes", [1, 2, 3, 4, 5])
def test_majority_stays_optimal_up_to_the_radius_and_no_further(n_votes):
    rng = np.random.default_rng(n_votes)
    prior_bk, confusion_bkl = draw(rng, many(4000))
    radius_b = np.array([perturbation_radius(p, c, n_votes) for p, c in zip(prior_bk, confusion_bkl, strict=True)])
    base_b = oracle.shared_margin(prior_bk, confusion_bkl, n_votes)
    clear_b = np.abs(base_b) > 1e-9
    assert ((radius_b > 0) == (base_b > 0))[clear_b].all()
    some_b = radius_b > 1e-6
    assert some_b.mean() > 0.1
    prior_bk, confusion_bkl, radius_b = prior_bk[some_b], confusion_bkl[some_b], radius_b[some_b]
    assert (worst_pool_margin(prior_bk, confusion_bkl, n_votes, radius_b * (1 - 1e-6)) > 0).all()
    assert (worst_pool_margin(prior_bk, confusion_bkl, n_votes, radius_b * (1 + 1e-6)) < 0).all()


@given(nu0=st.floats(0.05, 0.95), a=st.floats(0.3, 1), b=st.floats(0.3, 1), n_votes=st.integers(1, 7), data=st.data())
def test_majority_is_optimal_for_every_panel_within_the_radius(nu0, a, b, n_votes, data):
    prior, confusion = two_class(nu0, a, b)
    radius = perturbation_radius(prior, confusion, n_votes)
    reach = st.floats(-radius * 0.999, radius * 0.999)
    moves = [min(max(data.draw(reach), max(a, b) - 1), min(a, b)) for _ in range(n_votes)]
    crew = np.clip([np.array(confusion) + move * MOVE for move in moves], 0, 1)
    if radius > 1e-6:
        assert oracle.panel_margin([prior], [crew])[0] > 0


def test_golden_radii():
    tables = theory()
    for case in tables["test_vectors"]["sigma_star"]:
        radius = perturbation_radius(*two_class(case["nu0"], case["T00"], case["T11"]), case["H"])
        assert radius == pytest.approx(case["sigma_star"], abs=1e-11)
    for row in tables["perturbed_table"]:
        model = two_class(row["nu0"], row["T00"], row["T11"])
        assert majority_margin(*model, row["H"]) == pytest.approx(row["unperturbed_margin"], abs=1e-12)
        assert perturbation_radius(*model, row["H"]) == pytest.approx(row["sigma_star_exact"], abs=1e-11)


def test_corrected_bound_of_the_paper_is_too_large_for_tiny_error_rates():
    # log(rho) / H * R * distance of A to a whole number, here 1/2: the paper's bound with its misprint mended.
    error = 1e-4
    spread = 2 / (1 - error) + 2 / error + 1 / (1 - error) + 1 / error
    mended = 2 * np.log((1 - error) / error) / 3 / spread / 2
    assert perturbation_radius(*two_class(0.5, 1 - error, 1 - error), 3) < mended
    infallible, others = two_class(0.5, 1, 1)[1], two_class(0.5, 1 - 2 * error, 1 - 2 * error)[1]
    assert oracle.panel_margin([[0.5, 0.5]], [[infallible, others, others]])[0] < 0


def test_radius_is_zero_if_certainty_would_be_lost():
    assert perturbation_radius([0.5, 0.5], np.eye(2), 3) == 0  # a voter still perfect would overrule two who are not
    assert perturbation_radius([1, 0], np.eye(2), 3) == 0
    assert perturbation_radius([0.5, 0.5], np.eye(2), 1) == pytest.approx(0.5)


def test_invalid_input_error_names_the_entry():
    with pytest.raises(ConfigError, match="two classes"):
        perturbation_radius([0.2, 0.3, 0.5], np.eye(3), 3)
    with pytest.raises(ConfigError, match=r"confusion\[0\] sums to"):
        perturbation_radius([0.5, 0.5], [[0.5, 0.4], [0, 1]], 3)


def expected_gap(prior, confusion, sigma, nodes=12):
    """E[optimal - majority] for three voters moved uniformly within sigma, by quadrature over the moves."""
    at, weight = np.polynomial.legendre.leggauss(nodes)
    place = np.array(list(product(range(nodes), repeat=3)))
    crew_bhkl = np.asarray(confusion) + (sigma * at[place])[..., None, None] * MOVE
    ballot_ph = np.array(list(product((0, 1), repeat=3)))
    given_bpk = np.prod([crew_bhkl[:, h][:, :, ballot_ph[:, h]] for h in range(3)], axis=0).transpose(0, 2, 1)
    joint_bpk = given_bpk * np.asarray(prior)
    majority_p = (ballot_ph.sum(axis=1) > 1).astype(int)
    gap_b = (joint_bpk.max(axis=2) - joint_bpk[:, np.arange(8), majority_p]).sum(axis=1)
    return float((weight[place].prod(axis=1) / 8) @ gap_b)


def test_accuracies_are_equal_in_expectation_up_to_the_radius_and_no_further():
    rng = np.random.default_rng(0)
    prior_bk, confusion_bkl = draw(rng, many(400, quick=80))
    tried = 0
    for prior, confusion in zip(prior_bk, confusion_bkl, strict=True):
        radius, most = perturbation_radius(prior, confusion, 3), float(np.min(confusion))
        if not 0.005 < radius < most / 1.6:
            continue
        tried += 1
        assert expected_gap(prior, confusion, 0.999 * radius) < 1e-15
        assert expected_gap(prior, confusion, 1.5 * radius) > 0
    assert tried >= 10
    assert expected_gap([0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], 1.5 * 0.0194) == pytest.approx(1.1e-4, rel=0.3)
