"""Files and Spark read the same votes as memory from any table, or reject it."""

from dataclasses import replace
from pathlib import Path

import pytest

from awkward_tables import draw_table
from corpus.readings import compare
from majorant.read.options import ReadOptions
from majorant.read.sort import prepare
from majorant.read.spark import _here, pack_frame, read_files
from sizes import many


def test_sorted_files_are_read_like_memory(tmp_path):
    def read(table):
        folder = tmp_path / f"work-{Path(table.source).stem}"
        return prepare(table.source, folder, ReadOptions(**table.settings), memory=10**9)

    tables = [draw_table(tmp_path, number) for number in range(many(2000, quick=60))]
    same = sum(compare(table, read) is True for table in tables)
    assert same > 0.4 * len(tables)


@pytest.mark.xdist_group("spark")
def test_spark_reads_like_memory(session, tmp_path):
    def read(table):
        return read_files(session, [table.source], ReadOptions(**table.settings), partitions=2)

    tables = [draw_table(tmp_path, number) for number in range(many(2000, quick=24))]
    same = sum(compare(table, read) is True for table in tables)
    assert same > 0.4 * len(tables)


@pytest.mark.xdist_group("spark")
def test_frames_on_the_cluster_are_read_as_in_memory(session, tmp_path):
    tables = [draw_table(tmp_path, number) for number in range(many(600, quick=60))]
    tables = [table for table in tables if table.source.endswith(".parquet")]
    same = 0
    for drawn in tables:
        frame = session.read.parquet(drawn.source)
        table = replace(drawn, source=frame.toArrow())

        def read(table, frame=frame):
            options = ReadOptions(**table.settings)
            return _here(pack_frame(frame, options, partitions=2), options)

        same += compare(table, read) is True
    assert same > 0.2 * len(tables)
