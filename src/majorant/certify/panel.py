"""The anonymous claim of a panel: its vote counts are not a binomial mixture, so the named model speaks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.certify.bootstrap import (
    RARE_SHARE,
    Case,
    Replicates,
    clearly_negative,
    clearly_positive,
    deviation,
    fresh_to_tell_margin,
    identified,
    loss_estimate,
    lower_limit,
    replicates_of,
    supported_together,
    unidentified,
    weakest_verdict,
)
from majorant.certify.certificate import Claim, Verdict
from majorant.certify.design import WorkerSets, as_copies, leaders, worker_sets
from majorant.certify.named import ASSUMPTIONS, MODEL, NOT_TESTED
from majorant.errors import ConfigError
from majorant.theory.checks import safe_log
from majorant.theory.panel import count_distribution
from majorant.values import FloatArray
from majorant.votes import IntArray
from majorant.wording import anonymous_by_bootstrap, ties_cost

MOST_CELLS = 20_000  # vote counts, before those that do not add up are left out


class PanelCounts(NamedTuple):
    """The vote counts of items with one number of votes, under each model b: what majority and its rival deserve.

    `own_bc` is P(counts c, majority's class is true), for tied counts that of the class which deserves it least at the
    fit; `best_bc` the same for the best other class, `drawn_bc` for majority's draw.
    """

    n_votes: int
    items: float
    own_bc: FloatArray
    best_bc: FloatArray
    drawn_bc: FloatArray
    mass_bc: FloatArray  # P(counts c)
    n_top_c: IntArray  # classes with the most votes

    @property
    def odds_bc(self) -> FloatArray:
        """The log-odds of majority's class against the best other; inf for counts that cannot happen."""
        with np.errstate(invalid="ignore"):
            odds_bc = safe_log(self.own_bc) - safe_log(self.best_bc)
        return np.where(np.isnan(odds_bc), np.inf, odds_bc)

    @property
    def tied_c(self) -> NDArray[np.bool_]:
        """The tied counts."""
        return np.asarray(self.n_top_c > 1)

    @property
    def margin_b(self) -> FloatArray:
        """The smallest log-odds of the counts without a tie."""
        return np.asarray(self.odds_bc[:, ~self.tied_c].min(axis=1, initial=np.inf))

    @property
    def lost_bc(self) -> FloatArray:
        """What majority gives away on each count."""
        return np.asarray(np.maximum(self.best_bc, self.own_bc) - self.drawn_bc)


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
    point = PanelModels(fit.prior[None], fit.confusion[None])
    at_fit = [count_cells(one, point, point) for one in sets]
    again = [count_cells(one, PanelModels(replicates.prior_bk, replicates.confusion), point) for one in sets]
    n_cells = sum(int(cells.n_top_c.sum()) for cells in at_fit)
    common = [n for n, cells in enumerate(at_fit) if cells.items >= RARE_SHARE * n_items]
    fit_margin = np.array([at_fit[n].margin_b[0] for n in common])
    margin_bn = np.stack([again[n].margin_b for n in common], axis=1)
    supported = supported_together(fit_margin, margin_bn, level)
    untied: dict[int, Verdict] = {}
    verdicts: dict[int, Verdict] = {}
    ties_refuted = False
    for n, good in zip(common, supported, strict=True):
        one, clear_c = at_fit[n], _clear(at_fit[n], again[n], n_cells, level)
        untied[one.n_votes] = "refuted" if clear_c[~one.tied_c].any() else "supported" if good else "undecided"
        verdicts[one.n_votes] = "refuted" if clear_c.any() else untied[one.n_votes]
        ties_refuted |= bool(clear_c[one.tied_c].any())
    verdict, apart = weakest_verdict(verdicts.values()), weakest_verdict(untied.values())
    worst = int(fit_margin.argmin())
    more = fresh_to_tell_margin(float(fit_margin[worst]), float(deviation(margin_bn[:, worst])), n_items, level)
    right, lost = float(_right(at_fit)[0]), float(_loss(at_fit)[0])
    tied_i, copies_i = leaders(votes).sum(axis=1) > 1, as_copies(votes, copies)
    tied_share = float(copies_i[tied_i & (votes.votes_i > 0)].sum()) / n_items
    tie_loss = loss_estimate(float(_loss(at_fit, ties=True)[0]), _loss(again, ties=True), level, refuted=ties_refuted)
    return Claim(
        kind="anonymous",
        verdict=verdict,
        why=anonymous_by_bootstrap(verdict, level, untied=apart, ties=ties_cost(tied_share, tie_loss)),
        by_votes=verdicts,
        untied=apart,
        margin=float(fit_margin[worst]),
        loss=loss_estimate(lost, _loss(again), level, refuted=verdict == "refuted"),
        tied_share=tied_share,
        tie_loss=tie_loss,
        items_certified=_certified_share(at_fit, again, level, all_of_them=bool(supported.all())),
        evidence={
            "margin low": float(lower_limit(margin_bn[:, worst], level)),
            "majority_accuracy": right,
            "best_accuracy": right + lost,
        },
        model=MODEL,
        assumptions=ASSUMPTIONS,
        not_tested=NOT_TESTED,
        without_say={cells.n_votes: cells.items / n_items for n, cells in enumerate(at_fit) if n not in common},
        more_items=more if verdict == "undecided" else 0,
    )


class PanelModels(NamedTuple):
    """Class probabilities and confusion matrices of several models."""

    prior_bk: FloatArray
    confusion: FloatArray


def count_cells(sets: WorkerSets, models: PanelModels, at_fit: PanelModels) -> PanelCounts:
    """The vote counts of the items of these worker sets, under each model."""
    n_classes = models.prior_bk.shape[1]
    if (sets.n_votes + 1) ** (n_classes - 1) > MOST_CELLS:
        raise ConfigError(f"{sets.n_votes} votes over {n_classes} classes fall in too many ways to enumerate.")
    joint_bkc, count_lc = _joint(sets, models)
    fit_kc = joint_bkc[0] if models is at_fit else _joint(sets, at_fit)[0][0]
    top_lc = count_lc == count_lc.max(axis=0)
    own_c, row_c = np.where(top_lc, fit_kc, np.inf).argmin(axis=0), np.arange(count_lc.shape[1])
    own_bc, mass_bc = joint_bkc[:, own_c, row_c], joint_bkc.sum(axis=1)
    drawn_bc = (joint_bkc * top_lc).sum(axis=1) / top_lc.sum(axis=0)
    joint_bkc[:, own_c, row_c] = -1.0
    best_bc = np.maximum(joint_bkc.max(axis=1), 0.0)
    items = float(sets.items_s.sum())
    return PanelCounts(sets.n_votes, items, own_bc, best_bc, drawn_bc, mass_bc, top_lc.sum(axis=0))


def _joint(sets: WorkerSets, models: PanelModels) -> tuple[FloatArray, IntArray]:
    """P(class, counts) under each model, (B, K, C), and the counts, (K, C)."""
    total, share_s = np.zeros(()), sets.items_s / sets.items_s.sum()
    for worker_h, share in zip(sets.worker_sh, share_s, strict=True):
        given_bkc, count_lc = count_distribution(models.confusion[:, worker_h])
        total = total + share * given_bkc
    return models.prior_bk[:, :, None] * total, count_lc


def _clear(at_fit: PanelCounts, again: PanelCounts, n_cells: int, level: float) -> NDArray[np.bool_]:
    """The counts that the best rule clearly decides otherwise than majority, all counts tried together."""
    odds_c = at_fit.odds_bc[0]
    below = np.flatnonzero(odds_c < 0)
    clear_c = np.zeros(len(odds_c), dtype=bool)
    clear_c[below] = clearly_negative(odds_c[below], again.odds_bc[:, below], n_cells, level)
    return clear_c


def _loss(parts: Sequence[PanelCounts], *, ties: bool = False) -> FloatArray:
    """Under each model, what majority gives away per item, or on ties alone."""
    return _mean(parts, [cells.lost_bc * cells.tied_c if ties else cells.lost_bc for cells in parts])


def _right(parts: Sequence[PanelCounts]) -> FloatArray:
    """Under each model, how often majority is right on an item."""
    return _mean(parts, [cells.drawn_bc for cells in parts])


def _mean(parts: Sequence[PanelCounts], value: Sequence[FloatArray]) -> FloatArray:
    total_b = sum(cells.items * value_bc.sum(axis=1) for cells, value_bc in zip(parts, value, strict=True))
    return np.asarray(total_b / sum(cells.items for cells in parts))


def _certified_share(
    at_fit: Sequence[PanelCounts], again: Sequence[PanelCounts], level: float, *, all_of_them: bool
) -> float:
    """The share of items whose vote counts are, all together at the level, decided as the best rule would."""
    untied = [~cells.tied_c for cells in at_fit]
    n_tried = sum(int(untied_c.sum()) for untied_c in untied)
    kept = 0.0
    for one, many, untied_c in zip(at_fit, again, untied, strict=True):
        good_c = untied_c
        if not all_of_them:
            good_c = untied_c & clearly_positive(one.odds_bc[0], many.odds_bc, n_tried, level)
        kept += one.items * float(one.mass_bc[0, good_c].sum())
    return min(1.0, kept / sum(cells.items for cells in at_fit))  # probabilities add up but for rounding
