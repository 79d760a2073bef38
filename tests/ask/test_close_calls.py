"""What majority gives away in close calls: cells, the knapsack against brute force, what labels may do."""

import json
from itertools import product

import numpy as np
import pytest

from majorant.ask.close_calls import (
    ANY_LEADER,
    MAJORITY_BEATEN,
    MEAN_G,
    CloseCalls,
    Options,
    close_calls,
    knapsack,
)
from majorant.ask.question import OPEN, SKIPPED, UNASKED
from majorant.errors import ConfigError


def crowd(sizes):
    """Three votes an item, two classes: (leader, clear, items, share of the runner-up) per cell -> counts, truth."""
    counts, truth = [], []
    for leader, clear, n, wrong in sizes:
        row = [3, 0] if clear else [2, 1]
        counts += [row if leader == 0 else row[::-1]] * n
        n_wrong = round(wrong * n)
        truth += [1 - leader] * n_wrong + [leader] * (n - n_wrong)
    return np.array(counts), np.array(truth)


def question_of(counts, truth, seed, **settings):
    """The question with a random order, and the truth in that order."""
    cells = close_calls(counts, tolerance=settings.get("tolerance", 0.01))
    order = np.random.default_rng(seed).permutation(np.flatnonzero(cells.cell_i >= 0))
    return CloseCalls.of(cells, order, n_classes=counts.shape[1], **settings), truth[order]


def loss_of(question, truth_d):
    """L, by the definition; the order must hold all items."""
    gain_d = (truth_d == question.second_d) * 1.0 - (truth_d == question.top_d)
    cells = range(len(question.size_c))
    return sum(max(gain_d[question.cell_d == c].sum(), 0) for c in cells) / question.n_items


def run(question, truth_d, limit=10**9):
    """Label what is asked next until it is decided."""
    progress, used = question.start(), 0
    gain_d = (1.0 + (truth_d == question.second_d) - (truth_d == question.top_d)) / 2
    draws = [gain_d[question.cell_d == c] for c in range(len(question.size_c))]
    while progress.verdict == OPEN and used < limit:
        cell = progress.next_cell()
        progress, used = progress.add(cell, [draws[cell][progress.betting_c[cell].seen]]), used + 1
    return progress, used


def test_cells_by_leader_and_closeness():
    counts = (
        [[2, 1]] * 40 + [[3, 0]] * 40 + [[1, 2]] * 40 + [[5, 1]] * 40 + [[3, 2]] * 40 + [[1, 1]] * 10 + [[0, 0]] * 5
    )
    cells = close_calls(counts, tolerance=0.01)
    named = list(zip(cells.leader_c.tolist(), cells.band_c.tolist(), cells.size_c.tolist(), strict=True))
    assert named == [(0, 0, 80), (1, 0, 40), (0, 1, 40), (0, 2, 40)]
    assert (cells.n_items, cells.n_tied) == (210, 10)
    assert cells.tie_stake == pytest.approx(5 / 210)
    assert (cells.cell_i[-15:] == -1).all()
    assert (cells.second_i[:40] == 1).all()


def test_small_cells_and_clear_calls_of_many_classes_are_pooled():
    rows = [[2, 1, 0]] * 60 + [[1, 2, 0]] * 60 + [[0, 1, 2]] * 2 + [[3, 0, 0]] * 40 + [[0, 0, 3]] * 40 + [[1, 1, 1]]
    cells = close_calls(rows, tolerance=0.05)
    named = list(zip(cells.leader_c.tolist(), cells.band_c.tolist(), cells.size_c.tolist(), strict=True))
    assert named == [(ANY_LEADER, 0, 2), (0, 0, 60), (1, 0, 60), (ANY_LEADER, 2, 80)]
    assert cells.tie_stake == pytest.approx((2 / 3) / 203)
    assert cells.second_i[120] == 1


def test_a_tied_runner_up_is_the_commoner_class():
    cells = close_calls([[3, 1, 1], [0, 0, 4], [0, 5, 0]], tolerance=0.01)
    assert cells.top_i[0] == 0
    assert cells.second_i[0] == 1


def test_one_class_is_refused():
    with pytest.raises(ConfigError, match="two classes"):
        close_calls([[3], [2]], tolerance=0.01)


