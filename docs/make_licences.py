"""Write docs/licences.md: the dependencies of majorant and their licences, from the installed packages.

python docs/make_licences.py        rewrites the page; packages that are not installed are an error
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
EXTRAS = ("", "spark", "excel", "web")  # what users install, without development tools
CLASSIFIER = "License :: OSI Approved :: "
LONGEST = 60


def direct(extra: str) -> list[str]:
    """The names of the packages in an extra, or without one, those that are always installed."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return [re.split(r"[\[<>=~! ]", one, maxsplit=1)[0] for one in asked]


def licence(name: str) -> str:
    """The licence that a package declares: its expression, else its classifiers, else the first line of its field."""
    told = metadata.metadata(name)
    if expression := told.get("License-Expression"):
        return expression
    classified = [c.removeprefix(CLASSIFIER) for c in told.get_all("Classifier") or () if c.startswith(CLASSIFIER)]
    first = (told.get("License") or "").strip().splitlines()
    return ", ".join(classified) or (first[0][:LONGEST] if first else "not declared")


def page() -> str:
    """The whole page."""
    lines = [
        "# Licences of majorant's dependencies",
        "",
        "Written by `python docs/make_licences.py` from the metadata of the installed packages.",
        "majorant contains no code copied from them.",
        "",
        "| package | for | licence |",
        "|---|---|---|",
    ]
    seen = set()
    for extra in EXTRAS:
        for name in direct(extra):
            if name not in seen:
                seen.add(name)
                lines.append(f"| {name} | {extra or 'every installation'} | {licence(name)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    try:
        (HERE / "licences.md").write_text(page(), encoding="utf-8")
    except metadata.PackageNotFoundError as error:
        sys.exit(f"{error.name} is not installed: pip install -e '.[spark,excel,web]'")
