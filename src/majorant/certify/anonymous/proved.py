"""What is proved, whatever the number of items: which numbers of votes, and the share of items.

Which test proves is fixed by the design, before any vote is seen.  One number of votes: tailored linear inversion
proves both.  Several: where it proves each of them, all are proved together, since one that is not optimal alone is
proved with no more than the error.  Where it does not, split e-values prove numbers of votes and a share of the items,
as they hold together for all.  Histograms of so many cells
that inversion would take too long: split e-values prove both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from majorant.certify.anonymous.evidence import HistogramEvidence, Split, narrowest_majority
from majorant.certify.anonymous.likelihood import HistogramCells, Histograms, sides
from majorant.certify.anonymous.tailored.invert import Proof, is_proved, prove

MOST_CELLS = 30  # of all histograms together, for tailored linear inversion
SPLITS_SHARE = 0.05  # of the error, for what split e-values prove of the items beside tailored linear inversion


@dataclass(frozen=True, slots=True)
class Proved:
    """Numbers of votes for which majority is proved optimal apart from ties, all of them together at the level.

    And the share of all items that is decided as the best rule would; a tied item is not.
    """

    sizes: frozenset[int]
    share: float


def find_proved(
    histograms: Histograms,
    held: HistogramCells,
    evidence: HistogramEvidence,
    cut_up: Split,
    sizes: Sequence[int],
    level: float,
) -> Proved:
    """What is proved at this level; `held`, `evidence` and `cut_up` are of the histograms, one data set."""
    theta_3, error = evidence.theta_b3[0], 1 - level
    if sum(len(items_k) for items_k in histograms.values()) > MOST_CELLS:
        return by_splits(histograms, held, evidence, cut_up, sizes, level)
    if len(sizes) == 1:
        proof = prove(histograms, sizes[0], theta_3, error, evidence.nearest_bp3[0])
        return Proved(frozenset(sizes if proof.complete else ()), _share(histograms, [proof]))
    by_inversion = (1 - SPLITS_SHARE) * error
    each = (
        is_proved(histograms, h, theta_3, by_inversion, evidence.nearest_bp3[0, 2 * s : 2 * s + 2])
        for s, h in enumerate(sizes)
    )
    if all(each):
        return Proved(frozenset(sizes), _share(histograms, [_every_majority(h) for h in sizes]))
    return by_splits(histograms, held, evidence, cut_up, sizes, 1 - SPLITS_SHARE * error)


def by_splits(
    histograms: Histograms,
    held: HistogramCells,
    evidence: HistogramEvidence,
    cut_up: Split,
    sizes: Sequence[int],
    level: float,
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
    while open_rows := [i for i in range(len(rows)) if low[i] < high[i]]:
        asked = [(*rows[i], (low[i] + high[i]) // 2) for i in open_rows]
        null = sides([(h, k if sign < 0 else h - k, sign) for h, sign, k in asked])
        enough = cut_up.log_e_values(held, null)[0] >= bar
        for i, (_, _, k), found in zip(open_rows, asked, enough, strict=True):
            low[i], high[i] = (low[i], k) if found else (k + 1, high[i])
    first = dict(zip(rows, high, strict=True))
    return Proved(frozenset(proved), _share(histograms, [Proof(h, first[h, -1], first[h, 1]) for h in sizes]))


def _every_majority(n_votes: int) -> Proof:
    narrowest = narrowest_majority(n_votes)
    return Proof(n_votes, narrowest, narrowest)


def _share(histograms: Histograms, proofs: Sequence[Proof]) -> float:
    certified = sum(proof.items(histograms[proof.n_votes]) for proof in proofs)
    return float(certified / max(sum(items_k.sum() for items_k in histograms.values()), 1))
