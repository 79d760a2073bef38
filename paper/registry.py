"""The items of the paper, by name, in the order of the paper."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache

from majorant.errors import ConfigError
from paper.item import Item

# A module here holds ITEM, or ITEMS where one file draws several panels.
FIGURES: tuple[str, ...] = (
    "figure1",
    "figure2",
    "figure3abc",
    "figure3d",
    "figure3e",
    "figure3f",
    "figure4",
    "confusions",
    "two_coin_maps",
    "beyond_verdicts",
)
TABLES: tuple[str, ...] = (
    "table1",
    "table2_real",
    "table2_synthetic",
    "anchors",
    "estimates",
    "perturbed",
    "categories",
    "beyond_multiclass",
    "beyond_named",
    "beyond_certificates",
    "beyond_workers",
)


@cache
def items() -> dict[str, Item]:
    """Every item by its name: figures, then tables."""
    found: list[Item] = []
    for name in (*FIGURES, *TABLES):
        module = importlib.import_module(f"paper.{name}")
        found += module.ITEMS if hasattr(module, "ITEMS") else [module.ITEM]
    return {item.name: item for item in found}


def chosen(names: Sequence[str]) -> list[Item]:
    """The items with these names, each once and in our order; `figure3` means 3a to 3f, `all` everything.

    >>> [item.name for item in chosen(["figure2"])]
    ['figure2']
    """
    every = items()
    wanted: set[str] = set()
    for name in names or ["all"]:
        found = {key for key in every if name in ("all", key)} or {key for key in every if key.startswith(name)}
        if not found:
            raise ConfigError(f"the paper has no item {name!r}. There are all, {', '.join(every)}.")
        wanted |= found
    return [item for key, item in every.items() if key in wanted]
