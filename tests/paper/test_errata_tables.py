"""Errata of the tables on simulated data, each shown; numbers as in paper/errata.md."""

import json
from pathlib import Path

import numpy as np
import pytest

from majorant.theory import paper
from oracles import paper as oracle

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "theory.json").read_text())


def test_02_sp_satisfies_theorem_3_4_at_its_own_printed_numbers():
    row = GOLDEN["real_table_printed_T"]["SP"]
    at_print = (row["nu0"], row["T00"], row["T11"])
    assert oracle.margin(*at_print, 5) == pytest.approx(0.268, abs=5e-4)
    assert paper.theorem_3_4(*oracle.model(*at_print), 5).holds
    assert not paper.theorem_3_4_code(*oracle.model(*at_print), 5).holds


def test_08_perturbed_row_6_6_9_must_be_a_cross():
    row = GOLDEN["perturbed_table"][7]
    assert (row["T00"], row["T11"], row["nu0"], row["published_satisfied"]) == (0.6, 0.6, 0.9, True)
    assert row["published_omap"] - row["published_mv"] > 0.25  # in the same row
    assert not paper.theorem_3_3(*oracle.model(0.9, 0.6, 0.6)).holds
    assert oracle.margin(0.9, 0.6, 0.6, 3) == pytest.approx(-1.79, abs=0.005)


def test_09_perturbed_row_6_6_6_lies_on_the_boundary():
    assert oracle.margin(0.6, 0.6, 0.6, 3) == pytest.approx(0, abs=1e-12)
    assert paper.perturbed_sigma_mended(*oracle.model(0.6, 0.6, 0.6), 3) == 0
    rng = np.random.default_rng(9)
    sigma = paper.perturbed_sigma_code(*oracle.model(0.6, 0.6, 0.6), 3)
    right_bh = 0.6 - rng.uniform(-sigma, sigma, (20_000, 3))
    crew_bhkl = oracle.diagonal(right_bh, right_bh)
    optimal = oracle.panel_margins(np.tile([0.6, 0.4], (20_000, 1)), crew_bhkl) > 0
    assert np.mean(optimal) == pytest.approx(0.0615, abs=0.006)


def test_22_two_category_table_was_made_with_four_and_three():
    spread = {}
    for n_a, n_b in [(3, 4), (4, 3)]:
        z = []
        for row in GOLDEN["two_group_table"]:
            prior = [row["nu0"], 1 - row["nu0"]]
            confusions = [oracle.model(0.5, *row[group])[1] for group in ("TA", "TB")]
            rate = prior @ paper.two_category_majority(*confusions, n_a, n_b)
            z.append((row["published_mv"] - rate) / np.sqrt(rate * (1 - rate) / 10_000))
        spread[n_a, n_b] = np.abs(z).max()
    assert spread[4, 3] < 1.5
    assert spread[3, 4] > 13


def test_22_the_marks_of_the_two_category_table_survive_the_code_slip():
    for row in GOLDEN["two_group_table"]:
        at = ([row["nu0"], 1 - row["nu0"]], oracle.model(0.5, *row["TA"])[1], oracle.model(0.5, *row["TB"])[1], 4, 3)
        assert paper.two_category_condition(*at).holds == row["published_satisfied"]
        assert paper.two_category_condition_code(*at).holds == row["published_satisfied"]


def test_25_alpha_fails_and_beta_holds():
    assert not paper.theorem_3_3(*oracle.model(0.2, 0.7, 0.7)).holds
    assert paper.theorem_3_3(*oracle.model(0.5, 0.9, 0.9)).holds


def test_26_estimated_table_row_6_is_for_another_prior():
    def z(prior_0):
        prior, confusion = oracle.model(prior_0, 0.7, 0.55)
        rate = prior @ paper.lemma_3_1(confusion, 3)
        return (0.701 - rate) / np.sqrt(rate * (1 - rate) / 100_000)

    assert z(0.68) < -10
    assert abs(z(0.6)) < 1


def test_31_a_symmetric_estimate_turns_the_verdict_in_the_papers_own_table():
    assert not paper.theorem_3_4(*oracle.model(0.65, 0.55, 0.8), 3).holds
    assert paper.theorem_3_4(*oracle.model(0.54, 0.71, 0.71), 3).holds


def test_37_code_uses_the_slope_of_class_0_for_both_classes():
    row = GOLDEN["perturbed_table"][4]
    prior, confusion = oracle.model(row["nu0"], row["T00"], row["T11"])
    swapped = paper.perturbed_sigma_code(prior[::-1], [confusion[1][::-1], confusion[0][::-1]], 3)
    assert paper.perturbed_sigma_code(prior, confusion, 3) == pytest.approx(row["sigma_used_by_code_signed"])
    assert swapped > 1.3 * paper.perturbed_sigma_code(prior, confusion, 3)  # the same model, classes renamed
