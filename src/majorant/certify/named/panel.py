"""The anonymous claim of a panel: its vote counts are not a binomial mixture, so the named model speaks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.certify.certificate import Claim, Verdict
from majorant.certify.named.bootstrap import Case, Replicates, identified, loss_estimate, replicates_of, unidentified
from majorant.certify.named.claim import ASSUMPTIONS, MODEL
from majorant.certify.named.design import FloatArray, WorkerSets, as_copies, worker_sets
from majorant.certify.named.verdicts import (
    RARE_SHARE,
    anonymous_sentence,
    clearly_negative,
    deviation,
    items_to_tell_margin,
    lower_limit,
    weakest_verdict,
)
from majorant.errors import ConfigError
from majorant.theory.checks import safe_log
from majorant.theory.crews import count_distribution

MOST_CELLS = 20_000  # vote counts, before those that do not add up are left out


class Cells(NamedTuple):
    """Untied vote counts of items with one number of votes, under each model b: what majority and its rival deserve.

    `own_bc` is P(counts c, majority's class is true), `best_bc` the same for the best other class.
    """

    n_votes: int
    items: float
    own_bc: FloatArray
    best_bc: FloatArray
    mass_bc: FloatArray  # P(counts c)

    @property
    def odds_bc(self) -> FloatArray:
        """The log-odds of majority's class against the best other; inf for counts that cannot happen."""
        with np.errstate(invalid="ignore"):
            odds_bc = safe_log(self.own_bc) - safe_log(self.best_bc)
        return np.where(np.isnan(odds_bc), np.inf, odds_bc)


def panel_claim(case: Case, *, level: float, rng: int | np.random.Generator) -> Claim:
    """Is majority vote as good as any rule that ignores who voted, for a panel of unlike workers?  At most `supported`.

    The counts of a fixed panel are Poisson-binomial given the class; the margin of each count, and what majority
    loses, are exact for the fitted confusion matrices, one per worker, and uncertain by the bootstrap over items.  The
    shares of the worker sets are taken as they are.
    """
    if not identified(case, level, per_worker=True):
        return unidentified("anonymous", MODEL, ASSUMPTIONS)
    return _claim(case, replicates_of(case, rng), level)


def _claim(case: Case, replicates: Replicates, level: float) -> Claim:
    votes, fit, copies = case.votes, case.fit, case.copies
    assert fit.confusion is not None
    sets, n_items = worker_sets(votes, copies), float(as_copies(votes, copies)[votes.votes_i > 0].sum())
    point = Replicates(prior_bk=fit.prior[None], confusion=fit.confusion[None], loss_b=np.empty(0))
    at_fit, again = ([count_cells(one, model) for one in sets] for model in (point, replicates))
    n_cells = sum(cells.own_bc.shape[1] for cells in at_fit)
    by_votes: dict[int, Verdict] = {
        one.n_votes: _verdict(one, many, n_cells, level) for one, many in zip(at_fit, again, strict=True)
    }
    common = [cells for cells in at_fit if cells.items >= RARE_SHARE * n_items]
    verdict = weakest_verdict([by_votes[cells.n_votes] for cells in common])
    worst = min(common, key=lambda cells: float(cells.odds_bc.min(initial=np.inf)))
    margin = float(worst.odds_bc.min(initial=np.inf))
    margin_b = next(cells for cells in again if cells.n_votes == worst.n_votes).odds_bc.min(axis=1, initial=np.inf)
    more = items_to_tell_margin(margin, float(deviation(margin_b)), n_items, level)
    right, lost = float(_right(at_fit)[0]), float(_loss(at_fit)[0])
    return Claim(
        kind="anonymous",
        verdict=verdict,
        why=anonymous_sentence(verdict, level),
        by_votes=by_votes,
        margin=margin,
        loss=loss_estimate(lost, _loss(again), level, refuted=verdict == "refuted"),
        items_certified=_certified_share(at_fit, again, level),
        evidence={
            "margin low": float(lower_limit(margin_b, level)),
            "majority_accuracy": right,
            "best_accuracy": right + lost,
        },
        model=MODEL,
        assumptions=ASSUMPTIONS,
        more_items=more if verdict == "undecided" else None,
    )


def count_cells(sets: WorkerSets, models: Replicates) -> Cells:
    """The untied vote counts of the items of these worker sets, under each model."""
    n_classes = models.prior_bk.shape[1]
    if (sets.n_votes + 1) ** (n_classes - 1) > MOST_CELLS:
        raise ConfigError(f"{sets.n_votes} votes over {n_classes} classes fall in too many ways to enumerate.")
    total = np.zeros(())
    share_s = sets.items_s / sets.items_s.sum()
    for worker_h, share in zip(sets.worker_sh, share_s, strict=True):
        given_bkc, count_lc = count_distribution(models.confusion[:, worker_h])
        total = total + share * given_bkc
    joint_bkc = models.prior_bk[:, :, None] * total
    top_lc = count_lc == count_lc.max(axis=0)
    untied = np.flatnonzero(top_lc.sum(axis=0) == 1)
    joint_bkc, winner_c = joint_bkc[:, :, untied], top_lc[:, untied].argmax(axis=0)
    own_bc = joint_bkc[:, winner_c, np.arange(len(untied))]
    mass_bc = joint_bkc.sum(axis=1)
    joint_bkc[:, winner_c, np.arange(len(untied))] = -1.0
    return Cells(sets.n_votes, float(sets.items_s.sum()), own_bc, np.maximum(joint_bkc.max(axis=1), 0.0), mass_bc)


def _verdict(at_fit: Cells, again: Cells, n_cells: int, level: float) -> Verdict:
    odds_c, odds_bc = at_fit.odds_bc[0], again.odds_bc
    below = np.flatnonzero(odds_c < 0)
    if clearly_negative(odds_c[below], odds_bc[:, below], n_cells, level).any():
        return "refuted"
    return "supported" if lower_limit(odds_bc.min(axis=1, initial=np.inf), level) > 0 else "undecided"


def _loss(parts: Sequence[Cells]) -> FloatArray:
    """Under each model, what majority gives away per untied item."""
    return _per_untied(parts, [np.maximum(cells.best_bc - cells.own_bc, 0) for cells in parts])


def _right(parts: Sequence[Cells]) -> FloatArray:
    """Under each model, how often majority is right on an untied item."""
    return _per_untied(parts, [cells.own_bc for cells in parts])


def _per_untied(parts: Sequence[Cells], value: Sequence[FloatArray]) -> FloatArray:
    total_b = sum(cells.items * value_bc.sum(axis=1) for cells, value_bc in zip(parts, value, strict=True))
    untied_b = sum(cells.items * cells.mass_bc.sum(axis=1) for cells in parts)
    return np.asarray(total_b / untied_b)


def _certified_share(at_fit: Sequence[Cells], again: Sequence[Cells], level: float) -> float:
    """The share of untied items whose vote counts are, each at the level, decided as the best rule would."""
    kept = total = 0.0
    for one, many in zip(at_fit, again, strict=True):
        certified_c: NDArray[np.bool_] = lower_limit(many.odds_bc, level) > 0
        kept += one.items * float(one.mass_bc[0, certified_c].sum())
        total += one.items * float(one.mass_bc.sum())
    return kept / total
