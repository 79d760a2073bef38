"""What is proved, whatever the number of items: which numbers of votes, and the share of items.

Which test proves is fixed by the design, before any vote is seen.  One number of votes: tailored linear inversion
proves both.  Several: it proves numbers of votes, one by one, and split e-values the share of items, as all of them
hold together.  Histograms of so many cells that inversion would take too long: split e-values prove both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from majorant.certify.anonymous.evidence import Evidence, Split, narrowest_majority
from majorant.certify.anonymous.likelihood import Cells, Histograms, sides
from majorant.certify.anonymous.tailored.proof import Proof, is_proved, prove

MOST_CELLS = 30  # of all histograms together, for tailored linear inversion


@dataclass(frozen=True, slots=True)
class Proved:
    """Numbers of votes for which majority is proved optimal, and the share of items decided as the best rule would."""

    sizes: frozenset[int]
    share: float


def find_proved(
    histograms: Histograms, held: Cells, evidence: Evidence, cut_up: Split, sizes: Sequence[int], level: float
) -> Proved:
    """What is proved at this level; `held`, `evidence` and `cut_up` are of the histograms, one data set."""
    theta_3, error = evidence.theta_b3[0], 1 - level
    if sum(len(items_k) for items_k in histograms.values()) > MOST_CELLS:
        return by_splits(histograms, held, evidence, cut_up, sizes, level)
    if len(histograms) == 1:
        proof = prove(histograms, sizes[0], theta_3, error)
        return Proved(frozenset(sizes if proof.complete else ()), _share(histograms, [proof]))
    share = by_splits(histograms, held, evidence, cut_up, sizes, level).share
    return Proved(frozenset(h for h in sizes if is_proved(histograms, h, theta_3, error)), share)


def by_splits(
    histograms: Histograms, held: Cells, evidence: Evidence, cut_up: Split, sizes: Sequence[int], level: float
) -> Proved:
    """By split e-values.

    All e-values are beaten by one, that of the true model, so all patterns hold together at the level.  They grow from
    the narrowest majority to the unanimous one: a bisection finds the first that is proved.
    """
    bar = -np.log1p(-level)
    proved = {h for s, h in enumerate(sizes) if evidence.log_e_bh[0, s] >= bar}
    rows = [(h, sign) for h in sizes for sign in (-1, 1)]
    low = [narrowest_majority(h) for h, _ in rows]  # majorities of at least `high` votes are proved, H + 1: none
    high = [low[i] if h in proved else h + 1 for i, (h, _) in enumerate(rows)]
    while any(a < b for a, b in zip(low, high, strict=True)):
        middle = [(a + b) // 2 for a, b in zip(low, high, strict=True)]
        tested = [min(c, h) for c, (h, _) in zip(middle, rows, strict=True)]
        null = sides([(h, c if sign < 0 else h - c, sign) for c, (h, sign) in zip(tested, rows, strict=True)])
        enough = cut_up.log_e_values(held, null)[0] >= bar
        for i, (a, b, c) in enumerate(zip(low, high, middle, strict=True)):
            if a < b:
                low[i], high[i] = (a, c) if enough[i] else (c + 1, b)
    first = dict(zip(rows, high, strict=True))
    return Proved(frozenset(proved), _share(histograms, [Proof(h, first[h, -1], first[h, 1]) for h in sizes]))


def _share(histograms: Histograms, proofs: Sequence[Proof]) -> float:
    certified = sum(proof.items(histograms[proof.n_votes]) for proof in proofs)
    return float(certified / sum(items_k.sum() for items_k in histograms.values()))
