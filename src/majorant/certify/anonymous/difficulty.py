"""When votes are not independent: numbers of votes taken apart, and items that differ in difficulty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from majorant.certify.anonymous.beta_binomial import (
    LEAST_CONCENTRATION,
    MOST_CONCENTRATION,
    PARAMETERS,
    beta_class_logs,
    beta_climb,
    beta_information,
    beta_log_likelihood,
    beta_log_odds,
)
from majorant.certify.anonymous.breakdown import Breakdown, find_breakdown
from majorant.certify.anonymous.evidence import items_needed, ratio_cut
from majorant.certify.anonymous.gates import GATE_LEVEL, Refit, fit_p_value, freedom, independence_gate, weak_gate
from majorant.certify.anonymous.independent import (
    Finding,
    find_independent,
    fresh_items,
    main_sizes,
    verdict_by_evidence_against,
)
from majorant.certify.anonymous.likelihood import HistogramCells, Histograms, Sides, flatten, sides
from majorant.certify.anonymous.loss import ConfidenceRegion, Loss, count_accuracy, count_loss, loss_intervals
from majorant.certify.certificate import AssumptionTest, Verdict
from majorant.theory.checks import FloatArray
from majorant.values import Estimate

STARTS = (0.0, 1.5, 3.0)  # log concentrations from which to climb
MOST_CELLS = 1000  # beyond, the search would take minutes
TESTABLE_ALONE = 4  # votes: with fewer, two binomials fit every histogram


class SizeFinding(NamedTuple):
    """What is found about one number of votes, whether its model fits, and how much correlation the verdict bears."""

    finding: Finding
    gate: AssumptionTest
    breakdown: Breakdown | None


def find_apart(histograms: Histograms, level: float, rng: np.random.Generator) -> dict[int, SizeFinding]:
    """Each number of votes with a model of its own, all of them together at the level (Bonferroni).

    The number of votes often goes with difficulty.  The gates share one level.  Numbers of votes that cannot be tested
    alone, or that fewer items hold than count, are left out.
    """
    sizes = [h for h in main_sizes(histograms) if h >= TESTABLE_ALONE]
    each = 1 - (1 - level) / max(len(sizes), 1)
    parts = {}
    for h in sizes:
        finding, theta_3 = find_independent({h: histograms[h]}, each, rng)
        cells, items_c = flatten({h: histograms[h]})
        gate = independence_gate(cells, items_c, theta_3, rng, GATE_LEVEL / len(sizes))
        breakdown = find_breakdown({h: histograms[h]}, [h], finding.verdict, theta_3, each, freedom([h]))
        gate = weak_gate(gate, breakdown)
        named = replace(gate, name=f"{gate.name}, {h} votes", text=f"{h} votes: {gate.text}")
        parts[h] = SizeFinding(finding, named, breakdown)
    return parts


def join(findings: dict[int, Finding], histograms: Histograms, level: float) -> Finding:
    """One finding from those of each number of votes; ends of the loss add up, which can only widen its interval."""
    share = np.array([histograms[h].sum() for h in findings])
    share = share / share.sum()
    each = list(findings.values())
    by_votes = {h: finding.by_votes[h] for h, finding in findings.items()}
    against = sum(finding.evidence["e_value_against"] for finding in each) / len(each)
    worst = min(each, key=lambda finding: finding.margin)
    verdict_untied = verdict_by_evidence_against([f.untied for f in each], float(np.log(against)), level)
    verdict = "refuted" if "refuted" in [f.verdict for f in each] else verdict_untied
    plans = [finding.more_items for finding in each if finding.verdict == "undecided"]
    return Finding(
        verdict=verdict,
        untied=verdict_untied,
        by_votes=by_votes,
        margin=worst.margin,
        handicap=worst.handicap,
        loss=_mean(share, [finding.loss for finding in each]),
        tie_loss=_mean(share, [finding.tie_loss for finding in each]),
        items_certified=float(share @ [finding.items_certified or 0.0 for finding in each]),
        evidence={
            "e_value": min(finding.evidence["e_value"] for finding in each),
            "likelihood_ratio": min(finding.evidence["likelihood_ratio"] for finding in each),
            "likelihood_ratio_cut": ratio_cut(level),
            "e_value_against": against,
            **{
                name: float(share @ [f.evidence[name] for f in each]) for name in ("majority_accuracy", "best_accuracy")
            },
        },
        more_items=None if None in plans else sum(plan or 0 for plan in plans),
    )


def _mean(share: FloatArray, losses: Sequence[Estimate]) -> Estimate:
    """The loss of all parts together, each end that of all ends."""
    ends = np.array([[loss.value, loss.low, loss.high] for loss in losses], dtype=float)
    value, low, high = (float(end) for end in share @ ends)
    return Estimate(value, low, high)


def find_difficulty(
    histograms: Histograms, theta_3: FloatArray, level: float, rng: np.random.Generator
) -> tuple[Finding, AssumptionTest] | None:
    """Two beta-binomials: what is found, at most supported, and whether they fit; None where that cannot be told.

    `theta_3` is the best pair of binomials, from which the search starts.
    """
    df = freedom(list(histograms), PARAMETERS)
    if df <= 0 or sum(histograms) > MOST_CELLS:
        return None
    cells, items_c = flatten(histograms)
    psi_5, value = _best(cells, items_c, theta_3)
    log_cell_c = np.logaddexp(*beta_class_logs(cells, psi_5)) + cells.log_orders_c
    p_value = fit_p_value(items_c, cells.votes_c, log_cell_c, df, _refit(cells, psi_5), rng)
    fits = "fits" if p_value >= GATE_LEVEL else "does not fit"
    text = f"a model in which items differ in difficulty {fits} (p = {p_value:.2g})"
    gate = AssumptionTest(name="item difficulty", passed=p_value >= GATE_LEVEL, p_value=p_value, text=text)
    return _finding(cells, items_c, main_sizes(histograms), psi_5, value, level), gate


def _finding(
    cells: HistogramCells, items_c: FloatArray, sizes: Sequence[int], psi_5: FloatArray, value: float, level: float
) -> Finding:
    null = _patterns(sizes)
    ratio_p, near_p5 = _ratios(cells, items_c, null, psi_5, value)
    ratio_h = {h: float(ratio_p[null.votes_p == h].min()) for h in sizes}
    by_votes: dict[int, Verdict] = {h: "supported" if r > ratio_cut(level) else "undecided" for h, r in ratio_h.items()}
    verdict = verdict_by_evidence_against(by_votes.values(), -np.inf, level)
    margin = float((-null.sign_p * beta_log_odds(psi_5, null.votes_p, null.zeros_p)).min())
    n_items, ratio = float(items_c.sum()), min(ratio_h.values())
    loss, tie_loss = _loss(cells, items_c, psi_5, [near_p5[ratio_p.argmin()]], level)
    items_h = np.bincount(cells.votes_c.astype(np.int64), weights=items_c).astype(float)
    log0, log1 = beta_class_logs(cells, psi_5)
    right = count_accuracy(log0 + cells.log_orders_c, log1 + cells.log_orders_c, cells, items_h)
    means, concentrations = expit(psi_5[[0, 1, 4]]), np.exp(psi_5[2:4])
    return Finding(
        verdict="refuted" if (tie_loss.low or 0.0) > 0 else verdict,
        untied=verdict,
        by_votes=by_votes,
        margin=margin,
        handicap=None,
        loss=loss,
        tie_loss=tie_loss,
        items_certified=None,
        evidence={
            "likelihood_ratio": ratio,
            "likelihood_ratio_cut": ratio_cut(level),
            "prior_0": float(means[2]),
            "accuracy_0": float(means[0]),
            "accuracy_1": float(1 - means[1]),
            "concentration_0": float(concentrations[0]),
            "concentration_1": float(concentrations[1]),
            "majority_accuracy": right,
            "best_accuracy": right + (loss.value or 0.0),
        },
        more_items=fresh_items(verdict, items_needed(ratio / n_items, level)),
    )


def _patterns(sizes: Sequence[int]) -> Sides:
    """Every way in which an untied count may be decided wrongly: under difficulty no count is the hardest for sure."""
    rows = [(h, k, -1 if 2 * k > h else 1) for h in sizes for k in range(h + 1) if 2 * k != h]
    return sides(rows)


def _starts(theta_3: FloatArray) -> FloatArray:
    x, y, z = np.clip(theta_3, -6, 6)
    return np.array([[x, y, c0, c1, z] for c0 in STARTS for c1 in STARTS])


def _best(cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray) -> tuple[FloatArray, float]:
    start_p5 = _starts(theta_3)
    psi, value = beta_climb(cells, np.tile(items_c, (len(start_p5), 1)), sides([(0, 0, 0)] * len(start_p5)), start_p5)
    return psi[value.argmax()], float(value.max())


def _ratios(
    cells: HistogramCells, items_c: FloatArray, null: Sides, psi_5: FloatArray, value: float
) -> tuple[FloatArray, FloatArray]:
    """By how many nats the best model beats each null, and the likeliest model in it."""
    starts = np.concatenate([psi_5[None], _starts(psi_5[[0, 1, 4]])[::4]])
    which, begin = np.repeat(np.arange(len(null)), len(starts)), np.tile(np.arange(len(starts)), len(null))
    psi, found = beta_climb(cells, np.tile(items_c, (len(which), 1)), null.take(which), starts[begin])
    found_ps = found.reshape(len(null), -1)
    best_p = found_ps.argmax(axis=1)
    rows = np.arange(len(null))
    return np.maximum(value - found_ps[rows, best_p], 0), psi.reshape(len(null), -1, PARAMETERS)[rows, best_p]


def _refit(cells: HistogramCells, psi_5: FloatArray) -> Refit:
    def refit(items_bc: FloatArray) -> FloatArray:
        everywhere = sides([(0, 0, 0)] * len(items_bc))
        psi, _ = beta_climb(cells, items_bc, everywhere, np.tile(psi_5, (len(items_bc), 1)))
        return np.asarray(np.logaddexp(*beta_class_logs(cells, psi)) + cells.log_orders_c)

    return refit


def _loss(
    cells: HistogramCells, items_c: FloatArray, psi_5: FloatArray, others: Sequence[FloatArray], level: float
) -> tuple[Estimate, Estimate]:
    """Over all pairs of beta-binomials that the data allow."""
    items_h = np.bincount(cells.votes_c.astype(np.int64), weights=items_c).astype(float)
    total_c = items_h[cells.votes_c.astype(np.int64)]
    held = HistogramCells(cells.votes_c[items_c > 0], cells.zeros_c[items_c > 0])

    def value(psi: FloatArray) -> FloatArray:
        return beta_log_likelihood(held, items_c[items_c > 0], psi)

    def curvature(psi: FloatArray) -> FloatArray:
        return np.asarray(beta_information(cells, total_c, psi[None])[0])

    def loss(psi: FloatArray) -> Loss:
        log0, log1 = beta_class_logs(cells, psi)
        return count_loss(log0 + cells.log_orders_c, log1 + cells.log_orders_c, cells, items_h)

    free = np.array([np.inf, np.inf, MOST_CONCENTRATION, MOST_CONCENTRATION, np.inf])
    low_u = np.array([-np.inf, -np.inf, LEAST_CONCENTRATION, LEAST_CONCENTRATION, -np.inf])
    floor = float(value(psi_5)) - ratio_cut(level)
    return loss_intervals(ConfidenceRegion(value, curvature, floor, low_u, free), [psi_5, *others], loss)
