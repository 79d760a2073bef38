"""`read` raises only DataError or ConfigError, with the source's name, whatever breaks a parser."""

import contextlib
import gzip
import os
import subprocess
import sys

import pandas as pd
import pytest

import majorant as mj
from corpus import READERS, TABLE, inputs, reader_of
from majorant.errors import ConfigError, DataError, MajorantError
from majorant.read.build import collect_codes
from majorant.read.table import named_faults

INPUTS = dict(inputs())
OF_VOTES = [name for name in INPUTS if reader_of(name)[0] == "votes"]


@pytest.fixture
def votes_csv(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(TABLE)
    return path


@pytest.mark.parametrize("wide", [False, True], ids=["long", "wide"])
@pytest.mark.parametrize("name", OF_VOTES)
def test_inputs_that_broke_a_reader_are_read_or_rejected(tmp_path, name, wide):
    path = tmp_path / name
    path.write_bytes(INPUTS[name])
    try:
        votes = mj.read(path, wide=wide)
    except (DataError, ConfigError) as error:
        assert name in str(error) or "wide" in str(error), error  # noqa: PT017
    else:
        for value in (*votes.items, *votes.workers, *votes.labels):
            str(value).encode()


@pytest.mark.parametrize("name", [name for name in INPUTS if name not in OF_VOTES])
def test_inputs_that_broke_another_reader_are_read_or_rejected(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(INPUTS[name])
    with contextlib.suppress(MajorantError):
        READERS[reader_of(name)[0]](path)


@pytest.mark.parametrize("encoding", ["zlib", "idna", "undefined", "hex", "rot13", "punycode", "unicode_escape", "no"])
def test_non_text_encodings_are_rejected(votes_csv, encoding):
    with pytest.raises(ConfigError, match=r"^encoding='\w+': not an encoding of text files"):
        mj.read(votes_csv, encoding=encoding)


def test_values_kept_unchanged(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(INPUTS["digits.jsonl"])
    assert mj.read(path).labels == ("9" * 5000,)


def test_names_of_files_that_look_like_something_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("~$votes.csv", "~nobody-of-this-name.csv"):
        (tmp_path / name).write_text(TABLE)
        assert mj.read(name).n_votes == 60
    with pytest.raises(DataError, match="no such file"):
        mj.read("~$other.csv")
    with pytest.raises(ConfigError, match="not the name of a file"):
        mj.read("")
    with pytest.raises(ConfigError, match="not the name of a file"):
        mj.read("a\0b")
    with pytest.raises(ConfigError, match="not the name of a file"):
        mj.read("x" * 5000)
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="only folders match"):
        mj.read("fold*")


def test_devices_are_refused_before_they_fill_the_disk():
    with pytest.raises(ConfigError, match="/dev/zero is a device"):
        mj.read("/dev/zero")


def test_frames_with_half_characters_and_mixed_categories():
    columns = {"item": ["a", "b\ud800"], "worker": ["w", "w"], "label": [1, 0]}
    for source in (columns, pd.DataFrame(columns, dtype=object)):
        with pytest.raises(DataError, match="lone surrogate"):
            mj.read(source)
    mixed = pd.DataFrame({"item": ["a", "b"], "worker": ["w", "w"], "label": pd.Categorical([1, "x"])})
    assert mj.read(mixed).labels == (1, "x")


def test_a_header_of_any_length(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"{n:01000d}" for n in range(300)]
    path.write_text(",".join(["item", *names]) + "\na" + ",1" * 300 + "\nb" + ",0" * 300 + "\n")
    assert mj.read(path, wide=True).shape == (2, 300, 2)


def test_internal_errors_are_not_swallowed():
    with pytest.raises(TypeError), named_faults("votes.csv"):
        raise TypeError


def run(*words, code="from majorant.cli import main; main()", **named):
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **named)


def shell(line, folder):
    command = line.replace("majorant", f'{sys.executable} -c "from majorant.cli import main; main()"')
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, cwd=folder)


def test_closed_and_full_streams(votes_csv):
    folder = votes_csv.parent
    closed = shell("majorant agreement - <&-", folder)
    assert closed.returncode == 2
    assert "standard input" in closed.stderr
    assert shell("majorant agreement votes.csv >&-", folder).returncode == 0
    silent = shell("majorant agreement votes.csv 2>&-", folder)
    assert (silent.returncode, silent.stderr) == (0, "")
    full = shell("majorant theory simulate --items 3 --skills .9,.8 > /dev/full", folder)
    assert (full.returncode, full.stderr) == (2, "majorant: standard output: No space left on device.\n")
    gone = shell("(majorant theory simulate --items 3 --skills .9,.8 ; echo $? >&2) | true", folder)
    assert gone.stderr.endswith("0\n")
    assert "Unexpected" not in gone.stderr


def test_a_full_temporary_folder_is_named(votes_csv):
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)); from majorant.cli import main; main()"
    done = run("agreement", "-", code=code, input=TABLE)
    assert done.returncode == 2
    assert "Cannot write to the temporary folder" in done.stderr


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are Unicode there")
def test_a_file_name_that_is_not_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/v\xe9.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(TABLE.encode())
    out = tmp_path / "out"
    nowhere = {**os.environ, "MPLCONFIGDIR": "/dev/null/nowhere"}  # nor does a cache that cannot be written say a word
    done = run("check", os.fsdecode(path), "--out", str(out), "--verbose", "--no-log-progress", env=nowhere)
    assert (done.returncode, done.stderr) == (0, "")
    assert "v\\udce9.csv.gz" in done.stdout
    assert "v\\udce9.csv.gz" in (out / "result.json").read_text()


@pytest.mark.parametrize(("role", "kind"), [("label", "labels"), ("gold", "gold labels")])
def test_a_column_with_too_many_labels_is_named_once(role, kind):
    table = {"item": range(5), "worker": ["w"] * 5, "label": ["y"] * 5, role: [f"text {n}" for n in range(5)]}
    with pytest.raises(
        DataError, match=rf"column '{role}': more than 3 .*, e\.g\. 'text 3'; .* the column of {kind}\. Specify"
    ):
        mj.read(table, max_classes=3)


def test_error_messages_contain_no_control_characters(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"item,worker,label\na,w\x1b[31m,y\na,w\x1b[31m,n\n")
    done = run("agreement", str(path))
    assert done.returncode == 2
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("how", ["replaced", "appended", "removed"])
def test_a_file_that_changes_while_it_is_read_is_named(votes_csv, monkeypatch, how):
    def change(*args, **named):
        if how == "replaced":
            votes_csv.with_name("other.csv").write_text(TABLE)
            votes_csv.with_name("other.csv").replace(votes_csv)
        elif how == "appended":
            votes_csv.write_text(TABLE + "z,w,y\n")
        else:
            votes_csv.unlink()
        return collect_codes(*args, **named)

    monkeypatch.setattr(sys.modules["majorant.read"], "collect_codes", change)
    with pytest.raises(DataError, match=r"votes\.csv (changed while it was read|cannot be read)"):
        mj.read(votes_csv)
