"""Accuracy, gap and aggregated confusion for voters alike, against every vote pattern written out."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from majorant.errors import ConfigError
from majorant.theory.accuracy import gap, majority_accuracy, majority_confusion, map_accuracy, map_confusion
from oracles.accuracy import crew_answers, decimal_gap, shared_answer
from sizes import many

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "theory.json").read_text())
TIES = ["random", "first", "prior", "exclude"]
N_DRAWS = many(20_000)


def two_class(case):
    return [case["nu0"], 1 - case["nu0"]], [[case["T00"], 1 - case["T00"]], [1 - case["T11"], case["T11"]]], case["H"]


def two_class_draws(seed):
    """Models over 1 to 9 votes: one in five entries is 0 or 1, and bad voters are as common as good ones."""
    rng = np.random.default_rng(seed)
    for n_votes in range(1, 10):
        hit_dk = rng.random((N_DRAWS // 9 + 1, 3))
        hit_dk[rng.random(hit_dk.shape) < 0.1] = 0
        hit_dk[rng.random(hit_dk.shape) < 0.1] = 1
        prior_dk = np.stack([hit_dk[:, 0], 1 - hit_dk[:, 0]], axis=1)
        confusion_dkl = np.stack([hit_dk[:, 1:], 1 - hit_dk[:, 1:]], axis=2)
        yield n_votes, prior_dk, confusion_dkl


@pytest.mark.parametrize(
    ("function", "field"),
    [(majority_accuracy, "majority"), (map_accuracy, "map"), (gap, "gap")],
    ids=["majority", "map", "gap"],
)
def test_two_classes_equal_the_sum_over_every_vote(function, field):
    for n_votes, prior_dk, confusion_dkl in two_class_draws(seed=1):
        answers = crew_answers(prior_dk, np.repeat(confusion_dkl[:, None], n_votes, axis=1))
        ours_d = [function(p, c, n_votes) for p, c in zip(prior_dk, confusion_dkl, strict=True)]
        np.testing.assert_allclose(ours_d, getattr(answers, field), rtol=0, atol=1e-13)


@pytest.mark.parametrize("ties", TIES)
def test_every_tie_policy_equals_the_sum_over_every_vote(ties):
    rng = np.random.default_rng(2)
    for n_votes, n_classes in [(2, 2), (4, 2), (8, 2), (2, 3), (3, 3), (4, 3), (6, 3), (4, 4), (3, 5), (3, 6)]:
        for _ in range(10):
            prior, confusion = sparse_model(rng, n_classes)
            expected = shared_answer(prior, confusion, n_votes, ties)
            assert majority_accuracy(prior, confusion, n_votes, ties) == pytest.approx(expected.majority, abs=1e-13)
            assert map_accuracy(prior, confusion, n_votes, ties) == pytest.approx(expected.map, abs=1e-13)
            assert gap(prior, confusion, n_votes, ties) == pytest.approx(expected.gap, abs=1e-13)
            ours_kl = majority_confusion(prior, confusion, n_votes, ties)
            np.testing.assert_allclose(ours_kl, expected.majority_confusion, rtol=0, atol=1e-13)


def sparse_model(rng, n_classes):
    """A model of which some entries, of the prior too, are 0, and some priors equal."""
    rows = rng.dirichlet(np.ones(n_classes), n_classes + 1)
    rows[0] = np.round(rows[0] * 4) + (rng.random(n_classes) < 0.5)
    rows[rng.random(rows.shape) < 0.15] = 0
    rows[rows.sum(axis=1) == 0] = 1
    rows /= rows.sum(axis=1, keepdims=True)
    return rows[0], rows[1:]


@pytest.mark.parametrize(("n_votes", "n_classes"), [(9, 2), (9, 3), (8, 4), (7, 5), (6, 6)])
def test_many_classes_equal_the_sum_over_every_vote(n_votes, n_classes):
    rng = np.random.default_rng(n_classes)
    for _ in range(2):
        prior, confusion = sparse_model(rng, n_classes)
        expected = shared_answer(prior, confusion, n_votes)
        assert majority_accuracy(prior, confusion, n_votes) == pytest.approx(expected.majority, abs=1e-12)
        assert map_accuracy(prior, confusion, n_votes) == pytest.approx(expected.map, abs=1e-12)
        assert gap(prior, confusion, n_votes) == pytest.approx(expected.gap, abs=1e-12)


@pytest.mark.long
def test_six_classes_nine_votes_equal_the_sum_over_every_vote():
    """Ten million votes, written out in one block for each vote of the first three voters."""
    prior, confusion = sparse_model(np.random.default_rng(9), 6)
    right = {"majority": 0.0, "map": 0.0}
    rest_bh = np.array(list(product(range(6), repeat=6)))
    rest_bl = np.stack([(rest_bh == label).sum(axis=1) for label in range(6)], axis=1)
    rest_kb = np.prod(confusion[:, rest_bh], axis=2)
    for first in product(range(6), repeat=3):
        joint_kb = prior[:, None] * np.prod(confusion[:, first], axis=1)[:, None] * rest_kb
        count_bl = rest_bl + np.bincount(first, minlength=6)
        top_bl = count_bl == count_bl.max(axis=1, keepdims=True)
        right["majority"] += float((joint_kb.T * top_bl / top_bl.sum(axis=1, keepdims=True)).sum())
        right["map"] += float(joint_kb.max(axis=0).sum())
    assert majority_accuracy(prior, confusion, 9) == pytest.approx(right["majority"], abs=1e-12)
    assert map_accuracy(prior, confusion, 9) == pytest.approx(right["map"], abs=1e-12)


probability = st.floats(0, 1, allow_subnormal=False)


@settings(deadline=None, max_examples=many(200, quick=30))
@given(p=probability, a=probability, b=probability, n_votes=st.integers(1, 40), ties=st.sampled_from(TIES))
def test_gap_is_the_difference_and_confusions_give_the_accuracies(p, a, b, n_votes, ties):
    model = [p, 1 - p], [[a, 1 - a], [1 - b, b]], n_votes
    best, majority = map_accuracy(*model, ties), majority_accuracy(*model, ties)
    assert gap(*model, ties) == pytest.approx(best - majority, abs=1e-12)
    assert gap(*model, ties) >= 0
    assert 0 <= majority <= 1
    assert best <= 1
    aggregated = majority_confusion(*model, ties)
    np.testing.assert_allclose(aggregated.sum(axis=1), 1, rtol=0, atol=1e-12)
    if ties != "exclude":
        assert best >= max(p, 1 - p) - 1e-12
        assert np.diag(aggregated) @ [p, 1 - p] == pytest.approx(majority, abs=1e-12)
        optimal = map_confusion(*model, ties)
        np.testing.assert_allclose(optimal.sum(axis=1), 1, rtol=0, atol=1e-12)
        assert np.diag(optimal) @ [p, 1 - p] == pytest.approx(best, abs=1e-12)


@settings(deadline=None, max_examples=many(100, quick=30))
@given(data=st.data(), n_classes=st.integers(2, 4), n_votes=st.integers(1, 4), ties=st.sampled_from(TIES))
def test_random_models_equal_the_sum_over_every_vote(data, n_classes, n_votes, ties):
    weight = st.lists(st.integers(0, 5), min_size=n_classes, max_size=n_classes).filter(any)
    rows = [np.array(data.draw(weight), float) for _ in range(n_classes + 1)]
    prior, *confusion = [row / row.sum() for row in rows]
    expected = shared_answer(prior, confusion, n_votes, ties)
    assert majority_accuracy(prior, confusion, n_votes, ties) == pytest.approx(expected.majority, abs=1e-12)
    assert map_accuracy(prior, confusion, n_votes, ties) == pytest.approx(expected.map, abs=1e-12)
    assert gap(prior, confusion, n_votes, ties) == pytest.approx(expected.gap, abs=1e-12)


@pytest.mark.parametrize("n_votes", [1, 2, 7, 63, 64, 65, 501, 2000])
def test_gap_keeps_nine_digits_however_small(n_votes):
    rng = np.random.default_rng(n_votes)
    for _ in range(many(20, quick=4)):
        p, a, b = rng.uniform(0.02, 0.98, 3)
        model = [p, 1 - p], [[a, 1 - a], [1 - b, b]], n_votes
        expected = decimal_gap(*model)
        assert gap(*model) == pytest.approx(expected, rel=1e-10, abs=1e-290)


@pytest.mark.parametrize("nudge", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("n_votes", [3, 101, 10_001])
def test_gap_next_to_the_boundary_is_right_up_to_rounding_of_the_log_odds(n_votes, nudge):
    """At prior = accuracy of a voter the narrowest majority is a toss-up; a nudge past it makes the gap that small."""
    p = 0.6 + nudge
    model = [p, 1 - p], [[0.6, 0.4], [0.4, 0.6]], n_votes
    expected = decimal_gap(*model)
    assert 0 < expected < nudge
    assert gap(*model) == pytest.approx(expected, rel=1e-14 * n_votes / nudge, abs=0)


@pytest.mark.parametrize(
    ("p", "a", "b", "n_votes"),
    [
        (0.9, 0.52, 0.51, 1_000_000),
        *(
            pytest.param(p, a, b, 1_000_001, marks=pytest.mark.long)
            for p, a, b in ((0.99, 0.505, 0.501), (0.3, 0.501, 0.5003))
        ),
    ],
)
def test_gap_keeps_eleven_digits_at_a_million_votes(p, a, b, n_votes):
    """Nine digits are promised; log-gamma functions would be off by 1.1e-9, so this test would detect them."""
    model = [p, 1 - p], [[a, 1 - a], [1 - b, b]], n_votes
    expected = decimal_gap(*model)
    assert expected > 1e-290
    assert gap(*model) == pytest.approx(expected, rel=1e-11, abs=0)


def test_erratum_10_a_pattern_with_two_likeliest_classes_is_given_out_once():
    model = [0.6, 0.4], [[0.6, 0.4], [0.4, 0.6]], 3
    assert map_accuracy(*model) == pytest.approx(0.648, abs=1e-15)
    assert majority_accuracy(*model) == pytest.approx(0.648, abs=1e-15)
    assert gap(*model) == 0
    for ties, hit_0 in [("random", 0.792), ("first", 0.936), ("prior", 0.936)]:
        optimal = map_confusion(*model, ties)
        assert optimal[0, 0] == pytest.approx(hit_0, abs=1e-15)
        assert np.diag(optimal) @ [0.6, 0.4] == pytest.approx(0.648, abs=1e-15)


def test_an_unused_class_still_has_its_row():
    np.testing.assert_allclose(majority_confusion([1, 0], [[0.9, 0.1], [0.2, 0.8]], 3)[1], [0.104, 0.896], atol=1e-15)
    np.testing.assert_allclose(map_confusion([1, 0], [[0.9, 0.1], [0.2, 0.8]], 3), [[1, 0], [1, 0]], atol=1e-15)


def test_rows_are_scaled_to_sum_to_one():
    off = 1 + 5e-10
    model = [0.7 * off, 0.3 * off], [[0.8 * off, 0.2 * off], [0.3 / off, 0.7 / off]], 1001
    assert majority_accuracy(*model) == pytest.approx(majority_accuracy([0.7, 0.3], [[0.8, 0.2], [0.3, 0.7]], 1001))


@pytest.mark.parametrize("case", GOLDEN["test_vectors"]["binary_shared"])
def test_golden_two_classes(case):
    assert majority_accuracy(*two_class(case)) == pytest.approx(case["mv_random_ties"], abs=1e-13)
    assert map_accuracy(*two_class(case)) == pytest.approx(case["omap"], abs=1e-13)
    assert gap(*two_class(case)) == pytest.approx(case["gap_random_ties"], abs=1e-13)


@pytest.mark.parametrize("case", GOLDEN["test_vectors"]["binary_shared"])
def test_golden_margin_is_negative_iff_majority_gives_something_away(case):
    prior, confusion, n_votes = two_class(case)
    if case["ties"] == "class1":  # name the classes the other way round
        prior, confusion = prior[::-1], [row[::-1] for row in confusion[::-1]]
    ties = "first" if case["ties"] in ("class0", "class1") else case["ties"]
    assert (gap(prior, confusion, n_votes, ties) > 0) == (case["margin"] < 0)


TABLES = [*GOLDEN["synthetic_table"].values(), *GOLDEN["estimated_table"]]


@pytest.mark.parametrize("case", TABLES)
def test_golden_tables_of_the_paper(case):
    assert majority_accuracy(*two_class(case)) == pytest.approx(case["mv"], abs=1e-13)
    assert map_accuracy(*two_class(case)) == pytest.approx(case["omap"], abs=1e-13)
    assert gap(*two_class(case)) == pytest.approx(case["gap"], abs=1e-13)


@pytest.mark.parametrize("case", GOLDEN["real_table_printed_T"].values(), ids=GOLDEN["real_table_printed_T"])
def test_golden_real_table(case):
    assert majority_accuracy(*two_class(case)) == pytest.approx(case["predicted_mv_if_T_were_right"], abs=1e-13)
    assert map_accuracy(*two_class(case)) == pytest.approx(case["predicted_omap_if_T_were_right"], abs=1e-13)


@pytest.mark.parametrize("case", GOLDEN["perturbed_table"])
def test_golden_perturbed_table(case):
    assert majority_accuracy(*two_class(case)) == pytest.approx(case["E_mv"], abs=1e-13)
    assert map_accuracy(*two_class(case)) == pytest.approx(case["unperturbed_omap"], abs=1e-13)


@pytest.mark.parametrize("case", GOLDEN["test_vectors"]["large_H_gap"])
def test_golden_gap_of_large_crowds(case):
    assert gap(*two_class(case)) == pytest.approx(case["gap"], rel=1e-9, abs=0)
    assert majority_accuracy(*two_class(case)) == pytest.approx(case["mv"], abs=1e-13)
    assert map_accuracy(*two_class(case)) == pytest.approx(case["map"], abs=1e-13)


@pytest.mark.parametrize("case", GOLDEN["test_vectors"]["multiclass_shared"])
def test_golden_many_classes(case):
    model = case["nu"], case["T"], case["H"]
    assert majority_accuracy(*model) == pytest.approx(case["mv_random_ties"], abs=1e-13)
    assert map_accuracy(*model) == pytest.approx(case["omap"], abs=1e-13)


# Tables of the paper (Real-data noise transition matrices), in hundredths; rows are scaled to sum to 1.
PRINTED = {
    "MS": (
        [11, 10, 10, 9, 10, 10, 10, 10, 11, 9],
        """41 5 5 13 7 5 9 6 5 4     5 41 5 4 7 5 12 8 5 7     8 5 31 21 5 3 9 5 5 7    6 7 6 39 8 8 7 3 8 8
        4 8 6 8 41 6 7 6 7 8       6 6 8 23 8 26 11 6 5 4   15 8 5 9 9 6 31 6 5 5    6 5 7 7 7 3 5 49 9 3
        5 6 4 6 7 28 8 5 28 3      6 6 5 10 10 8 5 3 7 41""",
    ),
    "CF_amt": (
        [19, 23, 24, 31, 3],
        "33 21 24 8 14    14 31 22 15 18    12 20 49 10 9    14 22 20 29 15    18 22 21 12 27",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_golden_real_sets_of_many_classes(name):
    """The golden accuracies of CF_amt are simulated, hence its interval; those of MS are exact."""
    weight, table = PRINTED[name]
    confusion = np.array(table.split(), float).reshape(len(weight), -1)
    model = np.array(weight) / sum(weight), confusion / confusion.sum(axis=1, keepdims=True)
    expected = GOLDEN["multiclass_real_printed_T"][name]
    low, high = expected["gap_ci"] or (expected["gap"] - 1e-12, expected["gap"] + 1e-12)
    assert low <= gap(*model, expected["H"]) <= high
    tolerance = high - low
    assert majority_accuracy(*model, expected["H"]) == pytest.approx(expected["mv"], abs=tolerance)
    assert map_accuracy(*model, expected["H"]) == pytest.approx(expected["omap"], abs=tolerance)


CALLS = [majority_accuracy, map_accuracy, gap, majority_confusion, map_confusion]


@pytest.mark.parametrize("call", CALLS)
def test_invalid_input_error_names_the_argument(call):
    good = [[0.8, 0.2], [0.3, 0.7]]
    with pytest.raises(ConfigError, match=r"ties must be one of .*, not 'coin'"):
        call([0.5, 0.5], good, 3, "coin")
    with pytest.raises(ConfigError, match=r"confusion\[1\] sums to 0.9"):
        call([0.5, 0.5], [[0.8, 0.2], [0.3, 0.6]], 3)
    with pytest.raises(ConfigError, match=r"prior\[0\] is nan"):
        call([np.nan, 0.5], good, 3)
    with pytest.raises(ConfigError, match="n_votes"):
        call([0.5, 0.5], good, 0)
    with pytest.raises(ConfigError, match="too many to enumerate"):
        call(np.full(10, 0.1), np.full((10, 10), 0.1), 50)


def test_the_optimal_rule_leaves_no_vote_out():
    with pytest.raises(ConfigError, match="random, first or prior"):
        map_confusion([0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]], 2, "exclude")
