"""On gold items: independent workers pass at the level, and the interval of n_eff holds under any dependence."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from guarantees.levels import ALPHA, lowest_rate
from majorant.evidence.certificate.claims import certify
from majorant.evidence.certificate.dependence import (
    dependence,
    effective_panel_size,
    gold_items,
    label_matrix,
    pair_tests,
)
from majorant.simulate import one_coin_workers, simulate
from majorant.values import Missing
from panels import fit_panel, gold_of
from sizes import many

PANELS = {
    "3": ([0.5, 0.5], [0.7, 0.8, 0.9]),
    "3 good, skewed": ([0.8, 0.2], [0.9, 0.95, 0.97]),
    "5": ([0.5, 0.5], [0.6, 0.65, 0.7, 0.8, 0.9]),
    "4 of 3 classes": ([0.3, 0.3, 0.4], [0.6, 0.7, 0.8, 0.85]),
    "5 very good": ([0.5, 0.5], [0.98, 0.98, 0.99, 0.99, 0.99]),
    "3 very good, 6 classes": ([0.5, 0.2, 0.1, 0.1, 0.05, 0.05], [0.97, 0.98, 0.99]),
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
SKILLS = {"": np.array([0.7, 0.7, 0.75, 0.8, 0.85]), "very good": np.array([0.95, 0.96, 0.97, 0.98, 0.99])}


def drawn(name, n_items, rng):
    prior, skill = PANELS[name]
    return simulate(prior, one_coin_workers(skill, len(prior)), n_items, len(skill), rng=rng, gold=1.0)


def gold_gate(simulated):
    """The gate by gold alone: as where votes cannot test it."""
    gold = gold_of(simulated)
    pairs = list(combinations(range(gold.label_gj.shape[1]), 2))
    z_q = pair_tests(gold, pairs).z_q
    return z_q[np.isfinite(z_q)]


def assert_independent_panels_pass(name, n_items, runs):
    rng = np.random.default_rng([len(name), n_items])
    found = [gold_gate(drawn(name, n_items, rng)) for _ in range(runs)]
    refused = sum(z_q @ z_q > chi2.isf(ALPHA, len(z_q)) for z_q in found if len(z_q))
    print(f"{name}, {n_items} gold items: {refused} of {runs} refused")
    assert lowest_rate(refused, runs) <= ALPHA


@pytest.mark.parametrize("name", PANELS)
def test_independent_panels_pass(name):
    assert_independent_panels_pass(name, 100, runs=many(60, quick=20))


@pytest.mark.long
@pytest.mark.parametrize("n_items", [50, 100, 300, 3_000])
@pytest.mark.parametrize("name", PANELS)
def test_independent_panels_pass_at_the_level(name, n_items):
    assert_independent_panels_pass(name, n_items, runs=2_000)


def exact_worth(skill_j, dependence=0.0, groups="aaaaa", concentration=None):
    """By hand: given the class, two votes are the same draw with a probability s, and then right together."""
    same = dependence**2 + (0 if concentration is None else (1 - dependence**2) / (1 + concentration))
    alone = skill_j * (1 - skill_j)
    together = sum(
        min(skill_j[a], skill_j[b]) - skill_j[a] * skill_j[b]
        for a, b in combinations(range(5), 2)
        if groups[a] == groups[b]
    )
    return 5 * alone.sum() / (alone.sum() + 2 * same * together)


def assert_worth_is_covered(skill, name, n_items, runs):
    skill_j, rng = SKILLS[skill], np.random.default_rng([len(name), n_items, 5])
    truth, missed = exact_worth(skill_j, **SHARED[name]), 0
    for _ in range(runs):
        found = effective_panel_size(
            gold_of(simulate([0.5, 0.5], one_coin_workers(skill_j), n_items, 5, rng=rng, **SHARED[name])), 0.95
        )
        missed += found.value is not None and not found.low - 1e-9 <= truth <= found.high + 1e-9
    print(f"{skill} {name}, {n_items} gold items: {missed} of {runs} intervals miss {truth:.2f}")
    assert lowest_rate(missed, runs, error=0.05 / 56) <= ALPHA  # 56 cells in all, each at its level and not below


@pytest.mark.parametrize("skill", SKILLS)
@pytest.mark.parametrize("name", SHARED)
def test_the_interval_of_n_eff_covers(name, skill):
    assert_worth_is_covered(skill, name, 200 if skill == "" else 50, runs=many(60, quick=20))


@pytest.mark.long
@pytest.mark.parametrize("n_items", [50, 100, 300, 3_000])
@pytest.mark.parametrize("skill", SKILLS)
@pytest.mark.parametrize("name", SHARED)
def test_the_interval_of_n_eff_covers_at_the_level(name, skill, n_items):
    assert_worth_is_covered(skill, name, n_items, runs=1_000)


def panel_dependence(gold, n_workers=5, **how):
    crew = one_coin_workers([0.7, 0.75, 0.8, 0.85, 0.7][:n_workers])
    votes, _ = simulate([0.5, 0.5], crew, 2_000, n_workers, rng=4, gold=gold, **how)
    return dependence(votes, fit_panel(votes, None), rng=0)


def test_without_gold_effective_number_has_no_interval():
    alone, known = panel_dependence(0.0, dependence=0.5), panel_dependence(0.2, dependence=0.5)
    assert (alone.truth, alone.n_eff.low, alone.n_eff.high) == ("estimated", None, None)
    assert alone.n_eff.reason is Missing.GOLD_FOR_INTERVAL
    assert known.truth == "gold"
    assert known.n_eff.low < 2.78 < known.n_eff.high < alone.n_eff.value
    assert known.tested == alone.tested  # the test is that of all votes


def test_too_few_gold_items_give_no_interval():
    assert panel_dependence(0.02).truth == "estimated"


@pytest.mark.parametrize(("how", "status"), [({}, "passed"), ({"dependence": 0.6}, "failed")])
def test_three_judges_are_tested_by_gold(how, status):
    votes, _ = simulate([0.5, 0.5], one_coin_workers([0.7, 0.75, 0.8]), 1_000, 3, rng=5, gold=0.3, **how)
    certificate = certify(votes, rng=0)
    assert certificate.dependence.tested.status == status
    gold = gold_items(label_matrix(votes), votes.gold_i, np.ones(1_000), 2)
    z_q = pair_tests(gold, [(0, 1), (0, 2), (1, 2)]).z_q
    assert certificate.dependence.tested.p_value == pytest.approx(chi2.sf((z_q**2).sum(), 3))
    assert (certificate.named.reason == "assumption failed") == (status == "failed")


def test_a_judge_who_never_errs_is_in_no_pair():
    votes, _ = simulate([0.5, 0.5], one_coin_workers([1.0, 0.8, 0.7]), 300, 3, rng=0, gold=1.0)
    found = dependence(votes, fit_panel(votes, None), rng=0)
    assert [set(pair.workers) for pair in found.pairs] == [set(votes.workers[1:])]


def test_judges_who_never_err_cannot_be_tested():
    votes, _ = simulate([0.5, 0.5], one_coin_workers([1.0, 1.0, 1.0]), 200, 3, rng=0, gold=1.0)
    found = dependence(votes, fit_panel(votes, None), rng=0)
    assert found.tested.status == "untestable"
    assert found.n_eff.value is None
