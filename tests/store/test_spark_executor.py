"""If an executor dies during a pass and takes its blocks with it, Spark starts another one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import majorant
from majorant.errors import ConfigError
from majorant.read import spark
from needs import small_disk

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("spark")]

# A cluster of two executors on this machine, each a Java of its own.  On block 2 the first Python worker to come along
# looks up which Java it belongs to, makes sure that this is an executor, and kills it; on its second try it counts.
RUN = """
import json, os, signal, sys, time
from pathlib import Path
import numpy as np
from majorant.methods.one_coin import OneCoin
from majorant.kernels import scatter
from majorant.read.options import ReadOptions
from majorant.read.spark import pack_frame, spark_session
from majorant.simulate import simulate
from majorant.output import votes_table
import pyarrow as pa

marker, source = Path(sys.argv[1]), sys.argv[2]


def sums(block):
    return scatter(block, np.ones(block.stop - block.start))


def kill_executor():
    pid = os.getpid()
    while pid > 1:
        if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes():
            marker.write_text(str(pid))
            os.kill(pid, signal.SIGKILL)
            time.sleep(60)  # what is left of this worker ends with the executor
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    raise RuntimeError("this worker belongs to no executor")


def sums_once_killed(block):
    if block.index == 2:
        try:
            marker.touch(exist_ok=False)
        except FileExistsError:
            return sums(block)
        kill_executor()
    return sums(block)


drawn, _ = simulate([0.6, 0.4], [[0.85, 0.15], [0.25, 0.75]], n_items=600, n_votes=5, rng=1)
table = {name: column.dictionary_decode() for name, column in votes_table(drawn).items()}
settings = {"spark.executorEnv.PYTHONPATH": source, "spark.executor.memory": "512m"}
settings["spark.sql.shuffle.partitions"] = "3"
method = OneCoin(max_iter=2, tol=0.0)
with spark_session("local-cluster[2,1,1024]", memory="1g", settings=settings) as spark:
    votes = pack_frame(spark.createDataFrame(pa.table(table)), ReadOptions(), partitions=6)
    def labels():
        return method.fit(votes, engine=votes.engine).to_spark().toArrow()

    expected, before = votes.engine.map_sum(sums), labels()
    found = votes.engine.map_sum(sums_once_killed)
    after = labels()
    same = before.sort_by("item").equals(after.sort_by("item"))
    print(json.dumps({"votes": float(found.sum()), "sums": found.tolist() == expected.tolist(), "labels": same}))
"""


@pytest.mark.parametrize("size", ["16k", "400k"])
def test_full_disk_on_an_executor_gives_a_message_and_leaves_no_files(tmp_path, size):
    """Spark's temporary files are on a small file system, which fills up and loses the earlier votes."""
    try:
        spark.require_spark()
    except ConfigError as missing:
        pytest.skip(str(missing))
    disk, out = tmp_path / "disk", tmp_path / "out"
    disk.mkdir()
    within = small_disk(disk, size)
    rng = np.random.default_rng(0)
    rows = [f"item number {n // 3},w{n % 3},{'ny'[rng.integers(2)]}\n" for n in range(60_000)]
    (tmp_path / "votes.csv").write_text("item,worker,label\n" + "".join(rows))
    lowered = "from majorant import cli, limits; limits.LIMITS['SPARK_DRIVER_VOTES'] = 0; cli.main()"
    command = [sys.executable, "-c", lowered, "check", str(tmp_path / "votes.csv"), "--engine", "spark"]
    source = str(Path(majorant.__file__).parents[1])
    full = subprocess.run(
        [*within, *command, "--master", "local[2]", "--out", str(out), "-q"],
        capture_output=True, text=True, check=False, timeout=900, cwd=tmp_path,
        env={**os.environ, "SPARK_LOCAL_DIRS": str(disk), "PYTHONPATH": source},
    )  # fmt: skip
    assert full.returncode == 2, full.stderr
    assert "No space left on device" in full.stderr
    assert "SPARK_LOCAL_DIRS" in full.stderr
    assert "Traceback" not in full.stderr
    assert not out.exists() or not list(out.iterdir())


def test_an_executor_that_dies_changes_nothing(tmp_path):
    try:
        spark.require_spark()
    except ConfigError as missing:
        pytest.skip(str(missing))
    if not Path("/proc/self/stat").exists():
        pytest.skip("finds the executor by /proc, which this system has not")
    marker, source = tmp_path / "died", str(Path(majorant.__file__).parents[1])
    known = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": source}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(marker), source],
        capture_output=True, text=True, check=False, timeout=900, env=known, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    executor = marker.read_text()
    assert executor, "no executor was killed"
    assert not Path(f"/proc/{executor}").exists()
    assert json.loads(done.stdout.splitlines()[-1]) == {"votes": 3000.0, "sums": True, "labels": True}
