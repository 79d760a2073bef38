"""Goals that the benchmarks print, and the sections of README.md that they write."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

README = Path(__file__).parent / "README.md"
MARK = "goal: "
HEAD = ("what", "ours", "compared with", "ratio", "goal", "")


def at_least(what: str, ours: str, beside: str, ratio: float, goal: float) -> None:
    """Print a goal for a ratio of the peer to ours that must not be smaller."""
    _say(what, ours, beside, ratio, f">= {goal:g}", ratio >= goal)


def at_most(what: str, ours: str, beside: str, ratio: float, goal: float) -> None:
    """Print a goal for a ratio of ours to a limit or peer that must not be larger."""
    _say(what, ours, beside, ratio, f"<= {goal:g}", ratio <= goal)


def _say(what: str, ours: str, beside: str, ratio: float, goal: str, met: bool) -> None:
    shown = f"{ratio:.0f}" if ratio >= 20 else f"{ratio:.2g}"
    print(MARK + " | ".join((what, ours, beside, shown, goal, "met" if met else "missed")), flush=True)


def goal_rows(printed: str) -> list[str]:
    """Extract the goals from the output of scripts, as table rows."""
    return [f"| {line.removeprefix(MARK)} |" for line in printed.splitlines() if line.startswith(MARK)]


def goal_table(rows: list[str]) -> str:
    """Add the header to the rows.

    >>> print(goal_table(["| fit | 1 s | 50 s | 50 | >= 50 | met |"]))
    | what | ours | compared with | ratio | goal |  |
    |---|---|---|---|---|---|
    | fit | 1 s | 50 s | 50 | >= 50 | met |
    """
    return "\n".join([f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD), *rows])


def update_rows(text: str, rows: list[str]) -> list[str]:
    """Merge new rows into a page's table of goals; a new row replaces an old one with the same name.

    >>> update_rows("| a | 1 | met |", ["| b | 2 | met |", "| a | 3 | met |"])
    ['| a | 3 | met |', '| b | 2 | met |']
    """
    kept = {line.split(" | ")[0]: line for line in text.splitlines() if line.startswith("| ")}
    kept.pop(f"| {HEAD[0]}", None)
    return list((kept | {row.split(" | ")[0]: row for row in rows}).values())


def machine() -> str:
    """Describe the date, machine and versions of a measurement."""
    packages = []
    for name in ("numpy", "scipy", "duckdb", "pyarrow", "crowd-kit", "pyspark"):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"{name} not installed")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if hasattr(os, "sysconf") else 0
    load = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    return (
        f"measured {datetime.now(UTC):%Y-%m-%d} on {platform.machine()}, {cores} cores, {memory:.0f} GiB{load}; "
        f"Python {platform.python_version()}, {', '.join(packages)}."
    )


def put(text: str, name: str, content: str) -> str:
    """Put `content` between the marks of that name, or at the end under a new heading if there are no marks.

    >>> page = put("# Speed", "start", "import: 0.2")
    >>> put(page, "start", "import: 0.3")
    '# Speed\\n\\n## start\\n\\n<!-- start begins -->\\nimport: 0.3\\n<!-- start ends -->\\n'
    """
    begin, end = f"<!-- {name} begins -->", f"<!-- {name} ends -->"
    block = f"{begin}\n{content.strip()}\n{end}"
    if begin in text:
        return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: block, text, flags=re.DOTALL)
    return f"{text.rstrip()}\n\n## {name}\n\n{block}\n"


def write(printed: dict[str, str]) -> None:
    """Put the output of each script into README.md and its goals into the table of goals; other scripts' goals stay."""
    text = README.read_text(encoding="utf-8")
    begin, end = "<!-- goals begins -->", "<!-- goals ends -->"
    before = text[text.index(begin) : text.index(end)] if begin in text else ""
    rows = update_rows(before, goal_rows("\n".join(printed.values())))
    text = put(text, "goals", f"{goal_table(rows)}\n\nLast: {machine()}")
    for name, output in printed.items():
        lines = [line for line in output.splitlines() if not line.startswith(MARK)]
        text = put(text, f"{name}.py", "```\n" + "\n".join(lines).strip("\n") + "\n```")
    README.write_text(text, encoding="utf-8")
