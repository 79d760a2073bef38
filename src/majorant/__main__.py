"""Run the command line with `python -m majorant`."""

import sys
from pathlib import Path

# Python puts the current folder first on the path, so a file named json.py in it would shadow the json module.
if not sys.flags.safe_path and Path(sys.path[0]) == Path.cwd() != Path(__file__).parent.parent:
    del sys.path[0]

from majorant.cli import main

main()
