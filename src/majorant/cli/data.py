"""`majorant data`: the public data sets, and a demo on simulated votes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from majorant.cli.options import is_quiet, prints_json, show, takes
from majorant.options import DataDemo, DataGet, Overwrite, Seed, Shown

if TYPE_CHECKING:
    from majorant.results.result import Result
    from majorant.simulate import Simulation


@click.group()
def data() -> None:
    """List and download public data sets, or check simulated votes and compare the answers with the truth."""


@data.command("list")
@takes(Shown)
def list_sets() -> None:
    """List the data sets; use one with `majorant check data:NAME`."""
    from majorant.datasets import BUNDLED, REGISTRY
    from majorant.render.plain import facts_of
    from majorant.render.words import columns

    names = "name about items workers rows repeats columns licence citation"
    rows = [(d.name, f"{d.items:,}", f"{d.workers:,}", f"{d.rows:,}", d.about) for d in REGISTRY.values()]
    rows = [*((name, "", "", "", about) for name, about in BUNDLED.items()), *rows]
    lines = columns([("name", "items", "workers", "rows", "about"), *rows], left=(0, 4), indent="")
    facts = {"datasets": [facts_of(dataset, names) for dataset in REGISTRY.values()]}
    show(facts, lines, quiet=lines)


@data.command("get")
@click.argument("names", nargs=-1, required=True)
@takes(DataGet, Overwrite, Shown)
def get_sets(names: tuple[str, ...], out: str | None) -> None:
    """Download data sets, verify them, and print where their files are."""
    from majorant.atomic import make_folder, whole_file
    from majorant.datasets import get

    paths = {name: list(get(name)) for name in names}
    if out is not None:
        folder = make_folder(out)
        for name, files in paths.items():
            for n, path in enumerate(files):
                target = folder / (path.name if path.stem == name else f"{name}-{path.name}")
                with whole_file(target) as part:
                    shutil.copyfile(path, part)
                files[n] = target
    facts = {name: [str(path) for path in files] for name, files in paths.items()}
    show(facts, [path for files in facts.values() for path in files])


@data.command("demo")
@takes(DataDemo, Overwrite, Seed, Shown)
def demo(out: str, seed: int) -> None:
    """Check simulated votes of a crowd and of a panel, and compare the answers with the truth."""
    from majorant.atomic import make_folder
    from majorant.output import votes_table, write_table
    from majorant.pipeline import check
    from majorant.read import read
    from majorant.render.files import write_result
    from majorant.render.summary import result_summary
    from majorant.render.text import answer_text

    summaries = {}
    for name, (story, simulation) in _simulations(seed).items():
        folder = make_folder(Path(out) / name)
        result = check(read(write_table(folder / "votes.csv", votes_table(simulation.votes))), rng=seed)
        summaries[name] = result_summary(result)
        written = write_result(result, summaries[name], folder)
        if not (prints_json() or is_quiet()):
            click.echo(f"== {story}\n{answer_text(result, written=written)}\n{_truth(result, simulation)}\n")
    show(summaries, ())


def _simulations(seed: int) -> dict[str, tuple[str, Simulation]]:
    """A crowd of unequal workers, and a panel whose weak judges share mistakes, with and without gold labels."""
    from majorant.simulate import one_coin_workers, simulate

    workers = one_coin_workers([0.55 + 0.4 * j / 39 for j in range(40)])
    crowd = simulate([0.6, 0.4], workers, n_items=600, n_votes=5, labels=("ham", "spam"), rng=seed)
    judges = one_coin_workers([0.93, 0.8, 0.62, 0.62, 0.62, 0.62, 0.62], n_classes=3)
    panel, labelled = (
        simulate(
            [0.5, 0.3, 0.2],
            judges,
            n_items=1_000,
            n_votes=7,
            dependence=0.6,
            groups=["first", "second", *["weak"] * 5],
            labels=("bug", "question", "praise"),
            gold=gold,
            rng=seed,
        )
        for gold in (0, 0.06)
    )
    return {
        "crowd": ("A crowd: 40 workers of unequal skill, 5 votes on each of 600 items", crowd),
        "panel": ("A panel: 7 judges label all 1,000 items; five of them are weak and share mistakes", panel),
        "labelled-panel": ("The same panel, with 60 random items labelled by an expert", labelled),
    }


def _truth(result: Result, simulation: Simulation) -> str:
    """How often the labels and majority vote are right, which is known only in a simulation."""
    truth = {str(item): label for item, label in zip(simulation.votes.items, simulation.truth, strict=True)}
    rows = [row for row in result.labels if row["source"] != "gold"]
    labels, majority = (
        sum(row[column] == truth[row["item"]] for row in rows) / len(rows) for column in ("label", "majority")
    )
    where = "" if len(rows) == len(truth) else " on the items the expert did not label"
    return f"Truth    {labels:.1%} of these labels are correct{where}; majority vote gets {majority:.1%}."
