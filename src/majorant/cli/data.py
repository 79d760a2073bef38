"""`majorant data`: the public data sets."""

from __future__ import annotations

import shutil

import click

from majorant.cli.options import overwrite_option, show, shown_options


@click.group()
def data() -> None:
    """List and download public data sets."""


@data.command("list")
@shown_options
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
@overwrite_option
@click.option("--out", metavar="DIR", help="Copy the files into this folder.")
@shown_options
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
