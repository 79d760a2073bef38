"""Run the benchmarks one after the other: `make bench`, or `python -m benchmarks methods reading` for some of them.

A name may have arguments, as in `out_of_core=1e8` or `methods=100000`.  `python -m benchmarks --write [names]` also
writes the output and the goals to README.md; the goals of scripts that did not run stay unchanged.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import board

HERE = Path(__file__).parent
HELPERS = {"__main__", "ask_sets", "board", "bundled_sets", "clock", "large_files", "truth_peers"}


def main() -> None:
    """Run each script in its own process, so that scripts do not share memory or caches."""
    names = [argument for argument in sys.argv[1:] if argument != "--write"]
    scripts = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in HELPERS)
    printed, failed = {}, []
    for called in names or scripts:
        name, _, given = called.partition("=")
        print(f"\n== benchmarks/{name}.py {given}", flush=True)
        printed[name], code = run(name, given.split(",") if given else [])
        if code:
            failed.append(name)
    print("\n== goals\n")
    print(board.goal_table(board.goal_rows("\n".join(printed.values()))))
    if "--write" in sys.argv:
        board.write({name: output for name, output in printed.items() if name not in failed})
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}")


def run(name: str, arguments: list[str]) -> tuple[str, int]:
    """Run a script, echo its output, and return the output and the exit code."""
    command = [sys.executable, HERE / f"{name}.py", *arguments]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return "".join(lines), process.returncode


if __name__ == "__main__":
    main()
