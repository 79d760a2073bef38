"""Simulated votes against exact probabilities, and panels with entries by hand.

Each test draws from a fixed seed and asks for a p-value above P_MIN (times the number of tests it makes): the right
model passes for all but a few seeds in ten thousand, a model that is off by more than the counts can hide does not.
"""

import sys
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from crowds import mixed_crew
from majorant.errors import ConfigError
from majorant.simulate import one_coin_workers, quantile, simulate, thresholds

P_MIN = 1e-3
TWO = np.array([[0.8, 0.2], [0.3, 0.7]])
THREE = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.25, 0.25, 0.5]])


def noisy(n_classes):
    """An asymmetric confusion with one impossible label per row once there are three classes."""
    confusion = np.arange(1.0, 1 + n_classes**2).reshape(n_classes, n_classes) + 3 * n_classes * np.eye(n_classes)
    if n_classes > 2:
        confusion[np.arange(n_classes), np.arange(n_classes) - 1] = 0
    return confusion / confusion.sum(axis=1, keepdims=True)


def prior_of(n_classes):
    weight = np.arange(1.0, n_classes + 1)
    return weight / weight.sum()


def fit_p(observed, probability):
    """Chi-square goodness of fit; cells of probability zero must be empty, rare ones are put together."""
    observed, expected = np.ravel(observed), np.ravel(probability) * np.sum(observed)
    assert not observed[expected == 0].any()
    rare = expected < 10
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    observed, expected = observed[expected > 0], expected[expected > 0]
    assert len(observed) > 1
    return stats.chisquare(observed, expected).pvalue


def assert_confusions(votes, truth, confusion):
    """One test per worker and class; a worker's votes are on different items, hence independent in every model."""
    _, n_workers, n_classes = votes.shape
    confusion = np.broadcast_to(confusion, (n_workers, n_classes, n_classes))
    counts = np.zeros(confusion.shape)
    np.add.at(counts, (votes.worker_n, truth[votes.item_n], votes.label_n), 1)
    p_values = [fit_p(counts[j, k], confusion[j, k]) for j, k in product(range(n_workers), range(n_classes))]
    assert min(p_values) > P_MIN / len(p_values)


def assert_patterns(votes, truth, probability_of):
    """All label patterns of a panel, class by class, against their exact probabilities."""
    n_items, n_workers, n_classes = votes.shape
    ballot = votes.label_n.reshape(n_items, n_workers)
    patterns = list(product(range(n_classes), repeat=n_workers))
    code = ballot @ n_classes ** np.arange(n_workers)[::-1]
    for k in range(n_classes):
        exact = np.array([probability_of(k, pattern) for pattern in patterns])
        assert exact.sum() == pytest.approx(1)
        assert fit_p(np.bincount(code[truth == k], minlength=len(patterns)), exact) > P_MIN / n_classes


def distinct(votes):
    key = votes.item_n.astype(np.int64) * len(votes.workers) + votes.worker_n
    return len(np.unique(key)) == votes.n_votes


# --- marginals: every kind of crowd keeps the confusions it was asked for ---


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("extra", [{}, {"concentration": 3.0}, {"dependence": 0.6}], ids=str)
def test_shared_confusion_and_prior_are_recovered(n_classes, extra):
    prior, confusion = prior_of(n_classes), noisy(n_classes)
    votes, truth = simulate(prior, confusion, 30_000, 4, rng=n_classes, n_workers=10, **extra)
    assert fit_p(np.bincount(truth, minlength=n_classes), prior) > P_MIN
    assert_confusions(votes, truth, confusion)


CREWS = {
    "two groups": np.repeat([TWO, one_coin_workers([0.95])[0]], [3, 4], axis=0),
    "one coin": one_coin_workers([0.9, 0.7, 0.5, 0.2], n_classes=3),
    "spammers and adversaries": mixed_crew(noisy(4), 3, spammers=2, adversaries=1),
}


@pytest.mark.parametrize("crew", CREWS.values(), ids=CREWS)
@pytest.mark.parametrize("n_votes", ["panel", 3])
@pytest.mark.parametrize("extra", [{}, {"concentration": 2.0, "dependence": 0.5}], ids=["plain", "both"])
def test_each_worker_keeps_the_confusion_given(crew, n_votes, extra):
    n_workers, n_classes, _ = crew.shape
    per_item = n_workers if n_votes == "panel" else n_votes
    votes, truth = simulate(prior_of(n_classes), crew, 20_000, per_item, rng=5, **extra)
    assert_confusions(votes, truth, crew)
    assert distinct(votes)


