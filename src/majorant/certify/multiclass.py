"""The anonymous claim for any number of classes: one confusion matrix for all, exact margins, bootstrap over items."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from majorant.certify.bootstrap import (
    RARE_SHARE,
    Case,
    Replicates,
    cannot_tell,
    clearly_negative,
    deviation,
    fitted_accuracy,
    fitted_loss,
    fresh_to_tell_margin,
    identified,
    loss_estimate,
    lower_limit,
    replicates_of,
    supported_together,
    unidentified,
    weakest_verdict,
)
from majorant.certify.certificate import ITEMS_APART, Claim, Verdict
from majorant.certify.design import as_copies
from majorant.estimate.fit import Fit
from majorant.limits import sizes_within, too_many_classes
from majorant.tally import Patterns, by_votes, counts, distinct_counts, tied
from majorant.theory.checks import safe_log
from majorant.theory.margin import majority_margins
from majorant.values import FloatArray
from majorant.votes import IntArray
from majorant.wording import anonymous_by_bootstrap, ties_cost, too_few_items, too_many_votes

MODEL = "independent votes"
INDEPENDENT = "votes are independent given the true label"
ASSUMPTIONS = (
    "all votes come from one confusion matrix",
    ITEMS_APART,
    INDEPENDENT,
    "most labels are given more often where they are true than where another is",
    "how many vote on an item does not depend on the votes",
    "enough items for the bootstrap, which holds its level only in the limit",
)


def multiclass_claim(case: Case, *, level: float, rng: int | np.random.Generator) -> Claim:
    """Is majority vote as good as any rule that ignores who voted, for two or more classes?  At most `supported`.

    The fit must hold one confusion matrix (K, K) for all votes, at the best of several starts.  Supported:
    for every number of votes with at least 1 % of the items, the exact margin of untied votes is above 0 at the level.
    Refuted: for some vote counts seen, another label than majority's, or one of tied ones, is more probable.
    """
    if not identified(case, level, per_worker=False):
        return unidentified("anonymous", MODEL, ASSUMPTIONS)
    n_items, _, n_classes = case.votes.shape
    if too_many_classes(n_classes, n_items):
        why = too_few_items(n_items, n_classes)
        return cannot_tell("anonymous", why, MODEL, ASSUMPTIONS)
    aligned = replace(case, fit=align(case.fit))
    return _claim(aligned, replicates_of(aligned, rng), level)


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


def _claim(case: Case, replicates: Replicates, level: float) -> Claim:
    votes, fit, copies_i = case.votes, case.fit, as_copies(case.votes, case.copies)
    assert fit.confusion is not None
    items = np.bincount(votes.votes_i, weights=copies_i)
    present = sizes_within({int(n): float(items[n]) for n in np.flatnonzero(items) if n > 0})
    if not present:
        why = too_many_votes(int(votes.votes_i[votes.votes_i > 0].min()))
        return cannot_tell("anonymous", why, MODEL, ASSUMPTIONS)
    common = [n for n in present if items[n] >= RARE_SHARE * items[1:].sum()] or present
    margin = {n: float(majority_margins(fit.prior, fit.confusion, n)) for n in common}
    margin_bn = np.stack([majority_margins(replicates.prior_bk, replicates.confusion, n) for n in common], axis=1)
    supported = supported_together(np.array([margin[n] for n in common]), margin_bn, level)
    refuted = _refuted(by_votes(distinct_counts(counts(votes))), fit, replicates, level)
    untied: dict[int, Verdict] = {
        n: "refuted" if n in refuted.untied else "supported" if good else "undecided"
        for n, good in zip(common, supported, strict=True)
    }
    verdicts: dict[int, Verdict] = {n: "refuted" if n in refuted.tied else untied[n] for n in common}
    verdict, apart = weakest_verdict(verdicts.values()), weakest_verdict(untied.values())
    worst = min(common, key=margin.__getitem__)
    margin_b = margin_bn[:, common.index(worst)]
    more = fresh_to_tell_margin(margin[worst], float(deviation(margin_b)), float(copies_i.sum()), level)
    lost = fitted_loss(votes, fit, copies_i)
    tie_loss = loss_estimate(lost.tied, replicates.tie_loss_b, level, refuted=bool(refuted.tied))
    kept = [
        float(copies_i[(votes.votes_i == n) & ~tied(counts(votes))].sum()) for n in common if untied[n] == "supported"
    ]
    return Claim(
        kind="anonymous",
        verdict=verdict,
        why=anonymous_by_bootstrap(verdict, level, untied=apart, ties=ties_cost(lost.tied_share, tie_loss)),
        by_votes=verdicts,
        untied=apart,
        margin=margin[worst],
        loss=loss_estimate(lost.all, replicates.loss_b, level, refuted=verdict == "refuted"),
        tied_share=lost.tied_share,
        tie_loss=tie_loss,
        items_certified=sum(kept) / float(items[1:].sum()),
        evidence={"margin low": float(lower_limit(margin_b, level)), **fitted_accuracy(votes, fit, copies_i, lost.all)},
        model=MODEL,
        assumptions=ASSUMPTIONS,
        not_tested=tuple(text for text in ASSUMPTIONS if text not in (INDEPENDENT, ASSUMPTIONS[0])),
        without_say={
            n: float(items[n] / items[1:].sum()) for n in np.flatnonzero(items).tolist() if n > 0 and n not in common
        },
        more_items=more if verdict == "undecided" else 0,
    )


class Refuted(NamedTuple):
    """The numbers of votes for which the best rule clearly decides some vote counts seen otherwise."""

    untied: set[int]
    tied: set[int]


def _refuted(patterns: dict[int, Patterns], fit: Fit, replicates: Replicates, level: float) -> Refuted:
    """All vote counts seen together: those with one leading label, and tied ones whose labels are not alike."""
    assert fit.confusion is not None
    models, fitted = (replicates.prior_bk, replicates.confusion), (fit.prior[None], fit.confusion[None])
    top = {n: one.counts_pk == one.counts_pk.max(axis=1, keepdims=True) for n, one in patterns.items()}
    n_tried = sum(int(top_pk.sum()) for top_pk in top.values())
    found = Refuted(set(), set())
    for n, one in patterns.items():
        score_pk = _scores(one.counts_pk, *fitted)[0]
        label_p = np.where(top[n], score_pk, np.inf).argmin(axis=1)  # of tied labels the one that deserves it least
        odds_p = _count_odds(one.counts_pk, label_p, *fitted)[0]
        below = np.flatnonzero(odds_p < 0)
        odds_bp = _count_odds(one.counts_pk[below], label_p[below], *models)
        clear_p = clearly_negative(odds_p[below], odds_bp, n_tried, level)
        tied_p = top[n].sum(axis=1)[below] > 1
        found.untied.update([n] if (clear_p & ~tied_p).any() else [])
        found.tied.update([n] if (clear_p & tied_p).any() else [])
    return found


def _scores(counts_pk: IntArray, prior_bk: FloatArray, confusion_bkl: FloatArray) -> FloatArray:
    """The log-probability of each class with each row of counts under each model, up to a constant, (B, P, K)."""
    log_bkl = np.maximum(safe_log(confusion_bkl), -1e9)  # keeps 0 votes for an impossible label at 0
    prior_b1k = np.maximum(safe_log(prior_bk), -1e9)[:, None, :]
    return np.asarray(np.einsum("pl,bkl->bpk", counts_pk, log_bkl) + prior_b1k)


def _count_odds(counts_pk: IntArray, label_p: IntArray, prior_bk: FloatArray, confusion_bkl: FloatArray) -> FloatArray:
    """The log-odds of a label against the best other for each row of counts under each model, (B, P)."""
    score_bpk, row = _scores(counts_pk, prior_bk, confusion_bkl), np.arange(len(counts_pk))
    own_bp = score_bpk[:, row, label_p]
    score_bpk[:, row, label_p] = -np.inf
    return np.asarray(own_bp - score_bpk.max(axis=2))
