"""Tables of votes on disk, and limits so small that a small table is walked in several parts."""

import numpy as np
import pytest

from crowds import informed_votes
from majorant import database, votes
from majorant.errors import ConfigError
from majorant.output import votes_table, write_table
from majorant.read import read_with, spark
from majorant.read.options import ReadOptions

FEW = 64


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of few items, batches of few rows, and files for the smallest results."""
    monkeypatch.setattr(votes, "AT_ONCE", 4 * FEW)
    monkeypatch.setattr(votes, "SMALL", 0)
    monkeypatch.setattr(database, "BATCH_ROWS", 4 * FEW)


@pytest.fixture
def crowd_file(tmp_path, small_parts):
    """A Parquet file of 4,000 votes on 700 items in random order, and a CSV file of the same."""
    rng = np.random.default_rng(7)
    drawn = informed_votes(rng, n_items=700, n_workers=23, n_classes=3, n_votes=4000)
    table = {name: column.dictionary_decode() for name, column in votes_table(drawn).items()}
    order = rng.permutation(drawn.n_votes)
    shuffled = {name: column.take(order) for name, column in table.items()}
    for ending in ("parquet", "csv"):
        write_table(tmp_path / f"votes.{ending}", shuffled)
    return tmp_path / "votes.parquet"


@pytest.fixture(scope="session")
def session():
    """One Spark session for all tests: local, two cores, a task may fail twice before its job does."""
    try:
        spark.require_spark()
    except ConfigError as missing:
        pytest.skip(str(missing))
    settings = {
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.maxResultSize": "16m",
        # Jobs so small are over before code compiled for them pays.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    with spark.spark_session("local[2,3]", memory="1g", settings=settings) as running:
        yield running


def read_arrays(path, request, **settings):
    """The votes in ordinary arrays."""
    return read_with(str(path), ReadOptions(**settings))


def read_maps(path, request, **settings):
    """The votes in memory-mapped arrays."""
    return read_with(str(path), ReadOptions(memory="1GB", **settings))


def read_prepared(path, request, **settings):
    """The votes prepared on Spark, in memory-mapped arrays."""
    running = request.getfixturevalue("session")
    return spark.read_files(running, [str(path)], ReadOptions(**settings), partitions=3)


@pytest.fixture(
    params=[
        pytest.param(read_arrays, id="arrays"),
        pytest.param(read_maps, id="maps"),
        pytest.param(read_prepared, id="spark", marks=pytest.mark.xdist_group("spark")),
    ]
)
def world(request, small_parts):
    """A function that reads a file into votes, wherever their arrays are."""
    return lambda path, **settings: request.param(path, request, **settings)
