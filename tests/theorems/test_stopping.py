"""docs/theory/stopping.md: voting that stops at a lead, against every path of votes."""

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.theory import majority_margin, stopping_margin
from sizes import many


def stops(lead, most):
    """The counts (zeros, ones) at which voting can stop, by walking every path."""
    live, ends = {(0, 0)}, set()
    for n in range(1, most + 1):
        steps = {step for zeros, ones in live for step in ((zeros + 1, ones), (zeros, ones + 1))}
        stopped = {step for step in steps if abs(step[0] - step[1]) >= lead or n == most}
        ends |= stopped
        live = steps - stopped
    return ends


def margin_by_enumeration(nu, a, b, ends):
    odds = [(z - o, np.log(nu / (1 - nu)) + z * np.log(a / (1 - b)) + o * np.log((1 - a) / b)) for z, o in ends]
    return min(odd if ahead > 0 else -odd for ahead, odd in odds if ahead)


@pytest.mark.parametrize("lead", [1, 2, 3, 4, 5])
def test_the_smallest_and_largest_numbers_of_votes_decide(lead):
    rng = np.random.default_rng(lead)
    for _ in range(many(1_000, quick=300)):
        nu, (a, b), most = rng.uniform(0.03, 0.97), rng.uniform(0.03, 0.97, 2), int(rng.integers(lead, lead + 9))
        found = stopping_margin([nu, 1 - nu], [[a, 1 - a], [1 - b, b]], lead, most)
        assert found == pytest.approx(margin_by_enumeration(nu, a, b, stops(lead, most)), abs=1e-9)


@pytest.mark.parametrize("lead", [1, 2, 3])
def test_one_coin_needs_the_papers_condition_to_the_power_of_the_lead(lead):
    rng = np.random.default_rng(lead)
    for _ in range(many(400, quick=100)):
        nu, r = rng.uniform(0.02, 0.98), rng.uniform(0.02, 0.98)
        coin = [[1 - r, r], [r, 1 - r]]
        found = stopping_margin([nu, 1 - nu], coin, lead)
        assert found == pytest.approx(lead * np.log((1 - r) / r) - abs(np.log(nu / (1 - nu))), abs=1e-9)
        if lead <= 2:  # then no smaller lead is left but a tie
            assert found == pytest.approx(stopping_margin([nu, 1 - nu], coin, lead, most_votes=lead), abs=1e-9)


def test_a_maximum_without_a_lead_in_reach_is_a_fixed_number_of_votes():
    prior, confusion = [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]]
    assert stopping_margin(prior, confusion, 5, 5) == pytest.approx(
        min(majority_margin(prior, confusion, 5), stopping_margin(prior, confusion, 5, 5))
    )


def test_unequal_classes_are_never_safe_without_a_maximum():
    assert stopping_margin([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], 3) == -np.inf
    assert stopping_margin([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], 3, 4) > 0
    assert stopping_margin([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], 1) > 0  # one vote is always enough


@pytest.mark.parametrize(
    ("model", "lead", "most", "words"),
    [
        (([0.5, 0.3, 0.2], np.eye(3)), 2, None, "two classes"),
        (([0.5, 0.5], [[1, 0], [0.2, 0.8]]), 2, None, "without zeros"),
        (([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]), 3, 2, "lead by 3"),
        (([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]), 0, None, "at least 1"),
    ],
)
def test_impossible_arguments_are_refused(model, lead, most, words):
    with pytest.raises(ConfigError, match=words):
        stopping_margin(*model, lead, most)
