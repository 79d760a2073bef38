"""Votes in a Spark frame give the numbers that they give in memory, also when a Python worker dies on the way."""

import numpy as np
import pyarrow as pa
import pytest

from crowds import informed_votes
from majorant.decide.labels import label_table
from majorant.engines import spark as on_spark
from majorant.engines.spark import lines, session
from majorant.engines.sql import as_patterns, patterns_query, worker_query
from majorant.errors import ConfigError
from majorant.estimate import ESTIMATORS
from majorant.output import votes_table
from majorant.tally import tally
from majorant.votes import Votes

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def spark():
    """One session for all tests: local, two cores, a task may fail twice before its job does."""
    try:
        session.require_spark()
    except ConfigError as missing:
        pytest.skip(str(missing))
    settings = {"spark.sql.shuffle.partitions": "3", "spark.python.worker.reuse": "true"}
    with on_spark.spark_session("local[2,3]", memory="1g", settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def local():
    """Votes with names in the order in which a single block has them."""
    votes = informed_votes(np.random.default_rng(3), n_items=300, n_votes=1800, n_workers=12)
    triples = {(f"item {i:03}", f"worker {j:02}"): f"label {l}" for i, j, l in codes(votes)}
    rows = [(item, worker, label) for (item, worker), label in sorted(triples.items())]
    return named(rows)


def codes(votes):
    return zip(votes.item_n.tolist(), votes.worker_n.tolist(), votes.label_n.tolist(), strict=True)


def named(rows):
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = [sorted(set(column)) for column in columns]
    place = [{name: code for code, name in enumerate(known)} for known in names]
    coded = [[where[value] for value in column] for where, column in zip(place, columns, strict=True)]
    return Votes.from_codes(*coded, items=names[0], workers=names[1], labels=names[2])


def frame_of(spark, votes, shuffled=True):
    table = pa.table({name: column for name, column in votes_table(votes).items() if name != "gold"})
    table = pa.table({name: column.cast(pa.string()) for name, column in zip(table.column_names, table, strict=True)})
    rows = np.random.default_rng(0).permutation(len(table)) if shuffled else np.arange(len(table))
    return spark.createDataFrame(table.take(pa.array(rows)))


@pytest.fixture(scope="module")
def frame(spark, local):
    return frame_of(spark, local)


@pytest.fixture(scope="module")
def votes(frame):
    """In five blocks, whose items are in another order than in memory."""
    return on_spark.encode(frame, partitions=5)


@pytest.fixture(scope="module")
def one_block(frame):
    return on_spark.encode(frame, partitions=1)


def by_item(labels):
    table = labels.toArrow().sort_by("item")
    return {name: table.column(name).to_pylist() for name in table.column_names}


def test_blocks_hold_all_votes_and_nothing_else(votes, local):
    assert len(votes.places.part_b) == 5
    assert votes.shape == local.shape
    assert (votes.workers, votes.labels) == (local.workers, local.labels)
    assert (votes.account.votes, votes.account.rows) == (local.n_votes, local.n_votes)
    back = votes.take_items(np.arange(votes.shape[0]))
    assert sorted(zip([back.items[i] for i in back.item_n], back.worker_n, back.label_n, strict=True)) == sorted(
        zip([local.items[i] for i in local.item_n], local.worker_n, local.label_n, strict=True)
    )
    chosen = np.array([0, 7, 100, 101, 299])
    some = votes.take_items(chosen)
    assert some.items == tuple(back.items[i] for i in chosen)
    assert some.votes_i.tolist() == back.votes_i[chosen].tolist()


def test_counts_equal_those_in_memory_and_those_of_the_shared_sql(spark, votes, local):
    found, expected = on_spark.tally(votes), tally(local)
    assert found.patterns.counts_pk.tolist() == expected.patterns.counts_pk.tolist()
    assert found.patterns.items_p.tolist() == expected.patterns.items_p.tolist()
    assert found.votes_jl.tolist() == expected.votes_jl.tolist()
    assert found.histograms is None
    coded = {"item": local.item_n, "worker": local.worker_n, "label": local.label_n}
    table = spark.createDataFrame(pa.table(coded))
    rows = spark.sql(patterns_query(3, "{votes}"), votes=table).toArrow()
    by_sql = as_patterns(rows.columns, len(local.items))
    assert by_sql.counts_pk.tolist() == expected.patterns.counts_pk.tolist()
    assert by_sql.items_p.tolist() == expected.patterns.items_p.tolist()
    rows = spark.sql(worker_query("{votes}"), votes=table).toArrow().to_pylist()
    assert {(r["worker"], r["label"]): r["votes"] for r in rows} == {
        (j, l): n for j, row in enumerate(expected.votes_jl.tolist()) for l, n in enumerate(row) if n
    }


@pytest.mark.parametrize("method", [name for name in ESTIMATORS if ESTIMATORS[name].distributed])
def test_every_method_gives_the_numbers_it_gives_in_memory(votes, local, method):
    if method in lines.NOT_HERE:
        with pytest.raises(ConfigError, match=f"{method} .* so it does not run on Spark. Choose one of: majority"):
            on_spark.aggregate(votes, method)
        return
    rng = {"rng": 0} if ESTIMATORS[method].stochastic else {}
    if ESTIMATORS[method].classes == 2:
        pytest.skip("two classes only")
    expected, found = ESTIMATORS[method]().fit(local, **rng), on_spark.aggregate(votes, method, rng=0)
    np.testing.assert_allclose(found.fit.prior, expected.prior, atol=1e-9)
    assert found.fit.n_iter == expected.n_iter
    np.testing.assert_allclose(found.fit.trace, expected.trace, rtol=1e-9)
    for name in ("confusion", "skill"):
        if getattr(expected, name) is not None:
            np.testing.assert_allclose(getattr(found.fit, name), getattr(expected, name), atol=1e-9)
    labels, table = by_item(found.labels), label_table(local, expected)
    assert labels["item"] == list(local.items)
    for name in ("label", "runner_up", "tied", "changed"):
        assert labels[name] == list(table[name])
    for name in ("confidence", "margin", "votes"):
        np.testing.assert_allclose(np.array(labels[name], dtype=float), table[name], atol=2e-9)
