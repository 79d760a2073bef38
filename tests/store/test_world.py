"""The same votes give the same numbers in ordinary arrays, in memory-mapped ones, and prepared on Spark."""

import csv
import dataclasses
import json
from collections.abc import Mapping

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import majorant as mj
from majorant import items
from majorant.cli import majorant as command
from majorant.errors import ConfigError
from majorant.items import names_at
from majorant.methods import ESTIMATORS
from majorant.output import votes_table, write_table
from majorant.pipeline import judge_workers
from majorant.read.build import mask
from majorant.render.files import label_fits, label_part, tables_of
from majorant.render.summary import result_summary
from majorant.results.labels import label_table
from majorant.simulate import simulate
from majorant.tally import find_patterns

LONG = pytest.mark.long
QUICK = ("majority", "dawid-skene", "weighted-vote", "wawa", "w1+w2")
PLANNING = ("lead_qr", "decisive_qr", "confidence")  # sums, for planning only


@pytest.fixture
def path(tmp_path):
    """Two-class votes with gold, in the order of their items."""
    drawn, truth = simulate([0.6, 0.4], [[0.85, 0.15], [0.25, 0.75]], n_items=600, n_votes=5, n_workers=40, rng=1)
    names = {
        "items": [f"i{i:03}" for i in range(600)],
        "workers": [f"w{j:02}" for j in range(40)],
        "labels": ("no", "yes"),
    }
    drawn = dataclasses.replace(drawn, gold_i=np.where(np.arange(600) % 4 == 0, truth, -1), **names)
    table = {name: column.dictionary_decode() for name, column in votes_table(drawn).items()}
    return write_table(tmp_path / "votes.parquet", table)


@pytest.fixture
def pair(world, path):
    """The votes wherever their arrays are, and in ordinary arrays."""
    return world(path), mj.read(str(path))


def by_name(votes, values):
    return dict(zip(votes.items, values, strict=True))


def assert_same(found, expected, path=""):
    """Plain data or dataclasses, numbers to 1e-8."""
    if dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            assert_same(getattr(found, field.name), getattr(expected, field.name), f"{path}.{field.name}")
    elif isinstance(expected, Mapping):
        assert list(found) == list(expected), path
        for key in expected:
            assert_same(found[key], expected[key], f"{path}.{key}")
    elif isinstance(expected, list | tuple) and not isinstance(expected, str):
        assert len(found) == len(expected), path
        for n, (a, b) in enumerate(zip(found, expected, strict=True)):
            assert_same(a, b, f"{path}[{n}]")
    elif isinstance(expected, float | np.ndarray) and not isinstance(expected, np.bool_):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8, err_msg=path)
    else:
        assert found == expected, path


def test_counts_and_draws_are_the_same(pair):
    votes, expected = pair
    assert (votes.shape, votes.n_votes) == (expected.shape, expected.n_votes)
    assert by_name(votes, votes.votes_i.tolist()) == by_name(expected, expected.votes_i.tolist())
    assert by_name(votes, votes.truth_i.tolist()) == by_name(expected, expected.truth_i.tolist())
    assert find_patterns(votes).items_p.tolist() == find_patterns(expected).items_p.tolist()
    drawn = [names_at(one.items, items.draw(one, 0.3, 7)) for one in pair]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) > 100


@pytest.mark.parametrize(
    "method", [pytest.param(one, marks=[] if one in QUICK else LONG) for one in (*QUICK, *ESTIMATORS)]
)
def test_fits_are_the_same_ties_included(pair, method):
    if method in ("given-map", "la-one-pass", "la-two-pass"):
        pytest.skip("needs matrices, or depends on the order of the items")
    method = method.replace("w1+w2", "w01+w02")
    found, expected = (mj.aggregate(votes, method) for votes in pair)
    (votes, other) = pair
    assert by_name(votes, found.labels()) == by_name(other, expected.labels())
    rows = by_name(votes, found.posterior)
    np.testing.assert_allclose([rows[name] for name in other.items], expected.posterior, atol=1e-7)
    np.testing.assert_allclose(found.prior, expected.prior, atol=1e-8)


