"""The tables and the example error in docs/input.md match the code."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from majorant.cli.options import as_flags, takes
from majorant.cli.source import input_options
from majorant.errors import DataError
from majorant.options import Seed, Shown
from majorant.read import read
from majorant.read.options import Choice, find_roles

PAGE = (Path(__file__).parents[2] / "docs" / "input.md").read_text()


def test_every_name_in_the_table_is_known():
    rows = re.findall(r"^\| (item|worker|label|gold|status|seconds)\b[^|]*\| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 6
    needed = {"item": "item", "worker": "worker", "label": "label"}
    for role, names in rows:
        for name in re.split(", |; else ", names):
            columns = list((needed | {role: name}).values())
            assert find_roles(columns, Choice.of(), "v")[role] == columns.index(name)


COMMANDS = re.findall(r"^\| [^|]+ \| `majorant check ([^`]+)` \|$", PAGE, re.MULTILINE)


@click.command()
@input_options
@takes(Seed, Shown)
def probe(source, **options):
    """Read the votes as any command does."""
    click.echo(json.dumps(source.read().shape))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_in_the_table_of_formats_reads_its_file(command, monkeypatch):
    monkeypatch.chdir(Path(__file__).parent / "fixtures")
    done = CliRunner().invoke(probe, [*shlex.split(command), "-q"], catch_exceptions=False)
    shape = json.loads(done.output)
    assert shape[1] == 3
    assert shape[0] in (4, 8, 12)


def test_the_table_of_formats_is_long():
    assert len(COMMANDS) >= 30


def test_wide_example(tmp_path):
    (tmp_path / "wide.csv").write_text(re.search(r"```\n(question,.*?)```", PAGE, re.DOTALL)[1])
    votes = read(tmp_path / "wide.csv")
    assert votes.shape == (2, 3, 2)
    assert votes.n_votes == 5


def test_error_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text("item,worker,label\nq1,ana,yes\nq1,bo,no\nq2,ana,yes\nq1,bo,yes\n")
    with pytest.raises(DataError) as caught:
        read("votes.csv")
    assert " ".join(as_flags(caught.value.message).split()) in " ".join(PAGE.split())
