"""The anonymous claim for any number of classes: one confusion matrix for all, exact margins, bootstrap over items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from majorant.certify.certificate import Claim, Verdict
from majorant.certify.named.bootstrap import (
    Case,
    Replicates,
    fitted_accuracy,
    fitted_loss,
    identified,
    loss_estimate,
    replicates_of,
    unidentified,
)
from majorant.certify.named.design import FloatArray, as_copies
from majorant.certify.named.verdicts import (
    RARE_SHARE,
    anonymous_sentence,
    clearly_negative,
    deviation,
    items_to_tell_margin,
    lower_limit,
    weakest_verdict,
)
from majorant.estimate.fit import Fit
from majorant.limits import sizes_within, too_many_classes
from majorant.tally import Patterns, by_votes, counts, distinct_counts, tied
from majorant.theory.checks import safe_log
from majorant.theory.margin import majority_margins
from majorant.votes import IntArray
from majorant.wording import too_few_items, too_many_votes

MODEL = "independent votes"
ASSUMPTIONS = (
    "all votes come from one confusion matrix",
    "votes are independent given the true label",
    "most labels are given more often where they are true than where another is",
    "how many vote on an item does not depend on the votes",
    "enough items for the bootstrap, which holds its level only in the limit",
)


def multiclass_claim(case: Case, *, level: float, rng: int | np.random.Generator) -> Claim:
    """Is majority vote as good as any rule that ignores who voted, for two or more classes?  At most `supported`.

    The fit must hold one confusion matrix (K, K) for all votes, at the best of several starts.  Ties are left out.
    Supported: for every number of votes with at least 1 % of the items, the exact margin is above 0 at the level.
    Refuted: for some vote counts seen, another label than majority's is more probable at the level.
    """
    if not identified(case, level, per_worker=False):
        return unidentified("anonymous", MODEL, ASSUMPTIONS)
    n_items, _, n_classes = case.votes.shape
    if too_many_classes(n_classes, n_items):
        why = too_few_items(n_items, n_classes)
        return Claim(kind="anonymous", verdict="unidentified", why=why, model=MODEL, assumptions=ASSUMPTIONS)
    aligned = replace(case, fit=align(case.fit))
    return _claim(aligned, replicates_of(aligned, rng), level)


def align(fit: Fit) -> Fit:
    """The fit with its latent classes named by the labels that they explain best: the largest sum of P(class, label).

    >>> fit = Fit(method="shared", posterior=np.array([[.9, .1]]), prior=np.array([.9, .1]), votes_i=np.array([3]),
    ...           label_values=("n", "y"), confusion=np.array([[.2, .8], [.7, .3]]))
    >>> align(fit).prior.tolist(), align(fit).confusion.tolist()
    ([0.1, 0.9], [[0.7, 0.3], [0.2, 0.8]])
    """
    from scipy.optimize import linear_sum_assignment

    assert fit.confusion is not None
    latent_k, label_k = linear_sum_assignment(-fit.prior[:, None] * fit.confusion)
    order_k = latent_k[np.argsort(label_k)]
    return replace(fit, posterior=fit.posterior[:, order_k], prior=fit.prior[order_k], confusion=fit.confusion[order_k])


def _claim(case: Case, replicates: Replicates, level: float) -> Claim:
    votes, fit, copies_i = case.votes, case.fit, as_copies(case.votes, case.copies)
    assert fit.confusion is not None
    items = np.bincount(votes.votes_i, weights=copies_i)
    present = sizes_within({int(n): float(items[n]) for n in np.flatnonzero(items) if n > 0})
    if not present:
        why = too_many_votes(int(votes.votes_i[votes.votes_i > 0].min()))
        return Claim(kind="anonymous", verdict="unidentified", why=why, model=MODEL, assumptions=ASSUMPTIONS)
    margin = {n: float(majority_margins(fit.prior, fit.confusion, n)) for n in present}
    margin_b = {n: majority_margins(replicates.prior_bk, replicates.confusion, n) for n in present}
    refuted = _refuted(by_votes(distinct_counts(counts(votes))), fit, replicates, level)
    low = {n: float(lower_limit(margin_b[n], level)) for n in present}
    verdicts: dict[int, Verdict] = {
        n: "refuted" if n in refuted else "supported" if low[n] > 0 else "undecided" for n in present
    }
    common = [n for n in present if items[n] >= RARE_SHARE * items[1:].sum()]
    verdict = weakest_verdict({verdicts[n] for n in common})
    worst = min(common, key=margin.__getitem__)
    more = items_to_tell_margin(margin[worst], float(deviation(margin_b[worst])), float(copies_i.sum()), level)
    lost = fitted_loss(votes, fit, copies_i)
    return Claim(
        kind="anonymous",
        verdict=verdict,
        why=anonymous_sentence(verdict, level),
        by_votes=verdicts,
        margin=margin[worst],
        loss=loss_estimate(lost, replicates.loss_b, level, refuted=verdict == "refuted"),
        items_certified=float(sum(items[n] for n in present if verdicts[n] == "supported") / items[1:].sum()),
        evidence={"margin low": low[worst], **fitted_accuracy(votes, fit, copies_i, lost)},
        model=MODEL,
        assumptions=ASSUMPTIONS,
        more_items=more if verdict == "undecided" else None,
    )


def _refuted(patterns: dict[int, Patterns], fit: Fit, replicates: Replicates, level: float) -> set[int]:
    """The numbers of votes for which some vote counts seen are clearly decided otherwise by the best rule."""
    assert fit.confusion is not None
    untied = {n: one.counts_pk[~tied(one.counts_pk)] for n, one in patterns.items()}
    n_tried = sum(len(counts_pk) for counts_pk in untied.values())
    refuted = set()
    for n, counts_pk in untied.items():
        odds_p = _count_odds(counts_pk, fit.prior[None], fit.confusion[None])[0]
        below_pk = counts_pk[odds_p < 0]
        odds_bp = _count_odds(below_pk, replicates.prior_bk, replicates.confusion)
        if clearly_negative(odds_p[odds_p < 0], odds_bp, n_tried, level).any():
            refuted.add(n)
    return refuted


def _count_odds(counts_pk: IntArray, prior_bk: FloatArray, confusion_bkl: FloatArray) -> FloatArray:
    """The log-odds of majority's class against the best other for each row of counts under each model, (B, P)."""
    log_bkl = np.maximum(safe_log(confusion_bkl), -1e9)  # keeps 0 votes for an impossible label at 0
    score_bpk = np.einsum("pl,bkl->bpk", counts_pk, log_bkl) + np.maximum(safe_log(prior_bk), -1e9)[:, None, :]
    row, winner_p = np.arange(len(counts_pk)), counts_pk.argmax(axis=1)
    own_bp = score_bpk[:, row, winner_p]
    score_bpk[:, row, winner_p] = -np.inf
    return np.asarray(own_bp - score_bpk.max(axis=2))
