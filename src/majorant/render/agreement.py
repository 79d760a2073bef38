"""Text and JSON for agreement coefficients, for labels and for scores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from majorant.render.missing import missing_text
from majorant.render.plain import Facts, facts_of, plain
from majorant.render.words import columns, interval, level_percent, percent, shown, with_interval
from majorant.results.agreement.coefficients import Agreement, PairKappas
from majorant.results.agreement.scores import Scores
from majorant.values import Estimate

COEFFICIENTS = {
    "percent": "pairs of votes that agree",
    "krippendorff": "Krippendorff's alpha",
    "krippendorff_ordinal": "Krippendorff's alpha, ordinal",
    "fleiss": "Fleiss' kappa",
    "cohen": "Cohen's kappa, mean of pairs",
    "gwet": "Gwet's AC1",
}
SCORE_COEFFICIENTS = {
    "interval_alpha": "Krippendorff's alpha, interval",
    "icc": "ICC(1), one-way",
    "icc_agreement": "ICC(A,1), two-way, absolute agreement",
    "weighted_kappa": "Cohen's kappa, quadratic weights, mean over pairs",
}


def agreement_facts(agreement: Agreement, workers: Sequence[Hashable]) -> Facts:
    """Each coefficient with its interval, and the pairs of workers with the most items in common."""
    names = "classes=n_classes level items=n_items items_with_two_votes=n_paired cohen_items"
    pairs = agreement.pairs
    return {
        **facts_of(agreement, f"{' '.join(COEFFICIENTS)} {names}"),
        "n_pairs": None if pairs is None else pairs.n_pairs,
        "pairs": []
        if pairs is None
        else [
            {
                "workers": [plain(workers[pairs.worker_a_p[p]]), plain(workers[pairs.worker_b_p[p]])],
                "items": int(pairs.items_p[p]),
                "agreed": float(pairs.agreed_p[p]),
                "cohen": float(pairs.kappa_p[p]) if pairs.defined_p[p] else None,
            }
            for p in _largest(pairs)
        ],
    }


def _largest(pairs: PairKappas) -> NDArray[np.int64]:
    """The ten pairs with the most items in common."""
    return np.argsort(-pairs.items_p, kind="stable")[:10]


def agreement_lines(agreement: Agreement, workers: Sequence[Hashable]) -> list[str]:
    """Each coefficient with its interval, or why it is missing; then the pairs with the most items in common."""
    lines = [f"Agreement, with {level_percent(agreement.level)} intervals"]
    for name, title in COEFFICIENTS.items():
        if name == "krippendorff_ordinal" and agreement.n_classes <= 2:
            continue  # with two classes the ordinal alpha equals the nominal one
        one: Estimate = getattr(agreement, name)
        form = percent if name == "percent" else "{:.3f}".format
        value = missing_text(one.reason) if one.value is None else f"{form(one.value):>7}  {interval(one, form)}"
        lines.append(f"         {title:<29}{value}".rstrip())
    pairs = agreement.pairs
    if pairs is None or not len(pairs.items_p):
        return lines
    rows = [
        (
            f"{shown(workers[pairs.worker_a_p[p]])} and {shown(workers[pairs.worker_b_p[p]])}",
            f"{pairs.items_p[p]:,}",
            percent(pairs.agreed_p[p]),
            f"{pairs.kappa_p[p]:.3f}" if pairs.defined_p[p] else "-",
        )
        for p in _largest(pairs)
    ]
    lines.append(f"Pairs of workers with the most items in common, {len(rows)} of {pairs.n_pairs:,}")
    return [*lines, *columns([("workers", "items", "agree", "Cohen's kappa"), *rows])]


def agreement_sentence(agreement: Agreement) -> str:
    """The most informative coefficients, in one line."""
    if agreement.percent.value is None:
        return missing_text(agreement.percent.reason)
    parts = [f"Two votes on the same item agree {with_interval(agreement.percent, percent)} of the time"]
    for name, one in (("krippendorff", agreement.krippendorff), ("gwet", agreement.gwet)):
        if one.value is not None:
            parts.append(f"{COEFFICIENTS[name]} {with_interval(one, '{:.3f}'.format)}")
    return "; ".join(parts) + "."


def score_facts(scores: Scores) -> Facts:
    """Each coefficient with its interval, or why it is missing, and each rule's distance from gold."""
    return {
        **facts_of(scores, f"{' '.join(SCORE_COEFFICIENTS)} distance nearer closest"),
        "about": "ranks" if scores.ranked else "scores",
        "level": scores.level,
    }


def score_lines(scores: Scores) -> list[str]:
    """Agreement by distance, and each rule's distance from gold, in the units of the scores."""
    lines = [f"Agreement by distance, between {'ranks' if scores.ranked else 'scores'}:"]
    lines += [f"  {title}: {_score(getattr(scores, name))}" for name, title in SCORE_COEFFICIENTS.items()]
    lines.append("Mean distance from gold of each rule:")
    lines += [f"  {rule}: {_score(one)}" for rule, one in scores.distance.items()]
    lines += [_nearer_sentence(rule, one) for rule, one in scores.nearer.items() if one.low is not None]
    return [*lines, *([] if scores.closest is None else [f"Closest to gold on these items: {scores.closest}."])]


def _score(estimate: Estimate) -> str:
    """A coefficient or a distance with its interval, or why it is missing."""
    if estimate.value is None:
        return f"not known ({missing_text(estimate.reason)})"
    ends = "" if estimate.low is None else f" ({estimate.low:.3f} to {estimate.high:.3f})"
    return f"{estimate.value:.3f}{ends}"


def _nearer_sentence(rule: str, lead: Estimate) -> str:
    """Whether a rule is closer to the gold scores than majority vote is.

    >>> _nearer_sentence("median", Estimate(.2, .1, .3))
    '  median: closer to gold than majority vote by 0.200 (0.100 to 0.300)'
    >>> _nearer_sentence("mean", Estimate(.02, -.1, .1))
    '  mean: no clear difference from majority vote (closer to gold by -0.100 to 0.100)'
    """
    value, low, high = (end or 0.0 for end in lead.ends)
    if low <= 0 <= high:
        return f"  {rule}: no clear difference from majority vote (closer to gold by {low:.3f} to {high:.3f})"
    where, ends = ("closer to", (low, high)) if low > 0 else ("farther from", (-high, -low))
    return f"  {rule}: {where} gold than majority vote by {abs(value):.3f} ({ends[0]:.3f} to {ends[1]:.3f})"
