"""`majorant rate`: measure the share of a class, a mean score or a win rate from a few labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.options import Grouped, prints_json, show, takes
from majorant.cli.source import Engine, Source, engine_options, input_options, print_notes
from majorant.errors import ConfigError
from majorant.options import Common, Overwrite, Rate, Seed, Shown
from majorant.ownership import refuse_unsafe

if TYPE_CHECKING:
    from majorant.read.pairs import Pairs
    from majorant.results.rates import Rates
    from majorant.votes import Votes


@click.command(cls=Grouped)
@input_options
@engine_options
@takes(Rate, Overwrite, Common, Seed, Shown)
def rate(
    source: Source,
    engine: Engine,
    wanted: str | None,
    by: str | None,
    at_n: bool,
    bar: float | None,
    digest: str | None,
    **how: Any,
) -> None:
    """Measure a pass rate, win rate or mean score from a few labels, and see whether A beats B.

    \b
    Exit codes:
      0    done
      1    --at-least is not reached
      2    bad arguments or input
      130  interrupted
    """
    from majorant.output import is_job_summary, write_summary
    from majorant.render.rates import rate_facts, rate_markdown, rate_text
    from majorant.results.rates import measure_rate

    if digest == "-" and prints_json():
        raise ConfigError("--json and --summary - cannot both print: name a file for the summary.")
    if digest is not None and digest != "-" and not is_job_summary(digest):
        refuse_unsafe([Path(digest)])
    gold = source.options.gold_file
    settings = {"label": wanted, "limits": how["limits"], "level": how["level"], "at_n": at_n, "rng": how["seed"]}
    with _opened(source, engine, by) as (votes, pairs):
        found = measure_rate(votes, gold, how=source.options, pairs=pairs, **settings)
    if bar is not None and len(found.candidates) > 1:
        raise ConfigError(
            f"--at-least needs a single rate, and there are {len(found.candidates)} pairs. Keep one pair."
        )
    if bar is not None and not found.limits[0] <= bar <= found.limits[1]:
        raise ConfigError(f"--at-least {bar:g}: the rate lies between {found.limits[0]:g} and {found.limits[1]:g}.")
    command = _next_command(found, gold)
    shown: dict[str, Any] = {"bar": bar, "command": command}
    if digest == "-":
        click.echo(rate_markdown(found, **shown), nl=False)
    else:
        if digest is not None:
            write_summary(rate_markdown(found, **shown), digest)
        lines = rate_text(found, **shown).split("\n")
        show(rate_facts(found, **shown), lines, quiet=lines[:1])
    if bar is not None and not found.at_least(bar):
        raise SystemExit(1)


for _parameter in rate.params:  # here --label names the class, so the label column gets a longer flag
    if _parameter.name == "label":
        _parameter.opts = ["--label-column"]


@contextmanager
def _opened(source: Source, engine: Engine, by: str | None) -> Iterator[tuple[Votes, Pairs | None]]:
    """The votes, and for pairwise judgements the two sides; in memory, gold labels are read later."""
    from majorant.read.pairs import VERSUS, read_pairs
    from majorant.votes import NoteKind

    without_gold = replace(source, options=replace(source.options, gold_file=None))
    if engine.flag:
        with engine.open(without_gold, by=by) as votes:
            if any(VERSUS in str(item) for item in votes.items[:1]):
                raise ConfigError(f"pairwise judgements must be read into memory: leave out {engine.flag}.")
            yield votes, None
        return
    pairs = None if source.is_dataset else read_pairs(source.files, without_gold.options)
    votes = without_gold.read(by, with_notes=False) if pairs is None else pairs.votes
    notes = tuple(
        note for note in votes.account.notes if note.kind is not NoteKind.NUMBER_LABELS
    )  # rates accept scores
    print_notes(replace(votes.account, notes=notes))
    yield votes, pairs


def _next_command(found: Rates, gold: Any) -> str:
    """The command that draws items to label: the first ones, or more of a sample that majorant drew."""
    from majorant.cli.next_command import repeat_call
    from majorant.read.tasks import design_path
    from majorant.render.rates import next_line
    from majorant.results.rate_inputs import Order

    ctx = click.get_current_context()
    more = 60 if len(found.candidates) > 1 else next((labels for labels in found.overall.more.values() if labels), 0)
    if not found.labels and gold is None:
        return repeat_call(ctx, "ask", "--rate", "--n", "60", without=("level", "seed"))
    if not found.labels or not next_line(found) or found.order is not Order.DRAWN or not design_path(gold).is_file():
        return ""
    where = ("--more", str(more), "--design", str(design_path(gold)))
    return repeat_call(ctx, "ask", "--rate", *where, without=("level", "seed", "gold_file"))
