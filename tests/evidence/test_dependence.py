"""Dependence estimated from gold items: each formula against a slow, direct computation."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import hypergeom, norm, t

from majorant.evidence.certificate.dependence import (
    GoldItems,
    agreement_moments,
    effective_panel_size,
    gold_items,
    label_matrix,
    normal_score,
    pair_tests,
    squared_errors,
)
from majorant.items import merge_equal_items
from majorant.methods.fit import NO_LABEL
from majorant.simulate import one_coin_workers, simulate
from panels import gold_of


def known(skill, n_items, rng, **how):
    return simulate([0.5, 0.5], one_coin_workers(skill), n_items, len(skill), rng=rng, gold=1.0, **how)


def test_few_errors_leave_the_effective_number_unknown():
    """One error in 60 items, of one judge, says nothing about whether five err together."""
    label_gj = np.zeros((60, 5), dtype=np.int64)
    label_gj[0, 0] = 1
    found = effective_panel_size(GoldItems(label_gj, np.zeros(60, dtype=np.int64), np.ones(60), 2), 0.95)
    assert (found.low, found.value, found.high) == pytest.approx((1, 5, 5))


def test_negatively_correlated_judges_are_worth_at_most_their_number():
    label_gj = np.array([[0, 1], [1, 0], [0, 1], [0, 0], [1, 1]] * 20)
    found = effective_panel_size(GoldItems(label_gj, np.zeros(100, dtype=np.int64), np.ones(100), 2), 0.95)
    assert (found.value, found.high) == (2, 2)
    apart = GoldItems(label_gj[:2].repeat(30, axis=0), np.zeros(60, dtype=np.int64), np.ones(60), 2)
    assert effective_panel_size(apart, 0.95).value is None


def small_gold(n_items=14, n_workers=4, n_classes=3, missing=0.0):
    rng = np.random.default_rng(8)
    class_g = np.arange(n_items) % 2
    label_gj = np.where(
        rng.random((n_items, n_workers)) < 0.5, class_g[:, None], rng.integers(n_classes, size=(n_items, n_workers))
    )
    label_gj[rng.random(label_gj.shape) < missing] = NO_LABEL
    if missing:
        label_gj[:, -1] = [0] + [NO_LABEL] * (n_items - 1)  # a worker with one vote
    return GoldItems(label_gj, class_g, np.ones(n_items), n_classes)


def plain_squares(gold):
    """Vote by vote: each less the mean of its worker's votes in the class."""
    apart = together = 0.0
    for k in set(gold.class_g.tolist()):
        rows = gold.label_gj[gold.class_g == k]
        errors = np.zeros((*rows.shape, gold.n_classes))
        for j in range(rows.shape[1]):
            voted = rows[:, j] != NO_LABEL
            said = np.eye(gold.n_classes)[rows[voted, j]]
            errors[voted, j] = said - said.mean(axis=0) if len(said) else 0
        apart += (errors**2).sum()
        together += (errors.sum(axis=1) ** 2).sum()
    return apart, together


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_squared_errors_match_votes_centred_by_worker(missing):
    gold = small_gold(missing=missing)
    assert squared_errors(gold).sum(axis=0) == pytest.approx(plain_squares(gold))


@pytest.mark.parametrize(("end", "side"), [("low", 1), ("high", -1)])
def test_interval_is_the_jackknife_with_one_more_item(end, side):
    n = 80
    gold = gold_of(known([0.7, 0.7, 0.75, 0.8, 0.85], n, rng=1, dependence=0.6))
    added = (5, 25) if end == "low" else (1, 1)
    squares = np.vstack([squared_errors(gold), added])
    apart, together = squares.sum(axis=0)
    rest = squares.sum(axis=0) - squares
    effects = np.log(rest[:, 1] / rest[:, 0])
    error = np.sqrt(n / (n + 1) * ((effects - effects.mean()) ** 2).sum())
    expected = 5 * apart / together * np.exp(-side * t.ppf(0.95, n) * error)
    assert 1.1 < expected < 4.9
    assert getattr(effective_panel_size(gold, 0.9), end) == pytest.approx(expected)


def test_agreement_moments_match_enumerating_all_permutations():
    label_gj = np.array([[0, 0], [0, 1], [1, 1], [2, 2], [0, 0], [1, 2]])
    label_gj, class_g = np.vstack([label_gj, label_gj[[0, 2]], label_gj[:1]]), np.array([0] * 6 + [1] * 2 + [2])
    first, second = label_gj[:, 0], label_gj[:, 1]
    found = agreement_moments(GoldItems(label_gj, class_g, np.ones(9), 3), 0, 1)
    dealt = [
        np.array([(first[class_g == k] == np.array(way)).sum() for way in permutations(second[class_g == k])])
        for k in (0, 1, 2)
    ]
    assert found.excess == pytest.approx((first == second).sum() - sum(way.mean() for way in dealt))
    assert found.variance == pytest.approx(sum(way.var() for way in dealt))
    assert found.third == pytest.approx(sum(((way - way.mean()) ** 3).mean() for way in dealt))


