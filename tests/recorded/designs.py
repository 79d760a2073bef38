"""Thirty small designs, simulated, and the eight public sets: the votes of which results are recorded."""

from functools import cache
from typing import Any

import numpy as np

from majorant import datasets
from majorant.simulate import one_coin_workers, simulate
from majorant.votes import Votes

SETS = ("SP", "SP_amt", "ZenCrowd_in", "ZenCrowd_us", "MS", "CF", "CF_amt", "D-Product")
FAIR, RARE, UNEVEN = [0.5, 0.5], [0.85, 0.15], [0.5, 0.3, 0.2]
EVEN = [[0.8, 0.2], [0.2, 0.8]]
SLOPED = [[0.9, 0.1], [0.35, 0.65]]
THREE = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]
FOUR = 0.55 * np.eye(4) + 0.15 * (1 - np.eye(4))
JUDGES = one_coin_workers([0.92, 0.85, 0.8, 0.7, 0.6])
UNLIKE = one_coin_workers(np.linspace(0.55, 0.95, 12))
SPAMMED = np.array([THREE, THREE, np.full((3, 3), 1 / 3)])
MIXED = ([1, 2, 3, 4, 5], [1, 2, 4, 2, 1])  # numbers of votes and how common they are
# prior, confusion, votes on an item, what else `simulate` takes (150 items unless said); the place here is the seed.
DESIGNS: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "crowd of 1": (FAIR, SLOPED, 1, {"n_workers": 8}),
    "crowd of 2": (FAIR, EVEN, 2, {"n_workers": 10}),
    "crowd of 3": (FAIR, EVEN, 3, {"n_workers": 15, "n_items": 1500}),
    "crowd of 4": (FAIR, SLOPED, 4, {"n_workers": 15}),
    "crowd of 5": (FAIR, SLOPED, 5, {"n_workers": 20}),
    "crowd of 6, rare class": (RARE, SLOPED, 6, {"n_workers": 20}),
    "crowd of 7, rare class": (RARE, SLOPED, 7, {"n_workers": 20, "n_items": 1500}),
    "crowd of 1 to 5": (FAIR, SLOPED, MIXED, {"n_workers": 15}),
    "unlike crowd of 3": (FAIR, UNLIKE, 3, {}),
    "unlike crowd of 4": (FAIR, UNLIKE, 4, {"n_items": 1500}),
    "unlike crowd of 5, some gold": (FAIR, UNLIKE, 5, {"gold": 0.3, "n_items": 1500}),
    "unlike crowd of 1 to 5, all gold": (RARE, UNLIKE, MIXED, {"gold": 1.0}),
    "hard items": (FAIR, SLOPED, 5, {"n_workers": 15, "concentration": 3.0}),
    "hard items, some gold": (FAIR, UNLIKE, 3, {"concentration": 2.0, "gold": 0.5}),
    "crowd that copies": (FAIR, SLOPED, 5, {"n_workers": 15, "dependence": 0.6, "n_items": 1500}),
    "panel of 2, some gold": (FAIR, JUDGES[1:3], 2, {"gold": 0.2}),
    "panel of 3": (FAIR, JUDGES[:3], 3, {"n_items": 1500}),
    "panel of 4": (FAIR, JUDGES[:4], 4, {}),
    "panel of 5": (FAIR, JUDGES, 5, {}),
    "panel of 5, rare class": (RARE, JUDGES, 5, {}),
    "panel of 5, some gold": (FAIR, JUDGES, 5, {"gold": 0.4}),
    "panel that copies": (FAIR, JUDGES, 5, {"dependence": 0.7}),
    "panel of two groups": (FAIR, JUDGES[:4], 4, {"dependence": 0.8, "groups": ["a", "a", "b", "b"]}),
    "three classes, crowd of 3": (UNEVEN, THREE, 3, {"n_workers": 12}),
    "three classes, crowd of 4": (UNEVEN, THREE, 4, {"n_workers": 12}),
    "three classes, some gold": (UNEVEN, THREE, 5, {"n_workers": 12, "gold": 0.5}),
    "three classes, panel of 3": (UNEVEN, SPAMMED, 3, {}),
    "four classes, crowd of 5": ([0.25] * 4, FOUR, 5, {"n_workers": 12}),
    "four classes, crowd that copies": ([0.25] * 4, FOUR, 3, {"n_workers": 12, "dependence": 0.5}),
    "four classes, panel of 4, some gold": ([0.4, 0.3, 0.2, 0.1], np.array([FOUR] * 4), 4, {"gold": 0.3}),
}


def is_here(name: str) -> bool:
    """Whether the votes can be had: a design always, a public set where its files are."""
    return name in DESIGNS or all(datasets.local_path(file) is not None for file in datasets.find(name).files)


@cache
def votes_of(name: str) -> Votes:
    """The votes of a design or of a public set."""
    if name not in DESIGNS:
        return datasets.load(name)
    prior, confusion, n_votes, settings = DESIGNS[name]
    arguments = {"n_items": 150, **settings}
    return simulate(prior, confusion, n_votes=n_votes, rng=list(DESIGNS).index(name), **arguments).votes
