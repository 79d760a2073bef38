"""`python -m majorant` is `majorant`."""

import sys
from pathlib import Path

# Python puts the current folder first on the path, where a table named json.py would be taken for a module.
if not sys.flags.safe_path and Path(sys.path[0]) == Path.cwd() != Path(__file__).parent.parent:
    del sys.path[0]

from majorant.cli import main

main()
