"""Commands never overwrite inputs or files that majorant did not write; they may replace their own outputs."""

import contextlib
import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import majorant as mj
from majorant.ask.design import recognise
from majorant.cli import majorant as command_line
from majorant.errors import ConfigError
from majorant.output import votes_table, write_files, write_table
from majorant.ownership import command_scope, note_input, refuse_unsafe, result_digest

MODEL = ["--items", "40", "--votes", "3", "--workers", "6", "--prior", ".6,.4", "--confusion", ".9,.1/.3,.7"]
SET = ("labels.csv", "workers.csv", "review.csv", "report.html", "result.json")


@pytest.fixture(autouse=True)
def folder(tmp_path):
    votes, _ = mj.simulate([0.6, 0.4], [[0.9, 0.1], [0.3, 0.7]], n_items=40, n_votes=3, n_workers=6, rng=0, gold=0.5)
    write_table(tmp_path / "v.csv", votes_table(votes))
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
    assert "nothing beside it says that majorant wrote it" in message or "belongs to items" in message
    assert "overwrite=True" in message
    if name == "demo" or name.startswith("ask"):
        return  # which takes long, or draws to another file
    assert run(*words, "--overwrite", "-q").exit_code == 0
    assert target.read_bytes() != b"the user's"
    target.write_bytes(target.read_bytes() + b"a note of the user's\n")
    message = refused(*words, "-q")
    assert any(
        words in message for words in ("was changed after", "nothing beside it", "holds labels", "never replace")
    )


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
    """Pages, summaries and sets with a result know themselves; a table alone is replaced by the same content."""
    words = [
        ["check", "v.csv", "--out", "out", "--report", "page.html", "--summary", "answer.md"],
        ["report", "out/result.json", "--out", "again.html"],
        ["report", "out/result.json", "--out", "out"],
        ["ask", "v.csv", "--between", "majority,one-coin"],
    ]
    tables = [
        ["workers", "v.csv", "--out", "workers.csv"],
        ["aggregate", "v.csv", "--method", "one-coin", "--save-rule", "rule.json"],
        ["agreement", "v.csv", "--scores", "--out", "scores.csv"],
        ["theory", "simulate", *MODEL, "--out", "drawn.csv", "--truth", "truth.csv"],
    ]
    for _ in range(2):
        for command in [*words, *tables]:
            done = run(*command, "-q") if command[0] != "ask" else run(*command)
            assert done.exit_code == 0, (command, done.exception)
    for command, file in zip(tables, ("workers.csv", "labels.csv", "scores.csv", "drawn.csv"), strict=True):
        Path(file).write_text(Path(file).read_text() + "a note\n")
        assert "nothing beside it says that majorant wrote it" in refused(*command, "-q")
        assert run(*command, "-q", "--overwrite").exit_code == 0


def test_two_outputs_of_one_command_do_not_share_a_file():
    assert "two outputs" in str(run("check", "v.csv", "--out", "out", "--report", "out/labels.csv").exception)
    words = ["aggregate", "v.csv", "--method", "one-coin", "--save-rule", "one", "--out", "one"]
    assert "--save-rule" in str(run(*words).exception)


def of_a_set(folder, names, text):
    """Files with the result that lists them."""
    files = {folder / name: text for name in names}
    return {**files, folder / "result.json": lambda digests: with_own_digest({"files": dict(digests)})}


def with_own_digest(result):
    files = {name: f"sha256:{digest}" for name, digest in result["files"].items()}
    own = f"sha256:{result_digest({**result, 'files': files})}"
    return json.dumps({**result, "files": {**files, "result.json": own}})


def test_a_killed_run_leaves_files_that_the_next_one_may_replace(monkeypatch):
    """Killed before, or while, files took their names."""
    moved = Path.replace
    write_files(of_a_set(Path(), SET[:-1], "first"))
    for n_moves in range(len(SET)):
        moves = []

        def replace(self, target, moves=moves, n_moves=n_moves):
            if len(moves) == n_moves:
                os._exit(9)
            moves.append(target)
            return moved(self, target)

        if (child := os.fork()) == 0:
            monkeypatch.setattr(Path, "replace", replace)
            write_files(of_a_set(Path(), SET[:-1], f"killed after {n_moves}"))
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        write_files(of_a_set(Path(), SET[:-1], f"after {n_moves}"))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"files": 3}', '{"files": {"a.txt": 1}}', '{"files": {"a.txt": "0"}}']
)
def test_a_damaged_result_protects_all_files(tmp_path, text):
    write_files(of_a_set(tmp_path, ["a.txt"], "a"))
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(ConfigError, match="overwrite=True"):
        write_files({tmp_path / "a.txt": "other"})
    with pytest.raises(ConfigError, match=r"result\.json exists"):
        write_files({tmp_path / "result.json": "other"})
    assert (tmp_path / "a.txt").read_text() == "a"


