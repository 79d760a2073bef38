"""Writing tables to files."""

import csv

import numpy as np
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from majorant.output import write_table
from majorant.votes import Named
from sizes import many

text = st.one_of(st.none(), st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))


@settings(deadline=None, max_examples=many(60, quick=20))
@given(st.lists(st.tuples(text, st.one_of(st.none(), st.floats(allow_nan=False)), st.booleans()), min_size=1))
def test_csv_cells_round_trip(tmp_path_factory, rows):
    texts, numbers, flags = map(list, zip(*rows, strict=True))
    path = write_table(tmp_path_factory.mktemp("output") / "a.csv", {"text": texts, "number": numbers, "flag": flags})
    with path.open(encoding="utf-8", newline="") as file:
        cells = [*csv.reader(file)]
    assert cells[0] == ["text", "number", "flag"]
    assert [(a, b and float(b), c) for a, b, c in cells[1:]] == [
        (a or "", "" if b is None else b, str(c).lower()) for a, b, c in rows
    ]


def test_table_parts_are_written_in_order(tmp_path):
    parts = [{"item": ["a,b"], "share": [0.5]}, {"item": ["c"], "share": [None]}]
    assert write_table(tmp_path / "a.csv", iter(parts)).read_text() == 'item,share\n"a,b",0.5\nc,\n'


def test_coded_columns_have_plain_types_in_parquet(tmp_path):
    table = {"label": Named(np.array([0, 1, -1]), ("no", "yes")), "rank": Named(np.array([1, 0, 0]), (5, 7))}
    whole = pq.read_table(write_table(tmp_path / "a.parquet", table))
    parts = pq.read_table(write_table(tmp_path / "b.parquet", iter([table, table])))
    assert (
        [str(kind) for kind in whole.schema.types] == [str(kind) for kind in parts.schema.types] == ["string", "int64"]
    )
    assert whole.to_pydict() == {"label": ["no", "yes", None], "rank": [7, 5, 5]}
    assert parts.num_rows == 6
