"""Copies are named with what was observed, judges who agree because they are right are not, and no vote is dropped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import majorant as mj
from majorant.evidence.copies import Copies, find_copies
from majorant.evidence.evidence import Status
from majorant.simulate import simulate
from majorant.votes import Votes
from real import read_set

Labels = NDArray[np.int64]


def as_votes(label_ij: Labels) -> Votes:
    n_items, n_workers = label_ij.shape
    return Votes.from_codes(
        np.repeat(np.arange(n_items), n_workers),
        np.tile(np.arange(n_workers), n_items),
        label_ij.ravel(),
        items=range(n_items),
        workers=[f"j{j}" for j in range(n_workers)],
        labels=range(label_ij.max() + 1),
    )


def judged(rng: np.random.Generator, kind: str, n_workers: int, n_classes: int, n_items: int = 400) -> Labels:
    """Independent judges; on hard items everybody is near chance, on easy items nearly everybody is right."""
    truth_i = rng.choice(n_classes, n_items, p=rng.dirichlet(np.full(n_classes, 5.0)))
    accuracy_j = rng.uniform(0.6, 0.92, n_workers)
    if "equal skill" in kind:
        accuracy_j[:] = accuracy_j[0]
    accuracy_ij = np.tile(accuracy_j, (n_items, 1))
    if "hard" in kind:
        hard_i = rng.random(n_items) < rng.uniform(0.2, 0.5)
        accuracy_ij[hard_i] = 1 / n_classes + rng.uniform(0, 0.4) * (accuracy_j - 1 / n_classes)
    if "graded" in kind:
        odds_ij = np.exp(np.log(accuracy_j * (n_classes - 1) / (1 - accuracy_j)) * rng.lognormal(0, 1, (n_items, 1)))
        accuracy_ij = odds_ij / (odds_ij + n_classes - 1)
    wrong_ij = (truth_i[:, None] + rng.integers(1, n_classes, accuracy_ij.shape)) % n_classes
    return np.where(rng.random(accuracy_ij.shape) < accuracy_ij, truth_i[:, None], wrong_ij)


def with_copies(rng: np.random.Generator, label_ij: Labels, n_copies: int) -> tuple[Labels, list[set[str]]]:
    """Some judges repeat another one on 98 to 100% of the items."""
    label_ij, judge = label_ij.copy(), rng.permutation(label_ij.shape[1])
    copied = []
    for copy in judge[:n_copies]:
        source = rng.choice(judge[n_copies:])
        repeats_i = rng.random(len(label_ij)) < rng.uniform(0.98, 1)
        label_ij[:, copy] = np.where(repeats_i, label_ij[:, source], label_ij[:, copy])
        copied.append({f"j{source}", f"j{copy}"})
    return label_ij, copied


def is_found(copies: Copies, copied: list[set[str]]) -> bool:
    return all(any(pair <= set(group) for group in copies.workers) for pair in copied)


KINDS = ("equal skill", "unequal skill", "equal skill, hard items", "unequal skill, hard items", "graded difficulty")


@pytest.mark.parametrize("kind", KINDS)
def test_near_copies_are_found_and_independent_judges_are_not_accused(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    n_found = n_runs = 0
    for n_copies in (1, 2, 3):
        for _ in range(12):
            n_workers, n_classes = int(rng.integers(5, 10)), int(rng.integers(2, 5))
            independent = judged(rng, kind, n_workers, n_classes)
            assert not find_copies(as_votes(independent)).groups
            label_ij, copied = with_copies(rng, judged(rng, kind, n_workers, n_classes), n_copies)
            copies = find_copies(as_votes(label_ij))
            n_found += is_found(copies, copied)
            n_runs += 1
            assert copies.tested.status is not Status.PASSED
    assert n_found >= 0.8 * n_runs


@pytest.mark.parametrize("n_workers", [2, 3, 5, 9])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_identical_answers_are_named_at_any_size_of_panel(n_workers: int, n_classes: int) -> None:
    rng = np.random.default_rng(n_workers)
    label_ij = judged(rng, "equal skill", n_workers, n_classes, n_items=100)
    label_ij[:, 1] = label_ij[:, 0]
    if n_workers == 2:  # nobody else to depart from
        assert find_copies(as_votes(label_ij)).tested.status is Status.UNTESTABLE
        return
    copies = find_copies(as_votes(label_ij))
    assert copies.workers == (("j0", "j1"),)
    assert copies.groups[0].identical
    assert (copies.groups[0].shared, copies.groups[0].agreed) == (100, 100)
    assert copies.tested.status is Status.FAILED


def test_identical_answers_on_easy_items_prove_nothing() -> None:
    rng = np.random.default_rng(0)
    truth_i = rng.integers(0, 3, 200)
    label_ij = np.where(rng.random((200, 8)) < 0.995, truth_i[:, None], (truth_i[:, None] + 1) % 3)
    label_ij[:, :2] = truth_i[:, None]
    assert find_copies(as_votes(label_ij)).groups == ()


def test_gold_decides_between_shared_mistakes_and_good_judges() -> None:
    rng = np.random.default_rng(0)
    truth_i = rng.integers(0, 2, 400)
    wrong_ij = rng.random((400, 5)) < [0.3, 0.3, 0.25, 0.3, 0.2]
    wrong_ij[:, 1] = np.where(rng.random(400) < 0.88, wrong_ij[:, 0], wrong_ij[:, 1])
    label_ij = np.where(wrong_ij, 1 - truth_i[:, None], truth_i[:, None])
    assert find_copies(as_votes(label_ij)).groups == ()  # fewer than 97% of the answers are the same
    [group] = find_copies(replace(as_votes(label_ij), gold_i=truth_i)).groups
    assert group.workers == ("j0", "j1")
    assert group.same_wrong > 0.75 * group.wrong >= 0.75 * 10


def test_good_judges_of_a_panel_whose_other_judges_share_mistakes_are_not_copies() -> None:
    rng = np.random.default_rng(3)
    truth_i = rng.integers(0, 3, 750)
    good_ij = rng.random((750, 6)) < 0.97
    shared_i = rng.random(750) < 0.5  # items on which the weak judges make the same mistake
    weak_ij = np.where(shared_i[:, None], rng.random((750, 4)) < 0.1, rng.random((750, 4)) < 0.9)
    right_ij = np.concatenate([good_ij, weak_ij], axis=1)
    label_ij = np.where(right_ij, truth_i[:, None], (truth_i[:, None] + 1) % 3)
    assert not any(
        set(group) & {"j0", "j1", "j2", "j3", "j4", "j5"} for group in find_copies(as_votes(label_ij)).workers
    )
    named = find_copies(replace(as_votes(label_ij), gold_i=truth_i)).workers
    assert not any(set(group) & {"j0", "j1", "j2", "j3", "j4", "j5"} for group in named)


def test_groups_hold_only_workers_who_all_repeat_each_other() -> None:
    rng = np.random.default_rng(1)
    label_ij = judged(rng, "unequal skill", 7, 2, n_items=1000)
    for copy, source in ((1, 0), (2, 1)):  # the third repeats the first only by way of the second
        label_ij[:, copy] = np.where(rng.random(1000) < 0.93, label_ij[:, source], label_ij[:, copy])
    groups = find_copies(as_votes(label_ij)).workers
    assert groups
    assert all(len(group) == 2 for group in groups)


def test_three_judges_cannot_show_whether_two_are_near_copies_or_excellent() -> None:
    rng = np.random.default_rng(0)
    label_ij, _ = with_copies(rng, judged(rng, "equal skill", 3, 2, n_items=1000), 1)
    copies = find_copies(as_votes(label_ij))
    assert copies.groups == ()
    assert copies.tested.status is Status.UNTESTABLE


def test_three_judges_who_often_disagree_are_not_copies() -> None:
    truth_i = np.arange(1000) % 2
    rng = np.random.default_rng(0)
    label_ij = np.where(rng.random((1000, 3)) < 0.75, truth_i[:, None], 1 - truth_i[:, None])
    assert find_copies(as_votes(label_ij)).tested.status is Status.PASSED


def test_excellent_judges_cannot_be_distinguished_from_copies() -> None:
    truth_i = np.arange(300) % 2
    rng = np.random.default_rng(0)
    label_ij = np.where(rng.random((300, 5)) < 0.98, truth_i[:, None], 1 - truth_i[:, None])
    copies = find_copies(as_votes(label_ij))
    assert copies.groups == ()
    assert copies.tested.status is Status.UNTESTABLE


def test_two_experts_among_weak_judges_are_not_copies() -> None:
    rng = np.random.default_rng(1)
    truth_i = np.arange(1000) % 2
    accuracy_j = np.array([0.95, 0.95, 0.7, 0.65, 0.7])
    for _ in range(20):
        label_ij = np.where(rng.random((1000, 5)) < accuracy_j, truth_i[:, None], 1 - truth_i[:, None])
        assert not find_copies(as_votes(label_ij)).groups


def test_only_the_copier_of_a_crowd_is_named() -> None:
    votes, _ = simulate([0.5, 0.5], [[0.75, 0.25], [0.25, 0.75]], n_items=3000, n_votes=5, n_workers=60, rng=0)
    assert find_copies(votes).groups == ()
    source, copier = 3, 7
    item_n = np.concatenate([votes.item_n[votes.worker_n != copier], votes.item_n[votes.worker_n == source]])
    worker_n = np.concatenate([votes.worker_n[votes.worker_n != copier], np.full((votes.worker_n == source).sum(), 7)])
    label_n = np.concatenate([votes.label_n[votes.worker_n != copier], votes.label_n[votes.worker_n == source]])
    repeated = Votes.from_codes(
        item_n, worker_n, label_n, items=votes.items, workers=votes.workers, labels=votes.labels
    )
    assert find_copies(repeated).workers == (("w3", "w7"),)


def test_workers_who_only_ever_give_one_label_are_not_called_copies() -> None:
    rng = np.random.default_rng(4)
    label_ij = judged(rng, "equal skill", 40, 2, n_items=600)
    label_ij[:, :2] = 0
    votes_ij = rng.random(label_ij.shape) < 0.2
    votes_ij[:, :2] |= (rng.random(len(label_ij)) < 0.3)[:, None]
    item_n, worker_n = np.nonzero(votes_ij)
    names = {"items": range(600), "workers": [f"j{j}" for j in range(40)], "labels": range(2)}
    crowd = Votes.from_codes(item_n, worker_n, label_ij[votes_ij], **names)
    assert find_copies(crowd).workers == ()


def test_workers_without_shared_items_are_untested() -> None:
    votes, _ = simulate([0.5, 0.5], [[0.75, 0.25], [0.25, 0.75]], n_items=300, n_votes=3, n_workers=300, rng=0)
    assert find_copies(votes).tested.status is Status.UNTESTED


def test_repeated_votes_count_once_per_item() -> None:
    rng = np.random.default_rng(0)
    label_ij = judged(rng, "equal skill", 5, 2)
    votes = as_votes(label_ij)
    twice = Votes.from_codes(
        np.tile(votes.item_n, 2),
        np.tile(votes.worker_n, 2),
        np.tile(votes.label_n, 2),
        items=votes.items,
        workers=votes.workers,
        labels=votes.labels,
    )
    assert find_copies(twice) == find_copies(votes)


def test_copies_change_no_label_and_no_number_of_votes() -> None:
    rng = np.random.default_rng(0)
    label_ij = judged(rng, "unequal skill", 5, 2, n_items=200)
    label_ij[:, 1] = label_ij[:, 0]
    votes = as_votes(label_ij)
    result = mj.check(votes)
    assert result.copies == (("j0", "j1"),)
    table = result.labels.to_dict()
    assert set(table["votes"]) == {5}
    assert table["majority"] == mj.aggregate(votes, "majority").labels()


@pytest.mark.parametrize("name", ["setrel_lcquad", "judging_judges", "snow_wsd", "llmbar_65"])
def test_nobody_is_called_a_copy_for_being_right(name: str) -> None:
    votes = read_set(name)
    assert find_copies(replace(votes, gold_i=None)).groups == ()
    if name != "llmbar_65":  # where prompts of one model do repeat each other's mistakes
        assert find_copies(votes).groups == ()
