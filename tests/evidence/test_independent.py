"""Which test proves is fixed by the design; what it proves is what the certificate says."""

import numpy as np
import pytest

from majorant.evidence.certificate import independent
from majorant.evidence.certificate.anonymous import certify_counts
from oracles.histograms import Crowd


def drawn(crowd, seed=0):
    return {h: table[0] for h, table in crowd.draw(1, np.random.default_rng(seed)).items()}


def refuse(*arguments):
    raise AssertionError("the other test was asked")


def test_one_number_of_votes_is_proved_by_inversion_with_few_items():
    claim = certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, {7: 500})), rng=0).anonymous
    assert claim.verdict == "proved"
    assert claim.items_certified == 1
    few = certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, {5: 400})), rng=0).anonymous
    assert few.items_certified == 1
    assert few.verdict == "supported"  # so few items hardly test whether votes are independent
    assert few.evidence["e_value"] < 20  # the split e-value would not have proved it


def test_many_cells_are_left_to_split_e_values(monkeypatch):
    monkeypatch.setattr(independent, "prove", refuse)
    monkeypatch.setattr(independent, "is_proved", refuse)
    many = drawn(Crowd("", 0.5, 0.8, 0.2, dict.fromkeys(range(3, 9), 400)))
    assert certify_counts(many, rng=0).anonymous.verdict == "proved"
    with pytest.raises(AssertionError, match="other test"):
        certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, {3: 400})), rng=0)


def test_several_numbers_of_votes_have_their_share_from_split_e_values(monkeypatch):
    monkeypatch.setattr(independent, "prove", refuse)
    monkeypatch.setattr(independent, "is_proved", lambda histograms, h, *rest: h == 5)
    claim = certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, {3: 300, 5: 300})), rng=0).anonymous
    assert "proved" not in {*claim.by_votes.values(), claim.verdict}  # all of them together, or none
    assert 0 < claim.items_certified <= 1


def test_an_undecided_crowd_still_has_a_share_of_proved_items():
    claim = certify_counts(drawn(Crowd("", 0.8, 0.8, 0.2, {5: 2000})), rng=0).anonymous
    assert claim.verdict == "undecided"
    assert 0.5 < claim.items_certified < 1


@pytest.mark.parametrize("n_items", [{3: 3000, 5: 3000}, {4: 3000}, {3: 3000, 4: 3000, 5: 20}])
def test_a_proved_data_set_has_all_its_decided_items_proved(n_items):
    """Ties are not decided, and numbers of votes that few items hold have no say."""
    claim = certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, n_items)), rng=0).anonymous
    assert claim.verdict == "proved"
    few = sum(n for h, n in n_items.items() if h not in claim.by_votes)
    decided = 1 - claim.tied_share
    assert decided - 2 * few / sum(n_items.values()) <= claim.items_certified <= decided
    assert (claim.items_certified == pytest.approx(decided)) == (few == 0)


def test_numbers_of_votes_and_items_share_the_error(monkeypatch):
    """Inversion and split e-values each have a part of it, and the parts are no more than the whole."""
    asked = {}

    def inversion(histograms, h, theta_3, error, nearest_23):
        asked["inversion"] = error
        return False

    def splits(weighed, level):
        asked["splits"] = 1 - level
        return independent.Proved(frozenset(), 0.5)

    monkeypatch.setattr(independent, "is_proved", inversion)
    monkeypatch.setattr(independent, "by_splits", splits)
    claim = certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, {3: 300, 5: 300})), level=0.9, rng=0).anonymous
    assert claim.items_certified == 0.5
    assert sum(asked.values()) == pytest.approx(0.1)
    assert min(asked.values()) > 0
