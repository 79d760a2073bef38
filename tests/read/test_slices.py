"""A column of the items by which to slice them: one value per item, sorted, kept with its type."""

import numpy as np
import pytest

from majorant.errors import ConfigError, DataError
from majorant.items import take_items
from majorant.read import read

TABLE = {
    "item": list("aabbc"),
    "worker": list("wxwxw"),
    "label": [1, 0, 1, 1, 0],
    "lang": ["en", "en", "de", None, ""],
}


def test_every_item_belongs_to_the_slice_that_a_row_names():
    votes = read(TABLE, by="lang")
    assert votes.slices == ("de", "en")
    assert votes.slice_i.tolist() == [1, 0, -1]
    assert votes.account.columns["slice"] == "lang"
    assert take_items(votes, np.array([2, 0])).slice_i.tolist() == [-1, 1]


def test_no_slices_without_by():
    votes = read({**TABLE, "slice": TABLE["lang"]})
    assert votes.slice_i is None
    assert "slice" in votes.account.ignored


def test_numeric_slices_of_a_wide_csv_are_numbers(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("item,batch,ana,bo\na,10,x,y\nb,9,x,x\n")
    votes = read(path, wide=True, by="batch")
    assert votes.slices == (9, 10)
    assert votes.slice_i.tolist() == [1, 0]
    assert votes.workers == ("ana", "bo")


def test_an_item_in_two_slices_is_refused():
    with pytest.raises(DataError, match=r"row 1, column 'lang': item 'a' has value 'de', but 'en' in .*row 0"):
        read({**TABLE, "lang": ["en", "de", "de", "de", "de"]}, by="lang")


def test_missing_column_is_an_error():
    with pytest.raises(ConfigError, match="no column 'language' to take for the slice"):
        read(TABLE, by="language")
