"""Record crowd-kit's results on a few small frames: `python tests/compat/peer.py > tests/compat/crowdkit.json`.

Needs crowd-kit 1.4 with pandas 2, which breaks ties by the sorted order of labels; with pandas 3 it is by row order.
"""

import importlib
import json
import warnings

import numpy as np
import pandas as pd

SETTINGS = {
    "MajorityVote": {},
    "Wawa": {},
    "ZeroBasedSkill": {"n_iter": 20},
    "DawidSkene": {},
    "OneCoinDawidSkene": {},
    "MMSR": {},
    "GLAD": {},
    "MACE": {"n_restarts": 2, "n_iter": 20},
    "KOS": {},
}
PARTS = ("probas_", "scores_", "skills_", "priors_", "errors_", "alphas_", "betas_")
CASES = ((2, 0), (2, 1), (3, 2))  # labels, seed


def frame(n_labels: int, seed: int, n_tasks: int = 40, n_workers: int = 8, n_votes: int = 5) -> pd.DataFrame:
    """Votes of workers who are right with probabilities from .6 to .95, and else give any label."""
    rng = np.random.default_rng(seed)
    right_j = rng.uniform(0.6, 0.95, n_workers)
    rows = []
    for task in range(n_tasks):
        truth = rng.integers(n_labels)
        for j in rng.choice(n_workers, n_votes, replace=False):
            label = truth if rng.random() < right_j[j] else rng.integers(n_labels)
            rows.append((f"t{task:02}", f"w{j}", f"l{label}"))
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def names(n_labels: int) -> list[str]:
    return [name for name in SETTINGS if n_labels == 2 or name != "KOS"]


def peer(name: str, data: pd.DataFrame) -> dict[str, list]:
    """What crowd-kit learns; its check for a fit fails with newer scikit-learn."""
    for module in ("wawa", "zero_based_skill"):
        importlib.import_module(f"crowdkit.aggregation.classification.{module}").check_is_fitted = lambda *_, **__: None
    import crowdkit.aggregation

    model = getattr(crowdkit.aggregation, name)(**SETTINGS[name])
    labels = model.fit_predict(data).sort_index()
    found = {"task": labels.index.tolist(), "label": labels.tolist()}
    for part in PARTS:
        table = getattr(model, part, None)
        if table is not None:
            table = table.sort_index()
            found[part] = (table[sorted(table.columns)] if table.ndim == 2 else table).round(6).to_numpy().tolist()
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    recorded = {
        f"{n_labels}-{seed}": {name: peer(name, frame(n_labels, seed)) for name in names(n_labels)}
        for n_labels, seed in CASES
    }
    print(json.dumps(recorded, indent=None, separators=(",", ":")))
