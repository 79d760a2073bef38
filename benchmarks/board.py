"""Lines that say how a goal was met, and the tables of README.md, which the benchmarks write themselves."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

README = Path(__file__).parent / "README.md"
MARK = "goal: "
HEAD = ("what", "ours", "beside", "ratio", "goal", "", "measured")


def at_least(what: str, ours: str, beside: str, ratio: float, goal: float) -> None:
    """Print a goal where the peer over ours must be at least so much."""
    _say(what, ours, beside, ratio, f">= {goal:g}", ratio >= goal)


def at_most(what: str, ours: str, beside: str, ratio: float, goal: float) -> None:
    """Print a goal where ours over the limit must be at most so much."""
    _say(what, ours, beside, ratio, f"<= {goal:g}", ratio <= goal)


def _say(what: str, ours: str, beside: str, ratio: float, goal: str, met: bool) -> None:
    shown = f"{ratio:.0f}" if ratio >= 20 else f"{ratio:.2g}"
    print(MARK + " | ".join((what, ours, beside, shown, goal, "met" if met else "missed")), flush=True)


def goal_rows(printed: str) -> list[str]:
    """The goals among what scripts printed, as rows of a table, with the date."""
    found = [line.removeprefix(MARK) for line in printed.splitlines() if line.startswith(MARK)]
    return [f"| {line} | {datetime.now(UTC):%Y-%m-%d} |" for line in found]


def goal_table(rows: list[str]) -> str:
    """Rows under their head.

    >>> print(goal_table(["| fit | 1 s | 50 s | 50 | >= 50 | met | 2026-11-16 |"]))
    | what | ours | beside | ratio | goal |  | measured |
    |---|---|---|---|---|---|---|
    | fit | 1 s | 50 s | 50 | >= 50 | met | 2026-11-16 |
    """
    return "\n".join([f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD), *rows])


def renewed(text: str, rows: list[str]) -> list[str]:
    """The rows of a page's table of goals, those measured anew replaced, new ones added.

    >>> renewed("| a | 1 | met | yesterday |", ["| b | 2 | met | today |", "| a | 3 | met | today |"])
    ['| a | 3 | met | today |', '| b | 2 | met | today |']
    """
    kept = {line.split(" | ")[0]: line for line in text.splitlines() if line.startswith("| ")}
    kept.pop(f"| {HEAD[0]}", None)
    return list((kept | {row.split(" | ")[0]: row for row in rows}).values())


def machine() -> str:
    """Where and when it was measured."""
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
    """The text with `content` between the marks of that name; at the end, with a heading, where there are none.

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
    """Put what each script printed into README.md, and its goals into the table of all; other scripts' goals stay."""
    text = README.read_text(encoding="utf-8")
    begin, end = "<!-- goals begins -->", "<!-- goals ends -->"
    before = text[text.index(begin) : text.index(end)] if begin in text else ""
    rows = renewed(before, goal_rows("\n".join(printed.values())))
    text = put(text, "goals", f"{goal_table(rows)}\n\nLast: {machine()}")
    for name, output in printed.items():
        lines = [line for line in output.splitlines() if not line.startswith(MARK)]
        text = put(text, f"{name}.py", "```\n" + "\n".join(lines).strip("\n") + "\n```")
    README.write_text(text, encoding="utf-8")
