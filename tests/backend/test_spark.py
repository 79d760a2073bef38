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
from majorant.ask.ask import ask
from majorant.backend import MemoryBackend, as_backend
from majorant.backend.spark.backend import SparkBackend, SparkEngine, label_frame
from majorant.backend.spark.pack import Packing, Places, blocks_of, pack
from majorant.backend.spark.reading import read_files, read_frame
from majorant.cli import main
from majorant.errors import ConfigError, DataError
from majorant.evidence.certificate import claims
from majorant.evidence.certificate.claims import certification, certify
from majorant.kernels import gather, scatter
from majorant.methods import ESTIMATORS
from majorant.methods.weighted_vote import differ_beyond_noise
from majorant.output import votes_table, write_table
from majorant.pipeline import check, judge_workers
from majorant.read import read
from majorant.read.options import ReadOptions
from majorant.render.summary import result_summary
from majorant.results.labels import label_table
from majorant.results.rates import rate
from majorant.results.rules import rule_fit
from majorant.results.workers import assess_workers
from majorant.simulate import one_coin_workers, simulate
from majorant.tally import tally
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
    return encode(frame, partitions=5)


@pytest.fixture(scope="module")
def one_block(frame):
    return encode(frame, partitions=1)


def encode(frame, partitions=3, **reading):
    """The votes of a frame as blocks on the cluster."""
    return read_frame(frame, ReadOptions(**reading), partitions=partitions).votes


def labels_there(votes, fit):
    return by_item(label_frame(votes, [fit], label_table))


def by_item(labels):
    table = labels.toArrow().sort_by("item")
    return {name: table.column(name).to_pylist() for name in table.column_names}


def test_blocks_contain_every_vote_once(votes, local):
    assert len(votes.places.part_b) == 5
    assert votes.shape == local.shape
    assert (votes.workers, votes.labels) == (local.workers, local.labels)
    assert (votes.account.votes, votes.account.rows) == (local.n_votes, local.n_votes)
    back = votes.take_items(np.arange(votes.shape[0]))
    assert sorted(zip([back.items[i] for i in back.item_n], back.worker_n, back.label_n, strict=True)) == sorted(
        zip([local.items[i] for i in local.item_n], local.worker_n, local.label_n, strict=True)
    )
    chosen = np.array([0, 7, 100, 101, 298])
    some = votes.take_items(chosen)
    assert some.items == tuple(back.items[i] for i in chosen)
    assert some.votes_i.tolist() == back.votes_i[chosen].tolist()


def test_few_votes_are_read_into_memory(frame, local):
    backend = as_backend(frame)
    assert isinstance(backend, MemoryBackend)
    assert (backend.votes.shape, set(backend.votes.workers)) == (local.shape, set(local.workers))
    assert backend.votes.account.source == "Spark frame"


def test_check_uses_the_same_defaults_for_a_spark_frame(frame):
    found, expected = (result_summary(check(votes, method="majority")) for votes in (frame, frame.toArrow()))
    assert found["certificate"] == expected["certificate"]
    assert {**found["majority"]} == {**expected["majority"]}


def test_counts_equal_those_in_memory(votes, local):
    backend, expected = SparkBackend(votes), tally(local)
    patterns = backend.patterns()
    assert patterns.counts_pk.tolist() == expected.patterns.counts_pk.tolist()
    assert patterns.items_p.tolist() == expected.patterns.items_p.tolist()
    assert backend.votes_by_worker().tolist() == expected.votes_jl.tolist()


def few_steps(method):
    """The method with few steps, so that Spark has few passes to make."""
    settings = {"max_iter": 3, "tol": 0.0} if ESTIMATORS[method].traits.iterative else {}
    return ESTIMATORS[method](**settings)