def test_check_finds_the_same(pair):
    found, expected = (mj.check(votes) for votes in pair)
    assert found.answer.action == expected.answer.action
    for name in ("votes", "labels", "majority", "flow", "accuracy"):
        assert_same(*(json.loads(json.dumps(one.to_dict()[name])) for one in (found, expected)), name)
    tables = [
        dict(zip(one.labels.table()["item"], one.labels.table()["label"], strict=True)) for one in (found, expected)
    ]
    assert tables[0] == tables[1]
    assert sorted(map(str, found.review.items)) == sorted(map(str, expected.review.items))
    assert_same(found.workers.table()["accuracy"], expected.workers.table()["accuracy"])


def test_labels_are_written_part_by_part(pair):
    result = mj.check(pair[0])
    parts = list(tables_of(label_part(result), pair[0], *label_fits(result)))
    assert len(parts) > 5
    for name, column in result.labels.table().items():
        assert [value for part in parts for value in part[name]] == list(column), name


def test_random_ties_are_drawn_in_one_order(pair):
    fits = [mj.aggregate(votes, "wawa") for votes in pair]
    rng = np.random.default_rng(2)
    parts = list(tables_of(lambda votes, fit: label_table(votes, fit, ties="random", rng=rng), pair[0], fits[0]))
    expected = label_table(pair[0], fits[0], ties="random", rng=2)
    assert [value for part in parts for value in part["label"]] == list(expected["label"])


def test_workers_are_judged_alike(pair):
    found, expected = (judge_workers(votes, mj.aggregate(votes, "dawid-skene"))[0].table() for votes in pair)
    assert list(found["worker"]) == list(expected["worker"])
    assert_same(found["accuracy"], expected["accuracy"])


@pytest.mark.parametrize(
    "how",
    [
        {"between": ("majority", "dawid-skene")},
        pytest.param({"between": ("majority", "one-coin", "dawid-skene")}, marks=LONG),
        pytest.param({"question": "accuracy", "between": ("one-coin",)}, marks=LONG),
    ],
)
def test_the_same_designs_are_drawn(pair, how):
    found, expected = (json.loads(mj.ask(votes, n=10, **how).to_json()) for votes in pair)
    told = [{name: one["content"].pop(name, None) for name in PLANNING} for one in (found, expected)]
    assert {**found, "digest": ""} == {**expected, "digest": ""}
    for name in PLANNING:  # the last digits of a sum over blocks may differ
        np.testing.assert_allclose(*(np.array(one[name], dtype=float) for one in told), rtol=1e-6)


def test_a_rate_is_the_same(pair):
    found, expected = (mj.rate(votes, label="yes") for votes in pair)
    assert found.overall.n_items == expected.overall.n_items
    assert [one.rate for one in found.overall.reported] == pytest.approx(
        [one.rate for one in expected.overall.reported]
    )


def test_masked_votes_use_numbers_as_names(pair):
    masked = mask(pair[0])
    assert list(masked.items[3:6]) == [4, 5, 6]
    assert masked.items[-1] == len(masked.items)
    assert masked.workers[:2] == (1, 2)


def test_what_looks_at_single_votes_sees_a_sample_if_there_are_very_many(world, path, monkeypatch):
    votes = world(path)
    whole = mj.check(votes).to_dict()
    monkeypatch.setattr(items, "MOST_STUDIED", 2_000)
    found = mj.check(votes)
    assert 300 < len(found.some.votes.items) < 500
    rows = by_name(votes, found.written.posterior.tolist())
    assert found.some.of(found.written).posterior.tolist() == [rows[item] for item in found.some.votes.items]
    told = found.to_dict()
    assert told["sample"] == {"items": len(found.some.votes.items), "of": 600}
    for name in ("input", "votes", "majority", "flow"):
        assert told[name] == whole[name]
    assert found.removal is None


def test_every_function_takes_a_memory_limit(path):
    for found, expected in (
        (mj.check(path, memory="1GB").rule, mj.check(path).rule),
        (mj.aggregate(path, "dawid-skene", memory="1GB").labels(), mj.aggregate(path, "dawid-skene").labels()),
        (mj.ask(path, n=5, memory="1GB").items, mj.ask(path, n=5).items),
        (mj.rate(path, label="yes", memory="1GB").value, mj.rate(path, label="yes").value),
        (mj.workers(path, memory="1GB").to_dict(), mj.workers(path).to_dict()),
        (mj.agreement(path, memory="1GB").percent, mj.agreement(path).percent),
        (mj.compare(path, ["majority"], memory="1GB").to_dict(), mj.compare(path, ["majority"]).to_dict()),
    ):
        assert_same(found, expected)


