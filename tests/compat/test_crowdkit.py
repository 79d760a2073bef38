"""The crowd-kit interface has crowd-kit's shapes, and its labels wherever crowd-kit is right."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import majorant as mj
import majorant.compat.crowdkit as ours
from compat.peer import CASES, PARTS, SETTINGS, frame, names, peer

RECORDED = json.loads((Path(__file__).parent / "crowdkit.json").read_text())
PAIRS = [(n_labels, seed, name) for n_labels, seed in CASES for name in names(n_labels)]


def compare(name, theirs, data):
    model = getattr(ours, name)(**SETTINGS[name])
    labels = model.fit_predict(data).sort_index()
    assert labels.index.tolist() == theirs["task"]
    same = np.array([mine == their for mine, their in zip(labels, theirs["label"], strict=True)])
    if name == "MACE":  # theirs starts at random and stops after 50 steps
        assert (same | (np.max(theirs["probas_"], axis=1) < 0.65)).all()
        return
    assert same.all()
    for part in PARTS:
        if part in theirs:
            table = getattr(model, part).sort_index()
            table = table[sorted(table.columns)] if table.ndim == 2 else table
            np.testing.assert_allclose(table, theirs[part], atol=2e-6)


@pytest.mark.parametrize(("n_labels", "seed", "name"), PAIRS)
def test_labels_match_crowd_kit(n_labels, seed, name):
    theirs, data = RECORDED[f"{n_labels}-{seed}"][name], frame(n_labels, seed)
    compare(name, theirs, data)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # crowd-kit's, of newer pandas
@pytest.mark.parametrize(("n_labels", "seed", "name"), PAIRS)
def test_labels_match_the_installed_crowd_kit(n_labels, seed, name):
    pytest.importorskip("crowdkit")
    data = frame(n_labels, seed + 100)
    compare(name, peer(name, data), data)


PLAIN = [name for name in ours.__all__ if name not in ("BinaryRelevance", "GoldMajorityVote")]


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "MMSR"])
def test_frames_have_the_shapes_of_crowd_kit(name):
    data = frame(2, 0)
    model = getattr(ours, name)()
    assert model.fit(data) is model
    model.fit_predict(data)
    assert (model.labels_.name, model.labels_.index.name) == ("agg_label", "task")
    columns = {"GLAD": "variable", "MACE": None}.get(name, "label")
    assert (model.probas_.index.name, model.probas_.columns.name) == ("task", columns)
    assert model.labels_.equals(model.fit_predict(data))
    assert model.probas_.equals(model.fit_predict_proba(data))
    np.testing.assert_allclose(model.probas_.sum(axis=1), 1)


def test_confusions_priors_and_skills_are_indexed_as_in_crowd_kit():
    data = frame(3, 2)
    model = ours.DawidSkene().fit(data)
    assert model.errors_.index.names == ["worker", "label"]
    np.testing.assert_allclose(model.errors_.groupby("worker").sum(), 1)
    np.testing.assert_allclose(model.priors_.sum(), 1)
    coin = ours.OneCoinDawidSkene().fit(data)
    assert coin.skills_.index.name == "worker"
    for worker in ("w0", "w5"):
        np.testing.assert_allclose(np.diag(coin.errors_.loc[worker].sort_index()), coin.skills_[worker])


def test_learned_skills_apply_to_other_votes():
    data = frame(2, 0)
    for name in ("Wawa", "ZeroBasedSkill"):
        model = getattr(ours, name)().fit(data)
        labels = model.predict(data)
        some = data[data["task"] < "t05"]
        assert model.predict(some).tolist() == labels[:5].tolist(), name


def test_true_labels_are_kept_and_used_for_training():
    data = frame(2, 0)
    model = ours.DawidSkene()
    first = model.fit_predict(data)
    truth = first.iloc[:10].map({"l0": "l1", "l1": "l0"})
    assert model.fit_predict(data, truth).iloc[:10].tolist() == truth.tolist()


def test_skills_weigh_votes():
    data = pd.DataFrame([("a", "u", "x"), ("a", "v", "y"), ("a", "w", "y")], columns=["task", "worker", "label"])
    skills = pd.Series({"u": 0.9, "v": 0.3, "w": 0.3})
    assert ours.MajorityVote().fit_predict(data, skills)["a"] == "x"
    with pytest.raises(mj.DataError, match="no worker 'w'"):
        ours.MajorityVote().fit(data, skills[["u", "v"]])
    assert ours.MajorityVote(on_missing_skill="ignore").fit_predict(data, skills[["v"]])["a"] == "y"
    assert (
        ours.MajorityVote(default_skill=2.0, on_missing_skill="value").fit_predict(data, skills[["u", "v"]])["a"] == "y"
    )


class TestCallsInTheDocumentation:
    """The calls that crowd-kit's own documentation shows, on votes 0 and 1 as there; its data set needs the network."""

    data = frame(2, 0).assign(label=lambda votes: (votes["label"] == "l1").astype(int))

    @pytest.mark.parametrize(
        ("name", "settings"),
        [("DawidSkene", (100,)), ("OneCoinDawidSkene", (100,)), ("KOS", (10,)), *((name, ()) for name in PLAIN)],
    )
    def test_labels_usually_match_the_majority(self, name, settings):
        result = getattr(ours, name)(*settings).fit_predict(self.data)
        votes = self.data.groupby("task")["label"].mean()
        assert ((votes > 0.5) == (result == 1)).mean() > 0.85

    def test_true_labels_are_kept(self):
        truth = ours.MajorityVote().fit_predict(self.data)
        result = ours.DawidSkene(100).fit_predict(self.data, 1 - truth[:20])
        assert (result[:20] == 1 - truth[:20]).all()

    def test_skills_weigh_votes(self):
        rows = [("t1", "p1", 0), ("t1", "p2", 0), ("t1", "p3", 1), ("t2", "p1", 1), ("t2", "p2", 0), ("t2", "p3", 1)]
        data = pd.DataFrame(rows, columns=["task", "worker", "label"])
        skills = pd.Series({"p1": 0.5, "p2": 0.7, "p3": 0.4})
        assert ours.MajorityVote().fit_predict(data, skills).to_dict() == {"t1": 0, "t2": 1}


