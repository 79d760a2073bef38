"""What is found about majority vote if votes are independent given the class."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from majorant.certify.anonymous.evidence import (
    HistogramEvidence,
    Split,
    contradictions,
    items_needed,
    narrowest_majority,
    opposite,
    ratio_cut,
    weigh,
)
from majorant.certify.anonymous.likelihood import (
    HistogramCells,
    Histograms,
    class_logs,
    flatten,
    held_cells,
    log_cells,
    log_likelihood,
    log_odds,
    sides,
)
from majorant.certify.anonymous.loss import binomial_loss, binomial_region, count_accuracy, loss_intervals
from majorant.certify.anonymous.search import suprema
from majorant.certify.anonymous.tailored.invert import Proof, is_proved, prove
from majorant.certify.certificate import Verdict
from majorant.theory.checks import FloatArray
from majorant.values import Estimate

MAIN_SHARE = 0.01  # of the items: a number of votes held by fewer has no say in the verdict on the data set
MOST_ITEMS = 1e9  # beyond this the answer to how many items would decide is: no number in reach
MOST_CELLS = 30  # of all histograms together, for tailored linear inversion
SPLITS_SHARE = 0.05  # of the error, for what split e-values prove of the items beside tailored linear inversion


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The numbers of a claim under one model, before gates and words."""

    verdict: Verdict
    untied: Verdict  # apart from ties
    by_votes: Mapping[int, Verdict]
    margin: float
    handicap: float | None
    loss: Estimate
    tie_loss: Estimate
    items_certified: float | None
    evidence: Mapping[str, float]
    more_items: int | None


def main_sizes(histograms: Histograms) -> list[int]:
    """The numbers of votes that at least MAIN_SHARE of the items hold."""
    total = sum(items_k.sum() for items_k in histograms.values())
    return [h for h, items_k in histograms.items() if items_k.sum() >= MAIN_SHARE * total]


def find_independent(histograms: Histograms, level: float, rng: np.random.Generator) -> tuple[Finding, FloatArray]:
    """Verdicts, margin, loss and plan, all numbers of votes sharing one model; and that model."""
    cells, _ = flatten(histograms)
    (held, held_c), sizes = held_cells(histograms), main_sizes(histograms)
    evidence, cut_up = weigh(held, held_c[None], sizes, rng)
    theta_3 = evidence.theta_b3[0]
    proved = find_proved(histograms, held, evidence, cut_up, sizes, level)
    untied_h = verdicts_by_size(sizes, proved.sizes, evidence, level)
    untied = verdict_by_evidence_against(untied_h.values(), float(evidence.log_against_b[0]), level)
    bar = -np.log1p(-level)
    by_votes: dict[int, Verdict] = {
        h: "refuted" if evidence.log_ties_bh[0, s] >= bar else untied_h[h] for s, h in enumerate(sizes)
    }
    verdict: Verdict = "refuted" if evidence.log_ties_b[0] >= bar else untied
    margin, handicap = margin_and_handicap(theta_3, sizes)
    items_h = np.zeros(max(histograms) + 1)
    items_h[list(histograms)] = [items_k.sum() for items_k in histograms.values()]
    information, needed = plan_items(cells, items_h, theta_3, sizes, margin, level)
    loss, tie_loss = _loss(held, held_c, cells, items_h, evidence, level)
    log0, log1 = class_logs(cells, theta_3)
    right = count_accuracy(log0 + cells.log_orders_c, log1 + cells.log_orders_c, cells, items_h)
    accuracies = {"majority_accuracy": right, "best_accuracy": right + (loss.value or 0.0)}
    plan = {"information": information, "items_needed": needed}
    if any(h % 2 == 0 for h in sizes):
        plan["e_value_against_ties"] = float(np.exp(np.minimum(evidence.log_ties_b[0], 700)))
    finding = Finding(
        verdict=verdict,
        untied=untied,
        by_votes=by_votes,
        margin=margin,
        handicap=handicap,
        loss=loss,
        tie_loss=tie_loss,
        items_certified=proved.share,
        evidence=_numbers(evidence, theta_3, level) | accuracies | plan,
        more_items=fresh_items(verdict, needed),
    )
    return finding, theta_3


