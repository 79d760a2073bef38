"""Workers who copy each other count as one on every backend: in memory, in files and on Spark."""

import csv
from functools import partial

import numpy as np
import pyarrow.parquet as pq
import pytest

import majorant as mj
from majorant.backend.files import FileBackend
from majorant.backend.prepare import prepare
from majorant.backend.spark.reading import read_frame
from majorant.evidence import copies
from majorant.evidence.certificate import claims
from majorant.evidence.copies import find_copies
from majorant.output import votes_table, write_files, write_table
from majorant.read.options import ReadOptions
from majorant.render.files import label_fits, label_part

MEMORY = 1_000_000_000


def panel_with_copies():
    """Seven judges with gold on some items; the second repeats the first nine times in ten, the third always."""
    rng = np.random.default_rng(0)
    truth_i = rng.integers(0, 3, 500)
    right_ij = rng.random((500, 7)) < [0.7, 0.7, 0.7, 0.85, 0.8, 0.75, 0.8]
    label_ij = np.where(right_ij, truth_i[:, None], (truth_i[:, None] + rng.integers(1, 3, (500, 7))) % 3)
    label_ij[:, 2] = label_ij[:, 0]
    label_ij[:, 1] = np.where(rng.random(500) < 0.93, label_ij[:, 0], label_ij[:, 1])
    return mj.Votes.from_codes(
        np.repeat(np.arange(500), 7), np.tile(np.arange(7), 500), label_ij.ravel(),
        items=[f"i{i:03}" for i in range(500)], workers=[f"j{j}" for j in range(7)], labels="abc",
        gold=np.where(np.arange(500) % 10, -1, truth_i),
    )  # fmt: skip


@pytest.fixture
def file(tmp_path, small_groups):
    table = {name: column.dictionary_decode() for name, column in votes_table(panel_with_copies()).items()}
    return write_table(tmp_path / "votes.parquet", table)


@pytest.fixture(params=[pytest.param(False, id="all items", marks=pytest.mark.long), pytest.param(True, id="a sample")])
def sampled(request, monkeypatch):
    """Whether what needs votes in memory sees a sample of the items only."""
    if request.param:
        monkeypatch.setattr(claims, "sampled_share", lambda *_, **more: 2 / 3)
        monkeypatch.setattr(copies, "_take_sample", partial(copies._take_sample, most_votes=2000))
    return request.param


def assert_same(there, here):
    assert here.copies == (("j0", "j1", "j2"),)
    assert there.copy_groups == here.copy_groups
    assert (there.answer.action, there.answer.rule, there.answer.certainty) == (
        here.answer.action, here.answer.rule, here.answer.certainty,
    )  # fmt: skip
    np.testing.assert_array_equal(there.changes.flow_kl, here.changes.flow_kl)
    assert there.tied == here.tied
    np.testing.assert_allclose(there.workers.accuracy_j, here.workers.accuracy_j, atol=1e-9)
    np.testing.assert_array_equal(there.workers.votes_j, here.workers.votes_j)
    assert there.workers.flags == here.workers.flags
    said = [dict(zip(one.items, one.said, strict=True)) for one in (there.review, here.review)]
    both = said[0].keys() & said[1].keys()
    assert len(both) > 0.8 * len(said[1])  # labels that are equally doubtful come in the order of the items
    assert all(said[0][item] == said[1][item] for item in both)


def written(result, folder):
    """The labels as they are written, the items in order."""
    made = result.backend.label_files(folder, label_fits(result), label_part(result))
    if made.written:
        return pq.read_table(made.written[0]).sort_by("item").to_pydict()
    write_files(made.content)
    rows = list(csv.DictReader((folder / "labels.csv").read_text(encoding="utf-8").splitlines()))
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_copies_are_counted_the_same_in_files_and_in_memory(file, tmp_path, sampled):
    there, here = mj.check(FileBackend(prepare(str(file), tmp_path / "work", memory=MEMORY), MEMORY)), mj.check(file)
    assert_same(there, here)
    found, expected = written(there, tmp_path), written(here, tmp_path)
    if sampled:  # which calibrates the confidence
        del found["confidence"], expected["confidence"]
    assert found == expected
    assert set(found["votes"]) == {"5"}  # three of the seven judges count as one


@pytest.mark.xdist_group("spark")
def test_spark_counts_copies_as_memory_does(spark, file, tmp_path, sampled):
    there, here = mj.check(read_frame(spark.read.parquet(str(file)), ReadOptions(), partitions=3)), mj.check(file)
    assert_same(there, here)
    found, expected = written(there, tmp_path), written(here, tmp_path)
    for name in ("item", "label", "majority", "votes"):
        assert list(map(str, found[name])) == expected[name]


def test_a_difference_outside_the_sample_is_counted(monkeypatch):
    monkeypatch.setattr(copies, "_take_sample", partial(copies._take_sample, most_votes=1000))
    votes = panel_with_copies()
    label_n = votes.label_n.copy()
    said = np.flatnonzero(votes.worker_n == 2)[::499]
    label_n[said] = (label_n[said] + 1) % 3
    changed = mj.Votes.from_codes(
        votes.item_n, votes.worker_n, label_n, items=votes.items, workers=votes.workers, labels=votes.labels
    )
    [group] = find_copies(changed).groups
    assert {"j0", "j2"} <= set(group.workers)
    assert group.shared == 500
