"""The gold claim keeps its level for any distribution of truth given the counts, so with any dependence between votes.

A distribution (`law`) is a list of cells: the counts of an item's votes, how many gold items have them, and P(truth |
counts).  Given the counts, the gold labels of a cell are independent draws from it; where the votes come from does not
matter.
"""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, binom

from crowds import random_votes
from majorant.datasets import find, load, local_path
from majorant.errors import ConfigError
from majorant.evidence.certificate.gold import (
    GoldCells,
    best_p_values,
    claim_from_cells,
    gold_cells,
    gold_loss,
    more_gold,
    simes,
    worse_p_values,
)
from majorant.simulate import simulate
from majorant.votes import Votes
from needs import NO_DATA
from sizes import many

LEVEL, ALPHA = 0.9, 0.1  # a low level: failures are common enough to be counted


def gold_claim(votes, *, level=0.95):
    return claim_from_cells(gold_cells(votes), level=level)


def two_class(n_votes, right_by_lead, gold):
    """A distribution symmetric in the two classes: P(majority is right) by the number of votes of the majority."""
    cells = []
    for k in range(n_votes + 1):
        if 2 * k != n_votes:
            right = right_by_lead[max(k, n_votes - k)]
            cells.append(((k, n_votes - k), gold, (right, 1 - right) if 2 * k > n_votes else (1 - right, right)))
    return cells


def votes_of(law):
    """Votes with these counts; every item will be gold."""
    items_c = np.array([gold for _, gold, _ in law])
    label_n = [np.tile(np.repeat(np.arange(len(counts)), counts), gold) for counts, gold, _ in law]
    item_n = np.repeat(np.arange(items_c.sum()), np.repeat([sum(counts) for counts, _, _ in law], items_c))
    return Votes.from_codes(
        item_n,
        np.zeros(len(item_n), dtype=int),
        np.concatenate(label_n),
        items=range(items_c.sum()),
        workers="w",
        labels=range(len(law[0][0])),
    )


def gold_of(law, rng):
    """Gold labels for `votes_of(law)`, freshly drawn."""
    return np.concatenate([rng.choice(len(truth), gold, p=truth) for _, gold, truth in law]).astype(np.int32)


def draw_cells(counts_ck, gold_c, truth_ck, rng):
    gold_ck = [rng.multinomial(gold, truth) for gold, truth in zip(gold_c, truth_ck, strict=True)]
    return GoldCells(counts_ck, gold_c, np.array(gold_ck))


def rate_of(law, verdict, n_runs, rng):
    votes = votes_of(law)
    hits = sum(
        gold_claim(replace(votes, gold_i=gold_of(law, rng)), level=LEVEL).verdict == verdict for _ in range(n_runs)
    )
    assert beta.ppf(0.001, max(hits, 1), n_runs - hits + 1) <= ALPHA, f"{hits} of {n_runs}"
    return hits / n_runs


def loss_of(law):
    """On untied counts, as a share of all items."""
    items = sum(gold for _, gold, _ in law)
    untied = [one for one in law if one[0].count(max(one[0])) == 1]
    return sum(gold / items * (max(truth) - drawn(counts, truth)) for counts, gold, truth in untied)


def drawn(counts, truth):
    """How often a class drawn from those with the most votes is the truth."""
    return float(np.mean([p for n, p in zip(counts, truth, strict=True) if n == max(counts)]))


EVEN3 = [((3, 0, 0), 60, (0.9, 0.05, 0.05)), ((0, 3, 0), 60, (0.1, 0.8, 0.1)), ((1, 2, 0), 60, (0.4, 0.4, 0.2))]
NOT_OPTIMAL = {
    "boundary in both narrow cells": two_class(3, {3: 0.95, 2: 0.5}, 40),
    "boundary in one of ten": [*two_class(9, dict.fromkeys(range(5, 10), 0.95), 60)[:-1], ((9, 0), 60, (0.5, 0.5))],
    "few gold items": two_class(3, {3: 0.95, 2: 0.5}, 8),
    "uninformative": two_class(5, dict.fromkeys((3, 4, 5), 0.5), 30),
    "one class only": [(counts, gold, (1, 0)) for counts, gold, _ in two_class(3, {3: 1, 2: 1}, 30)],
    "three classes, one tie": EVEN3,
}
OPTIMAL = {
    "boundary in every cell": two_class(5, dict.fromkeys((3, 4, 5), 0.5), 40),
    "boundary in the narrow cells": two_class(3, {3: 0.9, 2: 0.5}, 100),
    "few gold items": two_class(9, dict.fromkeys(range(5, 10), 0.5), 6),
    "three classes, all even": [(counts, 50, (1 / 3, 1 / 3, 1 / 3)) for counts, _, _ in EVEN3],
    "three classes, one tie": EVEN3,
}


