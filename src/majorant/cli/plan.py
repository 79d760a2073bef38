"""`majorant plan`: what more votes would gain, and what stopping early would save."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import click

from majorant.cli.options import Grouped, level_option, show, shown_options, target_option
from majorant.cli.progress import at_work
from majorant.cli.source import Source, input_options
from majorant.defaults import MAX_VOTES
from majorant.errors import ConfigError


@click.command(cls=Grouped)
@input_options
@target_option
@click.option(
    "--max-votes", type=click.IntRange(min=1), default=MAX_VOTES, show_default=True, help="Most votes per item."
)
@click.option(
    "--price",
    multiple=True,
    metavar="PRICE|JUDGE=PRICE",
    help="Price of a vote, or of a vote by one judge; repeatable.  [default: 1]",
)
@level_option
@shown_options
def plan(source: Source, target: float, max_votes: int, price: tuple[str, ...], level: float) -> None:
    """Forecast what more votes would gain, what stopping early would save, and which judges are enough."""
    each, prices = _prices(price)
    votes = source.read()
    from majorant.render.plan import plan_facts, plan_line, plan_text
    from majorant.results.plan import plan as make_plan

    with at_work("planning"):
        planned = make_plan(
            votes, target=target, max_votes=max_votes, price_per_vote=each, prices=prices or None, level=level
        )
    show(plan_facts(planned), [plan_text(planned)], quiet=[plan_line(planned)])


def _prices(given: tuple[str, ...]) -> tuple[float, Mapping[Hashable, float]]:
    """The default price of a vote, and the prices of individual judges."""
    each, prices = 1.0, dict[Hashable, float]()
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            raise ConfigError(f"--price {text!r}: give a number, or --price JUDGE=NUMBER for one judge.") from None
        if name:
            prices[name] = number
        else:
            each = number
    return each, prices
