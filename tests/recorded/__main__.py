"""Record the numbers of stages: python -m tests.recorded [fits/hierarchical claims/anonymous ...]

Without names, all of them. Record a stage again only if you change its numbers on purpose, and say why in the commit.
Each file states how the machine rounds that recorded it; tests on machines that round differently allow for that.
"""

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in every test: more threads add up in another order

from .designs import SETS, is_here
from .stages import record, stages

missing = [name for name in SETS if not is_here(name)]
if missing:
    sys.exit(f"These public sets are missing: {', '.join(missing)}. Set MAJORANT_DATA to the folder that has them.")
if unknown := set(sys.argv[1:]) - set(stages()):
    sys.exit(f"No such stage: {', '.join(sorted(unknown))}. Choose from {', '.join(stages())}.")
for stage in sys.argv[1:] or stages():
    print(record(stage))
