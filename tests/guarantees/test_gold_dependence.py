"""On gold items: independent workers pass at the level, and the interval of n_eff holds whatever the dependence."""

from itertools import combinations

import numpy as np
import pytest

from guarantees.levels import ALPHA, lowest_rate
from majorant.certify.named.by_gold import GoldItems, pair_tests, worth_by_gold
from majorant.certify.named.dependence import dependence
from majorant.certify.named.scores import NO_VOTE, label_matrix
from majorant.claims import certify
from majorant.merge import merge_equal_items
from majorant.simulate.crews import one_coin_crew
from majorant.simulate.crowd import simulate
from panels import fit_panel

PANELS = {
    "3": ([0.5, 0.5], [0.7, 0.8, 0.9]),
    "3 good, skewed": ([0.8, 0.2], [0.9, 0.95, 0.97]),
    "5": ([0.5, 0.5], [0.6, 0.65, 0.7, 0.8, 0.9]),
    "4 of 3 classes": ([0.3, 0.3, 0.4], [0.6, 0.7, 0.8, 0.85]),
}
SHARED = {
    "independent": {},
    "weak": {"dependence": 0.2},
    "common": {"dependence": 0.5},
    "strong": {"dependence": 0.8},
    "a pair": {"dependence": 0.9, "groups": "aabcd"},
    "two groups": {"dependence": 0.6, "groups": "aaabb"},
    "hard items": {"concentration": 3.0},
}
SKILL = np.array([0.7, 0.7, 0.75, 0.8, 0.85])


def gold_of(simulated):
    votes, truth = simulated
    return GoldItems(label_matrix(votes), truth.astype(np.int64), np.ones(len(truth)), len(votes.labels))


def drawn(name, n_items, rng):
    prior, skill = PANELS[name]
    return simulate(prior, one_coin_crew(skill, len(prior)), n_items, len(skill), rng=rng, gold=1.0)


def gold_gate(simulated):
    """The gate by gold alone: as where votes cannot test it."""
    gold = gold_of(simulated)
    pairs = list(combinations(range(gold.label_gj.shape[1]), 2))
    z_q = pair_tests(gold, pairs).z_q
    return z_q[np.isfinite(z_q)]


def assert_independent_panels_pass(name, n_items, runs):
    from scipy.stats import chi2

    rng = np.random.default_rng([len(name), n_items])
    found = [gold_gate(drawn(name, n_items, rng)) for _ in range(runs)]
    refused = sum(z_q @ z_q > chi2.isf(ALPHA, len(z_q)) for z_q in found if len(z_q))
    print(f"{name}, {n_items} gold items: {refused} of {runs} refused")
    assert lowest_rate(refused, runs) <= ALPHA


@pytest.mark.parametrize("name", PANELS)
def test_independent_panels_pass(name):
    assert_independent_panels_pass(name, 100, runs=60)


@pytest.mark.long
@pytest.mark.parametrize("n_items", [50, 100, 300, 3_000])
@pytest.mark.parametrize("name", PANELS)
def test_independent_panels_pass_at_the_level(name, n_items):
    assert_independent_panels_pass(name, n_items, runs=2_000)


def exact_worth(dependence=0.0, groups="aaaaa", concentration=None):
    """By hand: given the class, two votes are the same draw with a probability s, and then right together."""
    same = dependence**2 + (0 if concentration is None else (1 - dependence**2) / (1 + concentration))
    alone = SKILL * (1 - SKILL)
    together = sum(
        min(SKILL[a], SKILL[b]) - SKILL[a] * SKILL[b] for a, b in combinations(range(5), 2) if groups[a] == groups[b]
    )
    return 5 * alone.sum() / (alone.sum() + 2 * same * together)


def assert_worth_is_covered(name, n_items, runs):
    truth, rng = exact_worth(**SHARED[name]), np.random.default_rng([len(name), n_items, 5])
    missed = 0
    for _ in range(runs):
        found = worth_by_gold(
            gold_of(simulate([0.5, 0.5], one_coin_crew(SKILL), n_items, 5, rng=rng, **SHARED[name])), 0.95
        )
        missed += not found.low - 1e-9 <= truth <= found.high + 1e-9
    print(f"{name}, {n_items} gold items: {missed} of {runs} intervals miss {truth:.2f}")
    assert lowest_rate(missed, runs, error=0.05 / 28) <= ALPHA  # 28 cells in all, each at its level and not below


