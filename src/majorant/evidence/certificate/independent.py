"""What is found about majority vote if votes are independent given the class.

Evidence for and against is in e-values and likelihood ratios, all on logarithms and for many data sets at once (axis
b).  Proofs of validity: docs/theory/certificate.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaincinv

from majorant.evidence.certificate.certificate import RARE_SHARE, Verdict
from majorant.evidence.certificate.count_models import (
    BINOMIALS,
    EVERYWHERE,
    HistogramCells,
    Histograms,
    Sides,
    class_logs,
    contradictions,
    flatten,
    held_cells,
    join_sides,
    log_likelihood,
    log_odds,
    narrowest_majority,
    opposite,
    sides,
    suprema,
    uneven_ties,
)
from majorant.evidence.certificate.likelihood_region import binomial_region, count_accuracy, count_loss, loss_intervals
from majorant.evidence.certificate.tailored_inversion import Proof, is_proved, prove
from majorant.values import Estimate, FloatArray

MOST_ITEMS = 1e9  # beyond this the answer to how many items would decide is: no number in reach
INVERSION_CELLS = 30  # of all histograms together, for tailored linear inversion
SPLITS_SHARE = 0.05  # of the error, for what split e-values prove of the items beside tailored linear inversion
SPLITS = 10
TRAIN_SHARE = 0.25
POWER_QUANTILE = 0.8416212335729143  # of the normal law: planning is for 80 % power
LEAST_INFORMATION = 1e-12  # nats per item: less is rounding
SPLIT_PRICE = 2.65  # items that the split e-value needs for each item the likelihood ratio needs


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
    """The numbers of votes that at least RARE_SHARE of the items hold."""
    total = sum(items_k.sum() for items_k in histograms.values())
    return [h for h, items_k in histograms.items() if items_k.sum() >= RARE_SHARE * total]


def find_independent(histograms: Histograms, level: float, rng: np.random.Generator) -> tuple[Finding, FloatArray]:
    """Verdicts, margin, loss and plan, all numbers of votes sharing one model; and that model."""
    cells, items_c = flatten(histograms)
    (held, held_c), sizes = held_cells(histograms), main_sizes(histograms)
    evidence, cut_up = weigh(held, held_c[None], sizes, rng)
    theta_3 = evidence.theta_b3[0]
    proved = find_proved(Weighed(histograms, sizes, held, evidence, cut_up), level)
    untied_h = verdicts_by_size(sizes, proved.sizes, evidence, level)
    untied = verdict_by_evidence_against(untied_h.values(), float(evidence.log_against_b[0]), level)
    bar = -np.log1p(-level)
    by_votes: dict[int, Verdict] = {
        h: "refuted" if evidence.log_ties_bh[0, s] >= bar else untied_h[h] for s, h in enumerate(sizes)
    }
    verdict: Verdict = "refuted" if evidence.log_ties_b[0] >= bar else untied
    margin, handicap = margin_and_handicap(theta_3, sizes)
    total_c = cells.totals(items_c)
    information, needed = plan_items(cells, items_c, theta_3, sizes, margin, level)
    region = binomial_region(held, held_c, theta_3, ratio_cut(level))
    centres = [theta_3, *evidence.nearest_bp3[0]]
    loss, tie_loss = loss_intervals(region, centres, lambda theta: count_loss(class_logs(cells, theta), cells, total_c))
    right = count_accuracy(class_logs(cells, theta_3), cells, total_c)
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
    kinds = set(verdicts)
    if kinds <= {"proved"}:
        return "proved"
    if kinds <= {"proved", "supported"}:
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
    cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray, sizes: Sequence[int], margin: float, level: float
) -> tuple[float, float]:
    """Nats per item that tell the fitted model from the nearest on the other side, and the items that then decide."""
    expected_c = cells.totals(items_c) * np.exp(BINOMIALS.log_shares(cells, theta_3))
    wrong = contradictions(sizes)
    value, _ = suprema(cells, expected_c[None], wrong if margin > 0 else opposite(wrong))
    own = float(log_likelihood(cells, expected_c, theta_3))
    nearest = float(value.max() if margin > 0 else value.min())
    information = max(own - nearest, 0.0) / float(items_c.sum())
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


class Weighed(NamedTuple):
    """Histograms, the numbers of votes that count, and what was found of them: all of one data set."""

    histograms: Histograms
    sizes: Sequence[int]
    held: HistogramCells
    evidence: HistogramEvidence
    cut_up: Split


def find_proved(weighed: Weighed, level: float) -> Proved:
    """What is proved at this level: by tailored linear inversion, else by split e-values."""
    histograms, sizes, _, evidence, _ = weighed
    theta_3, error = evidence.theta_b3[0], 1 - level
    if sum(len(items_k) for items_k in histograms.values()) > INVERSION_CELLS:
        return by_splits(weighed, level)
    if len(sizes) == 1:
        proof = prove(histograms, sizes[0], theta_3, error, evidence.nearest_bp3[0])
        return Proved(frozenset(sizes if proof.complete else ()), _share(histograms, [proof]))
    by_inversion = (1 - SPLITS_SHARE) * error
    each = (
        is_proved(histograms, h, theta_3, by_inversion, evidence.nearest_bp3[0, 2 * s : 2 * s + 2])
        for s, h in enumerate(sizes)
    )
    if all(each):
        proofs = [Proof(h, narrowest_majority(h), narrowest_majority(h)) for h in sizes]
        return Proved(frozenset(sizes), _share(histograms, proofs))
    return by_splits(weighed, 1 - SPLITS_SHARE * error)


def by_splits(weighed: Weighed, level: float) -> Proved:
    """By split e-values.

    All e-values are beaten by one, that of the true model, so all patterns hold together at the level.  They grow from
    the narrowest majority to the unanimous one: a bisection finds the first that is proved.
    """
    sizes, bar = weighed.sizes, -np.log1p(-level)
    proved = {h for s, h in enumerate(sizes) if weighed.evidence.log_e_bh[0, s] >= bar}
    rows = [(h, sign) for h in sizes for sign in (-1, 1)]
    low = [narrowest_majority(h) for h, _ in rows]  # majorities of at least `high` votes are proved, H + 1: none
    high = [low[i] if h in proved else h + 1 for i, (h, _) in enumerate(rows)]
    while open_rows := [i for i in range(len(rows)) if low[i] < high[i]]:
        asked = [(*rows[i], (low[i] + high[i]) // 2) for i in open_rows]
        null = sides([(h, k if sign < 0 else h - k, sign) for h, sign, k in asked])
        enough = weighed.cut_up.log_e_values(weighed.held, null)[0] >= bar
        for i, (_, _, k), beaten in zip(open_rows, asked, enough, strict=True):
            low[i], high[i] = (low[i], k) if beaten else (k + 1, high[i])
    first = dict(zip(rows, high, strict=True))
    return Proved(frozenset(proved), _share(weighed.histograms, [Proof(h, first[h, -1], first[h, 1]) for h in sizes]))


def _share(histograms: Histograms, proofs: Sequence[Proof]) -> float:
    certified = sum(proof.items(histograms[proof.n_votes]) for proof in proofs)
    return float(certified / max(sum(items_k.sum() for items_k in histograms.values()), 1))


def ratio_cut(level: float) -> float:
    """What the profile likelihood ratio must exceed, in nats: the guarded cut, half the two-sided chi-square quantile.

    >>> round(ratio_cut(.95), 3)
    1.921
    """
    return float(gammaincinv(0.5, level))


def items_needed(information: float, level: float, split: bool = False) -> float:
    """Items that make the likelihood ratio (or, dearer, the split e-value) decide with 80 % power.

    `information`: nats per item by which the fitted model differs from the nearest model on the other side.

    >>> round(items_needed(.01, .95))
    392
    """
    if information <= LEAST_INFORMATION:
        return np.inf
    return float(
        (np.sqrt(2 * ratio_cut(level)) + POWER_QUANTILE) ** 2 / 2 / information * (SPLIT_PRICE if split else 1)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Every data set cut in two at random, several times: the model of one part, and its likelihood on the other."""

    test_sbc: FloatArray  # items kept for the test
    value_sb: FloatArray  # their log-likelihood under the model that the other items suggest

    def log_e_values(self, cells: HistogramCells, side: Sides) -> FloatArray:
        """log e-value of each data set against each side, (B, S): a mean over the splits."""
        splits, sets, n_cells = self.test_sbc.shape
        value, _ = suprema(cells, self.test_sbc.reshape(-1, n_cells), side)
        return log_mean(self.value_sb[..., None] - value.reshape(splits, sets, len(side)))


