"""Commands never overwrite inputs or files that majorant did not write; they may replace their own outputs."""

import contextlib
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import majorant as mj
from majorant.atomic import record_folder
from majorant.cli import majorant as command_line
from majorant.errors import ConfigError
from majorant.output import votes_table, write_files, write_table
from majorant.ownership import RECORD, command_scope, note_input, refuse_unsafe

MODEL = ["--items", "40", "--votes", "3", "--workers", "6", "--prior", ".6,.4", "--confusion", ".9,.1/.3,.7"]
SET = ("labels.csv", "workers.csv", "review.csv", "report.html", "result.json")


@pytest.fixture(autouse=True)
def folder(tmp_path):
    votes, _ = mj.simulate([0.6, 0.4], [[0.9, 0.1], [0.3, 0.7]], n_items=40, n_votes=3, n_workers=6, rng=0, gold=0.5)
    write_table(tmp_path / "v.csv", votes_table(votes))
    (tmp_path / RECORD).unlink()  # the user's own table
    with contextlib.chdir(tmp_path):
        yield tmp_path


def run(*words):
    return CliRunner().invoke(command_line, list(map(str, words)))


def refused(*words):
    """The message of a command that writes nothing at all."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    done = run(*words)
    assert isinstance(done.exception, ConfigError), (done.exception, done.output)
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    return str(done.exception)


COMMANDS = {  # a command, and the file that it would write
    "check --out": (["check", "v.csv", "--out", "."], "result.json"),
    "check --report": (["check", "v.csv", "--report", "mine"], "mine"),
    "check --summary": (["check", "v.csv", "--summary", "mine"], "mine"),
    "aggregate": (["aggregate", "v.csv"], "labels.csv"),
    "aggregate --export": (["aggregate", "v.csv", "--export", "prodigy"], "labels.jsonl"),
    "workers": (["workers", "v.csv"], "workers.csv"),
    "agreement": (["agreement", "v.csv", "--scores", "--out", "mine.csv"], "mine.csv"),
    "ask": (["ask", "v.csv", "--accuracy", "--rule", "majority"], "to_label.csv"),
    "ask, design": (["ask", "v.csv", "--accuracy", "--rule", "majority"], "to_label.design.json"),
    "simulate": (["theory", "simulate", *MODEL, "--out", "mine.csv"], "mine.csv"),
    "simulate --truth": (["theory", "simulate", *MODEL, "--truth", "mine.csv"], "mine.csv"),
    "demo": (["data", "demo", "--out", "."], "crowd/votes.csv"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_user_files_are_only_replaced_with_overwrite(name):
    words, file = COMMANDS[name]
    target = Path(file)
    target.parent.mkdir(exist_ok=True)
    target.write_text("the user's")
    message = refused(*words, "-q")
    assert file in message
    assert "majorant did not write it" in message
    assert "overwrite=True" in message
    if name == "demo":
        return  # which takes long
    assert run(*words, "--overwrite", "-q").exit_code == 0
    assert target.read_bytes() != b"the user's"
    target.write_bytes(target.read_bytes() + b"a note of the user's\n")
    message = refused(*words, "-q")
    assert "was changed after majorant wrote it" in message or "holds labels" in message


@pytest.mark.parametrize("linked", [None, "symbolic", "hard"])
@pytest.mark.parametrize(
    "words",
    [
        ["check", "v.csv", "--report", "OUT"],
        ["check", "v.csv", "--summary", "OUT"],
        ["aggregate", "v.csv", "--out", "OUT"],
        ["workers", "v.csv", "--out", "OUT"],
        ["agreement", "v.csv", "--scores", "--out", "OUT"],
        ["ask", "v.csv", "--out", "OUT"],
        ["aggregate", "[uv].csv", "--out", "OUT"],
    ],
)
def test_input_files_are_never_overwritten(words, linked):
    out = "v.csv"
    if linked == "symbolic":
        Path("out.csv").symlink_to("v.csv")
        out = "out.csv"
    elif linked == "hard":
        os.link("v.csv", "out.csv")
        out = "out.csv"
    words = [out if word == "OUT" else word for word in words]
    for more in ([], ["--overwrite"]):
        assert "v.csv" in refused(*words, *more) or linked


def test_an_input_that_majorant_wrote_is_still_an_input():
    assert run("theory", "simulate", *MODEL, "--out", "labels.csv").exit_code == 0
    for words in (["aggregate", "labels.csv"], ["check", "labels.csv", "--out", "."]):
        assert "it is an input of this command" in refused(*words)
        assert "it is an input of this command" in refused(*words, "--overwrite")
    assert run("check", "v.csv", "--out", "out").exit_code == 0
    assert "it is an input" in refused("report", "out/result.json", "--out", "out/result.json", "--overwrite")
    gold = run("theory", "simulate", *MODEL, "--out", "votes.csv", "--truth", "gold.csv")
    assert gold.exit_code == 0
    words = ["aggregate", "votes.csv", "--gold-file", "gold.csv", "--out", "gold.csv", "--overwrite"]
    assert "it is an input" in refused(*words)


def test_every_command_runs_again_over_its_own_outputs():
    words = [
        ["check", "v.csv", "--out", "out", "--report", "page.html", "--summary", "answer.md"],
        ["report", "out/result.json", "--out", "again.html"],
        ["report", "out/result.json", "--out", "out"],
        ["workers", "v.csv", "--out", "out"],
        ["aggregate", "v.csv", "--method", "one-coin", "--save-rule", "rule.json"],
        ["ask", "v.csv", "--between", "majority,one-coin"],
        ["agreement", "v.csv", "--scores", "--out", "scores.csv"],
        ["theory", "simulate", *MODEL, "--out", "drawn.csv", "--truth", "truth.csv"],
    ]
    for _ in range(2):
        for command in words:
            done = run(*command, "-q") if command[0] != "ask" else run(*command)
            assert done.exit_code == 0, (command, done.exception)


def test_two_outputs_of_one_command_do_not_share_a_file():
    assert "two outputs" in str(run("check", "v.csv", "--out", "out", "--report", "out/labels.csv").exception)
    words = ["aggregate", "v.csv", "--method", "one-coin", "--save-rule", "one", "--out", "one"]
    assert "--save-rule" in str(run(*words).exception)


def test_a_killed_run_leaves_files_that_the_next_one_may_replace(monkeypatch):
    """Killed after the record was written and before, or while, files took their names."""
    moved = Path.replace
    write_files({Path(name): "first" for name in SET})
    for n_moves in range(len(SET)):
        moves = []

        def replace(self, target, moves=moves, n_moves=n_moves):
            if len(moves) == n_moves:
                os._exit(9)
            moves.append(target)
            return moved(self, target)

        if (child := os.fork()) == 0:
            monkeypatch.setattr(Path, "replace", replace)
            write_files({Path(name): f"killed after {n_moves}" for name in SET})
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        write_files({Path(name): f"after {n_moves}" for name in SET})


def test_ownership_record_tracks_written_files(tmp_path):
    write_files({tmp_path / "a.txt": "a", tmp_path / "b.txt": "b"})
    (tmp_path / "a.txt").unlink()
    write_files({tmp_path / "c.txt": "c"})
    assert list(json.loads((tmp_path / RECORD).read_text())["files"]) == ["b.txt", "c.txt"]
    (tmp_path / "a.txt").write_text("a")  # with the very content that majorant once wrote, and the user's all the same
    with pytest.raises(ConfigError, match="majorant did not write it"):
        write_files({tmp_path / "a.txt": "other"})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "majorant-files"}', '{"format": 1, "files": {"a": 1}}'])
def test_damaged_ownership_record_protects_all_files(tmp_path, text):
    write_files({tmp_path / "a.txt": "a"})
    (tmp_path / RECORD).write_text(text)
    with pytest.raises(ConfigError, match="majorant did not write it"):
        write_files({tmp_path / "a.txt": "other"})
    assert (tmp_path / "a.txt").read_text() == "a"


def test_files_written_from_python_are_also_protected(tmp_path):
    result = mj.check(mj.read("v.csv"))
    page = tmp_path / "page.html"
    page.write_text("the user's")
    with pytest.raises(ConfigError, match="overwrite=True"):
        mj.report(result, page)
    assert page.read_text() == "the user's"
    mj.report(result, page, overwrite=True)
    mj.report(result, page)
    with pytest.raises(ConfigError, match="did not write it"):
        mj.aggregate("v.csv", "one-coin").rule().save(tmp_path / "v.csv")


def test_a_folder_written_by_spark_is_also_protected(tmp_path):
    """Spark empties a folder before it writes into it."""
    mine = tmp_path / "labels.parquet"
    mine.mkdir()
    (mine / "thesis.txt").write_text("ten years of work")
    with pytest.raises(ConfigError, match=r"labels\.parquet exists, and majorant did not write it"):
        refuse_unsafe([mine])
    record_folder(mine)
    refuse_unsafe([mine])
    (mine / "more.txt").write_text("one more")
    with pytest.raises(ConfigError, match="was changed after majorant wrote it"):
        refuse_unsafe([mine])
    with command_scope():
        note_input(mine / "thesis.txt")
        with pytest.raises(ConfigError, match="input"):
            refuse_unsafe([mine], overwrite=True)


def test_inputs_are_protected_only_during_their_command(tmp_path):
    write_files({tmp_path / "a.txt": "a"})
    with command_scope():
        note_input(tmp_path / "a.txt")
        with pytest.raises(ConfigError, match="input"):
            write_files({tmp_path / "a.txt": "b"})
    write_files({tmp_path / "a.txt": "b"})