@pytest.mark.parametrize(("labels", "half_step"), [((0, 1), 1.0), ((0, 2), 1.0), ((0, 1, 2), 0.5)])
def test_continuity_correction_is_one_if_both_workers_use_only_two_labels(labels, half_step):
    fixed = [[0, 0], [0, 1], [0, 2]]  # of another class, where one of the two always says the same
    label_gj = np.array([[a, b] for a in labels for b in labels] + fixed)
    class_g = np.array([0] * (len(label_gj) - 3) + [1] * 3)
    gold = GoldItems(label_gj, class_g, np.ones(len(label_gj)), 3)
    assert agreement_moments(gold, 0, 1).half_step == half_step


@pytest.mark.parametrize(("errors", "shared"), [(1, 1), (2, 1), (3, 2), (10, 3), (40, 12), (40, 3)])
def test_the_p_value_of_a_pair_is_nearly_exact_where_errors_are_rare(errors, shared):
    n = 300
    label_gj = np.zeros((n, 2), dtype=np.int64)
    label_gj[:errors, 0] = 1
    label_gj[errors - shared : 2 * errors - shared, 1] = 1
    law = hypergeom(n, errors, errors)
    exact = law.sf(shared - 1) if shared > errors**2 / n else law.cdf(shared)
    z = pair_tests(GoldItems(label_gj, np.zeros(n, dtype=np.int64), np.ones(n), 2), [(0, 1)]).z_q[0]
    assert 0.6 * exact < norm.sf(abs(z)) < 10 * exact  # of a law known by three moments: far out, on the safe side


def test_a_pair_is_tested_as_by_mantel_and_haenszel():
    gold = gold_of(known([0.7, 0.8, 0.9], 200, rng=2))
    label_gj, class_g, _, _ = gold
    excess = variance = 0.0
    for k in (0, 1):
        a, b = (label_gj[class_g == k, j] == 0 for j in (0, 1))
        n, ones = len(a), (int(a.sum()), int(b.sum()))
        excess += (a & b).sum() - ones[0] * ones[1] / n
        variance += ones[0] * (n - ones[0]) * ones[1] * (n - ones[1]) / (n**2 * (n - 1))
    moments = agreement_moments(gold, 0, 1)
    z = np.sign(excess) * max(abs(excess) - 0.5, 0) / np.sqrt(variance)
    assert abs(z) > 0.1
    found = pair_tests(gold, [(0, 1)])
    assert found.z_q[0] == pytest.approx(normal_score(z, moments.third / moments.variance**1.5))
    assert found.z_q[0] == pytest.approx(z, abs=0.1)  # far from rare: nearly normal
    both = [label_gj[:, j] - np.array([label_gj[class_g == k, j].mean() for k in (0, 1)])[class_g] for j in (0, 1)]
    assert found.correlation_q[0] == pytest.approx(
        np.sum(both[0] * both[1]) / np.sqrt((both[0] ** 2).sum() * (both[1] ** 2).sum())
    )


def test_a_copy_on_very_many_gold_items_is_reported():
    label_gj = np.array([[0, 0], [1, 1]])
    found = pair_tests(GoldItems(label_gj, np.zeros(2, dtype=np.int64), np.array([900_000.0, 100_000.0]), 2), [(0, 1)])
    assert found.correlation_q[0] == pytest.approx(1)
    assert 30 < found.z_q[0] < np.inf


def test_duplicated_items_count_separately():
    votes, truth = known([0.6, 0.65, 0.7, 0.8, 0.9], 400, rng=2)
    merged = merge_equal_items(votes)
    gold, rows = gold_of((votes, truth)), merged.votes
    few = GoldItems(label_matrix(rows), rows.gold_i, merged.weight_p, 2)
    assert few.n_items == gold.n_items
    for one, other in zip(pair_tests(few, [(0, 1), (2, 4)]), pair_tests(gold, [(0, 1), (2, 4)]), strict=True):
        assert one == pytest.approx(other)
    assert effective_panel_size(few, 0.95).low == pytest.approx(effective_panel_size(gold, 0.95).low)


def test_votes_that_are_missing_are_left_out():
    gold = gold_of(known([0.6, 0.65, 0.7, 0.8, 0.9], 300, rng=3))
    label_gj = gold.label_gj.copy()
    label_gj[:150, 0] = NO_LABEL
    half = gold._replace(label_gj=label_gj)
    rest = gold._replace(label_gj=gold.label_gj[150:], class_g=gold.class_g[150:], copies_g=gold.copies_g[150:])
    for pair in ((0, 1), (1, 0)):
        assert pair_tests(half, [pair]).z_q == pytest.approx(pair_tests(rest, [pair]).z_q)
    assert effective_panel_size(half, 0.95).value <= 4.5


def test_gold_items_with_one_vote_are_not_evidence():
    label_ij = np.zeros((100, 3), dtype=np.int64)
    label_ij[51:, 1:] = NO_LABEL
    found = gold_items(label_ij, np.zeros(100, dtype=np.int64), np.ones(100), 2)
    assert found.n_items == 51
    assert gold_items(label_ij[2:], np.zeros(98, dtype=np.int64), np.ones(98), 2) is None
