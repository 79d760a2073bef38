"""Run items of the paper into a folder, and use again what is already there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from majorant import datasets
from majorant.errors import DataError
from majorant.output import make_folder, write_files
from majorant.paper import store
from majorant.paper.item import MARKS, Context, Item
from majorant.paper.page import index_html, story_markdown
from majorant.paper.registry import chosen, items
from majorant.paper.store import Finished
from majorant.votes import Votes

Progress = Callable[[str, float], None]


def no_progress(name: str, share: float) -> None:
    """Nobody watches."""


def reproduce(
    names: Sequence[str],
    folder: str | Path,
    *,
    quick: bool = False,
    rng: int,
    progress: Progress = no_progress,
) -> list[Finished]:
    """Run the named items (none: all) into a folder with an index page; what is there and unchanged is used again.

    Each item is kept as soon as it is finished, so a run that was stopped goes on where it was.
    """
    place = make_folder(folder)
    done = []
    for item in chosen(names):
        progress(item.name, 0.0)
        done.append(_finish(item, place, quick=quick, seed=rng, progress=progress))
        progress(item.name, 1.0)
        write_pages(place)
    return done


def write_pages(folder: Path) -> list[Path]:
    """Write index.html and reproduction.md from everything that the folder holds."""
    kept = [finished for name in items() if (finished := store.load(name, folder)) is not None]
    return write_files({folder / "index.html": index_html(kept), folder / "reproduction.md": story_markdown(kept)})


def _finish(item: Item, folder: Path, *, quick: bool, seed: int, progress: Progress) -> Finished:
    digests = {name: available(name) for name in item.data}
    mark = store.fingerprint(item, quick=quick, seed=seed, data=digests)
    kept = store.load(item.name, folder)
    if kept is not None and kept.fingerprint == mark:
        return kept
    began = time.monotonic()
    context = Context(
        quick=quick,
        seed=seed,
        data=lambda name: load_data(name, digests),
        progress=lambda share: progress(item.name, min(share, 0.99)),
    )
    outcome = item.run(context)
    seconds = round(time.monotonic() - began, 1)
    finished = Finished(item.name, item.title, quick, seed, seconds, mark, outcome)
    store.save(finished, folder)
    return finished


def available(name: str) -> str | None:
    """The checksums of a data set that is here or can be fetched, else None."""
    try:
        datasets.get(name)
    except DataError:
        return None
    return " ".join(file.sha256 for file in datasets.find(name).files)


def load_data(name: str, digests: dict[str, str | None]) -> Votes | None:
    """The votes of a data set that the item has declared, or None where it is missing."""
    return None if digests[name] is None else datasets.load(name)


def summary(done: Sequence[Finished]) -> dict[str, Any]:
    """The cells of each item as plain data, with a count of the marks."""
    cells = [cell for finished in done for cell in finished.outcome.cells]
    return {
        "marks": {mark: sum(cell.mark == mark for cell in cells) for mark in MARKS},
        "missing": sorted({name for finished in done for name in finished.outcome.missing}),
        "items": [
            {
                "name": finished.name,
                "title": finished.title,
                "quick": finished.quick,
                "seed": finished.seed,
                "seconds": finished.seconds,
                "figures": [f"{picture.name}.svg" for picture in finished.outcome.pictures],
                "missing": list(finished.outcome.missing),
                "notes": list(finished.outcome.notes),
                "cells": [
                    {
                        "key": cell.key,
                        "printed": cell.printed,
                        "ours": cell.ours,
                        "exact": cell.exact,
                        "error": cell.error,
                        "difference": cell.difference,
                        "mark": cell.says,
                        "why": cell.why,
                    }
                    for cell in finished.outcome.cells
                ],
            }
            for finished in done
        ],
    }
