"""A saved rule labels other votes with what a fit learned about the workers."""

import json

import numpy as np
import pytest

import majorant as mj
from majorant.errors import ConfigError, DataError
from majorant.methods import ESTIMATORS, load_rule
from majorant.simulate import one_coin_workers, simulate

NAIVE_BAYES = [name for name, one in ESTIMATORS.items() if one.traits.naive_bayes]
CROWD = simulate([0.6, 0.3, 0.1], one_coin_workers([0.9, 0.8, 0.7, 0.6], 3), 200, 4, gold=0.3, labels="abc", rng=0)[0]


@pytest.mark.parametrize("method", NAIVE_BAYES)
def test_a_rule_gives_the_posterior_of_its_fit_on_the_same_votes(method, tmp_path):
    fit = mj.aggregate(CROWD, method)
    fit.rule().save(tmp_path / "rule.json")
    again = load_rule(tmp_path / "rule.json").fit(CROWD)
    np.testing.assert_allclose(again.posterior, fit.posterior, atol=1e-6)
    assert again.to_dict()["item"] == fit.to_dict()["item"]
    assert again.labels() == fit.labels()


def test_every_other_method_refuses_to_be_saved():
    for method in {"majority", "weighted-vote", "ebcc", "wawa", "la-one-pass"}:
        with pytest.raises(ConfigError, match=r"cannot be saved as a rule .* Choose one of: .*dawid-skene"):
            mj.aggregate(CROWD, method).rule()


def test_unknown_workers_count_as_the_mean_of_the_known(tmp_path):
    fit = mj.aggregate(CROWD, "dawid-skene")
    votes = [("x", "w0", "a"), ("x", "new", "b"), ("y", "new", "c")]
    found = fit.rule().fit(votes)
    mean = fit.confusion.mean(axis=0)
    by_hand = fit.prior * fit.confusion[0][:, 0] * mean[:, 1]
    np.testing.assert_allclose(found.posterior[0], by_hand / by_hand.sum(), atol=1e-12)
    np.testing.assert_allclose(found.posterior[1], fit.prior * mean[:, 2] / (fit.prior @ mean[:, 2]), atol=1e-12)


def test_labels_are_matched_by_name_and_unknown_ones_are_refused():
    rule = mj.aggregate(CROWD, "one-coin").rule()
    assert rule.fit([("x", "w0", "c"), ("x", "w1", "c")]).labels() == ["c"]
    with pytest.raises(DataError, match="the rule knows the labels 'a', 'b', 'c', but these votes have 'z'"):
        rule.fit([("x", "w0", "z")])


def test_names_keep_their_type_in_the_file(tmp_path):
    votes = [(i, j, bool((i + j) % 3)) for i in range(9) for j in range(3)]
    rule = mj.aggregate(votes, "dawid-skene").rule()
    rule.save(tmp_path / "rule.json")
    back = load_rule(tmp_path / "rule.json")
    assert (list(back.workers), back.labels) == ([0, 1, 2], (False, True))
    assert json.loads((tmp_path / "rule.json").read_text())["workers"][1]["worker"] == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not a saved rule"),
        ("[]", "not a saved rule"),
        ('{"kind": "majorant rule"}', "the rule is damaged"),
        ('{"kind": "majorant rule", "labels": ["a", "a"], "prior": [0.5, 0.5], "workers": [], "method": "ds", '
         '"others": [[1, 0], [0, 1]]}', "the rule is damaged"),
        ('{"kind": "majorant rule", "labels": ["a", "b"], "prior": [0.5, 0.5], "workers": [], "method": "ds", '
         '"others": [[1, 0.5], [0, 1]]}', "sums to 1.5"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_an_error(text, says, tmp_path):
    (tmp_path / "rule.json").write_text(text)
    with pytest.raises(DataError, match=says):
        load_rule(tmp_path / "rule.json")
    with pytest.raises(DataError, match="Check the name"):
        load_rule(tmp_path / "nowhere.json")


def test_the_command_saves_and_applies_a_rule(run, tmp_path):
    rows = zip(CROWD.item_n, CROWD.worker_n, CROWD.label_n, strict=True)
    text = "item,worker,label\n" + "".join(f"q{i},w{j},{'abc'[k]}\n" for i, j, k in rows)
    (tmp_path / "june.csv").write_text(text)
    code, out, err = run("aggregate", "june.csv", "--method", "dawid-skene", "--save-rule", "crowd.json")
    assert (code, err) == (0, "")
    assert "Wrote    crowd.json" in out
    assert run("aggregate", "june.csv", "--method", "crowd.json", "--out", "again.csv")[0] == 0
    first, again = (
        [line.split(",")[:2] for line in (tmp_path / name).read_text().splitlines()]
        for name in ("labels.csv", "again.csv")
    )
    assert first == again
    for words in (["--save-rule", "x.json"], ["--method", "majority", "--save-rule", "x.json"]):
        code, _, err = run("aggregate", "june.csv", *words, "--overwrite")
        assert (code, "Choose one of" in err or "needs votes in memory and a method" in err) == (2, True)
        assert not (tmp_path / "x.json").exists()
