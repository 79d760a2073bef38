"""Finished items in a folder: a JSON file and figures, valid as long as their inputs have not changed."""

from __future__ import annotations

import inspect
import json
import sys
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import majorant
from majorant.output import Content, write_files
from paper.item import Cell, Item, Outcome, Picture
from paper.printed import printed_text

ROOT = Path(majorant.__file__).parent
SKINS = ("cli", "report")  # what they say can change without a number changing


@dataclass(frozen=True, slots=True)
class Finished:
    """An item with its outcome, settings and CPU time, and the fingerprint of its inputs."""

    name: str
    title: str
    quick: bool
    seed: int
    seconds: float
    fingerprint: str
    outcome: Outcome


def fingerprint(item: Item, *, quick: bool, seed: int, data: dict[str, str | None]) -> str:
    """A digest of all inputs of an item: library, its own source, printed numbers, settings, data sets."""
    sources = [inspect.getsource(sys.modules[name]) for name in sorted(_rests_on(item.run.__module__))]
    made_from = [_library(), *sources, printed_text(item.name), item.name, quick, seed, sorted(data.items())]
    return sha256(json.dumps(made_from).encode()).hexdigest()


def _rests_on(name: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """A module and all modules of this package that it imports, directly or indirectly."""
    if name in seen:
        return seen
    seen |= {name}
    for value in vars(sys.modules[name]).values():
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(home, str) and home.startswith("paper."):
            seen = _rests_on(home, seen)
    return seen


@cache
def _library() -> str:
    """A digest of the library and of the packages that affect its numbers and figures."""
    digest = sha256("".join(version(name) for name in ("numpy", "scipy", "matplotlib")).encode() + sys.version.encode())
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] not in SKINS:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def save(finished: Finished, folder: Path) -> list[Path]:
    """Write the figures and the JSON file atomically; the JSON comes last, so its presence implies the rest."""
    facts = asdict(finished)
    for picture in facts["outcome"]["pictures"]:
        picture["sha256"] = sha256(picture.pop("svg").encode()).hexdigest()
    contents: dict[Path, Content] = {
        folder / f"{finished.name}.json": json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    }
    contents |= {folder / f"{picture.name}.svg": picture.svg for picture in finished.outcome.pictures}
    return write_files(contents, overwrite=True)  # an item that is damaged is made again


def load(name: str, folder: Path) -> Finished | None:
    """The finished item with this name, or None if it is missing, damaged or lacks a figure."""
    try:
        facts = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        outcome = facts.pop("outcome")
        cells = tuple(Cell(**cell | {"errata": tuple(cell["errata"])}) for cell in outcome["cells"])
        pictures = tuple(_picture(folder, facts) for facts in outcome["pictures"])
        notes, missing = tuple(outcome["notes"]), tuple(outcome["missing"])
        return Finished(**facts, outcome=Outcome(cells=cells, pictures=pictures, notes=notes, missing=missing))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _picture(folder: Path, facts: dict[str, Any]) -> Picture:
    svg = (folder / f"{facts['name']}.svg").read_bytes().decode("utf-8")
    if sha256(svg.encode()).hexdigest() != facts["sha256"]:
        raise ValueError("not the figure that was written")
    return Picture(facts["name"], facts["caption"], svg)
