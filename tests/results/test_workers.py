"""Assessment of workers: accuracy by gold or estimated, agreement and flags."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crowds import mixed_crew
from majorant.cli import main
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.hierarchical import Hierarchical
from majorant.methods.majority import Majority
from majorant.render.workers import worker_columns, workers_line
from majorant.results.workers import FlagKind, assess_workers
from majorant.simulate import one_coin_workers, simulate
from majorant.values import clopper_pearson
from majorant.votes import Votes

HALF = [0.5, 0.5]


def kinds(workers):
    return [tuple(flag.kind for flag in flags) for flags in workers.flags]


def crowd(seed, skill, n_items=400, n_votes=5):
    return simulate(HALF, one_coin_workers(skill), n_items, n_votes, rng=seed)


def test_estimated_accuracy_is_accurate_and_its_interval_covers():
    skill = np.linspace(0.6, 0.95, 20)
    held, total = 0, 0
    for seed in range(15):
        votes, truth = crowd(seed, skill)
        found = assess_workers(votes, Hierarchical().fit(votes))
        right = np.bincount(votes.worker_n, weights=truth[votes.item_n] == votes.label_n, minlength=20)
        share = right / found.votes_j
        assert np.abs(found.accuracy_j - share).mean() < 0.05
        assert not found.by_gold_j.any()
        held += ((found.low_j <= share) & (share <= found.high_j)).sum()
        total += 20
    assert held >= 0.97 * total


def test_a_panel_without_gold_gets_no_accuracy_interval_or_accuracy_flag():
    votes, _ = simulate(HALF, mixed_crew([[0.85, 0.15], [0.15, 0.85]], 6, spammers=2), 300, 8, rng=0)
    found = assess_workers(votes, DawidSkene().fit(votes))
    assert found.panel
    assert np.isnan(found.accuracy_j).all()
    assert np.isnan(found.low_j).all()
    assert kinds(found)[:6] == [()] * 6
    assert set(kinds(found)[6:]) == {(FlagKind.DISAGREES,)}
    assert not any("accuracy" in name or name in ("low", "high", "chance") for name in found.table())
    assert not any("labelled" in name for name in found.table())
    line = workers_line(found, (), None)
    assert "they may share mistakes" in line
    assert "2 agree with the others no more than chance would: " in line


def test_a_worker_with_few_votes_gets_no_accuracy():
    votes, _ = crowd(0, [0.9] * 400, n_items=500, n_votes=7)
    found = assess_workers(votes, Majority().fit(votes))
    few_j = found.votes_j < 10
    assert 0 < few_j.sum() < 400
    for value_j in (found.accuracy_j, found.low_j, found.high_j):
        np.testing.assert_array_equal(np.isnan(value_j), few_j)
    assert workers_line(found, (), None).endswith(f"{few_j.sum()} gave fewer than 10 votes, too few to judge.")


def test_gold_gives_a_panel_exact_accuracy_at_any_number_of_labels():
    votes, truth = simulate(HALF, one_coin_workers([0.9, 0.7, 0.6]), 300, 3, rng=0)
    known = replace(votes, gold_i=np.where(np.arange(300) < 40, truth, -1))
    found = assess_workers(known, DawidSkene().fit(votes))
    own = votes.item_n < 40
    right = np.bincount(votes.worker_n[own], weights=(truth[votes.item_n] == votes.label_n)[own], minlength=3)
    np.testing.assert_allclose(found.accuracy_j, right / 40)
    assert found.by_gold_j.all()
    expected = [clopper_pearson(float(r), 40, 0.95) for r in right]
    np.testing.assert_allclose(np.stack([found.low_j, found.high_j], axis=1), expected)
    table = found.table()
    assert {"accuracy", "low", "high", "gold_votes"} <= set(table)
    assert "estimated_accuracy" not in table


def test_ten_gold_votes_are_needed_to_rate_a_worker_by_gold():
    votes, truth = crowd(0, np.full(30, 0.8), n_items=300)
    known = replace(votes, gold_i=np.where(np.arange(300) < 60, truth, -1))
    found = assess_workers(known, Hierarchical().fit(votes))
    np.testing.assert_array_equal(found.by_gold_j, found.gold_votes_j >= 10)
    assert 0 < found.by_gold_j.sum() < 30
    table = found.table()
    assert np.isnan(table["accuracy"]).sum() == (~found.by_gold_j).sum()
    assert np.isnan(table["estimated_accuracy"]).sum() == found.by_gold_j.sum()


def test_gold_corrects_the_ranking_of_a_panel_with_shared_mistakes():
    """Four judges are misled together on 60 % of the items; the fifth is right, and votes alone think it the worst."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    seen = np.where(rng.random(400) < 0.6, 1 - truth, truth)
    label = np.stack([np.where(rng.random(400) < 0.9, seen, 1 - seen) for _ in range(4)] + [truth], axis=1)
    votes = Votes.from_codes(
        np.repeat(np.arange(400), 5), np.tile(np.arange(5), 400), label.ravel(), items=range(400), workers="abcde",
        labels="ny", gold=truth,
    )  # fmt: skip
    found = assess_workers(votes, DawidSkene().fit(votes))
    assert found.names[found.worst_first[-1]] == "e"
    assert found.accuracy_j[4] == 1


