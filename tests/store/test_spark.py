"""Votes in a Spark frame give the same numbers as in memory, even if a Python worker dies."""

import json
import os
import re
import signal
import sys
import zlib
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import awkward
from crowds import informed_votes
from majorant.cli import main
from majorant.errors import ConfigError, DataError
from majorant.kernels import gather, scatter
from majorant.limits import LIMITS
from majorant.methods import ESTIMATORS
from majorant.methods.fit import Fit
from majorant.output import votes_table, write_table
from majorant.pipeline import aggregate, check
from majorant.read import read
from majorant.read.options import ReadOptions
from majorant.read.spark import (
    ClusterRows,
    Packing,
    Places,
    SparkEngine,
    SparkVotes,
    _here,
    blocks_of,
    pack,
    pack_files,
    pack_frame,
)  # fmt: skip
from majorant.render.summary import result_summary
from majorant.results.rates import rate
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

pytestmark = pytest.mark.xdist_group("spark")  # one session, on whichever core
LONG = ("hierarchical", "ebcc", "iwmv", "bwa")


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


def frame_of(session, votes, shuffled=True):
    table = pa.table({name: column for name, column in votes_table(votes).items() if name != "gold"})
    table = pa.table({name: column.cast(pa.string()) for name, column in zip(table.column_names, table, strict=True)})
    rows = np.random.default_rng(0).permutation(len(table)) if shuffled else np.arange(len(table))
    return session.createDataFrame(table.take(pa.array(rows)))


@pytest.fixture(scope="module")
def frame(session, local):
    return frame_of(session, local)


@pytest.fixture(scope="module")
def votes(frame):
    """In five blocks, whose items are in another order than in memory."""
    return encode(frame, partitions=5)


@pytest.fixture(scope="module")
def one_block(frame):
    return encode(frame, partitions=1)


def encode(frame, partitions=3, **reading):
    """The votes of a frame as blocks on the cluster."""
    return pack_frame(frame, ReadOptions(**reading), partitions=partitions)


def fetched(votes, **options):
    """The votes written to a folder of this machine."""
    return _here(votes, ReadOptions(**options))


def labels_there(fit):
    table = fit.to_spark().toArrow().sort_by("item")
    return {name: table.column(name).to_pylist() for name in table.column_names}


def test_blocks_contain_every_vote_once(votes, local):
    assert len(votes.places.part_b) == 5
    assert votes.shape == local.shape
    assert (votes.workers, votes.labels) == (local.workers, local.labels)
    assert (votes.account.votes, votes.account.rows) == (local.n_votes, local.n_votes)
    back = fetched(votes)
    assert back.n_votes == votes.n_votes
    given, expected = (
        sorted(zip([one.items[i] for i in one.item_n], one.worker_n, one.label_n, strict=True)) for one in (back, local)
    )
    assert given == expected


def test_few_votes_are_read_into_memory(frame, local):
    votes = read(frame)
    assert votes.scratch.folder is None
    assert (votes.shape, set(votes.workers)) == (local.shape, set(local.workers))
    assert votes.account.source == "Spark frame"


def test_many_votes_are_prepared_in_a_folder_that_is_deleted_with_them(frame, local, monkeypatch):
    monkeypatch.setitem(LIMITS, "SPARK_DRIVER_VOTES", 0)
    votes = read(frame)
    folder = votes.scratch.folder
    assert "can be deleted" in (folder / "CACHEDIR.TAG").read_text()
    assert votes.shape == local.shape
    del votes
    assert not folder.exists()


def test_check_of_a_frame_is_that_of_a_table(frame, monkeypatch):
    expected = result_summary(check(frame.toArrow(), method="majority"))
    for limit in (2_000_000, 0):
        monkeypatch.setitem(LIMITS, "SPARK_DRIVER_VOTES", limit)
        found = result_summary(check(frame, method="majority"))
        for name in ("majority", "votes", "flow"):
            assert found[name] == expected[name]


