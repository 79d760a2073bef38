"""Click options from the table of options, the pages of --help, and what commands print.

The library says `repeats='first'` and the command line --repeats first.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from majorant.arguments import RANGES
from majorant.errors import Argument, ConfigError, worded
from majorant.options import GROUPS, INPUT, Option, options_of, tables
from majorant.ownership import allow_overwrite

NONE = "none"  # on the command line, means that there is no such column


@functools.cache
def flags() -> dict[str, str]:
    """The flag of each argument of the library, by its name in Python."""
    found: dict[str, str] = {}
    for table in tables().values():
        found = {one.argument or one.name: one.flag for one in options_of(table)} | found
    return found


def as_flags(message: str) -> str:
    """A library message in command-line terms.

    >>> from majorant.errors import use
    >>> as_flags(f"Say which with {use('item', 'NAME')}, or {use('repeats', 'first', 'last')}, or {use('wide', True)}.")
    'Say which with --item NAME, or --repeats first|last, or --wide.'
    >>> as_flags(f"{use('gold', '')} ignores the column. Allow more with {use('max_classes')}.")
    '--gold none ignores the column. Allow more with --max-classes.'
    """
    return worded(message, _flag)


def _flag(argument: Argument) -> str:
    name = flags().get(argument.name, argument.name)
    texts = [str(value) for value in argument.values if value is not True]
    return name if not texts else f"{name} {'|'.join(map(shlex.quote, texts)) if any(texts) else NONE}"


Command = Callable[..., Any]
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


class TableOption(click.Option):
    """An option from the table."""

    def __init__(self, param_decls: Sequence[str], *, entry: Option, **how: Any) -> None:
        super().__init__(param_decls, help=entry.help, hidden=entry.hidden, required=entry.required, **how)
        self.entry = entry


def takes(*tables: type) -> Callable[[Command], Command]:
    """Add the options of some tables to a command, in their order."""
    entries = [entry for table in tables for entry in options_of(table)]

    def add(command: Command) -> Command:
        for entry in reversed(entries):
            names = [entry.name, *([entry.short] if entry.short else []), entry.flag]
            command = click.option(*names, cls=TableOption, entry=entry, **_click_facts(entry))(command)
        return command

    return add


def _click_facts(entry: Option) -> dict[str, Any]:
    """The type of an option and how its text is parsed, for click."""
    hint, facts = entry.hint.removesuffix(" | None"), dict[str, Any]()
    if entry.default is not None and entry.default is not False and not entry.required:
        facts["default"] = entry.default
    facts["show_default"] = entry.show_default
    if entry.metavar:
        facts["metavar"] = entry.metavar
    if entry.kind == "said":
        return facts | {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _remember}
    if entry.kind == "overwrite":
        return facts | {"is_flag": True, "expose_value": False, "callback": _allow_overwrite}
    if hint == "bool":
        return facts | ({"default": entry.default} if "/" in entry.flag else {"is_flag": True})
    if entry.kind:
        facts["callback"] = (
            functools.partial(PARSED[entry.kind], entry) if entry.kind == "table" else PARSED[entry.kind]
        )
    if entry.choices:
        facts["type"] = click.Choice(entry.choices)
    elif hint == "int":
        facts["type"] = click.IntRange(min=entry.least, max=entry.most)
        if entry.bare is not None:
            facts |= {"is_flag": False, "flag_value": entry.bare}
    elif hint == "float":
        ends = RANGES.get(entry.argument or entry.name)
        facts["type"] = float if ends is None else click.FloatRange(
            ends.low, ends.high, min_open=ends.open in ("low", "both"), max_open=ends.open in ("high", "both")
        )  # fmt: skip
    return facts | ({"multiple": True} if entry.several else {})


class Grouped(click.Command):
    """A command whose help begins with examples, and whose options are grouped and on up to three pages."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, with --help-input and --help-all if the command has such options."""
        pages = {one.entry.page for one in self.params if isinstance(one, TableOption) and not one.hidden}
        more = [_help_page(flag, page) for flag, page, _ in HELP_PAGES if page in pages]
        return [*super().get_params(ctx), *more]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples, then the options of this page group by group, the command's own first."""
        page = ctx.meta.get("majorant.page", "main")
        if self.name in EXAMPLES and page != "input":
            with formatter.section("Examples"):
                for example in EXAMPLES[self.name]:
                    formatter.write(f"{'':{formatter.current_indent}}{example}\n")
        shown: dict[str, list[tuple[str, str]]] = {group: [] for group in ("Options", *GROUPS)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None and isinstance(parameter, click.Option) and _is_on(page, parameter):
                group = parameter.entry.group if isinstance(parameter, TableOption) else "General"
                default = f" [{parameter.default}]" if parameter.show_default else ""
                shown[group or "Options"].append((record[0], f"{parameter.help or ''}{default}"))
        for group, records in shown.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records, col_max=26)
        others = {flag for one in self.get_params(ctx) for flag in one.opts}
        more = [f"{flag} ({about})" for flag, other, about in HELP_PAGES if flag in others and other != page]
        if more and page == "main":
            formatter.write(f"\nMore options: {', '.join(more)}\n")