def test_agreement_is_the_share_of_other_votes_that_say_the_same():
    item, worker, label = [0, 0, 0, 1, 1, 2], [0, 1, 2, 0, 1, 0], [1, 1, 0, 0, 0, 1]
    votes = Votes.from_codes(item, worker, label, items="abc", workers="xyz", labels="ny")
    found = assess_workers(votes, Majority().fit(votes))
    np.testing.assert_allclose(found.agreement_j, [0.75, 0.75, 0])


def test_only_outlying_workers_are_flagged():
    crew = np.concatenate([mixed_crew([[0.85, 0.15], [0.15, 0.85]], 20, spammers=2, adversaries=1), [[[1, 0]] * 2]])
    votes, _ = simulate(HALF, crew, 1500, 7, rng=1)
    found = assess_workers(votes, Hierarchical().fit(votes))
    assert kinds(found)[:20] == [()] * 20
    assert kinds(found)[20:22] == [(FlagKind.NEAR_CHANCE,)] * 2
    assert kinds(found)[22] == (FlagKind.ADVERSARIAL,)
    assert kinds(found)[23] == (FlagKind.NEAR_CHANCE, FlagKind.ONE_LABEL)
    assert set(found.worst_first[:4].tolist()) == {20, 21, 22, 23}
    line = workers_line(found, (), None)
    assert line.startswith("1 of 24 workers is worse than guessing: w22. 3 of 24 workers are barely better than ")


def test_weak_workers_get_items_to_train_on_and_others_do_not():
    crew = mixed_crew([[0.9, 0.1], [0.1, 0.9]], 20, spammers=2)
    votes, truth = simulate(HALF, crew, 1000, 7, rng=1)
    found = assess_workers(votes, Hierarchical().fit(votes))
    assert [len(mistakes) for mistakes in found.mistakes] == [0] * 20 + [5] * 2
    for j in (20, 21):
        given = dict(zip(votes.item_n[votes.worker_n == j], votes.label_n[votes.worker_n == j], strict=True))
        assert np.mean([given[item] != truth[item] for item in found.mistakes[j]]) >= 0.8


def test_workers_with_too_few_votes_get_only_that_flag():
    votes = Votes.from_codes([0, 1], [0, 0], [0, 0], items="ab", workers=["x", "silent"], labels="ny")
    found = assess_workers(votes, Majority().fit(votes))
    assert kinds(found) == [(FlagKind.FEW_VOTES,)] * 2
    assert np.isnan(found.accuracy_j[1])
    assert worker_columns(found)["votes"].tolist() == [2, 0]


def test_the_command_writes_a_row_per_worker(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text("item,worker,label\na,w,yes\na,x,yes\na,y,no\nb,w,no\nb,x,no\nb,y,yes\n")
    monkeypatch.setattr(sys, "argv", ["majorant", "workers", "votes.csv", "--method", "dawid-skene", "--json"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["workers"]["flagged"] == {"too few votes": 3}
    lines = Path("workers.csv").read_text().splitlines()
    assert lines[0] == "worker,votes,agreement,flags,evidence,wrong_on"
    assert [line.split(",")[0] for line in lines[1:]] == ["y", "w", "x"]  # the least agreement first
