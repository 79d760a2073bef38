"""The command line: what it prints and writes, and that bad input gets one clear message, exit code 2 and no file."""

import fcntl
import gzip
import json
import resource
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from majorant.cli import COMMANDS, majorant

GOOD = "item,worker,label\na,w,yes\na,x,yes\na,y,no\nb,w,no\nb,x,no\nb,y,yes\n"


FILES = ["labels.csv", "report.html", "result.json", "review.csv", "workers.csv"]


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def test_check_reports_the_input_and_writes_results(run):
    code, out, err = run("check", write("votes.csv", GOOD), "--out", "results")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines() if line[0] != " "] == [
        "Answer", "Labels", "Why", "Wrote", "Next",
    ]  # fmt: skip
    _, out, _ = run("check", "votes.csv", "--verbose")
    assert "item = item, worker = worker, label = label" in out
    assert "6 votes by 3 workers on 2 items" in out
    assert "2 items labelled by majority vote, no ties" in out
    assert sorted(path.name for path in Path("results").iterdir() if path.name[0] != ".") == FILES
    assert Path("results/labels.csv").read_text().splitlines()[1].startswith("a,yes,rule,0.")
    assert json.loads(Path("results/result.json").read_text())["votes"]["items"] == 2


def test_json_text_and_file_agree(run):
    write("votes.csv", GOOD)
    code, out, _ = run("check", "votes.csv", "--json", "--out", "results")
    assert code == 0
    saved = json.loads(Path("results/result.json").read_text())
    assert sorted(saved.pop("files")) == FILES  # the digests of the others, and its own
    assert json.loads(out) == saved
    kept = {path.name: path.read_bytes() for path in Path("results").iterdir()}
    assert sorted(kept) == FILES
    _, again, _ = run("check", "votes.csv", "--json", "--out", "results")
    assert again == out  # the same input and seed, the same bytes
    assert {path.name: path.read_bytes() for path in Path("results").iterdir()} == kept


def test_aggregate_writes_csv_or_parquet_or_prints(run):
    write("votes.csv", GOOD)
    assert run("aggregate", "votes.csv", "-q") == (0, "", "")
    assert (
        Path("labels.csv")
        .read_text()
        .startswith("item,label,source,confidence,majority,weighted_vote,runner_up,votes,tied,changed\na,yes,")
    )
    assert run("aggregate", "votes.csv", "--method", "dawid-skene", "--out", "labels.parquet")[0] == 0
    assert pq.read_table("labels.parquet").column("item").to_pylist() == ["a", "b"]
    code, out, err = run("aggregate", "votes.csv", "--out", "-")
    assert (code, out) == (0, Path("labels.csv").read_text())
    assert "2 items labelled" in err


@pytest.mark.parametrize("engine", [[], ["--memory", "500MB"]])
def test_aggregate_writes_the_labels_of_check(run, engine):
    """A panel of four with ties, and gold labels for some items."""
    rows = [
        f"i{i},j{j},{'ny'[(i + (j <= i % 3)) % 2]},{'ny'[i % 2] if i < 12 else ''}\n"
        for i in range(60)
        for j in range(4)
    ]
    write("votes.csv", "item,judge,label,gold\n" + "".join(rows))
    assert run("check", "votes.csv", "--out", "results", *engine)[0] == 0
    code, _, err = run("aggregate", "votes.csv", *engine)
    assert code == 0, err
    assert Path("labels.csv").read_bytes() == Path("results/labels.csv").read_bytes()
    lines = [line.split(",") for line in Path("labels.csv").read_text().splitlines()[1:]]
    assert {line[2] for line in lines} == {"gold", "rule", "tie"}
    assert all(line[1] for line in lines)  # every item has a label
    assert not any(line[4] for line in lines if line[2] == "tie")  # and a tied one no majority


