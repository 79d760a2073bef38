"""Ranking systems: decided pairs, tiers, and what is refused."""

from itertools import combinations

import numpy as np
import pytest

import majorant as mj
from majorant.ask.at_n import CrossFit, Residuals, _numbers_of_equal_pairs, reject
from majorant.ask.rate import Features
from majorant.errors import ConfigError, DataError
from majorant.results.rank import rank

RATES = {"a": 0.85, "b": 0.6, "c": 0.58, "d": 0.3}


def simulated(rng, rates=RATES, n_questions=300, judges=4, accuracy=0.8):
    """Rows of judges' votes on every system's answers, and the truth by item."""
    ease = rng.normal(0, 0.15, n_questions)
    truth = {
        (q, s): bool(rng.random() < np.clip(rate + ease[q], 0, 1))
        for q in range(n_questions)
        for s, rate in rates.items()
    }
    rows = {"item": [], "question": [], "system": [], "judge": [], "label": []}
    for (q, s), right in truth.items():
        for j in range(judges):
            said = right if rng.random() < accuracy else not right
            for column, value in zip(rows, (f"{s}-{q}", f"q{q}", s, f"j{j}", "pass" if said else "fail"), strict=True):
                rows[column].append(value)
    return rows, {f"{s}-{q}": "pass" if right else "fail" for (q, s), right in truth.items()}


def of_questions(gold, questions):
    return {item: label for item, label in gold.items() if int(item.split("-")[1]) in questions}


@pytest.fixture(scope="module")
def frame():
    return simulated(np.random.default_rng(0))


READ = {"by": "system", "pair": "question", "label": "pass", "item": "item", "worker": "judge", "label_column": "label"}


def test_labels_separate_systems_and_leave_equal_ones_together(frame):
    rows, gold = frame
    ranking = rank(rows, of_questions(gold, set(range(60))), **READ)
    assert ranking.tiers == (("a",), ("b", "c"), ("d",)) or ranking.tiers == (("a",), ("c", "b"), ("d",))
    assert ranking.paired
    assert (ranking.units, ranking.n_units, ranking.labels) == (60, 300, 240)
    assert ranking.decided == 5
    for pair in ranking.pairs:
        assert pair.difference >= 0
        assert pair.decided == (pair.low >= 0 and pair.low < pair.difference)
    assert [(one.first, one.last) for one in ranking.systems] == [(1, 1), (2, 3), (2, 3), (4, 4)]


def test_items_named_by_question_and_system_are_paired(frame):
    rows, gold = frame
    named = {name: column for name, column in rows.items() if name != "item"}
    by_name = {(f"q{item.split('-')[1]}", item[0]): label for item, label in of_questions(gold, set(range(40))).items()}
    found = rank(named, by_name, **{**READ, "pair": None, "item": "question,system"})
    assert found.paired
    assert found.units == 40


def test_every_label_gives_exact_rates(frame):
    rows, gold = frame
    ranking = rank(rows, gold, **READ)
    for one in ranking.systems:
        own = [label == "pass" for item, label in gold.items() if item.startswith(f"{one.name}-")]
        assert one.value == pytest.approx(np.mean(own))
        assert one.low < one.value < one.high  # these questions are a sample of others


def test_without_labels_only_the_judges_ranks_are_shown(frame):
    ranking = rank(frame[0], **READ)
    assert not ranking.pairs
    assert ranking.tiers == ()
    assert [one.value for one in ranking.systems] == [None] * 4
    assert ranking.systems[0].name == "a"
    assert "no labels" in repr(ranking) or "without labels" in repr(ranking)


def test_unpaired_items_are_compared_as_two_samples(frame):
    rows, gold = frame
    rng = np.random.default_rng(1)
    some = {item: gold[item] for item in rng.permutation(list(gold))[:240]}
    ranking = rank(rows, some, **{**READ, "pair": None})
    assert not ranking.paired
    assert {"a", "d"} <= {name for tier in ranking.tiers for name in tier}
    assert any(pair.decided for pair in ranking.pairs if {pair.a, pair.b} == {"a", "d"})


def test_scores_are_ranked_by_their_mean():
    rng = np.random.default_rng(3)
    truth = {(q, s): int(np.clip(rng.normal(m, 1), 1, 5)) for q in range(120) for s, m in (("x", 2.2), ("y", 4))}
    rows = [
        {"item": f"{q},{s}", "system": s, "judge": j, "label": int(np.clip(score + rng.integers(-1, 2), 1, 5))}
        for (q, s), score in truth.items()
        for j in "abc"
    ]
    gold = {f"{q},{s}": truth[q, s] for q in range(40) for s in "xy"}
    ranking = rank(rows, gold, by="system", item="item", worker="judge", label_column="label")
    assert ranking.tiers == (("y",), ("x",))
    assert 1 < ranking.pairs[0].difference < 3


