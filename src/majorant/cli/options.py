"""Options that several commands share, and the translation of library messages into command-line terms.

The library says `repeats='first'` and the command line --repeats first.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from typing import Any

import click

from majorant.defaults import LEVEL, TARGET, TOLERANCE
from majorant.errors import ConfigError, respell
from majorant.ownership import allow_overwrite

FLAGS = {
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (  # noqa: SIM905
            "item worker label gold gold_file status seconds by columns wide repeats empty format delimiter encoding "
            "workers sheet several allow_network order threshold codes fold_case max_classes threads overwrite memory "
            "trust_column trust ratings work resume design master method level target compare max_upload label_column"
        ).split()
    },
    "rng": "--seed",
    "limits": "--range",
}
NONE = "none"  # on the command line, means that there is no such column


def as_flags(text: str) -> str:
    """Rewrite a library message in command-line terms.

    >>> as_flags("Say which with item='NAME', or choose with repeats='first'|'last'. One column per worker: wide=True.")
    'Say which with --item NAME, or choose with --repeats first|last. One column per worker: --wide.'
    >>> as_flags("Leave one out: gold='' ignores the column. Allow more with max_classes=.")
    'Leave one out: --gold none ignores the column. Allow more with --max-classes.'
    >>> as_flags("votes.csv has no column 'item=1' to take for the item.")
    "votes.csv has no column 'item=1' to take for the item."
    """
    return respell(text, FLAGS, _flag)


def _flag(name: str, values: list[str]) -> str:
    if not values:
        return FLAGS[name]
    return f"{FLAGS[name]} {'|'.join(map(shlex.quote, values)) if any(values) else NONE}"


Command = Callable[..., Any]
GROUPS = {  # groups of --help, in this order; other options are the command's own and come first
    "Output": "out report digest export overwrite spreadsheet masked",
    "Columns": "item worker label gold gold_file design by text workers wide columns status seconds",
    "Judges": "trust ratings no_ratings trust_column",
    "Labels": "empty fold_case several threshold order codes repeats",
    "File format": "format delimiter encoding sheet allow_network max_classes",
    "Large files": "memory work resume engine master threads",
    "General": "level claim seed as_json verbose quiet log_progress help",
}
EXAMPLES = {
    "check": (
        "majorant check votes.csv",
        "majorant check votes.csv --item text --worker annotator --out results",
        "majorant check judges.jsonl --gold human.csv",
        "majorant check judges.jsonl --fail-on switch -q",
    ),
    "certify": ("majorant certify votes.csv", "majorant certify votes.csv --gold truth --claim gold"),
    "aggregate": (
        "majorant aggregate votes.csv --out labels.csv",
        "majorant aggregate votes.csv --method dawid-skene --out - | head",
        "majorant aggregate june.csv --method dawid-skene --save-rule crowd.json",
        "majorant aggregate july.csv --method crowd.json",
    ),
    "workers": (
        "majorant workers votes.csv",
        "majorant workers votes.csv --out workers.parquet",
        "majorant workers judges.jsonl --gold human.csv --bar .9",
    ),
    "agreement": (
        "majorant agreement votes.csv",
        "majorant agreement ratings.csv --wide --json",
        "majorant agreement ratings.csv --order low,medium,high --scores",
    ),
    "ask": ("majorant ask votes.csv", "majorant ask judges.jsonl --n 30 --out to_label.csv"),
    "label": ("majorant label to_label.csv",),
    "rate": (
        "majorant rate judges.csv --gold-file labels.csv --label pass",
        "majorant rate judges.csv --item question,system --by system --gold-file labels.csv --label pass",
        "majorant rate arena.csv --gold-file human.csv",
        "majorant rate judges.csv --gold-file labels.csv --label pass --at-least .9",
    ),
    "serve": ("majorant serve", "majorant serve votes.csv --port 8800 --no-browser"),
    "report": ("majorant report results/result.json --out page.html",),
    "theory": (
        "majorant theory --prior .6,.4 --confusion .8,.2/.3,.7",
        "majorant theory simulate --items 500 --skills .9,.8,.6 --out votes.csv",
    ),
}


class Grouped(click.Command):
    """A command whose help begins with examples, and whose options are grouped."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples, then the options group by group, the command's own first."""
        if self.name in EXAMPLES:
            with formatter.section("Examples"):
                for example in EXAMPLES[self.name]:
                    formatter.write(f"{'':{formatter.current_indent}}{example}\n")
        reads_votes = any(parameter.name == "item" for parameter in self.params)  # else --workers names no column
        groups = {group: names for group, names in GROUPS.items() if reads_votes or group != "Columns"}
        home = {name: group for group, names in groups.items() for name in names.split()}
        shown: dict[str, list[tuple[str, str]]] = {group: [] for group in ("Options", *GROUPS)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None and isinstance(parameter, click.Option):
                group = "General" if "--help" in parameter.opts else home.get(parameter.name or "", "Options")
                default = f" [{parameter.default}]" if parameter.show_default else ""
                shown[group].append((record[0], f"{parameter.help or ''}{default}"))
        for group, records in shown.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records, col_max=26)


