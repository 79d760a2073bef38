"""The recipes of CONTRIBUTING.md for input formats are complete: toy formats work everywhere."""

import json
import subprocess
import sys

import pytest

import majorant as mj
from majorant.read.formats import FORMATS
from majorant.read.formats.base import Format, TableFormat, Vote

VOTES = [(f"q{i}", w, "yn"[(i + j) % 3 > 0]) for i in range(12) for j, w in enumerate(("ana", "bo", "cy"))]
TOY_TYPE = '''
import sys, types
from majorant.filetypes import FILE_TYPES, FileType

def open_toy(file, how, stack):
    """A reader in a module of its own: lines of item/worker/label below a title."""
    from majorant.read.opening import open_frame

    with file.open() as stream:
        lines = stream.read().decode(file.encoding).splitlines()[1:]
    columns = zip(*(line.split("/") for line in lines), strict=True)
    return open_frame(dict(zip(("item", "worker", "label"), map(list, columns), strict=True)), how.choice)

sys.modules["majorant.read.toy"] = types.ModuleType("majorant.read.toy")
sys.modules["majorant.read.toy"].open_toy = open_toy
FILE_TYPES.append(  # the line in the table
    FileType(name="toy", description="a toy", reader="toy:open_toy", endings=(".toy",), words=("toy",),
             text="toy votes")
)
from majorant.cli import main
main()
'''


def test_file_type_needs_one_reader_and_one_entry(tmp_path):
    content = "toy votes\n" + "".join(f"{item}/{worker}/{label}\n" for item, worker, label in VOTES)
    (tmp_path / "folder").mkdir()
    for name in ("votes.toy", "unnamed", "wrong.csv", "folder/part.toy"):
        (tmp_path / name).write_text(content)

    def run(*arguments):
        command = [sys.executable, "-c", TOY_TYPE, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    read = "36 rows"
    assert read in run("agreement", "votes.toy").stdout
    assert read in run("agreement", "unnamed").stdout  # by its content
    assert read in run("agreement", "folder").stdout  # by its ending
    assert read in run("agreement", "wrong.csv", "--format", "toy").stdout
    assert "it looks like a toy" in run("agreement", "wrong.csv").stderr
    assert "csv, tsv, json, jsonl, parquet, toy" in " ".join(run("check", "--help-all").stdout.split())


@pytest.fixture
def add_format():
    """Add a format to the table, for one test."""
    before = list(FORMATS)
    yield FORMATS.append
    FORMATS[:] = before


def test_the_json_of_a_tool_is_a_module_and_a_line(tmp_path, add_format):
    def votes(record, _):
        for item, said in record["said"].items():
            yield Vote(item=item, worker=record["toy"], answers={"mood": said})

    add_format(Format(
        name="toy export", recognise=lambda keys, _: {"toy", "said"} <= keys, votes=votes,
        nouns=("person", "thing"), judges=True,
    ))  # fmt: skip
    records = [{"toy": who, "said": {i: x for i, w, x in VOTES if w == who}} for who in ("ana", "bo", "cy")]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(records))
    read = mj.read(path)
    assert read.shape == (12, 3, 2)
    assert read.account.format == "toy export, 3 persons, 12 things"
    assert read.account.judges


def test_the_table_of_a_tool_is_a_module_and_a_line(tmp_path, add_format):
    add_format(TableFormat(
        name="toy table", columns=frozenset(["toy_says"]), judges=True,
        roles=lambda names: {"item": "thing", "worker": "toy", "label": "toy_says"},
    ))  # fmt: skip
    path = tmp_path / "table.csv"
    path.write_text("thing,toy,toy_says\n" + "".join(",".join(vote) + "\n" for vote in VOTES))
    read = mj.read(path)
    assert read.shape == (12, 3, 2)
    assert read.account.format.startswith("toy table (CSV")
    assert read.account.judges
