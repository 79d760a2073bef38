"""Record what stages of the line say now: python -m tests.recorded [fits/hierarchical claims/anonymous ...]

Without names, all of them.  Record a stage anew only where its numbers change on purpose, and say why in the commit.
All numbers come from one kind of machine: where another rounds otherwise, all are recorded or none.
"""

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in every test: more threads add up in another order

from .designs import SETS, is_here
from .stages import ARITHMETIC, arithmetic, as_recorded, record, stages

missing = [name for name in SETS if not is_here(name)]
if missing:
    sys.exit(f"Not here: {', '.join(missing)}. Set MAJORANT_DATA to the folder of the public sets.")
if sys.argv[1:] and not as_recorded():
    sys.exit("The other numbers were recorded on a machine that rounds otherwise: record all, or stay with that kind.")
for stage in sys.argv[1:] or stages():
    print(record(stage))
ARITHMETIC.write_text(f"{arithmetic()}\n", encoding="utf-8")
