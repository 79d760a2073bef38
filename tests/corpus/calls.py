"""Public functions called with random arguments succeed or raise one of our errors."""

from __future__ import annotations

import atexit
import inspect
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import majorant as mj
from majorant import theory
from majorant.errors import MajorantError
from majorant.read.options import Reading

ROWS = [(f"i{i}", f"w{j}", "ny"[(i * i + j * i) % 3 % 2]) for i in range(12) for j in range(4)]
GOLD = {
    "item": [row[0] for row in ROWS],
    "worker": [row[1] for row in ROWS],
    "label": [row[2] for row in ROWS],
    "gold": ["ny"[int(row[0][1:]) % 2] for row in ROWS],
}
CONFUSION = [[0.8, 0.2], [0.3, 0.7]]
FUNCTIONS = {name: getattr(mj, name) for name in mj.__all__ if inspect.isfunction(getattr(mj, name))}
EXACT = {
    f"theory.{name}": getattr(theory, name) for name in theory.__all__ if inspect.isfunction(getattr(theory, name))
}
Call = tuple[str, Callable[..., Any], dict[str, Any], str]


class Unknown:
    """A value of a class that nobody has heard of."""


def make_objects(folder: Path) -> dict[str, Any]:
    """What only other calls make."""
    fit = mj.aggregate(ROWS, "dawid-skene")
    fit.rule().save(folder / "rule.json", overwrite=True)
    return {
        "folder": folder,
        "result": mj.check(ROWS),
        "fit": fit,
        "votes": mj.read(ROWS),
        "design": mj.ask(ROWS, question="accuracy", between=["majority"], n=3),
    }


def usual(name: str, objects: dict[str, Any]) -> dict[str, Any]:
    """Arguments with which a function works."""
    return {
        "votes": GOLD if name in ("judges", "rate") else [(i, j, (i * i + j) % 4) for i in range(9) for j in range(4)]
        if name == "scores" else ROWS,
        "source": ROWS,
        "histograms": {3: [1, 2, 5, 8]},
        "result": objects["result"],
        "matrix": [[0, 1], [1, 1]],
        "path": objects["folder"] / name,
        "prior": [0.6, 0.4],
        "confusion": CONFUSION,
        "confusions": [CONFUSION] * 3,
        "share": [[0.5, 0.5], [0.4, 0.6]],
        "n_items": 10,
        "n_votes": 3,
        "noise": 0.2,
        "margin": 0.1,
        "lead": 2,
        "grid": 11,
        "n_draws": 100,
        "n_boot": 20,
        "name": "votes",
        "rng": 0,
    }  # fmt: skip


def anything(objects: dict[str, Any]) -> list[Any]:
    """Values of all kinds, few of which any argument takes."""
    import pandas as pd

    return [
        *(None, True, False, -1, 0, 1, 2, 3, 10**6, 10**30, -(10**30), 2**63, 1.0, 1.5, -0.5, 0.0, 0.5, 1e308),
        *(float("nan"), float("inf"), -float("inf"), 1j, Decimal("0.5"), b"x", object(), Unknown(), max, Unknown),
        *("", "x", "y" * 10_000, "majority", "auto", "item", "\0", "é", "s3://x/y", "~x", "a,b,c", "."),
        Path("nothing"),
        *([], [1, 2], ["a", "b"], [None], [[1, 2], [3]], ["a", 1], (), (1,), (1, 2), [0.5, 0.5], [-1, 2], [0, 0]),
        *({}, {"a": 1}, {"a": [1, 2]}, {3: [1, 2]}, {1: "x"}, set(), {1, 2}, frozenset("a"), range(3), range(0)),
        *([("a", "b")], [("a", "b", "c")], [("a", "b", [1])], [("a", {}, 1)], {"item": [1], "worker": [2]}, iter([1])),
        *(np.array([]), np.zeros((2, 2)), np.array([[np.nan]]), np.array(["a", "b"]), np.array([object()])),
        *(np.float64(0.5), np.int64(2), np.bool_(True), pd.DataFrame(), pd.DataFrame({"a": [1, 2]}), pd.Series([1, 2])),
        *(np.random.default_rng(0), np.random.RandomState(0), objects["votes"], objects["result"], objects["fit"]),
        objects["fit"],
    ]


def arguments_of(
    name: str, function: Callable[..., Any], objects: dict[str, Any], reading: list[str] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Arguments with which a function works, and the names of all that it takes."""
    parameters = inspect.signature(function).parameters
    own = [p.name for p in parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    base = {key: value for key, value in usual(name, objects).items() if key in own}
    missing = [key for key in own if parameters[key].default is inspect.Parameter.empty and key not in base]
    assert not missing, f"{name} needs {missing}: say in usual() what they usually are"
    handed_on = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    more = list(Reading.__annotations__) if reading is None else reading
    return base, [*own, *(key for key in more if handed_on and key not in own)]


def _is_callback(argument: str, value: Any) -> bool:
    return argument in ("stage", "progress") and callable(value)  # what a function of theirs raises is theirs


def calls(
    functions: dict[str, Callable[..., Any]], objects: dict[str, Any], *, reading: list[str] | None = None
) -> Iterator[Call]:
    """Every function with every argument replaced by every value, the others as usual."""
    for name, function in functions.items():
        base, arguments = arguments_of(name, function, objects, reading)
        for argument in arguments:
            for value in anything(objects):
                if not _is_callback(argument, value):
                    yield name, function, {**base, argument: value}, argument


def wrong(name: str, function: Callable[..., Any], arguments: dict[str, Any], argument: str) -> str | None:
    """What is wrong about how a call ends: nothing where it works, or raises one of our errors."""
    signal.alarm(30)
    try:
        function(**arguments)
    except MajorantError:
        return None
    except Exception as error:
        shown = ", ".join(f"{one}={arguments[one]!r:.60}" for one in argument.split(", "))
        return f"{name}({shown}): {type(error).__name__}: {str(error)[:80]}"
    finally:
        signal.alarm(0)
    return None


def _late(*_: object) -> None:
    raise TimeoutError


@cache
def _own_objects() -> dict[str, Any]:
    """Of this process, which goes to a folder where calls may write."""
    signal.signal(signal.SIGALRM, _late)
    folder = Path(tempfile.mkdtemp(prefix="majorant-calls-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chdir(folder)
    lines = [",".join(row) for row in zip(*GOLD.values(), strict=True)]
    Path("votes.csv").write_text("\n".join([",".join(GOLD), *lines]) + "\n")
    Path("wide.csv").write_text("item,ana,bo,cy\na,1,0,1\nb,0,0,1\nc,1,1,1\n")
    return make_objects(folder)


def run_call(number: int) -> tuple[int, str | None]:
    """Call `number`: a function with up to three arguments replaced."""
    objects, rng = _own_objects(), np.random.default_rng([3, number])
    functions = {**FUNCTIONS, **EXACT}
    name = list(functions)[int(rng.integers(len(functions)))]
    base, arguments = arguments_of(name, functions[name], objects)
    values = anything(objects)
    changed: dict[str, Any] = {}
    if "votes" in base or "source" in base:
        files = [None, "votes.csv", Path("wide.csv")]
        if (file := files[int(rng.integers(3))]) is not None:
            base |= {key: file for key in ("votes", "source") if key in base}
    for argument in rng.choice(arguments, min(len(arguments), int(rng.integers(1, 4))), replace=False).tolist():
        value = values[int(rng.integers(len(values)))]
        if not _is_callback(argument, value):
            changed[argument] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return number, wrong(name, functions[name], base | changed, ", ".join(changed) or next(iter(base), ""))