def _is_on(page: str, parameter: click.Option) -> bool:
    """Whether a page of the help shows an option."""
    if not isinstance(parameter, TableOption):
        return page != "input"
    if page == "input":
        return parameter.entry.group in INPUT
    return page == "all" or parameter.entry.page == "main"


HELP_PAGES = (("--help-input", "input", "how votes are read"), ("--help-all", "all", "everything"))


def _help_page(flag: str, page: str) -> click.Option:
    """A flag that prints a page of the help."""

    def write(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001
        if value and not ctx.resilient_parsing:
            ctx.meta["majorant.page"] = page
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    return click.Option([flag], is_flag=True, is_eager=True, expose_value=False, hidden=True, callback=write)


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
    """Print the facts with --json, the `quiet` lines with -q, and otherwise all lines."""
    from majorant.render.plain import to_json

    if prints_json():
        click.echo(to_json(facts), nl=False)
    elif text := "\n".join(quiet if is_quiet() else lines):
        click.echo(text, err=err)


def emphasised(text: str, sign: str) -> str:
    """Colour the first line by the answer, unless NO_COLOR is set; click removes colours from pipes."""
    import os

    if os.environ.get("NO_COLOR"):
        return text
    first, *rest = text.split("\n", 1)
    return "\n".join([click.style(first, fg={"keep": "green", "switch": "yellow"}[sign], bold=True), *rest])


def _remember(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[f"majorant.{param.name}"] = value


def _allow_overwrite(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001
    if value:
        allow_overwrite()


def _place_table(entry: Option, ctx: click.Context, param: click.Parameter, value: str) -> str:  # noqa: ARG001
    """The file for a table: the value, or its usual name in a folder; not both a table and JSON on standard output."""
    out = placed(value, entry.usual or entry.default)
    if out == "-" and prints_json():
        raise ConfigError("--json and the table cannot both go to standard output: name a file with --out.")
    return out


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


def vote_counts(ctx: click.Context, param: click.Parameter, value: str) -> list[int]:
    """Parse a list of whole numbers such as 3,5,7."""
    try:
        return [int(number) for number in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of whole numbers such as 3,5,7", ctx, param) from None


def vote_count(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
    """Parse a number such as 5, or counts with weights such as 3:1,5:2."""
    try:
        if value is None or ":" not in value:
            return None if value is None else int(value)
        pairs = [part.split(":") for part in value.split(",")]
        return [int(count) for count, _ in pairs], [float(weight) for _, weight in pairs]
    except ValueError:
        text = f"{value!r} is neither a whole number nor a list such as 3:1,5:2 (count:weight)"
        raise click.BadParameter(text, ctx, param) from None


PARSED: dict[str, Callable[..., Any]] = {  # how the text of an option is parsed, by its kind
    "table": _place_table,
    "numbers": number_list,
    "rows": number_rows,
    "names": name_list,
    "counts": vote_counts,
    "vote-counts": vote_count,
}
