"""`majorant report`, `check --report` and `--mask`: identical pages, clear errors, and no masked names."""

import json
import re

import pytest
from click.testing import CliRunner

from majorant.cli import majorant
from majorant.errors import DataError
from majorant.output import votes_table, write_table
from majorant.read import read
from majorant.read.build import mask
from majorant.render.files import read_summary, render_saved
from majorant.render.html import render
from majorant.render.notes import note_text
from majorant.render.plain import to_json
from render.samples import crowd, summary

pytestmark = pytest.mark.xdist_group("samples of pages")  # each is checked once


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What check leaves behind."""
    place = tmp_path_factory.mktemp("saved")
    table = votes_table(crowd())
    names = {
        "item": [f"photo-{i}.jpg" for i in table["item"].to_pylist()],
        "worker": [f"ann-{w}" for w in table["worker"].to_pylist()],
    }
    write_table(place / "votes.csv", {**table, **names})
    page = str(place / "page.html")
    done = CliRunner().invoke(
        majorant, ["check", str(place / "votes.csv"), "--out", str(place / "out"), "--report", page, "--mask"]
    )
    assert done.exit_code == 0, done.output
    assert f"Wrote    page.html in {place}" in done.output
    return place


@pytest.mark.long
def test_out_and_report_write_the_same_page(folder):
    page = (folder / "page.html").read_bytes()
    assert page == (folder / "out" / "report.html").read_bytes()
    done = CliRunner().invoke(
        majorant, ["report", str(folder / "out" / "result.json"), "--out", str(folder / "again.html")]
    )
    assert (done.exit_code, done.output) == (0, f"Wrote    {folder / 'again.html'}\n")
    assert (folder / "again.html").read_bytes() == page


def test_a_page_can_be_made_from_a_page(folder):
    assert read_summary(folder / "page.html")["votes"]["votes"] == 2000


def test_masked_names_never_appear(folder):
    for path in [*(folder / "out").iterdir(), folder / "page.html"]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"photo-\d|ann-w", text), path
    rows = (folder / "out" / "labels.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows[1:4]] == ["1", "2", "3"]


@pytest.mark.long
def test_masked_names_never_appear_with_a_memory_limit(folder):
    out = folder / "masked"
    arguments = ["check", str(folder / "votes.csv"), "--mask", "--memory", "1GB", "--out", str(out)]
    done = CliRunner().invoke(majorant, arguments, catch_exceptions=False)
    assert not re.search(r"photo-\d|ann-w", done.output)
    for name in ("labels.csv", "workers.csv", "review.csv"):
        assert (out / name).read_bytes() == (folder / "out" / name).read_bytes()
    assert not re.search(r"photo-\d|ann-w", (out / "report.html").read_text(encoding="utf-8"))


def test_notes_that_name_items_are_cut(tmp_path):
    (tmp_path / "votes.csv").write_text("item,worker,label\nsecret-a,ann,yes\nsecret-b,ann,\n")
    votes = read(tmp_path / "votes.csv")
    assert any("secret-b" in note_text(note) for note in votes.account.notes)
    assert not any("secret" in note_text(note) for note in mask(votes).account.notes)


def damaged(**changes):
    return {**json.loads(to_json(summary("crowd"))), **changes}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[1, 2]", "not a result of majorant check"),
        ('{"name": "left-pad", "version": "1.0"}', "not a result of majorant check"),
        ('{"majorant": "0.0.9", "schema": 1}', "written by majorant 0.0.9 with schema 1"),
        ('{"majorant": "9.9", "schema": "next"}', "this version reads schema 5"),
        ("<!doctype html><p>hello", "holds no majorant result"),
        ('{"majorant": "1", "schema": 5}', "damaged or was edited"),
        ({"map": [{"title": "x"}]}, "damaged or was edited"),
        ({"workers": 7}, "damaged or was edited"),
        ({"level": "high"}, "damaged or was edited"),
        ({"seed": float("nan")}, "damaged or was edited"),
    ],
)
def test_unknown_and_damaged_results_are_rejected(tmp_path, content, message):
    path = tmp_path / "result.json"
    path.write_text(content if isinstance(content, str) else json.dumps(damaged(**content)))
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        render_saved(read_summary(path), path)
    assert str(path) in str(caught.value)


def test_unreadable_input_is_reported(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_summary(tmp_path / "none.json")
    with pytest.raises(DataError, match="cannot be read"):
        read_summary(tmp_path)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff")
    with pytest.raises(DataError, match="UTF-8"):
        read_summary(tmp_path / "picture.png")


def test_a_number_that_is_too_large_to_draw_is_damage(tmp_path):
    path = tmp_path / "result.json"
    path.write_text(re.sub(r'"x": \[', f'"x": [1{"0" * 400}, ', json.dumps(damaged())))
    with pytest.raises(DataError, match="damaged or was edited"):
        render_saved(read_summary(path), path)


def test_failed_report_leaves_no_file(tmp_path):
    path = tmp_path / "result.json"
    path.write_text('{"majorant": "1", "schema": 5}')
    done = CliRunner().invoke(majorant, ["report", str(path), "--out", str(tmp_path / "page.html")])
    assert done.exit_code != 0
    assert [one.name for one in tmp_path.iterdir()] == ["result.json"]


def test_edited_result_cannot_inject_markup():
    foreign = damaged()
    foreign["answer"]["evidence"] = foreign["certificate"]["anonymous"]["verdict"] = '"><script>alert(1)</script>'
    assert render(foreign).count("<script") == 2


def test_files_of_another_run_beside_a_result_are_named(folder, tmp_path):
    for path in (folder / "out").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    command = ["report", str(tmp_path / "result.json"), "--out", str(tmp_path / "again.html")]
    assert CliRunner().invoke(majorant, command).stderr == ""
    (tmp_path / "review.csv").unlink()  # moved away: nothing to be mistaken for
    assert CliRunner().invoke(majorant, command).stderr == ""
    for name in ("labels.csv", "workers.csv"):
        (tmp_path / name).write_text("of another run")
    done = CliRunner().invoke(majorant, command)
    assert done.exit_code == 0
    assert "labels.csv and workers.csv beside" in done.stderr
    assert "are not the version written with it" in done.stderr


def test_result_lists_verifiable_digests_of_its_files(folder):
    from hashlib import sha256

    listed = json.loads((folder / "out" / "result.json").read_text())["files"]
    assert list(listed) == ["labels.csv", "workers.csv", "review.csv", "report.html", "result.json"]
    del listed["result.json"]  # of its content without this line
    for name, digest in listed.items():
        assert digest == "sha256:" + sha256((folder / "out" / name).read_bytes()).hexdigest()
