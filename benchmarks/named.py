"""What does the bootstrap of the named claim cost, in fits?  200 replicates on 1e5 votes of two classes; goal: 30.

Time as it passes, best of a few: measure on a quiet machine.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter

import numpy as np

import board
from majorant.evidence.certificate.bootstrap import Case
from majorant.evidence.certificate.bootstrap_claims import named_claim
from majorant.items import merge_equal_items
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.refit import refit_dawid_skene
from majorant.simulate import one_coin_crew, simulate
from majorant.votes import Votes


def best_of(times: int, call) -> float:  # type: ignore[no-untyped-def]
    seconds = []
    for _ in range(times):
        start = perf_counter()
        call()
        seconds.append(perf_counter() - start)
    return min(seconds)


def claim(votes: Votes) -> None:
    merged = merge_equal_items(votes)
    rows, copies = (votes, None) if merged is None else (merged.votes, merged.weight_p)
    fit = DawidSkene().fit(rows, weights=copies)
    named_claim(Case(votes=rows, fit=fit, refit=partial(refit_dawid_skene, rows), copies=copies), level=0.95, rng=1)


def main() -> None:
    for name, skill, n_items, n_votes in (
        ("panel of 5", [0.7, 0.72, 0.75, 0.78, 0.8], 20_000, 5),
        ("crowd, 5 votes", np.linspace(0.6, 0.9, 100), 20_000, 5),
        ("crowd, 3 votes", np.linspace(0.6, 0.9, 100), 33_333, 3),
    ):
        votes = simulate([0.5, 0.5], one_coin_crew(skill), n_items, n_votes, rng=0).votes
        fit = best_of(5, lambda: DawidSkene().fit(votes))  # noqa: B023
        whole = best_of(3, lambda: claim(votes))  # noqa: B023
        told = (f"{whole * 1e3:.0f} ms", f"a fit, {fit * 1e3:.1f} ms")
        board.at_most(f"named claim, {name}, 1e5 votes", *told, whole / fit, 30)
        print(f"{name:14s} {votes.n_votes:,} votes: named claim = {whole / fit:6.1f} fits of {fit * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
