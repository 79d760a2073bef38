"""The public sets for `ask.py`: the items with gold labels, their votes by class, and each rule's posterior.

Models are fitted to all votes of a set, without gold labels.  Fits are cached in the folder MAJORANT_FITS (default:
majorant-fits in the temporary folder), because EBCC takes minutes on the larger sets; delete the folder after changing
an estimator.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from majorant.defaults import WEIGHTED_VOTE as COMBINATION
from majorant.methods import fit_method
from majorant.methods.weighted_vote import combine, members_for
from public_sets import find, load

MEMBERS = ("one-coin", "hierarchical", "ebcc")
METHODS = (*MEMBERS, "majority", "dawid-skene", "glad", "mace")
MEAN = "mean of three"  # the label-free choice of the study that the designs come from
BELIEF = "belief"  # what the models of the combination believe, without the shares of votes
NAMES = {"d_jn-product": "D-Product", "s5_adult_content": "adult"}
ORDER = ["CF", "CF_amt", "MS", "SP", "SP_amt", "ZenCrowd_in", "ZenCrowd_us", "D-Product"]
ORDER += ["d_sentiment", "adult", "fact_eval"]


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Items with votes and gold labels."""

    name: str
    truth_i: NDArray[np.int64]
    counts_ik: NDArray[np.int64]
    posterior_rik: dict[str, NDArray[np.float64]]  # by rule, with MEAN, the combination and BELIEF

    def answers(self, rule: str, rng: np.random.Generator) -> NDArray[np.int64]:
        """The rule's class for each item; ties are broken at random once, as in a file of labels."""
        posterior_ik = self.posterior_rik[rule]
        best_ik = posterior_ik >= posterior_ik.max(axis=1, keepdims=True) - 1e-9
        return np.where(best_ik, rng.random(best_ik.shape), -1.0).argmax(axis=1)


def populations(names: list[str]) -> Iterator[Population]:
    """The named sets (all by default), in the order of the tables."""
    folder = os.environ.get("MAJORANT_DATA")
    if not folder:
        sys.exit("Set MAJORANT_DATA to the folder of the data sets.")
    places = {NAMES.get(name, name): (path, truth) for name, path, truth in find(Path(folder))}
    for name in names or ORDER:
        yield _population(name, *places[name])


def _population(name: str, path: Path, truth: Path | None) -> Population:
    kept = Path(os.environ.get("MAJORANT_FITS", Path(tempfile.gettempdir()) / "majorant-fits")) / f"{name}.npz"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.savez(kept, **_fits(path, truth))
    with np.load(kept) as arrays:
        posterior_rik = {rule: arrays[rule] for rule in (*METHODS, MEAN, COMBINATION, BELIEF)}
        return Population(name, arrays["truth"], arrays["counts"], posterior_rik)


def _fits(path: Path, truth: Path | None) -> dict[str, NDArray[np.float64]]:
    votes = load(path, truth)
    blind = replace(votes, gold_i=None)
    fits = {method: fit_method(method, blind) for method in METHODS}
    fits[MEAN] = combine({method: fits[method] for method in MEMBERS})
    fits[COMBINATION] = combine({method: fits[method] for method in members_for(blind)})
    fits[BELIEF] = combine({method: fits[method] for method in members_for(blind) if method != "majority"})
    assert votes.gold_i is not None
    rows = np.flatnonzero((votes.gold_i >= 0) & (votes.votes_i > 0))
    n_items, _, n_classes = votes.shape
    counts_ik = np.zeros((n_items, n_classes), dtype=np.int64)
    np.add.at(counts_ik, (votes.item_n, votes.label_n), 1)
    kept = {"truth": votes.gold_i[rows].astype(np.int64), "counts": counts_ik[rows]}
    return {**kept, **{method: fit.posterior[rows] for method, fit in fits.items()}}


if __name__ == "__main__":
    for population in populations(sys.argv[1:]):
        shares = {
            rule: (population.answers(rule, np.random.default_rng(0)) == population.truth_i).mean()
            for rule in (*METHODS, MEAN, COMBINATION)
        }
        print(
            population.name,
            len(population.truth_i),
            {rule: round(100 * float(share), 1) for rule, share in shares.items()},
            flush=True,
        )