def few_steps(method):
    """The method with few steps, so that Spark has few passes to make."""
    settings = {"max_iter": 3, "tol": 0.0} if ESTIMATORS[method].traits.iterative else {}
    return ESTIMATORS[method](**settings)


@pytest.mark.parametrize(
    "method", ["majority", "dawid-skene", *(pytest.param(method, marks=pytest.mark.long) for method in LONG)]
)
def test_methods_match_memory(votes, local, method):
    expected = few_steps(method).fit(local)
    found = few_steps(method).fit(votes, engine=votes.engine)
    assert isinstance(found, Fit)
    assert isinstance(found.posterior, ClusterRows)
    np.testing.assert_allclose(found.prior, expected.prior, atol=1e-9)
    assert found.n_iter == expected.n_iter
    np.testing.assert_allclose(found.trace, expected.trace, rtol=1e-9)
    for name in ("confusion", "skill"):
        if getattr(expected, name) is not None:
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-9)
    frame = labels_there(found)
    assert found.posterior.local is None  # nothing passed through the driver
    assert (frame["item"], frame["label"]) == (list(local.items), expected.labels())
    np.testing.assert_allclose(frame["confidence"], expected.confidence_i, atol=2e-9)
    table = found.to_dict()
    order = np.argsort(table["item"])
    assert [table["label"][i] for i in order] == expected.labels()
    assert [table["tied"][i] for i in order] == expected.tied_i.tolist()
    assert found.votes_i[order].tolist() == expected.votes_i.tolist()


@pytest.mark.parametrize("method", ["dawid-skene", "weighted-vote", "glad", "auto"])
def test_aggregate_of_many_rows_is_the_same_fit(frame, local, monkeypatch, method):
    monkeypatch.setitem(LIMITS, "SPARK_DRIVER_VOTES", 0)
    found, expected = aggregate(frame, method), aggregate(local, method)
    assert isinstance(found, Fit)
    names = found.to_dict()["item"]
    assert dict(zip(names, found.labels(), strict=True)) == dict(zip(local.items, expected.labels(), strict=True))
    rows = dict(zip(names, np.asarray(found.posterior), strict=True))
    np.testing.assert_allclose([rows[item] for item in local.items], expected.posterior, atol=1e-6)
    assert (isinstance(found.posterior, ClusterRows)) == (method == "dawid-skene")


def test_to_spark_is_for_fits_on_a_cluster(local):
    with pytest.raises(ConfigError, match=r"to_spark\(\) is for fits to many votes in a Spark frame"):
        aggregate(local, "majority").to_spark()


def test_a_rate_on_the_cluster_is_that_in_memory(frame, local):
    label, gold = local.labels[0], {item: local.labels[n % 2] for n, item in enumerate(local.items)}
    found, expected = rate(fetched(encode(frame, gold_file=gold)), label=label), rate(local, gold, label=label)
    assert (found.low, found.high) == (expected.low, expected.high) == (found.value, found.value)  # all are labelled
    assert [one.name for one in found.overall.reported] == [one.name for one in expected.overall.reported]
    rates, others = ([one.rate for one in each.overall.reported] for each in (found, expected))
    assert rates == pytest.approx(others, abs=1e-6)


def test_two_round_sums_match_one_round(votes):
    engine = SparkEngine(votes, to_driver=0)
    table = np.random.default_rng(0).random((36, 3))

    def step(block):
        return scatter(block, gather(block, table)), float(block.stop)

    once, twice = votes.engine.map_sum(step), engine.map_sum(step)
    np.testing.assert_allclose(twice[0], once[0], rtol=1e-13)
    assert twice[1] == once[1]
    again = engine.map_sum(step)
    np.testing.assert_array_equal(again[0], twice[0])  # to the last digit


