"""Rules learned from expert labels: their optimum, their weights, their gain, and what they may announce."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import majorant
from majorant.ask.content import from_plain, to_plain
from majorant.errors import DataError
from majorant.evidence.learn import (
    LEARNED,
    Features,
    LearnedRule,
    changes_on_items,
    gold_labels,
    learn_rule,
    prior_weights,
)
from majorant.items import take_items
from majorant.methods.fit import chances
from majorant.methods.majority import Majority
from majorant.methods.weighted_vote import written_rule
from majorant.setting import Case, Setting
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes
from needs import NO_DATA

WRONG_PANEL = one_coin_workers([0.95, 0.35, 0.35, 0.35, 0.4])  # one good judge, four who are wrong together more often


def panel(seed=0, n_items=600):
    votes, truth = simulate([0.5, 0.5], WRONG_PANEL, n_items=n_items, n_votes=5, rng=seed)
    return votes, np.asarray(truth), Majority().fit(votes)


def loss(theta, votes, weighted, labelled, truth):
    """The penalised log-likelihood, written out vote by vote."""
    _, n_workers, n_classes = votes.shape
    mix, weight, offset = theta[:2], theta[2 : 2 + n_workers], theta[2 + n_workers :]
    total = 2 * sum((mix - 0.5) ** 2) + 2 * sum(weight**2) + sum(offset**2)
    for item, k in zip(labelled, truth, strict=True):
        mine = votes.item_n == item
        score = offset.copy()
        for c in range(n_classes):
            share = max((votes.label_n[mine] == c).mean(), 0.02)
            score[c] += mix[0] * np.log(max(weighted[item, c], 0.02)) + mix[1] * np.log(share)
            score[c] += weight[votes.worker_n[mine & (votes.label_n == c)]].sum()
        total -= score[k] - np.log(np.exp(score).sum())
    return total


def test_learned_weights_are_a_local_optimum():
    votes, truth = simulate([0.5, 0.3, 0.2], one_coin_workers([0.8, 0.6, 0.4], 3), n_items=40, n_votes=3, rng=1)
    weighted = np.random.default_rng(0).dirichlet([0.5, 1, 2], size=40)
    labelled, truth = np.arange(5, 35), np.asarray(truth)[5:35]
    weights = Features.of(votes, weighted).regression(labelled, truth).fit()
    theta = np.concatenate([weights.mix, weights.weight_j, weights.offset_k])
    best = loss(theta, votes, weighted, labelled, truth)
    for step in (-1e-2, 1e-2):
        for c in range(len(theta)):
            assert loss(theta + step * np.eye(len(theta))[c], votes, weighted, labelled, truth) > best


def test_thirty_labels_find_the_one_good_judge():
    votes, truth, majority = panel()
    labelled = np.random.default_rng(0).permutation(600)[:30]
    rule = learn_rule(votes, labelled, truth[labelled], majority, baseline=majority)
    assert rule.share > 0.95
    assert max(rule.weights, key=rule.weights.get) == votes.workers[0]
    fit = rule.fit(votes, majority, majority)
    assert fit.method == LEARNED
    right, before = ((each.codes("first") == truth).mean() for each in (fit, majority))
    assert before < 0.5
    assert right > 0.85
    assert rule.accuracy == pytest.approx(right, abs=0.12)


def test_a_gain_is_rarely_announced_where_there_is_none():
    crew = one_coin_workers([0.8] * 7)  # workers are alike: majority vote is the best rule
    announced = 0
    for seed in range(10):
        votes, truth = simulate([0.5, 0.5], crew, n_items=300, n_votes=7, rng=seed)
        majority = Majority().fit(votes)
        rule = learn_rule(votes, range(40), np.asarray(truth)[:40], majority, baseline=majority)
        change = changes_on_items(votes, majority, rule.fit(votes, majority, majority))
        announced += rule.judged(change, change).earned
    assert announced <= 2


def test_cross_validation_weights_do_not_see_their_fold():
    votes, truth, majority = panel(n_items=40)
    regression = Features.of(votes, majority.posterior).regression(np.arange(40), truth)
    fold = np.arange(40) % 10
    score = regression.cross_validated(fold)
    flipped = replace_at(truth, fold == 3, 1 - truth)
    other = Features.of(votes, majority.posterior).regression(np.arange(40), flipped).cross_validated(fold)
    assert np.allclose(score[fold == 3], other[fold == 3])
    assert not np.allclose(score[fold != 3], other[fold != 3])


def replace_at(values, where, others):
    return np.where(where, others, values)


def test_the_order_of_rows_does_not_matter():
    votes, truth, _ = panel(n_items=200)
    order = np.random.default_rng(0).permutation(200)
    shuffled = take_items(votes, order)
    rules = [
        learn_rule(v, np.arange(50) if v is votes else np.flatnonzero(order < 50), t, m, baseline=m)
        for v, t, m in (
            (votes, truth[:50], Majority().fit(votes)),
            (shuffled, truth[order][order < 50], Majority().fit(shuffled)),
        )
    ]
    assert rules[0].accuracy == rules[1].accuracy
    assert rules[0].weights == pytest.approx(rules[1].weights, abs=1e-4)


def test_a_hundred_thousand_workers_can_be_learned():
    rng, n_items = np.random.default_rng(0), 60_000
    truth = rng.integers(2, size=n_items)
    item, worker = np.repeat(np.arange(n_items), 3), rng.integers(100_000, size=3 * n_items)
    label = np.where(rng.random(3 * n_items) < 0.8, truth[item], 1 - truth[item])
    votes = Votes.from_codes(item, worker, label, items=range(n_items), workers=range(100_000), labels="ny")
    majority = Majority().fit(votes)
    rule = learn_rule(votes, range(100), truth[:100], majority, baseline=majority)
    assert len(rule.weights) <= 300
    assert rule.fit(votes, majority, majority).posterior.shape == (n_items, 2)


def test_rule_json_round_trip():
    votes, truth, majority = panel(n_items=100)
    rule = learn_rule(votes, range(30), truth[:30], majority, baseline=majority)
    again = from_plain(LearnedRule, json.loads(json.dumps(to_plain(rule))))
    ours, theirs = (one.fit(votes, majority, majority).posterior for one in (rule, again))
    assert np.array_equal(ours, theirs)
    assert (again.from_majority, again.n_labels, again.baseline) == (rule.from_majority, 30, "majority")


def test_too_few_labels_are_refused():
    votes, truth, majority = panel(n_items=100)
    with pytest.raises(DataError, match="at least 10 labels"):
        learn_rule(votes, range(9), truth[:9], majority, baseline=majority)


def test_gold_labels_of_items_without_votes_are_left_out():
    votes = Votes.from_codes([0, 2], [0, 0], [1, 0], items="abc", workers="w", labels="ny", gold=[1, 0, -1])
    assert [array.tolist() for array in gold_labels(votes)] == [[0], [1]]


def test_votes_of_thin_crowds_are_not_weighted_without_labels():
    def shape(n_items, n_workers, per_item):
        item = np.repeat(np.arange(n_items), per_item)
        worker = (np.arange(len(item)) * 7) % n_workers
        return Votes.from_codes(item, worker, item * 0, items=range(n_items), workers=range(n_workers), labels="ny")

    assert written_rule(Setting.of(shape(100, 40, 3))) == "majority"


@pytest.mark.parametrize(
    ("name", "n_labels", "least"), [("panels/llmbar_six", 30, 20), ("crowds/politifact_six", 60, -0.5)]
)
def test_learned_rules_gain_on_real_sets_and_rarely_lose(name, n_labels, least):
    """LLMBar: majority vote is right on half of the items; PolitiFact: the bare formula would lose 6 points."""
    folder = Path(os.environ.get("MAJORANT_DATA", "")) / name
    if "MAJORANT_DATA" not in os.environ or not folder.is_dir():
        pytest.skip(NO_DATA)
    votes = majorant.read(str(folder / "label.csv"), gold_file=str(folder / "truth.csv"), repeats="each")
    blind, truth = replace(votes, gold_i=None), votes.gold_i
    weighted, majority = majorant.aggregate(blind, "weighted-vote"), majorant.aggregate(blind, "majority")
    gains = []
    for seed in range(8):
        order = np.random.default_rng(seed).permutation(np.flatnonzero(truth >= 0))
        labelled, rest = order[:n_labels], order[n_labels:]
        rule = learn_rule(blind, labelled, truth[labelled], weighted, baseline=majority, seed=seed)
        change = changes_on_items(blind, majority, fit := rule.fit(blind, weighted, majority))
        judged = rule.judged(change, change)
        earned = judged.gain.earned or not Setting.of(blind).thin  # on thin crowds, only earned rules are written
        use = fit if judged.written and earned else majority
        after, before = (
            chances(fit.posterior[rest])[np.arange(len(rest)), truth[rest]].mean() for fit in (use, majority)
        )
        gains.append(100 * (after - before))
    assert np.mean(gains) >= least


def known_panel(n_items=300, seed=0):
    """A good judge whom everybody knows, and four poor ones."""
    names = ["gpt-4o-2024-08-06", "gemma-2-2b-it", "llama-2-7b-chat", "mistral-7b-instruct", "vicuna-7b"]
    votes, truth = simulate([0.5, 0.5], one_coin_workers([0.9, *[0.55] * 4]), n_items=n_items, n_votes=5, rng=seed)
    rows = [
        (f"q{i}", names[j], votes.labels[k])
        for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    ]
    read = majorant.read(rows)
    return read, {f"q{i}": votes.labels[k] for i, k in enumerate(truth)}


def test_ratings_are_the_prior_of_learned_rules():
    votes, truth = known_panel()
    setting = Setting.of(votes)
    assert setting.case is Case.KNOWN_JUDGES
    prior_j = prior_weights(setting)
    best = [str(worker) for worker in votes.workers].index("gpt-4o-2024-08-06")
    assert prior_j[best] == 0.5 == prior_j.max()
    assert prior_j.min() < 0.1
    design = majorant.ask(votes)
    assert design.question.has_prior
    assert design.question.baseline == "weighted-vote"
    labels = {item: truth[str(item)] for item in design.items}
    learned = design.evaluate(labels).learned
    assert learned.baseline == "weighted-vote"
    assert max(learned.weights, key=learned.weights.get) == "gpt-4o-2024-08-06"
    without = replace(design, question=replace(design.question, prior_j=np.empty(0)))
    assert without.id == design.id
    plain = without.evaluate(labels).learned
    assert learned.weights["gpt-4o-2024-08-06"] > plain.weights["gpt-4o-2024-08-06"] + 0.1


def test_ten_labels_leave_known_judges_the_labels_that_names_give():
    """Labels never fall back to plain majority vote: what is written then is what is written without labels."""
    votes, truth = known_panel()
    gold_i = np.full(len(votes.items), -1)
    gold_i[:10] = [votes.labels.index(truth[str(item)]) for item in votes.items[:10]]
    result = majorant.check(replace(votes, gold_i=gold_i))
    assert result.rule in (LEARNED, "weighted-vote")
