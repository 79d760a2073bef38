"""Every function that takes votes accepts what `read` accepts, and errors use the caller's argument names."""

import inspect
from typing import get_type_hints

import numpy as np
import pandas as pd
import polars as pl
import pytest

import majorant as mj
from majorant.cli.aggregate import EXPORT_ENDINGS
from majorant.cli.ask import ask
from majorant.cli.certify import certify
from majorant.defaults import MAX_CLASSES, REPEATS
from majorant.errors import DataError
from majorant.filetypes import format_words
from majorant.read import Reading, as_votes
from majorant.read.consensus import EXPORTERS
from majorant.read.tasks import TASK_ENDINGS, TASK_FORMATS

ROWS = [(item, worker, str(int((7 * item + 3 * worker) % 4 > 0))) for item in range(30) for worker in range(3)]
FRAME = pd.DataFrame(ROWS, columns=["task", "worker", "label"])


def sources(tmp_path):
    path = tmp_path / "votes.csv"
    FRAME.astype(str).to_csv(path, index=False)
    polars = pl.DataFrame({name: FRAME[name].tolist() for name in FRAME})
    return {
        "path": str(path),
        "Path": path,
        "list of paths": [str(path)],
        "pandas": FRAME,
        "item as index": FRAME.set_index("task"),
        "item and worker as index": FRAME.set_index(["task", "worker"]),
        "series by item and worker": FRAME.set_index(["task", "worker"])["label"],
        "categorical": FRAME.astype({"label": "category", "task": "category"}),
        "polars": polars,
        "lazy polars": polars.lazy(),
        "arrow": polars.to_arrow(),
        "dict": FRAME.to_dict("list"),
        "list of dicts": FRAME.to_dict("records"),
        "records": ROWS,
        "structured array": FRAME.astype({"label": int}).to_records(index=False),
        "votes": mj.read(FRAME),
    }


def test_every_source_of_votes_gives_the_same_labels(tmp_path):
    expected = list(map(str, mj.aggregate(FRAME, "majority").labels()))
    for name, source in sources(tmp_path).items():
        assert list(map(str, mj.aggregate(source, "majority").labels())) == expected, name


def test_a_duckdb_relation_is_a_source():
    import duckdb

    relation = duckdb.from_arrow(pl.DataFrame({name: FRAME[name].tolist() for name in FRAME}).to_arrow())
    assert mj.aggregate(relation, "majority").posterior.shape == (30, 2)


@pytest.mark.parametrize("function", [mj.check, mj.certify, mj.aggregate, mj.agreement, mj.plan])
def test_every_entry_point_accepts_a_frame_and_column_names(function):
    named = FRAME.rename(columns={"task": "text", "worker": "who", "label": "said"})
    told = {"item": "text", "worker": "who", "label": "said"}
    assert type(function(named, **told)) is type(function(mj.read(named, **told)))


@pytest.mark.parametrize("function", [mj.check, mj.certify, mj.aggregate, mj.agreement, mj.plan])
@pytest.mark.parametrize("wrong", [None, 3, 2.5, object(), b"votes.csv", np.zeros((2, 3))])
def test_files_without_votes_are_rejected_with_advice(function, wrong):
    with pytest.raises(mj.ConfigError, match=r"cannot read votes from|from_matrix"):
        function(wrong)


def test_misspelt_argument_suggests_the_closest():
    with pytest.raises(mj.ConfigError, match=r"no argument itm=\. Did you mean item="):
        mj.check(FRAME, itm="task")


def test_read_votes_reject_column_names():
    with pytest.raises(mj.ConfigError, match="item= applies to reading a table"):
        mj.check(mj.read(FRAME), item="task")


def test_read_accepts_every_distinguishable_source():
    keywords = [p.name for p in inspect.signature(mj.read).parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert list(get_type_hints(Reading)) == keywords


def test_default_seed_is_zero():
    assert mj.agreement(FRAME).fleiss == mj.agreement(FRAME, rng=0).fleiss
    assert mj.aggregate(FRAME, "mace").labels() == mj.aggregate(FRAME, "mace", rng=0).labels()
    assert repr(mj.certify(FRAME)) == repr(mj.certify(FRAME, rng=0))


class TestIndexOfPandas:
    def test_explicit_column_name(self):
        frame = FRAME.rename(columns={"task": "text"}).set_index("text")
        assert as_votes(frame, item="text").items == tuple(range(30))

    def test_column_takes_precedence_over_index(self):
        frame = FRAME.assign(id=FRAME.index).set_index("id")
        assert as_votes(frame).account.columns["item"] == "task"

    def test_an_index_of_text_without_a_name_is_the_item_where_no_column_is(self):
        frame = FRAME.set_index("task")
        frame.index = frame.index.map("q{}".format).rename(None)
        assert as_votes(frame).items[:2] == ("q0", "q1")

    def test_row_numbers_are_not_used_as_items(self):
        with pytest.raises(mj.DataError, match="cannot tell which column is the item"):
            as_votes(FRAME[["worker", "label"]])

    def test_callers_frame_is_unchanged(self):
        frame = FRAME.set_index("task")
        as_votes(frame)
        assert list(frame.columns) == ["worker", "label"]


def test_the_command_line_offers_what_the_library_takes():
    """The lists are repeated there because `majorant --help` must not import the reading modules."""
    options = {option.name: option for option in certify.params}
    assert tuple(options["repeats"].type.choices) == REPEATS
    assert list(options["format"].type.choices) == format_words()
    assert options["max_classes"].default == MAX_CLASSES
    tools = next(option for option in ask.params if option.name == "tool").type.choices
    assert tuple(tools) == tuple(TASK_FORMATS) == tuple(TASK_ENDINGS)
    assert {tool: TASK_ENDINGS[tool] for tool in EXPORTERS} == EXPORT_ENDINGS


def test_matrix_is_rejected_as_gold():
    votes = [("i0", "w0", 0), ("i0", "w1", 1), ("i1", "w0", 0)]
    with pytest.raises(DataError, match=r"has no column of true labels\. Give a table with the columns item and gold"):
        mj.read(votes, gold=np.zeros((2, 2)))
