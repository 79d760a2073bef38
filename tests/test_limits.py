"""Tables that are large in an unusual way are refused at once by the limit's name, or looked at as far as it goes."""

import gzip
import re
import time
from pathlib import Path

import numpy as np
import pytest

import majorant as mj
from majorant.certify.anonymous.counts import certify_counts
from majorant.certify.named.bootstrap import Case
from majorant.certify.named.homogeneity import _places, _shuffled
from majorant.certify.named.multiclass import multiclass_claim
from majorant.errors import ConfigError, DataError
from majorant.estimate.shared import SharedConfusion
from majorant.limits import LIMITS, limit, sizes_within
from majorant.simulate import simulate
from majorant.votes import Votes


def test_many_classes_are_refused_at_once():
    label = [f"c{n % 900}" for n in range(2_700)]
    votes = mj.read({"item": [n // 3 for n in range(2_700)], "worker": [n % 30 for n in range(2_700)], "label": label})
    before = time.process_time()
    with pytest.raises(
        DataError, match=r"24,300,000 cells in 30 .* 900 classes, for 2,700 votes: the limit CONFUSION_C"
    ):
        mj.check(votes)
    assert time.process_time() - before < 2


def test_classes_that_the_items_cannot_tell_apart_are_not_resampled():
    votes, _ = simulate(np.full(25, 0.04), 0.5 * np.eye(25) + 0.02, n_items=100, n_votes=3, rng=0)
    claim = multiclass_claim(Case(votes=votes, fit=SharedConfusion().fit(votes), refit=None), level=0.95, rng=0)
    assert claim.verdict == "unidentified"
    assert "RESAMPLED_CLASSES" in claim.why


def test_many_votes_on_an_item_have_no_say_or_are_refused_by_name():
    many = np.zeros(100_001)
    many[70_000] = 1
    usual = {3: [260, 240, 240, 260]}
    claim = certify_counts({**usual, 100_000: many}).anonymous
    assert claim.by_votes == certify_counts(usual).anonymous.by_votes
    assert claim.without_say == {100_000: pytest.approx(1 / 1_001)}
    alone = certify_counts({100_000: many}).anonymous
    assert (alone.verdict, "COUNT_CELLS" in alone.why) == ("unidentified", True)


def test_the_most_common_numbers_of_votes_are_kept():
    assert sizes_within(dict.fromkeys(range(1, 400), 5.0)) == list(range(1, 140))
    assert sizes_within({9_999: 1.0, 3: 0.5}) == [9_999]


def test_votes_on_a_large_item_are_shuffled_within_it():
    item = [0] * 1_500 + [1] * 3 + [2] * 1_500
    votes = Votes.from_codes(item, [*range(1_500), 0, 1, 2, *range(1_500)], [0] * 3_003,
                             items=range(3), workers=range(1_500), labels="ny")  # fmt: skip
    order_n = _shuffled(_places(votes), np.random.default_rng(0))
    assert sorted(order_n) == list(range(3_003))
    assert [item[n] for n in order_n] == item
    assert (order_n != np.arange(3_003)).mean() > 0.99


def test_many_slices_are_refused_before_anything_is_counted(monkeypatch):
    monkeypatch.setattr("majorant.pipeline._counts", None)
    n = 5_000
    table = {"item": range(n), "worker": ["w"] * n, "label": [k % 2 for k in range(n)], "batch": range(n)}
    with pytest.raises(DataError, match=r"^5,000 slices.*: the limit SLICES is 100"):
        mj.check(table, by="batch")


def test_names_that_are_documents(monkeypatch):
    monkeypatch.setenv("MAJORANT_NAME_LENGTH", "10")
    with pytest.raises(
        DataError, match=r"11 signs in one cell of .*'label': the limit NAME_LENGTH is 10. Name items by"
    ):
        mj.read({"item": ["a"], "worker": ["w"], "label": ["x" * 11]})
    assert mj.read({"item": ["a"], "worker": ["w"], "label": ["x" * 10]}).labels == ("x" * 10,)


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_bombs_are_refused_before_they_are_unpacked(tmp_path, packing):
    path = tmp_path / f"votes.csv.{packing}"
    said = (2_000_000_000).to_bytes(4, "little")
    packed = gzip.compress(np.random.default_rng(0).bytes(3_000_000))[:-4] + said  # 667 times its size
    path.write_bytes(packed if packing == "gz" else bytes.fromhex("28b52ffd8058") + said + b"\0" * 90)
    with pytest.raises(DataError, match=r"bytes that each byte of .* unpacks to: the limit UNPACKED_RATIO is 300"):
        mj.read(path)


def test_what_does_not_fit_into_memory_is_said(tmp_path, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    (tmp_path / "a.csv").write_text("item,worker,label\na,w,y\n")
    monkeypatch.setattr("majorant.io.build_votes", full)
    with pytest.raises(DataError, match=r"a\.csv does not fit into memory"):
        mj.read(tmp_path / "a.csv")


def test_limits_can_be_set_by_name(monkeypatch):
    assert {name: limit(name) for name in LIMITS} == LIMITS
    monkeypatch.setenv("MAJORANT_SLICES", "5e3")
    assert limit("SLICES") == 5_000
    monkeypatch.setenv("MAJORANT_SLICES", "many")
    with pytest.raises(ConfigError, match="MAJORANT_SLICES=many: a limit is a whole number"):
        limit("SLICES")


def test_the_page_lists_every_limit():
    page = (Path(__file__).parent.parent / "docs" / "limits.md").read_text(encoding="utf-8")
    for name, value in LIMITS.items():
        [row] = [line for line in page.splitlines() if f"`{name}`" in line and line.startswith("|")]
        assert re.search(rf"\b{value:,}\b", row), row
