"""Help of the command line: grouped options, examples that parse, suggestions for typos, and colour."""

import re
import shlex
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from majorant.cli import COMMANDS, REMOVED
from majorant.cli import majorant as command_line
from majorant.cli.options import EXAMPLES, emphasised, placed
from majorant.options import GROUPS


def run(*arguments, **environment):
    import os

    command = [sys.executable, "-m", "majorant", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def command(name):
    return command_line.get_command(click.Context(command_line), name)


def test_options_are_in_groups_each_once():
    shown = CliRunner().invoke(command("check"), ["--help-all"]).output
    for group in GROUPS:
        assert f"\n{group}:\n" in shown
    for option in ("--item ", "--memory ", "--seed ", "--out ", "--repeats "):
        assert shown.count(f"  {option}") == 1, option
    places = [shown.index(f"  {option} ") for option in ("--out", "--item", "--memory", "--seed")]
    assert places == sorted(places)


def test_the_help_of_check_fits_a_screen_and_begins_with_examples():
    lines = CliRunner().invoke(command("check"), ["--help"], terminal_width=80).output.splitlines()
    assert len(lines) <= 56
    assert lines.index("Examples:") < lines.index("Options:")


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_commands_that_parse(name):
    for example in EXAMPLES[name]:
        program, called, *arguments = shlex.split(example.split("|")[0])
        assert (program, called) == ("majorant", name)
        command(name).make_context(name, arguments)
        assert example in CliRunner().invoke(command(name), ["--help"]).output


def test_misspelt_command_suggests_the_closest(tmp_path):
    for wrong, right in (("chek", "check"), ("certfy", "certify"), ("agregate", "aggregate")):
        done = CliRunner().invoke(command_line, [wrong])
        assert f"No such command '{wrong}'. Did you mean {right}?" in done.output
    (tmp_path / "votes.csv").write_text("")
    done = CliRunner().invoke(command_line, [str(tmp_path / "votes.csv")])
    assert f"majorant check {tmp_path / 'votes.csv'}" in done.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_setup_works(shell):
    assert "majorant" in run(_MAJORANT_COMPLETE=f"{shell}_source").stdout
    if shell == "bash":
        words = run(_MAJORANT_COMPLETE="bash_complete", COMP_WORDS="majorant ch", COMP_CWORD="1").stdout
        assert words.split() == ["plain,check"]


def test_the_answer_is_coloured_unless_no_color_is_set(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = emphasised("Answer   keep\nGain     0", "keep")
    assert click.unstyle(coloured) == "Answer   keep\nGain     0" != coloured
    assert coloured.endswith("\nGain     0")
    monkeypatch.setenv("NO_COLOR", "1")
    assert emphasised("Answer   keep", "keep") == "Answer   keep"


def test_out_may_be_a_folder_everywhere(tmp_path):
    assert placed(str(tmp_path), "labels.csv") == str(tmp_path / "labels.csv")
    rows = [f"q{item},w{worker},{(item + worker) % 2}" for item in range(4) for worker in range(3)]
    table = tmp_path / "votes.csv"
    table.write_text("\n".join(["item,worker,label", *rows]))
    arguments = [str(table), "--method", "mv", "--out", str(tmp_path), "-q"]
    done = CliRunner().invoke(command("aggregate"), arguments)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "labels.csv").read_text().startswith("item,label")


def test_check_rejects_a_file_as_output_folder(tmp_path):
    done = run("check", "votes.csv", "--out", str(tmp_path / "page.html"))
    assert done.returncode == 2
    assert "--out takes a folder" in done.stderr
    assert "--report FILE" in done.stderr


def test_report_takes_no_seed():
    assert "--seed" not in CliRunner().invoke(command("report"), ["--help"]).output
    assert all(COMMANDS)


@pytest.mark.parametrize(("name", "instead"), REMOVED.items())
def test_a_removed_command_says_what_to_type(name, instead):
    done = run(name, "votes.csv")
    assert done.returncode == 2
    assert f"{name} is no longer a command. Type {instead}." in done.stderr
    words = re.match(r"majorant ([a-z ]+)", instead)
    assert words is None or "Usage" in run(*words[1].split(), "--help").stdout
