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


def informed_votes(rng, *, n_items=60, n_workers=9, n_classes=3, n_votes=300, skill=0.6):
    """Random votes of which the share `skill`, another for each worker, is for the item's true class."""
    votes = random_votes(rng, n_items=n_items, n_workers=n_workers, n_classes=n_classes, n_votes=n_votes)
    truth_i, skill_j = rng.integers(n_classes, size=n_items), rng.uniform(skill - 0.3, skill + 0.3, size=n_workers)
    knows_n = rng.random(votes.n_votes) < skill_j[votes.worker_n]
    label = np.where(knows_n, truth_i[votes.item_n], votes.label_n)
    names = {"items": votes.items, "workers": votes.workers, "labels": votes.labels}
    return Votes.from_codes(votes.item_n, votes.worker_n, label, **names, gold=truth_i)


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


def foolable_votes(rng, *, n_items, n_workers, n_votes, hard):
    """Votes where a share of the items is hard: there each worker is misled as often as is their own weakness."""
    truth_i, hard_i = rng.integers(2, size=n_items), rng.random(n_items) < hard
    weak_j = rng.beta(2, 3, size=n_workers)
    item_n = np.repeat(np.arange(n_items), n_votes)
    worker_n = np.concatenate([rng.choice(n_workers, n_votes, replace=False) for _ in range(n_items)])
    wrong_n = np.where(hard_i[item_n], weak_j[worker_n], 0.12)
    label_n = np.where(rng.random(len(item_n)) < wrong_n, 1 - truth_i[item_n], truth_i[item_n])
    names = {"items": range(n_items), "workers": range(n_workers), "labels": range(2)}
    return Votes.from_codes(item_n, worker_n, label_n, **names, gold=truth_i)


def mixed_crew(confusion, honest, *, spammers=0, adversaries=0):
    """Honest workers, then spammers who label at random, then adversaries who report the next label after their own."""
    confusion_kl = np.asarray(confusion, dtype=float)
    kinds = [confusion_kl, np.full_like(confusion_kl, 1 / len(confusion_kl)), np.roll(confusion_kl, 1, axis=1)]
    return np.repeat(kinds, [honest, spammers, adversaries], axis=0)
