"""docs/theory/panel.md: one confusion matrix per voter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from majorant.errors import ConfigError
from majorant.theory import majority_margin, panel_margin, panel_witness
from oracles import margins as oracle
from oracles.golden import theory, two_class
from sizes import many

TIES = ("exclude", "first", "prior", "random")


def assert_same(found, wanted, tolerance=1e-10):
    found, wanted = np.asarray(found), np.asarray(wanted)
    different = found != wanted
    np.testing.assert_allclose(found[different], wanted[different], rtol=0, atol=tolerance)


def margins(prior_bk, confusion_bhkl, ties="exclude"):
    return [panel_margin(prior, crew, ties) for prior, crew in zip(prior_bk, confusion_bhkl, strict=True)]


@pytest.mark.parametrize("n_votes", range(1, 10))
def test_two_class_margin_is_the_smallest_log_odds_over_all_ballots(n_votes):
    rng = np.random.default_rng(n_votes)
    for zeros, n_models in ((0.0, many(1900)), (0.05, many(400))):
        prior_bk, confusion_bhkl = oracle.draw_models(rng, n_models, 2, n_votes, zeros=zeros)
        assert_same(margins(prior_bk, confusion_bhkl), oracle.panel_margin(prior_bk, confusion_bhkl))


@pytest.mark.parametrize("ties", TIES[1:])
@pytest.mark.parametrize("n_votes", [2, 4, 5, 6])
def test_two_class_ties(n_votes, ties):
    rng = np.random.default_rng(n_votes)
    for zeros in (0.0, 0.1):
        prior_bk, confusion_bhkl = oracle.draw_models(rng, many(300), 2, n_votes, zeros=zeros)
        assert_same(margins(prior_bk, confusion_bhkl, ties), oracle.panel_margin(prior_bk, confusion_bhkl, ties))


@pytest.mark.parametrize(
    ("n_classes", "n_votes", "n_models"),
    [
        *((3, 1, 4000), (3, 2, 4000), (3, 3, 4000), (3, 4, 3000), (3, 5, 2500), (3, 6, 1000), (3, 7, 300)),
        *((4, 3, 500), (4, 4, 400), (4, 5, 300), (5, 3, 200), (5, 4, 100), (6, 2, 100), (6, 3, 100)),
    ],
)
def test_margin_is_the_smallest_log_odds_over_all_ballots(n_classes, n_votes, n_models):
    rng = np.random.default_rng(n_classes * 10 + n_votes)
    for zeros, part in ((0.0, many(n_models * 4 // 5)), (0.03, many(n_models // 5))):
        prior_bk, confusion_bhkl = oracle.draw_models(rng, part, n_classes, n_votes, zeros=zeros)
        assert_same(margins(prior_bk, confusion_bhkl), oracle.panel_margin(prior_bk, confusion_bhkl))


@pytest.mark.parametrize(("n_classes", "n_votes"), [(2, 3), (2, 4), (3, 3), (3, 4), (3, 5), (4, 3), (4, 4)])
def test_labels_that_a_voter_never_gives(n_classes, n_votes):
    # Zeros at random rule out a class and end in -inf; a label missing for every class only binds the ballots.
    rng = np.random.default_rng(n_classes + n_votes)
    n_models = many(150, quick=40)
    prior_bk, confusion_bhkl = oracle.draw_models(rng, n_models, n_classes, n_votes)
    never_bhl = rng.random((n_models, n_votes, n_classes)) < 0.3
    never_bhl &= never_bhl.sum(axis=2, keepdims=True) < n_classes
    confusion_bhkl = np.where(never_bhl[:, :, None, :], 0.0, confusion_bhkl + 1e-3)
    confusion_bhkl /= confusion_bhkl.sum(axis=3, keepdims=True)
    wanted_b = oracle.panel_margin(prior_bk, confusion_bhkl)
    assert np.isfinite(wanted_b).mean() > 0.8
    assert_same(margins(prior_bk, confusion_bhkl), wanted_b)


@given(data=st.data(), n_classes=st.integers(2, 3), n_votes=st.integers(1, 5), ties=st.sampled_from(TIES))
def test_margin_of_rough_panels(data, n_classes, n_votes, ties):
    ties = ties if n_classes == 2 else "exclude"
    row = (
        st.lists(st.integers(0, 4), min_size=n_classes, max_size=n_classes)
        .filter(any)
        .map(lambda r: np.array(r) / sum(r))
    )
    prior = data.draw(row)
    crew = [[data.draw(row) for _ in range(n_classes)] for _ in range(n_votes)]
    assert_same(panel_margin(prior, crew, ties), oracle.panel_margin([prior], [crew], ties)[0])


def test_golden_margins():
    vectors = theory()["test_vectors"]
    for case in vectors["binary_hetero"]:
        crew = [two_class(0.5, a, b)[1] for a, b in zip(case["T00"], case["T11"], strict=True)]
        margin = panel_margin([case["nu0"], 1 - case["nu0"]], crew)
        assert margin == pytest.approx(case["margin_ties_excluded"], abs=1e-12)
    for case in vectors["multiclass_hetero"]:
        assert panel_margin(case["nu"], case["Ts"]) == pytest.approx(case["margin_ties_excluded"], abs=1e-12)


def test_golden_two_group_table():
    for row in theory()["two_group_table"]:
        for sizes in ("A3B4", "A4B3"):
            n_a, n_b = int(sizes[1]), int(sizes[3])
            crew = [two_class(0.5, *row["TA"])[1]] * n_a + [two_class(0.5, *row["TB"])[1]] * n_b
            margin = panel_margin([row["nu0"], 1 - row["nu0"]], crew)
            assert margin == pytest.approx(row[sizes]["margin"], abs=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_equal_voters_have_the_shared_margin(n_classes):
    rng = np.random.default_rng(n_classes)
    prior_bk, confusion_bkl = oracle.draw_models(rng, many(60, quick=15), n_classes, zeros=0.05)
    for prior, confusion in zip(prior_bk, confusion_bkl, strict=True):
        for n_votes in (1, 4, 7, 12):
            assert_same(panel_margin(prior, [confusion] * n_votes), majority_margin(prior, confusion, n_votes))


def test_the_order_of_voters_does_not_matter():
    rng = np.random.default_rng(0)
    for n_classes in (2, 4):
        prior_bk, confusion_bhkl = oracle.draw_models(rng, 20, n_classes, 9)
        for prior, crew in zip(prior_bk, confusion_bhkl, strict=True):
            assert panel_margin(prior, crew) == pytest.approx(panel_margin(prior, rng.permutation(crew)), abs=1e-10)


@pytest.mark.parametrize(("n_classes", "ties"), [(2, "exclude"), (2, "random"), (2, "first"), (3, "exclude")])
def test_the_witness_attains_the_margin(n_classes, ties):
    rng = np.random.default_rng(n_classes)
    for n_votes in range(1, 8):
        prior_bk, confusion_bhkl = oracle.draw_models(rng, many(40, quick=10), n_classes, n_votes, zeros=0.05)
        for prior, crew in zip(prior_bk, confusion_bhkl, strict=True):
            witness = panel_witness(prior, crew, ties)
            joint_k = prior * np.prod(crew[np.arange(n_votes), :, list(witness.ballot)], axis=0)
            assert list(witness) == np.bincount(witness.ballot, minlength=n_classes).tolist()
            assert witness[witness.majority] == max(witness)
            assert joint_k.max() > 0
            assert joint_k[witness.optimal] == pytest.approx(joint_k.max(), rel=1e-9)
            with np.errstate(divide="ignore"):
                odds = np.log(joint_k[witness.majority]) - np.log(np.delete(joint_k, witness.majority).max())
            assert_same(odds, witness.margin)


def test_an_adversary_is_used_by_the_optimal_rule():
    good, liar = two_class(0.5, 0.7, 0.7)[1], two_class(0.5, 0.05, 0.05)[1]
    assert panel_margin([0.5, 0.5], [good, good, good]) > 0
    assert panel_witness([0.5, 0.5], [good, good, liar]).words(["cat", "dog"], ["Ann", "Bob", "Cy"]) == (
        "cat from Bob Cy, dog from Ann: majority says cat, the optimal rule says dog"
    )


def test_a_panel_that_is_never_wrong():
    for n_classes in (2, 3):
        prior = np.full(n_classes, 1 / n_classes)
        witness = panel_witness(prior, [np.eye(n_classes)] * 3)
        assert (witness.margin, witness.ballot) == (np.inf, (0, 0, 0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.5], np.eye(2)), "confusions must have shape"),
        (([0.5, 0.5], np.empty((0, 2, 2))), "confusions must have shape"),
        (([0.5, 0.5], [np.eye(2), [[0.5, 0.4], [0, 1]]]), r"confusions\[1\]\[0\] sums to 0.9"),
        (([0.5, 0.5], [np.eye(2)], "coin"), "ties must be one of"),
        (([0.2, 0.3, 0.5], [np.eye(3)], "random"), "two classes"),
    ],
)
def test_invalid_input_error_names_the_entry(arguments, message):
    with pytest.raises(ConfigError, match=message):
        panel_margin(*arguments)