@pytest.mark.parametrize(
    "method", ["majority", "dawid-skene", *(pytest.param(method, marks=pytest.mark.long) for method in LONG)]
)
def test_methods_match_memory(votes, local, method):
    expected = few_steps(method).fit(local)
    found = SparkBackend(votes).fit_with(few_steps(method))
    np.testing.assert_allclose(found.prior, expected.prior, atol=1e-9)
    assert found.n_iter == expected.n_iter
    np.testing.assert_allclose(found.trace, expected.trace, rtol=1e-9)
    for name in ("confusion", "skill"):
        if getattr(expected, name) is not None:
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-9)
    labels, table = labels_there(votes, found), label_table(local, expected)
    assert labels["item"] == list(local.items)
    for name in ("label", "runner_up", "tied", "changed"):
        assert labels[name] == list(table[name])
    for name in ("confidence", "votes"):
        np.testing.assert_allclose(np.array(labels[name], dtype=float), table[name], atol=2e-9)


def test_methods_that_cannot_run_there_are_named(votes):
    backend = SparkBackend(votes)
    assert set(backend.methods) >= {"majority", "dawid-skene", "one-coin", "mace", "wawa"}
    for method, why in (("glad", "keeps the difficulty"), ("la-one-pass", "needs all votes in memory")):
        with pytest.raises(ConfigError, match=f"{method} {why}.* does not run on Spark. Choose one of: majority"):
            backend.fit(method)
    with pytest.raises(ConfigError, match="no method 'nonsense'"):
        backend.fit("nonsense")


@pytest.mark.long
def test_the_certificate_is_that_in_memory(one_block, votes, local):
    expected, found = certification(local, rng=0), certification(SparkBackend(one_block), rng=0)
    for name in ("anonymous", "named"):
        ours, theirs = getattr(found.certificate, name), getattr(expected.certificate, name)
        assert (ours.verdict, ours.reason) == (theirs.verdict, theirs.reason)
    several = certify(SparkBackend(votes), rng=0)  # another order of the items: other random draws, the same verdicts
    assert several.anonymous.verdict == expected.certificate.anonymous.verdict


def sample_items(monkeypatch):
    """Let the claims look at some two thirds of the items, and leave the votes where they are."""
    monkeypatch.setattr(claims, "sampled_share", lambda *_, **more: 2 / 3)


