"""Label each item of a file of votes with crowd-kit and cleanlab, with confidence.

    python benchmarks/truth_peers.py VOTES.npz OUT.npz        needs crowd-kit, cleanlab and pandas, not majorant

The file holds item, worker and label codes.  `truth.py` writes it and reads the output.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np


def main() -> None:
    """Run both peers."""
    import cleanlab
    import crowdkit
    import pandas as pd
    from cleanlab.multiannotator import get_label_quality_multiannotator
    from crowdkit.aggregation import DawidSkene

    given = np.load(sys.argv[1])
    item, worker, label, n_classes = given["item"], given["worker"], given["label"], int(given["n_classes"])
    n_items = int(given["n_items"])
    frame = pd.DataFrame({"task": item, "worker": worker, "label": label})
    theirs = DawidSkene(n_iter=100).fit_predict_proba(frame)
    posterior = np.zeros((n_items, n_classes))
    posterior[theirs.index.to_numpy()[:, None], theirs.columns.to_numpy()[None, :]] = theirs.to_numpy()
    # cleanlab wants a classifier's probabilities: smoothed vote shares stand in for one.
    count = np.zeros((n_items, n_classes))
    np.add.at(count, (item, label), 1)
    share = (count + 1 / n_classes) / (count.sum(axis=1, keepdims=True) + 1)
    once = frame.drop_duplicates(["task", "worker"])
    matrix = once.pivot(index="task", columns="worker", values="label").reindex(range(n_items))
    voted = np.flatnonzero(matrix.notna().any(axis=1).to_numpy())
    quality = get_label_quality_multiannotator(matrix.iloc[voted].reset_index(drop=True), share[voted], verbose=False)
    quality = quality["label_quality"]
    consensus, sure = np.full(n_items, -1), np.full(n_items, np.nan)
    consensus[voted] = quality["consensus_label"].to_numpy()
    sure[voted] = quality["consensus_quality_score"].to_numpy()
    np.savez(
        Path(sys.argv[2]),
        crowdkit_label=posterior.argmax(axis=1),
        crowdkit_sure=posterior.max(axis=1),
        cleanlab_label=consensus,
        cleanlab_sure=sure,
        versions=[f"crowd-kit {crowdkit.__version__}", f"cleanlab {cleanlab.__version__}"],
    )


if __name__ == "__main__":
    main()
