"""Judges against gold: counts, the level of the gate, copies, and position bias."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import majorant as mj
from majorant.errors import ConfigError, DataError
from majorant.render.judges import gate_text, judges_facts, judges_lines, keep_text
from majorant.results.judges import Gate
from majorant.results.sub_panels import Enough, SubPanel
from majorant.values import Estimate
from majorant.votes import NoteKind
from sizes import many

FIXTURES = Path(__file__).parents[1] / "read" / "fixtures"


def panel(accuracy, n_items, rng):
    """Votes of judges who are right independently, with gold on every item."""
    gold = rng.integers(0, 2, n_items)
    right = rng.random((n_items, len(accuracy))) < np.array(accuracy)
    given = np.where(right, gold[:, None], 1 - gold[:, None])
    item, judge = np.divmod(np.arange(given.size), len(accuracy))
    return {"item": item, "judge": judge, "verdict": given.ravel(), "gold": gold[item]}


def test_counts_match_a_table_by_hand():
    table = {"item": [1, 1, 2, 2, 3, 3], "judge": [*"ababab"], "verdict": ["y", "n", "n", "n", "y", "y"],
             "gold": ["y", "y", "n", "n", "n", "n"]}  # fmt: skip
    found = mj.judges(table)
    a, b = found.judges
    assert (a.right, a.judged, a.wrong) == (2, 3, (3,))
    assert a.confusion_kl.tolist() == [[1, 1], [0, 1]]
    assert a.kappa == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    assert b.wrong == (1, 3)
    assert (found.panel.right, found.panel.judged, found.panel.tied) == (1.5, 3, 1)  # a tie counts by its share
    (pair,) = found.repeats
    assert (pair.common, pair.both_wrong, pair.either_wrong) == (3, 1, 2)


def test_without_gold_no_judge_passes_the_gate():
    table = panel([0.99] * 3, 50, np.random.default_rng(0))
    del table["gold"]
    found = mj.judges(table)
    assert found.gate is Gate.NO_GOLD
    assert found.judges == ()
    assert "Votes alone do not show how accurate the judges are" in gate_text(found)
    assert judges_lines(found)[1] == "To see which judges you need, label 30 random items."


def test_a_judge_below_the_bar_hardly_ever_passes_the_gate():
    """Five judges and their majority vote, each right just under 70 %: any passes in at most 5 % of the runs."""
    rng = np.random.default_rng(3)
    n_runs = many(300, quick=100)
    passed = 0
    for _ in range(n_runs):
        table = panel([0.699], 100, rng)
        copies = {name: np.repeat(values, 5) for name, values in table.items()}
        copies["judge"] = np.tile(np.arange(5), 100)  # five who always agree: the panel is as good as each
        passed += mj.judges(mj.read(copies), bar=0.7).gate is Gate.MET
    assert binomtest(passed, n_runs, 0.05, alternative="greater").pvalue > 1e-3


def test_good_and_bad_judges_are_distinguished():
    rng = np.random.default_rng(4)
    good = mj.judges(panel([0.98, 0.6], 600, rng), bar=0.9)
    assert good.gate is Gate.MET
    assert gate_text(good).startswith("Good enough to gate on at 90%: 0 is right on 9")
    poor = mj.judges(panel([0.6, 0.6], 600, rng), bar=0.9)
    assert poor.gate is Gate.NOT_MET
    assert gate_text(poor).startswith("Not good enough to gate on at 90%: even the best,")


def test_the_order_of_candidates_is_reported_per_judge():
    found = {one.judge: one for one in mj.judges(FIXTURES / "pairwise.csv", position="order").positions}
    assert (found["ana"].pairs, found["ana"].consistent) == (4, 4)
    assert (found["cy"].consistent, found["cy"].first_twice, found["cy"].second_twice) == (1, 3, 0)
    assert found["cy"].p_value == pytest.approx(0.25)


@pytest.mark.parametrize(("given", "swapped"), [("A", "B"), ("AB", "BA"), ("original", "swapped"), (False, True)])
def test_order_accepts_all_spellings(given, swapped):
    rows = [(i, given, "A") for i in range(8)] + [(i, swapped, "B") for i in range(8)]
    table = {"prompt": [i for i, _, _ in rows], "judge": ["j"] * 16, "shown": [p for _, p, _ in rows],
             "winner": [x for *_, x in rows]}  # fmt: skip
    (one,) = mj.judges(table, position="shown").positions
    assert (one.first_twice, one.consistent) == (8, 0)
    assert one.p_value == pytest.approx(2 / 2**8)


def test_ambiguous_input_is_refused():
    table = {"prompt": [1, 2], "judge": ["j", "j"], "shown": ["left", "A"], "winner": ["A", "B"]}
    with pytest.raises(ConfigError, match="cannot tell from 'left'"):
        mj.judges(table, position="shown")
    with pytest.raises(DataError, match="two candidates"):
        mj.judges({**table, "winner": ["A", "A"]}, position="shown")


def test_order_column_is_detected_and_merges_both_verdicts():
    found = {one.judge: one.first_twice for one in mj.judges(FIXTURES / "pairwise.csv").positions}
    assert found == {"ana": 0, "bo": 0, "cy": 3}
    assert mj.judges(FIXTURES / "judges.jsonl").positions == ()
    votes = mj.read(FIXTURES / "pairwise.csv")
    assert votes.shape == (4, 3, 3)  # A, B and tie
    (note,) = (note for note in votes.account.notes if note.kind is NoteKind.BOTH_ORDERS)
    assert note.facts == {"verdicts": 12, "changed": 3, "places": []}


def test_positions_and_names_are_distinguished_in_labels():
    rows = [
        (i, j, order, "A" if (i % 3 == 0) == (order == "original") else "B")
        for i in range(9)
        for j in "jkl"
        for order in ("original", "swapped")
    ]
    table = dict(zip(("item", "judge", "order", "winner"), map(list, zip(*rows, strict=True)), strict=True))
    assert [one.consistent for one in mj.judges(table).positions] == [9, 9, 9]
    votes = mj.read(table)
    assert [votes.labels[k] for k in votes.label_n[::3]] == ["A", "B", "B"] * 3
    (note,) = (note for note in votes.account.notes if note.kind is NoteKind.BOTH_ORDERS)
    assert note.facts["places"] == ["A", "B"]


def test_judges_who_err_together_are_worth_less():
    rng = np.random.default_rng(5)
    alone = mj.judges(panel([0.8] * 3, 400, rng)).worth
    table = panel([0.8], 400, rng)
    copies = {name: np.repeat(values, 3) for name, values in table.items()} | {"judge": np.tile(np.arange(3), 400)}
    together = mj.judges(copies).worth
    assert alone.low > 2.2
    assert together.high < 1.2
    assert mj.judges(panel([0.8] * 3, 20, rng)).worth.value is None


def test_judge_with_two_gold_items_is_left_out():
    table = panel([0.6, 0.6], 600, np.random.default_rng(0))
    for item in (0, 1):
        for name, value in {"item": item, "judge": "late", "verdict": 1, "gold": table["gold"][2 * item]}.items():
            table[name] = [*table[name], value]
    found = mj.judges(table, bar=0.9)
    assert found.left_out == ("late",)
    assert found.gate is Gate.NOT_MET
    assert "  Left out because they labelled too few gold items: late" in judges_lines(found)


def test_few_gold_labels_exclude_no_judge():
    assert mj.judges(panel([0.6, 0.9], 6, np.random.default_rng(0))).left_out == ()


def test_gold_is_used_with_hundreds_of_judges():
    found = mj.judges(panel([0.8] * 150, 60, np.random.default_rng(0)))
    assert len(found.judges) == 150
    assert found.judges[0].accuracy.value >= found.judges[-1].accuracy.value


def test_best_judges_are_compared_with_the_whole_panel():
    found = mj.judges(panel([0.95, 0.55, 0.55, 0.55, 0.55, 0.55, 0.55], 600, np.random.default_rng(1)))
    single, three, five = found.sub_panels
    assert single.judges == (0,)
    assert single.enough is Enough.BETTER
    assert single.difference.low > 0
    assert len(three.judges) == 3
    assert len(five.judges) == 5
    assert "Keep 0: better than all 7 judges together." in judges_lines(found)


@pytest.mark.parametrize(
    ("difference", "text"),
    [(-0.04, "4.0 points worse than all 5"), (0.01, "1.0 points better than all 5"), (0.0, "the same as all 5")],
)
def test_a_sub_panel_is_compared_with_all_judges(difference, text):
    between = Estimate(difference, difference - 0.1, difference + 0.1)
    one = SubPanel(judges=("ann",), accuracy=0.9, difference=between)
    ends = f"({100 * difference - 10:+.1f} to {100 * difference + 10:+.1f})"
    assert keep_text([one], 5, 100)[-1] == f"  The best judge: ann, right on 90.0%, {text} {ends}"


def test_sub_panel_interval_is_valid_whichever_panel_is_chosen():
    """Nine equal judges: the best three look better than they are, and their interval allows for it."""
    rng = np.random.default_rng(2)
    n_runs = many(200, quick=40)
    too_good = 0
    for _ in range(n_runs):
        found = mj.judges(panel([0.75] * 9, 100, rng))
        fresh = panel([0.75] * 9, 4000, rng)
        given = np.asarray(fresh["verdict"]).reshape(-1, 9)
        gold = np.asarray(fresh["gold"])[::9]
        full = ((given.mean(axis=1) > 0.5) == gold).mean()
        for one in found.sub_panels:
            chosen = ((given[:, list(one.judges)].mean(axis=1) > 0.5) == gold).mean()
            too_good += one.difference.low > chosen - full + 0.02
    assert too_good <= 0.05 * n_runs


def test_a_duplicate_is_never_recommended():
    table = panel([0.9, 0.9, 0.8, 0.7, 0.7, 0.7], 300, np.random.default_rng(3))
    given = np.asarray(table["verdict"]).reshape(-1, 6).copy()
    given[:, 1] = given[:, 0]
    found = mj.judges({**table, "verdict": given.ravel()})
    assert found.copies.workers == ((0, 1),)
    assert not any({0, 1} <= set(one.judges) for one in found.sub_panels)


def test_few_gold_labels_do_not_select_judges():
    found = mj.judges(panel([0.95, 0.5, 0.5, 0.5], 20, np.random.default_rng(0)))
    assert found.sub_panels == ()
    assert "To see which judges you need, label 10 more random items." in judges_lines(found)


@pytest.mark.parametrize(("bar", "code"), [(["--bar", "0.9"], 1), (["--bar", "0.5"], 0), ([], 0)])
def test_the_command_fails_where_the_bar_that_was_set_is_not_met(bar, code, tmp_path, monkeypatch, capsys):
    from majorant.cli import main

    table = panel([0.7, 0.7], 200, np.random.default_rng(0))
    rows = zip(*table.values(), strict=True)
    path = tmp_path / "votes.csv"
    path.write_text("item,judge,verdict,gold\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    monkeypatch.setattr("sys.argv", ["majorant", "workers", str(path), "--out", str(tmp_path), *bar])
    with pytest.raises(SystemExit) as stop:
        main()
    assert (stop.value.code or 0) == code
    assert "gate on" in capsys.readouterr().out or code == 0


def test_facts_are_json_serialisable():
    import json

    facts = judges_facts(mj.judges(panel([0.9, 0.6, 0.6, 0.6], 100, np.random.default_rng(0))))
    assert json.loads(json.dumps(facts))["gate"] in ("met", "open", "not met")
    assert facts["sub_panels"][0]["enough"] in ("better", "as good", "open", "worse")
