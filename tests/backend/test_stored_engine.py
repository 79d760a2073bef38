"""Every distributed method on row groups gives the numbers that it gives in memory."""

from dataclasses import replace

import numpy as np
import pytest

import majorant
from majorant.backend.files import stored_engine
from majorant.backend.prepare import prepare
from majorant.errors import ConfigError, DataError
from majorant.kernels import in_memory
from majorant.methods import ESTIMATORS
from majorant.read.options import ReadOptions

MEMORY = 1_000_000_000
DISTRIBUTED = sorted(name for name, method in ESTIMATORS.items() if method.traits.distributed and name != "map")
CLOSE = {"rtol": 0, "atol": 1e-9}
QUICK = ("majority", "dawid-skene", "one-coin", "mace", "hierarchical", "wawa")  # one of each kind


@pytest.fixture
def stored(crowd_file, tmp_path):
    return prepare(str(crowd_file), tmp_path / "work", ReadOptions(repeats="each"), memory=MEMORY)


def fit(name, votes, engine, **more):
    settings = {"tol": 1e-10} if name == "glad" else {}  # its leaps widen the rounding of sums in another order
    return ESTIMATORS[name](**settings).fit(votes, engine=engine, **more)


def engine_of(stored, **more):
    return stored_engine(stored, memory=MEMORY, **more)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.long]) for name in DISTRIBUTED]
)
def test_a_fit_on_row_groups_is_the_fit_in_memory(name, stored, crowd_file):
    votes = majorant.read(str(crowd_file), repeats="each")
    engine = replace(engine_of(stored, threads=2), room=3000)  # some blocks stay, most are read again
    assert len(engine.bounds) > 3
    found, expected = fit(name, stored, engine), fit(name, votes, in_memory(votes))
    assert 0 < len(engine.kept) < len(engine.bounds)
    np.testing.assert_allclose(found.posterior, expected.posterior, **CLOSE)
    np.testing.assert_allclose(found.prior, expected.prior, **CLOSE)
    assert found.labels(ties="prior") == expected.labels(ties="prior")
    for learned in ("confusion", "skill"):
        if getattr(expected, learned) is not None:
            np.testing.assert_allclose(getattr(found, learned), getattr(expected, learned), **CLOSE)


def test_a_damaged_row_group_is_an_error(stored):
    path = stored.folder / "votes.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 3 + 40] = b"\xff" * 40
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"votes\.parquet is damaged \(row groups .*run again without resume=True"):
        fit("majority", stored, engine_of(stored))


def test_a_damaged_byte_is_an_error_or_changes_nothing(stored):
    path, names = stored.folder / "votes.parquet", ("worker", "label")
    content, expected = path.read_bytes(), stored.columns(0, stored.n_groups, *names)
    found = 0
    for at in range(5, len(content), len(content) // 150):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            for column_n, right_n in zip(stored.columns(0, stored.n_groups, *names), expected, strict=True):
                np.testing.assert_array_equal(column_n, right_n)
        except DataError:
            found += 1
    assert found > 75  # the rest are statistics that nobody reads


def test_too_little_memory_for_workers_error_states_the_minimum(stored):
    with pytest.raises(ConfigError, match=r"memory='400MB' is too little for 23 workers and 3 classes.*at least 401MB"):
        stored_engine(stored, memory=400_000_000, threads=1)
