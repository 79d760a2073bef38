"""Answer the paper's question by plugging the most likely model of the votes into the exact condition.

The model is two binomials for a crowd and two classes, one confusion matrix for a crowd and more classes, and one
confusion matrix per worker for a panel.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from majorant.evidence.certificate.anonymous import CountTests, count_margin, deciding_sizes, settled_counts
from majorant.evidence.certificate.bootstrap import Case
from majorant.evidence.certificate.bootstrap_claims import PanelModels, count_joint
from majorant.evidence.certificate.certificate import RARE_SHARE, Claim
from majorant.evidence.certificate.count_models import flatten, nonempty_cells
from majorant.evidence.certificate.design import as_copies, worker_sets
from majorant.evidence.certificate.optimality import (
    Optimality,
    SettledCounts,
    SizeAnswer,
    Tipping,
    WrongCounts,
    check_record,
    grade,
    scaled_loss,
)
from majorant.evidence.certificate.tipping import Counted, find_tipping
from majorant.evidence.evidence import Assumption, Status
from majorant.limits import sizes_within
from majorant.tally import counts
from majorant.theory import handicap, window
from majorant.theory.margin import majority_margins
from majorant.values import Estimate, FloatArray, safe_log
from majorant.votes import IntArray


class Plugged(NamedTuple):
    """Vote counts of the items under a model: rows p with their items and log P(class, counts)."""

    prior_k: FloatArray
    confusion_kl: FloatArray
    counts_pk: IntArray
    items_p: FloatArray
    log_joint_pk: FloatArray
    margin_h: dict[int, float]  # of each number of votes that at least 1% of the items have
    by_worker: bool = False
    settled: tuple[SettledCounts, ...] = ()
    tipping: Tipping | None = None


def answer_question(
    plugged: Plugged, claim: Claim, labels: Sequence[Hashable], *, panel: bool, one_class: bool = False
) -> Optimality:
    """The answer with its grade, from the model and the claim about the same rules.

    Voters who know one class each have no record, because no model of the votes can be fitted to them.
    """
    is_optimal = all(margin > 0 for margin in plugged.margin_h.values())
    n_classes = len(labels)
    wrong = _wrong_counts(plugged, labels)
    record = check_record(is_optimal, panel=panel, n_classes=n_classes, checks=() if one_class else None)
    agrees = str(claim.verdict) == ("optimal" if is_optimal else "not optimal")
    claimed = claim.certainty if agrees else None
    loss = Estimate(None)
    if claimed is not None:
        loss = claim.loss
    elif record.is_good:
        loss = scaled_loss(claim.loss.value or 0.0, panel=panel, n_classes=n_classes)
    settled = () if claim.status(Assumption.INDEPENDENT_VOTES) == Status.FAILED else plugged.settled
    return Optimality(
        optimal=is_optimal,
        labels=tuple(labels),
        prior=tuple(plugged.prior_k.tolist()),
        confusion=tuple(map(tuple, plugged.confusion_kl.tolist())),
        by_worker=plugged.by_worker,
        by_votes=_by_votes(plugged),
        wrong=wrong,
        wrong_share=sum(one.share for one in wrong),
        loss=loss,
        certainty=grade(record, claimed),
        record=record,
        doubts=claim.with_status(Status.FAILED, Status.UNTESTABLE),
        settled=settled,
        settled_share=sum(one.share for one in settled) if settled else None,
        tipping=plugged.tipping,
    )


def _by_votes(plugged: Plugged) -> tuple[SizeAnswer, ...]:
    """The margin of each number of votes and, for two classes with one matrix, its window and handicap."""
    votes_p, total = plugged.counts_pk.sum(axis=1), plugged.items_p.sum()
    two = len(plugged.prior_k) == 2 and not plugged.by_worker
    inside_kl, inside_k = _inside(plugged.confusion_kl), _inside(plugged.prior_k)
    return tuple(
        SizeAnswer(
            n_votes=h,
            share=float(plugged.items_p[votes_p == h].sum() / total),
            margin=margin,
            window=window(inside_k, inside_kl, h) if two else None,
            handicap=handicap(inside_k, inside_kl, h) if two else None,
        )
        for h, margin in sorted(plugged.margin_h.items())
    )


def _inside(share: FloatArray) -> FloatArray:
    """Probabilities away from 0 and 1, by which the window divides."""
    kept = np.clip(share, 1e-12, 1)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def _wrong_counts(plugged: Plugged, labels: Sequence[Hashable]) -> tuple[WrongCounts, ...]:
    """The untied counts that some items have and on which majority's label is not the most probable."""
    counts_pk = plugged.counts_pk
    untied_p = (counts_pk == counts_pk.max(axis=1, keepdims=True)).sum(axis=1) == 1
    majority_p, best_p = counts_pk.argmax(axis=1), plugged.log_joint_pk.argmax(axis=1)
    row = np.arange(len(counts_pk))
    lead_p = plugged.log_joint_pk[row, best_p] - plugged.log_joint_pk[row, majority_p]
    found = np.flatnonzero(untied_p & (lead_p > 1e-9) & (plugged.items_p > 0))
    return tuple(
        WrongCounts(
            counts=tuple(counts_pk[p].tolist()),
            majority=labels[majority_p[p]],
            best=labels[best_p[p]],
            share=float(plugged.items_p[p] / plugged.items_p.sum()),
        )
        for p in found[np.argsort(-plugged.items_p[found], kind="stable")]
    )


