"""Tables of votes on disk, and a size of row groups at which they make several."""

import numpy as np
import pytest

from crowds import informed_votes
from majorant.backend import prepare, spill, store
from majorant.output import votes_table, write_table

FEW = 64


@pytest.fixture
def small_groups(monkeypatch):
    """Row groups of 64 items, so that a small table has several."""
    for module in (prepare, spill, store):
        monkeypatch.setattr(module, "PER_GROUP", FEW)


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
