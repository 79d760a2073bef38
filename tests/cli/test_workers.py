"""Tables of workers, the gate for judges, and agreement of scores."""

import json
from pathlib import Path

from majorant.output import votes_table, write_table
from majorant.simulate import one_coin_workers, simulate


def test_check_and_workers_write_the_same_table(run):
    crew = one_coin_workers([0.85] * 19 + [0.15])
    votes, _ = simulate([0.5, 0.5], crew, n_items=600, n_votes=5, rng=0)
    write_table("votes.csv", votes_table(votes))
    run("check", "votes.csv", "--out", "results")
    run("workers", "votes.csv", "--out", "workers.csv")
    with open("results/workers.csv", encoding="utf-8") as one, open("workers.csv", encoding="utf-8") as other:  # noqa: PTH123
        checked, judged = one.read(), other.read()
    assert checked == judged
    assert "adversarial" in judged


PAIRS = Path(__file__).parents[1] / "read" / "fixtures" / "pairwise.csv"


def test_judges_are_compared_with_gold_and_the_gate_is_the_first_line(run):
    code, out, err = run("workers", "data:judges", "--bar", ".9", "--out", "workers.csv")
    assert (code, err) == (1, "")
    assert out.startswith("Gate     Not known yet: 30 gold labels are too few")
    assert "  sonnet-4: 24 of 30 right" in out
    assert out.splitlines()[-1].endswith("majorant ask data:judges --n 30")
    code, out, _ = run("workers", "data:judges", "--bar", ".4", "-q")
    assert (code, out[:30]) == (0, "Good enough to gate on at 40%:")
    assert json.loads(run("workers", "data:judges", "--json", "--out", "w.csv")[1])["judges"]["gate"] == "open"


def test_without_gold_labels_no_bar_is_met(run):
    code, out, _ = run("workers", "data:judges", "--gold", "none", "--bar", ".5", "-q")
    assert (code, out) == (
        1,
        "Votes alone do not show how accurate the judges are: they may share mistakes.\n",
    )


def test_a_crowd_gets_no_gate_unless_asked(run):
    votes, _ = simulate([0.5, 0.5], one_coin_workers([0.8] * 30), n_items=200, n_votes=5, gold=0.5, rng=0)
    write_table("votes.csv", votes_table(votes))
    assert "Gate" not in run("workers", "votes.csv")[1]
    assert run("workers", "votes.csv", "--bar", ".6")[1].startswith("Gate     Good enough")


def test_pairs_judged_in_both_orders_count_once_and_show_position_bias(run):
    code, out, err = run("workers", str(PAIRS), "--out", "workers.csv")
    assert code == 0, err
    assert "gave the same answer in both orders on" in out
    assert run("workers", str(PAIRS), "--position", "order", "--out", "workers.csv")[1] == out


def test_gate_with_a_memory_limit(run):
    votes, _ = simulate([0.5, 0.5], one_coin_workers([0.8] * 5), n_items=20, n_votes=5, rng=0)
    write_table("votes.csv", votes_table(votes))
    there, here = (run("workers", "votes.csv", "--bar", ".6", *more) for more in (("--memory", "1GB"), ()))
    assert there[0] == here[0] == 1
    assert there[1].splitlines()[:8] == here[1].splitlines()[:8]
    code, _, err = run("workers", "votes.csv", "--position", "p", "--memory", "1GB")
    assert (code, "--position needs all votes in memory" in err) == (2, True)


def test_agreement_of_scores_by_distance(run):
    rows = [f"q{i},{w},{(i * i + j) % 4 + 1}\n" for i in range(30) for j, w in enumerate("abc")]
    Path("ratings.csv").write_text("item,worker,label\n" + "".join(rows))
    code, out, _ = run("agreement", "ratings.csv", "--scores", "--out", "scores.csv")
    assert code == 0
    assert "Krippendorff's alpha, interval" in out
    assert Path("scores.csv").read_text().startswith("item,mean,median,majority,votes\n")
    facts = json.loads(run("agreement", "ratings.csv", "--scores", "--json")[1])
    assert facts["scores"]["about"] == "scores"
    assert "by distance" not in run("agreement", "ratings.csv")[1]
    assert "--out is for the table of --scores" in run("agreement", "ratings.csv", "--out", "scores.csv")[2]
