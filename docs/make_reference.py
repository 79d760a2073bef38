"""Write reference.md from the docstrings of the public names: `python docs/make_reference.py`."""

from __future__ import annotations

import collections
import dataclasses
import inspect
import re
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import majorant as mj
from majorant.options import Files, Read, options_of

PAGE = Path(__file__).parent / "reference.md"
HEAD = """# Reference

All public names of `import majorant as mj`, generated from the docstrings by `python docs/make_reference.py`. For
types, notes and examples, use `help(mj.check)`. Functions whose signature ends in `**reading` also take the arguments
of [`read`](#read), and `votes` can be anything that [`read`](#read) takes: a file, a frame, a dict, a list.
Shared parameters:

"""
THEORY = """## theory

Exact mathematics of majority vote and the optimal rule: small arrays in, numbers out. Shared parameters:

"""
METHODS = (
    """Methods by name; `mj.ESTIMATORS[name]().fit(votes)` returns a `Fit`. [Methods](methods.md) describes them: """
)


class Parameter(NamedTuple):
    """An entry under Parameters, Attributes or Returns."""

    names: str
    kind: str
    text: str


def page() -> str:
    """The whole page."""
    names = sorted((name for name in mj.__all__ if name not in ("__version__", "theory")), key=str.casefold)
    return "\n".join(
        [
            *_part(HEAD, {name: getattr(mj, name) for name in names}, ""),
            *_part(THEORY, {name: getattr(mj.theory, name) for name in sorted(mj.theory.__all__)}, "theory."),
        ]
    )


def _part(head: str, values: dict[str, Any], prefix: str) -> list[str]:
    """A heading with the parameters that three or more entries share, then the entries."""
    counts = collections.Counter(
        (parameter.names, parameter.text) for value in values.values() for parameter in _parameters(value)
    )
    shared = {key for key, count in counts.items() if count >= 3}
    longest = dict(sorted(shared, key=lambda key: len(key[1])))  # one entry per name
    listed = [f"- `{names}`: {text}" for names, text in sorted(longest.items())]
    return [head + "\n".join(listed) + "\n", *(_entry(prefix, name, value, shared) for name, value in values.items())]


def _entry(prefix: str, name: str, value: Any, shared: set[tuple[str, str]]) -> str:
    parts = [f"## {prefix}{name}"]
    if isinstance(value, dict):
        return "\n\n".join([*parts, METHODS + ", ".join(f"`{key}`" for key in value)]) + ".\n"
    sections = _sections(value)
    if not inspect.isclass(value):
        parts.append(f"```\n{_signature(name, value)}\n```")
    parts.append(sections[""])
    listed = [one for one in _parameters(value) if (one.names, one.text) not in shared]
    if listed:
        parts.append("\n".join(f"- `{one.names}`: {one.text}" for one in listed))
    elif dataclasses.is_dataclass(value):
        parts.append(f"Fields: {_fields(value)}")
    if name == "read":
        parts.append(_options())
    for returned in _entries(sections.get("Returns", "")):
        parts.append(f"Returns {returned.kind or returned.names}: {returned.text}")
    for raised in _entries(sections.get("Raises", "")):
        parts.append(f"Raises `{raised.names}`: {raised.text}")
    return "\n\n".join(parts) + "\n"


def _options() -> str:
    """Every option for reading, with its flag."""
    listed = {
        one.name: one
        for table in (Read, Files)
        for one in options_of(table)
        if one.name in inspect.signature(mj.read).parameters
    }
    rows = [f"| `{one.name}` | `{one.flag}` | {one.help.replace('|', '&#124;')} |" for one in listed.values()]
    return "\n".join(["| argument | flag | meaning |", "|---|---|---|", *rows])


def _sections(value: Any) -> dict[str, str]:
    """The sections of a NumPy docstring by title; the text before the first has the title ""."""
    words = (inspect.getdoc(value) or "").partition("\n>>> ")[0]
    text, *rest = re.split(r"(?m)^(\w[\w ]*)\n-{3,}$", words.strip())
    return {"": text.strip()} | {
        title: body.strip("\n") for title, body in zip(rest[::2], rest[1::2], strict=True) if title != "Examples"
    }


def _parameters(value: Any) -> list[Parameter]:
    sections = _sections(value) if not isinstance(value, dict) else {}
    found = _entries(sections.get("Parameters", "")) + _entries(sections.get("Attributes", ""))
    return [one for one in found if not (one.names == "votes" and one.text.startswith("Anything `mj.read` accepts"))]


def _entries(section: str) -> list[Parameter]:
    """The entries of a section: a line with names (and a type), then indented text."""
    found = re.findall(r"(?m)^(\S[^:\n]*?)(?: : (.*))?\n((?:    .*\n?)+)", section)
    return [Parameter(names, kind, " ".join(text.split())) for names, kind, text in found]


def _signature(name: str, value: Any) -> str:
    """The call with its defaults and without types."""
    signature = inspect.signature(value)
    bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    text = f"{name}{signature.replace(parameters=bare, return_annotation=signature.empty)}"
    lines, line = [], ""
    for part in re.split(r", (?![^(]*\)(?!$))", text):
        if line and len(line) + len(part) > 110:
            lines.append(f"{line},")
            line = f"    {part}"
        else:
            line = f"{line}, {part}" if line else part
    return "\n".join([*lines, line])


def _fields(value: Any) -> str:
    """The public fields and cached properties."""
    names = [field.name for field in dataclasses.fields(value) if field.repr]
    names += [name for name, one in vars(value).items() if isinstance(one, cached_property)]
    return ", ".join(f"`{name}`" for name in names if not name.startswith("_"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
