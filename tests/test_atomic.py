"""Files are replaced as a set: nothing is lost if a call fails or the process is killed."""

import errno
import fcntl
import json
import os
import re
import resource
import stat
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import majorant as mj
from majorant import atomic
from majorant.ask.label_file import LabelFile
from majorant.atomic import whole_file
from majorant.errors import ConfigError
from majorant.output import write_files
from majorant.ownership import digest_of, result_digest

CALLS = ("replace", "fsync", "link", "unlink")


def result_of(digests):
    """A result that lists the files of its set, and itself."""
    files = {name: f"sha256:{digest}" for name, digest in digests.items()}
    own = f"sha256:{result_digest({'files': files})}"
    return json.dumps({"files": {**files, "result.json": own}})


def contents(folder, generation):
    """Text, bytes, a table by Arrow, one by DuckDB, one in turn, one of Parquet; and the digests of them all."""
    rows = {"item": [f"{generation}-{n}" for n in range(300)], "share": np.linspace(0, 1, 300)}
    return {
        folder / "text.html": f"{generation} é\n" * 300,
        folder / "state": generation.encode() * 300,
        folder / "plain.csv": rows,
        folder / "quoted.csv": {**rows, "item": [f"{name}, quoted" for name in rows["item"]]},
        folder / "turns.csv": iter([rows, rows]),
        folder / "table.parquet": rows,
        folder / "result.json": result_of,
    }


def texts(folder, generation):
    """A set that takes no time."""
    files = {folder / f"{name}.csv": f"{generation} {name}\n" for name in "abcdef"}
    return {**files, folder / "result.json": result_of}


def outcome(files):
    """What is said where the files cannot be written; None where they are."""
    try:
        write_files(files)
    except ConfigError as error:
        return str(error)
    return None


