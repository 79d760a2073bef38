"""Text without quotes is read by Arrow in slices; it must come out as DuckDB and Python read it."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from majorant.errors import DataError
from majorant.read import delimited, read
from majorant.read.table import NotCodedError
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


def refuse(*_):
    raise NotCodedError


@settings(deadline=None, max_examples=many(50, quick=16))
@given(
    rows=st.lists(row, min_size=1, max_size=12),
    line_ends=st.lists(ends, min_size=13, max_size=13),
    same_end=st.booleans(),
    spoilt=st.sampled_from(["", "", "", ",more", "\r"]),
    top=st.sampled_from(["", "", "\n", "\r\n\n"]),
    slice_bytes=st.sampled_from([1, 5, 17, 60, 1 << 22]),
    whole_last_line=st.booleans(),
)
@example([["a", "b", "c"]], ["\r"] + ["\n"] * 12, False, "", "", 17, True)
@example([["a", "b", "c"]] * 3, ["\n"] * 13, True, "", "\r\n\n", 1, False)
def test_slices_read_as_the_other_readers_do(
    tmp_path_factory, rows, line_ends, same_end, spoilt, top, slice_bytes, whole_last_line
):
    path = tmp_path_factory.mktemp("unquoted") / "votes.csv"
    lines = ["item,worker,label", *(",".join(cells) for cells in rows)]
    lines[-1] += spoilt
    text = top + "".join(line + line_ends[0 if same_end else n] for n, line in enumerate(lines))
    text = text if whole_last_line else text.rstrip("\r\n")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "SLICE_BYTES", slice_bytes)
        sliced = outcome(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "coded_slices", refuse)
        assert sliced == outcome(path)


def test_a_plain_file_is_read_in_slices_and_one_with_quotes_is_not(tmp_path, monkeypatch):
    parts = []
    monkeypatch.setattr(delimited, "SLICE_BYTES", 100)
    sliced = delimited.coded_slices
    monkeypatch.setattr(delimited, "coded_slices", lambda *a: (parts.append(1) or p for p in sliced(*a)))
    lines = [f"item_{n // 3},worker_{n % 3},yes\n" for n in range(60)]
    path = tmp_path / "votes.csv"
    path.write_text("item,worker,label\n" + "".join(lines))
    plain = read(path)
    assert len(parts) > 10
    parts.clear()
    lines[30] = lines[30].replace("yes", '"yes"')
    path.write_text("item,worker,label\n" + "".join(lines))
    quoted = read(path)
    assert 3 < len(parts) < 10
    assert quoted.items == plain.items
    assert quoted.item_n.tolist() == plain.item_n.tolist()
    assert quoted.worker_n.tolist() == plain.worker_n.tolist()


def test_large_files_whose_ids_seldom_come_again_are_left_to_hashes(tmp_path, monkeypatch):
    path = tmp_path / "votes.csv"
    path.write_text("item,worker,label\n" + "".join(f"i{n},w{n % 2},yes\n" for n in range(50)))
    layout = delimited.SliceLayout(",", '"', 3, (0, 1, 2), header=True)
    assert sum(len(columns[0]) for columns in delimited.coded_slices(path, layout, 1)) == 50
    monkeypatch.setattr(delimited, "LARGE_FILE", 10)
    with pytest.raises(NotCodedError):
        next(delimited.coded_slices(path, layout, 1))
