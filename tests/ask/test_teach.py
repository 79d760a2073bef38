"""Items that teach are drawn with the recorded chances, reproducibly."""

from collections import Counter

import numpy as np
import pytest

from majorant.ask.teach import draw_to_teach, margin, sizes_of_rule, sizes_of_votes
from majorant.evidence.betting import evidence_above

NONE = np.empty(0, np.int64)


def test_items_are_drawn_with_the_recorded_chances():
    size, runs = np.array([0.1, 0.5, 1.1, 0.3]), 8000
    seen, chance = Counter(), {}
    for seed in range(runs):
        drawn = draw_to_teach(size, NONE, 2, seed)
        pair = tuple(drawn.place_t.tolist())
        seen[pair] += 1
        chance[pair] = drawn.chance_t.prod()
    assert sum(chance.values()) == pytest.approx(1)
    chi_square = sum((seen[pair] - runs * p) ** 2 / (runs * p) for pair, p in chance.items())
    assert chi_square < 31.3  # 11 degrees of freedom, 1 in 1,000


def test_the_smallest_chance_is_that_of_an_item_that_was_left():
    size = np.array([0.1, 0.5, 1.1, 0.3])
    drawn = draw_to_teach(size, np.array([2]), 2, seed=5)
    assert 2 not in drawn.place_t
    assert drawn.least_t[0] == pytest.approx(0.1 / 0.9)
    assert (drawn.least_t <= drawn.chance_t).all()


def test_all_items_can_be_drawn_and_then_none_is_left():
    assert sorted(draw_to_teach(np.ones(4), NONE, 9, 0).place_t) == [0, 1, 2, 3]
    assert not len(draw_to_teach(np.ones(4), np.arange(4), 5, 0).place_t)


def test_the_next_items_depend_on_how_many_were_drawn_and_not_on_their_order():
    size, drawn = np.linspace(0.1, 1, 200), np.array([5, 9, 100])
    first = draw_to_teach(size, drawn, 5, seed=1).place_t
    assert np.array_equal(first, draw_to_teach(size, drawn[::-1], 5, seed=1).place_t)
    assert not np.array_equal(first, draw_to_teach(size, drawn, 5, seed=2).place_t)


def test_sizes_follow_margin_and_change():
    share_ik = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.6, 0.3, 0.1]])
    assert margin(share_ik).tolist() == pytest.approx([1, 0, 0.3])
    assert sizes_of_votes(share_ik).tolist() == pytest.approx([0.1, 1.1, 0.8])
    learned_ik = np.array([[0.2, 0.8, 0], [0.9, 0.1, 0], [0.6, 0.2, 0.2]])
    assert sizes_of_rule(learned_ik, share_ik).tolist() == pytest.approx(
        [0.1 + (0.4 + 1) ** 2, 0.1 + (0.2 + 0.5) ** 2, 0.1 + 0.6**2]
    )


@pytest.mark.parametrize("truth", ["follows", "opposes"])
def test_items_that_were_not_drawn_stay_in_random_order(truth):
    """Proofs after teaching bet on the other items: a true mean is refuted in at most 5 of 100 designs.

    Items that are drawn more often are mostly right (or mostly wrong), so a proof that counted them would be wrong.
    """
    rng, runs, n_items = np.random.default_rng(0), 2000, 50
    size = np.linspace(0.1, 2, n_items)
    y = (np.arange(n_items) >= n_items // 2) == (truth == "follows")
    refuted = 0
    for seed in range(runs):
        order = rng.permutation(n_items)  # the order of the design; items are drawn by their place in it
        drawn = draw_to_teach(size[order], NONE, 15, seed).place_t
        y_t = np.delete(y[order], drawn).astype(float)
        refuted += evidence_above(y_t[:20], len(y_t), y_t.mean()) >= -np.log(0.05)
    assert refuted <= 0.05 * runs + 2 * np.sqrt(0.05 * 0.95 * runs)
