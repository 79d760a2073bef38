"""DuckDB reads most of a delimited file and Python the rest: both must read the same."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from majorant.errors import DataError
from majorant.read import delimited, read
from sizes import many

ids = st.sampled_from(["a", "b", "ü", "a b", " c", "1", "01", "", "x" * 40, "-", "NULL", "'", '"', '"q,"', "\udcff"])
row = st.lists(ids, min_size=3, max_size=3)
ends = st.sampled_from(["\n", "\n", "\n", "\n", "\r\n", "\n\n", "\r", "\n \n"])


def outcome(path):
    """All that reading a file says, or its error."""
    try:
        votes = read(path, repeats="each")
    except DataError as error:
        return str(error)
    codes = (votes.item_n, votes.worker_n, votes.label_n)
    abstained = None if votes.abstained_i is None else votes.abstained_i.tolist()
    return votes.items, votes.workers, votes.labels, [code.tolist() for code in codes], abstained, votes.account


@settings(deadline=None, max_examples=many(50, quick=16))
@given(
    rows=st.lists(row, min_size=1, max_size=12),
    line_ends=st.lists(ends, min_size=13, max_size=13),
    same_end=st.booleans(),
    spoilt=st.sampled_from(["", "", "", ",more", "\r"]),
    top=st.sampled_from(["", "", "\n", "\r\n\n", "\ufeff"]),
    whole_last_line=st.booleans(),
)
@example([["a", "b", "c"]], ["\r"] + ["\n"] * 12, False, "", "", True)
@example([["a", "b", "c"]] * 3, ["\n"] * 13, True, "", "\r\n\n", False)
def test_duckdb_and_python_read_the_same(tmp_path_factory, rows, line_ends, same_end, spoilt, top, whole_last_line):
    path = tmp_path_factory.mktemp("delimited") / "votes.csv"
    lines = ["item,worker,label", *(",".join(cells) for cells in rows)]
    lines[-1] += spoilt
    text = top + "".join(line + line_ends[0 if same_end else n] for n, line in enumerate(lines))
    text = text if whole_last_line else text.rstrip("\r\n")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    by_python = outcome(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_is_small", lambda file: False)
        assert outcome(path) == by_python


@pytest.mark.parametrize("small", [False, True])
def test_byte_order_mark_inside_a_cell_is_kept(tmp_path, monkeypatch, small):
    monkeypatch.setattr(delimited, "_is_small", lambda file: small)
    path = tmp_path / "votes.csv"
    path.write_text("item,worker,label\n\ufeffa,w,1\nb,w,0\na,x,1\n", encoding="utf-8")
    assert read(path).items == ("\ufeffa", "b", "a")


def test_excels_sep_line_is_not_a_header(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("sep=;\nitem;worker;label\na;w;1,5\na;x;2\n")
    assert read(path).labels == ("1,5", "2")
    path.write_text("sep=;\nitem;worker;label\na;w;1\na;w;2\n")
    with pytest.raises(DataError, match=r"row 4: worker 'w' labels item 'a' a second time, 2 after 1 in row 3"):
        read(path)
