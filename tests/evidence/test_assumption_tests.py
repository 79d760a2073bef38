"""The test of independent votes with three or more classes: hard items and real crowds fail it."""

import numpy as np
import pytest

import real
from majorant.errors import ConfigError
from majorant.evidence.certificate.assumption_tests import check_counts
from majorant.evidence.certificate.claims import certify
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.shared import SharedConfusion
from majorant.simulate import simulate

PRIOR, CONFUSION = [0.5, 0.3, 0.2], np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.15, 0.15, 0.7]])


def status(seed: int, n_votes: int, n_items: int, **more):
    votes, _ = simulate(PRIOR, CONFUSION, n_items, n_votes, rng=seed, **more)
    return check_counts(votes, SharedConfusion().fit(votes)).status


@pytest.mark.parametrize(("n_votes", "n_items"), [(3, 300), (5, 800), (9, 400)])
def test_independent_crowds_pass(n_votes, n_items):
    found = [status(seed, n_votes, n_items) for seed in range(25)]
    assert found.count("failed") <= 3  # 5 % of 25, and chance


@pytest.mark.parametrize(("n_votes", "n_items"), [(5, 800), (9, 400)])
def test_hard_items_are_detected(n_votes, n_items):
    assert sum(status(seed, n_votes, n_items, concentration=4.0) == "failed" for seed in range(10)) >= 9


def test_a_handful_of_items_decides_nothing():
    assert status(0, 5, 6) == "untestable"


def test_a_matrix_for_each_worker_is_refused():
    votes, _ = simulate(PRIOR, CONFUSION, 50, 3, n_workers=5, rng=0)
    with pytest.raises(ConfigError, match="one confusion matrix for all"):
        check_counts(votes, DawidSkene(smoothing=0.01, min_rise=None).fit(votes))


@pytest.mark.parametrize("name", ["CF", pytest.param("CF_amt", marks=pytest.mark.long)])
def test_real_crowds_of_five_classes_are_open_and_keep_their_numbers(name):
    certificate = certify(real.load(name), rng=0)
    assert (certificate.anonymous.verdict, certificate.anonymous.reason) == ("open", "assumption failed")
    assert certificate.named.verdict == "open"
    assert certificate.anonymous.loss.value is not None
