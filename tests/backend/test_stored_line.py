"""The pipeline gives the same numbers on stored votes as in memory, for all items and for a sample."""

import csv
import dataclasses
import json
from collections.abc import Mapping

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import majorant
from majorant.backend.files import FileBackend
from majorant.backend.prepare import prepare
from majorant.cli import majorant as command
from majorant.errors import ConfigError
from majorant.evidence.certificate import claims
from majorant.evidence.certificate.claims import certification
from majorant.methods import ESTIMATORS
from majorant.output import votes_table, write_table
from majorant.pipeline import aggregate, check, judge_workers, measure_agreement
from majorant.render.summary import result_summary
from majorant.results.agreement import agreement
from majorant.results.workers import assess_workers
from majorant.simulate import simulate

MEMORY = 1_000_000_000
LONG = pytest.mark.long


@pytest.fixture
def pair(tmp_path, small_groups):
    """Two-class votes with gold, stored and in memory."""
    drawn, truth = simulate([0.6, 0.4], [[0.85, 0.15], [0.25, 0.75]], n_items=600, n_votes=5, rng=1)
    drawn = dataclasses.replace(drawn, gold_i=np.where(np.arange(600) % 4 == 0, truth, -1))
    table = {name: column.dictionary_decode() for name, column in votes_table(drawn).items()}
    path = write_table(tmp_path / "votes.parquet", table)
    stored = prepare(str(path), tmp_path / "work", memory=MEMORY)
    return FileBackend(stored, MEMORY), majorant.read(str(path))


def sample_items(monkeypatch):
    """Let the claims look at about 400 of the 600 items."""
    monkeypatch.setattr(claims, "sampled_share", lambda *_, **more: 2 / 3)


def assert_same(found, expected, path=""):
    """Plain data or dataclasses, numbers to 1e-9."""
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
        np.testing.assert_allclose(found, expected, rtol=0, atol=1.01e-9, err_msg=path)  # files hold nine digits
    else:
        assert found == expected, path


@pytest.mark.parametrize("sampled", [pytest.param(False, marks=LONG), True])
def test_certificate_is_the_same_as_in_memory(pair, monkeypatch, sampled):
    kept, votes = pair
    if sampled:  # the same items in both
        sample_items(monkeypatch)
    found = certification(kept, level=0.9, rng=3).certificate
    assert found.gold is not None
    assert_same(found, certification(votes, level=0.9, rng=3).certificate)


def test_agreement_is_the_same_as_in_memory(pair, monkeypatch):
    kept, votes = pair
    expected = agreement(votes, rng=5)
    assert_same(measure_agreement(kept, seed=5), expected)
    sample_items(monkeypatch)
    sampled = measure_agreement(kept, seed=5)
    for name in ("percent", "fleiss", "krippendorff", "gwet"):
        assert getattr(sampled, name) == getattr(expected, name)
    assert 300 <= sampled.cohen_items < 500
    assert expected.cohen_items is None
    assert sampled.cohen.value != expected.cohen.value
    assert sampled.cohen.value == pytest.approx(expected.cohen.value, abs=0.1)


def test_worker_tables_are_the_same_as_in_memory(pair):
    kept, votes = pair
    fit = kept.fit("dawid-skene")
    expected = assess_workers(votes, ESTIMATORS["dawid-skene"]().fit(votes))
    assert_same(judge_workers(kept, fit, seed=0)[0], expected)


def test_random_ties_are_drawn_as_in_memory(pair):
    from majorant.results.labels import label_table

    kept, votes = pair
    fit = kept.fit("wawa")
    expected = label_table(votes, ESTIMATORS["wawa"]().fit(votes), ties="random", rng=2)
    rng = np.random.default_rng(2)
    parts = list(kept.labelled([fit], lambda votes, part: label_table(votes, part, ties="random", rng=rng)))
    assert len(parts) > 5
    for name, column in expected.items():
        np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), column)


@pytest.mark.parametrize("method", [None, pytest.param("majority", marks=LONG), pytest.param("ibcc", marks=LONG)])
def test_check_gives_the_same_result_as_in_memory(pair, method):
    kept, votes = pair
    how = {"level": 0.95, "rng": 0, "method": method, "tolerance": 0.0, "target": 0.95}
    found = result_summary(check(kept, **how), seed=0)
    assert found.pop("sample") == {"items": 600, "of": 600}
    expected = result_summary(check(votes, **how), seed=0)
    assert_same(found, expected | {"rate": None})  # measured where all votes are in memory


@LONG
def test_a_check_of_a_sample_counts_all_votes(pair, monkeypatch):
    kept, votes = pair
    sample_items(monkeypatch)
    how = {"level": 0.95, "rng": 0, "method": "dawid-skene", "tolerance": 0.0, "target": 0.95}
    found = result_summary(check(kept, **how))
    assert 350 < found["sample"].pop("items") < 450
    assert found["sample"] == {"of": 600}
    expected = result_summary(check(votes, **how))
    for name in ("input", "votes", "labels", "majority", "flow", "certificate"):
        assert_same(found[name], expected[name], name)
    assert found["workers"]["rows"][0]["votes"] == expected["workers"]["rows"][0]["votes"]
    assert found["review"]["items"] == 100


def test_error_for_a_method_that_needs_all_votes_lists_others(pair):
    with pytest.raises(
        ConfigError, match=r"^kos .* does not run with memory=. Choose one of: .*dawid-skene.*weighted-vote"
    ):
        aggregate(pair[0], "kos")
    with pytest.raises(ConfigError, match="There is no method 'none-such'"):
        aggregate(pair[0], "none-such")


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
        ["workers", "--method", "majority", "--out", "-"],
        pytest.param(["check", "--mask", "--method", "majority", "--out", "OUT/check"], marks=LONG),
        pytest.param(["check", "--out", "OUT/check", "--json"], marks=LONG),
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_commands_write_the_same_files_with_a_memory_limit(pair, tmp_path, arguments):
    found = []
    for name, limit in (("plain", []), ("large", ["--memory", "1GB"])):
        place = tmp_path / name
        place.mkdir()
        filled = [text.replace("OUT", str(place)) for text in arguments]
        code, out = run(filled[0], tmp_path / "votes.parquet", *filled[1:], *limit)
        files = {path.relative_to(place): path for path in sorted(place.rglob("*")) if path.is_file()}
        found.append((code, out.replace(str(place), "OUT"), files))
    (code, out, files), (large_code, large_out, large_files) = found
    assert large_code == code
    if "-" in arguments:
        assert_same(_table(large_out.splitlines()), _table(out.splitlines()))
    assert list(large_files) == list(files)  # no trace of the sorted votes
    if "--json" in arguments:
        content, expected = json.loads(large_out), json.loads(out)
        content.pop("sample", None)
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
def test_options_that_do_not_go_together_are_refused(crowd_file, options, message):
    with pytest.raises(ConfigError, match=message):
        CliRunner().invoke(command, ["aggregate", str(crowd_file), *options], catch_exceptions=False)