@pytest.mark.parametrize("name", NOT_OPTIMAL)
def test_proved_wrongly_no_more_often_than_promised(name):
    rate_of(NOT_OPTIMAL[name], "optimal", many(200, quick=60), np.random.default_rng(1))


@pytest.mark.parametrize("name", OPTIMAL)
def test_refuted_wrongly_no_more_often_than_promised(name):
    rate_of(OPTIMAL[name], "not optimal", many(200, quick=60), np.random.default_rng(2))


def random_law(rng, n_classes, ties=False):
    n_votes, n_cells = int(rng.integers(1, 8)), int(rng.integers(1, 12))
    law = {}
    while len(law) < n_cells:
        counts = tuple(int(n) for n in rng.multinomial(n_votes, np.ones(n_classes) / n_classes))
        if ties or counts.count(max(counts)) == 1:
            law[counts] = (counts, int(rng.integers(1, 60)), tuple(rng.dirichlet(np.ones(n_classes))))
        n_cells -= rng.random() < 0.05
    return list(law.values()) or random_law(rng, n_classes, ties)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_loss_interval_covers_the_loss(n_classes):
    rng = np.random.default_rng(n_classes)
    misses, n_runs = 0, many(400, quick=120)
    for _ in range(n_runs):
        law = random_law(rng, n_classes, ties=True)
        gold_ck = np.array([rng.multinomial(gold, truth) for _, gold, truth in law])
        cells = GoldCells(np.array([counts for counts, _, _ in law]), gold_ck.sum(axis=1), gold_ck)
        loss = gold_loss(cells, 0.8)
        assert loss.low <= loss.value <= loss.high
        misses += not loss.low - 1e-12 <= loss_of(law) <= loss.high + 1e-12
    assert misses <= binom.ppf(0.999, n_runs, 0.2)


def test_loss_interval_covers_where_it_is_narrowest():
    """One cell and two classes give the exact binomial interval, which must miss sometimes but not too often."""
    rng, law = np.random.default_rng(0), [((1, 2), 400, (0.6, 0.4))]
    ends = [
        gold_loss(GoldCells(np.array([[1, 2]]), np.array([400]), rng.multinomial(400, [0.6, 0.4])[None]), 0.5)
        for _ in range(500)
    ]
    misses = sum(not one.low <= loss_of(law) <= one.high for one in ends)
    assert 40 <= misses <= binom.ppf(0.999, 500, 0.5)


@pytest.mark.parametrize(
    "crowd",
    [
        {"concentration": 3.0},
        {"dependence": 0.8},
        {"dependence": 0.7, "n_workers": 5, "groups": "aaabb"},
        {"concentration": 2.0, "dependence": 0.5},
    ],
)
def test_votes_may_depend_on_each_other(crowd):
    """Majority is wrong where the rare class wins narrowly: never proved, nearly always refuted; loss covered."""
    model = {"prior": [0.9, 0.1], "confusion": [[0.7, 0.3], [0.1, 0.9]], "n_votes": 5, **crowd}
    truth = gold_cells(simulate(n_items=200_000, gold=1.0, rng=9, **model).votes)
    loss = float(truth.share_c @ ((truth.rival_c - truth.right_c).clip(0) / truth.gold_c))
    runs = many(40, quick=12)
    claims = [
        gold_claim(simulate(n_items=2_000, gold=0.5, rng=seed, **model).votes, level=LEVEL) for seed in range(runs)
    ]
    assert loss > 0.01
    assert all(claim.verdict != "optimal" for claim in claims)
    assert sum(claim.verdict == "not optimal" for claim in claims) >= 0.9 * runs
    assert sum(not claim.loss.low <= loss <= claim.loss.high for claim in claims) <= binom.ppf(0.999, runs, ALPHA)


def test_p_values_are_exact_sums():
    gold_ck = np.array([[7, 2, 1], [0, 4, 9], [3, 3, 3], [0, 0, 0]])
    cells = GoldCells(np.array([[2, 1, 0], [0, 2, 1], [0, 0, 3], [1, 0, 2]]), gold_ck.sum(axis=1), gold_ck)

    def tail(wins, losses):
        return Fraction(sum(comb(wins + losses, k) for k in range(wins, wins + losses + 1)), 2 ** (wins + losses))

    best = [max(tail(right, one) for one in others) for right, others in ((7, (2, 1)), (4, (0, 9)), (3, (3, 3)))]
    worse = [2 * min(tail(one, right) for one in others) for right, others in ((7, (2, 1)), (4, (0, 9)), (3, (3, 3)))]
    assert best_p_values(cells).tolist() == pytest.approx([*map(float, best), 1.0], rel=1e-12)
    assert worse_p_values(cells).tolist() == pytest.approx([min(1.0, float(p)) for p in worse] + [1.0], rel=1e-12)


