"""Every benchmark, one after the other: `make bench`, or `python -m benchmarks start majority` for some."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
HELPERS = {"__main__", "clock", "advice_crowds", "large_files"}


def main() -> None:
    """Run each script in a process of its own, so that none inherits another's memory or caches."""
    scripts = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in HELPERS)
    for name in sys.argv[1:] or scripts:
        print(f"\n== benchmarks/{name}.py", flush=True)
        subprocess.run([sys.executable, HERE / f"{name}.py"], check=True)


if __name__ == "__main__":
    main()
