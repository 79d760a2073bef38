"""Comparisons, climbs and suprema of split e-values, against theory, other code and brute search."""

from dataclasses import replace

import numpy as np
import pytest

from majorant.evidence.certificate import constrained_likelihood as search
from majorant.evidence.certificate import universal_inference as e_values
from majorant.evidence.certificate.certificate import Claim
from majorant.evidence.certificate.constrained_likelihood import (
    LogModels,
    ballot_comparisons,
    class_logs,
    climb,
    count_comparisons,
    em_step,
    likeliest,
    log_likelihood,
    margins,
    not_optimal,
    odds,
    optimal,
    panel_comparisons,
)
from majorant.evidence.certificate.count_models import contradictions, flatten, opposite, suprema
from majorant.evidence.certificate.design import WorkerSets
from majorant.evidence.certificate.universal_inference import (
    vote_table,
    weigh_comparisons,
    with_e_values,
)
from majorant.items import take_items
from majorant.simulate import simulate
from majorant.theory import crew_margin, majority_margin
from majorant.votes import Votes
from majorant.wording import SEARCH_FOUND
from sizes import many
from split_models import NOISE, crowd, one_coins, panel, pattern_chances

SKILLED = 0.6 * np.eye(3) + 0.4 / 3
KINDS = {
    "crowd": lambda: crowd(3, 3),
    "named": lambda: panel(2, 3, named=True),
    "panel": lambda: panel(2, 3, named=False),
}


def random_models(rng, table, size, mixing=(0.0, 0.9), spread=0.7):
    """Models of all kinds: any prior, voters from random to nearly always right, some beyond certainty."""
    n_classes, n_voters = table.n_classes, table.n_voters
    prior = rng.dirichlet(np.ones(n_classes), size=size)
    noise = rng.dirichlet(np.full(n_classes, spread), size=(size, n_classes, n_voters)) + 1e-12
    share = rng.uniform(*mixing, size=(size, 1, 1, 1))
    confusion = share * np.eye(n_classes)[:, None, :] + (1 - share) * noise / noise.sum(axis=3, keepdims=True)
    return LogModels(np.log(prior + 1e-12), np.log(confusion).reshape(size, n_classes, -1))


def drawn(kind, prior, confusion, n_items, seed=0):
    table, _, orders_p = kind
    chance_p = pattern_chances(table, orders_p, prior, confusion)
    return np.random.default_rng(seed).multinomial(n_items, chance_p).astype(float)


