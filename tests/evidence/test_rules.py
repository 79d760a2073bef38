"""Rules by name: methods, single judges and groups of judges."""

import json
from itertools import combinations

import pytest

import majorant as mj
from majorant.errors import ConfigError
from majorant.evidence.rules import fit_rule, full_judges, rule_named
from majorant.simulate import one_coin_workers, simulate
from real import read_set

VOTES = [
    *[(item, "gpt", "no") for item in "abc"],
    *[(item, "gemini", "yes") for item in "abcd"],
    *[(item, "claude", "yes") for item in "abc"],
]


def fit_named_rule(votes, rule):
    return fit_rule(rule_named(rule, votes.workers), votes)


def test_judge_as_a_rule_uses_the_majority_where_it_has_no_vote():
    fit = fit_named_rule(mj.read(VOTES), "gpt")
    assert (fit.method, fit.labels()) == ("gpt", ["no", "no", "no", "yes"])


def test_subset_of_judges_as_a_rule():
    votes = mj.read(VOTES)
    assert fit_named_rule(votes, "gemini+claude").labels() == ["yes"] * 4
    assert fit_named_rule(votes, "gpt+gemini").codes().tolist() == [-1, -1, -1, 1]


def test_method_names_take_precedence_over_judges():
    votes = mj.read([("a", "majority", 1), ("a", "ds", 0), ("a", "w", 0)])
    assert fit_named_rule(votes, "majority").labels() == [0]
    assert fit_named_rule(votes, "ds").labels() == [0]  # the worker, not Dawid-Skene
    assert fit_named_rule(mj.read(VOTES), "mv").method == "majority"


def test_unknown_rules_are_refused_with_methods_and_workers():
    with pytest.raises(ConfigError, match=r"no method 'gtp'.*You can also name workers: gpt, gemini, claude"):
        fit_named_rule(mj.read(VOTES), "gtp")


def test_judges_who_label_nearly_everything():
    assert full_judges(mj.read(VOTES)) == ["gemini"]


def test_ask_races_judges_by_name(run, tmp_path):
    votes, truth = simulate([0.5, 0.5], one_coin_workers([0.95, 0.5, 0.5, 0.5]), n_items=300, n_votes=4, rng=0)
    rows = zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    (tmp_path / "votes.csv").write_text("item,worker,label\n" + "".join(f"q{i},j-{j},{k}\n" for i, j, k in rows))
    code, out, _ = run("ask", "--race", "majority", "j-0", "j-1+j-2", "votes.csv", "--json", "--n", 60)
    assert code == 0
    assert json.loads(out)["rules"] == ["majority", "j-0", "j-1+j-2"]
    design = mj.ask(str(tmp_path / "votes.csv"), between=("majority", "j-0"), n=60)
    labels = {item: design.labels[truth[int(item[1:])]] for item in design.items}
    assert design.evaluate(labels).verdict == "better"
    code, out, _ = run("ask", "votes.csv", "--race", "--json", "--out", "race.csv")
    assert json.loads(out)["rules"] == ["majority", "weighted-vote", "j-0", "j-1", "j-2", "j-3"]


@pytest.fixture
def panel(tmp_path):
    """One good judge and four bad ones, with the truth beside them."""
    crew = one_coin_workers([0.95, 0.4, 0.4, 0.4, 0.45])
    votes, truth = simulate([0.5, 0.5], crew, n_items=300, n_votes=5, rng=0)
    names = [f"q{i},{('no', 'yes')[k]}\n" for i, k in enumerate(truth)]
    rows = zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    lines = [f"q{i},gpt-{j},{('no', 'yes')[k]}\n" for i, j, k in rows]
    (tmp_path / "votes.csv").write_text("item,judge,label\n" + "".join(lines))
    (tmp_path / "truth.csv").write_text("item,gold\n" + "".join(names))
    return {f"q{i}": ("no", "yes")[k] for i, k in enumerate(truth)}


def test_check_and_aggregate_accept_a_judge_as_the_method(run, panel):
    code, out, _ = run("check", "votes.csv", "--gold-file", "truth.csv", "--method", "gpt-0")
    assert code == 0
    assert "Switch to gpt-0: +" in out
    code, out, _ = run("check", "votes.csv", "--method", "gpt-0")
    assert "majorant ask votes.csv --n 40 --between majority gpt-0" in out
    assert run("aggregate", "votes.csv", "--method", "gpt-0+gpt-1", "--out", "labels.csv")[0] == 0
    assert "gpt-9" in run("check", "votes.csv", "--method", "gpt-9")[2]


def test_method_table_lists_the_judges_of_a_panel(panel, tmp_path):
    rows = {row.method: row.accuracy.value for row in mj.compare(str(tmp_path / "votes.csv"), gold=panel)}
    assert rows["gpt-0"] > 0.9 > 0.6 > rows["majority"]
    named = mj.compare(str(tmp_path / "votes.csv"), ["majority", "gpt-0+gpt-4"], gold=panel)
    assert [row.method for row in named] == ["majority", "gpt-0+gpt-4"]


def test_labels_of_a_race_of_judges_go_back_to_check(run, panel, tmp_path):
    design = mj.ask(str(tmp_path / "votes.csv"), between=("majority", "gpt-0", "gpt-1"), n=25)
    design.write(tmp_path / "race.csv", labels={item: panel[item] for item in design.items})
    result = mj.check(str(tmp_path / "votes.csv"), gold_file=str(tmp_path / "race.csv"))
    assert result.answer.rule == "gpt-0"
    basis = result.answer.basis
    assert 0 < basis.wins + basis.losses < len(design.items)  # gpt-1 differs on items where these two agree


def test_a_copy_is_a_rule_like_any_other_judge(run, tmp_path):
    votes, _ = simulate([0.5, 0.5], one_coin_workers([0.8, 0.7, 0.7, 0.6]), n_items=200, n_votes=4, rng=0)
    rows = [(i, f"w{j}", k) for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)]
    rows += [(i, "twin", k) for i, worker, k in rows if worker == "w0"]
    (tmp_path / "votes.csv").write_text("item,worker,label\n" + "".join(f"q{i},{w},{k}\n" for i, w, k in rows))
    assert run("check", "votes.csv", "--method", "twin")[0] == 0


def test_plans_ignore_a_judges_confidence_in_itself(panel, tmp_path):
    assert mj.ask(str(tmp_path / "votes.csv"), between=("majority", "gpt-1")).expected == 40


@pytest.mark.parametrize("name", ["mmlu_error", "llmbar_six"])
def test_two_judges_and_thirty_labels_give_an_answer(name, tmp_path):
    votes = read_set(name)
    gold = {item: votes.labels[k] for item, k in zip(votes.items, votes.truth_i, strict=True) if k >= 0}
    for pair in combinations(range(len(votes.workers)), 2):
        two = [
            (votes.items[i], votes.workers[j], votes.labels[k])
            for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
            if j in pair
        ]
        design = mj.ask(two, n=30)
        labels, folder = {item: gold[item] for item in design.items}, tmp_path / "-".join(map(str, pair))
        folder.mkdir()
        design.write(folder / "labels.csv", labels=labels)
        result = mj.check(two, gold_file=str(folder / "labels.csv"))
        assert None not in result.labels.to_dict()["label"]
