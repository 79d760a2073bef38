"""The command line: one file per command, imported only when it runs, so that `majorant --help` is fast.

May import everything; nothing imports it but `__main__`.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Any, NoReturn

import click

from majorant.errors import MajorantError
from majorant.ownership import command_scope
from majorant.version import __version__

for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # must be set before NumPy is imported
    os.environ.setdefault(_variable, "1")  # our matrices are small: more threads only wait for each other

# The first sentence of each command's help, kept here so that listing the commands imports none of them.
COMMANDS = {
    "check": "Decide whether to keep majority vote or switch to another rule, and get the best labels.",
    "ask": "Choose which items an expert should label, so that a few labels settle which rule is better.",
    "label": "Label items in the terminal with single keys, until the question is settled.",
    "rate": "Measure a pass rate, win rate or mean score from a few labels, and see whether A beats B.",
    "rank": "Rank systems: which differences are real, which cannot be told apart, and what would separate them.",
    "accept": "Choose the items whose labels need no expert, so that enough of them are right.",
    "workers": "Rate each worker or judge, worst first; with gold labels, see which judges are good enough to gate on.",
    "agreement": "Measure how well the workers agree, beyond chance.",
    "aggregate": "Write one label per item.",
    "certify": "Certify whether majority vote is as good as the best possible rule.",
    "serve": "Open a local web page to check a file and label a few items.",
    "report": "Rebuild the report of a saved result.",
    "data": "List and download public data sets, or check simulated votes and compare the answers with the truth.",
    "theory": "Show how far majority vote is from optimal for given workers or votes, or simulate votes.",
}
REMOVED = {  # what to type instead
    "judges": "majorant workers, with the same --bar and --position",
    "scores": "majorant agreement --scores",
    "plan": "majorant check -v (in Python: mj.plan)",
    "demo": "majorant data demo",
    "simulate": "majorant theory simulate",
    "reproduce": "make paper, in a checkout of majorant",
}


class _EndedError(BaseException):
    """Raised on a terminating signal, so that temporary files are removed before the process ends."""


class _ReaderGoneError(Exception):
    """Raised when the reader of the output, such as `head`, has closed the pipe."""


def _meant(word: str) -> str:
    """Suggest a command for an unknown word."""
    from difflib import get_close_matches

    if os.path.exists(word):  # noqa: PTH110
        return f"To check that file: majorant check {word}"
    close = get_close_matches(word, COMMANDS, n=1)
    return f"Did you mean {close[0]}?" if close else ""


class _LateGroup(click.Group):
    """A group whose commands are imported only when they run."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with command_scope():
                return super().invoke(ctx)
        except BrokenPipeError:  # click itself would exit with 1
            raise _ReaderGoneError from None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in REMOVED:
            raise click.UsageError(f"{cmd_name} is no longer a command. Type {REMOVED[cmd_name]}.")
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"majorant.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            meant = "" if args[0] in REMOVED else _meant(args[0])
            raise click.UsageError(f"{error.message} {meant}".rstrip(), ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LateGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="majorant")
def majorant() -> None:
    """Several people or LLM judges labelled the same items. Is majority vote good enough?

    \b
    Start with:
      majorant check votes.csv    (a table with the columns item, worker, label)
    """


def main() -> NoReturn:
    """Run the command line."""
    run(majorant, "majorant")


def run(command: click.Command, name: str) -> NoReturn:
    """Run a command; every error becomes one message and an exit code, never a traceback."""
    _prepare_streams()
    _end_in_order()
    try:
        code = command.main(prog_name=name, standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except MajorantError as error:
        from majorant.cli.options import as_flags

        _stop(as_flags(error.message))
    except _EndedError as ended:
        click.echo("Terminated by a signal; no partial files were left behind.", err=True)
        sys.exit(128 + ended.args[0])  # as shells report it
    except click.Abort:
        click.echo("Interrupted; no partial files were left behind.", err=True)
        sys.exit(130)  # 128 + SIGINT
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (BrokenPipeError, _ReaderGoneError):  # the reader, such as `head`, has seen enough
        _drop_output()
        sys.exit(0)
    except MemoryError:
        _stop("Not enough memory for these votes. Close other programs, or work on a sample of the items.")
    except OSError as error:
        _drop_output()
        _stop(f"{error.filename or 'standard output'}: {error.strerror or error}.")
    except Exception as error:
        if os.environ.get("MAJORANT_DEBUG"):
            raise
        _stop(
            f"Unexpected {type(error).__name__}: {error}\nThis is a bug in majorant; set MAJORANT_DEBUG=1 to see where."
        )


def _end_in_order() -> None:
    """Clean up on SIGTERM and SIGHUP (a closed terminal) as on Ctrl-C."""
    import signal

    def end(number: int, frame: object) -> NoReturn:  # noqa: ARG001
        signal.signal(number, signal.SIG_IGN)  # ignore repeated signals
        raise _EndedError(number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # under nohup, SIGHUP stays ignored
            with contextlib.suppress(ValueError):  # not in the main thread
                signal.signal(number, end)


def _prepare_streams() -> None:
    """Replace closed streams with /dev/null, so that no file gets their number; escape what cannot be encoded."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 (a number, for good)
        elif mode == "w" and hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Discard buffered output, which Python would otherwise fail to write when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(message: str) -> NoReturn:
    shown = "".join(sign if sign.isprintable() or sign == "\n" else repr(sign)[1:-1] for sign in message)
    click.echo(f"majorant: {shown}", err=True)
    sys.exit(2)