def test_a_folder_is_kept_and_used_again_with_work(path, tmp_path):
    first = mj.read(path, memory="1GB", work=str(tmp_path / "sorted"))
    stamp = (tmp_path / "sorted" / "votes.json").stat().st_mtime_ns
    again = mj.read(path, memory="1GB", work=str(tmp_path / "sorted"))
    assert (tmp_path / "sorted" / "votes.json").stat().st_mtime_ns == stamp
    assert again.label_n.tolist() == first.label_n.tolist()


def test_a_temporary_folder_is_deleted_with_the_votes(path):
    votes = mj.read(path, memory="1GB")
    folder = votes.scratch.folder
    fit = mj.aggregate(votes, "majority")
    assert (folder / "votes.json").exists()
    del votes
    assert not folder.exists()
    assert len(fit.labels()) == 600  # its own arrays stay


def test_too_little_memory_error_states_the_minimum(path):
    with pytest.raises(ConfigError, match=r"memory='400MB' is too little for 40 workers and 2 classes.*at least 401MB"):
        mj.aggregate(path, "dawid-skene", memory="400MB")
    votes = dataclasses.replace(mj.read(path), scratch=mj.votes.Scratch(memory=400_100_000))
    with pytest.raises(ConfigError, match="is too little for kos, which keeps all votes in memory"):
        mj.aggregate(votes, "kos")


def run(*arguments):
    found = CliRunner().invoke(command, [str(argument) for argument in arguments], catch_exceptions=False)
    return found.exit_code, found.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["certify", "--json"], marks=LONG),
        ["agreement", "--json"],
        pytest.param(["aggregate", "--method", "auto", "--out", "OUT/labels.csv"], marks=LONG),
        ["aggregate", "--method", "mace", "--ties", "first", "--out", "OUT/labels.parquet"],
        ["aggregate", "--method", "wawa", "--ties", "random", "--out", "-"],
        ["workers", "--out", "OUT/workers.csv"],
        pytest.param(["check", "--mask", "--method", "majority", "--out", "OUT/check"], marks=LONG),
        pytest.param(["check", "--out", "OUT/check", "--json"], marks=LONG),
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_commands_write_the_same_files_with_a_memory_limit(path, small_parts, tmp_path, arguments):
    found = []
    for name, limit in (("plain", []), ("large", ["--memory", "1GB"])):
        place = tmp_path / name
        place.mkdir()
        filled = [text.replace("OUT", str(place)) for text in arguments]
        code, out = run(filled[0], path, *filled[1:], *limit)
        files = {path.relative_to(place): path for path in sorted(place.rglob("*")) if path.is_file()}
        found.append((code, out.replace(str(place), "OUT"), files))
    (code, out, files), (large_code, large_out, large_files) = found
    assert large_code == code
    if "-" in arguments:
        assert_same(_table(large_out.splitlines()), _table(out.splitlines()))
    assert list(large_files) == list(files)  # no trace of the sorted votes
    if "--json" in arguments:
        content, expected = json.loads(large_out), json.loads(out)
        assert_same({**content, "command": None}, {**expected, "command": None})
    for name in files:
        if name.suffix == ".csv":
            assert_same(_csv(large_files[name]), _csv(files[name]))
        elif name.suffix == ".parquet":
            assert_same(pq.read_table(large_files[name]).to_pydict(), pq.read_table(files[name]).to_pydict())


def _csv(path):
    with path.open(newline="") as file:
        return _table(file)


def _table(lines):
    return [[float(cell) if "." in cell else cell for cell in row] for row in csv.reader(lines)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memory", "plenty"], "memory='plenty': write a size such as 2GB"),
        (["--memory", "100MB"], "at least 400MB"),
        (["--resume"], "--resume needs --memory"),
        (["--work", "w"], "--work needs --memory"),
        (["--memory", "1GB", "--wide"], "a wide table can only be read in memory"),
    ],
)
def test_options_that_do_not_go_together_are_refused(path, options, message):
    with pytest.raises(ConfigError, match=message):
        CliRunner().invoke(command, ["aggregate", str(path), *options], catch_exceptions=False)


def test_summary_of_a_mapped_check_is_plain(path):
    assert json.dumps(result_summary(mj.check(path, memory="1GB"), seed=0), default=str)