@pytest.mark.long
def test_a_python_worker_that_dies_changes_nothing(votes, tmp_path):
    """Killed in the middle of a pass, once: Spark starts another and repeats its task."""
    marker = str(tmp_path / "died")
    expected = votes.engine.map_sum(column_sums())

    def step(block):
        if block.index == 2:
            try:
                Path(marker).touch(exist_ok=False)
            except FileExistsError:
                return scatter(block, np.ones(block.stop - block.start))
            os.kill(os.getpid(), signal.SIGKILL)
        return scatter(block, np.ones(block.stop - block.start))

    found = votes.engine.map_sum(step)
    assert Path(marker).exists()
    np.testing.assert_array_equal(found, expected)


def column_sums():
    """Votes by worker and label; made here, so that workers, who do not know this file, are sent all of it."""

    def step(block):
        return scatter(block, np.ones(block.stop - block.start))

    return step


def small(session, **columns):
    return session.createDataFrame(pa.table(columns))


def test_abstentions_and_repeated_votes(session):
    rows = small(
        session,
        item=[1, 1, 1, 2, 2, 3, 4],
        worker=["w", "x", "x", "w", "x", "w", "w"],
        label=["yes", "no", "no", "yes", "NA", "", None],
        truth=["yes", None, None, "no", None, "maybe", None],
    )
    votes = encode(rows, gold="truth", empty=["NA"])
    assert votes.labels == ("maybe", "no", "yes")
    account = votes.account
    assert (account.rows, account.votes, account.merged, account.abstained) == (7, 3, 1, 3)
    assert account.balanced
    back = fetched(votes)
    votes_of = dict(zip(back.items, back.votes_i.tolist(), strict=True))
    assert votes_of == {1: 2, 2: 1, 3: 0, 4: 0}
    assert dict(zip(back.items, back.gold_i.tolist(), strict=True)) == {1: 2, 2: 1, 3: 0, 4: -1}
    labels = labels_there(ESTIMATORS["majority"]().fit(votes, engine=votes.engine))
    assert labels["item"] == [1, 2, 3, 4]
    assert labels["label"] == [None, "yes", None, None]  # a tie, and two items without votes
    assert [str(value) for value in labels["confidence"]] == ["0.5", "1.0", "None", "None"]
    each = encode(rows, gold="", repeats="each", empty=["NA"])
    assert each.n_votes == 4


def test_bad_frames_are_rejected_with_the_users_column_names(session):
    good = {"item": ["a", "a"], "worker": ["w", "w"], "label": ["yes", "no"]}
    for message, columns, settings in (
        (r"worker 'w' labels item 'a' twice, 'no' and 'yes'.*repeats='each'", {}, {}),
        ("column 'label': more than 1 different labels", {}, {"max_classes": 1}),
        ("no row contains a vote", {"label": ["", ""]}, {}),
        ("column 'worker': the worker is empty", {"worker": ["w", None]}, {}),
        ("column 'worker': the worker is empty", {"worker": ["w", " "]}, {}),
        ("column 'worker': the worker is empty", {"worker": [1.0, float("nan")]}, {}),
        ("column 'item': the item is empty in 1 rows", {"item": ["a", None]}, {}),
        ("column 'item': the item is empty in 1 rows", {"item": ["a", "  "]}, {}),
        ("column 'item': the item is empty in 1 rows", {"item": [1.0, float("nan")]}, {}),
        ("column 'item': the item is of type date", {"item": [date(2024, 1, 1)] * 2}, {}),
        ("item 'a' has two gold labels", {"worker": ["w", "x"], "gold": ["yes", "no"]}, {}),
        ("cannot tell whether 'perhaps' means a vote", {"worker": ["w", "x"], "status": ["ok", "perhaps"]}, {}),
    ):
        with pytest.raises(DataError, match=message):
            encode(small(session, **{**good, **columns}), **settings)
    with pytest.raises(ConfigError, match="rows on Spark have no order"):
        encode(small(session, **good), repeats="first")
    with pytest.raises((ConfigError, DataError), match="answer"):
        encode(small(session, **good), label="answer")
    with pytest.raises(ConfigError, match="several= works only for votes in memory"):
        encode(small(session, **good), several=True)


