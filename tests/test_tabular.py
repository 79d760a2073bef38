"""Results convert to frames with the user's own ids and label types."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import majorant as mj
from majorant.methods import ESTIMATORS
from majorant.results.labels import label_table

ROWS = [(f"q{item}", worker, "yes" if (7 * item + 3 * worker) % 4 else "no") for item in range(30) for worker in b"abc"]
FRAME = pd.DataFrame(ROWS, columns=["task", "worker", "label"])


@pytest.fixture(scope="module")
def result():
    return mj.check(FRAME.assign(half=FRAME.task.str.len()), by="half", compare=True)


def test_every_result_table_converts_to_every_frame_type(result):
    tables = [
        result.votes,
        result.labels.fit,
        result.labels,
        result.workers,
        result.review,
        result.slices,
        result.comparison,
    ]
    for table in tables:
        plain, frame = table.to_dict(), table.to_pandas()
        assert list(frame.columns) == list(plain) == table.to_polars().columns == table.to_arrow().column_names
        assert len(frame) == len(next(iter(plain.values()))) == table.to_polars().height > 0
        assert frame[frame.columns[0]].tolist() == plain[frame.columns[0]]


def test_user_ids_are_preserved(result):
    assert result.labels.to_pandas()["item"].tolist() == [f"q{item}" for item in range(30)]
    assert sorted(result.workers.to_pandas()["worker"]) == [97, 98, 99]
    assert set(result.review.to_pandas()["item"]) <= set(FRAME["task"])
    assert result.slices.to_pandas()["slice"].tolist() == list(result.votes.slices)


def test_labels_have_the_columns_of_their_file(result):
    assert list(result.labels.to_pandas().columns) == list(label_table(result.votes, result.labels.fit))


@pytest.mark.parametrize("method", [name for name, one in ESTIMATORS.items() if not one.traits.needs])
def test_every_method_names_its_items(method):
    fit = mj.aggregate(FRAME, method)
    assert fit.to_dict()["item"] == [f"q{item}" for item in range(30)]
    assert fit.to_dict()["label"] == fit.labels()


@pytest.mark.parametrize("method", [name for name, one in ESTIMATORS.items() if not one.traits.needs])
def test_estimators_accept_the_same_input_as_read(method):
    estimator = ESTIMATORS[method]
    assert estimator().fit(FRAME).to_dict() == estimator().fit(mj.read(FRAME)).to_dict()
    with pytest.raises(mj.ConfigError, match="cannot read votes from int"):
        estimator().fit(7)


@pytest.mark.parametrize(
    "kind", [pd.CategoricalDtype(["yes", "maybe", "no"], ordered=True), "string", "category"], ids=str
)
def test_labels_keep_their_type_in_pandas(kind):
    frame = FRAME.astype({"label": kind})
    assert mj.aggregate(frame, "majority").to_pandas()["label"].dtype == frame["label"].dtype
    assert mj.read(frame).to_pandas()["label"].dtype == frame["label"].dtype


@pytest.mark.parametrize(
    ("kind", "with_ties"), [("int8", "Int8"), ("uint16", "UInt16"), ("int64", "Int64"), ("bool", "boolean")]
)
def test_numeric_labels_stay_numeric_with_missing_ties(kind, with_ties):
    labels = (FRAME["label"] == "yes").astype(kind)
    assert str(mj.aggregate(FRAME.assign(label=labels), "majority").to_pandas()["label"].dtype) == kind
    tied = pd.DataFrame(
        {"item": ["a", "a", "b"], "worker": ["u", "v", "u"], "label": pd.Series([0, 1, 1]).astype(kind)}
    )
    column = mj.aggregate(tied, "majority").to_pandas()["label"]
    assert str(column.dtype) == with_ties
    assert column.isna().tolist() == [True, False]


def test_labels_keep_their_type_in_polars():
    enum = pl.Enum(["yes", "maybe", "no"])
    frame = pl.DataFrame({name: FRAME[name].tolist() for name in FRAME}).with_columns(pl.col("label").cast(enum))
    assert mj.aggregate(frame, "majority").to_polars().schema["label"] == enum
    assert mj.aggregate(frame, "majority").to_pandas()["label"].tolist() == mj.aggregate(FRAME, "majority").labels()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_error_for_a_missing_library_says_how_to_install_it(library, monkeypatch):
    votes = mj.read(ROWS)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(mj.ConfigError, match=rf"to_{library}\(\) needs {library}.*pip install {library}.*to_arrow"):
        getattr(votes, f"to_{library}")()
    assert votes.to_dict()["item"][0] == "q0"


def test_a_result_prints_in_a_few_lines(result):
    found = (result, result.answer, result.certificate, result.certificate.anonymous, result.agreement, result.plan)
    for value in (*found, result.votes, result.labels.fit, mj.ask(FRAME)):
        assert len(repr(value).splitlines()) <= 2
        assert len(repr(value)) < 500
    for table in (result.labels, result.workers, result.review, result.comparison):
        first, header, *rows = repr(table).splitlines()
        assert first.endswith("rows")
        assert header.split()[0] == next(iter(table.table()))
        assert len(rows) <= 7
        assert all(len(line) <= 130 for line in rows)


def test_a_table_can_be_looped_over_and_given_to_other_libraries(result):
    rows = list(result.workers)
    assert rows[0]["worker"] == result.workers.to_dict()["worker"][0]
    assert pd.DataFrame(result.workers).equals(pd.DataFrame(rows))
    assert pl.DataFrame(result.labels).shape[0] == len(result.labels.to_dict()["item"])


def test_names_are_escaped_in_notebooks():
    votes = mj.read([("<b>", "w", "yes"), ("<b>", "x", "no")])
    for value in (votes, mj.aggregate(votes, "majority")):
        assert "&lt;b&gt;" in value._repr_html_()
        assert "<b>" not in value._repr_html_()


def test_partial_tables_have_no_item_names():
    from dataclasses import replace

    fit = mj.aggregate(FRAME, "majority")
    with pytest.raises(mj.ConfigError, match="does not have the names"):
        replace(fit, posterior=np.array(fit.posterior[:3]), votes_i=np.array(fit.votes_i[:3])).to_dict()