@pytest.mark.long
def test_the_certificate_of_a_sample_is_that_in_memory(votes, local, monkeypatch):
    """The same items in the same order for any blocks; here the order of workers and votes is the same, too."""
    sample_items(monkeypatch)
    expected, found = (
        one.certificate for one in (certification(local, rng=0), certification(SparkBackend(votes), rng=0))
    )
    for name in ("anonymous", "named"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert (ours.verdict, ours.reason, ours.assumptions) == (theirs.verdict, theirs.reason, theirs.assumptions)
        for number in ("value", "low", "high"):
            ours_n, theirs_n = getattr(ours.loss, number), getattr(theirs.loss, number)
            assert (ours_n is None) == (theirs_n is None)
            np.testing.assert_allclose(ours_n or 0.0, theirs_n or 0.0, atol=1e-9)


@pytest.mark.long
def test_a_check_of_a_sample_counts_all_votes(votes, local, monkeypatch):
    expected = result_summary(check(local, method="dawid-skene", rng=0))
    sample_items(monkeypatch)
    result = check(SparkBackend(votes), method="dawid-skene", rng=0)
    found = result_summary(result)
    assert found["sample"]["items"] < found["sample"]["of"] == len(local.items)
    for name in ("votes", "majority"):
        assert found[name] == expected[name]
    for ours, theirs in zip(found["workers"]["rows"], expected["workers"]["rows"], strict=True):
        assert (ours["worker"], ours["votes"]) == (theirs["worker"], theirs["votes"])
        np.testing.assert_allclose(ours["accuracy"], theirs["accuracy"], atol=1e-9)
    doubtful = {row["item"] for row in expected["review"]["rows"][:5]}
    assert doubtful <= {row["item"] for row in found["review"]["rows"]}


@pytest.mark.long
def test_workers_are_judged_as_in_memory(votes, local):
    method = few_steps("hierarchical")
    fit = method.fit(local)
    expected = assess_workers(local, fit).table()
    backend = SparkBackend(votes)
    there = backend.fit_with(method)
    found = judge_workers(backend, there, seed=0)[0].table()
    assert list(found) == list(expected)
    for name, values in expected.items():
        if getattr(values, "dtype", np.dtype(object)).kind == "f":
            np.testing.assert_allclose(np.array(found[name], dtype=float), values, atol=2e-6)
        else:
            assert list(found[name]) == list(values)


@pytest.mark.parametrize(
    "how",
    [{"between": ("majority", "dawid-skene")}],
)
def test_the_same_designs_are_drawn(votes, local, how):
    found, expected = (ask(backend, n=10, **how) for backend in (SparkBackend(votes), MemoryBackend(local)))
    assert found.to_dict()["votes"] == expected.to_dict()["votes"]
    assert [*map(str, found.order)] == [*map(str, expected.order)]
    assert found.asked == expected.asked
    truth = {str(item): f"label {n % 2}" for n, item in enumerate(found.items)}
    assert found.evaluate(truth).labels == len(found.items)
    assert found.evaluate(truth).value == expected.evaluate(truth).value


def test_ask_on_the_command_line_writes_the_same_bytes(spark, tmp_path, monkeypatch, capsys):
    skills = one_coin_workers([0.95, 0.9, 0.6, 0.55, 0.6, 0.55, 0.9])
    votes, _ = simulate([0.5, 0.5], skills, n_items=120, n_votes=3, rng=0)
    write_table(tmp_path / "votes.csv", votes_table(votes))
    monkeypatch.chdir(tmp_path)
    written, printed = [], []
    for engine in (("--engine", "memory"), ("--engine", "spark", "--master", "local[2]")):
        words = ["ask", str(tmp_path / "votes.csv"), "--n", "9", "--between", "majority,dawid-skene", "--overwrite"]
        monkeypatch.setattr(sys, "argv", ["majorant", *words, *engine])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 0
        printed.append(capsys.readouterr().out)
        written.append([Path(name).read_bytes() for name in ("to_label.csv", "to_label.design.json")])
    assert written[0][0].count(b"\n") == 10
    assert written[1][0] == written[0][0]
    designs = [json.loads(design) for _, design in written]
    assert [design.pop("call")[1:3] for design in designs] == [["--engine", "memory"], ["--engine", "spark"]]
    assert [len(design.pop("digest")) for design in designs] == [64, 64]
    assert designs[1] == designs[0]
    assert len(designs[0]["order"]) >= 9
    assert printed[1].replace("--engine spark --master 'local[2]'", "--engine memory") == printed[0]


def test_a_rate_on_the_cluster_is_that_in_memory(frame, local):
    label, gold = local.labels[0], {item: local.labels[n % 2] for n, item in enumerate(local.items)}
    found, expected = rate(SparkBackend(encode(frame, gold_file=gold)), label=label), rate(local, gold, label=label)
    assert (found.low, found.high) == (expected.low, expected.high) == (found.value, found.value)  # all are labelled
    assert [one.name for one in found.overall.reported] == [one.name for one in expected.overall.reported]
    rates, others = ([one.rate for one in each.overall.reported] for each in (found, expected))
    assert rates == pytest.approx(others, abs=1e-6)


def test_two_round_sums_match_one_round(votes):
    engine = SparkEngine(votes.blocks, votes.places, to_driver=0)
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


def small(spark, **columns):
    return spark.createDataFrame(pa.table(columns))


def test_abstentions_and_repeated_votes(spark):
    rows = small(
        spark,
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
    back = votes.take_items(np.arange(4))
    votes_of = dict(zip(back.items, back.votes_i.tolist(), strict=True))
    assert votes_of == {1: 2, 2: 1, 3: 0, 4: 0}
    assert dict(zip(back.items, back.gold_i.tolist(), strict=True)) == {1: 2, 2: 1, 3: 0, 4: -1}
    labels = labels_there(votes, SparkBackend(votes).fit("majority"))
    assert labels["item"] == [1, 2, 3, 4]
    assert labels["label"][1:] == ["yes", None, None]
    assert labels["label"][0] in ("no", "yes")  # a tie: by the coin of its name
    assert labels["tied"] == [True, False, False, False]
    each = encode(rows, gold="", repeats="each", empty=["NA"])
    assert each.n_votes == 4


def test_bad_frames_are_rejected_with_the_users_column_names(spark):
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
            encode(small(spark, **{**good, **columns}), **settings)
    with pytest.raises(ConfigError, match="rows on Spark have no order"):
        encode(small(spark, **good), repeats="first")
    with pytest.raises((ConfigError, DataError), match="answer"):
        encode(small(spark, **good), label="answer")
    with pytest.raises(ConfigError, match="several= works only for votes in memory"):
        encode(small(spark, **good), several=True)


@pytest.mark.parametrize("partitions", [None, 2])
def test_logs_are_converted_to_rows_before_reading(spark, partitions):
    file = str(Path(__file__).parents[1] / "read" / "fixtures" / "inspect.json")
    here, there = read(file), read_files(spark, [file], ReadOptions(), partitions=partitions)
    assert there.votes.shape == here.shape
    back = there.take(np.arange(there.votes.shape[0]))
    given, expected = (
        sorted((str(votes.items[i]), votes.workers[j], votes.labels[k]) for i, j, k in codes(votes))
        for votes in (back, here)
    )
    assert given == expected


def test_wide_tables_are_read_into_memory(spark):
    file = str(Path(__file__).parents[1] / "read" / "fixtures" / "wide_text.csv")
    there = read_files(spark, [file], ReadOptions(workers="ana,bo,cy"), partitions=2)
    assert there.votes.shape == read(file, workers="ana,bo,cy").shape


def test_addresses_must_be_parquet(spark):
    with pytest.raises(ConfigError, match="from an address, Spark reads only Parquet"):
        read_files(spark, ["hdfs://node/votes.csv"], ReadOptions())


def test_the_command_line(spark, tmp_path, monkeypatch, capsys):
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
    monkeypatch.setenv("MAJORANT_SPARK_DRIVER_VOTES", "0")
    found = run(*there, str(tmp_path / "found"))
    assert found["sample"] == {"items": 300, "of": 300}
    for name in ("votes", "majority"):
        assert found[name] == expected[name]
    assert found["certificate"]["anonymous"]["verdict"] == expected["certificate"]["anonymous"]["verdict"]
    names = {path.name for path in (tmp_path / "found").iterdir() if path.name[0] != "."}
    assert names == {"labels.parquet", "workers.csv", "review.csv", "result.json", "report.html"}
    assert spark.read.parquet(str(tmp_path / "found/labels.parquet")).count() == 300
    monkeypatch.setattr(sys, "argv", ["majorant", "check", "no.csv", "--engine", "spark", "--master", "local[2]"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert (stop.value.code, "no.csv" in capsys.readouterr().err) == (2, True)


def test_weighted_vote_with_equal_workers(spark, tmp_path):
    votes, _ = simulate([0.7, 0.3], one_coin_workers([0.75] * 40), n_items=800, n_votes=4, rng=0)
    assert not differ_beyond_noise(votes)
    write_table(tmp_path / "votes.parquet", votes_table(votes))
    there = read_frame(spark.read.parquet(str(tmp_path / "votes.parquet")), ReadOptions(), partitions=3)
    labels = labels_there(there.votes, rule_fit(there, "weighted-vote", 0))
    local = read(tmp_path / "votes.parquet")
    table = label_table(local, rule_fit(MemoryBackend(local), "weighted-vote", 0))
    expected = dict(zip(local.items, zip(table["label"], table["confidence"], strict=True), strict=True))
    assert [str(label) for label in labels["label"]] == [str(expected[item][0]) for item in labels["item"]]
    np.testing.assert_allclose(
        np.array(labels["confidence"], dtype=float), [expected[item][1] for item in labels["item"]], atol=2e-9
    )


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


def test_names_too_long_for_the_driver_stay_on_the_cluster(spark):
    row = np.arange(18)
    label = [str(n % 2) * 1_000_000 for n in row]  # 18 MB where 16 may come
    backend = as_backend(small(spark, item=row // 3, worker=row % 3, label=label))
    assert isinstance(backend, SparkBackend)
    assert backend.votes.n_votes == 18


@pytest.mark.parametrize("kept", ["all", pytest.param("none", marks=pytest.mark.long)])
def test_recomputed_blocks_with_other_votes_are_rejected(spark, tmp_path, kept):
    """An executor is lost with its blocks, and the file has been replaced by one of equal size or with other items."""
    path = tmp_path / "votes.csv"
    path.write_text(votes_of_text(40, "si"))
    votes = encode(spark.read.csv(str(path), header=True))
    expected = votes.engine.map_sum(column_sums())
    votes.blocks.unpersist(blocking=True)
    np.testing.assert_array_equal(votes.engine.map_sum(column_sums()), expected)
    votes.blocks.unpersist(blocking=True)
    text = path.read_text()
    path.write_text(text[::-1].replace("on", "is", 3)[::-1] if kept == "all" else text.replace("w", "x"))
    with pytest.raises(DataError, match="changed while Spark worked on them"):
        votes.engine.map_sum(column_sums())


def test_lost_blocks_are_recomputed_after_the_file_is_deleted(spark, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(votes_of_text(40, "si"))
    votes = read_files(spark, [str(path)], ReadOptions(), partitions=3).votes
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
def test_spark_follows_the_same_reading_rules(spark, tmp_path, settings):
    """The same labels, gold, account and notes."""
    (tmp_path / "votes.csv").write_text(TABLE if "columns" not in settings else TABLE.partition("\n")[2])
    (tmp_path / "gold.csv").write_text(GOLD)
    told = {**settings, **({"gold_file": str(tmp_path / "gold.csv")} if "gold_file" in settings else {})}
    here = read(str(tmp_path / "votes.csv"), **told)
    there = read_files(spark, [str(tmp_path / "votes.csv")], ReadOptions(**told), partitions=2).votes
    back = there.take_items(np.arange(there.shape[0]))
    assert (there.labels, set(there.workers)) == (here.labels, set(here.workers))
    if here.gold_i is not None:
        given, expected = (dict(zip(votes.items, votes.gold_i.tolist(), strict=True)) for votes in (back, here))
        assert given == expected
    for name in ("rows", "votes", "abstained", "merged", "dropped", "repeats"):
        assert getattr(there.account, name) == getattr(here.account, name), name
    notes = [note for note in here.account.notes if (note.kind, note.facts.get("role")) != ("id-variants", "item")]
    assert sorted(there.account.notes, key=str) == sorted(notes, key=str)


def test_awkward_rows_are_read_as_in_memory(spark, tmp_path):
    (tmp_path / "votes.csv").write_text(awkward.TABLE, encoding="utf-8")
    votes = read_files(spark, [str(tmp_path / "votes.csv")], ReadOptions(empty="NA"), partitions=2).votes
    awkward.holds(votes.take_items(np.arange(votes.shape[0])))
    for row, message in awkward.REFUSED.items():
        (tmp_path / "votes.csv").write_text(f"{awkward.TABLE}{row}\n", encoding="utf-8")
        with pytest.raises(DataError, match=re.escape(message)):
            read_files(spark, [str(tmp_path / "votes.csv")], ReadOptions(empty="NA"), partitions=2)
