"""Tables as files: CSV by Arrow where nothing needs quotes, byte for byte as DuckDB writes it."""

import math

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from majorant import output
from majorant.output import write_table
from majorant.votes import Named
from sizes import many

numbers = st.one_of(
    st.floats(allow_nan=False),
    st.floats(0, 1).map(lambda x: round(x, 9)),
    st.sampled_from([0.0, -0.0, 1.0, 1e-4, 9.9e-5, 1e-9, 1e15, 1e16, math.inf, None]),
)
plain_text = st.one_of(st.none(), st.text(st.characters(codec="utf-8", exclude_characters=',"#\n\r\0'), min_size=1))
any_text = st.one_of(plain_text, st.sampled_from(["", "a,b", '"', "#x", "two\nlines", "cr\r"]))


def columns(texts, n):
    def rows(cells):
        return st.lists(cells, min_size=n, max_size=n)

    return st.fixed_dictionaries(
        {
            "text": rows(texts),
            "number": rows(numbers),
            "share": rows(st.floats(0, 1)).map(np.array),
            "count": rows(st.integers(-(2**63), 2**63 - 1)),
            "flag": rows(st.booleans()).map(np.array),
            "label": rows(st.integers(-1, 1)).map(lambda code: Named(np.array(code), ("no", "yes"))),
            "rank": rows(st.integers(-1, 2)).map(lambda code: Named(np.array(code), (1, 2, 10))),
            "truth": rows(st.integers(-1, 1)).map(lambda code: Named(np.array(code), (False, True))),
        }
    )


def written(path, table):
    return write_table(path, table).read_bytes()


@settings(deadline=None, max_examples=many(60, quick=20))
@given(
    table=st.integers(1, 12).flatmap(lambda n: st.one_of(columns(plain_text, n), columns(any_text, n))),
    rows=st.sampled_from([1, 3, 1 << 16]),
)
@example({"name": ["x"] * 9, "share": np.full(9, 0.25)}, 4)
@example({"name": [], "share": np.empty(0)}, 4)
def test_csv_does_not_depend_on_the_writer(tmp_path_factory, table, rows):
    folder = tmp_path_factory.mktemp("output")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "ROWS_AT_A_TIME", rows)
        ours = written(folder / "ours.csv", table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "_needs_no_quotes", lambda *_: False)
        assert ours == written(folder / "theirs.csv", table)


def test_plain_tables_are_written_by_arrow_and_others_by_duckdb(tmp_path, monkeypatch):
    plain = []
    monkeypatch.setattr(output, "_fill_plain", lambda part, arrays, header: plain.append(arrays))
    write_table(tmp_path / "a.csv", {"item": ["x", "y"], "share": [0.5, 1.0]})
    assert len(plain) == 1
    for other in ({"item": ["x,1", "y"], "n": [1, 2]}, {"item": ["", "y"], "n": [1, 2]}, {"a#": ["x"], "n": [1]}):
        write_table(tmp_path / "a.csv", other)
    assert len(plain) == 1


def test_coded_columns_have_plain_types_in_parquet(tmp_path):
    table = {"label": Named(np.array([0, 1, -1]), ("no", "yes")), "rank": Named(np.array([1, 0, 0]), (5, 7))}
    whole = pq.read_table(write_table(tmp_path / "a.parquet", table))
    parts = pq.read_table(write_table(tmp_path / "b.parquet", iter([table, table])))
    assert (
        [str(kind) for kind in whole.schema.types] == [str(kind) for kind in parts.schema.types] == ["string", "int64"]
    )
    assert whole.to_pydict() == {"label": ["no", "yes", None], "rank": [7, 5, 5]}
    assert parts.num_rows == 6