def test_simes_keeps_its_level_and_beats_bonferroni():
    p_rc = np.random.default_rng(0).random((20_000, 6))
    assert np.mean([simes(p_c) <= ALPHA for p_c in p_rc]) == pytest.approx(ALPHA, abs=0.008)
    assert simes(np.array([0.02, 0.02, 0.02])) == pytest.approx(0.02)


def test_classes_and_items_may_be_renamed():
    votes, _ = simulate([0.7, 0.3], [[0.8, 0.2], [0.3, 0.7]], 400, ([1, 2, 3, 5], [1, 1, 1, 1]), rng=5, gold=0.6)
    swapped = replace(votes, label_n=1 - votes.label_n, gold_i=np.where(votes.gold_i < 0, -1, 1 - votes.gold_i))
    one, other = gold_claim(votes), gold_claim(swapped)
    for name in ("verdict", "certainty", "n_labels", "more_items", "accuracy"):
        assert getattr(one, name) == getattr(other, name), name
    assert (one.loss.value, one.loss.high) == pytest.approx((other.loss.value, other.loss.high))


def test_a_sound_crowd_is_proved_and_the_planned_gold_decides():
    law = two_class(3, {3: 0.95, 2: 0.65}, 20)
    counts_ck, gold_c, truth_ck = (np.array(column) for column in zip(*law, strict=True))
    more = more_gold(GoldCells(counts_ck, gold_c, np.array(gold_c[:, None] * truth_ck).round().astype(int)), 0.05)
    rng, decided = np.random.default_rng(0), 0
    for _ in range(200):
        gold_c = rng.multinomial(80 + more, np.full(4, 1 / 4))
        cells = draw_cells(counts_ck, gold_c, truth_ck, rng)
        decided += bool((best_p_values(cells) <= 0.05).all())
    assert 0.5 <= decided / 200 <= 0.95  # two cells are equally hard, each planned for .8


def test_missing_or_uninformative_gold():
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 50, 2, rng=0)
    assert gold_claim(votes).reason == "not identified"
    tied = Votes.from_codes([0, 0], [0, 1], [0, 1], items="a", workers="wx", labels="ny", gold=[0])
    claim = gold_claim(tied)
    assert (claim.verdict, claim.tied_share, claim.more_items) == ("open", 1.0, None)
    unasked = Votes.from_codes([0, 0], [0, 1], [0, 1], items="ab", workers="wx", labels="ny", gold=[-1, 0])
    assert gold_claim(unasked).reason == "not identified"
    alone = Votes.from_codes([0, 0], [0, 1], [0, 0], items="a", workers="wx", labels="n", gold=[0])
    assert gold_claim(alone).reason == "not identified"
    one_item = Votes.from_codes([0], [0], [0], items="a", workers="w", labels="ny", gold=[0])
    claim = gold_claim(one_item)
    assert (claim.verdict, claim.more_items is None or claim.more_items >= 1) == ("open", True)
    for level in (0, 0.5, 1, 1.5):
        with pytest.raises(ConfigError, match=r"level must lie between \.5 and 1"):
            gold_claim(votes, level=level)


def test_gold_only_where_it_does_not_count():
    """All gold items have a number of votes that is rare."""
    law = [*two_class(3, {3: 0.95, 2: 0.9}, 200), ((1, 0), 1, (1, 0))]
    gold_i = np.append(np.full(800, -1), 0).astype(np.int32)
    claim = gold_claim(replace(votes_of(law), gold_i=gold_i))
    assert (claim.verdict, claim.margin, claim.loss.high > 0.99) == ("open", None, True)
    assert claim.more_items > 5


def test_every_number_of_votes_may_be_rare():
    law = [((n, 0), 1, (1, 0)) for n in range(1, 151)]
    claim = gold_claim(replace(votes_of(law), gold_i=np.zeros(150, dtype=np.int32)))
    assert (claim.verdict, claim.reason) == ("open", "too few items")