def verdicts_by_size(
    sizes: Sequence[int], proved: Collection[int], evidence: HistogramEvidence, level: float
) -> dict[int, Verdict]:
    """The verdict for each number of votes apart from ties, all of them together at the level.

    Where the likelihood ratio supports each number of votes, all are supported: one that is not optimal passes with no
    more than the error.  Where it does not, each has its share of the error (Bonferroni).  What is proved, and what is
    refuted by e-values, holds for all together anyway.
    """
    ratio_h, bar = evidence.ratio_bh[0], -np.log1p(-level)
    together = ratio_h.min() > ratio_cut(level)
    cut = ratio_cut(level if together else 1 - (1 - level) / len(sizes))
    verdicts: dict[int, Verdict] = {}
    for s, h in enumerate(sizes):
        refuted: Verdict = "refuted" if evidence.log_against_bh[0, s] >= bar else "undecided"
        verdicts[h] = "proved" if h in proved else "supported" if ratio_h[s] > cut else refuted
    return verdicts


def verdict_by_evidence_against(verdicts: Iterable[Verdict], log_against: float, level: float) -> Verdict:
    """The verdict for the data set: proved or supported if it is for every number of votes that counts."""
    found = set(verdicts)
    if found <= {"proved"}:
        return "proved"
    if found <= {"proved", "supported"}:
        return "supported"
    return "refuted" if log_against >= -np.log1p(-level) else "undecided"


def margin_and_handicap(theta_3: FloatArray, sizes: Sequence[int]) -> tuple[float, float | None]:
    """The smallest margin over the numbers of votes, and the handicap of class 0 there.

    The closed forms of theory.majority_margin and theory.handicap, taken from logits: an estimate may lie so close to
    certainty that its probabilities round to 1.
    """
    margins = [
        float(min(log_odds(theta_3, h, narrowest_majority(h)), -log_odds(theta_3, h, h - narrowest_majority(h))))
        for h in sizes
    ]
    worst = sizes[int(np.argmin(margins))]
    step = float(theta_3[0] - theta_3[1])
    return min(margins), -float(log_odds(theta_3, worst, worst / 2)) / step if step > 0 else None


def plan_items(
    cells: HistogramCells, items_h: FloatArray, theta_3: FloatArray, sizes: Sequence[int], margin: float, level: float
) -> tuple[float, float]:
    """Nats per item that tell the fitted model from the nearest on the other side, and the items that then decide."""
    log_c = log_cells(cells, theta_3)
    expected_c = items_h[cells.votes_c.astype(np.int64)] * np.exp(log_c + cells.log_orders_c)
    wrong = contradictions(sizes)
    value, _ = suprema(cells, expected_c[None], wrong if margin > 0 else opposite(wrong))
    own = float(log_likelihood(cells, expected_c, theta_3))
    nearest = float(value.max() if margin > 0 else value.min())
    information = max(own - nearest, 0.0) / float(items_h.sum())
    return information, items_needed(information, level, split=margin <= 0)


def fresh_items(verdict: Verdict, needed: float) -> int | None:
    """Fresh items that would decide by themselves; 0 where the verdict stands, None where no number in reach would do.

    The items at hand have been looked at: to judge them again together with others would be a second test of the same
    items, at no level.

    >>> fresh_items("undecided", 392.1), fresh_items("proved", 392.1)
    (393, 0)
    >>> fresh_items("undecided", 3.5e11) is None
    True
    """
    if verdict in ("proved", "supported", "refuted"):
        return 0
    return int(np.ceil(needed)) if needed <= MOST_ITEMS else None


def _loss(
    held: HistogramCells,
    held_c: FloatArray,
    cells: HistogramCells,
    items_h: FloatArray,
    evidence: HistogramEvidence,
    level: float,
) -> tuple[Estimate, Estimate]:
    centres = [evidence.theta_b3[0], *evidence.nearest_bp3[0]]
    region = binomial_region(held, held_c, centres[0], ratio_cut(level))
    return loss_intervals(region, centres, binomial_loss(cells, items_h))


def _numbers(evidence: HistogramEvidence, theta_3: FloatArray, level: float) -> dict[str, float]:
    """What the claim rests on; probabilities at the edge."""
    a, r, nu = (float(value) for value in expit(theta_3))
    return {
        "e_value": float(np.exp(np.minimum(evidence.log_e_bh[0].min(), 700))),
        "likelihood_ratio": float(evidence.ratio_bh[0].min()),
        "likelihood_ratio_against": float(evidence.ratio_against_b[0]),
        "likelihood_ratio_cut": ratio_cut(level),
        "e_value_against": float(np.exp(np.minimum(evidence.log_against_b[0], 700))),
        "prior_0": nu,
        "accuracy_0": a,
        "accuracy_1": 1 - r,
    }


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
