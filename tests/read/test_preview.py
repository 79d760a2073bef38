"""The preview shows the columns and rows of any table, and explains what is still missing."""

from pathlib import Path

import pytest

from majorant.errors import DataError
from majorant.read import read
from majorant.read.preview import preview

FIXTURES = sorted(path for path in (Path(__file__).parent / "fixtures").iterdir() if path.suffix in (".csv", ".json"))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
def test_preview_matches_reading(path):
    found = preview(path)
    assert found.rows
    assert all(len(row) == len(found.names) for row in found.rows)
    if not found.trouble:
        account = read(path, repeats="each").account
        assert (found.format, found.columns) == (account.format, dict(account.columns))


def test_a_wide_table_names_its_workers(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("item,ana,bo,cy\n" + "".join(f"{n},yes,no,{'yes' if n % 2 else 'no'}\n" for n in range(9)))
    found = preview(path)
    assert found.workers == ("ana", "bo", "cy")
    assert len(found.rows) == 6
    assert preview(path, workers="ana,bo").workers == ("ana", "bo")
    assert preview(path, workers="ana,bo").ignored == ("cy",)


def test_errors_keep_the_columns_visible(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(f"snippet,who,stars\n{'x' * 999},w,1\nb,x,0\n")
    found = preview(path)
    assert "cannot tell which column is the item" in found.trouble
    assert found.names == ("snippet", "who", "stars")
    assert found.columns == {}
    assert len(found.rows[0][0]) == 160
    assert preview(path, item="snippet", worker="who", label="stars").trouble == ""
    path.write_text("item,task,worker,stars\na,a,w,1\n")
    assert preview(path).columns == {"worker": "worker"}  # two could be the item, none the label
    path.write_text("a,w,1\nb,x,0\n")
    assert preview(path, columns="item,worker,label").columns == {
        "item": "column 1",
        "worker": "column 2",
        "label": "column 3",
    }


def test_non_tables_are_an_error(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(b"%PDF-1.7")
    with pytest.raises(DataError, match="PDF"):
        preview(path)
