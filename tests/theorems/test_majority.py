"""docs/theory/majority.md: two classes, one shared confusion matrix."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from majorant.errors import ConfigError
from majorant.theory import (
    OptimalVotes,
    handicap,
    majority_margin,
    majority_margins,
    majority_witness,
    optimal_votes,
)
from oracles import margins as oracle
from oracles.golden import theory, two_class
from sizes import many

TIES = ("exclude", "first", "prior", "random")
prob = st.floats(0.02, 0.98)


def assert_same(found, wanted, tolerance=1e-11):
    found, wanted = np.asarray(found), np.asarray(wanted)
    different = found != wanted  # equal infinities are equal
    np.testing.assert_allclose(found[different], wanted[different], rtol=0, atol=tolerance)


@pytest.mark.parametrize("zeros", [0.0, 0.25])
@pytest.mark.parametrize("ties", TIES)
def test_margin_is_the_smallest_log_odds_over_all_patterns(ties, zeros):
    rng = np.random.default_rng(1)
    for n_votes in range(1, 10):
        prior_bk, confusion_bkl = oracle.draw_models(rng, 2500, 2, zeros=zeros)
        found_b = majority_margins(prior_bk, confusion_bkl, n_votes, ties)
        assert_same(found_b, oracle.shared_margin(prior_bk, confusion_bkl, n_votes, ties))


@given(p=prob, a=prob, b=prob, n_votes=st.integers(1, 8), ties=st.sampled_from(TIES))
def test_margin_is_positive_iff_majority_is_the_only_optimal_label_on_every_ballot(p, a, b, n_votes, ties):
    prior, confusion = two_class(p, a, b)
    margin = majority_margin(prior, confusion, n_votes, ties)
    assume(abs(margin) > 1e-9)
    agree = True
    for ballot in product((0, 1), repeat=n_votes):
        joint = [prior[k] * np.prod([confusion[k][label] for label in ballot]) for k in (0, 1)]
        ones = sum(ballot)
        if 2 * ones == n_votes:
            largest = tuple(k for k in (0, 1) if prior[k] == max(prior))
            given_to = {"exclude": (), "first": (0,), "prior": largest, "random": (0, 1)}[ties]
        else:
            given_to = (int(2 * ones > n_votes),)
        agree = agree and all(joint[k] > joint[1 - k] for k in given_to)
    assert agree == (margin > 0)


@pytest.mark.parametrize("nu0", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("n_votes", [1, 2, 3, 4])
@pytest.mark.parametrize("ties", TIES)
def test_entries_of_0_and_1_in_every_combination(nu0, n_votes, ties):
    corners = np.array(list(product((0.0, 0.2, 0.5, 1.0), repeat=2)))
    confusion_bkl = np.array([two_class(0.5, a, b)[1] for a, b in corners])
    prior_bk = np.tile([nu0, 1 - nu0], (len(corners), 1))
    found_b = majority_margins(prior_bk, confusion_bkl, n_votes, ties)
    assert not np.isnan(found_b).any()
    assert_same(found_b, oracle.shared_margin(prior_bk, confusion_bkl, n_votes, ties))


def test_margin_is_infinite_where_votes_are_never_wrong():
    assert majority_margin([0.3, 0.7], np.eye(2), 5) == np.inf
    assert majority_margin([1.0, 0.0], [[1.0, 0.0], [0.4, 0.6]], 5) == np.inf
    assert majority_margin([1.0, 0.0], [[0.9, 0.1], [0.4, 0.6]], 5) == -np.inf


def test_golden_margins_and_handicaps():
    for case in theory()["test_vectors"]["binary_shared"]:
        prior, confusion = two_class(case["nu0"], case["T00"], case["T11"])
        assert handicap(prior, confusion, case["H"]) == pytest.approx(case["votes_handicap"], abs=1e-12)
        ties = {"class0": "first", "class1": "first"}.get(case["ties"], case["ties"])
        if case["ties"] == "class1":  # the policy `first`, with the classes named the other way round
            prior, confusion = two_class(prior[1], case["T11"], case["T00"])
        assert majority_margin(prior, confusion, case["H"], ties) == pytest.approx(case["margin"], abs=1e-12)


def test_golden_tables():
    tables = theory()
    rows = [*tables["synthetic_table"].values(), *tables["estimated_table"], *tables["real_table_printed_T"].values()]
    for row in rows:
        margin = majority_margin(*two_class(row["nu0"], row["T00"], row["T11"]), row["H"])
        assert margin == pytest.approx(row["margin"], abs=1e-12)
    case = tables["test_vectors"]["theorem_3_5_counterexample"]
    assert majority_margin(*two_class(*case["true"]), 3) == pytest.approx(case["true_margin"], abs=1e-12)


def test_the_boundary_lies_where_the_prior_equals_the_accuracy():
    for n_votes in (1, 3, 5, 51):
        assert majority_margin([0.6, 0.4], [[0.6, 0.4], [0.4, 0.6]], n_votes) == pytest.approx(0, abs=1e-15)
        assert majority_margin([0.601, 0.399], [[0.6, 0.4], [0.4, 0.6]], n_votes) < 0
        assert majority_margin([0.599, 0.401], [[0.6, 0.4], [0.4, 0.6]], n_votes) > 0


@pytest.mark.parametrize(
    ("n_votes", "volume"), [(3, 0.406), (5, 0.312), (7, 0.253), (11, 0.182), (21, 0.108), (51, 0.049)]
)
def test_volume_of_the_optimal_set_shrinks_with_the_number_of_votes(n_votes, volume):
    # Midpoints of a grid of each of (nu0, a, b), a and b in (.5, 1); with 100 cells the error is below .002 here.
    n_cells = many(100, quick=40)
    cell = (np.arange(n_cells) + 0.5) / n_cells
    nu, a, b = (axis.ravel() for axis in np.meshgrid(cell, 0.5 + cell / 2, 0.5 + cell / 2, indexing="ij"))
    prior_bk = np.stack([nu, 1 - nu], axis=1)
    confusion_bkl = np.stack([a, 1 - a, 1 - b, b], axis=1).reshape(-1, 2, 2)
    assert (majority_margins(prior_bk, confusion_bkl, n_votes) > 0).mean() == pytest.approx(volume, abs=0.2 / n_cells)


def test_handicap_agrees_with_the_margin():
    rng = np.random.default_rng(2)
    for n_votes in range(1, 10):
        prior_bk, confusion_bkl = oracle.draw_models(rng, many(2500), 2)
        margin_b = oracle.shared_margin(prior_bk, confusion_bkl, n_votes)
        tau_b = np.array([handicap(p, c, n_votes) for p, c in zip(prior_bk, confusion_bkl, strict=True)])
        informs_b = confusion_bkl[:, 0, 0] + confusion_bkl[:, 1, 1] > 1
        within_b = informs_b & (np.abs(tau_b) < (0.5 if n_votes % 2 else 1.0))
        clear_b = np.abs(margin_b) > 1e-9
        assert (within_b == (margin_b > 0))[clear_b].all()


def test_handicap_of_perfect_and_uninformative_workers():
    assert handicap([0.5, 0.5], [[1, 0], [0.2, 0.8]], 3) == 1.5  # one vote against class 0 rules it out
    assert handicap([0.5, 0.5], [[0.8, 0.2], [0, 1]], 3) == -1.5
    assert handicap([0.5, 0.5], np.eye(2), 3) == 0
    assert handicap([0.6, 0.4], [[1, 0], [1, 0]], 3) == -np.inf  # everyone always says the same
    assert handicap([1, 0], [[0.8, 0.2], [0.2, 0.8]], 3) == -np.inf
    assert handicap([0.6, 0.4], [[0.5, 0.5], [0.5, 0.5]], 3) == -np.inf
    assert handicap([0.4, 0.6], [[0.5, 0.5], [0.5, 0.5]], 3) == np.inf
    assert handicap([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], 3) == 0


@pytest.mark.parametrize("zeros", [0.0, 0.25])
def test_optimal_votes_are_those_with_positive_margin(zeros):
    rng = np.random.default_rng(3)
    prior_bk, confusion_bkl = oracle.draw_models(rng, many(1000 if zeros else 20_000), 2, informative=0.8, zeros=zeros)
    spans_b = [optimal_votes(p, c) for p, c in zip(prior_bk, confusion_bkl, strict=True)]
    for n_votes in [*range(1, 10), 14, 21]:
        margin_b = oracle.shared_margin(prior_bk, confusion_bkl, n_votes)
        listed_b = np.array([n_votes in span for span in spans_b])
        clear_b = np.abs(margin_b) > 1e-9
        assert (listed_b == (margin_b > 0))[clear_b].all()


def test_optimal_votes_by_hand():
    assert optimal_votes([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]]) == OptimalVotes((1, None), (2, None))
    assert optimal_votes([0.5, 0.5], [[0.7, 0.3], [1 - 0.7, 0.7]]) == OptimalVotes((1, None), (2, None))
    assert optimal_votes([0.95, 0.05], [[0.7, 0.3], [0.3, 0.7]]) == OptimalVotes(None, None)
    assert optimal_votes([0.5, 0.5], [[0.3, 0.7], [0.7, 0.3]]) == OptimalVotes(None, None)
    assert optimal_votes([0.75, 0.25], [[0.7, 0.3], [0.3, 0.7]]) == OptimalVotes(None, (2, None))
    # The ends of long spans: the margin changes sign exactly there.
    prior, confusion = [0.5, 0.5], [[0.501, 0.499], [0.5, 0.5]]
    spans = optimal_votes(prior, confusion)
    for span in (spans.odd, spans.even):
        assert majority_margin(prior, confusion, span[1]) > 0 > majority_margin(prior, confusion, span[1] + 2)


def test_optimal_votes_may_start_late():
    # Class 0 is rare but easier to recognise: it takes votes before majority is right about it.
    prior, confusion = two_class(0.1, 0.7, 0.85)
    spans = optimal_votes(prior, confusion)
    assert spans.odd is not None
    assert spans.odd[0] > 1
    assert [n for n in range(1, 40) if majority_margin(prior, confusion, n) > 0] == [
        n for n in range(1, 40) if n in spans
    ]


@pytest.mark.parametrize("ties", TIES)
def test_the_witness_attains_the_margin(ties):
    rng = np.random.default_rng(4)
    for n_votes in range(1, 8):
        prior_bk, confusion_bkl = oracle.draw_models(rng, many(40, quick=10), 2, zeros=0.1)
        for prior, confusion in zip(prior_bk, confusion_bkl, strict=True):
            witness = majority_witness(prior, confusion, n_votes, ties)
            assert sum(witness) == n_votes
            assert witness.margin == majority_margin(prior, confusion, n_votes, ties)
            joint_k = prior * np.prod(confusion ** np.array(witness), axis=1)
            with np.errstate(divide="ignore"):
                odds = np.subtract(*np.log(joint_k)[[witness.majority, 1 - witness.majority]])
            assert_same(odds, witness.margin)
            assert witness.counts[witness.majority] == max(witness.counts)
            assert joint_k[witness.optimal] == pytest.approx(joint_k.max(), rel=1e-9)


def test_witness_description():
    assert majority_witness([0.2, 0.8], [[0.7, 0.3], [0.3, 0.7]], 3).words(["cat", "dog"]) == (
        "2 x cat, 1 x dog: majority says cat, the optimal rule says dog"
    )
    assert majority_witness([0.5, 0.5], [[0.7, 0.3], [0.2, 0.8]], 3).words(["cat", "dog"]) == (
        "2 x dog, 1 x cat: majority says dog, and so does the optimal rule"
    )
    assert majority_witness([0.6, 0.4], [[0.6, 0.4], [0.4, 0.6]], 3).words() == (
        "2 x class 1, 1 x class 0: majority says class 1, class 0 is just as good"
    )
    assert majority_witness([0.4, 0.6], [[0.7, 0.3], [0.3, 0.7]], 2, ties="first").words(["cat", "dog"]) == (
        "1 x cat, 1 x dog: the tie can go to cat, the optimal rule says dog"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.6], np.eye(2), 3), "prior sums to 1.1"),
        (([0.5, 0.5], [[0.5, 0.4], [0, 1]], 3), r"confusion\[0\] sums to 0.9"),
        (([0.5, 0.5], [[1.5, -0.5], [0, 1]], 3), r"confusion\[0, 0\] is 1.5"),
        (([0.5, 0.5], [[0.5, 0.5], [np.nan, 1]], 3), r"confusion\[1, 0\] is nan"),
        (([0.5, np.nan], np.eye(2), 3), r"prior\[1\] is nan"),
        (([0.5, 0.5], np.eye(3), 3), "shape"),
        (([1.0], [[1.0]], 3), "two or more classes"),
        (([0.5, 0.5], np.eye(2), 0), "n_votes"),
        (([0.5, 0.5], np.eye(2), 2.5), "n_votes"),
        (([0.5, 0.5], np.eye(2), 3, "coin"), "ties must be one of random, first, prior, exclude"),
        (([0.2, 0.3, 0.5], np.eye(3), 3, "first"), "two classes"),
        ((["a", "b"], np.eye(2), 3), "prior must be"),
    ],
)
def test_invalid_input_error_names_the_entry(arguments, message):
    for function in (majority_margin, majority_witness):
        with pytest.raises(ConfigError, match=message):
            function(*arguments)


def test_invalid_batch_error_names_the_entry():
    with pytest.raises(ConfigError, match=r"confusion\[1\]\[0\] sums to 0.9"):
        majority_margins([0.5, 0.5], [np.eye(2), [[0.5, 0.4], [0, 1]]], 3)
    with pytest.raises(ConfigError, match="do not match"):
        majority_margins(np.full((3, 2), 0.5), np.tile(np.eye(2), (4, 1, 1)), 3)
    with pytest.raises(ConfigError, match="K >= 2"):
        majority_margins([[0.5, 0.5]], [np.eye(3)], 3)


def test_functions_of_two_classes_refuse_three():
    for function in (handicap, lambda prior, confusion, _: optimal_votes(prior, confusion)):
        with pytest.raises(ConfigError, match="two classes"):
            function([0.2, 0.3, 0.5], np.eye(3), 3)


def test_an_empty_batch_has_no_margins():
    assert majority_margins(np.empty((0, 2)), np.empty((0, 2, 2)), 3).shape == (0,)
    assert majority_margins(np.empty((0, 3)), np.empty((0, 3, 3)), 3).shape == (0,)
