"""Which test proves is fixed by the design; what it proves is what the certificate says."""

import numpy as np
import pytest

from majorant.certify.anonymous import proved
from majorant.certify.anonymous.counts import certify_counts
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
    assert few.verdict == "proved"
    assert few.evidence["e_value"] < 20  # the split e-value would not have proved it


def test_many_cells_are_left_to_split_e_values(monkeypatch):
    monkeypatch.setattr(proved, "prove", refuse)
    monkeypatch.setattr(proved, "is_proved", refuse)
    many = drawn(Crowd("", 0.5, 0.8, 0.2, dict.fromkeys(range(3, 9), 400)))
    assert certify_counts(many, rng=0).anonymous.verdict == "proved"
    with pytest.raises(AssertionError, match="other test"):
        certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, {3: 400})), rng=0)


def test_several_numbers_of_votes_have_their_share_from_split_e_values(monkeypatch):
    monkeypatch.setattr(proved, "prove", refuse)
    monkeypatch.setattr(proved, "is_proved", lambda histograms, h, *rest: h == 5)
    claim = certify_counts(drawn(Crowd("", 0.5, 0.8, 0.2, {3: 300, 5: 300})), rng=0).anonymous
    assert claim.by_votes[5] == "proved"
    assert claim.by_votes[3] != "proved"
    assert claim.verdict != "proved"
    assert 0 < claim.items_certified <= 1


def test_an_undecided_crowd_still_has_a_share_of_proved_items():
    claim = certify_counts(drawn(Crowd("", 0.8, 0.8, 0.2, {5: 2000})), rng=0).anonymous
    assert claim.verdict == "undecided"
    assert 0.5 < claim.items_certified < 1
