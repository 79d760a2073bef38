"""`majorant demo`: everything, on two simulated tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from majorant.cli.options import common_options, overwrite_option

if TYPE_CHECKING:
    from majorant.votes import Votes


@click.command()
@click.option("--out", metavar="DIR", default="demo-out", show_default=True, help="Output folder.")
@overwrite_option
@common_options
def demo(out: str, seed: int, as_json: bool, quiet: bool) -> None:
    """Run a check on a simulated crowd and a simulated panel of judges."""
    from majorant.atomic import make_folder
    from majorant.output import votes_table, write_table
    from majorant.pipeline import check
    from majorant.read import read
    from majorant.render.files import write_result
    from majorant.render.plain import to_json
    from majorant.render.summary import result_summary
    from majorant.render.text import answer_text

    summaries = {}
    for name, votes in _tables(seed).items():
        folder = make_folder(Path(out) / name)
        path = write_table(folder / "votes.csv", votes_table(votes))
        result = check(read(path), rng=seed)
        summaries[name] = result_summary(result)
        written = write_result(result, summaries[name], folder)
        if not (as_json or quiet):
            click.echo(f"== {STORY[name]}\n{answer_text(result, written=written)}\n")
    if as_json:
        click.echo(to_json(summaries), nl=False)


STORY = {
    "crowd": "A crowd: 100 workers, 5 votes on each of 2,000 items, a fifth of the items with a known label",
    "panel": "A panel: 5 judges of unequal skill, each labels all 1,000 items, three classes",
}


def _tables(seed: int) -> dict[str, Votes]:
    """The two tables of the demonstration."""
    from majorant.simulate import one_coin_crew, simulate

    crowd = simulate(
        [0.7, 0.3],
        [[0.85, 0.15], [0.25, 0.75]],
        n_items=2_000,
        n_votes=5,
        n_workers=100,
        labels=("ham", "spam"),
        gold=0.2,
        rng=seed,
    )
    judges = one_coin_crew([0.92, 0.81, 0.78, 0.66, 0.58], n_classes=3)
    panel = simulate([0.5, 0.3, 0.2], judges, n_items=1_000, n_votes=5, labels=("good", "fair", "poor"), rng=seed)
    return {"crowd": crowd.votes, "panel": panel.votes}
