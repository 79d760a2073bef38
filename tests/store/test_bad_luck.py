"""Runs on stored votes that are killed, interrupted, or run out of disk or memory."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

from majorant.cli import majorant as command
from majorant.errors import ConfigError
from majorant.read.options import ReadOptions
from majorant.read.sort import prepare
from majorant.workfolder import locked
from needs import small_disk

MEMORY = 1_000_000_000
# Where a run is cut off: (module, function, at which of its calls, or at what).  The last three come after sorting.
MOMENTS = {
    "reading": ("majorant.read.stage", "encode_part", 1),
    "sorting": ("majorant.read.sort", "resolve_votes", 3),
    "fitting": ("majorant.methods.em", "largest_change", 4),
    "writing": ("majorant.output", "_fill_table", 3),
    "the last moment": ("majorant.atomic", "_keep_permissions", ".labels.csv"),
}
RUN = """
import importlib, os, signal, sys, resource
from majorant import database, votes
votes.AT_ONCE, database.BATCH_ROWS = 256, 256
module, function, at, what, limit = {moment!r}
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
module = importlib.import_module(module)
whole, calls = getattr(module, function), []
def cut(*arguments, **more):
    calls.append(1)
    if len(calls) == at or (isinstance(at, str) and at in str(arguments[0])):
        os.kill(os.getpid(), what)
    return whole(*arguments, **more)
setattr(module, function, cut)
from majorant.cli import main
main()
"""


UNDISTURBED = ("majorant.atomic", "make_folder", 0, 0, 0)


def run(path, *options, moment=UNDISTURBED, within=()):
    """The command in a process of its own, `within` another one that prepares its surroundings."""
    return subprocess.run([*within, *words(path, *options, moment=moment)], capture_output=True, text=True, check=False)


def words(path, *options, moment=UNDISTURBED):
    arguments = ["aggregate", path, "--repeats", "each", "--method", "dawid-skene", "--memory", "1GB", *options]
    return [sys.executable, "-c", RUN.format(moment=moment), *map(str, arguments)]


def mostly_long(*short):
    """All moments; each takes seconds, and most of them are left to the long tests."""
    return [moment if moment in short else pytest.param(moment, marks=pytest.mark.long) for moment in MOMENTS]


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def place(crowd_file, tmp_path):
    """A folder with nothing but the votes in it, and the labels that an undisturbed run gives."""
    folder = tmp_path / "place"
    folder.mkdir()
    path = crowd_file.rename(folder / "votes.parquet")
    arguments = ["aggregate", str(path), "--repeats", "each", "--method", "dawid-skene", "--memory", "1GB"]
    CliRunner().invoke(command, [*arguments, "--out", str(tmp_path / "expected.csv")], catch_exceptions=False)
    return path, (tmp_path / "expected.csv").read_text()


@pytest.mark.parametrize("moment", mostly_long("fitting"))
def test_a_killed_run_leaves_no_output_and_is_resumed(place, moment):
    path, expected = place
    out = path.parent / "labels.csv"
    killed = run(path, "--out", out, moment=(*MOMENTS[moment], int(signal.SIGKILL), 0))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not out.exists()
    resumed = run(path, "--out", out, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert out.read_text() == expected
    left = entries(path.parent)
    assert left == ["labels.csv", "votes.parquet"]


@pytest.mark.parametrize("moment", mostly_long("writing"))
def test_interrupted_run_exits_with_130_and_can_be_resumed(place, moment):
    path, _ = place
    stopped = run(path, "--out", path.parent / "labels.csv", moment=(*MOMENTS[moment], int(signal.SIGINT), 0))
    assert stopped.returncode == 130, stopped.stderr
    assert "Interrupted; no partial files were left behind." in stopped.stderr
    sorted_already = moment not in ("reading", "sorting")
    assert ("continue with --resume" in stopped.stderr) == sorted_already
    left = entries(path.parent)
    assert left[-1:] == ["votes.parquet"]
    assert len(left) == 1 + sorted_already


@pytest.mark.parametrize("limit", [*(pytest.param(size, marks=pytest.mark.long) for size in (1_500, 8_000)), 15_000])
def test_full_disk_gives_a_message_and_no_output_file(place, limit):
    """The smaller the disk, the earlier it is full."""
    path, _ = place
    full = run(path, "--out", path.parent / "labels.csv", moment=("majorant.atomic", "make_folder", 0, 0, limit))
    assert full.returncode == 2, full.stderr
    assert "File too large" in full.stderr
    assert "Cannot write to" in full.stderr
    assert "with --work" in full.stderr
    assert "Traceback" not in full.stderr
    assert "labels.csv" not in entries(path.parent)


@pytest.mark.long
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_run_leaves_no_partial_output_and_resumes(place, stop):
    """A run that is killed repeatedly at random moments and then completed gives the same labels."""
    path, expected = place
    out = path.parent / "labels.csv"
    start = time.monotonic()
    assert run(path, "--out", path.parent / "other.csv").returncode == 0
    length, rng, cut = time.monotonic() - start, np.random.default_rng(0), 0
    for after in rng.permutation(np.linspace(0.2, 1.0, 30)) * length:
        process = subprocess.Popen(words(path, "--out", out, "--resume"), stderr=subprocess.PIPE, text=True)
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(stop)
        _, said = process.communicate()
        # Python that is still starting ends by the signal, later the command has its own say
        assert process.returncode in (0, -stop, 130 if stop == signal.SIGINT else -stop), said
        cut += process.returncode != 0
        if out.exists():
            assert out.read_text() == expected
            out.unlink()
    assert cut > 10
    last = run(path, "--out", out, "--resume")
    assert last.returncode == 0, last.stderr
    assert out.read_text() == expected
    left = entries(path.parent)
    assert left == ["labels.csv", "other.csv", "votes.parquet"]


@pytest.mark.long
@pytest.mark.parametrize("size", ["16k", "48k", "72k"])
def test_full_disk_gives_an_error_message(place, tmp_path, size):
    """A separate small file system for the sorted votes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    within = small_disk(disk, size)
    path, _ = place
    out = path.parent / "labels.csv"
    full = run(path, "--out", out, "--work", disk, within=within)
    assert full.returncode == 2, full.stderr
    assert "No space left on device" in full.stderr
    assert f"Cannot write to {disk}" in full.stderr
    assert "Traceback" not in full.stderr
    assert entries(path.parent) == ["votes.parquet"]


def test_one_folder_serves_one_run_at_a_time(tmp_path):
    with (
        locked(tmp_path / "work"),
        pytest.raises(ConfigError, match="in use by another run"),
        locked(tmp_path / "work"),
    ):
        pass


def test_a_damaged_source_is_named(crowd_file, tmp_path):
    size = os.path.getsize(crowd_file)  # noqa: PTH202
    with crowd_file.open("r+b") as file:
        file.seek(size // 3)
        file.write(b"\xff" * 2000)
    with pytest.raises(ValueError, match=r"votes\.parquet.*(damaged|cut off)"):
        prepare(str(crowd_file), tmp_path / "work", ReadOptions(repeats="each"), memory=MEMORY)