def split(cells: HistogramCells, items_bc: FloatArray, rng: np.random.Generator) -> Split:
    """Each item goes to training with probability TRAIN_SHARE, whatever its votes, in each of SPLITS splits."""
    items_sbc = np.broadcast_to(items_bc, (SPLITS, *items_bc.shape))
    train_sbc = rng.binomial(items_sbc.astype(np.int64), TRAIN_SHARE).astype(float)
    test_sbc = items_sbc - train_sbc
    _, theta = suprema(cells, train_sbc.reshape(-1, items_bc.shape[1]))
    theta_sb3 = theta[:, 0].reshape(SPLITS, len(items_bc), 3)
    return Split(test_sbc, log_likelihood(cells, test_sbc, theta_sb3))


@dataclass(frozen=True, slots=True, eq=False)
class HistogramEvidence:
    """What the histograms of B data sets say, per number of votes h: for and against majority vote being optimal."""

    theta_b3: FloatArray  # the likeliest model
    ratio_bh: FloatArray  # nats by which it beats every model in which majority is not optimal for h
    ratio_against_b: FloatArray  # nats by which it beats every model in which majority is optimal for all h
    log_e_bh: FloatArray  # e-value against "not optimal for h"
    log_against_bh: FloatArray  # e-value against "optimal for h"
    log_against_b: FloatArray  # e-value against "optimal for every h"
    log_ties_bh: FloatArray  # e-value against "ties are even", 0 where h is odd
    log_ties_b: FloatArray  # e-value against "ties are even for every h"
    nearest_bp3: FloatArray  # the likeliest models in which majority is not optimal, two for each h


