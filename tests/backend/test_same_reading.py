"""Whatever a table looks like, files and Spark read the votes that memory reads, or refuse."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import majorant
from awkward_tables import draw_table
from majorant.backend.prepare import prepare
from majorant.errors import MajorantError
from majorant.read.options import ReadOptions
from sizes import many

ACCOUNTED = ("rows", "votes", "abstained", "merged", "dropped")


def typed(value):
    """A value with its type; NaN equals itself."""
    return type(value).__name__, "nan" if isinstance(value, float) and math.isnan(value) else value


def content(votes):
    """What was read: votes, gold labels, names and counts of rows, whatever the order of items and workers."""
    items, workers, labels = ([typed(name) for name in names] for names in (votes.items, votes.workers, votes.labels))
    ballots = Counter(
        (items[i], workers[j], labels[k])
        for i, j, k in zip(votes.item_n.tolist(), votes.worker_n.tolist(), votes.label_n.tolist(), strict=True)
    )
    gold = {} if votes.gold_i is None else dict(zip(items, votes.gold_i.tolist(), strict=True))
    counts = {name: getattr(votes.account, name) for name in ACCOUNTED}
    return ballots, gold, Counter(items), Counter(workers), labels, counts


def everything(backend_votes):
    return backend_votes.take_items(np.arange(backend_votes.shape[0]))


def compare(table, read):
    """Whether a backend reads the table as memory does; None where it refuses."""
    try:
        expected = content(majorant.read(table.source, **table.settings))
    except MajorantError as error:
        expected = str(error)
    try:
        found = content(read(table))
    except MajorantError:
        return None
    assert not isinstance(expected, str), f"{table.source}: memory refuses it ({expected})"
    assert found == expected, table.source
    return True


def test_files_read_what_memory_reads(tmp_path):
    def read(table):
        folder = tmp_path / f"work-{Path(table.source).stem}"
        return everything(prepare(table.source, folder, ReadOptions(**table.settings), memory=10**9))

    tables = [draw_table(tmp_path, number) for number in range(many(2000, quick=60))]
    same = sum(compare(table, read) is True for table in tables)
    assert same > 0.4 * len(tables)


@pytest.mark.xdist_group("spark")
def test_spark_reads_what_memory_reads(spark, tmp_path):
    from majorant.backend.spark.reading import read_files

    def read(table):
        backend = read_files(spark, [table.source], ReadOptions(**table.settings), partitions=2)
        return backend.take(np.arange(backend.votes.shape[0]))

    tables = [draw_table(tmp_path, number) for number in range(many(2000, quick=24))]
    same = sum(compare(table, read) is True for table in tables)
    assert same > 0.4 * len(tables)


@pytest.mark.xdist_group("spark")
def test_frames_on_the_cluster_are_read_as_in_memory(spark, tmp_path):
    from majorant.backend.spark.reading import read_frame

    tables = [draw_table(tmp_path, number) for number in range(many(600, quick=60))]
    tables = [table for table in tables if table.source.endswith(".parquet")]
    same = 0
    for drawn in tables:
        frame = spark.read.parquet(drawn.source)
        table = replace(drawn, source=frame.toArrow())

        def read(table, frame=frame):
            backend = read_frame(frame, ReadOptions(**table.settings), partitions=2)
            return backend.take(np.arange(backend.votes.shape[0]))

        same += compare(table, read) is True
    assert same > 0.2 * len(tables)
