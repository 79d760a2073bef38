"""Write reference.md from the docstrings of the public names: `python docs/make_reference.py`."""

from __future__ import annotations

import dataclasses
import inspect
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import majorant as mj

PAGE = Path(__file__).parent / "reference.md"
HEAD = """# Reference

Every public name of `import majorant as mj`: how it is called, what it does and returns, and an example that the tests
run. Made from the docstrings by `python docs/make_reference.py`; `help(mj.check)` says the same. Where a signature ends
in `**reading`, all arguments of [`read`](#read) are taken as well.
"""
METHODS = """Methods by name; `mj.ESTIMATORS[name]().fit(votes)` returns a `Fit` and takes whatever `read` takes.

```python
>>> import majorant as mj
>>> votes = [("a", "u", "yes"), ("a", "v", "yes"), ("b", "u", "no"), ("b", "v", "no")]
>>> mj.ESTIMATORS["dawid-skene"](max_iter=50).fit(votes).labels()
['yes', 'no']

```

| name | what it does |
|---|---|
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for name in sorted((n for n in mj.__all__ if n != "__version__"), key=str.casefold):
        value = getattr(mj, name)
        parts.append(f"## {name}\n\n{_entry(name, value)}")
    parts += [f"## theory.{name}\n\n{_entry(name, getattr(mj.theory, name))}" for name in sorted(mj.theory.__all__)]
    return "\n".join(parts).rstrip() + "\n"


def _entry(name: str, value: Any) -> str:
    if isinstance(value, dict):
        rows = [f"| `{key}` | {_first(method)} |" for key, method in value.items()]
        return METHODS + "\n".join(rows) + "\n"
    if inspect.ismodule(value):
        return f"{_first(value)} Its functions are below, as `theory.NAME`.\n"
    text = inspect.getdoc(value) or ""
    words, _, example = text.partition("\n>>> ")
    called = f"```\n{_signature(name, value)}\n```\n\n" if callable(value) and not _is_error(value) else ""
    has_fields = dataclasses.is_dataclass(value) and isinstance(value, type) and "\nAttributes\n---" not in words
    fields = f"Fields: {_fields(value)}\n\n" if has_fields else ""
    shown = f"```\n>>> {example.strip()}\n```\n" if example else ""
    return f"{called}{_as_markdown(words)}\n\n{fields}{shown}"


def _as_markdown(words: str) -> str:
    """A NumPy docstring as Markdown: a list under a heading in bold for each section."""
    text, *sections = re.split(r"(?m)^(\w[\w ]*)\n-{3,}$", words.strip())
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title != "Examples":
            listed = re.sub(r"(?m)^(\S+(?:, \S+)*)(?: : (.*))?$", _as_entry, body.strip("\n"))
            text = f"{text.strip()}\n\n**{title}**\n\n{re.sub('(?m)^    ', '  ', listed)}"
    return text.strip()


def _as_entry(line: re.Match[str]) -> str:
    return f"- `{line[1]}`" + (f" ({line[2]})" if line[2] else "")


def _signature(name: str, value: Any) -> str:
    if inspect.isclass(value):
        return f"class {name}"
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))  # annotations are kept as texts
    text = text.replace("**reading: Unpack[Reading]", "**reading")
    parts = re.split(r", (?![^\[]*\])", f"{name}{text}")
    lines, line = [], ""
    for part in parts:
        if line and len(line) + len(part) > 110:
            lines.append(f"{line},")
            line = f"    {part}"
        else:
            line = f"{line}, {part}" if line else part
    return "\n".join([*lines, line])


def _fields(value: Any) -> str:
    """The public fields, and what is computed when it is first used."""
    names = [field.name for field in dataclasses.fields(value) if field.repr]
    names += [name for name, one in vars(value).items() if isinstance(one, cached_property)]
    return ", ".join(f"`{name}`" for name in names if not name.startswith("_"))


def _first(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
