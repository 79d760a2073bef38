"""What does it cost to start: importing majorant beside numpy, and `majorant --help` beside importing click?

python benchmarks/start.py        seconds
"""

from __future__ import annotations

import subprocess
import sys

import board
from clock import by_turns


def process(*arguments: str) -> None:
    """A Python process of its own, from start to end."""
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def main() -> None:
    """Print each start beside its yardstick, less what an empty Python process takes."""
    rows = {
        "import majorant / import numpy": (["-c", "import majorant"], ["-c", "import numpy"]),
        "use of majorant.Votes / import numpy": (["-c", "import majorant; majorant.Votes"], ["-c", "import numpy"]),
        "majorant --help / import click": (["-m", "majorant", "--help"], ["-c", "import click"]),
    }
    print(f"{'what':<40}{'ours, s':>10}{'theirs, s':>11}{'ratio':>8}{'net ratio':>11}   (goal: 2)")
    for name, (ours, theirs) in rows.items():
        empty, mine, yours = by_turns(
            lambda: process("-c", "pass"), lambda a=ours: process(*a), lambda a=theirs: process(*a), repeats=15
        )
        net = (mine - empty) / (yours - empty)
        print(f"{name:<40}{mine:>10.3f}{yours:>11.3f}{mine / yours:>8.2f}{net:>11.2f}")
        if name.startswith("import majorant"):
            board.at_most("`import majorant`", f"{mine:.3f} s", f"`import numpy` {yours:.3f} s", mine / yours, 2)


if __name__ == "__main__":
    main()
