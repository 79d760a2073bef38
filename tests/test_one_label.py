"""A rule says one thing about an item, whoever is asked: check, aggregate, compare, labels.csv."""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import majorant as mj
from majorant.evidence.evidence import Certainty
from majorant.evidence.labels import gold_accuracy
from majorant.results.labels import label_table
from majorant.tabular import Tabular
from majorant.votes import Votes
from real import read_set

SETS = [
    "CF", "CF_amt", "MS", "SP_amt", "ZenCrowd_us", "d_sentiment", "fej2013", "medical_treat", "mozafari",
    "politifact_six", "ruters", "snow_temporal", "snow_wsd", "dialsumm_fluency", "essay_4", "snow_disgust",
    "alt_lgbteen", "chexpert_eleven", "code_java", "code_summary_java", "dial_convai2", "faithbench",
    "judging_judges", "llmbar_six", "medicheck", "mmlu_error", "mtbench_pairs", "realmistake_fact",
    "setrel_lcquad", "vuldet_context", "trec", "youtube",
]  # fmt: skip


class Columns(Tabular):
    """The columns of labels.csv, without the confidence, which takes a while."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns = columns

    def table(self) -> dict[str, Any]:
        """The columns by name."""
        return self.columns


def assert_one_label(votes: Votes) -> None:
    """The columns of the labels are what `aggregate` says, and a tied item has a label but no majority."""
    blind = replace(votes, gold_i=None)
    result = mj.check(blind)
    table = Columns(label_table(result.votes, result.written, result.majority, result.weighted)).to_dict()
    assert table["majority"] == mj.aggregate(blind, "majority").labels()
    assert table["weighted_vote"] == mj.aggregate(blind, "weighted-vote").labels()
    assert table["label"] == mj.aggregate(blind).labels()
    tied = [label is None for label in table["majority"]]
    assert [is_tied or not n for is_tied, n in zip(table["tied"], table["votes"], strict=True)] == tied
    assert all(label is not None for label, n in zip(table["label"], table["votes"], strict=True) if n)
    assert table["changed"] == [
        label != before and before is not None for label, before in zip(table["label"], table["majority"], strict=True)
    ]
    assert result.tied == sum(table["tied"])
    if result.answer.certainty is Certainty.SAME and not result.differ.differ:
        assert table["weighted_vote"] == table["majority"]


@pytest.mark.parametrize("name", SETS)
def test_public_sets(name):
    folder = os.environ.get("MAJORANT_DATA", "")
    file = Path(folder) / "active-crowd-toolkit" / f"{name}.csv"
    assert_one_label(mj.datasets.load(name) if file.is_file() else read_set(name))


@pytest.mark.parametrize("name", ["ruters", "medicheck", "mmlu_error"])
def test_compare_rates_the_same_labels(name):
    votes = read_set(name)
    rows = {row.method: row.accuracy.value for row in mj.compare(votes, ["majority", "weighted-vote"])}
    for rule, value in rows.items():
        assert value == gold_accuracy(votes, mj.aggregate(votes, rule), level=0.95).value


def test_the_file_holds_the_same_labels(tmp_path):
    votes = replace(read_set("medicheck"), gold_i=None)
    result = mj.check(votes)
    result.save(tmp_path)
    with (tmp_path / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    by_item = dict(zip(result.labels.to_dict()["item"], range(len(rows)), strict=True))
    for column in ("label", "majority", "weighted_vote"):
        values = result.labels.to_dict()[column]
        assert {row["item"]: row[column] or None for row in rows} == {str(i): values[n] for i, n in by_item.items()}


@st.composite
def tables(draw: st.DrawFn) -> Votes:
    n_items, n_workers, n_classes = draw(st.integers(1, 12)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    cell = st.integers(-1, n_classes - 1)
    label_ij = np.array(draw(st.lists(st.lists(cell, min_size=n_workers, max_size=n_workers), min_size=n_items,
                                      max_size=n_items)))  # fmt: skip
    item_n, worker_n = np.nonzero(label_ij >= 0)
    return Votes.from_codes(
        item_n, worker_n, label_ij[item_n, worker_n],
        items=[f"i{i}" for i in range(n_items)], workers=[f"w{j}" for j in range(n_workers)],
        labels=[f"c{k}" for k in range(n_classes)],
    )  # fmt: skip


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables())
def test_random_tables(votes):
    if votes.n_votes:
        assert_one_label(votes)