def test_aggregate_says_how_ties_were_decided(run):
    rows = [f"i{i},j{j},{'ny'[(i + (j <= i % 3)) % 2]}\n" for i in range(60) for j in range(4)]
    write("votes.csv", "item,judge,label\n" + "".join(rows))
    assert "60 items labelled by majority vote, 20 of them ties (coin)" in run("aggregate", "votes.csv")[1]
    assert (
        "40 items labelled by majority vote, 20 tied and left empty"
        in run("aggregate", "votes.csv", "--ties", "flag", "--overwrite")[1]
    )
    labels = [line.split(",")[1] for line in Path("labels.csv").read_text().splitlines()[1:]]
    assert labels.count("") == 20


def test_ties_are_left_open_or_broken_as_asked(run):
    write("votes.csv", "item,worker,label\na,w,yes\na,x,no\n")
    for ties, label in (("flag", ""), ("first", "no"), ("random", "no")):
        run("aggregate", "votes.csv", "--method", "majority", "--ties", ties, "--seed", "1", "--overwrite")
        assert Path("labels.csv").read_text().splitlines()[1].split(",")[1] in {
            label,
            "yes" if ties == "random" else label,
        }
        assert Path("labels.csv").read_text().splitlines()[1].split(",")[7:9] == ["2", "true"]


def test_agreement_prints_coefficients_and_pairs(run):
    code, out, _ = run("agreement", write("votes.csv", GOOD))
    assert code == 0
    assert "Krippendorff's alpha" in out
    assert "w and x" in out


def test_standard_input(run, monkeypatch):
    write("votes.csv", GOOD)
    with Path("votes.csv").open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "majorant", "check", "-", "--json"], stdin=file, capture_output=True
        )
    assert done.returncode == 0
    assert json.loads(done.stdout)["votes"]["votes"] == 6


def test_help_of_each_command_starts_with_its_summary():
    for name, sentence in COMMANDS.items():
        command = majorant.get_command(None, name)
        assert command.help.split("\n")[0] == sentence


def test_version_and_help(run):
    assert run("--version")[1].startswith("majorant, version 0.")
    code, out, _ = run("--help")
    assert code == 0
    assert all(name in out for name in COMMANDS)