def placed(out: str, usual: str) -> str:
    """The file for a table: its usual name if --out is a folder, else --out itself.

    >>> placed("labels.parquet", "labels.csv"), placed("results/", "labels.csv"), placed("-", "labels.csv")
    ('labels.parquet', 'results/labels.csv', '-')
    """
    from pathlib import Path

    if out.endswith(("/", "\\")) or (out != "-" and Path(out).is_dir()):
        return str(Path(out) / usual)
    return out


def is_quiet() -> bool:
    """Whether the running command was called with -q."""
    return _was_given("quiet")


def prints_json() -> bool:
    """Whether the running command was called with --json."""
    return _was_given("as_json")


def _was_given(name: str) -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(f"majorant.{name}"))


def show(facts: dict[str, Any], lines: Iterable[str], *, quiet: Iterable[str] = (), err: bool = False) -> None:
    """Print the facts with --json, the `quiet` lines with -q, and otherwise all lines; options become flags."""
    from majorant.render.plain import to_json

    if prints_json():
        click.echo(to_json(facts), nl=False)
    elif text := "\n".join(quiet if is_quiet() else lines):
        click.echo(as_flags(text), err=err)


def emphasised(text: str, sign: str) -> str:
    """Colour the first line by the answer, unless NO_COLOR is set; click removes colours from pipes."""
    import os

    if os.environ.get("NO_COLOR"):
        return text
    first, *rest = text.split("\n", 1)
    return "\n".join([click.style(first, fg={"keep": "green", "switch": "yellow"}[sign], bold=True), *rest])


def spreadsheet_option(command: Command) -> Command:
    """Add --spreadsheet, for commands that write tables."""
    text = "Escape cells that a spreadsheet would run as formulas."
    return click.option("--spreadsheet", is_flag=True, help=text)(command)


def common_options(command: Command) -> Command:
    """Add --json, --seed and -q, for commands that use random numbers."""
    seed = click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Random seed."
    )
    return shown_options(seed(command))


def shown_options(command: Command) -> Command:
    """Add --json and -q, which `show` and the progress displays look up."""
    how: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _remember}
    quiet = click.option("-q", "--quiet", help="Print only the answer.", **how)
    return click.option("--json", "as_json", help="Print the full result as JSON.", **how)(quiet(command))


def _remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[f"majorant.{param.name}"] = value


def share_option(flag: str, default: float, help: str, **ends: Any) -> Callable[[Command], Command]:
    """An option whose value is a share, between 0 and 1 unless `ends` say otherwise."""
    kind = click.FloatRange(**{"min": 0, "max": 1, **ends})
    return click.option(flag, type=kind, default=default, show_default=True, metavar="SHARE", help=help)


def choice_option(
    flag: str, *values: str, help: str | None = None, metavar: str | None = None
) -> Callable[[Command], Command]:
    """An option whose value is one of several words, by default the first."""
    kind = click.Choice(values)
    return click.option(flag, type=kind, default=values[0], show_default=True, metavar=metavar, help=help)


level_option = share_option("--level", LEVEL, "Confidence level.", min=0.5, min_open=True, max_open=True)
tolerance_option = share_option(
    "--tolerance",
    TOLERANCE,
    "Difference in accuracy that is too small to matter.",
    max_open=True,
)
target_option = share_option("--target", TARGET, "Accuracy to plan for.", min_open=True)
claim_option = click.option(
    "--claim",
    type=click.Choice(["anonymous", "named", "gold"]),
    metavar="CLAIM",
    help="Claim for the exit code: anonymous, named or gold.",
)


overwrite_option = click.option(
    "--overwrite", is_flag=True, expose_value=False, help="Replace files that majorant did not write.",
    callback=lambda _ctx, _param, value: allow_overwrite() if value else None,
)  # fmt: skip


def table_option(default: str, usual: str | None = None) -> Callable[[Command], Command]:
    """Add --out for a table: a file, a folder (for the file `usual`), or - for standard output."""

    def place(ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
        out = placed(value, usual or default)
        if out == "-" and prints_json():
            raise ConfigError("--json and the table cannot both go to standard output: name a file with --out.")
        return out

    text = "CSV or Parquet file, or a folder; - prints CSV."
    out = click.option("--out", default=default, show_default=True, callback=place, help=text)
    return lambda command: out(overwrite_option(command))


def number_list(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    """Parse a list of numbers such as .5,.5."""
    try:
        return None if value is None else [float(number) for number in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as .5,.5", ctx, param) from None


def number_rows(ctx: click.Context, param: click.Parameter, value: str | None) -> list[list[float]] | None:
    """Parse rows of numbers such as .8,.2/.3,.7 or, if quoted, .8,.2;.3,.7."""
    try:
        rows = [] if value is None else value.replace(";", "/").split("/")
        return None if value is None else [[float(number) for number in row.split(",")] for row in rows]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of rows such as .8,.2/.3,.7", ctx, param) from None


def name_list(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:  # noqa: ARG001
    """Parse a list of names such as no,yes."""
    return None if value is None else value.split(",")
