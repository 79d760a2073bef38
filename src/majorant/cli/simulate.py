"""`majorant theory simulate`: simulated votes with known true labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.options import Grouped, show, takes
from majorant.errors import ConfigError
from majorant.options import Overwrite, Seed, Shown, Simulate

if TYPE_CHECKING:
    from majorant.simulate import Simulation


@click.command(cls=Grouped)
@takes(Simulate, Overwrite, Seed, Shown)
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