@pytest.mark.parametrize(("n_classes", "n_votes"), [(2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (3, 4), (3, 5), (4, 3)])
def test_close_counts_alone_tell_whether_majority_is_optimal(n_classes, n_votes):
    table, comparisons, _ = crowd(n_classes, n_votes)
    drawn_models = random_models(np.random.default_rng(n_votes), table, 300)
    smallest = odds(comparisons, class_logs(comparisons, drawn_models)).min(axis=1)
    exact = [
        majority_margin(np.exp(prior_k) / np.exp(prior_k).sum(), np.exp(table_kl), n_votes)
        for prior_k, table_kl in zip(*drawn_models, strict=True)
    ]
    assert 5 < np.sum(np.array(exact) > 0) < 290
    assert ((smallest > 0) == (np.array(exact) > 0)).all()


@pytest.mark.parametrize(("n_classes", "n_workers"), [(2, 3), (2, 4), (2, 5), (3, 3), (3, 4)])
def test_close_ballots_alone_tell_whether_majority_is_optimal(n_classes, n_workers):
    table, comparisons, _ = panel(n_classes, n_workers, named=True)
    drawn_models = random_models(np.random.default_rng(n_workers), table, 150, mixing=(0.4, 0.8), spread=10)
    smallest = odds(comparisons, class_logs(comparisons, drawn_models)).min(axis=1)
    confusion_bhkl = np.exp(drawn_models.log_table_bkf).reshape(-1, n_classes, n_workers, n_classes).swapaxes(1, 2)
    prior_bk = np.exp(drawn_models.log_prior_bk)
    exact = [crew_margin(prior_k / prior_k.sum(), crew) for prior_k, crew in zip(prior_bk, confusion_bhkl, strict=True)]
    assert 5 < np.sum(np.array(exact) > 0) < 145
    assert ((smallest > 0) == (np.array(exact) > 0)).all()


def test_a_panels_comparison_adds_up_its_ballots_and_worker_sets():
    sets = [WorkerSets(n_votes=2, worker_sh=np.array([[0, 1], [1, 2]]), items_s=np.array([30.0, 10.0]))]
    comparisons = panel_comparisons(2, 3, sets)
    crew = one_coins(0.9, 0.8, 0.6)
    [found] = odds(
        comparisons,
        class_logs(comparisons, LogModels(np.log([[0.3, 0.7]]), np.log(crew.swapaxes(0, 1).reshape(1, 2, -1)))),
    )
    right, wrong = 0.75 * 0.9 * 0.8 + 0.25 * 0.8 * 0.6, 0.75 * 0.1 * 0.2 + 0.25 * 0.2 * 0.4
    by_hand = {0: np.log(0.3 * right / (0.7 * wrong)), 1: np.log(0.7 * right / (0.3 * wrong))}
    assert len(comparisons) == 2
    np.testing.assert_allclose(found, [by_hand[c] for c in comparisons.winner_q])
    assert len(ballot_comparisons(2, 3, sets)) == 4  # two unanimous ballots of each set


@pytest.mark.parametrize("name", KINDS)
def test_climbs_rise_and_end_where_the_comparison_is_even(name):
    table, comparisons, _ = KINDS[name]()
    rng = np.random.default_rng(1)
    start, n = random_models(rng, table, 40), 40
    items_bp = rng.multinomial(400, np.full(len(table.votes_pf), 1 / len(table.votes_pf)), size=n).astype(float)
    some = comparisons.take(rng.integers(len(comparisons), size=n))
    now = em_step(table, items_bp, start, some)
    for _ in range(30):
        then = em_step(table, items_bp, now, some)
        assert np.abs(odds(some, class_logs(some, then))[np.arange(n), np.arange(n)]).max() < 1e-6
        if name != "panel":  # the moved ballots of a sum are those of the step before
            assert (log_likelihood(table, items_bp, then) >= log_likelihood(table, items_bp, now) - 1e-7).all()
        now = then
    _, value_b = climb(table, items_bp, start, some)
    assert (value_b >= log_likelihood(table, items_bp, now) - 0.05).mean() > 0.9


TABLES = {
    "clear": ([0.4, 0.3, 0.3], SKILLED, 2_000),
    "edge": ([0.65, 0.2, 0.15], NOISE[3], 2_000),
    "beyond": ([0.85, 0.1, 0.05], SKILLED, 1_000),
    "one class": ([1, 0, 0], NOISE[3], 500),
    "two classes": ([0.5, 0.5, 0], NOISE[3], 500),
    "nearly certain": ([0.4, 0.3, 0.3], 0.97 * np.eye(3) + 0.01, 400),
}
PANEL_TABLES = {
    "clear": ([0.5, 0.5], one_coins(0.75, 0.8, 0.8), 2_000),
    "unlike": ([0.5, 0.5], one_coins(0.6, 0.65, 0.9), 2_000),
    "skewed": ([0.85, 0.15], one_coins(0.7, 0.75, 0.8), 1_000),
    "one class": ([1, 0], one_coins(0.7, 0.75, 0.8), 500),
    "nearly certain": ([0.5, 0.5], one_coins(0.98, 0.99, 0.97), 300),
}
CASES = [("crowd", case) for case in TABLES]
CASES += [(name, case) for name in ("named", "panel") for case in PANEL_TABLES]


def table_of(name, case):
    kind = KINDS[name]()
    prior, confusion, n_items = (TABLES if name == "crowd" else PANEL_TABLES)[case]
    return kind, drawn(kind, prior, confusion, n_items)


def brute_start(rng, table, items_p, comparisons, wanted):
    """The best of many random models within a set, and what a random walk from it finds: slow, and knows no EM."""
    size = many(20_000, quick=8_000)
    models = random_models(rng, table, size)
    value = np.where(
        wanted(margins(comparisons, models)), log_likelihood(table, np.tile(items_p, (size, 1)), models), -np.inf
    )
    best, top = models.take(np.array([value.argmax()])), value.max()
    step = 0.5
    for _ in range(many(250, quick=100)):
        near = LogModels(*(part + step * rng.normal(size=(100, *part.shape[1:])) for part in best))
        near = normalised(near, table.n_classes)
        value = np.where(
            wanted(margins(comparisons, near)), log_likelihood(table, np.tile(items_p, (100, 1)), near), -np.inf
        )
        if value.max() > top:
            best, top = near.take(np.array([value.argmax()])), value.max()
        else:
            step = max(step * 0.95, 1e-4)
    return top  # fmt: skip


def normalised(models, n_classes):
    shaped = models.log_table_bkf.reshape(*models.log_prior_bk.shape, -1, n_classes)
    shaped = shaped - np.logaddexp.reduce(shaped, axis=3, keepdims=True)
    prior = models.log_prior_bk - np.logaddexp.reduce(models.log_prior_bk, axis=1, keepdims=True)
    return LogModels(prior, shaped.reshape(models.log_table_bkf.shape))


@pytest.mark.parametrize(("name", "case"), CASES)
def test_no_random_search_finds_a_likelier_model(name, case):
    (table, comparisons, _), items_p = table_of(name, case)
    rng = np.random.default_rng(7)
    null, where = not_optimal(table, items_p[None], comparisons)
    assert np.isclose(log_likelihood(table, items_p[None], where)[0], null[0])
    assert margins(comparisons, where)[0] <= 1e-6
    assert brute_start(rng, table, items_p, comparisons, lambda m: m <= 0) <= null[0] + 0.02
    top, top_b = likeliest(table, items_p[None])
    best = max(optimal(table, items_p, comparisons, top, share) for share in (0.0, 0.5, 1.0))
    assert best <= top_b[0] + 1e-6
    assert brute_start(rng, table, items_p, comparisons, lambda m: m >= 0) <= best + 0.02


@pytest.mark.long
@pytest.mark.parametrize(("name", "case"), CASES)
def test_differential_evolution_finds_no_likelier_model(name, case):
    from scipy.optimize import differential_evolution

    (table, comparisons, _), items_p = table_of(name, case)
    n_classes, n_features = table.n_classes, table.votes_pf.shape[1]

    def loss(logit_xs):
        models = normalised(
            LogModels(logit_xs[:n_classes].T.copy(), logit_xs[n_classes:].T.reshape(-1, n_classes, n_features)),
            n_classes,
        )
        margin = margins(comparisons, models)
        value = log_likelihood(table, np.tile(items_p, (len(margin), 1)), models)
        return np.where(margin <= 0, -value, 1e7 * (1 + margin))

    found = differential_evolution(
        loss, [(-12, 12)] * (n_classes + n_classes * n_features), vectorized=True, updating="deferred",
        maxiter=1_500, popsize=8, rng=0, tol=1e-10, polish=False,
    )  # fmt: skip
    assert -found.fun <= not_optimal(table, items_p[None], comparisons)[0][0] + 0.02


@pytest.mark.long
@pytest.mark.parametrize(("name", "case"), CASES)
def test_many_more_starts_find_no_likelier_model(name, case, monkeypatch):
    (table, comparisons, _), items_p = table_of(name, case)
    few = not_optimal(table, items_p[None], comparisons)[0][0]
    for constant, value in (("N_RANDOM", 60), ("KEPT", 300), ("SHORT_CLIMB", 20), ("STARTS_SEED", 1)):
        monkeypatch.setattr(search, constant, value)
    assert not_optimal(table, items_p[None], comparisons)[0][0] <= few + 0.02


@pytest.mark.parametrize("n_votes", [3, 4, 5])
def test_two_classes_agree_with_the_search_over_histograms(n_votes):
    table, comparisons, orders_p = crowd(2, n_votes)
    rng = np.random.default_rng(n_votes)
    models = [([0.6, 0.4], [[0.8, 0.2], [0.25, 0.75]]), ([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]]),
              ([0.9, 0.1], [[0.7, 0.3], [0.3, 0.7]]), ([1, 0], [[0.7, 0.3], [0.3, 0.7]])]  # fmt: skip
    items_bp = np.array([rng.multinomial(900, pattern_chances(table, orders_p, *one)) for one in models], dtype=float)
    items_bp = np.concatenate([items_bp, [np.where((table.votes_pf == 0).any(axis=1), 450.0, 0)]])  # unanimous
    cells, _ = flatten({n_votes: np.zeros(n_votes + 1)})
    by_zeros_bc = items_bp[:, np.argsort(table.votes_pf[:, 0])]
    value_bs, _ = suprema(cells, by_zeros_bc, contradictions([n_votes]))
    np.testing.assert_allclose(not_optimal(table, items_bp, comparisons)[0], value_bs.max(axis=1), atol=0.02)
    within_bs, _ = suprema(cells, by_zeros_bc, opposite(contradictions([n_votes])))
    top, _ = likeliest(table, items_bp)
    for b in (1, 2):  # optimal, and beyond one side only
        best = max(
            optimal(table, items_bp[b], comparisons, top.take(np.array([b])), share) for share in (0.0, 0.5, 1.0)
        )
        assert np.isclose(best, within_bs[b].min(), atol=0.02)


