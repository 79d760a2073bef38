"""Tables of votes on disk, and batches so small that they make several row groups."""

import numpy as np
import pytest

from crowds import informed_votes
from majorant import database
from majorant.backend import store
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
