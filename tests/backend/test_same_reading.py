"""Files and Spark read the same votes as memory from any table, or reject it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from awkward_tables import draw_table
from corpus.readings import compare, everything
from majorant.backend.prepare import prepare
from majorant.read.options import ReadOptions
from sizes import many


def test_file_backend_reads_like_memory(tmp_path):
    def read(table):
        folder = tmp_path / f"work-{Path(table.source).stem}"
        return everything(prepare(table.source, folder, ReadOptions(**table.settings), memory=10**9))

    tables = [draw_table(tmp_path, number) for number in range(many(2000, quick=60))]
    same = sum(compare(table, read) is True for table in tables)
    assert same > 0.4 * len(tables)


@pytest.mark.xdist_group("spark")
def test_spark_backend_reads_like_memory(spark, tmp_path):
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
