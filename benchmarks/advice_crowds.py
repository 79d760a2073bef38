"""Simulated crowds for `advice.py`: many shapes of data, and many ways in which votes go wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from majorant.simulate import simulate
from majorant.values import FloatArray
from majorant.votes import Votes

# items, workers, classes, votes an item; a few workers give most of the votes
SHAPES = {
    "few items": (110, 39, 2, 39),
    "two classes": (800, 160, 2, 10),
    "thin": (2000, 200, 2, 4),
    "rare class": (1000, 80, 2, 5),
    "four classes": (600, 27, 4, 9),
    "five classes": (1500, 170, 5, 6),
    "eight, thin": (800, 59, 8, 3),
}
# workers who are alike, or nearly: prior, accuracy, votes an item, votes a worker, spread of the workers' log-odds
ALIKE = {
    "alike, 20 votes a worker": ((0.7, 0.3), 0.82, 5, 20, 0.0),
    "alike, 5 votes a worker": ((0.5, 0.5), 0.75, 5, 5, 0.0),
    "alike, 3 votes an item": ((0.5, 0.5), 0.8, 3, 20, 0.0),
    "alike, prior .7, 3 votes an item": ((0.7, 0.3), 0.75, 3, 20, 0.0),
    "alike, four classes": ((0.25,) * 4, 0.7, 5, 20, 0.0),
    "nearly alike": ((0.6, 0.4), 0.8, 5, 20, 0.3),
}
SIZES = (250, 1_000, 2_500, 6_000)  # items
KINDS = ("coins", "matrices", "habits", "spammers", "hard items", "shared errors", "matrices, shared errors")


def crowds(seed: int) -> Iterator[tuple[str, Votes]]:
    """One crowd of each kind and shape on which majority vote is right more often than on six items in ten."""
    for s, shape in enumerate(SHAPES):
        for k, kind in enumerate(KINDS):
            votes = draw(shape, kind, np.random.default_rng([seed, s, k]))
            counts_ik = np.zeros((len(votes.items), len(votes.labels)))
            np.add.at(counts_ik, (votes.item_n, votes.label_n), 1)
            if votes.gold_i is not None and (counts_ik.argmax(axis=1) == votes.gold_i).mean() > 0.6:
                yield f"{shape}: {kind}", votes


def alike_crowds(seed: int) -> Iterator[tuple[str, Votes]]:
    """Crowds whose workers are alike, or nearly, at four sizes: there is nothing to gain from who voted."""
    for k, (kind, (prior_k, accuracy, n_votes, per_worker, spread)) in enumerate(ALIKE.items()):
        for n_items in SIZES:
            rng = np.random.default_rng([seed, k, n_items])
            n_workers, n_classes = n_items * n_votes // per_worker, len(prior_k)
            odds_j = accuracy / (1 - accuracy) * np.exp(rng.normal(0, spread, size=n_workers))
            right_j = (odds_j / (1 + odds_j))[:, None, None]
            right_kl = np.eye(n_classes)
            confusion_jkl = right_j * right_kl + (1 - right_j) / (n_classes - 1) * (1 - right_kl)
            votes, _ = simulate(prior_k, confusion_jkl, n_items, n_votes, rng=rng, gold=1.0)
            yield f"{kind}: {n_items:,} items", votes


def draw(shape: str, kind: str, rng: np.random.Generator) -> Votes:
    """Votes of a crowd with the truth as gold."""
    n_items, n_workers, n_classes, n_votes = SHAPES[shape]
    prior_k = np.array([0.92, 0.08]) if shape == "rare class" else rng.dirichlet(np.full(n_classes, 4.0))
    truth_i = rng.choice(n_classes, size=n_items, p=prior_k)
    busy_j = np.log(1 / rng.permutation(np.arange(1, n_workers + 1)))
    worker_ih = np.argsort(-(rng.gumbel(size=(n_items, n_workers)) + busy_j), axis=1)[:, :n_votes]
    worker_n, item_n = worker_ih.ravel(), np.repeat(np.arange(n_items), n_votes)
    vote_nl = workers(kind, n_workers, n_classes, rng)[worker_n, truth_i[item_n]]
    vote_nl = misled(kind, vote_nl, item_n, worker_n, truth_i, rng)
    label_n = (np.cumsum(vote_nl, axis=1)[:, :-1] < rng.random(len(item_n))[:, None]).sum(axis=1)
    names = {"items": range(n_items), "workers": range(n_workers), "labels": range(n_classes)}
    return Votes.from_codes(item_n, worker_n, label_n, **names, gold=truth_i)


def workers(kind: str, n_workers: int, n_classes: int, rng: np.random.Generator) -> FloatArray:
    """The confusion matrix of each worker."""
    right_kl = np.eye(n_classes)
    usual = (0.72 if n_classes == 2 else 0.66) + rng.uniform(-0.08, 0.1)
    habit_jl = rng.dirichlet(np.full(n_classes, 0.5), size=n_workers)
    if kind.startswith("matrices"):  # rows around those of the crowd, whose wrong labels go where they are drawn to
        right_k = np.clip(usual + rng.normal(0, 0.12, size=n_classes), 0.35, 0.95)
        wrong_kl = (rng.dirichlet(np.full(n_classes, 0.5), size=n_classes) + 1e-3) * (1 - right_kl)
        wrong_kl *= ((1 - right_k) / wrong_kl.sum(axis=1))[:, None]
        crowd_kl = right_k[:, None] * right_kl + wrong_kl
        strength = rng.choice([4, 8, 15])
        return np.array([[rng.dirichlet(strength * row_l + 0.05) for row_l in crowd_kl] for _ in range(n_workers)])
    if kind == "habits":
        knows_j = rng.beta(3, 2, size=n_workers)[:, None, None]
        return np.asarray(knows_j * right_kl + (1 - knows_j) * habit_jl[:, None, :])
    skill_j = np.clip(usual + rng.normal(0, 0.13, size=n_workers), 0.3 if n_classes > 2 else 0.42, 0.97)[:, None, None]
    coins_jkl = skill_j * right_kl + (1 - skill_j) / (n_classes - 1) * (1 - right_kl)
    if kind == "spammers":
        return np.where((rng.random(n_workers) < 0.4)[:, None, None], habit_jl[:, None, :], coins_jkl)
    return np.asarray(coins_jkl)


def misled(
    kind: str,
    vote_nl: FloatArray,
    item_n: NDArray[np.intp],
    worker_n: NDArray[np.intp],
    truth_i: NDArray[np.intp],
    rng: np.random.Generator,
) -> FloatArray:
    """The probabilities of each vote where items are hard, or where a part of a class looks like another class."""
    n_items, n_classes = len(truth_i), vote_nl.shape[1]
    if kind == "hard items":
        knows_i = 0.25 + 0.75 * rng.beta(2, 1.2, size=n_items)
        decoy_i = (truth_i + 1 + rng.integers(n_classes - 1, size=n_items)) % n_classes
        else_il = 0.6 * np.eye(n_classes)[decoy_i] + 0.4 / n_classes
        return np.asarray(knows_i[item_n, None] * vote_nl + ((1 - knows_i)[:, None] * else_il)[item_n])
    if kind.endswith("shared errors"):
        looks_k = (np.arange(n_classes) + 1 + rng.integers(n_classes - 1, size=n_classes)) % n_classes
        falls_n = rng.beta(2, 2, size=worker_n.max() + 1)[worker_n] * (rng.random(n_items) < 0.22)[item_n]
        return np.asarray(
            (1 - falls_n)[:, None] * vote_nl + falls_n[:, None] * np.eye(n_classes)[looks_k[truth_i]][item_n]
        )
    return vote_nl
