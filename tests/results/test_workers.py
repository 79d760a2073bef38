"""What is said of workers: accuracy by the other votes, agreement, and flags where they are deserved."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from majorant.cli import main
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.majority import Majority
from majorant.results.workers import assess_workers, worker_table
from majorant.simulate import mixed_crew, one_coin_crew, simulate
from majorant.values import clopper_pearson
from majorant.votes import Votes


def test_accuracy_is_near_the_truth_and_its_interval_holds_it():
    skill = np.array([0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6])
    held = np.zeros(7)
    for seed in range(40):
        votes, truth = simulate([0.5, 0.5], one_coin_crew(skill), 300, 7, rng=seed)
        found = assess_workers(votes, DawidSkene().fit(votes), level=0.95)
        right = np.bincount(votes.worker_n, weights=truth[votes.item_n] == votes.label_n, minlength=7)
        np.testing.assert_allclose(found.accuracy_j, right / 300, atol=0.08)
        held += (found.low_j <= skill) & (skill <= found.high_j)
    assert (held >= 34).all()  # 95 % of 40 is 38


def test_doubt_about_the_labels_widens_the_interval():
    votes, truth = simulate([0.5, 0.5], one_coin_crew([0.7, 0.7, 0.7]), 300, 3, rng=0)
    fit = DawidSkene().fit(votes)
    known = replace(fit, posterior=np.eye(2)[truth])
    narrow, wide = assess_workers(votes, known), assess_workers(votes, fit)
    assert ((wide.high_j - wide.low_j) > 1.2 * (narrow.high_j - narrow.low_j)).all()
    right = np.bincount(votes.worker_n, weights=truth[votes.item_n] == votes.label_n)
    expected = [clopper_pearson(float(r), 300, 0.95) for r in right]
    np.testing.assert_allclose(np.stack([narrow.low_j, narrow.high_j], axis=1), expected)


def test_agreement_is_the_share_of_other_votes_that_say_the_same():
    item, worker, label = [0, 0, 0, 1, 1, 2], [0, 1, 2, 0, 1, 0], [1, 1, 0, 0, 0, 1]
    votes = Votes.from_codes(item, worker, label, items="abc", workers="xyz", labels="ny")
    found = assess_workers(votes, Majority().fit(votes))
    np.testing.assert_allclose(found.agreement_j, [0.75, 0.75, 0])


def test_flags_name_who_stands_out_and_nobody_else():
    confusion = [[0.85, 0.15], [0.15, 0.85]]
    crew = np.concatenate([mixed_crew(confusion, 8, adversaries=1), [[[0.5, 0.5]] * 2], [[[1, 0]] * 2]])
    votes, _ = simulate([0.5, 0.5], crew, 400, 11, rng=1)
    found = assess_workers(votes, DawidSkene().fit(votes))
    assert found.flags[:8] == ((),) * 8
    assert found.flags[8] == ("adversarial",)
    assert found.flags[9] == ("near chance",)
    assert found.flags[10] == ("near chance", "one label")


def test_too_few_votes_are_said_and_nothing_else_of_them():
    votes = Votes.from_codes([0, 1], [0, 0], [0, 0], items="ab", workers=["x", "silent"], labels="ny")
    found = assess_workers(votes, Majority().fit(votes))
    assert found.flags == (("too few votes",), ("too few votes",))
    assert np.isnan(found.accuracy_j[1])
    table = worker_table(votes.workers, Majority().fit(votes), found)
    assert table["votes"].tolist() == [2, 0]


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
    assert lines[0].startswith("worker,votes,accuracy,low,high,chance,agreement,weight,flags,evidence,no labelled no")
    assert [line.split(",")[0] for line in lines[1:]] == ["w", "x", "y"]