# --- joint distributions ---


def test_votes_are_independent_given_the_class():
    crew = one_coin_workers([0.9, 0.75, 0.6, 0.3])
    votes, truth = simulate([0.4, 0.6], crew, 60_000, 4, rng=6)
    assert_patterns(votes, truth, lambda k, labels: np.prod(crew[np.arange(4), k, list(labels)]))


@pytest.mark.parametrize("concentration", [4.0, 12.0])
@pytest.mark.parametrize("n_workers", [None, 5])
def test_difficulty_gives_beta_binomial_counts(concentration, n_workers):
    votes, truth = simulate(
        [0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 50_000, 5, rng=7, n_workers=n_workers, concentration=concentration
    )
    right = np.bincount(votes.item_n[votes.label_n == truth[votes.item_n]], minlength=50_000)
    exact = stats.betabinom.pmf(np.arange(6), 5, 0.8 * concentration, 0.2 * concentration)
    assert fit_p(np.bincount(right, minlength=6), exact) > P_MIN
    assert fit_p(np.bincount(right, minlength=6), stats.binom.pmf(np.arange(6), 5, 0.8)) < 1e-12


def test_difficulty_per_class_and_votes_per_item_can_vary():
    concentration = np.array([2.0, 20.0])
    votes, truth = simulate([0.3, 0.7], TWO, 60_000, ([3, 7], [1, 2]), rng=8, concentration=concentration)
    zeros = np.bincount(votes.item_n[votes.label_n == 0], minlength=60_000)
    for k, h in product((0, 1), (3, 7)):
        chosen = (truth == k) & (votes.votes_i == h)
        a, b = concentration[k] * TWO[k]
        exact = stats.betabinom.pmf(np.arange(h + 1), h, a, b)
        assert fit_p(np.bincount(zeros[chosen], minlength=h + 1), exact) > P_MIN / 4


def test_difficulty_of_three_classes_gives_dirichlet_multinomial_patterns():
    confusion, c = noisy(3) * 0.9 + 0.1 / 3, 5.0

    def polya(k, labels):
        count, alpha = np.bincount(labels, minlength=3), c * confusion[k]
        return np.exp(gammaln(c) - gammaln(c + 4) + (gammaln(alpha + count) - gammaln(alpha)).sum())

    votes, truth = simulate(prior_of(3), confusion, 60_000, 4, rng=9, n_workers=4, concentration=c)
    assert_patterns(votes, truth, polya)


def copied(k, labels, *, groups, dependence, confusion):
    """By enumerating who copies: the copiers of a group all say what their group's one draw says."""
    total = 0.0
    for copies in product((False, True), repeat=len(labels)):
        chance = np.prod([dependence if copy else 1 - dependence for copy in copies])
        for group in set(groups):
            said = {label for label, copy, g in zip(labels, copies, groups, strict=True) if copy and g == group}
            chance *= 0.0 if len(said) > 1 else np.prod([confusion[k, label] for label in said])
        own = [label for label, copy in zip(labels, copies, strict=True) if not copy]
        total += chance * np.prod([confusion[k, label] for label in own])
    return total


@pytest.mark.parametrize("groups", [None, ["a", "b", "a", "b", "a"]])
def test_copying_gives_the_exact_patterns(groups):
    votes, truth = simulate([0.5, 0.5], TWO, 60_000, 5, rng=10, n_workers=5, dependence=0.6, groups=groups)
    law = {"groups": groups or [0] * 5, "dependence": 0.6, "confusion": TWO}
    assert_patterns(votes, truth, lambda k, labels: copied(k, labels, **law))


@pytest.mark.parametrize("concentration", [None, 6.0])
@pytest.mark.parametrize("dependence", [0.0, 0.3, 0.7, 1.0])
def test_vote_correlation_within_and_across_groups(dependence, concentration):
    n_items = 50_000
    votes, truth = simulate(
        [0.5, 0.5],
        TWO,
        n_items,
        4,
        rng=11,
        n_workers=4,
        dependence=dependence,
        groups=[0, 1, 0, 1],
        concentration=concentration,
    )
    ballot = votes.label_n.reshape(n_items, 4)[truth == 0]
    shared = 0.0 if concentration is None else 1 / (1 + concentration)
    within = dependence**2 + (1 - dependence**2) * shared
    centred = ballot - TWO[0, 1]
    for first, second, expected in ((0, 2, within), (1, 3, within), (0, 1, shared), (2, 3, shared)):
        product_n = centred[:, first] * centred[:, second] / (TWO[0, 0] * TWO[0, 1])
        assert abs(product_n.mean() - expected) < 4 * product_n.std() / np.sqrt(len(product_n))


def test_copying_workers_of_unequal_skill_are_right_together():
    skill, d = np.array([0.9, 0.6, 0.75]), 0.8
    votes, truth = simulate(prior_of(4), one_coin_workers(skill, 4), 50_000, 3, rng=12, dependence=d)
    right = votes.label_n.reshape(-1, 3) == truth[:, None]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        expected = d**2 * min(skill[a], skill[b]) + (1 - d**2) * skill[a] * skill[b]
        both = int((right[:, a] & right[:, b]).sum())
        assert stats.binomtest(both, len(right), expected).pvalue > P_MIN / 3


# --- designs ---


@pytest.mark.parametrize(("n_votes", "n_workers"), [(2, 4), (2, 5), (3, 4), (3, 5), (2, 3)])
def test_every_ordered_choice_of_distinct_workers_is_equally_likely(n_votes, n_workers):
    votes, _ = simulate([0.5, 0.5], TWO, 40_000, n_votes, rng=13, n_workers=n_workers)
    chosen = votes.worker_n.reshape(-1, n_votes) @ n_workers ** np.arange(n_votes)[::-1]
    possible = [np.dot(p, n_workers ** np.arange(n_votes)[::-1]) for p in permutations(range(n_workers), n_votes)]
    counts = np.bincount(chosen, minlength=n_workers**n_votes)
    assert counts[possible].sum() == 40_000
    assert fit_p(counts[possible], np.full(len(possible), 1 / len(possible))) > P_MIN


def test_large_partial_panels_use_workers_and_positions_equally():
    votes, _ = simulate([0.5, 0.5], TWO, 400, 300, rng=16, n_workers=301)
    assert fit_p(np.bincount(votes.worker_n, minlength=301), np.full(301, 1 / 301)) > P_MIN
    place = votes.worker_n.reshape(400, 300)[:, :3]
    assert fit_p(np.bincount((place // 31).ravel(), minlength=10), np.append(np.full(9, 31), 22) / 301) > P_MIN


def test_worker_assignment_is_independent_of_class_and_item():
    votes, truth = simulate([0.5, 0.5], TWO, 30_000, ([1, 2, 6], [1, 1, 1]), rng=14, n_workers=7)
    table = np.zeros((7, 2))
    np.add.at(table, (votes.worker_n, truth[votes.item_n]), 1)
    assert stats.chi2_contingency(table).pvalue > P_MIN
    for h in (1, 2, 6):
        of_h = votes.worker_n[votes.votes_i[votes.item_n] == h]
        assert fit_p(np.bincount(of_h, minlength=7), np.full(7, 1 / 7)) > P_MIN / 3
    first = votes.worker_n[votes.offsets_i[:-1]]
    assert fit_p(np.bincount(first[1:] * 7 + first[:-1], minlength=49), np.full(49, 1 / 49)) > P_MIN


@pytest.mark.parametrize(
    ("n_votes", "n_workers"),
    [(5, 5000), (5, 25), (5, 24), (5, 6), (40, 300), (([1, 3, 40], [2, 2, 1]), 50), (300, 400)],
)
def test_workers_of_an_item_are_distinct(n_votes, n_workers):
    votes, _ = simulate([0.5, 0.5], TWO, 3000, n_votes, rng=15, n_workers=n_workers)
    assert distinct(votes)
    assert votes.shape == (3000, n_workers, 2)


def test_panel_votes_are_in_worker_order_on_every_item():
    votes, _ = simulate([0.5, 0.5], TWO, 40_000, 3, rng=0, n_workers=3)
    np.testing.assert_array_equal(votes.worker_n, np.tile([0, 1, 2], 40_000))
    np.testing.assert_array_equal(votes.item_n, np.repeat(np.arange(40_000), 3))
    assert votes.workers == ("w0", "w1", "w2")


def test_a_crowd_has_a_worker_per_thousand_votes_and_is_never_a_panel():
    assert simulate([0.5, 0.5], TWO, 100, 3, rng=0).votes.shape == (100, 30, 2)
    assert simulate([0.5, 0.5], TWO, 20_000, 3, rng=0).votes.shape == (20_000, 60, 2)
    assert simulate([0.5, 0.5], TWO, 20_001, 3, rng=0).votes.shape == (20_001, 61, 2)


def test_the_number_of_votes_is_a_number_one_per_item_or_a_distribution():
    per_item = np.array([0, 3, 1, 0, 2])
    votes, truth = simulate([0.5, 0.5], TWO, 5, per_item, rng=0)
    np.testing.assert_array_equal(votes.votes_i, per_item)
    assert len(truth) == 5
    np.testing.assert_array_equal(simulate([0.5, 0.5], TWO, 2, [1, 2], rng=0).votes.votes_i, [1, 2])
    assert simulate([0.5, 0.5], TWO, 3, [0, 0, 0], rng=0).votes.n_votes == 0
    drawn = simulate([0.5, 0.5], TWO, 20_000, ([3, 5, 9], [1, 2, 5]), rng=0).votes.votes_i
    assert fit_p(np.bincount(drawn)[[3, 5, 9]], np.array([1, 2, 5]) / 8) > P_MIN
    assert set(np.unique(drawn)) == {3, 5, 9}


def test_one_item_with_very_many_votes():
    per_item = np.array([1, 200_000, 2])
    votes, _ = simulate([0.5, 0.5], TWO, 3, per_item, rng=0, n_workers=200_001)
    assert distinct(votes)
    np.testing.assert_array_equal(votes.votes_i, per_item)


def test_probabilities_of_zero_and_one_are_exact():
    votes, truth = simulate([0, 1, 0], np.eye(3), 1000, 3, rng=0)
    assert (truth == 1).all()
    assert (votes.label_n == 1).all()
    shift = np.roll(np.eye(3), 1, axis=1)
    votes, truth = simulate(prior_of(3), shift, 1000, 3, rng=0, concentration=1.0, dependence=0.5)
    np.testing.assert_array_equal(votes.label_n, (truth[votes.item_n] + 1) % 3)
    votes, _ = simulate([0.5, 0.5], np.full((2, 2), 0.5), 1000, 5, rng=0, dependence=1.0)
    ballot = votes.label_n.reshape(-1, 5)
    assert (ballot == ballot[:, :1]).all()


# --- seeds, blocks, gold, names ---


def test_the_same_seed_gives_the_same_votes_and_another_seed_others():
    def draw(rng):
        return simulate(
            [0.5, 0.5], TWO, 50_000, ([2, 9], [1, 1]), rng=rng, n_workers=30, concentration=3, dependence=0.3
        )

    one, again, other = draw(1), draw(np.random.default_rng(1)), draw(2)
    for field in ("item_n", "worker_n", "label_n", "offsets_i"):
        np.testing.assert_array_equal(getattr(one.votes, field), getattr(again.votes, field))
    np.testing.assert_array_equal(one.truth, again.truth)
    assert not np.array_equal(one.truth, other.truth)
    generator = np.random.default_rng(1)
    assert not np.array_equal(draw(generator).truth, draw(generator).truth)


@pytest.mark.parametrize("block", [1, 7, 1 << 10])
def test_small_blocks_draw_from_the_same_model(monkeypatch, block):
    monkeypatch.setattr(sys.modules[simulate.__module__], "BLOCK_VOTES", block)
    votes, truth = simulate([0.4, 0.6], TWO, 3000, ([3, 5], [1, 1]), rng=3, n_workers=8, concentration=4)
    assert_confusions(votes, truth, TWO)
    assert distinct(votes)


def test_gold_reveals_a_share_of_the_truth_without_changing_votes():
    bare, truth = simulate([0.5, 0.5], TWO, 1000, 3, rng=4)
    some = simulate([0.5, 0.5], TWO, 1000, 3, rng=4, gold=0.25).votes
    assert bare.gold_i is None
    assert some.gold_i is not None
    known = some.gold_i >= 0
    assert known.sum() == 250
    assert known[:500].any()
    assert known[500:].any()
    np.testing.assert_array_equal(some.gold_i[known], truth[known])
    np.testing.assert_array_equal(some.label_n, bare.label_n)


def test_classes_keep_the_names_and_the_order_given():
    plain, code = simulate([0.9, 0.1], TWO, 200, 3, rng=5)
    named, truth = simulate([0.9, 0.1], TWO, 200, 3, rng=5, labels=("spam", None))
    assert named.labels == ("spam", None)
    assert truth.tolist() == [("spam", None)[k] for k in code]
    np.testing.assert_array_equal(named.label_n, plain.label_n)
    assert plain.labels == (0, 1)
    assert simulate([0.5, 0.5], TWO, 3, 1, rng=0, labels=[(1, 2), (3, 4)]).truth[0] in {(1, 2), (3, 4)}


def test_truth_and_votes_are_read_only_and_accounted_for():
    votes, truth = simulate([0.5, 0.5], TWO, 100, 3, rng=6)
    for array in (truth, votes.label_n):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert votes.account.balanced
    assert votes.account.votes == 300


GOOD = {"prior": [0.5, 0.5], "confusion": TWO, "n_items": 10, "n_votes": 3, "rng": 0}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prior": [0.5, 0.6]}, "prior sums to"),
        ({"prior": [1.0]}, "two or more classes"),
        ({"confusion": TWO + 0.1}, "sums to"),
        ({"confusion": noisy(3)}, r"confusion must have shape \(2, 2\)"),
        ({"confusion": [[1, 0], [1]]}, "rectangular"),
        ({"confusion": [noisy(3)]}, "confusions must have shape"),
        ({"n_items": 0}, "n_items must be a whole number of at least 1"),
        ({"n_items": 2.5}, "n_items must be a whole number"),
        ({"n_items": "ten"}, "n_items"),
        ({"n_votes": 0}, "n_votes must be a whole number of at least 1"),
        ({"n_votes": 1.5}, "n_votes must be a whole number"),
        ({"n_votes": [3, 3]}, "10 numbers"),
        ({"n_votes": [-1] * 10}, "at least 0"),
        ({"n_votes": ([3, 5], [1])}, "rectangular"),
        ({"n_votes": ([3, 5], [-1, 2])}, "weights"),
        ({"n_votes": ([3, 5], [0, 0])}, "weights"),
        ({"n_votes": ([], [])}, "pair"),
        ({"n_votes": 4, "n_workers": 3}, "4 distinct workers on an item, but there are only 3"),
        ({"n_votes": 4, "confusion": [TWO] * 3}, "4 distinct workers on an item, but there are only 3"),
        ({"confusion": [TWO] * 3, "n_workers": 4}, "leave n_workers out"),
        ({"n_workers": -3}, "n_workers must be"),
        ({"concentration": 0}, "concentration must be positive"),
        ({"concentration": -1.0}, "concentration must be positive"),
        ({"concentration": np.inf}, "concentration must be positive"),
        ({"concentration": [1, 2, 3]}, "one for each of 2 classes"),
        ({"dependence": 1.1}, r"dependence must be a number in 0\.\.1"),
        ({"dependence": float("nan")}, "dependence"),
        ({"dependence": [0.1, 0.2]}, "dependence"),
        ({"groups": [0, 1]}, "each of 30 workers"),
        ({"labels": ["a"]}, "2 different names"),
        ({"labels": ["a", "a"]}, "2 different names"),
        ({"gold": -0.1}, "gold"),
        ({"gold": "all"}, "gold"),
        ({"rng": None}, "rng must be"),
        ({"rng": -1}, "rng must be"),
        ({"rng": 0.5}, "rng must be"),
        ({"rng": True}, "rng must be"),
    ],
    ids=str,
)
def test_invalid_input_error_names_the_argument(change, says):
    with pytest.raises(ConfigError, match=says):
        simulate(**(GOOD | change))


def test_threshold_value_falls_into_the_next_possible_label():
    row = thresholds(np.array([[0.0, 0.5, 0.0, 0.5, 0.0]]))
    number = np.array([0.0, np.nextafter(0.5, 0), 0.5, np.nextafter(1.0, 0)])
    assert quantile(row, np.zeros(4, dtype=np.intp), number).tolist() == [1, 1, 3, 3]


def test_one_coin_rows():
    crew = one_coin_workers([0.7, 0.25], n_classes=4)
    np.testing.assert_allclose(crew[0], np.full((4, 4), 0.1) + 0.6 * np.eye(4))
    np.testing.assert_allclose(crew[1], np.full((4, 4), 0.25))


@pytest.mark.parametrize(
    "call",
    [
        lambda: one_coin_workers([0.5, 1.1]),
        lambda: one_coin_workers([]),
        lambda: one_coin_workers(0.5),
        lambda: one_coin_workers([0.5], n_classes=1),
        lambda: one_coin_workers(["good"]),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ConfigError):
        call()
