"""docs/theory/multiclass.md: any number of classes, one shared confusion matrix."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from majorant.theory import majority_margin, majority_margins, majority_witness
from oracles import margins as oracle
from oracles.golden import theory
from sizes import many


def assert_same(found, wanted, tolerance=1e-11):
    found, wanted = np.asarray(found), np.asarray(wanted)
    different = found != wanted
    np.testing.assert_allclose(found[different], wanted[different], rtol=0, atol=tolerance)


@pytest.mark.parametrize("zeros", [0.0, 0.04])
@pytest.mark.parametrize(("n_classes", "n_models"), [(3, 1100), (4, 700), (5, 350), (6, 100)])
def test_margin_is_the_smallest_log_odds_over_all_patterns(n_classes, n_models, zeros):
    rng = np.random.default_rng(n_classes)
    for n_votes in range(1, 10):
        part = many(n_models // 4 if zeros else n_models)
        prior_bk, confusion_bkl = oracle.draw_models(rng, part, n_classes, zeros=zeros)
        found_b = majority_margins(prior_bk, confusion_bkl, n_votes)
        assert_same(found_b, oracle.shared_margin(prior_bk, confusion_bkl, n_votes))


@given(data=st.data(), n_classes=st.integers(2, 4), n_votes=st.integers(1, 6))
def test_margin_on_rough_models(data, n_classes, n_votes):
    # Whole-number weights: ties between patterns, equal classes, zeros and ones all come up.
    rows = st.lists(st.integers(0, 4), min_size=n_classes, max_size=n_classes)
    weight_kl = np.array(data.draw(st.lists(rows, min_size=n_classes + 1, max_size=n_classes + 1)), float)
    assume((weight_kl.sum(axis=1) > 0).all())
    weight_kl /= weight_kl.sum(axis=1, keepdims=True)
    prior, confusion = weight_kl[0], weight_kl[1:]
    assert_same(majority_margin(prior, confusion, n_votes), oracle.shared_margin([prior], [confusion], n_votes)[0])


def test_golden_margins():
    for case in theory()["test_vectors"]["multiclass_shared"]:
        found = majority_margin(case["nu"], case["T"], case["H"])
        assert found == pytest.approx(case["margin_ties_excluded"], abs=1e-12)


@pytest.mark.parametrize("n_classes", [3, 4, 5])
def test_the_witness_attains_the_margin(n_classes):
    rng = np.random.default_rng(n_classes)
    for n_votes in range(1, 9):
        prior_bk, confusion_bkl = oracle.draw_models(rng, 25, n_classes, zeros=0.05, informative=0.9)
        for prior, confusion in zip(prior_bk, confusion_bkl, strict=True):
            witness = majority_witness(prior, confusion, n_votes)
            counts = np.array(witness)
            assert counts.sum() == n_votes
            assert not witness.tied
            assert counts[witness.majority] == counts.max()
            joint_k = prior * np.prod(confusion**counts, axis=1)
            assert joint_k.max() > 0
            assert joint_k[witness.optimal] == pytest.approx(joint_k.max(), rel=1e-9)
            with np.errstate(divide="ignore"):
                odds = np.log(joint_k[witness.majority]) - np.log(np.delete(joint_k, witness.majority).max())
            assert_same(odds, witness.margin)


def test_witness_for_perfect_workers_is_unanimous():
    witness = majority_witness([0.2, 0.5, 0.3], np.eye(3), 4)
    assert (witness.counts, witness.margin) == ((0, 4, 0), np.inf)


@pytest.mark.parametrize(("n_classes", "n_models"), [(2, 1000), (3, 700), (4, 350), (5, 150), (6, 40)])
def test_uniform_noise_in_closed_form(n_classes, n_models):
    """The margin of docs/theory/multiclass.md, d g - log(max nu / min nu)."""
    n_models = many(n_models)
    rng = np.random.default_rng(n_classes)
    for n_votes in range(1, 10):
        prior_bk = rng.dirichlet(np.full(n_classes, 4.0), n_models)
        noise_b = rng.uniform(1e-3, 1 - 1e-3, n_models)
        off_kl = 1 - np.eye(n_classes)
        confusion_bkl = (1 - noise_b)[:, None, None] * np.eye(n_classes) + noise_b[:, None, None] * off_kl / (
            n_classes - 1
        )
        step_b = np.log((1 - noise_b) * (n_classes - 1) / noise_b)
        narrowest = 2 if n_votes == 2 or (n_classes == 2 and n_votes % 2 == 0) else 1
        lead_b = np.where(step_b > 0, narrowest, n_votes) * step_b
        wanted_b = lead_b - np.log(prior_bk.max(axis=1) / prior_bk.min(axis=1))
        assert_same(wanted_b, majority_margins(prior_bk, confusion_bkl, n_votes))


@pytest.mark.parametrize("n_classes", [3, 4, 5])
def test_unused_labels(n_classes):
    rng = np.random.default_rng(n_classes)
    for n_votes in range(1, 9):
        prior_bk, confusion_bkl = oracle.draw_models(rng, 100, n_classes)
        never_bl = rng.random((100, n_classes)) < 0.3
        never_bl &= never_bl.sum(axis=1, keepdims=True) < n_classes
        confusion_bkl = np.where(never_bl[:, None, :], 0.0, confusion_bkl + 1e-3)
        confusion_bkl /= confusion_bkl.sum(axis=2, keepdims=True)
        wanted_b = oracle.shared_margin(prior_bk, confusion_bkl, n_votes)
        assert np.isfinite(wanted_b).all()
        assert_same(majority_margins(prior_bk, confusion_bkl, n_votes), wanted_b)


def test_classes_that_never_occur():
    confusion = [[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]
    assert majority_margin([0.5, 0.5, 0.0], confusion, 3) == pytest.approx(np.log(4))
    assert majority_margin([0.5, 0.5, 0.0], [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0, 0, 1]], 3) == -np.inf


def test_a_large_problem_is_consistent_with_its_witness():
    rng = np.random.default_rng(0)
    prior_bk, confusion_bkl = oracle.draw_models(rng, 1, 10, informative=1.0)
    witness = majority_witness(prior_bk[0], confusion_bkl[0], 101)
    log_k = np.log(prior_bk[0]) + np.log(confusion_bkl[0]) @ np.array(witness)
    odds = log_k[witness.majority] - np.delete(log_k, witness.majority).max()
    assert odds == pytest.approx(majority_margin(prior_bk[0], confusion_bkl[0], 101), abs=1e-10)