@pytest.mark.parametrize("name", SHARED)
def test_the_interval_of_n_eff_covers(name):
    assert_worth_is_covered(name, 200, runs=60)


@pytest.mark.long
@pytest.mark.parametrize("n_items", [50, 100, 300, 3_000])
@pytest.mark.parametrize("name", SHARED)
def test_the_interval_of_n_eff_covers_at_the_level(name, n_items):
    assert_worth_is_covered(name, n_items, runs=1_000)


def test_a_pair_is_tested_as_by_mantel_and_haenszel():
    gold = gold_of(drawn("3", 200, 2))
    label_gj, class_g, _, _ = gold
    excess = variance = 0.0
    for k in (0, 1):
        a, b = (label_gj[class_g == k, j] == 0 for j in (0, 1))
        n, ones = len(a), (int(a.sum()), int(b.sum()))
        excess += (a & b).sum() - ones[0] * ones[1] / n
        variance += ones[0] * (n - ones[0]) * ones[1] * (n - ones[1]) / (n**2 * (n - 1))
    assert pair_tests(gold, [(0, 1)]).z_q[0] == pytest.approx(
        np.sign(excess) * max(abs(excess) - 0.5, 0) / np.sqrt(variance)
    )


def test_copies_count_as_items():
    votes, truth = drawn("5", 400, 2)
    merged = merge_equal_items(votes)
    gold, rows = gold_of((votes, truth)), merged.votes
    few = GoldItems(label_matrix(rows), rows.gold_i, merged.weight_p, 2)
    assert few.n_items == gold.n_items
    for one, other in zip(pair_tests(few, [(0, 1), (2, 4)]), pair_tests(gold, [(0, 1), (2, 4)]), strict=True):
        assert one == pytest.approx(other)
    assert worth_by_gold(few, 0.95).low == pytest.approx(worth_by_gold(gold, 0.95).low)


def test_votes_that_are_missing_are_left_out():
    gold = gold_of(drawn("5", 300, 3))
    label_gj = gold.label_gj.copy()
    label_gj[:150, 0] = NO_VOTE
    half = gold._replace(label_gj=label_gj)
    rest = gold._replace(label_gj=gold.label_gj[150:], class_g=gold.class_g[150:], copies_g=gold.copies_g[150:])
    assert pair_tests(half, [(0, 1)]).z_q == pytest.approx(pair_tests(rest, [(0, 1)]).z_q)
    assert worth_by_gold(half, 0.95).value <= 4.5


def panel_dependence(gold, n_workers=5, **how):
    crew = one_coin_crew([0.7, 0.75, 0.8, 0.85, 0.7][:n_workers])
    votes, _ = simulate([0.5, 0.5], crew, 2_000, n_workers, rng=4, gold=gold, **how)
    return dependence(votes, fit_panel(votes, None), rng=0)


def test_without_gold_the_worth_is_rough_and_has_no_interval():
    alone, known = panel_dependence(0.0, dependence=0.5), panel_dependence(0.2, dependence=0.5)
    assert (alone.truth, alone.n_eff.low, alone.n_eff.high) == ("estimated", None, None)
    assert "gold labels for 50 items" in alone.n_eff.reason
    assert known.truth == "gold"
    assert known.n_eff.low < 2.78 < known.n_eff.high < alone.n_eff.value
    assert known.gate == alone.gate  # the test is that of all votes


def test_too_few_gold_items_leave_it_rough():
    assert panel_dependence(0.02).truth == "estimated"


@pytest.mark.parametrize(("how", "passed"), [({}, True), ({"dependence": 0.6}, False)])
def test_three_judges_are_tested_by_gold(how, passed):
    votes, _ = simulate([0.5, 0.5], one_coin_crew([0.7, 0.75, 0.8]), 1_000, 3, rng=5, gold=0.3, **how)
    certificate = certify(votes, rng=0)
    assert certificate.dependence.gate.passed is passed
    assert "300 gold items" in certificate.dependence.gate.text
    assert (certificate.named.verdict == "void") is not passed


def test_judges_who_never_err_cannot_be_tested():
    votes, _ = simulate([0.5, 0.5], one_coin_crew([1.0, 1.0, 1.0]), 200, 3, rng=0, gold=1.0)
    found = dependence(votes, fit_panel(votes, None), rng=0)
    assert found.gate.passed is None
    assert found.n_eff.value is None