def test_a_result_and_a_page_know_whether_they_were_changed(tmp_path):
    assert run("check", "v.csv", "--out", "out", "--report", "page.html", "--summary", "answer.md").exit_code == 0
    for file in ("page.html", "answer.md", "out/result.json", "out/report.html", "out/labels.csv"):
        path, before = tmp_path / file, (tmp_path / file).read_bytes()
        refuse_unsafe([path])
        path.write_bytes(before.replace(b"majority", b"minority", 1) if path.suffix != ".csv" else before + b"x")
        with pytest.raises(ConfigError, match="overwrite=True"):
            refuse_unsafe([path])
        path.write_bytes(before)
        refuse_unsafe([path])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["answer.md", "out", "page.html", "v.csv"]


def test_files_written_from_python_are_also_protected(tmp_path):
    result = mj.check(mj.read("v.csv"))
    page = tmp_path / "page.html"
    page.write_text("the user's")
    with pytest.raises(ConfigError, match="overwrite=True"):
        mj.report(result, page)
    assert page.read_text() == "the user's"
    mj.report(result, page, overwrite=True)
    mj.report(result, page)
    with pytest.raises(ConfigError, match="nothing beside it"):
        mj.aggregate("v.csv", "one-coin").rule().save(tmp_path / "v.csv")


def test_a_folder_is_only_replaced_with_overwrite(tmp_path):
    """Spark empties a folder before it writes into it."""
    mine = tmp_path / "labels.parquet"
    mine.mkdir()
    (mine / "thesis.txt").write_text("ten years of work")
    with pytest.raises(ConfigError, match=r"labels\.parquet exists"):
        refuse_unsafe([mine])
    refuse_unsafe([mine], overwrite=True)
    with command_scope():
        note_input(mine / "thesis.txt")
        with pytest.raises(ConfigError, match="input"):
            refuse_unsafe([mine], overwrite=True)


HUMAN = {
    "to_label.csv": "majorant_draw,item,label,majorant_design\n1,a,yes,d0\n",
    "old.csv": "sep=;\ndraw;item;Label\n1;a;yes\n",
    "utf-16.csv": "majorant_draw\titem\tlabel\n1\ta\tyes\n",
    "tasks.json": '[{"data": {"item": "a", "majorant_design": "d0"}, "annotations": []}]',
    "to_label.design.json": '{"format": "majorant-design", "version": 1}',
    "to_label.csv.journal": '{"journal": "majorant-journal", "at": "now"}\n',
}


@pytest.mark.parametrize("name", HUMAN)
@pytest.mark.parametrize("words", ["aggregate v.csv --out", "workers v.csv --out", "check v.csv --report",
                                   "check v.csv --summary", "ask v.csv --out"])  # fmt: skip
def test_what_people_typed_is_never_replaced(name, words):
    Path(name).write_text(HUMAN[name], encoding="utf-16" if name == "utf-16.csv" else "utf-8")
    for more in ([], ["--overwrite"]):
        message = refused(*words.split(), name, "-q", *more)
        assert name.split(".journal")[0] in message


def test_a_file_with_a_journal_is_never_replaced():
    """Its columns may have been renamed since."""
    Path("mine.csv").write_text("a,b\n1,yes\n")
    Path("mine.csv.journal").write_text(HUMAN["to_label.csv.journal"])
    assert "no output ever replaces" in refused("aggregate", "v.csv", "--out", "mine.csv", "--overwrite")


def test_a_redraw_gets_a_name_and_a_design_of_its_own():
    """Also if the labels are in a copy, or in the file of another tool."""
    assert run("ask", "v.csv", "--n", "8").exit_code == 0
    first = Path("to_label.design.json").read_bytes()
    Path("anna.csv").write_text(Path("to_label.csv").read_text().replace(",,", ",0,"))
    for words, name in (
        (["--seed", "7"], "to_label-2.csv"),
        (["--seed", "7", "--tool", "label-studio"], "to_label-2.json"),
        (["--seed", "8", "--tool", "prodigy"], "to_label-3.jsonl"),
        (["--n", "3"], "to_label-4.csv"),
        (["--n", "8"], "to_label.csv"),  # the very same
    ):
        done = run("ask", "v.csv", *words, "-q")
        assert done.exit_code == 0, done.exception
        assert Path(name).is_file()
    assert Path("to_label.design.json").read_bytes() == first
    assert recognise("anna.csv").path == Path("to_label.design.json")
    assert recognise("anna.csv").outcome.labels == 6
    refused("ask", "v.csv", "--seed", "9", "--out", "to_label.csv", "--overwrite")


def test_inputs_are_protected_only_during_their_command(tmp_path):
    write_files({tmp_path / "a.txt": "a"})
    with command_scope():
        note_input(tmp_path / "a.txt")
        with pytest.raises(ConfigError, match="input"):
            write_files({tmp_path / "a.txt": "b"}, overwrite=True)
    write_files({tmp_path / "a.txt": "b"}, overwrite=True)
