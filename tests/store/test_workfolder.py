"""Nothing of the user's is ever removed from a folder for intermediate files."""

import contextlib
import os
import shutil

import pytest
from click.testing import CliRunner

import majorant as mj
from majorant.cli import majorant as command_line
from majorant.errors import ConfigError
from majorant.output import votes_table, write_table
from majorant.workfolder import LIST, WORK_FOLDER, WORK_HEADER, WorkFolder, locked

OURS = ("orders.parquet", "votes.parquet", "items.arrow", "gold_i", "label_n", "votes.json.part", "votes.json")


@pytest.fixture
def folder(tmp_path):
    """A user's folder with a table and with files whose names our intermediate files have as well."""
    votes, _ = mj.simulate([0.6, 0.4], [[0.9, 0.1], [0.3, 0.7]], n_items=60, n_votes=3, n_workers=6, rng=0)
    write_table(tmp_path / "votes.parquet", votes_table(votes))
    for name in OURS:
        if not (tmp_path / name).exists():
            (tmp_path / name).write_text(f"the user's {name}")
    for name in ("steps", "spill"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("ten years of work")
    with contextlib.chdir(tmp_path):
        yield tmp_path


def contents(folder, *, apart=()):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in apart
    }


def run(*words):
    return CliRunner().invoke(command_line, [*words, "-q"], catch_exceptions=True)


@pytest.mark.parametrize("more", [[], ["--resume"]])
def test_working_in_the_users_own_folder_removes_none_of_its_files(folder, more):
    before = contents(folder)
    for _ in range(2):
        done = run("aggregate", "votes.parquet", "--memory", "1GB", "--work", ".", "--out", "-", *more)
        assert done.exit_code == 0, done.exception
        assert contents(folder, apart=[WORK_FOLDER]) == before
    assert (folder / WORK_FOLDER / "votes.json").exists()


def test_folder_with_foreign_files_is_rejected(folder):
    (folder / WORK_FOLDER).mkdir()
    (folder / WORK_FOLDER / "items.arrow").write_text("the user's")
    before = contents(folder)
    done = run("aggregate", "votes.parquet", "--memory", "1GB", "--work", ".", "--out", "-")
    assert "holds files that majorant did not write" in str(done.exception)
    assert contents(folder) == before


def test_files_put_into_a_working_folder_later_stay(folder):
    words = ("aggregate", "votes.parquet", "--memory", "1GB", "--work", ".", "--out", "-")
    assert run(*words).exit_code == 0
    for name in ("answers.parquet", "mine_i", "bucket-mine", "steps/notes.txt"):
        (folder / WORK_FOLDER / name).parent.mkdir(exist_ok=True)
        (folder / WORK_FOLDER / name).write_text("the user's")
    assert run(*words).exit_code == 0
    for name in ("answers.parquet", "mine_i", "bucket-mine", "steps/notes.txt"):
        assert (folder / WORK_FOLDER / name).read_text() == "the user's"
    WorkFolder.open(folder / WORK_FOLDER).remove()
    assert sorted(contents(folder / WORK_FOLDER)) == sorted(
        [LIST, "answers.parquet", "mine_i", "bucket-mine", "steps/notes.txt"]
    )


def test_an_input_inside_the_working_folder_is_refused_rather_than_cleared(folder):
    words = ["--memory", "1GB", "--work", ".", "--out", "-"]
    assert run("aggregate", "votes.parquet", *words).exit_code == 0
    names = ("sorted.parquet", "votes.parquet")
    for name in names:
        shutil.copy(folder / "votes.parquet", folder / WORK_FOLDER / name)
    before = contents(folder)
    for name in names:
        done = run("aggregate", f"{WORK_FOLDER}/{name}", *words)
        assert "is in the working folder" in str(done.exception)
        assert contents(folder) == before


def test_file_created_under_an_output_name_meanwhile_is_not_replaced(tmp_path):
    work = WorkFolder.open(tmp_path / "work")
    (work.path / "votes.parquet").write_text("the user's")
    with pytest.raises(ConfigError, match=r"votes\.parquet was not written by majorant"):
        work.claim("votes.parquet")


@pytest.mark.parametrize("name", ["../thesis.txt", "{absolute}", "link/thesis.txt"])
def test_forged_file_list_cannot_delete_files_outside(tmp_path, name):
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("ten years of work")
    work = WorkFolder.open(tmp_path / "work")
    (work.path / "link").symlink_to(tmp_path)
    (work.path / LIST).write_text(WORK_HEADER + name.format(absolute=thesis) + "\n")
    work.clear()
    assert thesis.exists()


def test_own_working_folder_is_removed_after_success_and_failure(folder):
    before = contents(folder)
    for method in ("majority", "dawid-skene", "glad"):
        assert run("aggregate", "votes.parquet", "--memory", "1GB", "--method", method, "--out", "-").exit_code == 0
        assert contents(folder) == before
    (folder / "bad.csv").write_text("item,worker,label\na,u,1\na,u,0\n")
    before = contents(folder)
    for work in ([], ["--work", "."]):
        assert "a" in str(run("aggregate", "bad.csv", "--memory", "1GB", "--out", "-", *work).exception)
        assert contents(folder) == before
    assert not [path for path in folder.iterdir() if path.is_dir() and path.name not in ("steps", "spill")]


def test_folder_removed_while_waiting_is_recreated(tmp_path):
    with locked(tmp_path / "work") as first:
        first.claim("votes.parquet").write_text("ours")
        first.remove()
        assert not os.path.exists(first.path)  # noqa: PTH110
    with locked(tmp_path / "work") as second:
        assert (second.path / LIST).read_text() == WORK_HEADER