COLUMNS = ["task", "worker", "label"]


def votes(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (ours.GLAD(labels_priors=pd.Series({"l0": 1.0})), "labels_priors has no value for 'l1'"),
        (ours.MACE(method="mcmc"), "vb or em"),
        (ours.MajorityVote(on_missing_skill="guess"), "error, ignore or value"),
        (ours.MajorityVote(default_skill=1.0), "on_missing_skill='value'"),
        (ours.MajorityVote(on_missing_skill="value"), "needs default_skill"),
    ],
)
def test_invalid_arguments_are_rejected(model, why):
    with pytest.raises(ValueError, match=why):
        model.fit(frame(2, 0), *([pd.Series({"w0": 1.0})] if isinstance(model, ours.MajorityVote) else []))


@pytest.mark.parametrize("name", PLAIN)
def test_a_missing_column_is_a_key_error_and_a_data_error(name):
    for caught in (KeyError, mj.DataError):
        with pytest.raises(caught, match="needs a column worker"):
            getattr(ours, name)().fit_predict(pd.DataFrame({"task": [1], "label": [1]}))


@pytest.mark.parametrize("name", [*PLAIN, "BinaryRelevance"])
def test_an_empty_frame_has_no_labels(name):
    model = getattr(ours, name)()
    assert len(model.fit_predict(votes())) == 0
    assert model.labels_.name == "agg_label"


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize(
    "rows",
    [
        [(1, 7, "x"), (1, "v", "y"), ("b", 7, "x"), ("b", "v", "x")],
        [(("d", 1), "u", "x"), (("d", 1), "v", "y"), (("d", 2), "u", "x"), (("d", 2), "v", "x")],
        [(1, "u", ("a", 1)), (1, "v", "y"), (2, "u", ("a", 1)), (2, "v", ("a", 1))],
        [(1, "u", 1), (1, "v", "x"), (2, "u", 1), (2, "v", 1)],
    ],
)
def test_ids_and_labels_may_be_anything_hashable(name, rows):
    labels = getattr(ours, name)().fit_predict(votes(*rows))
    task, _, label = rows[-1]
    assert set(labels.index) == {rows[0][0], task}
    assert labels.loc[[task]].tolist() == [label]


def test_ties_go_to_the_first_label_in_sorted_order():
    data = votes(("a", "u", "y"), ("a", "v", "x"), ("b", "u", "y"), ("b", "v", "y"))
    for name in ("MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene"):
        assert getattr(ours, name)(**({"n_iter": 1} if "Coin" in name else {})).fit(data) is not None
    assert ours.MajorityVote().fit_predict(data)["a"] == "x"
    assert ours.Wawa().fit(data).skills_.to_dict() == {"u": 0.5, "v": 1.0}  # the tied task counts for x alone
    assert ours.ZeroBasedSkill().fit(data).skills_.round(3).to_dict() == {"u": 0.5, "v": 1.0}


def test_skills_start_at_chance():
    assert ours.ZeroBasedSkill(n_iter=0).fit(frame(2, 0)).skills_.round(5).unique().tolist() == [0.50001]


