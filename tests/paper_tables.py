"""The tables of the paper for tests: each run once, quickly, on the data sets that are here."""

from functools import cache

from majorant import datasets
from paper import registry
from paper.item import Context

TABLES = (
    "table1",
    "table2-real",
    "table2-synthetic",
    "anchors",
    "estimates",
    "perturbed",
    "categories",
    "beyond-multiclass",
    "beyond-named",
    "beyond-certificates",
    "beyond-workers",
)


def here(name):
    """The votes of a data set, None where it is not on this machine."""
    if any(datasets.local_path(file) is None for file in datasets.find(name).files):
        return None
    return datasets.load(name)


@cache
def outcome(name, quick):
    """What an item gives."""
    return registry.items()[name].run(Context(quick=quick, data=here))


def cells(name, *, quick=True):
    """The cells of an item by key."""
    found = outcome(name, quick).cells
    by_key = {cell.key: cell for cell in found}
    assert len(by_key) == len(found), "two cells have one key"
    return by_key