def state(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def both_sets(folder, make):
    """A folder with an old set, and what the two sets look like."""
    folder.mkdir()
    write_files(make(folder, "new"))
    new = state(folder)
    write_files(make(folder, "old"))
    return folder, state(folder), new


@pytest.fixture
def sets(tmp_path):
    return both_sets(tmp_path / "out", contents)


@pytest.fixture
def quick_sets(tmp_path):
    return both_sets(tmp_path / "out", texts)


class FailsOnce:
    """The n-th of these calls of the operating system fails, the others work."""

    def __init__(self, monkeypatch, names, n):
        self.n, self.seen, self.failed = n, 0, None
        for name in names:
            monkeypatch.setattr(atomic.os, name, self.wrap(name, getattr(os, name)))

    def wrap(self, name, call):
        def wrapped(*args, **named):
            self.seen += 1
            if self.seen == self.n:
                self.failed = name
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return call(*args, **named)

        return wrapped


@pytest.mark.parametrize(
    "names",
    [
        ("fsync", "replace", "link"),
        *(pytest.param((name,), marks=pytest.mark.long) for name in ("fsync", "replace", "link")),
    ],
    ids="+".join,
)
def test_failed_call_leaves_the_old_or_new_files_complete(sets, monkeypatch, names):
    folder, old, new = sets
    n, failures = 0, 0
    while True:
        n += 1
        with monkeypatch.context() as patch:
            broken = FailsOnce(patch, names, n)
            sentence = outcome(contents(folder, "new"))
        if sentence is not None:
            failures += 1
            assert re.fullmatch(r"Cannot write \S+: Input/output error\. Nothing was written\. [^.]+\.", sentence)
            assert state(folder) == old, (n, broken.failed)
            continue
        assert state(folder) == new, (n, broken.failed)
        if broken.failed is None:
            break
        write_files(contents(folder, "old"))
    assert failures >= (0 if names == ("link",) else 7)


def test_written_files_are_removed_when_a_later_write_fails(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        FailsOnce(patch, ("replace",), 3)
        with pytest.raises(ConfigError, match=r"plain\.csv"):
            write_files(contents(tmp_path, "new"))
    assert list(tmp_path.iterdir()) == []


def test_error_names_files_that_cannot_be_restored(sets, monkeypatch):
    folder, old, _ = sets
    replace, calls = os.replace, []

    def dying(source, target):
        calls.append(source)
        if len(calls) > 3:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "replace", dying)
        with pytest.raises(ConfigError, match=r"could not be restored: that of .*text\.html is in \.text") as caught:
            write_files(contents(folder, "new"))
    second = str(caught.value).rsplit("text.html is in ")[1].split(",")[0]
    assert (folder / second).read_bytes() == old["text.html"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit on Windows")
def test_a_full_disk_at_any_byte_loses_nothing(sets):
    """A file size limit makes the writes of DuckDB and Arrow fail, too, one after the other."""
    folder, old, new = sets
    sizes = sorted({0, 1, *(len(content) - 1 for content in new.values())})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in sizes:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
            with pytest.raises(ConfigError, match=r"^Cannot write .*Nothing was written"):
                write_files(contents(folder, "new"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert state(folder) == old, size


KILLED = """
import os, signal, sys
from pathlib import Path
from majorant import atomic
sys.path.insert(0, sys.argv[3])
from test_atomic import CALLS, texts
from majorant.output import write_files
at, seen = int(sys.argv[2]), 0
def wrap(call):
    def wrapped(*args, **named):
        global seen
        if str(args[0]).startswith(sys.argv[1]) or isinstance(args[0], int):
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **named)
    return wrapped
made = texts(Path(sys.argv[1]), "new")
for number in range(at, at + 200):
    pid = os.fork()
    if pid == 0:
        at = number
        for name in CALLS:
            setattr(atomic.os, name, wrap(getattr(os, name)))
        try:
            write_files(made)
        finally:
            os._exit(0)
    status = os.waitpid(pid, 0)[1]
    print(os.WIFSIGNALED(status), flush=True)
    sys.stdin.readline()
    made = texts(Path(sys.argv[1]), "new")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kill_at_any_call_leaves_whole_files_and_mixed_sets_are_detected(quick_sets):
    from majorant.render.files import foreign_files

    folder, old, new = quick_sets
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", KILLED, str(folder), "1", here]
    mixed = killed = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        while child.stdout.readline() == "True\n":
            killed += 1
            now = {name: content for name, content in state(folder).items() if not name.startswith(".")}
            assert set(now) == set(old)
            assert all(now[name] in (old[name], new[name]) for name in now)
            foreign = foreign_files(json.loads(now["result.json"]), folder / "result.json")
            one_set = now in (old, new)
            assert bool(foreign) == (not one_set)
            mixed += not one_set
            write_files(texts(folder, "old"))
            assert state(folder) == old, "the next run removes what the killed one left"
            child.stdin.write("\n")
            child.stdin.flush()
        child.stdin.close()
    assert killed > 25
    assert mixed == 6


def test_files_of_a_running_process_are_not_leftovers(tmp_path):
    with whole_file(tmp_path / "a.txt", overwrite=True) as first:
        first.write_text("first")
        with whole_file(tmp_path / "a.txt", overwrite=True) as second:
            second.write_text("second")
        assert (tmp_path / "a.txt").read_text() == "second"
        assert first.exists()
    assert state(tmp_path) == {"a.txt": b"first"}


def test_only_our_own_leftovers_are_removed(tmp_path):
    mine, others = ".a.csv.majorant-abcd1234.part", ".a.csv.abcd1234.part"
    for name in (mine, others, "b.majorant-abcd1234.part", ".c.majorant-abcd1234.txt"):
        (tmp_path / name).write_text("x")
    write_files({tmp_path / "d.txt": "y"})
    assert mine not in state(tmp_path)
    assert len(state(tmp_path)) == 4


def test_running_writer_leaves_no_backup(tmp_path):
    target = tmp_path / "a.txt"
    write_files({target: "first"})
    with target.open() as first:  # the run that wrote it holds its lock until it ends
        fcntl.flock(first, fcntl.LOCK_EX)
        write_files({target: "second"}, overwrite=True)
    assert state(tmp_path) == {"a.txt": b"second"}


def test_concurrent_runs_leave_one_consistent_set(tmp_path):
    def write(generation):
        for _ in range(15):
            write_files(contents(tmp_path, generation))

    threads = [threading.Thread(target=write, args=(name,)) for name in ("new", "old")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    listed = json.loads((tmp_path / "result.json").read_text())["files"]
    del listed["result.json"]
    assert listed == {name: f"sha256:{digest_of(tmp_path / name)}" for name in listed}
    assert len(state(tmp_path)) == 7


def test_pipes_are_written_directly(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_files({pipe: "page", tmp_path / "b.txt": "b"})
    reader.join()
    assert read == [b"page"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_are_written_directly(tmp_path):
    write_files({Path("/dev/null"): "page"})
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(ConfigError, match="Cannot write /dev/full: No space left on device"):
        write_files({tmp_path / "b.txt": "b", Path("/dev/full"): "page"})
    assert state(tmp_path) == {}


def test_standard_output_by_its_name_is_written_through(tmp_path):
    code = "from pathlib import Path; from majorant.output import write_files\n"
    code += "print('a', flush=True); write_files({Path('/dev/stdout'): 'page\\n'}); print('b')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "a\npage\nb\n"


def test_sockets_and_folders_are_refused(tmp_path):
    import socket

    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(tmp_path)
        server.bind("s")
        with pytest.raises(ConfigError, match="it is a socket"):
            write_files({tmp_path / "s": "page"})
    with pytest.raises(ConfigError, match="it is a folder"):
        write_files({tmp_path: "page"})


def test_links_are_followed_and_permissions_kept(tmp_path):
    (tmp_path / "far").mkdir()
    real, link, dangling = tmp_path / "far" / "real.txt", tmp_path / "link", tmp_path / "dangling"
    write_files({real: "old"})
    real.chmod(0o600)
    link.symlink_to(real)
    dangling.symlink_to(tmp_path / "far" / "new.txt")
    write_files({link: "new", dangling: "new"}, overwrite=True)
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert real.read_text() == (tmp_path / "far" / "new.txt").read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_longest_allowed_file_names_work(tmp_path):
    name = "é" * 125 + ".csv"
    write_files({tmp_path / name: "x"})
    assert state(tmp_path) == {name: b"x"}


def test_backup_is_a_copy_where_hard_links_are_unsupported(sets, monkeypatch):
    folder, old, _ = sets

    def refused(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "link", refused)
        FailsOnce(patch, ("replace",), 3)
        with pytest.raises(ConfigError):
            write_files(contents(folder, "new"))
    assert state(folder) == old


def test_failed_call_keeps_files_of_ask_and_label_whole(tmp_path, monkeypatch):
    votes = mj.read({"item": [n // 3 for n in range(90)], "worker": [n % 3 for n in range(90)],
                     "label": ["ny"[(n * n // 7) % 2] for n in range(90)]})  # fmt: skip
    path, first = tmp_path / "to_label.csv", mj.ask(votes, question="accuracy", n=3, rng=0)
    first.write(path)
    design, larger = tmp_path / "to_label.design.json", first.more(4)
    old = state(tmp_path)

    def more():
        larger.write_more(path, 3, design=design)

    def label():
        LabelFile.read(path, design).write(1, "y")

    for write in (more, label):
        n, failures, done = 0, 0, False
        while not done:
            n += 1
            with monkeypatch.context() as patch:
                broken = FailsOnce(patch, ("open", "fsync", "replace", "link"), n)
                try:
                    write()
                except ConfigError:
                    failures += 1
                    now = {name: content for name, content in state(tmp_path).items() if name != "to_label.csv.journal"}
                    assert now == old, (n, broken.failed)
                    continue
            done = broken.failed is None
            assert set(state(tmp_path)) == {*old, "to_label.csv.journal"}
            assert state(tmp_path) != old
            for name, content in old.items():
                (tmp_path / name).write_bytes(content)
        assert failures >= 3


@pytest.fixture
def check_out(tmp_path, monkeypatch, capsys):
    """`majorant check --out` in this process; what is computed and drawn is kept, and rewritten each time.

    Answers with the exit code and what was said on standard error.
    """
    from majorant import pipeline
    from majorant.cli import main
    from majorant.render import files

    monkeypatch.chdir(tmp_path)
    for name, other in (("old", "n"), ("new", "y")):
        rows = [f"i{i},w{j},{'y' if (i + (j == i % 4)) % 2 else other}\n" for i in range(12) for j in range(3)]
        (tmp_path / f"{name}.csv").write_text("item,worker,label\n" + "".join(rows))
    computed = {name: mj.check(f"{name}.csv", rng=0) for name in ("old", "new")}
    pages = {}

    def again(votes, **_):
        return computed["new" if "new" in str(votes.account.source) else "old"]

    def page(summary, draw=files.render):
        key = summary["input"]["source"]
        return pages.get(key) or pages.setdefault(key, draw(summary))

    monkeypatch.setattr(pipeline, "check", again)
    monkeypatch.setattr(files, "render", page)

    def run(name):
        monkeypatch.setattr(sys, "argv", ["majorant", "check", f"{name}.csv", "--out", "out", "-q"])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, capsys.readouterr().err

    return run


SENTENCE = r"majorant: Cannot write out/[\w.]+: .+\. Nothing was written\. Choose another place\.\n"


def test_failed_call_keeps_the_old_files_with_one_message(check_out, tmp_path, monkeypatch):
    """Each opening of a temporary file, each fsync, each link and each rename in turn, until none is left to fail."""
    folder = tmp_path / "out"
    assert check_out("new") == (0, "")
    new = state(folder)
    assert check_out("old") == (0, "")
    old = state(folder)
    assert len(old) == 5
    n, failed = 0, Counter()
    while True:
        n += 1
        with monkeypatch.context() as patch:
            broken = FailsOnce(patch, ("open", "fsync", "link", "replace"), n)
            code, said = check_out("new")
        if code == 0:  # a copy took the link's place, or a leftover could not be looked at
            assert {name: content for name, content in state(folder).items() if name[0] != "."} == new
            check_out("old")
            assert state(folder) == old, "the next run removes what is left"
            if broken.failed is None:
                break
            continue
        failed[broken.failed] += 1
        assert code == 2
        assert re.fullmatch(SENTENCE, said), said
        assert state(folder) == old, (n, broken.failed)
    assert failed["fsync"] == 6  # the five files and the folder
    assert failed["replace"] == 5
    assert failed["open"] >= 10


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit on Windows")
def test_failed_write_keeps_the_old_files_with_one_message(check_out, tmp_path):
    """The disk is full at the first byte, and at the last one of each file in turn."""
    check_out("new")
    sizes = sorted({0, *(len(content) - 1 for content in state(tmp_path / "out").values())})
    check_out("old")
    old = state(tmp_path / "out")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in sizes:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
            code, said = check_out("new")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert code == 2
        assert re.fullmatch(SENTENCE, said), said
        assert state(tmp_path / "out") == old, size
