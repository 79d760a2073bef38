"""Every operation on stored votes gives the same result as on the same votes in memory."""

import json

import numpy as np
import pytest

import majorant
from majorant.ask.ask import ask
from majorant.backend import MemoryBackend, fit_of_items
from majorant.backend.files import FileBackend
from majorant.backend.prepare import prepare
from majorant.backend.store import mask_stored
from majorant.evidence.certificate.gold import gold_rows
from majorant.methods import ESTIMATORS
from majorant.methods.majority import Majority
from majorant.methods.weighted_vote import combination
from majorant.read.options import ReadOptions
from majorant.results.calibrate import Calibration, label_confidence
from majorant.results.labels import compare_labels, count_all_labels, decided_labels, label_changes
from majorant.results.review import review, review_all
from majorant.results.rules import fit_weighted_vote
from majorant.results.workers import assess_workers

MEMORY = 1_000_000_000
PLANNING = ("lead_qr", "decisive_qr", "confidence")  # sums, for planning only


@pytest.fixture
def sites(crowd_file, tmp_path):
    """The same votes, in eleven row groups and in memory."""
    stored = prepare(str(crowd_file), tmp_path / "work", ReadOptions(repeats="each"), memory=MEMORY)
    assert stored.n_groups > 5
    return FileBackend(stored, MEMORY), MemoryBackend(majorant.read(str(crowd_file), repeats="each"))


def test_counts_names_and_samples_match_memory(sites):
    stored, memory = sites
    assert (stored.votes.shape, stored.votes.n_votes) == (memory.votes.shape, memory.votes.n_votes)
    for rows in ({}, {"rows": gold_rows}):
        found, expected = stored.patterns(**rows), memory.patterns(**rows)
        assert found.counts_pk.tolist() == expected.counts_pk.tolist()
        assert found.items_p.tolist() == expected.items_p.tolist()
    assert stored.votes_by_worker().tolist() == memory.votes_by_worker().tolist()
    chosen = stored.draw(0.3, 7)
    assert chosen.tolist() == memory.draw(0.3, 7).tolist()
    assert (np.diff(chosen) < 0).any()  # in the order of their lots, not of their codes
    some, expected = stored.take(np.sort(chosen)), memory.take(np.sort(chosen))
    assert some.items == expected.items
    assert (some.label_n.tolist(), some.worker_n.tolist()) == (expected.label_n.tolist(), expected.worker_n.tolist())


def test_changes_between_rules_are_counted(sites):
    stored, memory = sites
    fit, expected = (backend.fit("dawid-skene") for backend in sites)
    found = label_changes(stored, stored.fit("majority"), fit)
    counted = compare_labels(memory.votes, Majority().fit(memory.votes), expected)
    assert found.changed == counted.changed > 0
    assert found.flow_kl.tolist() == counted.flow_kl.tolist()
    assert found.rule.items_k.tolist() == count_all_labels(stored, fit).items_k.tolist()
    item_p = np.array([500, 3, 77])
    np.testing.assert_allclose(fit_of_items(stored, fit, item_p).posterior, expected.posterior[item_p], atol=1e-9)


def test_items_to_review_match_memory(sites):
    stored, memory = sites
    calibration, votes = Calibration(1.7, 0.03), memory.votes
    fit, expected = (backend.fit("dawid-skene") for backend in sites)
    good_j, models = assess_workers(votes, expected).good_j, [np.asarray(expected.posterior)]
    label_i, confidence_i = decided_labels(expected, votes), label_confidence(calibration, votes, expected)
    table = review(votes, label_i, confidence_i, models=models, good=good_j).table()
    found = review_all(stored, fit, calibration, [fit], good=good_j).review.table()
    for name, column in table.items():
        if name == "confidence":
            np.testing.assert_allclose(found[name], column, atol=2e-9)
        else:
            assert list(found[name]) == list(column), name


def test_weighted_vote_matches_memory(sites):
    stored, memory = sites
    made = combination(memory.votes)
    found, _ = fit_weighted_vote(stored, memory.votes)
    np.testing.assert_allclose(found.posterior, made.fit.posterior, atol=1e-7)  # ebcc's loop, in another order
    np.testing.assert_allclose(found.confusion, made.fit.confusion, atol=1e-7)


def test_masked_votes_use_numbers_as_names(sites):
    stored, memory = sites
    masked = mask_stored(stored.votes)
    assert list(masked.items[3:6]) == [4, 5, 6]
    assert masked.items[-1] == len(memory.votes.items)
    assert masked.workers[:2] == (1, 2)
    some = FileBackend(masked, MEMORY).take(np.array([0, 650]))
    assert some.items == (1, 651)
    assert some.label_n.tolist() == memory.take(np.array([0, 650])).label_n.tolist()


def test_only_block_methods_are_available(sites):
    stored, memory = sites
    assert set(stored.methods) < set(memory.methods) == set(ESTIMATORS)


@pytest.mark.parametrize(
    "how",
    [
        {"between": ("majority", "dawid-skene")},
        {"between": ("majority", "one-coin", "dawid-skene")},
        {"question": "accuracy", "between": ("one-coin",)},
    ],
)
def test_the_same_designs_are_drawn(sites, how):
    stored, memory = sites
    found, expected = (json.loads(ask(backend, n=10, **how).to_json()) for backend in (stored, memory))
    told = [{name: one["content"].pop(name, None) for name in PLANNING} for one in (found, expected)]
    assert {**found, "digest": ""} == {**expected, "digest": ""}
    for name in PLANNING:  # the last digits of a sum over blocks may differ
        np.testing.assert_allclose(*(np.array(one[name], dtype=float) for one in told), rtol=1e-6)
