"""Claims based on confusion matrices, with levels from a bootstrap over items.

The named claim compares majority vote with all rules, using one confusion matrix per worker. The anonymous claim
compares it with rules that ignore who voted. For a panel it uses the same matrices, because the vote counts of a fixed
panel are not a mixture of binomials; for more than two classes it uses one matrix for all votes. Margins are computed
exactly from the fitted matrices, but their uncertainty comes from the bootstrap, so these claims are at most
"supported". Without replicates, a claim is a point estimate and its verdict is open. Statements, levels and limits:
docs/theory/named.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.errors import ConfigError
from majorant.evidence.certificate.bootstrap import (
    Case,
    Replicates,
    clearly_negative,
    deviation,
    fresh_to_tell_margin,
    loss_estimate,
    majority_losses,
    most_nonpositive,
    vote_odds,
)
from majorant.evidence.certificate.certificate import RARE_SHARE, Claim, Family, Model, Reason, Verdict
from majorant.evidence.certificate.design import PANEL_SETS, WorkerSets, as_copies, leaders, worker_sets
from majorant.evidence.evidence import Assumption, Certainty, Status, Tested
from majorant.limits import sizes_within, too_many_classes
from majorant.methods.fit import Fit
from majorant.tally import counts
from majorant.theory.margin import majority_margins
from majorant.theory.panel import ballot_work, can_enumerate_ballots, count_distribution, panel_margins
from majorant.values import Estimate, FloatArray, Missing, safe_log
from majorant.votes import IntArray, Votes

VOTES_PER_CLASS = 20  # votes per class that a typical worker must have given to distinguish workers


class Finding(NamedTuple):
    """What a model implies about majority vote, at the fit and in each bootstrap replicate b."""

    margin: float | None  # None if there are too many ballots to compute it
    loss: float
    accuracy: float
    loss_b: FloatArray | None = None
    is_optimal: bool = False  # at the level
    is_beaten: bool = False  # at the level
    margin_b: FloatArray | None = None  # only if the verdict is open


def _claim(family: Family, model: Model, case: Case, finding: Finding, level: float) -> Claim:
    """Turn a finding into a claim; assumptions are listed but not yet taken into account."""
    copies_i = as_copies(case.votes, case.copies)
    verdict = Verdict.NOT_OPTIMAL if finding.is_beaten else Verdict.OPTIMAL if finding.is_optimal else Verdict.OPEN
    loss, more = Estimate(finding.loss, reason=Missing.NO_INTERVAL), None
    if finding.loss_b is not None:
        loss = loss_estimate(finding.loss, finding.loss_b, level, refuted=finding.is_beaten)
    if finding.margin is not None and finding.margin_b is not None:
        more = fresh_to_tell_margin(finding.margin, float(deviation(finding.margin_b)), float(copies_i.sum()), level)
    is_open = verdict == Verdict.OPEN
    voted_i, tied_i = case.votes.votes_i > 0, leaders(case.votes).sum(axis=1) > 1
    return Claim(
        family=family,
        verdict=verdict,
        certainty=None if is_open else Certainty.SUPPORTED,
        reason=Reason.TOO_FEW_ITEMS if is_open else None,
        margin=finding.margin,
        loss=loss,
        accuracy=finding.accuracy,
        tied_share=float(copies_i[voted_i & tied_i].sum() / copies_i[voted_i].sum()),
        model=model,
        assumptions=_assumptions(model),
        level=level,
        n_items=int(copies_i[voted_i].sum()),
        more_items=more if is_open else 0,
    )


def unidentified(family: Family, model: Model, level: float) -> Claim:
    """An open claim for votes that do not identify the model."""
    reason = Reason.NOT_IDENTIFIED
    return Claim(family=family, reason=reason, model=model, assumptions=_assumptions(model), level=level)


def _assumptions(model: Model) -> tuple[Tested, ...]:
    """The assumptions of claims based on confusion matrices, not tested here."""
    first = Assumption.BETTER_THAN_GUESSING if model == Model.SHARED_MATRIX else Assumption.STABLE_WORKERS
    others = (Assumption.INDEPENDENT_ITEMS, Assumption.VOTES_PER_ITEM, Assumption.LARGE_SAMPLE)
    return tuple(Tested(one, Status.UNTESTED) for one in (first, *others))


def _is_identified(case: Case, *, per_worker: bool) -> bool:
    """Whether some item has three votes. Raises if the fit has the wrong kind of confusion matrices."""
    if case.fit.confusion is None or case.fit.confusion.ndim != (3 if per_worker else 2):
        needed = "one confusion matrix per worker" if per_worker else "one confusion matrix for all"
        raise ConfigError(f"This claim needs {needed}, which a {case.fit.method} fit does not have.")
    return bool(case.votes.votes_i.max(initial=0) >= 3)


def _loss_and_accuracy(case: Case) -> tuple[float, float]:
    """Loss and accuracy of majority vote on the observed votes, given who voted."""
    votes, fit, copies_i = case.votes, case.fit, as_copies(case.votes, case.copies)
    assert fit.confusion is not None
    top_ik, voted_i = leaders(votes), votes.votes_i > 0
    right_i = (fit.posterior * top_ik).sum(axis=1) / top_ik.sum(axis=1)
    loss_b = majority_losses(votes, top_ik, copies_i[None], fit.prior[None], fit.confusion[None])
    return float(loss_b[0]), float(copies_i[voted_i] @ right_i[voted_i] / copies_i[voted_i].sum())


# --- all rules


def named_claim(case: Case, replicates: Replicates | None, *, level: float) -> Claim:
    """Compare majority vote with all rules, using one confusion matrix per worker.

    Optimal: all but 1% of the items belong to worker sets whose margin is above 0 at the level. Not optimal: on some
    observed votes without a tie, another label is more probable than majority's at the level.

    Parameters
    ----------
    case : Case
        Votes and a fit with one matrix per worker.
    replicates : Replicates or None
        The bootstrap replicates; None for a point estimate.
    level : float
        Confidence level.
    """
    if not _is_identified(case, per_worker=True) or is_thin(case.votes, case.copies):
        return unidentified(Family.NAMED, Model.NAMED_WORKERS, level)
    sets = worker_sets(case.votes, as_copies(case.votes, case.copies))
    margins = set_margins(sets, case.fit)
    finding = Finding(margins.binding, *_loss_and_accuracy(case))
    if replicates is not None:
        is_optimal = _is_optimal_for_sets(margins, replicates, level)
        every = np.arange(len(case.votes.items))
        finding = finding._replace(
            loss_b=replicates.loss_b, is_optimal=is_optimal, is_beaten=_is_beaten(case, every, replicates, level)
        )
        if not is_optimal and margins.binding is not None and margins.binding > 0:
            worker_h = margins.worker[margins.binding_set]
            margin_b = panel_margins(replicates.prior_bk, replicates.confusion, worker_h[None])[:, 0]
            finding = finding._replace(margin_b=margin_b)
    return _claim(Family.NAMED, Model.NAMED_WORKERS, case, finding, level)


def is_thin(votes: Votes, copies: ArrayLike | None = None) -> bool:
    """Whether there are too few votes per worker to distinguish workers.

    Confusion matrices of workers with few votes fit noise and overstate what is gained by using them.
    """
    given_j = np.bincount(votes.worker_n, weights=as_copies(votes, copies)[votes.item_n])
    return typical(given_j.astype(float)) < VOTES_PER_CLASS * len(votes.labels)


def typical(votes_j: FloatArray) -> float:
    """Number of votes of the worker who cast the median vote; 0 without votes.

    >>> typical(np.array([3., 1.]))
    3.0
    """
    rising_j = np.sort(votes_j)
    middle = np.searchsorted(np.cumsum(rising_j), votes_j.sum() / 2)
    return float(rising_j[middle]) if votes_j.any() else 0.0


class SetMargins(NamedTuple):
    """The margin of each worker set at the fit; NaN if there are too many ballots to compute it."""

    items_s: FloatArray
    margin_s: FloatArray
    worker: tuple[IntArray, ...]  # the workers in each set

    @property
    def binding_set(self) -> int:
        """The set with the smallest margin after dropping the sets with the smallest margins, up to 1% of the items."""
        order_s = np.argsort(self.margin_s, kind="stable")
        passed_s = np.cumsum(self.items_s[order_s]) > RARE_SHARE * self.items_s.sum()
        return int(order_s[np.argmax(passed_s)])

    @property
    def binding(self) -> float | None:
        """The margin of the binding set; None if sets without a known margin hold more than 1% of the items."""
        unknown = self.items_s[np.isnan(self.margin_s)].sum()
        return None if unknown > RARE_SHARE * self.items_s.sum() else float(self.margin_s[self.binding_set])


def set_margins(sets: tuple[WorkerSets, ...], fit: Fit) -> SetMargins:
    """The exact margin of every worker set at the fit, as far as it can be computed quickly.

    Two classes need one sort. With more classes, the ballots of a few voters are enumerated. Sets with more voters
    require assignment problems, which take too long except for the few sets of a panel.
    """
    assert fit.confusion is not None
    margin = []
    for group in sets:
        n_tried, n_classes = len(group.worker_sh), len(fit.prior)
        if n_classes > 2:
            quick = can_enumerate_ballots(n_classes, group.n_votes)
            n_tried = min(n_tried, int(5e7 / ballot_work(n_classes, group.n_votes)) if quick else PANEL_SETS)
            if not quick and len(group.worker_sh) > PANEL_SETS:
                n_tried = 0
        margin_s = panel_margins(fit.prior, fit.confusion, group.worker_sh[:n_tried])
        margin.append(np.append(margin_s, np.full(len(group.worker_sh) - n_tried, np.nan)))
    return SetMargins(
        items_s=np.concatenate([group.items_s for group in sets]),
        margin_s=np.concatenate(margin),
        worker=tuple(worker_h for group in sets for worker_h in group.worker_sh),
    )


def _is_optimal_for_sets(margins: SetMargins, replicates: Replicates, level: float) -> bool:
    """Whether all but 1% of the items belong to worker sets with a margin above 0 at the level."""
    room = RARE_SHARE * margins.items_s.sum() - margins.items_s[~(margins.margin_s > 0)].sum()
    if room < 0:
        return False
    sizes_s = np.array([len(worker_h) for worker_h in margins.worker])
    allowed = most_nonpositive(len(replicates.prior_bk), level)
    for n_votes in np.unique(sizes_s):
        open_s = np.flatnonzero((sizes_s == n_votes) & (margins.margin_s > 0))
        against_s = np.zeros(len(open_s), dtype=np.int64)
        worker_sh = np.array([margins.worker[s] for s in open_s])
        for start in range(0, len(replicates.prior_bk), 25):
            models = replicates.prior_bk[start : start + 25], replicates.confusion[start : start + 25]
            against_s += (panel_margins(*models, worker_sh) <= 0).sum(axis=0)
            failed = against_s > allowed
            room -= margins.items_s[open_s[failed]].sum()
            if room < 0:
                return False
            open_s, against_s, worker_sh = open_s[~failed], against_s[~failed], worker_sh[~failed]
    return True


def _is_beaten(case: Case, item: IntArray, replicates: Replicates, level: float) -> bool:
    """Whether the best rule clearly disagrees with majority vote on one of these items, corrected for their number."""
    votes, fit, top_ik = case.votes, case.fit, leaders(case.votes)
    assert fit.confusion is not None
    item = item[(votes.votes_i[item] > 0) & (top_ik[item].sum(axis=1) == 1)]
    label = top_ik[item].argmax(axis=1)
    odds_i = vote_odds(votes, item, label, fit.prior[None], fit.confusion[None])[0]
    below = odds_i < 0
    odds_bi = vote_odds(votes, item[below], label[below], replicates.prior_bk, replicates.confusion)
    return bool(clearly_negative(odds_i[below], odds_bi, len(item), level).any())


# --- rules that ignore who voted, for a panel


def panel_claim(case: Case, replicates: Replicates | None, *, level: float) -> Claim:
    """Compare majority vote with rules that ignore who voted, for a panel of different workers.

    The vote counts of a fixed panel are Poisson-binomial given the class. The margin of each count and the loss of
    majority vote are computed exactly from the fitted confusion matrices, one per worker. The shares of the worker sets
    are treated as known. Parameters are as in `named_claim`.
    """
    if not _is_identified(case, per_worker=True):
        return unidentified(Family.ANONYMOUS, Model.NAMED_WORKERS, level)
    if not can_count(case.votes):
        n_votes, n_classes = case.votes.votes_i.max(), len(case.votes.labels)
        raise ConfigError(f"{n_votes} votes over {n_classes} classes have too many possible counts to enumerate.")
    votes, fit, copies_i = case.votes, case.fit, as_copies(case.votes, case.copies)
    assert fit.confusion is not None
    point, sets = PanelModels(fit.prior[None], fit.confusion[None]), worker_sets(votes, copies_i)
    at_fit = [count_cells(group, point) for group in sets]
    n_items = float(copies_i[votes.votes_i > 0].sum())
    common = [n for n, cells in enumerate(at_fit) if cells.items >= RARE_SHARE * n_items]
    margin_n = [float(at_fit[n].margin_b[0]) for n in common]
    finding = Finding(min(margin_n), float(_loss(at_fit)[0]), float(_accuracy(at_fit)))
    if replicates is not None:
        resampled = [count_cells(group, PanelModels(replicates.prior_bk, replicates.confusion)) for group in sets]
        margin_b = resampled[common[int(np.argmin(margin_n))]].margin_b
        finding = finding._replace(
            loss_b=_loss(resampled),
            is_optimal=_is_optimal(margin_n, [resampled[n].margin_b for n in common], level),
            is_beaten=_is_beaten_on_counts(at_fit, resampled, common, level),
            margin_b=margin_b,
        )
    return _claim(Family.ANONYMOUS, Model.NAMED_WORKERS, case, finding, level)


def _is_optimal(margin_n: Sequence[float], margin_nb: Sequence[FloatArray], level: float) -> bool:
    """Whether the margin is above 0 at the level for every number of votes (an intersection-union test)."""
    allowed = most_nonpositive(len(margin_nb[0]), level)
    return min(margin_n) > 0 and all(int((margin_b <= 0).sum()) <= allowed for margin_b in margin_nb)


def can_count(votes: Votes) -> bool:
    """Whether a panel has few enough possible vote counts to enumerate them."""
    ways: int = (int(votes.votes_i.max(initial=0)) + 1) ** (len(votes.labels) - 1)
    return ways <= 3_000


class PanelModels(NamedTuple):
    """Class probabilities and confusion matrices of several models."""

    prior_bk: FloatArray
    confusion: FloatArray


class PanelCounts(NamedTuple):
    """Probabilities of the vote counts of items with one number of votes, under each model b.

    `own_bc` is P(counts c, majority's class is true), `best_bc` the same for the best other class, and `drawn_bc` for a
    random choice among the classes with the most votes.
    """

    n_votes: int
    items: float
    own_bc: FloatArray
    best_bc: FloatArray
    drawn_bc: FloatArray
    tied_c: NDArray[np.bool_]

    @property
    def odds_bc(self) -> FloatArray:
        """Log-odds of majority's class against the best other class; inf for tied and for impossible counts."""
        with np.errstate(invalid="ignore"):
            odds_bc = safe_log(self.own_bc) - safe_log(self.best_bc)
        return np.where(np.isnan(odds_bc) | self.tied_c, np.inf, odds_bc)

    @property
    def margin_b(self) -> FloatArray:
        """The smallest log-odds of the untied counts."""
        return np.asarray(self.odds_bc.min(axis=1, initial=np.inf))


def count_cells(sets: WorkerSets, models: PanelModels) -> PanelCounts:
    """Probabilities of the vote counts on the items of these worker sets, under each model."""
    joint_bkc, count_lc = count_joint(sets, models)
    top_lc = count_lc == count_lc.max(axis=0)
    own_c, row_c = top_lc.argmax(axis=0), np.arange(count_lc.shape[1])
    own_bc, drawn_bc = joint_bkc[:, own_c, row_c], (joint_bkc * top_lc).sum(axis=1) / top_lc.sum(axis=0)
    joint_bkc[:, own_c, row_c] = 0.0
    items = float(sets.items_s.sum())
    return PanelCounts(sets.n_votes, items, own_bc, joint_bkc.max(axis=1), drawn_bc, top_lc.sum(axis=0) > 1)


def count_joint(sets: WorkerSets, models: PanelModels) -> tuple[FloatArray, IntArray]:
    """P(class, vote counts) on the items of these worker sets, under each model, and the counts."""
    total, share_s = np.zeros(()), sets.items_s / sets.items_s.sum()
    for worker_h, share in zip(sets.worker_sh, share_s, strict=True):
        given_bkc, count_lc = count_distribution(models.confusion[:, worker_h])
        total = total + share * given_bkc
    return models.prior_bk[:, :, None] * total, count_lc


def _is_beaten_on_counts(
    at_fit: Sequence[PanelCounts], resampled: Sequence[PanelCounts], common: Sequence[int], level: float
) -> bool:
    """Whether the best rule clearly differs from majority vote on some vote count, corrected for their number."""
    n_tried = sum(int((~cells.tied_c).sum()) for cells in at_fit)
    for n in common:
        odds_c = at_fit[n].odds_bc[0]
        below = np.flatnonzero(odds_c < 0)
        if clearly_negative(odds_c[below], resampled[n].odds_bc[:, below], n_tried, level).any():
            return True
    return False


def _loss(parts: Sequence[PanelCounts]) -> FloatArray:
    """Loss of majority vote on untied counts under each model, as a share of all items."""
    lost = (cells.items * (np.maximum(cells.best_bc - cells.own_bc, 0) * ~cells.tied_c).sum(axis=1) for cells in parts)
    return np.asarray(sum(lost) / sum(cells.items for cells in parts))


def _accuracy(parts: Sequence[PanelCounts]) -> float:
    right = sum(cells.items * float(cells.drawn_bc[0].sum()) for cells in parts)
    return right / sum(cells.items for cells in parts)


# --- rules that ignore who voted, for more than two classes


def multiclass_claim(case: Case, replicates: Replicates | None, *, level: float) -> Claim:
    """Compare majority vote with rules that ignore who voted, using one confusion matrix for all votes.

    Optimal: for every number of votes with at least 1% of the items, the exact margin is above 0 at the level. Not
    optimal: for some observed vote counts without a tie, another label is more probable than majority's at the level.

    Parameters
    ----------
    case : Case
        Votes and a fit with one matrix (K, K) for all votes, from the best of several starts, and aligned (see
        `align`).
    replicates : Replicates or None
        The bootstrap; None for a point estimate.
    level : float
        Confidence level.
    """
    votes, fit = case.votes, case.fit
    n_items, _, n_classes = votes.shape
    items_n = np.bincount(votes.votes_i, weights=as_copies(votes, case.copies))
    sizes = sizes_within({int(n): float(items_n[n]) for n in np.flatnonzero(items_n) if n > 0})
    if not _is_identified(case, per_worker=False) or too_many_classes(n_classes, n_items) or not sizes:
        return unidentified(Family.ANONYMOUS, Model.SHARED_MATRIX, level)
    assert fit.confusion is not None
    common = [n for n in sizes if items_n[n] >= RARE_SHARE * items_n[1:].sum()] or sizes
    margin_n = [float(majority_margins(fit.prior, fit.confusion, n)) for n in common]
    finding = Finding(min(margin_n), *_loss_and_accuracy(case))
    if replicates is not None:
        margin_nb = [np.array([min(margin_n)])]
        if min(margin_n) > 0:
            margin_nb = [majority_margins(replicates.prior_bk, replicates.confusion, n) for n in common]
            finding = finding._replace(margin_b=margin_nb[int(np.argmin(margin_n))])
        _, each = np.unique(counts(votes), axis=0, return_index=True)  # one item for each pattern of counts
        finding = finding._replace(
            loss_b=replicates.loss_b,
            is_optimal=_is_optimal(margin_n, margin_nb, level),
            is_beaten=_is_beaten(case, each, replicates, level),
        )
    return _claim(Family.ANONYMOUS, Model.SHARED_MATRIX, case, finding, level)


def align(fit: Fit) -> Fit:
    """Match latent classes to labels, maximizing the sum of P(class, label).

    >>> fit = Fit(method="shared", posterior=np.array([[.9, .1]]), prior=np.array([.9, .1]), votes_i=np.array([3]),
    ...           label_values=("n", "y"), confusion=np.array([[.2, .8], [.7, .3]]))
    >>> align(fit).prior.tolist(), align(fit).confusion.tolist()
    ([0.1, 0.9], [[0.7, 0.3], [0.2, 0.8]])
    """
    assert fit.confusion is not None
    joint_kl = fit.prior[:, None] * fit.confusion
    label_k = joint_kl.argmax(axis=1)
    if len(set(label_k.tolist())) < len(label_k):  # one label is the most likely for two classes
        from scipy.optimize import linear_sum_assignment

        _, label_k = linear_sum_assignment(-joint_kl)
    order_k = np.argsort(label_k)
    return replace(fit, posterior=fit.posterior[:, order_k], prior=fit.prior[order_k], confusion=fit.confusion[order_k])
