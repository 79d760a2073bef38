"""MACE: names do not matter, smoothing does; M step and bound by hand; its own model is recovered."""

import numpy as np
import pytest

import oracles.variational as oracle
from crowds import random_votes, votes_of
from majorant.methods.mace import MACE, HabitParams, habit_confusions
from majorant.methods.tables import ExpectedCounts
from majorant.votes import Votes
from oracles.kernels import ballots


def spammy_crowd(rng, n_items, n_classes=3):
    copies = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.1, 0.0])
    habit = rng.dirichlet(np.ones(n_classes), size=len(copies))
    confusion = habit_confusions(np.stack([copies, 1 - copies], axis=1), habit)
    votes, truth = votes_of(rng, confusion, n_items=n_items, n_votes=6)
    return votes, truth, copies, habit


@pytest.mark.parametrize("smoothing", [None, 0.01])
def test_it_recovers_its_own_model(smoothing):
    votes, truth, copies, habit = spammy_crowd(np.random.default_rng(0), 10_000)
    answer = MACE(smoothing=smoothing).fit(votes)
    np.testing.assert_allclose(answer.skill, copies, atol=0.04)
    np.testing.assert_allclose(answer.learned["habit"][2:], habit[2:], atol=0.06)
    assert (answer.codes("first") == truth).mean() > 0.85


@pytest.mark.parametrize("smoothing", [None, 0.005])
def test_answer_does_not_depend_on_names(smoothing):
    votes, _, _, _ = spammy_crowd(np.random.default_rng(1), 300)
    rng = np.random.default_rng(2)
    item_of, worker_of, label_of = (rng.permutation(n) for n in votes.shape)
    renamed = Votes.from_codes(
        item_of[votes.item_n],
        worker_of[votes.worker_n],
        label_of[votes.label_n],
        items=votes.items,
        workers=votes.workers,
        labels=votes.labels,
    )
    model = MACE(smoothing=smoothing, tol=1e-8)
    one, other = model.fit(votes), model.fit(renamed)
    np.testing.assert_allclose(other.trace[-1], one.trace[-1], rtol=1e-6)
    np.testing.assert_allclose(other.posterior[item_of][:, label_of], one.posterior, atol=1e-4)
    np.testing.assert_allclose(other.skill[worker_of], one.skill, atol=1e-4)


def test_smoothing_is_not_ignored():
    votes = random_votes(np.random.default_rng(0))
    skills = [MACE(smoothing=s).fit(votes).skill for s in (0.001, 1.0, 100.0)]
    assert np.abs(skills[0] - skills[1]).max() > 0.05
    np.testing.assert_allclose(skills[2], 0.5, atol=0.1)
    assert np.abs(MACE(habit=1).fit(votes).skill - MACE(habit=50).fit(votes).skill).max() > 0.01


def test_the_m_step_by_hand():
    params = HabitParams(np.array([[0.5, 0.5]]), np.array([[0.2, 0.8]]))
    counts = ExpectedCounts(np.array([[[6.0, 1.0], [2.0, 9.0]]]), np.array([7.0, 11.0]), 0.0)
    copied = 6 * 0.5 / (0.5 + 0.5 * 0.2), 9 * 0.5 / (0.5 + 0.5 * 0.8)  # 5 and 5
    updated = MACE(smoothing=1).m_step(counts, params)
    np.testing.assert_allclose(copied, (5, 5))
    np.testing.assert_allclose(updated.copies_j2, [[11 / 20, 9 / 20]])
    np.testing.assert_allclose(updated.habit_jl, [[4 / 10, 6 / 10]])


def test_the_objective_of_em_is_the_log_posterior_written_out():
    votes = random_votes(np.random.default_rng(5), n_items=8, n_votes=30)
    model = MACE(smoothing=0.1, max_iter=2, tol=0, accelerate=False)
    first = model.fit(votes)
    again = MACE(smoothing=0.1, max_iter=1).fit(votes, start=first)
    copies, habit = first.skill, first.learned["habit"]
    total = 0.1 * (np.log(copies).sum() + np.log(1 - copies).sum() + np.log(habit).sum())
    for ballot, _ in ballots(votes):
        total += np.log(
            sum(
                np.prod([copies[j] * (k == l) + (1 - copies[j]) * habit[j, l] for j, l in ballot]) / 3 for k in range(3)
            )
        )
    np.testing.assert_allclose(again.trace[0], total, rtol=1e-12)


def test_the_bound_written_out():
    votes = random_votes(np.random.default_rng(6), n_items=6, n_votes=25)
    first = MACE(max_iter=3, tol=0, accelerate=False).fit(votes)
    again = MACE(max_iter=1).fit(votes, start=first)
    copies, habit = first.learned["copies_params"], first.learned["habit_params"]
    bound = sum(oracle.dirichlet_part(row, np.full(2, 0.5)) for row in copies)
    bound += sum(oracle.dirichlet_part(row, np.full(3, 10.0)) for row in habit)
    copy, own = (np.exp([oracle.expected_log(row) for row in rows]) for rows in (copies, habit))
    log_vote = np.log(copy[:, :1, None] * np.eye(3) + (copy[:, 1:] * own)[:, None, :])
    bound += oracle.items_part(votes, log_vote, np.log(np.full(3, 1 / 3)))
    np.testing.assert_allclose(again.trace[0], bound, rtol=1e-12)
