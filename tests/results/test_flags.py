"""Worker flags and their evidence: true positives, rare false positives, and the effect of removal."""

import numpy as np
import pytest

from crowds import mixed_crew
from majorant.items import without_workers
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.hierarchical import Hierarchical
from majorant.methods.majority import Majority
from majorant.methods.one_coin import OneCoin
from majorant.render.workers import flag_text
from majorant.results.calibrate import calibrate
from majorant.results.workers import FlagKind, assess_workers, holm, removal
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

HALF = [0.5, 0.5]


def with_seconds(votes, seconds):
    names = {"items": votes.items, "workers": votes.workers, "labels": votes.labels}
    return Votes.from_codes(votes.item_n, votes.worker_n, votes.label_n, **names, seconds=seconds)


def relabelled(votes, label_n):
    names = {"items": votes.items, "workers": votes.workers, "labels": votes.labels}
    return Votes.from_codes(votes.item_n, votes.worker_n, label_n, **names)


def honest_flags(n_workers, n_items, seeds):
    """How many crowds of workers 20 points above guessing, or better, have anybody flagged."""
    flagged = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        votes, _ = simulate(HALF, one_coin_workers(rng.uniform(0.7, 0.95, n_workers)), n_items, 5, rng=rng)
        votes = with_seconds(votes, rng.lognormal(2, 0.7, votes.n_votes))
        found = assess_workers(votes, OneCoin().fit(votes))
        flagged += any(flag.kind is not FlagKind.FEW_VOTES for flags in found.flags for flag in flags)
    return flagged


@pytest.mark.parametrize(("n_workers", "n_items"), [(20, 300), (60, 300)])
def test_honest_crowds_are_rarely_flagged(n_workers, n_items):
    assert honest_flags(n_workers, n_items, range(20)) <= 3


@pytest.mark.long
@pytest.mark.parametrize(("n_workers", "n_items"), [(20, 300), (60, 300), (300, 1000)])
def test_honest_crowds_are_flagged_once_in_ten_at_most(n_workers, n_items):
    assert honest_flags(n_workers, n_items, range(200)) <= 20


def test_holm_by_hand():
    adjusted = holm(np.array([0.04, 0.01, 0.2, 0.001]), np.array([True, True, True, False]))
    np.testing.assert_allclose(adjusted, [0.08, 0.03, 0.2, 1.0])


def test_each_flag_is_explained_by_its_numbers():
    crew = np.concatenate([mixed_crew(one_coin_workers([0.85])[0], 20, adversaries=1), [[[1, 0]] * 2]])
    votes, _ = simulate(HALF, crew, 1500, 7, rng=1)
    found = assess_workers(votes, Hierarchical().fit(votes))
    adversary, single = found.flags[20], found.flags[21]
    assert flag_text(adversary[0]).startswith("right on 1")
    assert f"of {found.votes_j[20]:,} votes; guessing would get 5" in flag_text(adversary[0])
    assert flag_text(single[1]).startswith(f"said 0 in all {found.votes_j[21]:,} votes; a typical worker would do this")


def test_thousands_of_equal_labels_do_not_overflow():
    """The probability underflows to zero, and its inverse would be infinite."""
    crew = np.concatenate([one_coin_workers([0.9] * 20), [[[1, 0]] * 2]])
    votes, _ = simulate(HALF, crew, 6000, 21, rng=0)
    with np.errstate(over="raise"):
        flags = assess_workers(votes, Hierarchical().fit(votes)).flags[20]
    [flag] = [flag for flag in flags if flag.kind is FlagKind.ONE_LABEL]
    assert np.isfinite(flag.times)


def test_one_label_workers_are_not_flagged_if_the_items_explain_it():
    """A worker who saw only items of one class has given one label for a good reason."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 100)
    item, worker = np.repeat(np.arange(200), 5), np.tile(np.arange(5), 200)
    label = np.where(rng.random(1000) < 0.95, truth[item], 1 - truth[item])
    item, worker = np.concatenate([item, np.arange(40)]), np.concatenate([worker, np.full(40, 5)])
    label = np.concatenate([label, np.zeros(40, dtype=int)])
    votes = Votes.from_codes(item, worker, label, items=range(200), workers=range(6), labels="ny")
    assert assess_workers(votes, DawidSkene().fit(votes)).flags[5] == ()


def test_unusually_fast_workers_are_flagged():
    votes, _ = simulate(HALF, one_coin_workers([0.8] * 8), 200, 5, rng=0)
    rng = np.random.default_rng(1)
    usual_i = rng.lognormal(2, 0.5, 200)
    seconds = usual_i[votes.item_n] * rng.lognormal(0, 0.4, votes.n_votes)
    seconds[votes.worker_n == 3] /= 8
    found = assess_workers(with_seconds(votes, seconds), OneCoin().fit(votes))
    assert [[flag.kind for flag in flags] for flags in found.flags if flags] == [["too fast"]]
    assert "under a third of the item's usual time" in flag_text(found.flags[3][0])
    seconds[votes.worker_n != 3] = np.nan
    assess_workers(with_seconds(votes, seconds), OneCoin().fit(votes))  # too few times to compare with: no error


def test_copiers_are_flagged_with_the_copied_worker():
    votes, _ = simulate(HALF, one_coin_workers([0.75] * 15), 300, 15, rng=2)
    label = votes.label_n.copy()
    copied = np.random.default_rng(0).random(300) < 0.95
    label[np.flatnonzero(votes.worker_n == 4)[copied]] = label[np.flatnonzero(votes.worker_n == 7)[copied]]
    votes = relabelled(votes, label)
    found = assess_workers(votes, OneCoin().fit(votes))
    [(twin, flag)] = [(j, flag) for j in range(15) for flag in found.flags[j]]
    assert twin in (4, 7)
    assert flag.kind is FlagKind.COPY
    assert flag_text(flag).startswith(f"gave the same answer as w{11 - twin} on ")
    assert flag.agreed <= flag.shared == 300


def test_repeated_votes_do_not_make_a_worker_a_copy():
    """If every vote is repeated, agreements and shared items still count once per item."""
    votes, _ = simulate(HALF, one_coin_workers([0.75] * 20), 400, 8, rng=2)
    twice = Votes.from_codes(
        np.tile(votes.item_n, 2), np.tile(votes.worker_n, 2), np.tile(votes.label_n, 2),
        items=votes.items, workers=votes.workers, labels=votes.labels,
    )  # fmt: skip
    assert not any(assess_workers(twice, OneCoin().fit(twice)).flags)


def test_removal_reports_changed_labels():
    votes, _ = simulate(HALF, mixed_crew(one_coin_workers([0.8])[0], 20, spammers=6), 1000, 9, rng=3)
    refit = Majority().fit
    found = assess_workers(votes, Hierarchical().fit(votes))
    labels = calibrate(votes, refit(votes), rng=0)
    change = removal(votes, labels.fit, found, refit)
    gone = np.array([bool(flags) for flags in found.flags])
    assert not gone[:20].any()
    assert gone.sum() >= 5
    assert (change.workers, change.votes) == (gone.sum(), found.votes_j[gone].sum())
    left = refit(without_workers(votes, gone))
    assert change.labels_changed == (left.codes() != labels.fit.codes()).sum() > 0
    assert removal(votes, labels.fit, found, refit, grounds=(FlagKind.TOO_FAST,)) is None
