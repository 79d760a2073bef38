"""Which parametrisation of the hierarchical model predicts held-out votes best?  Gold labels are never looked at.

`MAJORANT_DATA=... python benchmarks/hierarchical_choice.py`.  A fifth of the votes is held out,
twice; a candidate's score is the mean log-probability of these votes, sum_k posterior_ik confusion_j[k, l].  Printed
for each candidate: what it loses against the best candidate, in nats a vote, on average over data sets, and at worst.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from majorant.datasets import REGISTRY, load, local_path
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.fit import Fit
from majorant.methods.hierarchical import Hierarchical
from majorant.methods.ibcc import IBCC
from majorant.methods.one_coin import OneCoin
from majorant.methods.shared import SharedConfusion
from majorant.votes import Votes

ROUNDS, HELD_OUT = 2, 0.2


def candidates() -> dict[str, Any]:
    """The peers, then the hierarchical model's choices."""
    found: dict[str, Any] = {
        "dawid-skene": DawidSkene(),
        "one-coin": OneCoin(),
        "shared": SharedConfusion(),
        "ibcc": IBCC(),
    }
    for tied, lean, spread in product((True, False), (1.0, 4.0), (None, 0.0, 0.5, 1.0, 2.0)):
        width = "learned" if spread is None else f"{spread}"
        name = f"{'one strength' if tied else 'one per class'}, crowd {4 * lean:g}/{lean:g}, spread {width}"
        found[name] = Hierarchical(tied=tied, right=4 * lean, wrong=lean, spread=spread, tol=1e-4)
    return found


def simulated(kind: str, n_classes: int, rng: np.random.Generator) -> Votes:
    """1,000 items with 5 votes of 40 workers, who are all alike, near or far from the crowd, or have one coin each."""
    n_items, n_workers, n_votes = 1_000, 40, 5
    eye_kl = np.eye(n_classes)
    crowd_kl = 0.7 * eye_kl + 0.3 / (n_classes - 1) * (1 - eye_kl)
    if kind == "alike":
        confusion_jkl = np.repeat(crowd_kl[None], n_workers, axis=0)
    elif kind == "coins":
        skill_j = rng.beta(5, 2, size=n_workers)[:, None, None]
        confusion_jkl = skill_j * eye_kl + (1 - skill_j) / (n_classes - 1) * (1 - eye_kl)
    else:
        strength = {"near": 30.0, "far": 3.0}[kind]
        confusion_jkl = np.stack([[rng.dirichlet(strength * row) for row in crowd_kl] for _ in range(n_workers)])
    truth_i, item_n = rng.integers(n_classes, size=n_items), np.repeat(np.arange(n_items), n_votes)
    worker_n = rng.integers(n_workers, size=len(item_n))
    below_nl = np.cumsum(confusion_jkl[worker_n, truth_i[item_n]], axis=1)[:, :-1] < rng.random(len(item_n))[:, None]
    names = {"items": range(n_items), "workers": range(n_workers), "labels": range(n_classes)}
    return Votes.from_codes(item_n, worker_n, below_nl.sum(axis=1), **names)


def score(model: Any, votes: Votes, rng: np.random.Generator) -> float:
    """The mean log-probability of held-out votes."""
    out_n = rng.random(votes.n_votes) < HELD_OUT
    names = {"items": votes.items, "workers": votes.workers, "labels": votes.labels}
    kept = Votes.from_codes(votes.item_n[~out_n], votes.worker_n[~out_n], votes.label_n[~out_n], **names)
    answer: Fit = model.fit(kept)
    assert answer.confusion is not None
    n_classes = len(votes.labels)
    confusion_jkl = np.broadcast_to(answer.confusion, (len(votes.workers), n_classes, n_classes))
    of_class_nk = confusion_jkl[votes.worker_n[out_n], :, votes.label_n[out_n]]
    return float(np.log((answer.posterior[votes.item_n[out_n]] * of_class_nk).sum(axis=1)).mean())


def main() -> None:
    here = (name for name, one in REGISTRY.items() if all(local_path(file) is not None for file in one.files))
    sets = {name: load(name) for name in here}
    rng = np.random.default_rng(0)
    for kind, n_classes in product(("alike", "near", "far", "coins"), (2, 3, 10)):
        sets[f"{kind}, {n_classes} classes"] = simulated(kind, n_classes, rng)
    models = candidates()
    score_sm = np.array(
        [
            [np.mean([score(m, votes, np.random.default_rng(r)) for r in range(ROUNDS)]) for m in models.values()]
            for votes in sets.values()
        ]
    )
    loss_sm = score_sm.max(axis=1, keepdims=True) - score_sm
    print(f"{'nats a vote lost on':48}mean   worst  " + "  ".join(f"{name[:9]:>9}" for name in sets))
    for name, loss_s in zip(models, loss_sm.T, strict=True):
        print(f"{name:48}{loss_s.mean():.4f} {loss_s.max():.4f}  " + "  ".join(f"{loss:9.4f}" for loss in loss_s))


if __name__ == "__main__":
    main()
