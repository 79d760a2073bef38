"""`majorant plan`: how many votes, gold items and workers it takes."""

from __future__ import annotations

import click

from majorant.cli.options import Grouped, common_options, level_option, show, target_option
from majorant.cli.progress import at_work
from majorant.cli.source import Source, input_options
from majorant.defaults import MAX_VOTES


@click.command(cls=Grouped)
@input_options
@target_option
@click.option(
    "--max-votes", type=click.IntRange(min=1), default=MAX_VOTES, show_default=True, help="Votes per item, at most."
)
@click.option("--price", type=click.FloatRange(min=0), default=1.0, show_default=True, help="What one vote costs.")
@level_option
@common_options
def plan(
    source: Source,
    target: float,
    max_votes: int,
    price: float,
    level: float,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """How many votes, gold items and workers it takes to reach an accuracy."""
    votes = source.read()
    from majorant.evidence.certificate.claims import certify
    from majorant.render.summary import plan_summary
    from majorant.render.text import plan_text
    from majorant.results.plan import plan as make_plan

    with at_work("certifying and planning", quiet=quiet):
        certificate = certify(votes, level=level, rng=seed)
        planned = make_plan(
            votes, target=target, max_votes=max_votes, price_per_vote=price, level=level, certificate=certificate
        )
    summary = plan_summary(planned)
    show(summary, plan_text(summary), as_json=as_json)
