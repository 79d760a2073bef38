"""Simulated crowds of each kind: votes, and the truth of each item."""

import numpy as np

from crowds import mixed_crew
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

HALF = [0.5, 0.5]


def coin(skill, n_classes=2):
    return one_coin_workers([skill], n_classes)[0]


KINDS = {
    "all alike": lambda r, n: simulate(HALF, coin(0.75), n, 5, rng=r),
    "one expert": lambda r, n: simulate(HALF, one_coin_workers([0.95, 0.65, 0.65, 0.65, 0.65]), n, 5, rng=r),
    "unequal": lambda r, n: simulate(HALF, one_coin_workers(r.uniform(0.5, 0.95, 40)), n, 5, rng=r),
    "few votes each": lambda r, n: simulate([0.2] * 5, one_coin_workers(r.uniform(0.4, 0.9, n // 3), 5), n, 5, rng=r),
    "spammers": lambda r, n: simulate(HALF, mixed_crew(coin(0.8), 20, spammers=15), n, 5, rng=r),
    "adversaries": lambda r, n: simulate(HALF, mixed_crew(coin(0.85), 20, adversaries=5), n, 5, rng=r),
    "correlated judges": lambda r, n: simulate(
        HALF, one_coin_workers([0.85, 0.8, 0.8, 0.75, 0.75]), n, 5, rng=r, dependence=0.5
    ),
    "hard items": lambda r, n: simulate(HALF, coin(0.75), n, 5, rng=r, concentration=3.0),
    "rare class": lambda r, n: simulate([0.95, 0.05], [[0.9, 0.1], [0.25, 0.75]], n, 5, rng=r),
    "20 classes": lambda r, n: simulate([0.05] * 20, one_coin_workers(r.uniform(0.4, 0.9, 40), 20), n, 4, rng=r),
}


def crowd(kind, seed, n_items):
    """Votes without gold, and with the truth of every item as gold."""
    votes, truth = KINDS[kind](np.random.default_rng([seed, 7]), n_items)
    names = {"items": votes.items, "workers": votes.workers, "labels": votes.labels}
    return votes, Votes.from_codes(votes.item_n, votes.worker_n, votes.label_n, **names, gold=truth)
