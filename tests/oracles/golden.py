"""The exact numbers kept in tests/golden, as plain data."""

import json
from functools import cache
from pathlib import Path


@cache
def theory():
    return json.loads((Path(__file__).parents[1] / "golden" / "theory.json").read_text())


def two_class(nu0, t00, t11):
    """(prior, confusion) of a two-class model in the notation of the file."""
    return [nu0, 1 - nu0], [[t00, 1 - t00], [1 - t11, t11]]