BAD = {
    "missing file": (lambda: "nowhere.csv", ["nowhere.csv"]),
    "empty file": (lambda: write("votes.csv", ""), ["votes.csv", "empty"]),
    "header only": (lambda: write("votes.csv", "item,worker,label\n"), ["votes.csv"]),
    "two candidates": (
        lambda: write("votes.csv", "item,task,worker,label\na,b,w,yes\n"),
        ["votes.csv", "item", "task", "--item"],
    ),
    "no candidate": (lambda: write("votes.csv", "thing,worker,label\na,w,yes\n"), ["votes.csv", "thing", "--item"]),
    "too few fields": (
        lambda: write("votes.csv", "item,worker,label\na,w,yes\nb,w\nc,w,no\n"),
        ["votes.csv", "row 3", "b,w"],
    ),
    "undecodable bytes": (
        lambda: write("votes.csv", b"item,worker,label\na,w,yes\nb,w,caf\xe9\n"),
        ["votes.csv", "row 3", "--encoding"],
    ),
    "a repeat that differs": (
        lambda: write("votes.csv", "item,worker,label\na,w,yes\na,w,no\n"),
        ["votes.csv", "row 3", "'w'", "'a'", "yes", "no", "--repeats"],
    ),
    "too many labels": (
        lambda: write("votes.csv", "item,worker,label\n" + "".join(f"i{n % 5},w{n},text {n}\n" for n in range(20_000))),
        ["votes.csv", "label", "--label", "--max-classes"],
    ),
    "not what its ending says": (lambda: write("votes.csv", gzip.compress(GOOD.encode())), ["votes.csv", "gz"]),
    "not Parquet": (lambda: write("votes.parquet", GOOD), ["votes.parquet", "Parquet"]),
    "cut-off JSON": (
        lambda: write("votes.json", '[{"item": "a", "worker": "w", "label": 1}, {"item": "b", "wor'),
        ["votes.json"],
    ),
    "a directory": (lambda: Path("folder").mkdir() or "folder", ["folder", "is a folder"]),
    "an empty worker": (lambda: write("votes.csv", "item,worker,label\na,,yes\n"), ["votes.csv", "row 2", "worker"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_message_exit_code_2_and_no_file(case, run):
    make, says = BAD[case]
    source = make()
    before = sorted(path.name for path in Path().iterdir())
    for command in (["check", "--out", "results"], ["aggregate"]):
        code, out, err = run(*command, source)
        assert (code, out) == (2, "")
        assert "Traceback" not in err
        assert "bug in majorant" not in err
        for words in says:
            assert words in err, err
    assert sorted(path.name for path in Path().iterdir()) == before


def test_no_permission(run, monkeypatch):
    source, real_open = write("votes.csv", GOOD), Path.open

    def refuse(path, *arguments, **settings):
        if path.name == "votes.csv":
            raise PermissionError(13, "Permission denied", str(path))
        return real_open(path, *arguments, **settings)

    monkeypatch.setattr(Path, "open", refuse)
    code, _, err = run("check", source)
    assert code == 2
    assert "votes.csv" in err
    assert "ermission" in err


def test_an_output_folder_that_cannot_be_written(run):
    write("votes.csv", GOOD)
    write("blocked", "a file where the folder should be")
    for arguments in (["check", "votes.csv", "--out", "blocked"], ["aggregate", "votes.csv", "--out", "blocked/l.csv"]):
        code, _, err = run(*arguments)
        assert code == 2
        assert "Cannot write" in err
        assert "blocked" in err
    assert sorted(path.name for path in Path().iterdir()) == ["blocked", "votes.csv"]


def test_full_disk_while_writing_leaves_no_files(tmp_path):
    """A file size limit simulates a full disk: writing fails half-way in the same way."""
    votes = tmp_path / "votes.csv"
    votes.write_text("item,worker,label\n" + "".join(f"item number {n},w,yes\n" for n in range(20_000)))
    done = subprocess.run(
        [sys.executable, "-m", "majorant", "aggregate", "votes.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert done.returncode == 2, done.stderr
    assert "Cannot write labels.csv" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["votes.csv"]


def test_control_c_half_way_exits_130_and_leaves_no_files(tmp_path):
    command = [sys.executable, "-m", "majorant", "aggregate", "-", "--out", "labels.csv"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdin.write(GOOD)
        process.stdin.flush()  # and no end: the reader waits half-way through its input until it is interrupted
        until = time.monotonic() + 60
        while fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)) != bytes(4):  # not all was taken yet
            assert time.monotonic() < until
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=30)
        message = process.stderr.read()
    assert code == 130
    assert "Interrupted" in message
    assert "Traceback" not in message
    assert list(tmp_path.iterdir()) == []


def test_control_characters_in_names_are_escaped(run):
    write("votes.csv", "item,worker,label\na,w,\x1b[31mred\na,x,\x1b[31mred\n")
    code, out, _ = run("check", "votes.csv")
    assert code == 0
    assert "\x1b" not in out


def test_invalid_call_exits_with_2(run):
    write("votes.csv", GOOD)
    for arguments in (
        ["check"],
        ["check", "votes.csv", "--level", "2"],
        ["aggregate", "votes.csv", "--method", "magic"],
    ):
        code, _, err = run(*arguments)
        assert code == 2
        assert err


def test_an_unexpected_error_is_reported_as_such(run, monkeypatch):
    monkeypatch.setattr("majorant.cli.source.at_work", lambda *_: 1 / 0)
    code, _, err = run("check", write("votes.csv", GOOD))
    assert code == 2
    assert "ZeroDivisionError" in err
    assert "MAJORANT_DEBUG=1" in err


def test_arrow_types_survive_to_the_labels(run):
    pq.write_table(pa.table({"item": [1, 1, 2], "worker": [7, 8, 7], "label": [True, True, False]}), "votes.parquet")
    run("aggregate", "votes.parquet", "--out", "labels.parquet")
    assert pq.read_table("labels.parquet").column("label").to_pylist() == [True, False]


def test_removed_reproduce_command_explains_its_replacement(run):
    code, out, err = run("reproduce", "figure1")
    assert (code, out) == (2, "")
    assert "make paper" in err
