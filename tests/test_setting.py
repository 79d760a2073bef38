"""The one definition of panel, crowd and the other cases, and the rules that are written in each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import majorant as mj
from majorant.methods.weighted_vote import fit_median, fit_weighted_vote
from majorant.setting import Case, Setting, fleiss_kappa
from majorant.simulate import one_coin_workers, simulate
from majorant.tally import counts, find_patterns
from majorant.votes import Votes
from real import read_set


def teams(n_teams: int = 6, n_items: int = 600, seed: int = 1) -> Votes:
    """Fixed teams of three workers, each of which labels its share of the items."""
    rng = np.random.default_rng(seed)
    truth_i = rng.integers(0, 2, n_items)
    item_n, place_n = np.divmod(np.arange(3 * n_items), 3)
    right_n = rng.random(3 * n_items) < np.array([0.9, 0.75, 0.6])[place_n]
    return Votes.from_codes(
        item_n, 3 * (item_n % n_teams) + place_n, np.where(right_n, truth_i[item_n], 1 - truth_i[item_n]),
        items=range(n_items), workers=range(3 * n_teams), labels=("no", "yes"),
    )  # fmt: skip


def test_fixed_teams_are_a_panel_and_random_workers_are_not():
    assert Setting.of(teams()).panel
    crowd = simulate([0.5, 0.5], one_coin_workers([0.8] * 18), n_items=600, n_votes=3, rng=0).votes
    assert not Setting.of(crowd).panel


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("ruters", Case.CROWD), ("politifact_six", Case.PANEL), ("dialsumm_fluency", Case.CHANCE),
        ("trec", Case.ONE_CLASS), ("youtube", Case.ONE_CLASS), ("snow_wsd", Case.PANEL), ("medicheck", Case.PANEL),
        ("mmlu_error", Case.KNOWN_JUDGES), ("essay_4", Case.KNOWN_JUDGES), ("vaccines_all", Case.KNOWN_JUDGES),
    ],
)  # fmt: skip
def test_public_sets_have_the_expected_case(name, case):
    assert Setting.of(read_set(name)).case is case


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (("high", "low", "medium"), (1, 2, 0)),
        (("Agree", "Disagree", "Neutral", "Strongly agree", "Strongly disagree"), (4, 1, 2, 0, 3)),
        (("high", "low"), ()),
        ((1, 2, 3), ()),
        (("negative", "neutral", "positive"), ()),
        (("A", "B", "C"), ()),
    ],
)
def test_names_may_be_an_order_and_numbers_never_are(labels, order):
    votes = Votes.from_codes([0] * len(labels), range(len(labels)), range(len(labels)),
                             items="a", workers=range(len(labels)), labels=labels)  # fmt: skip
    assert Setting.of(votes).order == order


def test_an_order_that_the_user_gives_makes_grades():
    rows = [("a", "u", 1), ("a", "v", 2), ("a", "w", 5), ("b", "u", 1), ("b", "v", 1), ("b", "w", 4)]
    votes = mj.read(rows, order=["1", "2", "4", "5"])
    assert Setting.of(votes).case is Case.GRADES
    result = mj.check(votes)
    assert (result.rule, result.labels.to_dict()["label"]) == ("median", [2, 1])
    assert result.labels.to_dict()["majority"] == [None, 1]


@pytest.mark.parametrize("grades", [(0, 0, 1, 3), (0, 2, 2, 2, 3), (0, 1, 2, 2), (0, 0, 1, 1), (1, 1, 3, 3), (0, 3)])
def test_the_median_is_the_middle_grade_nearest_to_the_mean(grades):
    votes = Votes.from_codes([0] * len(grades), range(len(grades)), grades,
                             items="a", workers=range(len(grades)), labels="abcd")  # fmt: skip
    low, high = sorted(grades)[(len(grades) - 1) // 2], sorted(grades)[len(grades) // 2]
    best = min(range(low, high + 1), key=lambda grade: (round(abs(grade - np.mean(grades)), 9), grade))
    assert fit_median(votes, (0, 1, 2, 3)).codes().tolist() == [best]


def test_kappa_has_the_interval_of_the_bootstrap():
    votes = simulate([0.6, 0.4], one_coin_workers([0.7] * 20), n_items=300, n_votes=3, rng=0).votes
    found, count_ik, rng = fleiss_kappa(find_patterns(votes)), counts(votes), np.random.default_rng(0)
    drawn = []
    for _ in range(1000):
        some = count_ik[rng.integers(0, 300, 300)]
        agreed = ((some**2).sum(axis=1) - 3).mean() / 6
        chance = ((some.sum(axis=0) / some.sum()) ** 2).sum()
        drawn.append((agreed - chance) / (1 - chance))
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert abs(found.low - low) < 0.015
    assert abs(found.high - high) < 0.015


def by_hand(votes: Votes) -> tuple[np.ndarray, np.ndarray]:
    """The vote shares, and one step of Dawid-Skene, spelled out."""
    n_items, n_workers, n_classes = votes.shape
    share_ik = counts(votes) / np.maximum(votes.votes_i, 1)[:, None]
    count_jkl = np.zeros((n_workers, n_classes, n_classes))
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        count_jkl[j, :, l] += share_ik[i]
    pooled_kl = count_jkl.sum(axis=0)
    count_jkl += pooled_kl / pooled_kl.sum(axis=1, keepdims=True)
    given_jkl = count_jkl / count_jkl.sum(axis=2, keepdims=True)
    score_ik = np.tile(np.log(share_ik.mean(axis=0)), (n_items, 1))
    for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        score_ik[i] += np.log(given_jkl[j, :, l])
    step_ik = np.exp(score_ik - score_ik.max(axis=1, keepdims=True))
    return share_ik, step_ik / step_ik.sum(axis=1, keepdims=True)


def test_the_weighted_vote_of_a_panel_is_a_quarter_of_one_step():
    votes = simulate([0.6, 0.4], one_coin_workers([0.9, 0.7, 0.6, 0.6]), n_items=200, n_votes=4, rng=0).votes
    share_ik, step_ik = by_hand(votes)
    expected_ik = (share_ik + 0.02) * step_ik**0.25
    expected_ik /= expected_ik.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fit_weighted_vote(votes, Setting.of(votes)).posterior, expected_ik, atol=1e-9)


def test_the_weighted_vote_of_a_crowd_is_a_blend():
    votes = simulate([0.6, 0.4], one_coin_workers([0.9, 0.8, 0.7] * 6), n_items=400, n_votes=3, rng=0).votes
    assert Setting.of(votes).case is Case.CROWD
    share_ik, step_ik = by_hand(votes)
    ebcc_ik = mj.aggregate(votes, "ebcc").posterior
    expected_ik = np.cbrt((share_ik + 0.02) * (step_ik + 0.02) * (ebcc_ik + 0.02))
    expected_ik /= expected_ik.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fit_weighted_vote(votes, Setting.of(votes)).posterior, expected_ik, atol=1e-9)


def test_an_item_counts_as_often_as_its_weight():
    votes = simulate([0.6, 0.4], one_coin_workers([0.9, 0.7, 0.6]), n_items=60, n_votes=3, rng=0).votes
    setting, weights = Setting.of(votes), np.where(np.arange(60) < 20, 2, 1)
    order = np.repeat(np.arange(60), weights)
    kept = np.concatenate([np.flatnonzero(votes.item_n == i) for i in order])
    repeated = Votes.from_codes(
        np.repeat(np.arange(80), 3), votes.worker_n[kept], votes.label_n[kept],
        items=range(80), workers=votes.workers, labels=votes.labels,
    )  # fmt: skip
    weighted = fit_weighted_vote(votes, setting, weights=weights).posterior
    np.testing.assert_allclose(weighted[order], fit_weighted_vote(repeated, setting).posterior, atol=1e-9)


def test_ties_of_a_panel_go_to_one_of_the_tied_labels():
    votes = replace(read_set("medicheck"), gold_i=None)
    result, count_ik = mj.check(votes), counts(votes)
    tied = np.flatnonzero(mj.aggregate(votes, "majority").tied_i)
    label_t = result.written.codes()[tied]
    assert (label_t >= 0).all()
    assert (count_ik[tied, label_t] == count_ik[tied].max(axis=1)).all()