@pytest.mark.parametrize("partitions", [None, 2])
def test_logs_are_converted_to_rows_before_reading(session, partitions):
    file = str(Path(__file__).parents[1] / "read" / "fixtures" / "inspect.json")
    here, back = read(file), fetched(pack_files(session, [file], ReadOptions(), partitions=partitions))
    assert back.shape == here.shape
    given, expected = (
        sorted((str(votes.items[i]), votes.workers[j], votes.labels[k]) for i, j, k in codes(votes))
        for votes in (back, here)
    )
    assert given == expected


def test_wide_tables_are_read_into_memory(session):
    file = str(Path(__file__).parents[1] / "read" / "fixtures" / "wide_text.csv")
    there = pack_files(session, [file], ReadOptions(workers="ana,bo,cy"), partitions=2)
    assert there.shape == read(file, workers="ana,bo,cy").shape


def test_addresses_must_be_parquet(session):
    with pytest.raises(ConfigError, match="from an address, Spark reads only Parquet"):
        pack_files(session, ["hdfs://node/votes.csv"], ReadOptions())


def test_the_command_line(session, tmp_path, monkeypatch, capsys):
    votes, _ = simulate([0.5, 0.5], one_coin_workers([0.9, 0.8, 0.7, 0.6, 0.85]), n_items=300, n_votes=5, rng=0)
    write_table(tmp_path / "votes.csv", votes_table(votes))
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["majorant", "check", str(tmp_path / "votes.csv"), "--json", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        assert stop.value.code == 0, printed.err
        return json.loads(printed.out)

    expected = run("--method", "majority")
    there = ("--method", "majority", "--engine", "spark", "--master", "local[2]", "--out")
    found = run(*there, str(tmp_path / "few"))
    answer = {**found["answer"], "command": expected["answer"]["command"]}
    assert {**found, "command": expected["command"], "answer": answer} == expected
    assert (tmp_path / "few" / "labels.csv").exists()
    monkeypatch.setitem(LIMITS, "SPARK_DRIVER_VOTES", 0)
    found = run(*there, str(tmp_path / "found"))
    for name in ("votes", "majority"):
        assert found[name] == expected[name]
    names = {path.name for path in (tmp_path / "found").iterdir() if path.name[0] != "."}
    assert names == {"labels.csv", "workers.csv", "review.csv", "result.json", "report.html"}
    monkeypatch.setattr(sys, "argv", ["majorant", "check", "no.csv", "--engine", "spark", "--master", "local[2]"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert (stop.value.code, "no.csv" in capsys.readouterr().err) == (2, True)


def test_block_with_wrong_checksum_is_rejected():
    pytest.importorskip("pyspark")
    codes = {"item": ["a", "a", "b"], "worker": [0, 1, 0], "label": [0, 1, 1], "gold": [-1, -1, -1]}
    [batch] = pack(iter([pa.record_batch(codes)]), Packing(n_workers=2, n_classes=2, repeats="error"))
    seal = np.array([zlib.crc32(batch.column("content")[0].as_buffer())])
    places = Places(
        part_b=np.array([0]), item_b=np.array([0, 2]), seal_b=seal, n_workers=2, n_classes=2, has_gold=False
    )
    [block] = blocks_of(batch, places)
    assert block.matrix.toarray().tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    for other in (replace(places, seal_b=seal + 1), replace(places, part_b=np.array([1]))):
        with pytest.raises(DataError, match="changed while Spark worked on them"):
            list(blocks_of(batch, other))


def votes_of_text(n, word):
    return "item,worker,label\n" + "".join(f"i{k // 3:03},w{k % 3},{(word, 'no')[k % 5 // 4]}\n" for k in range(3 * n))


def test_names_too_long_for_the_driver_stay_on_the_cluster(session):
    row = np.arange(18)
    label = [str(n % 2) * 1_000_000 for n in row]  # 18 MB where 16 may come
    votes = pack_frame(small(session, item=row // 3, worker=row % 3, label=label), ReadOptions())
    assert isinstance(votes, SparkVotes)
    assert votes.n_votes == 18


@pytest.mark.parametrize("kept", ["all", pytest.param("none", marks=pytest.mark.long)])
def test_recomputed_blocks_with_other_votes_are_rejected(session, tmp_path, kept):
    """An executor is lost with its blocks, and the file has been replaced by one of equal size or with other items."""
    path = tmp_path / "votes.csv"
    path.write_text(votes_of_text(40, "si"))
    votes = encode(session.read.csv(str(path), header=True))
    expected = votes.engine.map_sum(column_sums())
    votes.blocks.unpersist(blocking=True)
    np.testing.assert_array_equal(votes.engine.map_sum(column_sums()), expected)
    votes.blocks.unpersist(blocking=True)
    text = path.read_text()
    path.write_text(text[::-1].replace("on", "is", 3)[::-1] if kept == "all" else text.replace("w", "x"))
    with pytest.raises(DataError, match="changed while Spark worked on them"):
        votes.engine.map_sum(column_sums())


def test_lost_blocks_are_recomputed_after_the_file_is_deleted(session, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(votes_of_text(40, "si"))
    votes = pack_files(session, [str(path)], ReadOptions(), partitions=3)
    expected = votes.engine.map_sum(column_sums())
    path.unlink()
    votes.blocks.unpersist(blocking=True)
    np.testing.assert_array_equal(votes.engine.map_sum(column_sums()), expected)


TABLE = "item,worker,label,language\na,w,1,de\na,x,2,de\nb,w,2,fr\nb,x,2,fr\nb,x,2,fr\nc,w,,fr\nc,y,,fr\n"
GOLD = "item,gold\na,1\nb,2\nz,1\n"


@pytest.mark.parametrize(
    "settings",
    [
        {"gold_file": "gold.csv"},
        {"threshold": 1.5},
        *(
            pytest.param(one, marks=pytest.mark.long)
            for one in ({"codes": "1=no,2=yes"}, {"order": "2,1"}, {"empty": "1"})
        ),
        {"columns": "item,worker,label,_", "repeats": "each", "empty": "label"},
    ],
    ids=str,
)
def test_spark_follows_the_same_reading_rules(session, tmp_path, settings):
    """The same labels, gold, account and notes."""
    (tmp_path / "votes.csv").write_text(TABLE if "columns" not in settings else TABLE.partition("\n")[2])
    (tmp_path / "gold.csv").write_text(GOLD)
    told = {**settings, **({"gold_file": str(tmp_path / "gold.csv")} if "gold_file" in settings else {})}
    here = read(str(tmp_path / "votes.csv"), **told)
    there = pack_files(session, [str(tmp_path / "votes.csv")], ReadOptions(**told), partitions=2)
    back = fetched(there)
    assert (there.labels, set(there.workers)) == (here.labels, set(here.workers))
    if here.gold_i is not None:
        given, expected = (dict(zip(votes.items, votes.gold_i.tolist(), strict=True)) for votes in (back, here))
        assert given == expected
    for name in ("rows", "votes", "abstained", "merged", "dropped", "repeats"):
        assert getattr(there.account, name) == getattr(here.account, name), name
    notes = [note for note in here.account.notes if (note.kind, note.facts.get("role")) != ("id-variants", "item")]
    assert sorted(there.account.notes, key=str) == sorted(notes, key=str)


def test_awkward_rows_are_read_as_in_memory(session, tmp_path):
    (tmp_path / "votes.csv").write_text(awkward.TABLE, encoding="utf-8")
    votes = pack_files(session, [str(tmp_path / "votes.csv")], ReadOptions(empty="NA"), partitions=2)
    awkward.holds(fetched(votes))
    for row, message in awkward.REFUSED.items():
        (tmp_path / "votes.csv").write_text(f"{awkward.TABLE}{row}\n", encoding="utf-8")
        with pytest.raises(DataError, match=re.escape(message)):
            pack_files(session, [str(tmp_path / "votes.csv")], ReadOptions(empty="NA"), partitions=2)
