"""Items of the paper: functions from a context to cells (printed, ours, exact) and figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal
from zlib import crc32

import numpy as np

from majorant.errors import ConfigError
from majorant.votes import Votes

Value = float | int | bool | str | None
Mark = Literal["equal", "within noise", "explained", "ours only", "unexplained"]
MARKS: tuple[Mark, ...] = ("equal", "within noise", "explained", "ours only", "unexplained")
NOISE = 4.0  # standard errors that chance may explain, among some hundreds of cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One number (or verdict) of the paper, and ours.

    `exact` is what theory gives, `error` the standard error of ours and `printed_error` that of the printed number,
    None where it was not sampled.  `errata` are numbers of paper/errata.md.  Make cells with `compare`.
    """

    key: str
    printed: Value = None
    ours: Value = None
    exact: Value = None
    error: float | None = None
    printed_error: float | None = None
    mark: Mark = "ours only"
    errata: tuple[int, ...] = ()
    why: str = ""

    @property
    def difference(self) -> float | None:
        """The printed value minus the exact one if known, otherwise minus ours; None if it is not a number."""
        truth = self.ours if self.exact is None else self.exact
        return self.printed - truth if _is_number(self.printed) and _is_number(truth) else None  # type: ignore[operator]

    @property
    def says(self) -> str:
        """The mark in words: 'explained by erratum 32'."""
        if self.mark != "explained" or not self.errata:
            return self.mark
        return f"explained by {'erratum' if len(self.errata) == 1 else 'errata'} {', '.join(map(str, self.errata))}"


def compare(
    key: str,
    printed: Value,
    ours: Value,
    *,
    exact: Value = None,
    digits: int = 3,
    error: float | None = None,
    printed_error: float | None = None,
    errata: tuple[int, ...] = (),
    why: str = "",
) -> Cell:
    """A cell with its mark.

    Equal: the same verdict, or the same number to the printed `digits`.  Within noise: within four standard errors of
    exact (or ours).  Explained: neither, but `errata` or `why` explain the difference.  A cell that agrees keeps its
    `why` as a remark and drops its `errata`.

    >>> compare("MV", .786, .7841, exact=.784, printed_error=.004).mark
    'within noise'
    >>> compare("SP", False, True, errata=(1, 4)).says
    'explained by errata 1, 4'
    """
    base = Cell(key=key, printed=printed, ours=ours, exact=exact, error=error, printed_error=printed_error, why=why)
    mark = _mark(base, digits, explained=bool(errata or why))
    return Cell(
        key=key,
        printed=printed,
        ours=ours,
        exact=exact,
        error=error,
        printed_error=printed_error,
        mark=mark,
        errata=errata if mark in ("explained", "ours only") else (),
        why=why,
    )


def _mark(cell: Cell, digits: int, *, explained: bool) -> Mark:
    if cell.printed is None:
        return "ours only"
    truth = cell.ours if cell.exact is None else cell.exact
    apart = cell.difference
    if apart is None:
        same = cell.printed == truth
    else:
        same = abs(apart) <= 0.5 * 10.0**-digits + 1e-12
        noise = math.hypot(cell.printed_error or 0.0, (cell.error or 0.0) if cell.exact is None else 0.0)
        if not same and abs(apart) <= NOISE * noise:
            return "within noise"
    return "equal" if same else "explained" if explained else "unexplained"


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure as SVG text, with a caption."""

    name: str
    caption: str
    svg: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of an item: cells, pictures, remarks, and the names of missing data sets."""

    cells: tuple[Cell, ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def no_progress(share: float) -> None:
    """No-op progress callback."""


def no_data(name: str) -> Votes | None:  # noqa: ARG001
    """Data loader without any data sets."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """How to run an item: fewer draws if `quick`, a `seed`, data sets by name, and a progress callback."""

    quick: bool = False
    seed: int = 0
    data: Callable[[str], Votes | None] = no_data
    progress: Callable[[float], None] = no_progress

    def rng(self, *key: str | int) -> np.random.Generator:
        """An independent random stream for each key, the same in every run with this seed."""
        return np.random.default_rng([self.seed, *(crc32(str(part).encode()) for part in key)])


@dataclass(frozen=True, slots=True)
class Item:
    """A table or figure: its command-line name, its title, the function that makes it, and the data sets it needs."""

    name: str
    title: str
    run: Callable[[Context], Outcome]
    data: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.replace("-", "").isalnum():
            raise ConfigError(f"{self.name!r} cannot name an item: letters, digits and hyphens only.")