@pytest.mark.parametrize("seed", range(20))
def test_every_input_gets_a_claim(seed):
    rng = np.random.default_rng(seed)
    votes = random_votes(rng, n_items=30, n_classes=int(rng.integers(2, 5)), n_votes=100, gold=True)
    claim = gold_claim(votes, level=float(rng.uniform(0.5, 0.999)))
    assert (claim.verdict == "open") == (claim.certainty is None) == (claim.reason is not None)
    assert 0 <= claim.loss.low <= claim.loss.value <= claim.loss.high <= 1


def test_a_rare_number_of_votes_does_not_enter_the_verdict():
    law = [*two_class(3, {3: 0.95, 2: 0.9}, 200), ((1, 0), 1, (0, 1))]
    claim = gold_claim(replace(votes_of(law), gold_i=gold_of(law, np.random.default_rng(0))))
    assert claim.verdict == "optimal"


def published(name):
    """The labels and the truth of each item, straight from the published files."""
    if any(local_path(file) is None for file in find(name).files) or not os.environ.get("MAJORANT_DATA"):
        pytest.skip(NO_DATA)
    folder, labels = Path(os.environ["MAJORANT_DATA"]), defaultdict(list)
    if name != "D-Product":
        with (folder / "active-crowd-toolkit" / f"{name}.csv").open(newline="") as lines:
            rows = [(row[1], int(row[2]), int(row[3])) for row in csv.reader(lines)]
        for item, label, _ in rows:
            labels[item].append(label)
        return labels, {item: gold for item, _, gold in rows}
    with (folder / "crowd-truth-inference" / "d_jn-product" / "label.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            labels[row["item"]].append(int(row["label"]))
    with (folder / "crowd-truth-inference" / "d_jn-product" / "truth.csv").open(newline="") as lines:
        return labels, {row["item"]: int(row["truth"]) for row in csv.DictReader(lines)}


def fair_tail(wins, n):
    """P(at least so many wins in n fair tosses), in whole numbers."""
    ways = total = comb(n, wins)
    for k in range(wins, n):
        ways = ways * (n - k) // (k + 1)
        total += ways
    return total / 2**n


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("SP", "open"), ("SP_amt", "open"), ("ZenCrowd_in", "not optimal"), ("D-Product", "not optimal")],
)
def test_real_sets_by_hand(name, verdict):
    """Two classes, gold on every item: each count of votes is a cell, tested with exact sums."""
    labels, truth = published(name)
    cells = defaultdict(lambda: [0, 0])  # (votes, votes for 1) -> items, of them those that are class 1
    for item, votes in labels.items():
        cells[len(votes), sum(votes)][0] += 1
        cells[len(votes), sum(votes)][1] += truth[item]
    total = sum(items for items, _ in cells.values())
    sizes = {n: sum(items for (m, _), (items, _) in cells.items() if m == n) for n, _ in cells}
    untied, right = [], 0.0
    for (n, ones), (items, of_1) in cells.items():
        good = of_1 if 2 * ones > n else items - of_1 if 2 * ones < n else items / 2
        right += good
        if sizes[n] >= 0.01 * total and 2 * ones != n:
            untied.append((items, good))
    p_optimal = max(fair_tail(good, items) for items, good in untied)
    against = sorted(fair_tail(items - good, items) for items, good in untied if items >= 5)  # 2**-5 <= .05
    p_not = min(min(len(against) * p / rank for rank, p in enumerate(against, 1)), 1.0)
    claim = gold_claim(load(name))
    by_hand = "optimal" if p_optimal <= 0.05 else "not optimal" if p_not <= 0.05 else "open"
    assert claim.verdict == by_hand == verdict
    assert claim.n_labels == total
    assert claim.accuracy == pytest.approx(right / total)


@pytest.mark.long
def test_the_level_over_many_distributions():
    """Random distributions, some of them on the boundary; 500 runs each."""
    rng = np.random.default_rng(11)
    proved, refuted = [], []
    for number in range(24):
        law = random_law(rng, 2 + number % 3)
        even = [(c, n, edge_of(c)) for c, n, _ in law]
        refuted.append(rate_of(even, "not optimal", 500, rng))
        safe = [
            (c, n, tuple(0.9 if k == np.argmax(c) else 0.1 / (len(c) - 1) for k in range(len(c)))) for c, n, _ in law
        ]
        proved.append(rate_of([even[0], *safe[1:]], "optimal", 500, rng))
    assert np.mean(proved) <= ALPHA
    assert np.mean(refuted) <= ALPHA


def edge_of(counts):
    """Majority's class and the next one are equally likely."""
    m = int(np.argmax(counts))
    return tuple(0.5 * (k in (m, (m + 1) % len(counts))) for k in range(len(counts)))