def test_votes_that_never_differ_certify_nothing():
    for kind in (crowd(3, 3), panel(2, 3, named=True)):
        table, comparisons, _ = kind
        unanimous = np.sort(table.votes_pf.reshape(len(table.votes_pf), -1, table.n_classes).sum(axis=1))[:, -1] == 3
        items_p = np.where(unanimous, 2_500.0, 0.0)
        found = weigh_comparisons(table, items_p, comparisons, np.random.default_rng(0))
        assert found.log_e < np.log(20)
        assert found.ratio < 0.05
        assert found.log_against < np.log(20)


def test_more_comparisons_never_raise_the_e_value():
    table, comparisons, _ = KINDS["crowd"]()
    items_bp = np.array([drawn(KINDS["crowd"](), *TABLES[case]) for case in ("clear", "edge")])
    few = not_optimal(table, items_bp, comparisons.take(np.arange(len(comparisons) // 2)))[0]
    assert (not_optimal(table, items_bp, comparisons)[0] >= few - 1e-6).all()
    both = not_optimal(table, items_bp, count_comparisons(3, [3, 5]))[0]
    assert (both >= not_optimal(table, items_bp, comparisons)[0] - 1e-3).all()


def claim(kind, model_name):
    return Claim(kind=kind, verdict="supported", why="", margin=1.0, model=model_name, evidence={"margin low": 0.5})


def test_claims_gain_evidence_and_keep_their_verdict():
    votes = simulate([0.4, 0.3, 0.3], SKILLED, 2_000, 5, rng=0).votes
    found = with_e_values(claim("anonymous", "independent votes"), votes, level=0.95, rng=np.random.default_rng(0))
    table, items_p = vote_table(votes, named=False)
    again = weigh_comparisons(table, items_p, count_comparisons(3, [5]), np.random.default_rng(0))
    assert found.evidence["e_value"] == pytest.approx(np.exp(again.log_e))
    assert found.evidence["margin low"] == 0.5
    assert (found.verdict, found.assumptions) == ("supported", (SEARCH_FOUND,))


def test_a_panels_claims_are_weighed_by_ballots_of_its_common_sets():
    one = simulate([0.5, 0.5], one_coins(0.8, 0.8, 0.8), 3_000, 3, rng=0).votes
    named, anonymous = (
        with_e_values(claim(kind, "named workers"), one, level=0.95, rng=np.random.default_rng(0))
        for kind in ("named", "anonymous")
    )
    assert named.evidence["likelihood_ratio"] < anonymous.evidence["likelihood_ratio"]  # more rules to beat
    table, items_p = vote_table(one, named=True)
    assert table.votes_pf.shape == (8, 6)
    assert items_p.sum() == 3_000


def test_an_overwhelming_e_value_refutes_what_the_bootstrap_leaves_open(monkeypatch):
    votes = simulate([0.5, 0.5], one_coins(0.55, 0.6, 0.6, 0.7, 0.95), 3_000, 5, rng=0).votes
    left_open = replace(claim("named", "named workers"), verdict="undecided", by_votes={5: "undecided"}, more_items=9)
    found = with_e_values(left_open, votes, level=0.95, rng=np.random.default_rng(0))
    assert found.evidence["e_value_against"] >= 1_000
    assert (found.verdict, dict(found.by_votes), found.more_items) == ("refuted", {5: "refuted"}, None)
    assert "refuted" in found.why
    supported = with_e_values(claim("named", "named workers"), votes, level=0.95, rng=np.random.default_rng(0))
    monkeypatch.setattr(e_values, "REFUTING", found.evidence["e_value_against"])
    unmoved = with_e_values(left_open, votes, level=0.95, rng=np.random.default_rng(0))
    assert (unmoved.verdict, supported.verdict) == ("undecided", "supported")


def test_too_many_patterns_or_classes_leave_a_claim_as_it_was():
    many = simulate([0.25] * 4, 0.6 * np.eye(4) + 0.1, 300, 9, rng=0).votes
    five = simulate([0.2] * 5, 0.5 * np.eye(5) + 0.1, 300, 3, rng=0).votes
    for votes in (many, five):
        before = claim("anonymous", "independent votes")
        assert with_e_values(before, votes, level=0.95, rng=np.random.default_rng(0)) is before
    unknown = Claim(kind="anonymous", verdict="unidentified", why="", model="independent votes")
    assert with_e_values(unknown, five, level=0.95, rng=np.random.default_rng(0)) is unknown


def crews(n_crews, size, n_items=3_000):
    """Votes of crews that share no worker, each on items of its own."""
    each = n_items // n_crews
    parts = [simulate([0.5, 0.5], one_coins(*[0.8] * size), each, size, rng=crew).votes for crew in range(n_crews)]
    item_n, worker_n, label_n = (
        np.concatenate([getattr(part, name) + step * crew for crew, part in enumerate(parts)])
        for name, step in (("item_n", each), ("worker_n", size), ("label_n", 0))
    )
    names = {"items": range(n_crews * each), "workers": range(n_crews * size), "labels": "ny"}
    return Votes.from_codes(item_n, worker_n, label_n, **names)


@pytest.mark.parametrize(("n_crews", "size"), [(12, 5), (2, 3)])
def test_a_panel_of_separate_crews_comes_without_e_values(n_crews, size):
    before = claim("anonymous", "named workers")
    assert with_e_values(before, crews(n_crews, size), level=0.95, rng=np.random.default_rng(0)) is before


def test_shared_items_link_workers():
    votes = Votes.from_codes([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 3, 4], [0] * 6, items="abc", workers="uvwxyz", labels="n")
    assert not e_values._linked(votes)
    assert e_values._linked(take_items(votes, np.array([0, 1])))


@pytest.mark.parametrize(
    ("n_crews", "size", "summed", "cells"),
    [(12, 5, 6 * 120 * 120, 240), (4, 5, 6 * 40 * 40, 80), (20, 2, 2 * 20 * 80, 160), (2, 8, 8 * 112 * 32, 64),
     (3, 5, 6 * 30 * 30, 60), (6, 3, 4 * 18 * 36, 72), (1, 8, 8 * 56 * 16, 32)],
)  # fmt: skip
def test_the_limit_counts_the_ballots_and_voters_of_all_crews(n_crews, size, summed, cells):
    votes = crews(n_crews, size)
    comparisons = e_values._comparisons(claim("anonymous", "named workers"), votes, np.ones(len(votes.items)))
    table, _ = vote_table(votes, named=True)
    assert comparisons.ballot_qrf.size == summed
    assert table.n_classes * table.votes_pf.shape[1] == cells
    assert (
        len(comparisons) * max(table.votes_pf.shape) <= e_values.MOST_COMPARED
    )  # which alone would let all of them through
    assert e_values._is_quick(table, comparisons) == (summed <= 25_000 and cells <= 75)


@pytest.mark.parametrize(
    ("kind", "quick"),
    [(crowd(3, 11), True), (crowd(4, 5), True), (panel(2, 6, named=True), True), (panel(3, 3, named=True), True),
     (panel(2, 8, named=False), True), (panel(2, 7, named=True), False), (crowd(4, 7), False)],
)  # fmt: skip
def test_one_crew_is_weighed_up_to_the_limits_of_the_documentation(kind, quick):
    table, comparisons, _ = kind
    assert e_values._is_quick(table, comparisons) is quick
