"""Record what stages of the line say now: python -m tests.recorded [fits/hierarchical claims/anonymous ...]

Without names, all of them.  Record a stage anew only where its numbers change on purpose, and say why in the commit.
"""

import sys

from .designs import SETS, is_here
from .stages import record, stages

missing = [name for name in SETS if not is_here(name)]
if missing:
    sys.exit(f"Not here: {', '.join(missing)}. Set MAJORANT_DATA to the folder of the public sets.")
for stage in sys.argv[1:] or stages():
    print(record(stage))
