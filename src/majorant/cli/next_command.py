"""The next command to run, ready to paste, with the files and flags of the current call."""

from __future__ import annotations

import importlib
import shlex
from typing import Any

import click
from click.core import ParameterSource


def repeat_call(ctx: click.Context, command: str, *more: str, without: tuple[str, ...] = ()) -> str:
    """A command line for another command, with those arguments of this call that it accepts.

    Parameters
    ----------
    ctx : click.Context
        The context of the running command.
    command : str
        The command to run next.
    more : str
        Further arguments.
    without : tuple of str
        Names of parameters to leave out.

    Returns
    -------
    str
        Quoted for a shell.
    """
    target = getattr(importlib.import_module(f"majorant.cli.{command}"), command)
    understood = {parameter.name: parameter for parameter in target.params}
    words, shown = ["majorant", command], ("quiet", "as_json", "verbose", "overwrite")  # not repeated
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name in understood and name in ctx.params and name not in (*without, *shown):
            words += _spelled(understood[name], ctx.params[name])
    return shlex.join([*words, *more])


def _spelled(parameter: click.Parameter, value: Any) -> list[str]:
    if isinstance(parameter, click.Argument):
        words = [str(one) for one in (value if isinstance(value, list | tuple) else [value])]
        return [f"./{word}" if word.startswith("-") and word != "-" else word for word in words]
    flag = max(parameter.opts, key=len)
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return [flag if value else max(parameter.secondary_opts or [flag], key=len)]
    values = value if isinstance(value, list | tuple) else [value]
    return [word for one in values for word in (flag, str(one))]
