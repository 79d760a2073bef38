"""`majorant theory simulate`: simulated votes with known true labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.options import (
    Grouped,
    common_options,
    name_list,
    number_list,
    number_rows,
    show,
    table_option,
)
from majorant.errors import ConfigError

if TYPE_CHECKING:
    from majorant.simulate import Simulation


def _vote_count(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
    """Parse a number such as 5, or counts with weights such as 3:1,5:2."""
    try:
        if value is None or ":" not in value:
            return None if value is None else int(value)
        pairs = [part.split(":") for part in value.split(",")]
        return [int(count) for count, _ in pairs], [float(weight) for _, weight in pairs]
    except ValueError:
        text = f"{value!r} is neither a whole number nor a list such as 3:1,5:2 (count:weight)"
        raise click.BadParameter(text, ctx, param) from None


@click.command(cls=Grouped)
@click.option("--items", type=click.IntRange(min=1), required=True, help="Number of items.")
@click.option(
    "--votes",
    metavar="NUMBER",
    callback=_vote_count,
    help="Votes on each item, or 3:1,5:2 (count:weight).  [default with --skills: all]",
)
@click.option(
    "--prior", metavar="LIST", callback=number_list, help="Probability of each class: .5,.5  [default: all equal]"
)
@click.option(
    "--confusion", metavar="ROWS", callback=number_rows, help="Shared by all workers, a row per class: .8,.2/.3,.7"
)
@click.option("--skills", metavar="LIST", callback=number_list, help="Instead, the accuracy of each worker: .9,.8,.6")
@click.option("--workers", type=click.IntRange(min=1), help="Number of workers that share the confusion matrix.")
@click.option(
    "--difficulty",
    type=float,
    metavar="C",
    help="Let items differ in difficulty: Dirichlet concentration C; smaller means larger differences.",
)
@click.option("--dependence", type=float, default=0.0, help="Probability that a vote copies its group's shared vote.")
@click.option(
    "--groups",
    metavar="LIST",
    callback=name_list,
    help="Group of each worker, for --dependence: a,a,b  [default: one group]",
)
@click.option("--labels", metavar="LIST", callback=name_list, help="Names of the classes: no,yes  [default: 0,1,...]")
@click.option("--gold", type=float, default=0.0, help="Share of items with their true label.")
@table_option("-", usual="votes.csv")
@click.option("--truth", help="Also write the true label of every item to this file.")
@common_options
def simulate(out: str, truth: str | None, seed: int, **model: Any) -> None:
    """Simulate the votes of a crowd or a panel with known true labels."""
    if truth is not None and truth in ("-", out):
        raise ConfigError("--truth needs its own file, different from the file for the votes.")
    from majorant.output import Content, votes_table, write_or_print

    drawn = _draw(seed=seed, **model)
    files: dict[Path, Content] = {Path(out): votes_table(drawn.votes)}
    if truth is not None:
        files[Path(truth)] = {"item": list(drawn.votes.items), "truth": drawn.truth}
    write_or_print(files)
    n_items, n_workers, n_classes = drawn.votes.shape
    facts = {"items": n_items, "workers": n_workers, "classes": n_classes, "votes": drawn.votes.n_votes}
    text = f"{out}: {drawn.votes.n_votes:,} votes by {n_workers:,} workers on {n_items:,} items, seed {seed}."
    written = facts | {"seed": seed, "out": out, "truth": truth}
    show(written, [] if out == "-" else [text])


def _draw(
    *,
    items: int,
    votes: Any,
    prior: list[float] | None,
    confusion: list[list[float]] | None,
    skills: list[float] | None,
    workers: int | None,
    difficulty: float | None,
    dependence: float,
    groups: list[str] | None,
    labels: list[str] | None,
    gold: float,
    seed: int,
) -> Simulation:
    """Call the library with the options."""
    from majorant.simulate import one_coin_workers
    from majorant.simulate import simulate as draw

    if (confusion is None) == (skills is None):
        raise ConfigError("Say how the workers vote: either --confusion (shared by all) or --skills (one per worker).")
    if votes is None and skills is None:
        raise ConfigError("Say how many votes each item gets: --votes.")
    n_classes = len(prior or labels or confusion or (0, 1))
    confusions = confusion if confusion is not None else one_coin_workers(skills or (), n_classes)
    return draw(
        prior or [1 / n_classes] * n_classes,
        confusions,
        items,
        len(skills or ()) if votes is None else votes,
        rng=seed,
        n_workers=workers,
        concentration=difficulty,
        dependence=dependence,
        groups=groups,
        labels=labels,
        gold=gold,
    )
