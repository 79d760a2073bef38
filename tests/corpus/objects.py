"""Every public method of every object that a public function hands out, called with arguments of any kind."""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import majorant as mj
from corpus import calls as calls_of_functions
from corpus.calls import CONFUSION, GOLD, ROWS, anything, make_objects, wrong
from majorant import datasets, theory

SCORES = [(i, j, (i * i + j) % 4) for i in range(9) for j in range(3)]
INTERNAL = {  # reachable, but for the package's own use: how votes are read and stored, and the questions of a design
    "Scratch", "Setting", "WrittenLabels", "Session", "Race",
}  # fmt: skip
USUAL = {  # arguments with which methods work, by name
    "n": 2, "labels": {}, "answers": (), "rule": "majority", "figure": "votes", "name": "majority", "level": 0.9,
    "votes": ROWS, "top": 3, "share": 0.5, "rng": 0, "by": "worker", "method": "majority", "items": "ab",
    "item": [0, 1],
    "worker": [0, 1], "label": [0, 1], "workers": "uv", "content": {}, "tolerance": 0.1, "expert": "x", "start": 0,
}  # fmt: skip


def roots(folder: Path) -> dict[str, Any]:
    """What the public functions return."""
    objects = make_objects(folder)
    rated = mj.rate(GOLD, label="y")
    return {
        **{name: objects[name] for name in ("votes", "fit", "result", "design")},
        "judged": mj.check(GOLD),
        "teach": mj.ask(ROWS, question="teach", n=3),
        "race": mj.ask(ROWS, between=["majority", "one-coin"], n=3),
        "rates": rated,
        "judges": mj.judges(GOLD),
        "workers": mj.workers(ROWS),
        "agreement": mj.agreement(ROWS),
        "scores": mj.scores(SCORES),
        "plan": mj.plan(ROWS),
        "compared": mj.compare(ROWS, ["majority", "one-coin"]),
        "certified": mj.certify(ROWS),
        "rule": mj.load_rule(folder / "rule.json"),
        "described": theory.describe([0.6, 0.4], CONFUSION, 3),
        "window": theory.window([0.6, 0.4], CONFUSION, 3),
        **{f"estimator {name}": make() for name, make in list(mj.ESTIMATORS.items())[:6]},
    }


def held(folder: Path) -> dict[type, Any]:
    """An object of each class that can be reached from these by public attributes."""
    found: dict[type, Any] = {}
    waiting = [(value, 0) for value in roots(folder).values()]
    while waiting:
        value, depth = waiting.pop(0)
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            waiting += [(one, depth) for one in value[:2]]
            continue
        if isinstance(value, dict):
            waiting += [(one, depth) for one in list(value.values())[:2]]
            continue
        kind = type(value)
        if not kind.__module__.startswith("majorant") or kind in found or depth > 4:
            continue
        found[kind] = value
        for name in dir(value):
            if not name.startswith("_"):
                try:
                    attribute = getattr(value, name)
                except Exception:  # a property that needs more than this object has
                    continue
                if not callable(attribute):
                    waiting.append((attribute, depth + 1))
    return found


ESTIMATORS = frozenset(type(make()) for make in mj.ESTIMATORS.values())


@cache
def methods() -> dict[str, Callable[..., Any]]:
    """The public methods of these objects, and the functions of the public modules that are not in mj itself."""
    found: dict[str, Callable[..., Any]] = {}
    for kind, value in held(Path(tempfile.mkdtemp(prefix="majorant-held-"))).items():
        for name in dir(kind):
            if name.startswith("_") or kind.__name__.startswith("_") or kind.__name__ in INTERNAL:
                continue
            if kind in ESTIMATORS and name != "fit":  # the steps of an algorithm, which only its own loop calls
                continue
            home = next(base for base in kind.__mro__ if name in vars(base))
            if not home.__module__.startswith("majorant"):
                continue
            call = inspect.getattr_static(kind, name)
            if not isinstance(call, (staticmethod, classmethod)) and not inspect.isfunction(call):
                continue
            if inspect.signature(getattr(value, name)).parameters:
                found[f"{kind.__module__.removeprefix('majorant.')}.{kind.__name__}.{name}"] = getattr(value, name)
    for name in ("load", "download", "info", "names"):
        if inspect.isfunction(getattr(datasets, name, None)):
            found[f"datasets.{name}"] = getattr(datasets, name)
    return found


def calls(objects: dict[str, Any], folder: Path) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any], str]]:
    """Every method with every argument replaced by every value, the others as usual."""
    for name, method in methods().items():
        parameters = inspect.signature(method).parameters.values()
        own = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
        usual = {**USUAL, "folder": folder / "saved", "path": folder / "file", "design": folder / "x.design.json"}
        base = {one.name: usual.get(one.name) for one in own if one.default is one.empty}
        for argument in own:
            for value in anything(objects):
                if argument.name not in ("progress", "stage") or not callable(value):
                    yield name, method, {**base, argument.name: value}, argument.name


def refused_well(name: str, method: Callable[..., Any], arguments: dict[str, Any], argument: str) -> str | None:
    """What is wrong about how a call ends: nothing where it works, or raises our error or a TypeError that says why."""
    fault = wrong(name, method, arguments, argument)
    return None if fault is not None and ": TypeError: " in fault and "missing" in fault else fault


def sample(objects: dict[str, Any], folder: Path, n: int, seed: int) -> list[Any]:
    """Some of these calls."""
    every = list(calls(objects, folder))
    drawn = np.random.default_rng(seed).choice(len(every), min(n, len(every)), replace=False)
    return [every[at] for at in drawn]


@cache
def _every_call() -> list[Any]:
    folder = Path(tempfile.mkdtemp(prefix="majorant-held-"))
    own = calls_of_functions._own_objects()  # goes to a folder where calls may write
    return list(calls(own, folder))


def run_method(number: int) -> tuple[int, str | None]:
    """Call `number`: a method with one argument replaced."""
    every = _every_call()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return number, refused_well(*every[int(np.random.default_rng([5, number]).integers(len(every)))])
