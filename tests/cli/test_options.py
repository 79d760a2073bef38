"""Contracts of the table of options: every flag is in it, and whatever repeats it agrees."""

import inspect
from dataclasses import fields

import click
import pytest
from click.testing import CliRunner

import majorant as mj
from majorant.cli import COMMANDS
from majorant.cli import majorant as command_line
from majorant.cli.options import TableOption, flags
from majorant.options import GROUPS, Read, options_of, tables
from majorant.read.options import Reading, ReadOptions

ADD_HERE = "declare it in the table, src/majorant/options.py (a field `name: type = option(default, help, ...)`), and "
ADD_HERE += "give the command @takes(Table) from cli/options.py; click.option is not used for commands"
MOST_SHOWN = 20  # options on the first page of a command's help, with --help


def every_command(group=command_line):
    """Each command by its name, subcommands included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {sub}", one) for sub, one in every_command(command))


def test_every_flag_is_declared_in_the_table():
    for name, command in every_command():
        for one in command.params:
            if isinstance(one, click.Option):
                assert isinstance(one, TableOption), f"majorant {name} {one.opts[0]}: {ADD_HERE}."


def test_no_command_has_a_flag_twice():
    for name, command in every_command():
        seen = [flag for one in command.params for flag in (*one.opts, *one.secondary_opts)]
        assert len(seen) == len(set(seen)), f"majorant {name}: {sorted(f for f in seen if seen.count(f) > 1)}"


def test_every_option_has_help_and_a_known_group():
    for name, table in tables().items():
        for one in options_of(table):
            assert one.help.endswith((".", "]", "yes")) or one.metavar or one.hidden, (name, one.name)
            assert one.group in ("", *GROUPS), f"{name}.{one.name}: {one.group!r} is not one of {', '.join(GROUPS)}"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_first_page_of_help_is_short(name):
    context = click.Context(command_line)
    lines = CliRunner().invoke(command_line.get_command(context, name), ["--help"]).output.splitlines()
    shown = [line for line in lines if line.startswith("  -")]
    assert len(shown) <= MOST_SHOWN, (
        f"majorant {name} --help shows {len(shown)} options: give the ones that few people need page='all' in the table"
    )


def test_reading_options_are_on_a_page_of_their_own_and_nothing_is_hidden():
    context = click.Context(command_line)
    check = command_line.get_command(context, "check")
    first, reading, everything = (
        CliRunner().invoke(check, [flag]).output for flag in ("--help", "--help-input", "--help-all")
    )
    for one in options_of(Read):
        assert f"  {one.flag} " in f"{reading} "
        assert f"  {one.flag} " in f"{everything} "
    assert "--delimiter" not in first
    assert "--fail-on WHAT" not in reading
    assert "More options: --help-input (how votes are read), --help-all (everything)" in first
    for one in check.params:
        if isinstance(one, TableOption):
            assert one.opts[-1] in everything, one.opts


def test_the_reading_options_of_python_are_those_of_the_table():
    """The TypedDict repeats names and types, because type checkers do not read tables."""
    listed = {one.name: one.type for one in fields(ReadOptions) if one.name in Reading.__annotations__}
    assert {name: hint.__forward_arg__ for name, hint in Reading.__annotations__.items()} == listed
    missing = listed.keys() - {one.name for table in tables().values() for one in options_of(table)} - {"progress"}
    assert not missing, f"{sorted(missing)}: {ADD_HERE}"


def test_defaults_in_python_are_those_of_the_table():
    context, compared = click.Context(command_line), 0
    for name in COMMANDS:
        function = getattr(mj, name, None)
        if not inspect.isfunction(function):
            continue
        parameters = inspect.signature(function).parameters
        for one in command_line.get_command(context, name).params:
            if not isinstance(one, TableOption) or one.entry.group in ("Output", "Columns"):
                continue
            python = parameters.get(one.entry.argument or one.name)
            if python is not None and python.default is not None and one.entry.default is not None:
                assert python.default == one.entry.default, (name, one.name)
                compared += 1
    assert compared >= 10


def test_messages_have_a_flag_for_every_reading_option():
    assert {one.flag for one in options_of(Read)} <= set(flags().values())
