"""Tables of votes on disk, and batches so small that they make several row groups."""

import numpy as np
import pytest

from crowds import informed_votes
from majorant import database
from majorant.backend import store
from majorant.backend.spark import session
from majorant.errors import ConfigError
from majorant.output import votes_table, write_table

FEW = 64


@pytest.fixture
def small_groups(monkeypatch):
    """Batches of few rows, so that a small table has several row groups."""
    monkeypatch.setattr(store, "NAMES_PER_GROUP", FEW)
    monkeypatch.setattr(database, "BATCH_ROWS", 4 * FEW)


@pytest.fixture
def crowd_file(tmp_path, small_groups):
    """A Parquet file of 4,000 votes on 700 items in random order, and a CSV file of the same."""
    rng = np.random.default_rng(7)
    votes = informed_votes(rng, n_items=700, n_workers=23, n_classes=3, n_votes=4000)
    table = {name: column.dictionary_decode() for name, column in votes_table(votes).items()}
    order = rng.permutation(votes.n_votes)
    shuffled = {name: column.take(order) for name, column in table.items()}
    for ending in ("parquet", "csv"):
        write_table(tmp_path / f"votes.{ending}", shuffled)
    return tmp_path / "votes.parquet"


@pytest.fixture(scope="session")
def spark():
    """One session for all tests: local, two cores, a task may fail twice before its job does."""
    try:
        session.require_spark()
    except ConfigError as missing:
        pytest.skip(str(missing))
    settings = {
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.maxResultSize": "16m",
        # Jobs so small are over before code compiled for them pays.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    with session.spark_session("local[2,3]", memory="1g", settings=settings) as running:
        yield running
