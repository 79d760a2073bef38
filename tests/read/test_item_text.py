"""The items' own text: detected or named, and looked up only when it is shown."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import majorant as mj
from majorant.errors import ConfigError
from majorant.items import take_items
from majorant.methods import ESTIMATORS
from majorant.read.build import mask
from majorant.read.sort import prepare
from majorant.results.review import review

HERE = Path(__file__).parent / "fixtures"
TABLE = {
    "item": ["a", "a", "b"],
    "worker": ["w", "x", "w"],
    "label": [1, 0, 1],
    "prompt": ["A?", "A?", "B?"],
    "n": [1, 2, 3],
}


@pytest.mark.parametrize(
    ("name", "settings", "column"),
    [
        ("inspect.json", {}, "data.text"),
        ("label_studio.json", {}, "data.text"),
        ("labelbox.ndjson", {}, "data.row_data"),
        ("mturk.csv", {}, "Input.text"),
        ("wide_text.csv", {"workers": "ana,bo,cy"}, "prompt"),
        ("doccano", {}, "data.text"),
    ],
)
def test_the_text_of_a_tools_items_is_known(name, settings, column):
    votes = mj.read(HERE / name, **settings)
    assert votes.text.column == column
    assert votes.text([votes.items[3], votes.items[0], "nobody"]) == ["best I ever had", "great phone", None]


def test_items_made_of_an_item_and_a_label_have_the_text_of_the_item():
    votes = mj.read(HERE / "several.jsonl", several=True)
    assert votes.text(["1 | pos", "4 | short"]) == ["great phone", "best I ever had"]


@pytest.mark.parametrize("make", [dict, pd.DataFrame])
def test_item_text_is_read_from_frames(make):
    votes = mj.read(make(TABLE))
    assert votes.text(["b", "a"]) == ["B?", "A?"]
    assert mj.read(make(TABLE), text="n").text(["b"]) == ["3"]
    assert mj.read(make(TABLE), text="").text is None
    with pytest.raises(ConfigError, match="no column 'words' to take for the text of items"):
        mj.read(make(TABLE), text="words")


def test_review_shows_item_text_unless_names_are_masked():
    votes = mj.read(TABLE)
    assert take_items(votes, np.array([1])).text is votes.text
    posterior_ik = ESTIMATORS["majority"]().fit(votes).posterior
    listed = review(votes, posterior_ik.argmax(axis=1), posterior_ik.max(axis=1))
    assert listed.table()["text"][0] == "A?"
    assert mask(votes).text is None


def test_text_works_on_disk_and_is_skipped_if_the_source_is_gone(tmp_path):
    path = tmp_path / "votes.csv"
    pd.DataFrame(TABLE).to_csv(path, index=False)
    stored = prepare(str(path), tmp_path / "work", memory=1_000_000_000)
    assert stored.text(["a"]) == ["A?"]
    votes = mj.read(path)
    path.unlink()
    assert votes.text(["a"]) == [None]
