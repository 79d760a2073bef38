"""How often do split e-values decide where the bootstrap does, on the same votes?  Several classes, and panels.

python benchmarks/split_evalues.py [runs] [items ...]        10 runs of 2,000 items: some two minutes of one processor
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from time import process_time

import numpy as np

from majorant.evidence.certificate.bootstrap_claims import multiclass_claim, named_claim, panel_claim
from majorant.evidence.certificate.certificate import Claim
from majorant.evidence.certificate.universal_inference import with_e_values
from majorant.items import merge_equal_items
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.refit import refit_dawid_skene
from majorant.methods.shared import SharedConfusion
from majorant.simulate import one_coin_crew, simulate
from majorant.votes import Votes

LEVEL = 0.95


def coin(n_classes: int, right: float) -> np.ndarray:  # type: ignore[type-arg]
    """One confusion matrix for all, errors spread evenly."""
    wrong = (1 - right) / (n_classes - 1)
    return wrong + (right - wrong) * np.eye(n_classes)


MODELS = {  # claim, prior, confusions, votes
    "crowd, 3 classes, 3 votes": ("crowd", [1 / 3] * 3, coin(3, 0.73), 3),
    "crowd, 3 classes, 5 votes": ("crowd", [1 / 3] * 3, coin(3, 0.73), 5),
    "crowd, 3 classes, 7 votes": ("crowd", [0.4, 0.3, 0.3], coin(3, 0.73), 7),
    "crowd, 4 classes, 3 votes": ("crowd", [0.25] * 4, coin(4, 0.7), 3),
    "crowd, rare classes": ("crowd", [0.85, 0.1, 0.05], coin(3, 0.73), 5),
    "3 judges alike": ("named", [0.5, 0.5], one_coin_crew([0.8] * 3), 3),
    "5 judges alike": ("named", [0.5, 0.5], one_coin_crew([0.75] * 5), 5),
    "5 judges, one by far the best": ("named", [0.5, 0.5], one_coin_crew([0.55, 0.6, 0.6, 0.7, 0.95]), 5),
    "5 judges unlike": ("named", [0.5, 0.5], one_coin_crew([0.6, 0.65, 0.7, 0.8, 0.9]), 5),
    "5 judges unlike, counts": ("panel", [0.5, 0.5], one_coin_crew([0.65, 0.7, 0.75, 0.8, 0.85]), 5),
}


def bootstrap_claim(kind: str, votes: Votes, rng: np.random.Generator) -> tuple[Claim, Votes, object]:
    """The claim as it is without e-values, and the votes that it rests on."""
    if kind == "crowd":
        claim = multiclass_claim(
            votes, SharedConfusion().fit(votes), partial(refit_dawid_skene, votes), level=LEVEL, rng=rng
        )
        return claim, votes, None
    merged = merge_equal_items(votes)
    assert merged is not None
    rows, copies = merged.votes, merged.weight_p
    fit = DawidSkene(max_iter=5_000).fit(rows, weights=copies)
    ask = named_claim if kind == "named" else panel_claim
    return ask(rows, fit, partial(refit_dawid_skene, rows), level=LEVEL, rng=rng, copies=copies), rows, copies


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for n_items in [int(one) for one in sys.argv[2:]] or [2_000]:
        for name, (kind, prior, confusions, n_votes) in MODELS.items():
            rng, seen, seconds = np.random.default_rng([n_items, n_votes]), Counter[str](), 0.0
            for _ in range(runs):
                votes = simulate(prior, confusions, n_items, n_votes, rng=rng).votes
                claim, rows, copies = bootstrap_claim(kind, votes, rng)
                start = process_time()
                evidence = with_e_values(claim, rows, level=LEVEL, rng=rng, copies=copies).evidence  # type: ignore[arg-type]
                seconds += process_time() - start
                seen[f"bootstrap {claim.verdict}"] += 1
                seen["e-value for"] += evidence["e_value"] >= 1 / (1 - LEVEL)
                seen["e-value against"] += evidence["e_value_against"] >= 1 / (1 - LEVEL)
            found = ", ".join(f"{what} {count}" for what, count in sorted(seen.items()))
            print(f"{name:30s} {n_items:6,} items: {found} of {runs}; {seconds / runs:.2f} s", flush=True)


if __name__ == "__main__":
    main()
