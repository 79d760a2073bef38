"""Judges against gold: counts by hand, the level of the gate, who repeats whom, and the order of candidates."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import majorant as mj
from majorant.errors import ConfigError, DataError
from sizes import many

FIXTURES = Path(__file__).parents[1] / "read" / "fixtures"


def panel(accuracy, n_items, rng):
    """Votes of judges who are right independently, with gold on every item."""
    gold = rng.integers(0, 2, n_items)
    right = rng.random((n_items, len(accuracy))) < np.array(accuracy)
    given = np.where(right, gold[:, None], 1 - gold[:, None])
    item, judge = np.divmod(np.arange(given.size), len(accuracy))
    return {"item": item, "judge": judge, "verdict": given.ravel(), "gold": gold[item]}


def test_counts_are_those_of_a_table_by_hand():
    table = {"item": [1, 1, 2, 2, 3, 3], "judge": [*"ababab"], "verdict": ["y", "n", "n", "n", "y", "y"],
             "gold": ["y", "y", "n", "n", "n", "n"]}  # fmt: skip
    found = mj.judges(table)
    a, b = found.judges
    assert (a.right, a.judged, a.wrong) == (2, 3, (3,))
    assert a.confusion_kl.tolist() == [[1, 1], [0, 1]]
    assert a.kappa == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    assert b.wrong == (1, 3)
    assert (found.panel.right, found.panel.judged) == (1, 3)  # one item ties, which is not right
    (pair,) = found.repeats
    assert (pair.common, pair.both_wrong, pair.either_wrong) == (3, 1, 2)


def test_without_gold_nothing_is_promised():
    table = panel([0.99] * 3, 50, np.random.default_rng(0))
    del table["gold"]
    found = mj.judges(table)
    assert found.gate.startswith("Not known: votes alone promise nothing")
    assert found.judges == ()


def test_a_judge_below_the_bar_hardly_ever_passes_the_gate():
    """Five judges and their majority vote, each right just under 70 %: any passes in at most 5 % of the runs."""
    rng = np.random.default_rng(3)
    n_runs = many(300, quick=100)
    passed = 0
    for _ in range(n_runs):
        table = panel([0.699], 100, rng)
        copies = {name: np.repeat(values, 5) for name, values in table.items()}
        copies["judge"] = np.tile(np.arange(5), 100)  # five who always agree: the panel is as good as each
        passed += mj.judges(mj.read(copies), bar=0.7).gate.startswith("Good enough")
    assert binomtest(passed, n_runs, 0.05, alternative="greater").pvalue > 1e-3


def test_good_and_bad_judges_are_told_apart():
    rng = np.random.default_rng(4)
    good = mj.judges(panel([0.98, 0.6], 600, rng), bar=0.9).gate
    assert good.startswith("Good enough to gate on at 90 %: 0,")
    assert mj.judges(panel([0.6, 0.6], 600, rng), bar=0.9).gate.startswith("Not good enough to gate on at 90 %")


def test_the_order_of_candidates_is_told_per_judge():
    found = {one.judge: one for one in mj.judges(FIXTURES / "pairwise.csv", position="order").positions}
    assert (found["ana"].pairs, found["ana"].consistent) == (4, 4)
    assert (found["cy"].consistent, found["cy"].first_twice, found["cy"].second_twice) == (1, 3, 0)
    assert found["cy"].p_value == pytest.approx(0.25)


@pytest.mark.parametrize(("given", "swapped"), [("A", "B"), ("AB", "BA"), ("original", "swapped"), (False, True)])
def test_any_wording_of_the_order_will_do(given, swapped):
    rows = [(i, given, "A") for i in range(8)] + [(i, swapped, "B") for i in range(8)]
    table = {"prompt": [i for i, _, _ in rows], "judge": ["j"] * 16, "shown": [p for _, p, _ in rows],
             "winner": [x for *_, x in rows]}  # fmt: skip
    (one,) = mj.judges(table, position="shown").positions
    assert (one.first_twice, one.consistent) == (8, 0)
    assert one.p_value == pytest.approx(2 / 2**8)


def test_what_cannot_be_told_is_refused():
    table = {"prompt": [1, 2], "judge": ["j", "j"], "shown": ["left", "A"], "winner": ["A", "B"]}
    with pytest.raises(ConfigError, match="cannot tell from 'left'"):
        mj.judges(table, position="shown")
    with pytest.raises(DataError, match="two candidates"):
        mj.judges({**table, "winner": ["A", "A"]}, position="shown")


def test_a_column_that_says_the_order_is_found_and_check_names_the_command():
    found = {one.judge: one.first_twice for one in mj.judges(FIXTURES / "pairwise.csv").positions}
    assert found == {"ana": 0, "bo": 0, "cy": 3}
    assert mj.judges(FIXTURES / "judges.jsonl").positions == ()
    with pytest.raises(DataError, match="If 'order' is the order of a pair: majorant judges"):
        mj.read(FIXTURES / "pairwise.csv")


def test_judges_who_err_together_are_worth_less():
    rng = np.random.default_rng(5)
    alone = mj.judges(panel([0.8] * 3, 400, rng)).worth
    table = panel([0.8], 400, rng)
    copies = {name: np.repeat(values, 3) for name, values in table.items()} | {"judge": np.tile(np.arange(3), 400)}
    together = mj.judges(copies).worth
    assert alone.low > 2.2
    assert together.high < 1.2
    assert mj.judges(panel([0.8] * 3, 20, rng)).worth.value is None
