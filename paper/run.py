"""Run items of the paper into a folder, and reuse finished ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

from majorant import datasets
from majorant.atomic import make_folder
from majorant.errors import DataError
from majorant.output import write_files
from majorant.votes import Votes
from paper import store
from paper.item import MARKS, Context, Item
from paper.page import index_html, story_markdown
from paper.registry import chosen, items
from paper.store import Finished

Progress = Callable[[str, float], None]
COMMITTED = Path(__file__).parent / "reproduction.md"


def no_progress(name: str, share: float) -> None:
    """No-op progress callback."""


def reproduce(
    names: Sequence[str],
    folder: str | Path,
    *,
    quick: bool = False,
    rng: int,
    progress: Progress = no_progress,
) -> list[Finished]:
    """Run the named items (all by default) into a folder with an index page, and reuse what has not changed.

    Each item is stored as soon as it is finished, so an interrupted run continues where it stopped.
    """
    wanted = chosen(names)
    place = make_folder(folder)
    at_hand = {name: available(name) for name in sorted({name for item in wanted for name in item.data})}
    # Before any of them runs: sources may be edited meanwhile.
    plans = [_plan(item, at_hand, quick=quick, seed=rng) for item in wanted]
    done = []
    for plan in plans:
        progress(plan.item.name, 0.0)
        done.append(_finish(plan, place, progress))
        progress(plan.item.name, 1.0)
        write_pages(place)
    return done


def write_pages(folder: Path) -> list[Path]:
    """Write index.html and reproduction.md from everything in the folder."""
    kept = [finished for name in items() if (finished := store.load(name, folder)) is not None]
    pages = {folder / "index.html": index_html(kept), folder / "reproduction.md": story_markdown(kept)}
    return write_files(pages, overwrite=True)


def stale_lines(folder: Path, committed: Path = COMMITTED) -> list[str]:
    """The lines in which the page of a complete run differs from the committed one, as a diff."""
    old, new = (path.read_text(encoding="utf-8").splitlines() for path in (committed, folder / "reproduction.md"))
    changed = unified_diff(old, new, str(committed.name), "this run", lineterm="", n=0)
    return list(changed)


def is_complete(done: Sequence[Finished]) -> bool:
    """Whether a run wrote the whole page: every item, with all draws, all data sets and seed 0."""
    whole = {one.name for one in done} == set(items())
    return whole and not any(one.quick or one.seed or one.outcome.missing for one in done)


class Plan(NamedTuple):
    """An item with its settings, the checksums of its data sets, and the fingerprint of all its inputs."""

    item: Item
    quick: bool
    seed: int
    digests: dict[str, str | None]
    fingerprint: str


def _plan(item: Item, at_hand: dict[str, str | None], *, quick: bool, seed: int) -> Plan:
    digests = {name: at_hand[name] for name in item.data}
    return Plan(item, quick, seed, digests, store.fingerprint(item, quick=quick, seed=seed, data=digests))


def _finish(plan: Plan, folder: Path, progress: Progress) -> Finished:
    item = plan.item
    kept = store.load(item.name, folder)
    if kept is not None and kept.fingerprint == plan.fingerprint:
        return kept
    began = time.process_time()
    context = Context(
        quick=plan.quick,
        seed=plan.seed,
        data=lambda name: load_data(name, plan.digests),
        progress=lambda share: progress(item.name, min(share, 0.99)),
    )
    outcome = item.run(context)
    seconds = round(time.process_time() - began, 1)
    finished = Finished(item.name, item.title, plan.quick, plan.seed, seconds, plan.fingerprint, outcome)
    store.save(finished, folder)
    return finished


def available(name: str) -> str | None:
    """The checksums of a data set that is available locally or can be fetched, otherwise None."""
    try:
        datasets.get(name)
    except DataError:
        return None
    return " ".join(file.sha256 for file in datasets.find(name).files)


def load_data(name: str, digests: dict[str, str | None]) -> Votes | None:
    """The votes of a data set that the item has declared, or None if it is missing."""
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