def test_an_ignored_worker_has_no_skill():
    data = votes(("a", "u", "x"), ("a", "v", "y"), ("a", "w", "y"))
    model = ours.MajorityVote(on_missing_skill="ignore").fit(data, pd.Series({"v": 0.3}))
    assert model.skills_.to_dict() == {"v": 1.0}
    assert model.probas_.columns.tolist() == ["y"]
    with pytest.raises(ValueError, match="no vote of a worker with a known skill"):
        ours.MajorityVote(on_missing_skill="ignore").fit(data, pd.Series(dtype=float))


def test_gold_tasks_may_have_several_true_labels():
    data = votes(("a", "u", "x"), ("a", "v", "y"), ("a", "w", "z"), ("b", "u", "x"), ("b", "v", "y"))
    model = ours.GoldMajorityVote().fit(data, pd.Series(["x", "y"], index=["a", "a"]))
    assert model.skills_.to_dict() == {"u": 1.0, "v": 1.0, "w": 0.0}
    assert model.predict(data).to_dict() == {"a": "x", "b": "x"}


@pytest.mark.parametrize(("strategy", "scale"), [("assign", 1.0), ("addition", 1e6)])
def test_initial_errors_replace_or_join_the_first_counts(strategy, scale):
    """Matrices of workers who say the opposite turn all labels around, at least in the first step."""
    data = frame(2, 1)
    turned = ours.DawidSkene(0).fit(data).errors_.rename(columns={"l0": "l1", "l1": "l0"}) * scale
    model = ours.DawidSkene(1, initial_error_strategy=strategy).fit(data, initial_error=turned)
    plain = ours.DawidSkene(1).fit(data)
    assert (model.labels_ != plain.labels_).mean() > 0.8
    assert ours.DawidSkene(1).fit(data, initial_error=turned).labels_.equals(plain.labels_)  # no strategy: ignored


def test_initial_errors_are_checked():
    data = frame(2, 1)
    error = ours.DawidSkene(0).fit(data).errors_
    for bad, why in ((error * 0, "should be 1.0"), (error.iloc[:3], "has no row"), (error.reset_index(), "indexed by")):
        with pytest.raises(ValueError, match=why):
            ours.DawidSkene(initial_error_strategy="assign").fit(data, initial_error=bad)
    with pytest.raises(ValueError, match="assign or addition"):
        ours.DawidSkene(initial_error_strategy="mix").fit(data, initial_error=error)


@pytest.mark.parametrize("base", [None, ours.DawidSkene(), ours.Wawa(), ours.GLAD()])
def test_binary_relevance_labels_with_lists(base):
    data = votes(
        ("a", "u", ["cat", "dog"]), ("a", "v", ["dog"]), ("a", "w", ["dog"]), ("b", "u", ["cat"]), ("b", "v", ["cat"])
    )
    model = ours.BinaryRelevance(base) if base else ours.BinaryRelevance()
    assert model.fit_predict(data).to_dict() == {"a": ["dog"], "b": ["cat"]}
    assert list(model.aggregators_) == ["cat", "dog"]
    assert base is None or not hasattr(base, "labels_")
    with pytest.raises(mj.ConfigError, match="classification aggregator"):
        ours.BinaryRelevance("majority")


def test_a_prior_decides_a_tie_in_glad():
    data = votes(("a", "u", "x"), ("a", "v", "y"))
    for label in ("x", "y"):
        prior = pd.Series({"x": 0.3, "y": 0.3}) + pd.Series({label: 0.4, "xy".replace(label, ""): 0.0})
        assert ours.GLAD(labels_priors=prior).fit_predict(data)["a"] == label
    trusted = ours.GLAD(alphas_priors_mean=pd.Series({"u": 0.5, "v": 3.0})).fit(data)
    assert trusted.labels_["a"] == "y"


def test_priors_of_copying_need_not_be_symmetric():
    data = frame(2, 0)
    copies = [ours.MACE(alpha=a, beta=b).fit(data).spamming_[:, 1].mean() for a, b in ((0.5, 5.0), (5.0, 0.5))]
    assert copies[0] > copies[1] + 0.05


def test_votes_go_on_to_majorant():
    data = frame(2, 0)
    model = ours.MajorityVote().fit(data)
    assert mj.aggregate(model.as_majorant(), "majority").labels("first") == model.labels_.tolist()
    with pytest.raises(mj.ConfigError, match="call fit first"):
        ours.MajorityVote().as_majorant()


def test_classes_inherit_from_crowd_kit_where_it_is_installed():
    base = pytest.importorskip("crowdkit.aggregation.base").BaseClassificationAggregator
    assert all(issubclass(getattr(ours, name), base) for name in ours.__all__)
