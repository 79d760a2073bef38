"""Gold labels in the input: half of them train a rule, and the others prove it."""

from dataclasses import replace

import numpy as np
import pytest

import majorant as mj
from majorant.decide import Certainty
from majorant.evidence.evidence import Source
from majorant.simulate import one_coin_workers, simulate
from sizes import many


def checked(skills, *, n_items=300, gold=1.0, seed=0):
    votes, truth = simulate(
        [0.5, 0.5], one_coin_workers(skills), n_items=n_items, n_votes=len(skills), gold=gold, rng=seed
    )
    return mj.check(votes), truth


def test_a_panel_with_one_good_judge_gets_a_proved_rule():
    result, truth = checked([0.95, 0.4, 0.4, 0.4, 0.4])
    assert (result.answer.action, result.answer.certainty) == ("switch", Certainty.PROVED)
    assert result.answer.gain.value > 0.3
    assert result.labels.to_dict()["label"] == truth.tolist()  # every item has gold


def test_the_labels_that_prove_a_learned_rule_did_not_teach_it():
    result, _ = checked([0.9, 0.9, 0.3, 0.3, 0.3], gold=0.5)
    basis = next(one for one in result.answer.evidence if one.other == "learned")
    assert (result.learned.n_labels, basis.n_labels) == (75, 75)
    assert basis.gain.low is not None


def test_few_labels_are_all_used_for_learning():
    result, _ = checked([0.9, 0.9, 0.3, 0.3, 0.3], gold=0.2)
    basis = next(one for one in result.answer.evidence if one.other == "learned")
    assert (result.learned.n_labels, basis.n_labels, basis.source) == (60, 60, Source.EARNED)
    assert basis.gain.low < basis.gain.value < basis.gain.high


def test_equal_judges_are_rarely_beaten_by_proof():
    """No rule beats majority vote here; at most five in a hundred runs may say otherwise."""
    wrong = 0
    for seed in range(many(100)):
        result, _ = checked([0.7] * 5, n_items=200, gold=0.5, seed=seed)
        learned = [one for one in result.answer.evidence if one.other == "learned" and one.source is Source.LABELS]
        wrong += any(one.gain.low is not None and one.gain.low > 0 for one in learned)
    assert wrong <= 0.05 * many(100) + 2


@pytest.mark.parametrize("seed", range(3))
def test_which_half_teaches_does_not_depend_on_the_order_of_rows(seed):
    votes, truth = simulate([0.5, 0.5], one_coin_workers([0.9, 0.9, 0.3, 0.3]), n_items=200, n_votes=4, rng=seed)
    table, gold = votes.to_dict(), {str(item): label for item, label in zip(votes.items, truth, strict=True)}
    order = np.random.default_rng(seed).permutation(votes.n_votes)
    shuffled = {name: [column[n] for n in order] for name, column in table.items()}
    weights = [mj.check(rows, gold=gold).learned.weights for rows in (table, shuffled)]
    assert weights[0] == pytest.approx(weights[1])


@pytest.mark.parametrize("method", ["nitzan-paroush", "anchor-map"])
def test_labels_that_taught_a_method_do_not_prove_it(method):
    """With twenty equal judges, weights learned from 40 labels are overfitted."""
    wrong = 0
    for seed in range(8):
        votes, truth = mj.simulate([0.5, 0.5], [[[0.62, 0.38], [0.38, 0.62]]] * 20, n_items=600, n_votes=20, rng=seed)
        gold_i = np.full(600, -1, dtype=np.int32)
        known = np.random.default_rng(seed).permutation(600)[:40]
        gold_i[known] = np.asarray(truth)[known]
        result = mj.check(replace(votes, gold_i=gold_i), method=method)
        assert result.answer.certainty != "proved" or result.answer.source == "identical"
        assert result.accuracy(method).low is None
        labels = np.array(mj.aggregate(replace(votes, gold_i=gold_i), method).labels())
        wrong += result.accuracy(method).value > (labels == np.array(truth)).mean() + 0.1
    assert wrong <= 2


