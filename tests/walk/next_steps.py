"""Follow the commands printed after `Next`: paste each one and label the items that it draws."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Callable
from pathlib import Path

from transcripts import run_majorant


def next_command(printed: str) -> str | None:
    """The last command that the printed advice (`Next`, `Then`) names."""
    tail = re.split(r"^(?:Next|Then) ", printed, flags=re.MULTILINE)[1:]
    found = re.findall(r"(?:^ *|then )(majorant (?!label).*)$", tail[-1], re.MULTILINE) if tail else []
    return found[-1] if found else None


def fill_in(path: Path, label: Callable[[str], str]) -> None:
    """Label the open rows of a file for an expert."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "label": row["label"] or label(row["item"])} for row in rows)


def follow(command: str, folder: Path, label: Callable[[str], str], limit: int = 9) -> list[str]:
    """The commands from the first to the last, each the `Next` of the one before; raise where one fails."""
    done: list[str] = []
    following: str | None = command
    while following is not None and len(done) < limit:
        code, printed, said = run_majorant(shlex.split(following), folder)
        assert code == 0, f"{done} -> {following}: exit code {code}\n{printed}{said}"
        done.append(following)
        for design in folder.glob("*.design.json"):
            fill_in(Path(str(design).removesuffix(".design.json") + ".csv"), label)
        following = next_command(printed)
    return done