def plug_counts(tests: CountTests, labels: Sequence[Hashable], level: float) -> Plugged | None:
    """Two binomials at their most likely values; None if no item has three votes."""
    if tests.theta_3 is None:
        return None
    theta_3, histograms = tests.by_label()
    cells, items_c = flatten(histograms)
    a, r, nu = (float(share) for share in expit(theta_3))
    log_joint = [
        np.log(share) + xlogy(cells.zeros_c, chance) + xlog1py(cells.votes_c - cells.zeros_c, -chance)
        for share, chance in ((max(nu, 1e-300), a), (max(1 - nu, 1e-300), r))
    ]
    kept, items_n = nonempty_cells(histograms)
    return Plugged(
        prior_k=np.array([nu, 1 - nu]),
        confusion_kl=np.array([[a, 1 - a], [r, 1 - r]]),
        counts_pk=np.stack([cells.zeros_c, cells.votes_c - cells.zeros_c], axis=1).astype(np.int64),
        items_p=items_c,
        log_joint_pk=np.nan_to_num(np.stack(log_joint, axis=1), neginf=-1e300),
        margin_h={h: count_margin(theta_3, [h]) for h in tests.sizes},
        settled=settled_counts(histograms, tests.sizes, labels, level),
        tipping=find_tipping(Counted(kept, items_n, deciding_sizes(tests.sizes)), theta_3, labels),
    )


def plug_shared(case: Case) -> Plugged | None:
    """One confusion matrix for all votes, any number of classes; None if no item has three votes."""
    votes, fit = case.votes, case.fit
    assert fit.confusion is not None
    if votes.votes_i.max(initial=0) < 3:
        return None
    counts_pk, items_p = _observed(case)
    log_joint_pk = safe_log(fit.prior) + counts_pk @ np.maximum(safe_log(fit.confusion), -1e9).T
    sizes = _main_sizes(counts_pk, items_p)
    margin_h = {h: float(majority_margins(fit.prior, fit.confusion, h)) for h in sizes}
    return Plugged(fit.prior, fit.confusion, counts_pk, items_p, log_joint_pk, margin_h)


def plug_panel(case: Case) -> Plugged | None:
    """One confusion matrix per worker, for rules that ignore who voted; None if no item has three votes."""
    votes, fit = case.votes, case.fit
    assert fit.confusion is not None
    if votes.votes_i.max(initial=0) < 3:
        return None
    counts_pk, items_p = _observed(case)
    votes_p, sizes = counts_pk.sum(axis=1), _main_sizes(counts_pk, items_p)
    log_joint_pk, margin_h = np.zeros(counts_pk.shape), {}
    for group in worker_sets(votes, as_copies(votes, case.copies)):
        joint_kc, count_lc = count_joint(group, PanelModels(fit.prior[None], fit.confusion[None]))
        log_kc = safe_log(joint_kc[0])
        place = {tuple(count_l): c for c, count_l in enumerate(count_lc.T.tolist())}
        of_size = np.flatnonzero(votes_p == group.n_votes)
        log_joint_pk[of_size] = log_kc[:, [place[tuple(counts_k)] for counts_k in counts_pk[of_size].tolist()]].T
        if group.n_votes in sizes:
            top_lc = count_lc == count_lc.max(axis=0)
            untied_c = (top_lc.sum(axis=0) == 1) & (joint_kc[0].max(axis=0) > 0)
            own_c = np.where(top_lc, log_kc, -np.inf).max(axis=0)
            rival_c = np.where(top_lc, -np.inf, log_kc).max(axis=0)
            margin_h[group.n_votes] = float((own_c - rival_c)[untied_c].min(initial=np.inf))
    given_j = np.bincount(
        votes.worker_n, weights=as_copies(votes, case.copies)[votes.item_n], minlength=len(votes.workers)
    )
    mean_kl = np.tensordot(given_j / given_j.sum(), fit.confusion, axes=1)
    return Plugged(fit.prior, mean_kl, counts_pk, items_p, log_joint_pk, margin_h, by_worker=True)


def _observed(case: Case) -> tuple[IntArray, FloatArray]:
    """The distinct counts of votes of the items that have any, and their numbers of items."""
    counts_ik, copies_i = counts(case.votes), as_copies(case.votes, case.copies)
    voted_i = counts_ik.sum(axis=1) > 0
    counts_pk, pattern_i = np.unique(counts_ik[voted_i], axis=0, return_inverse=True)
    return counts_pk.astype(np.int64), np.bincount(pattern_i.ravel(), weights=copies_i[voted_i]).astype(float)


def _main_sizes(counts_pk: IntArray, items_p: FloatArray) -> list[int]:
    """The numbers of votes that at least 1% of the items have."""
    items_h = np.bincount(counts_pk.sum(axis=1), weights=items_p)
    kept = sizes_within({int(h): float(items_h[h]) for h in np.flatnonzero(items_h)})
    return [h for h in kept if items_h[h] >= RARE_SHARE * items_p.sum()]
