"""Methods of everything that the public functions return refuse wrong arguments with one of our errors."""

import signal

import numpy as np
import pandas as pd
import pytest

import majorant as mj
from corpus import objects
from corpus.calls import make_objects
from majorant.ask.design import Design
from majorant.datasets import load
from majorant.errors import DataError, MajorantError


@pytest.fixture
def no_hang():
    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore")
def test_methods_of_all_objects_raise_only_our_errors(tmp_path, monkeypatch, no_hang):
    monkeypatch.chdir(tmp_path)
    made = make_objects(tmp_path)
    every = objects.sample(made, tmp_path, 2000, seed=0)
    assert [fault for call in every if (fault := objects.refused_well(*call))] == []
    assert len(objects.methods()) >= 40


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_all_arguments_of_all_methods(tmp_path, monkeypatch, no_hang):
    monkeypatch.chdir(tmp_path)
    made = make_objects(tmp_path)
    assert [fault for call in objects.calls(made, tmp_path) if (fault := objects.refused_well(*call))] == []


NAMES = ["a", "b", "c"]
MISSING = {
    "pd.NA": lambda: [pd.NA, *NAMES],
    "pd.NA later": lambda: [*NAMES, pd.NA],
    "NaT": lambda: [*NAMES, pd.NaT],
    "string": lambda: pd.array([*NAMES, None], dtype="string"),
    "Int64": lambda: pd.array([1, 2, 3, None], dtype="Int64"),
    "boolean": lambda: pd.array([True, False, True, None], dtype="boolean"),
    "unused levels": lambda: pd.Categorical([*NAMES, None], categories=["z", *NAMES, "y"]),
    "Series of them": lambda: pd.Series(pd.array([1, 2, 3, None], dtype="Int64")),
}


@pytest.mark.parametrize("how", MISSING)
@pytest.mark.parametrize("column", ["item", "worker", "label"])
def test_missing_values_of_any_kind_are_no_names(how, column):
    rows = {"item": list("stuv"), "worker": list("wxyz"), "label": list("ynyn"), column: MISSING[how]()}
    for table in (rows, pd.DataFrame(rows)):
        if column != "label":
            with pytest.raises(DataError, match=column):
                mj.read(table)
            continue
        votes = mj.read(table)
        assert votes.n_votes == 3
        assert set(map(str, votes.labels)) <= {*"abc123", "True", "False"}


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame([["a", "w", "y", "n"]], columns=["item", "worker", "label", "label"])
    with pytest.raises(DataError, match="two columns 'label'"):
        mj.read(frame)


@pytest.mark.parametrize(
    "call",
    [
        lambda result, fit, design: Design.from_dict(None),
        lambda result, fit, design: Design.from_dict({}),
        lambda result, fit, design: design.drew(None),
        lambda result, fit, design: load(None),
        lambda result, fit, design: fit.values([99]),
        lambda result, fit, design: fit.take([99]),
        lambda result, fit, design: fit.part("a", 3),
        lambda result, fit, design: result.votes.part(0, 10**9),
    ],
)
def test_methods_that_were_not_checked(tmp_path, call):
    made = make_objects(tmp_path)
    with pytest.raises(MajorantError):
        call(made["result"], made["fit"], made["design"])
    assert isinstance(np.asarray(made["fit"].values([0])), np.ndarray)
