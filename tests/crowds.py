"""Small random crowds for tests."""

import numpy as np

from majorant.votes import Votes


def random_votes(rng, *, n_items=60, n_workers=9, n_classes=3, n_votes=300, gold=False):
    """Votes in random order and number per item; some items may hold none, some workers may vote twice on one."""
    return Votes.from_codes(
        rng.integers(n_items, size=n_votes),
        rng.integers(n_workers, size=n_votes),
        rng.integers(n_classes, size=n_votes),
        items=[f"item {i}" for i in range(n_items)],
        workers=[f"worker {j}" for j in range(n_workers)],
        labels=[f"label {k}" for k in range(n_classes)],
        gold=rng.integers(-1, n_classes, size=n_items) if gold else None,
    )


def votes_of(rng, confusion, *, n_items, n_votes, prior=None):
    """`n_votes` votes an item by workers drawn with replacement, each with its confusion (J, K, K); and the truth."""
    J, K, _ = confusion.shape
    truth = rng.choice(K, size=n_items, p=prior)
    item = np.repeat(np.arange(n_items), n_votes)
    worker = rng.integers(J, size=len(item))
    below = np.cumsum(confusion[worker, truth[item]], axis=1)[:, :-1] < rng.random(len(item))[:, None]
    names = {"items": range(n_items), "workers": range(J), "labels": range(K)}
    return Votes.from_codes(item, worker, below.sum(axis=1), **names), truth


def coins(skill, n_classes):
    """Confusion matrices of workers who are right with one probability each and wrong evenly."""
    skill = np.asarray(skill)[:, None, None]
    eye = np.eye(n_classes)
    return skill * eye + (1 - skill) / (n_classes - 1) * (1 - eye)