def weigh(
    cells: HistogramCells, items_bc: FloatArray, sizes: Sequence[int], rng: np.random.Generator
) -> tuple[HistogramEvidence, Split]:
    """Fit, and put both "not optimal" and "optimal" to the test for each number of votes in `sizes`."""
    cut_up = split(cells, items_bc, rng)
    n_sets, n_cells = items_bc.shape
    wrong = contradictions(sizes)
    right, ties = opposite(wrong), uneven_ties(sizes)
    asked = join_sides(EVERYWHERE, wrong, right, ties)
    value, theta = suprema(cells, np.concatenate([items_bc, cut_up.test_sbc.reshape(-1, n_cells)]), asked)
    best_b1, null_bp, n_wrong = value[:n_sets, :1], value[:n_sets, 1 : 1 + len(wrong)], len(wrong)
    gain_sbp = cut_up.value_sb[..., None] - value[n_sets:, 1:].reshape(SPLITS, n_sets, 2 * n_wrong + len(ties))
    # Not optimal: either contradiction will do, so the likelier of the two must be beaten.
    not_optimal_sbh = gain_sbp[..., :n_wrong].reshape(SPLITS, n_sets, -1, 2).min(axis=-1)
    # Optimal lies within the opposite of each contradiction, so beating one of these beats it.
    optimal_sbh = gain_sbp[..., n_wrong : 2 * n_wrong].reshape(SPLITS, n_sets, -1, 2).max(axis=-1)
    even_sbh = np.zeros_like(optimal_sbh)
    even_sbh[..., [h % 2 == 0 for h in sizes]] = (
        gain_sbp[..., 2 * n_wrong :].reshape(SPLITS, n_sets, -1, 2).max(axis=-1)
    )
    evidence = HistogramEvidence(
        theta_b3=theta[:n_sets, 0],
        ratio_bh=np.maximum(best_b1 - null_bp.reshape(n_sets, -1, 2).max(axis=-1), 0),
        ratio_against_b=np.maximum(best_b1[:, 0] - value[:n_sets, 1 + n_wrong : 1 + 2 * n_wrong].min(axis=1), 0),
        log_e_bh=log_mean(not_optimal_sbh),
        log_against_bh=log_mean(optimal_sbh),
        log_against_b=log_mean(optimal_sbh.max(axis=-1)),
        log_ties_bh=log_mean(even_sbh),
        log_ties_b=log_mean(even_sbh.max(axis=-1)),
        nearest_bp3=theta[:n_sets, 1 : 1 + n_wrong],
    )
    return evidence, cut_up


def log_mean(log_e_s: FloatArray) -> FloatArray:
    """log of the mean over the first axis."""
    return np.asarray(np.logaddexp.reduce(log_e_s, axis=0) - np.log(len(log_e_s)))
