"""Errata found while reproducing the tables; numbers as in paper/errata.md."""

import numpy as np
import pytest

from majorant.methods.agreement_weights import IWMV
from majorant.methods.bwa import BWA
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.glad import GLAD
from majorant.methods.iaa import IAA
from majorant.methods.majority import Majority
from majorant.simulate import simulate
from majorant.theory import paper
from oracles import paper as oracle
from paper import estimates
from paper.printed import printed
from paper.sets import without_copies
from paper.table2_real import score_by_row_number
from real import load

SYNTHETIC = {"alpha": (0.2, 0.7, 0.7), "beta": (0.5, 0.9, 0.9), "gamma": (0.3, 0.6, 0.75), "delta": (0.9, 0.6, 0.9)}


def draw(name, seed):
    """Three alike workers on 10,000 items, and the truth."""
    return simulate(*oracle.model(*SYNTHETIC[name]), 10_000, 3, n_workers=3, rng=seed)


def score(fit, truth):
    return np.mean(fit.codes("first") == truth)


def test_27_the_released_list_of_matrices_does_not_give_row_3():
    def z(confusion):
        rate = np.array([0.9, 0.1]) @ paper.lemma_3_1(confusion, 3)
        return (0.720 - rate) / np.sqrt(rate * (1 - rate) / 20_000)

    assert abs(z([[0.65, 0.35], [0.35, 0.65]])) < 1
    assert z([[0.65, 0.35], [0.65, 0.35]]) > 13


@pytest.mark.parametrize(("method", "expected"), [("IWMV", (0.410, 0.783)), ("IAA", (0.4275, 0.6705))])
def test_31_the_limits_of_iwmv_and_iaa_say_optimal_where_majority_is_not(method, expected):
    model = oracle.model(0.65, 0.55, 0.8)
    assert oracle.margin(0.65, 0.55, 0.8, 3) < -0.4
    found = estimates.limit(method, *model)
    assert (found.prior_0, found.accuracy_0) == pytest.approx(expected, abs=5e-4)
    assert found.accuracy_0 == pytest.approx(found.accuracy_1, abs=1e-12)
    assert oracle.margin(found.prior_0, found.accuracy_0, found.accuracy_1, 3) > 0.1
    votes, _ = simulate(*model, 100_000, 3, n_workers=3, rng=31)  # and the limit is where many items lead
    fit = {"IWMV": IWMV, "IAA": IAA}[method]().fit(votes)
    assert fit.confusion[0, 0] == pytest.approx(found.accuracy_0, abs=0.004)


def test_31_normalising_columns_also_makes_ebcc_symmetric():
    left = estimates.column_normalised(estimates.Estimate(0.37, 0.60, 0.76))
    assert (left.accuracy_0, left.accuracy_1) == pytest.approx((0.69, 0.68), abs=0.005)


def test_32_scoring_by_row_number_gives_the_printed_numbers():
    """Where ids are numbers, to a few items; where they are texts and copies abound (ZC_in), at the same level."""
    table, apart = printed("table2-real")["accuracy"], {}
    for name, data in {"SP": "SP", "SP_amt": "SP_amt", "ZC_in": "ZenCrowd_in", "MS": "MS", "CF_amt": "CF_amt"}.items():
        votes = without_copies(load(data))
        for method, estimator in (("DS", DawidSkene(smoothing=1e-10, min_rise=None)), ("GLAD", GLAD(min_rise=None))):
            code_i = estimator.fit(votes).codes("first")
            apart[name, method] = score_by_row_number(votes, code_i) - table[method][name]
            assert np.mean(code_i == votes.gold_i) > table[method][name] + 0.15
    assert max(abs(value) for (name, _), value in apart.items() if name != "ZC_in") < 0.005
    assert max(abs(value) for value in apart.values()) < 0.02
    assert round(apart["SP_amt", "DS"], 6) == round(apart["SP_amt", "GLAD"], 6) == 0  # .632 and .630 are far from .5


@pytest.mark.parametrize("name", SYNTHETIC)
def test_40_iwmv_on_three_identical_workers_is_majority_vote(name):
    for seed in range(5):
        votes, _ = draw(name, seed)
        np.testing.assert_array_equal(IWMV().fit(votes).codes("first"), Majority().fit(votes).codes("first"))
    rate = np.array([0.2, 0.8]) @ paper.lemma_3_1(oracle.model(0.2, 0.7, 0.7)[1], 3)
    assert (0.807 - rate) / np.sqrt(rate * (1 - rate) / 10_000) > 5


@pytest.mark.parametrize(("name", "one_worker"), [("alpha", 0.7), ("beta", 0.9), ("gamma", 0.705), ("delta", 0.63)])
def test_41_bwa_on_three_identical_workers_follows_one_of_them(name, one_worker):
    for seed in range(3):
        votes, truth = draw(name, seed)
        fit, early = BWA().fit(votes), BWA(max_iter=10, accelerate=False).fit(votes)
        assert np.sort(fit.skill)[-1] > 100 * np.sort(fit.skill)[-2]
        assert score(fit, truth) == pytest.approx(one_worker, abs=0.02)
        assert score(early, truth) == score(Majority().fit(votes), truth)


def test_41_the_printed_901_is_the_share_of_class_0():
    assert abs(0.901 - 0.9) / np.sqrt(0.9 * 0.1 / 10_000) < 1


@pytest.mark.parametrize(("name", "was", "best"), [("alpha", 0.802, 0.847), ("delta", 0.831, 0.9153)])
def test_42_dawid_skene_run_to_convergence_is_near_the_optimum(name, was, best):
    early, late = [], []
    for seed in (0, 1, 8, 9):
        votes, truth = draw(name, seed)
        stopped = DawidSkene(smoothing=1e-10, min_rise=None, max_iter=100, tol=1e-5, accelerate=False).fit(votes)
        early.append(score(stopped, truth))
        late.append(score(DawidSkene(smoothing=1e-10, min_rise=None).fit(votes), truth))
    assert min(early) < was < max(early)
    assert min(late) > was + 0.03
    assert np.mean(late) == pytest.approx(best, abs=0.012)


@pytest.mark.parametrize(
    ("method", "truth", "n_items", "was"),
    [("IWMV", (0.65, 0.55, 0.8), 250, (0.54, 0.71)), ("IAA", (0.9, 0.65, 0.65), 2_000, (0.98, 0.75))],
)
def test_43_estimates_of_rows_1_and_3_do_not_match_iwmv_and_iaa(method, truth, n_items, was):
    drawn = []
    for seed in range(200):
        votes, _ = simulate(*oracle.model(*truth), n_items, 3, n_workers=3, rng=seed)
        found = estimates.estimate(method, estimates.ESTIMATED[method].fit(votes))
        drawn.append((found.prior_0, found.accuracy_0))
    z = np.abs(np.array(was) - np.mean(drawn, axis=0)) / np.std(drawn, axis=0)
    assert z[0] > 3.5
    assert z[1] > 5
    assert (np.abs(np.array(drawn) - was) > 0.02).all(axis=1).mean() > 0.99