@pytest.mark.parametrize(
    ("change", "gold_questions", "said"),
    [
        ({}, range(12), "at least 20 questions"),
        ({"by": None}, range(40), "by="),
        ({"by": "judge"}, range(40), "system|slice|one|judge"),
    ],
)
def test_what_cannot_be_ranked_is_refused_in_one_sentence(frame, change, gold_questions, said):
    rows, gold = frame
    with pytest.raises((ConfigError, DataError), match=said):
        rank(rows, of_questions(gold, set(gold_questions)), **{**READ, **change})


def test_one_system_and_a_system_without_labels_are_refused(frame):
    rows, gold = frame
    one = {**rows, "system": ["a"] * len(rows["item"])}
    with pytest.raises(DataError, match="at least two"):
        rank(one, of_questions(gold, set(range(40))), **READ)
    without = {item: label for item, label in of_questions(gold, set(range(40))).items() if not item.startswith("d-")}
    with pytest.raises(DataError, match="No label for d"):
        rank(rows, without, **READ)


def test_votes_read_before_need_their_systems(frame):
    votes = mj.read([("a", "j", "pass"), ("b", "j", "fail")])
    with pytest.raises(ConfigError, match="by="):
        rank(votes)


def test_holm_equals_its_definition():
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.random(6) ** 3
        kept, rejected = sorted(range(6), key=lambda c: p[c]), set()
        for step, c in enumerate(kept):
            if p[c] > 0.05 / (6 - step):
                break
            rejected.add(c)
        assert set(np.flatnonzero(reject(p, 0.05))) == rejected


def test_shaffers_steps_count_the_pairs_that_can_still_be_equal():
    def partitions(systems):
        if not systems:
            yield []
            return
        first, *rest = systems
        for groups in partitions(rest):
            yield [[first], *groups]
            for n, group in enumerate(groups):
                yield [*groups[:n], [first, *group], *groups[n + 1 :]]

    for systems in range(2, 8):
        by_hand = {sum(len(g) * (len(g) - 1) // 2 for g in groups) for groups in partitions(list(range(systems)))}
        assert _numbers_of_equal_pairs(systems) == by_hand


def test_no_label_helps_to_predict_its_own_unit():
    rng = np.random.default_rng(0)
    features = Features.of(rng.random((50, 1)), rng.random((50, 3)))
    y, item = rng.random(30), rng.permutation(50)[:30]
    before = CrossFit.of(features, item, y, item)
    for t in range(30):
        changed = y.copy()
        changed[t] += 1
        after = CrossFit.of(features, item, changed, item)
        own = before.fold_t[t]
        np.testing.assert_allclose(after.value_fi[own], before.value_fi[own], atol=1e-12)


def test_residuals_on_one_side_or_too_few_have_no_interval():
    assert not Residuals(value_u=np.full(30, 0.1), n=100, label_variance=0.2, one_sided=True).suffices
    assert not Residuals(value_u=np.full(10, 0.1), n=100, label_variance=0.2, one_sided=False).suffices
    assert Residuals(value_u=np.full(10, 0.1), n=10, label_variance=0.2, one_sided=True).suffices


def test_equal_systems_are_rarely_told_apart():
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows, gold = simulated(rng, dict.fromkeys("abc", 0.6), n_questions=100, judges=3)
        picked = set(rng.permutation(100)[:30].tolist())
        wrong += rank(rows, of_questions(gold, picked), **READ).decided > 0
    assert wrong <= 6  # 5% of 40 is 2; 7 or more would happen in less than 1% of runs


def test_the_order_of_rows_does_not_matter(frame):
    rows, gold = frame
    order = np.random.default_rng(5).permutation(len(rows["item"]))
    shuffled = {name: [column[n] for n in order] for name, column in rows.items()}
    some = of_questions(gold, set(range(0, 120, 3)))
    first, second = (rank(table, some, **READ) for table in (rows, shuffled))
    for a, b in combinations("abcd", 2):
        left, right = (next(p for p in one.pairs if {p.a, p.b} == {a, b}) for one in (first, second))
        assert left.decided == right.decided