def brute_force(progress, budget):
    """Theorem 2 by trying every set of cells and every step of every mean."""
    question = progress.question
    choices = []
    for c, betting in enumerate(progress.betting_c):
        share = question.size_c[c] / question.n_items
        steps = [(betting.now_below_m[g], share * (2 * MEAN_G[g + 1] - 1)) for g in range(len(MEAN_G) - 1)]
        choices.append([(0.0, 0.0), *[step for step in steps if np.isfinite(step[0])][::4], steps[-1]])
    return max(
        sum(loss for _, loss in chosen) for chosen in product(*choices) if sum(cost for cost, _ in chosen) < budget
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_knapsack_is_never_below_brute_force_and_hardly_above(seed):
    rng = np.random.default_rng(seed)
    sizes = [
        (leader, clear, int(rng.integers(30, 120)), rng.uniform(0.05, 0.6))
        for leader, clear in ((0, 0), (1, 0), (1, 1))
    ]
    question, truth_d = question_of(*crowd(sizes), seed)
    progress, _ = run(question, truth_d, limit=int(rng.integers(5, 40)))
    brute = brute_force(progress, np.log(20))
    assert brute - 1e-9 <= progress.bound.value <= brute + 0.05
    assert sum(progress.bound.held.values()) == pytest.approx(progress.bound.value)


def test_a_cell_left_out_cannot_lend_its_evidence():
    """The second cell of a chain has a capital below 1, but cannot be taken without the first, which costs much."""
    first, second = Options(0, np.array([2.9]), np.array([0.01])), Options(1, np.array([-0.5]), np.array([0.01]))
    other = Options(2, np.array([0.3, 2.9]), np.array([0.015, 0.06]))
    bound = knapsack([[other], [first, second]], budget=3.0)
    assert bound.value == pytest.approx(0.06)
    assert bound.held == pytest.approx({2: 0.06})
    bound = knapsack([[other], [first, second]], budget=2.5)
    assert bound.held == pytest.approx({0: 0.01, 1: 0.01})
    assert bound.value == pytest.approx(0.02)


@pytest.mark.parametrize("seed", range(4))
def test_assuming_monotonicity_never_raises_the_bound(seed):
    sizes = [(0, 0, 90, 0.4), (0, 1, 200, 0.1), (1, 0, 110, 0.45), (1, 1, 150, 0.05)]
    counts, truth = crowd(sizes)
    free, truth_d = question_of(counts, truth, seed)
    monotone, _ = question_of(counts, truth, seed, monotone=True)
    rng = np.random.default_rng(seed)
    answer_d = np.where(rng.random(len(truth_d)) < 0.1, truth_d, UNASKED)
    answer_d[:30] = truth_d[:30]
    assert monotone.progress(answer_d).bound.value <= free.progress(answer_d).bound.value + 1e-12


@pytest.mark.parametrize("wrong", [0.3, 0.55, 0.7])
def test_with_all_labels_the_bounds_are_the_loss(wrong):
    question, truth_d = question_of(*crowd([(0, 0, 40, wrong), (1, 0, 30, 0.6), (0, 1, 100, 0.1)]), seed=1)
    outcome = question.evaluate(truth_d)
    assert outcome.value.value == pytest.approx(loss_of(question, truth_d))
    assert outcome.value.high == pytest.approx(loss_of(question, truth_d))
    assert outcome.value.low == pytest.approx(loss_of(question, truth_d))
    assert outcome.verdict == MAJORITY_BEATEN


def test_answers_in_any_batches_give_what_one_by_one_gives():
    question, truth_d = question_of(*crowd([(0, 0, 60, 0.3), (1, 0, 50, 0.5), (0, 1, 90, 0.05)]), seed=2)
    progress, _ = run(question, truth_d, limit=25)
    answer_d = np.full(len(truth_d), UNASKED)
    for c, betting in enumerate(progress.betting_c):
        at = np.flatnonzero(question.cell_d == c)[: betting.seen]
        answer_d[at] = truth_d[at]
    assert question.progress(answer_d).bound.value == pytest.approx(progress.bound.value)


def test_what_the_expert_skips_or_leaves_out_never_helps():
    question, truth_d = question_of(*crowd([(0, 0, 80, 0.2), (1, 0, 80, 0.25), (0, 1, 300, 0.05)]), seed=3)
    answer_d = np.where(np.arange(len(truth_d)) < 200, truth_d, UNASKED)
    whole = question.evaluate(answer_d)
    rng = np.random.default_rng(0)
    for gap in (SKIPPED, UNASKED):
        answer = np.where((rng.random(len(truth_d)) < 0.1) & (answer_d >= 0), gap, answer_d)
        some = question.evaluate(answer)
        assert some.value.high >= whole.value.high - 1e-12
        assert some.value.low <= whole.value.low + 1e-12


def test_the_cell_that_holds_most_of_the_bound_is_asked_first():
    question, _ = question_of(*crowd([(0, 0, 200, 0.3), (1, 0, 20, 0.3), (0, 1, 100, 0.1)]), seed=0)
    following = question.next_items(np.full(question.size, UNASKED))
    assert sorted(following.tolist()) == list(range(question.size))
    assert question.cell_d[following[0]] == 0
    assert question.expected() is not None


def test_a_question_comes_back_from_json():
    question, truth_d = question_of(*crowd([(0, 0, 30, 0.3), (1, 1, 60, 0.1)]), seed=0, monotone=True, tolerance=0.02)
    again = CloseCalls.from_dict(json.loads(json.dumps(question.to_dict())))
    answer_d = np.where(np.arange(len(truth_d)) < 40, truth_d, UNASKED)
    assert again.evaluate(answer_d).value == question.evaluate(answer_d).value
    assert again.monotone


@pytest.mark.parametrize("counts", [[[2, 1], [1, 2], [3, 0], [0, 3]], [[2, 1, 0], [0, 2, 1], [3, 2, 1], [5, 0, 0]]])
def test_the_evidence_for_beaten_is_a_mean_over_sets_of_cells(counts):
    question, _ = question_of(np.array(counts * 20), np.zeros(len(counts) * 20, int), 0)
    weights = [weight for _, weight in question.sets()]
    assert min(weights) > 0
    assert sum(weights) == pytest.approx(1)
    assert sum(question.prior_c) == pytest.approx(1)


def test_a_loss_that_is_certain_but_slight_is_not_called_beaten():
    """A cell of ten items, all of them lost, is a tenth of a point of the file: true, but of no use."""
    counts, truth = crowd([(0, 0, 10, 1.0), (1, 1, 9990, 0.0)])
    question, truth_d = question_of(counts, truth, seed=0)
    answer_d = np.where(question.size_c[question.cell_d] == 10, truth_d, UNASKED)
    outcome = question.evaluate(answer_d)
    assert outcome.verdict == OPEN
    assert outcome.value.low == pytest.approx(0.001)
