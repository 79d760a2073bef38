"""Rules by name: judges and panels of some judges beside methods."""

import json

import numpy as np
import pytest

import majorant as mj
from majorant.backend import as_backend
from majorant.backend.files import FileBackend
from majorant.backend.prepare import prepare
from majorant.errors import ConfigError
from majorant.results.rules import full_judges, rule_fit, rule_named
from majorant.simulate import one_coin_crew, simulate

VOTES = [
    *[(item, "gpt", "no") for item in "abc"],
    *[(item, "gemini", "yes") for item in "abcd"],
    *[(item, "claude", "yes") for item in "abc"],
]


def fit_named_rule(backend, rule, seed):
    return rule_fit(backend, rule_named(rule, backend.votes.workers), seed)


def test_a_judge_is_a_rule_and_the_majority_speaks_where_it_is_silent():
    fit = fit_named_rule(as_backend(VOTES), "gpt", 0)
    assert (fit.method, fit.labels()) == ("gpt", ["no", "no", "no", "yes"])


def test_some_judges_are_a_rule():
    backend = as_backend(VOTES)
    assert fit_named_rule(backend, "gemini+claude", 0).labels() == ["yes"] * 4
    assert fit_named_rule(backend, "gpt+gemini", 0).codes().tolist() == [-1, -1, -1, 1]


def test_methods_come_first_and_other_spellings_last():
    votes = as_backend([("a", "majority", 1), ("a", "ds", 0), ("a", "w", 0)])
    assert fit_named_rule(votes, "majority", 0).labels() == [0]
    assert fit_named_rule(votes, "ds", 0).labels() == [0]  # the worker, not Dawid-Skene
    assert fit_named_rule(as_backend(VOTES), "mv", 0).method == "majority"


def test_unknown_rules_are_refused_with_methods_and_workers():
    with pytest.raises(ConfigError, match=r"no method 'gtp'.*Or name workers: gpt, gemini, claude"):
        fit_named_rule(as_backend(VOTES), "gtp", 0)


def test_judges_who_label_nearly_everything():
    assert full_judges(as_backend(VOTES)) == ["gemini"]


def test_judges_from_files_are_those_in_memory(tmp_path):
    votes, _ = simulate([0.5, 0.5], one_coin_crew([0.9, 0.6, 0.7]), n_items=300, n_votes=2, rng=0)
    rows = zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    path = tmp_path / "votes.csv"
    path.write_text("item,worker,label\n" + "".join(f"q{i},w{j},{k}\n" for i, j, k in rows))
    memory = 1_000_000_000
    files = FileBackend(prepare(str(path), tmp_path / "store", memory=memory), memory)
    here = as_backend(str(path))
    found = [np.asarray(fit_named_rule(backend, "w0+w2", 0).posterior) for backend in (here, files)]
    assert np.allclose(*found)


def test_ask_races_judges_by_name(run, tmp_path):
    votes, truth = simulate([0.5, 0.5], one_coin_crew([0.95, 0.5, 0.5, 0.5]), n_items=300, n_votes=4, rng=0)
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
