"""Claims whose level comes from the bootstrap over items: by one confusion matrix per worker, or one for all votes.

The named claim: no rule at all beats majority vote.  The anonymous claim of a panel: no rule that ignores who voted
does; its vote counts are not a binomial mixture, so the named model speaks for it.  The anonymous claim for any number
of classes, all votes from one confusion matrix.  Margins are exact for the fitted matrices and uncertain by the
bootstrap, so none of them is more than `supported`.  Statements, levels and limits: docs/theory/named.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.errors import ConfigError
from majorant.evidence.certificate.bootstrap import (
    LEAST,
    Case,
    Replicates,
    clearly_negative,
    clearly_positive,
    deviation,
    fresh_to_tell_margin,
    least_deserving,
    loss_estimate,
    lower_limit,
    majority_losses,
    majority_right,
    replicates_of,
    supported_together,
    vote_odds,
    weakest_verdict,
)
from majorant.evidence.certificate.certificate import (
    NAMED_WORKERS,
    RARE_SHARE,
    SHARED_MATRIX,
    Basis,
    Claim,
    ClaimKind,
    Verdict,
)
from majorant.evidence.certificate.design import WorkerSets, as_copies, leaders, worker_sets
from majorant.limits import sizes_within, too_many_classes
from majorant.methods.fit import Fit
from majorant.tally import Patterns, by_votes, counts, distinct_counts, tied
from majorant.theory.checks import safe_log
from majorant.theory.margin import majority_margins
from majorant.theory.panel import ballot_work, count_distribution, panel_margins
from majorant.values import Estimate, FloatArray, as_level
from majorant.votes import IntArray, Votes
from majorant.wording import (
    NO_THREE_VOTES,
    anonymous_by_bootstrap,
    named_sentence,
    ties_cost,
    too_few_items,
    too_many_votes,
    workers_too_thin,
)

VOTES_PER_CLASS = 20  # that the worker behind the typical vote must have given, or workers cannot be told apart
MARGIN_STEPS = 2e8  # that margins of more than two classes may take
MOST_COUNTS = 20_000  # of a panel's votes, before those that do not add up are left out


class Verdicts(NamedTuple):
    """With ties and apart from them, and the margin that counts, at the fit and in each replicate b."""

    by_votes: Mapping[int, Verdict]
    all: Verdict
    untied: Verdict
    ties_refuted: bool
    margin: float
    margin_b: FloatArray


class MajorityLoss(NamedTuple):
    """How often majority, a fair draw on ties, is right by the fit; what it gives away, of it by ties; replicates b."""

    right: float
    lost: float
    lost_on_ties: float
    lost_b: FloatArray
    lost_on_ties_b: FloatArray
    tied_share: float


def _claim(
    kind: ClaimKind,
    basis: Basis,
    verdicts: Verdicts,
    majority: MajorityLoss,
    level: float,
    *,
    n_items: float,
    items_certified: float,
    without_say: Mapping[int, float] | None = None,
    n_sets: int | None = None,
    n_refuted: int = 0,
) -> Claim:
    """`n_sets` of workers, and `n_refuted` combinations of votes that the best rule decides otherwise, if it knows."""
    verdict, untied = verdicts.all, verdicts.untied
    tie_loss = loss_estimate(majority.lost_on_ties, majority.lost_on_ties_b, level, refuted=verdicts.ties_refuted)
    ties = ties_cost(majority.tied_share, tie_loss)
    why = anonymous_by_bootstrap(verdict, level, untied=untied, ties=ties)
    if kind == "named":
        why = named_sentence(verdict, untied, items_certified, n_refuted, level, ties)
    more = fresh_to_tell_margin(verdicts.margin, float(deviation(verdicts.margin_b)), n_items, level)
    return Claim(
        kind=kind,
        verdict=verdict,
        why=why,
        by_votes=verdicts.by_votes,
        untied=untied,
        margin=verdicts.margin,
        loss=loss_estimate(majority.lost, majority.lost_b, level, refuted=verdict == "refuted"),
        tied_share=majority.tied_share,
        tie_loss=tie_loss,
        items_certified=items_certified,
        evidence={
            "margin low": float(lower_limit(verdicts.margin_b, level)),
            **({} if n_sets is None else {"worker sets": float(n_sets)}),
            "majority_accuracy": majority.right,
            "best_accuracy": majority.right + majority.lost,
        },
        model=basis.model,
        assumptions=basis.assumptions,
        not_tested=basis.not_tested,
        without_say=without_say or {},
        more_items=more if verdict == "undecided" else 0,
    )


def _unidentified(kind: ClaimKind, basis: Basis, why: str = NO_THREE_VOTES) -> Claim:
    """A claim of which these votes say nothing, nor test what it assumes."""
    return Claim(
        kind=kind,
        verdict="unidentified",
        why=why,
        model=basis.model,
        assumptions=basis.assumptions,
        not_tested=basis.assumptions,
    )


def _identified(case: Case, level: float, *, per_worker: bool) -> bool:
    """Whether some item has three votes; refuses a level, or a fit, that no claim can be made with."""
    as_level(level)
    if case.votes.votes_i.max(initial=0) < 3:
        return False
    if case.fit.confusion is None or case.fit.confusion.ndim != (3 if per_worker else 2):
        whose = "one confusion matrix per worker" if per_worker else "one confusion matrix for all"
        raise ConfigError(f"this claim needs {whose}; a {case.fit.method} fit has none.")
    return True


def _majority_loss(votes: Votes, fit: Fit, copies_i: FloatArray, replicates: Replicates) -> MajorityLoss:
    """On the votes seen, given who gave them."""
    assert fit.confusion is not None
    top_ik, voted_i = leaders(votes), votes.votes_i > 0
    right_i = majority_right(votes, top_ik, np.asarray(fit.prior), np.asarray(fit.confusion))
    lost = majority_losses(votes, top_ik, copies_i[None], fit.prior[None], fit.confusion[None])
    return MajorityLoss(
        right=float(copies_i[voted_i] @ right_i[voted_i] / copies_i[voted_i].sum()),
        lost=float(lost.all_b[0]),
        lost_on_ties=float(lost.tied_b[0]),
        lost_b=replicates.loss_b,
        lost_on_ties_b=replicates.tie_loss_b,
        tied_share=_tied_share(votes, copies_i),
    )


def _tied_share(votes: Votes, copies_i: FloatArray) -> float:
    voted_i, tied_i = votes.votes_i > 0, leaders(votes).sum(axis=1) > 1
    return float(copies_i[voted_i & tied_i].sum()) / float(copies_i[voted_i].sum())


class Refuted(NamedTuple):
    """Whether the best rule clearly decides some votes of an untied count otherwise than majority, or of a tied one."""

    untied: bool
    tied: bool


def _refuted(clear_c: NDArray[np.bool_], tied_c: NDArray[np.bool_]) -> Refuted:
    return Refuted(bool((clear_c & ~tied_c).any()), bool((clear_c & tied_c).any()))


def _verdicts_by_size(
    supported: Mapping[int, bool], refuted: Mapping[int, Refuted], margin_n: FloatArray, margin_bn: FloatArray
) -> Verdicts:
    """From what is supported and refuted of each number of votes; the smallest margin counts."""
    untied: dict[int, Verdict] = {
        n: "refuted" if refuted[n].untied else "supported" if good else "undecided" for n, good in supported.items()
    }
    by_votes: dict[int, Verdict] = {n: "refuted" if refuted[n].tied else verdict for n, verdict in untied.items()}
    verdict, apart, worst = weakest_verdict(by_votes.values()), weakest_verdict(untied.values()), margin_n.argmin()
    ties_refuted = any(size.tied for size in refuted.values())
    return Verdicts(by_votes, verdict, apart, ties_refuted, float(margin_n[worst]), margin_bn[:, worst])


# --- rules that know who voted


def named_claim(case: Case, *, level: float, rng: int | np.random.Generator) -> Claim:
    """Is majority vote as good as any rule, given a confusion matrix per worker?  At most `supported`.

    The fit must hold one matrix per worker.  Supported: worker sets whose margin, apart from ties, is above 0 at the
    level hold all but 1 % of the items.  Refuted: on some votes seen another label than majority's, or one of tied
    ones, is more probable at the level.
    """
    if not _identified(case, level, per_worker=True):
        return _unidentified("named", NAMED_WORKERS)
    votes, fit, copies_i = case.votes, case.fit, as_copies(case.votes, case.copies)
    if (thin := thin_claim(votes, copies_i)) is not None:
        return thin
    replicates = replicates_of(case, level, rng)
    margins = set_margins(worker_sets(votes, copies_i), fit, replicates, level)
    refuted, refuted_ties = _refuted_votes(votes, fit, replicates, level)
    return _claim(
        "named",
        NAMED_WORKERS,
        _set_verdicts(margins, replicates, refuted, refuted_ties),
        _majority_loss(votes, fit, copies_i, replicates),
        level,
        n_items=float(copies_i.sum()),
        items_certified=_certified_share(votes, copies_i, margins),
        n_sets=len(margins.votes_s),
        n_refuted=(refuted + refuted_ties).total(),
    )


def thin_claim(votes: Votes, copies_i: FloatArray) -> Claim | None:
    """The claim where workers gave too few votes to be told apart; None where they gave enough.

    Confusion matrices of workers with few votes fit noise, and overstate what knowing them gains.
    """
    given = typical(np.bincount(votes.worker_n, weights=copies_i[votes.item_n]).astype(float))
    if given >= VOTES_PER_CLASS * len(votes.labels):
        return None
    thin = _unidentified("named", NAMED_WORKERS, workers_too_thin(given))
    loss = Estimate(None, reason="too few votes per worker")
    return replace(thin, verdict="undecided", loss=loss, not_tested=NAMED_WORKERS.not_tested)


def typical(votes_j: FloatArray) -> float:
    """How many votes the worker behind the median vote gave, from the numbers of all; 0 without votes.

    >>> typical(np.array([3., 1.]))
    3.0
    """
    rising_j = np.sort(votes_j)
    middle = np.searchsorted(np.cumsum(rising_j), votes_j.sum() / 2)
    return float(rising_j[middle]) if votes_j.any() else 0.0


def _set_verdicts(
    margins: SetMargins, replicates: Replicates, refuted: Mapping[int, int], refuted_ties: Mapping[int, int]
) -> Verdicts:
    """Supported where certified sets hold all but RARE_SHARE of the items; the margin that counts leaves those out."""

    def verdict_of(chosen_s: NDArray[np.bool_], *, against: bool) -> Verdict:
        open_items = margins.items_s[chosen_s & ~margins.certified_s].sum()
        few = open_items <= RARE_SHARE * margins.items_s[chosen_s].sum()
        return "refuted" if against else "supported" if few else "undecided"

    order_s = np.argsort(margins.margin_s, kind="stable")
    passed_s = np.cumsum(margins.items_s[order_s]) > RARE_SHARE * margins.items_s.sum()
    binding, every_s = int(order_s[np.argmax(passed_s)]), np.ones(len(order_s), dtype=bool)
    by_votes = {
        int(n): verdict_of(margins.votes_s == n, against=int(n) in refuted or int(n) in refuted_ties)
        for n in np.unique(margins.votes_s)
    }
    return Verdicts(
        by_votes=by_votes,
        all=verdict_of(every_s, against=bool(refuted or refuted_ties)),
        untied=verdict_of(every_s, against=bool(refuted)),
        ties_refuted=bool(refuted_ties),
        margin=float(margins.margin_s[binding]),
        margin_b=panel_margins(replicates.prior_bk, replicates.confusion, margins.worker[binding][None])[:, 0],
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetMargins:
    """The margin of each worker set at the fit, and whether majority vote is supported as optimal for it."""

    votes_s: IntArray
    items_s: FloatArray
    margin_s: FloatArray  # -inf where not tried
    certified_s: NDArray[np.bool_]
    worker: tuple[IntArray, ...]  # the workers of each set


def set_margins(sets: tuple[WorkerSets, ...], fit: Fit, replicates: Replicates, level: float) -> SetMargins:
    """The exact margin of every worker set at the fit, and whether its lower limit by the replicates is above 0.

    With more than two classes only as many sets are tried, the commonest first, as MARGIN_STEPS allow.
    """
    assert fit.confusion is not None
    n_replicates, n_classes = replicates.prior_bk.shape
    margin, certified = [], []
    for group in sets:
        tried_sh = group.worker_sh
        if n_classes > 2:
            tried_sh = tried_sh[: int(MARGIN_STEPS // (n_replicates * ballot_work(n_classes, group.n_votes)))]
        missing = len(group.worker_sh) - len(tried_sh)
        margin_s = panel_margins(fit.prior, fit.confusion, tried_sh)
        margin.append(np.append(margin_s, np.full(missing, -np.inf)))
        certified.append(np.append(_certified(tried_sh, replicates, level), np.zeros(missing, dtype=bool)))
    return SetMargins(
        votes_s=np.concatenate([np.full(len(group.items_s), group.n_votes) for group in sets]),
        items_s=np.concatenate([group.items_s for group in sets]),
        margin_s=np.concatenate(margin),
        certified_s=np.concatenate(certified),
        worker=tuple(worker_h for group in sets for worker_h in group.worker_sh),
    )


def _certified(worker_sh: IntArray, replicates: Replicates, level: float) -> NDArray[np.bool_]:
    """Whether the lower limit of each set's margin is above 0.

    It is if few enough replicates are not: `lower_limit` takes one of them, so those at 0 or below are counted, and a
    set with too many is not followed further.  Sets near the boundary need all replicates, most need few.
    """
    n_replicates = len(replicates.prior_bk)
    allowed = int(lower_limit(np.arange(float(n_replicates)), level))
    against_s, open_s = np.zeros(len(worker_sh), dtype=np.int64), np.arange(len(worker_sh))
    edges = [0, *range(allowed + 1, n_replicates, 2 * allowed + 10), n_replicates]
    for start, stop in pairwise(edges):
        models = replicates.prior_bk[start:stop], replicates.confusion[start:stop]
        against_s[open_s] += (panel_margins(*models, worker_sh[open_s]) <= 0).sum(axis=0)
        open_s = open_s[against_s[open_s] <= allowed]
        if not len(open_s):
            break
    return against_s <= allowed


def _certified_share(votes: Votes, copies_i: FloatArray, margins: SetMargins) -> float:
    """The share of items, a tied one not, whose workers are a certified set."""
    if not margins.certified_s.any():
        return 0.0
    untied = worker_sets(votes, copies_i * (leaders(votes).sum(axis=1) == 1))
    items = {tuple(worker_h): n for group in untied for worker_h, n in zip(group.worker_sh, group.items_s, strict=True)}
    certified = (margins.worker[s] for s in np.flatnonzero(margins.certified_s))
    return float(sum(items[tuple(worker_h)] for worker_h in certified) / margins.items_s.sum())


def _refuted_votes(votes: Votes, fit: Fit, replicates: Replicates, level: float) -> tuple[Counter[int], Counter[int]]:
    """For each number of votes, how many of the vote patterns seen are clearly decided otherwise by the best rule.

    First those without a tie, then tied ones whose labels are not alike; all of them tried together.
    """
    assert fit.confusion is not None
    top_ik, models = leaders(votes), (fit.prior[None], fit.confusion[None])
    item = np.flatnonzero(votes.votes_i > 0)
    label_i = least_deserving(votes, top_ik, *models)
    odds_i = vote_odds(votes, item, label_i[item], *models)[0]
    chosen = item[odds_i < 0]
    odds_bi = vote_odds(votes, chosen, label_i[chosen], replicates.prior_bk, replicates.confusion)
    clear_i = clearly_negative(odds_i[odds_i < 0], odds_bi, int(top_ik[item].sum()), level)
    tied_i = top_ik.sum(axis=1)[chosen] > 1
    untied, tied = (Counter(votes.votes_i[chosen[some_i]].tolist()) for some_i in (clear_i & ~tied_i, clear_i & tied_i))
    return untied, tied


# --- rules that ignore who voted, for a panel


def panel_claim(case: Case, *, level: float, rng: int | np.random.Generator) -> Claim:
    """Is majority vote as good as any rule that ignores who voted, for a panel of unlike workers?  At most `supported`.

    The counts of a fixed panel are Poisson-binomial given the class; the margin of each count, and what majority
    loses, are exact for the fitted confusion matrices, one per worker, and uncertain by the bootstrap over items.  The
    shares of the worker sets are taken as they are.
    """
    if not _identified(case, level, per_worker=True):
        return _unidentified("anonymous", NAMED_WORKERS)
    if not can_count(case.votes):
        n_votes, n_classes = case.votes.votes_i.max(), len(case.votes.labels)
        raise ConfigError(f"{n_votes} votes over {n_classes} classes fall in too many ways to enumerate.")
    replicates = replicates_of(case, level, rng)
    votes, fit, copies_i = case.votes, case.fit, as_copies(case.votes, case.copies)
    assert fit.confusion is not None
    point, sets = PanelModels(fit.prior[None], fit.confusion[None]), worker_sets(votes, copies_i)
    at_fit = [count_cells(group, point, point) for group in sets]
    again = [count_cells(group, PanelModels(replicates.prior_bk, replicates.confusion), point) for group in sets]
    n_items = float(copies_i[votes.votes_i > 0].sum())
    common = [n for n, cells in enumerate(at_fit) if cells.items >= RARE_SHARE * n_items]
    margin_n = np.array([at_fit[n].margin_b[0] for n in common])
    margin_bn = np.stack([again[n].margin_b for n in common], axis=1)
    supported = dict(
        zip((at_fit[n].n_votes for n in common), supported_together(margin_n, margin_bn, level), strict=True)
    )
    refuted = _refuted_panel_counts(at_fit, again, common, level)
    return _claim(
        "anonymous",
        NAMED_WORKERS,
        _verdicts_by_size(supported, refuted, margin_n, margin_bn),
        MajorityLoss(
            right=float(_mean(at_fit, [cells.drawn_bc for cells in at_fit])[0]),
            lost=float(_loss(at_fit)[0]),
            lost_on_ties=float(_loss(at_fit, ties=True)[0]),
            lost_b=_loss(again),
            lost_on_ties_b=_loss(again, ties=True),
            tied_share=_tied_share(votes, copies_i),
        ),
        level,
        n_items=n_items,
        items_certified=_certified_counts(at_fit, again, level, all_of_them=all(supported.values())),
        without_say={cells.n_votes: cells.items / n_items for n, cells in enumerate(at_fit) if n not in common},
    )


def can_count(votes: Votes) -> bool:
    """Whether the votes of a panel fall in few enough ways to go through all of them."""
    ways: int = (int(votes.votes_i.max(initial=0)) + 1) ** (len(votes.labels) - 1)
    return ways <= MOST_COUNTS


class PanelModels(NamedTuple):
    """Class probabilities and confusion matrices of several models."""

    prior_bk: FloatArray
    confusion: FloatArray


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


def count_cells(sets: WorkerSets, models: PanelModels, at_fit: PanelModels) -> PanelCounts:
    """The vote counts of the items of these worker sets, under each model."""
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


def _refuted_panel_counts(
    at_fit: Sequence[PanelCounts], again: Sequence[PanelCounts], common: Sequence[int], level: float
) -> dict[int, Refuted]:
    """For each common number of votes, all vote counts tried together."""
    n_tried, refuted = sum(int(cells.n_top_c.sum()) for cells in at_fit), {}
    for n in common:
        odds_c = at_fit[n].odds_bc[0]
        below = np.flatnonzero(odds_c < 0)
        clear_c = clearly_negative(odds_c[below], again[n].odds_bc[:, below], n_tried, level)
        refuted[at_fit[n].n_votes] = _refuted(clear_c, at_fit[n].tied_c[below])
    return refuted


def _loss(parts: Sequence[PanelCounts], *, ties: bool = False) -> FloatArray:
    """Under each model, what majority gives away per item, or on ties alone."""
    return _mean(parts, [cells.lost_bc * cells.tied_c if ties else cells.lost_bc for cells in parts])


def _mean(parts: Sequence[PanelCounts], value: Sequence[FloatArray]) -> FloatArray:
    total_b = sum(cells.items * value_bc.sum(axis=1) for cells, value_bc in zip(parts, value, strict=True))
    return np.asarray(total_b / sum(cells.items for cells in parts))


def _certified_counts(
    at_fit: Sequence[PanelCounts], again: Sequence[PanelCounts], level: float, *, all_of_them: bool
) -> float:
    """The share of items whose vote counts are, all together at the level, decided as the best rule would."""
    untied = [~cells.tied_c for cells in at_fit]
    n_tried = sum(int(untied_c.sum()) for untied_c in untied)
    kept = 0.0
    for fitted, resampled, untied_c in zip(at_fit, again, untied, strict=True):
        good_c = untied_c
        if not all_of_them:
            good_c = untied_c & clearly_positive(fitted.odds_bc[0], resampled.odds_bc, n_tried, level)
        kept += fitted.items * float(fitted.mass_bc[0, good_c].sum())
    return min(1.0, kept / sum(cells.items for cells in at_fit))  # probabilities add up but for rounding


# --- rules that ignore who voted, for any number of classes


def multiclass_claim(case: Case, *, level: float, rng: int | np.random.Generator) -> Claim:
    """Is majority vote as good as any rule that ignores who voted, for two or more classes?  At most `supported`.

    The fit must hold one confusion matrix (K, K) for all votes, at the best of several starts.  Supported:
    for every number of votes with at least 1 % of the items, the exact margin of untied votes is above 0 at the level.
    Refuted: for some vote counts seen, another label than majority's, or one of tied ones, is more probable.
    """
    if not _identified(case, level, per_worker=False):
        return _unidentified("anonymous", SHARED_MATRIX)
    votes = case.votes
    n_items, _, n_classes = votes.shape
    if too_many_classes(n_classes, n_items):
        return _unidentified("anonymous", SHARED_MATRIX, too_few_items(n_items, n_classes))
    copies_i, counts_ik = as_copies(votes, case.copies), counts(votes)
    items_n = np.bincount(votes.votes_i, weights=copies_i)
    sizes = sizes_within({int(n): float(items_n[n]) for n in np.flatnonzero(items_n) if n > 0})
    if not sizes:
        return _unidentified("anonymous", SHARED_MATRIX, too_many_votes(int(votes.votes_i[votes.votes_i > 0].min())))
    fit, n_voted = align(case.fit), float(items_n[1:].sum())
    assert fit.confusion is not None
    replicates = replicates_of(replace(case, fit=fit), level, rng)
    common = [n for n in sizes if items_n[n] >= RARE_SHARE * n_voted] or sizes
    margin_n = np.array([float(majority_margins(fit.prior, fit.confusion, n)) for n in common])
    margin_bn = np.stack([majority_margins(replicates.prior_bk, replicates.confusion, n) for n in common], axis=1)
    refuted = _refuted_counts(by_votes(distinct_counts(counts_ik)), fit, replicates, level)
    supported = dict(zip(common, supported_together(margin_n, margin_bn, level), strict=True))
    good_sizes = [n for n, good in supported.items() if good and not refuted[n].untied]
    certified_i = np.isin(votes.votes_i, good_sizes) & ~tied(counts_ik)
    return _claim(
        "anonymous",
        SHARED_MATRIX,
        _verdicts_by_size(supported, refuted, margin_n, margin_bn),
        _majority_loss(votes, fit, copies_i, replicates),
        level,
        n_items=float(copies_i.sum()),
        items_certified=float(copies_i[certified_i].sum()) / n_voted,
        without_say={n: items / n_voted for n, items in enumerate(items_n.tolist()) if n and items and n not in common},
    )


def align(fit: Fit) -> Fit:
    """The fit with its latent classes named by the labels that they explain best: the largest sum of P(class, label).

    >>> fit = Fit(method="shared", posterior=np.array([[.9, .1]]), prior=np.array([.9, .1]), votes_i=np.array([3]),
    ...           label_values=("n", "y"), confusion=np.array([[.2, .8], [.7, .3]]))
    >>> align(fit).prior.tolist(), align(fit).confusion.tolist()
    ([0.1, 0.9], [[0.7, 0.3], [0.2, 0.8]])
    """
    assert fit.confusion is not None
    joint_kl = fit.prior[:, None] * fit.confusion
    label_k = joint_kl.argmax(axis=1)
    if len(set(label_k.tolist())) < len(label_k):  # two classes explain one label best
        from scipy.optimize import linear_sum_assignment

        _, label_k = linear_sum_assignment(-joint_kl)
    order_k = np.argsort(label_k)
    return replace(fit, posterior=fit.posterior[:, order_k], prior=fit.prior[order_k], confusion=fit.confusion[order_k])


def _refuted_counts(
    patterns: dict[int, Patterns], fit: Fit, replicates: Replicates, level: float
) -> dict[int, Refuted]:
    """All vote counts seen together: those with one leading label, and tied ones whose labels are not alike."""
    assert fit.confusion is not None
    models, fitted = (replicates.prior_bk, replicates.confusion), (fit.prior[None], fit.confusion[None])
    top = {n: rows.counts_pk == rows.counts_pk.max(axis=1, keepdims=True) for n, rows in patterns.items()}
    n_tried = sum(int(top_pk.sum()) for top_pk in top.values())
    refuted = {}
    for n, rows in patterns.items():
        score_pk = _scores(rows.counts_pk, *fitted)[0]
        label_p = np.where(top[n], score_pk, np.inf).argmin(axis=1)  # of tied labels the one that deserves it least
        odds_p = _count_odds(rows.counts_pk, label_p, *fitted)[0]
        below = np.flatnonzero(odds_p < 0)
        odds_bp = _count_odds(rows.counts_pk[below], label_p[below], *models)
        clear_p = clearly_negative(odds_p[below], odds_bp, n_tried, level)
        refuted[n] = _refuted(clear_p, top[n].sum(axis=1)[below] > 1)
    return refuted


def _scores(counts_pk: IntArray, prior_bk: FloatArray, confusion_bkl: FloatArray) -> FloatArray:
    """The log-probability of each class with each row of counts under each model, up to a constant, (B, P, K)."""
    log_bkl = np.maximum(safe_log(confusion_bkl), LEAST)  # keeps 0 votes for an impossible label at 0
    prior_b1k = np.maximum(safe_log(prior_bk), LEAST)[:, None, :]
    return np.asarray(np.einsum("pl,bkl->bpk", counts_pk, log_bkl) + prior_b1k)


def _count_odds(counts_pk: IntArray, label_p: IntArray, prior_bk: FloatArray, confusion_bkl: FloatArray) -> FloatArray:
    """The log-odds of a label against the best other for each row of counts under each model, (B, P)."""
    score_bpk, row = _scores(counts_pk, prior_bk, confusion_bkl), np.arange(len(counts_pk))
    own_bp = score_bpk[:, row, label_p]
    score_bpk[:, row, label_p] = -np.inf
    return np.asarray(own_bp - score_bpk.max(axis=2))