@pytest.mark.parametrize("n_gold", [1, 2, 15])
def test_methods_taught_by_few_labels_are_compared(n_gold):
    votes, truth = mj.simulate([0.5, 0.5], [[[0.8, 0.2], [0.2, 0.8]]] * 5, n_items=100, n_votes=5, rng=0)
    gold_i = np.full(100, -1, dtype=np.int32)
    gold_i[:n_gold] = truth[:n_gold]
    rows = {row.method: row for row in mj.compare(replace(votes, gold_i=gold_i), ["majority", "nitzan-paroush"])}
    assert 0.5 <= rows["nitzan-paroush"].accuracy.value <= 1
    assert mj.check(replace(votes, gold_i=gold_i), method="nitzan-paroush").rule == "nitzan-paroush"


def gold_on(votes, truth, items):
    gold_i = np.full(len(votes.items), -1)
    gold_i[items] = np.asarray(truth)[items]
    return replace(votes, gold_i=gold_i)


@pytest.mark.parametrize("seed", range(many(3)))
@pytest.mark.parametrize("n_labels", [60, 120])
def test_a_list_of_errors_teaches_and_proves_nothing(seed, n_labels):
    """Gold only for items that majority vote gets wrong turned all labels round, and called that proved."""
    skills = [0.6] * 14 + [0.9] * 6
    votes, truth = simulate([0.5, 0.5], one_coin_workers(skills), n_items=600, n_votes=5, rng=seed)
    wrong = np.flatnonzero(mj.aggregate(votes, "majority").codes("first") != truth)
    result = mj.check(gold_on(votes, truth, wrong[:n_labels]))
    assert result.gold_sample.all_wrong
    assert result.learned is None
    assert result.answer.certainty is not Certainty.PROVED
    assert all(one.source not in (Source.LABELS, Source.EARNED) for one in result.answer.evidence)
    assert "Is this a list of its errors?" in " ".join(result.summary().split())


def test_gold_on_disputed_items_is_recognised():
    votes, truth = simulate([0.5, 0.5], one_coin_workers([0.85] * 5), n_items=400, n_votes=5, rng=1)
    split = np.flatnonzero(mj.aggregate(votes, "majority").posterior.max(axis=1) < 1)
    result = mj.check(gold_on(votes, truth, split[:40]))
    assert not result.gold_sample.is_random
    assert result.learned is None
    text = " ".join(result.summary().split())
    assert "Your labelled items are not a random sample: 100% of them are disputed, " in text


def test_fewer_than_ten_gold_labels_prove_nothing():
    votes, truth = simulate([0.5, 0.5], one_coin_workers([0.95, 0.3, 0.3]), n_items=300, n_votes=3, rng=0)
    result = mj.check(gold_on(votes, truth, np.arange(9)))
    assert not [one for one in result.answer.evidence if one.source in (Source.LABELS, Source.EARNED)]
    assert "9 labels prove nothing yet: it takes at least 10." in " ".join(result.summary().split())


def test_thin_crowds_learn_nothing_below_sixty_labels():
    votes, truth = simulate([0.5, 0.5], one_coin_workers([0.95, 0.4] * 75), n_items=300, n_votes=3, rng=0)
    assert mj.check(gold_on(votes, truth, np.arange(59))).learned is None
    assert mj.check(gold_on(votes, truth, np.arange(60))).learned is not None


@pytest.mark.parametrize("seed", range(5))
def test_two_judges_can_teach_a_rule(seed):
    """There is no weighted vote of two judges, so learned rules start from the shares of their votes."""
    votes, truth = simulate([0.5, 0.5], one_coin_workers([0.95, 0.55]), n_items=200, n_votes=2, rng=seed)
    drawn = np.random.default_rng(seed).permutation(200)[:30]
    result = mj.check(gold_on(votes, truth, drawn))
    label = result.labels.to_dict()["label"]
    assert result.learned.written
    assert np.mean(np.array(label) == truth) > 0.85
