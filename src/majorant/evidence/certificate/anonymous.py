"""The anonymous claim: is majority vote as good as any rule that ignores who voted, told from counts of votes alone?

Votes are taken for independent given the class as long as the histograms look so; else numbers of votes are taken
apart, or items differ in difficulty, whichever fits first; where neither does, the claim is void.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from majorant.defaults import LEVEL
from majorant.errors import ConfigError
from majorant.evidence.certificate.assumption_tests import (
    ENOUGH_POWER,
    GATE_LEVEL,
    Breakdown,
    find_breakdown,
    fit_p_value,
    independence_gate,
    misplaced,
    sizes_gate,
    weak_gate,
)
from majorant.evidence.certificate.certificate import (
    DIFFICULTY,
    INDEPENDENT_COUNTS,
    SIZES_APART,
    AssumptionTest,
    Basis,
    Certificate,
    Claim,
    Verdict,
)
from majorant.evidence.certificate.count_models import (
    BETA_BINOMIALS,
    BETA_PARAMETERS,
    BINOMIALS,
    LEAST_CONCENTRATION,
    MOST_BETA_CELLS,
    MOST_CONCENTRATION,
    HistogramCells,
    Histograms,
    Sides,
    beta_class_logs,
    beta_climb,
    beta_information,
    beta_log_odds,
    everywhere,
    flatten,
    sides,
)
from majorant.evidence.certificate.independent import (
    Finding,
    find_independent,
    fresh_items,
    items_needed,
    main_sizes,
    ratio_cut,
    verdict_by_evidence_against,
)
from majorant.evidence.certificate.likelihood_region import (
    ConfidenceRegion,
    Loss,
    count_accuracy,
    count_loss,
    loss_intervals,
)
from majorant.limits import sizes_within
from majorant.values import Estimate, FloatArray, as_generator, as_level
from majorant.wording import (
    ANY_SIZE,
    NO_VOTES,
    TOO_FEW_VOTES,
    TWO_CLASSES,
    anonymous_by_counts,
    cannot_test,
    difficulty_fits,
    failed_condition,
    too_many_votes,
    under,
    void_by_test,
)

LARGEST_COUNT = 2.0**53  # up to here every whole number is a float of its own
CONCENTRATIONS = (0.0, 1.5, 3.0)  # log concentrations from which to climb
TESTABLE_ALONE = 4  # votes: with fewer, two binomials fit every histogram


def certify_counts(
    histograms: Mapping[int, ArrayLike], *, level: float = LEVEL, rng: int | np.random.Generator = 0
) -> Certificate:
    """Is majority vote as good as any rule that ignores who voted?  From `{H: [n_0 .. n_H]}` alone.

    `n_k` items with H votes have k votes for class 0.  Two classes; every vote from a worker drawn anew, independent
    given the class (tested where the data allow it), better than guessing, and as many votes as were planned before
    any was seen.  Statistics and their proofs: docs/theory/certificate.md.

    >>> certificate = certify_counts({5: [155, 197, 141, 139, 191, 177]})
    >>> certificate.anonymous.verdict, round(certificate.anonymous.margin, 2)
    ('proved', 1.12)
    """
    claim = anonymous_claim(as_histograms(histograms), as_level(level), as_generator(rng))
    return Certificate(level=level, why=claim.why, anonymous=claim)


def anonymous_claim(histograms: Histograms, level: float, rng: np.random.Generator) -> Claim:
    """The anonymous claim on checked histograms, less where the number of votes goes with the item.

    Where items have so many votes that there are too many cells to look at, the rarest numbers of votes have no say.
    """
    sizes = sizes_within({h: float(items_k.sum()) for h, items_k in histograms.items()})
    if histograms and not sizes:
        return Claim(kind="anonymous", verdict="unidentified", why=too_many_votes(min(histograms)))
    kept = {h: histograms[h] for h in sizes}
    claim, gate = _independent_claim(kept, level, rng), sizes_gate(kept)
    if len(kept) < len(histograms):
        total = sum(float(items_k.sum()) for items_k in histograms.values())
        shares = {h: float(items_k.sum()) / total for h, items_k in histograms.items()}
        claim = replace(claim, without_say={h: share for h, share in shares.items() if h not in claim.by_votes})
    return claim if gate is None else weakened(claim, gate, ANY_SIZE)


def weakened(claim: Claim, gate: AssumptionTest, assumption: str) -> Claim:
    """The claim with the test of an assumption.

    Where it fails, the claim holds on that condition only: proved becomes supported, and what is refuted on a false
    assumption is not refuted but void.

    >>> gate = AssumptionTest(name="workers alike", passed=False, p_value=.002, text="Workers differ.")
    >>> claim = Claim(kind="anonymous", verdict="refuted", why="Majority vote loses.")
    >>> claim = weakened(claim, gate, "workers are alike")
    >>> claim.verdict, claim.conditions
    ('void', ('workers are alike, which fails a test (p = 0.002)',))
    """
    tested = tuple(text for text in claim.not_tested if text != assumption or gate.passed is None)
    claim = replace(claim, gates=(*claim.gates, gate), not_tested=tested)
    if gate.passed is not False or claim.verdict in ("void", "unidentified"):
        return claim
    condition = failed_condition(assumption, gate.p_value or 0.0)
    verdict: Verdict = "void" if claim.verdict == "refuted" else unproved(claim.verdict)
    why = under([condition], claim.why)
    if verdict == "void":
        why = void_by_test(gate.text, why)
    by_votes: dict[int, Verdict] = {
        h: "void" if one == "refuted" else unproved(one) for h, one in claim.by_votes.items()
    }
    return replace(
        claim,
        verdict=verdict,
        why=why,
        by_votes=by_votes,
        untied=None if verdict == "void" or claim.untied is None else unproved(claim.untied),
        conditions=(*claim.conditions, condition),
        more_items=claim.more_items if verdict == "undecided" else None if verdict == "void" else 0,
    )


def _independent_claim(histograms: Histograms, level: float, rng: np.random.Generator) -> Claim:
    if not histograms:
        return Claim(kind="anonymous", verdict="unidentified", why=NO_VOTES)
    if max(histograms) < 3:
        return Claim(kind="anonymous", verdict="unidentified", why=TOO_FEW_VOTES)
    pooled = find_pooled(histograms, level, rng)
    if pooled.gate.passed is False:
        return _when_votes_depend(histograms, pooled, level, rng)
    return _claim(INDEPENDENT_COUNTS, pooled.finding, (pooled.gate,), histograms, level, [pooled.breakdown])


def _when_votes_depend(histograms: Histograms, pooled: Pooled, level: float, rng: np.random.Generator) -> Claim:
    """The claim under the first wider model that fits: numbers of votes apart, item difficulty; else void."""
    gates, sizes = [pooled.gate], main_sizes(histograms)
    if len(sizes) > 1:
        parts = find_apart(histograms, level, rng)
        gates += [part.gate for part in parts.values()]
        if set(parts) == set(sizes) and all(part.gate.passed is not False for part in parts.values()):
            finding = join({h: part.finding for h, part in parts.items()}, histograms, level)
            return _claim(SIZES_APART, finding, gates, histograms, level, [part.breakdown for part in parts.values()])
    difficulty = find_difficulty(histograms, pooled.theta_3, level, rng)
    if difficulty is not None:
        gates.append(difficulty[1])
        if difficulty[1].passed:
            return _claim(DIFFICULTY, difficulty[0], gates, histograms, level)
    by_votes: dict[int, Verdict] = dict.fromkeys(sizes, "void")
    cells, items_c = flatten(histograms)
    how_far = {"misplaced_items": misplaced(cells, items_c, BINOMIALS.log_shares(cells, pooled.theta_3))}
    evidence = {**pooled.finding.evidence, **how_far}
    void = replace(pooled.finding, verdict="void", by_votes=by_votes, more_items=None, evidence=evidence)
    return _claim(INDEPENDENT_COUNTS, void, gates, histograms, level)


def _claim(
    basis: Basis,
    finding: Finding,
    gates: Sequence[AssumptionTest],
    histograms: Histograms,
    level: float,
    breakdowns: Sequence[Breakdown | None] = (),
) -> Claim:
    """The claim, not proved but supported on a condition where no test could have seen what would turn the verdict."""
    counted = gates if basis is SIZES_APART else gates[-1:]
    blind = any(turns is not None and turns.power_to_turn < ENOUGH_POWER for turns in breakdowns)
    conditions: tuple[str, ...] = ()
    if blind or None in [gate.passed for gate in counted]:
        conditions = (cannot_test(three_votes={h for h in histograms if h > 1} == {3}),)
        basis = basis._replace(tested=(TWO_CLASSES,))
    stands = [None if turns is None else turns.correlation for turns in breakdowns]
    breakdown = None if not stands or None in stands else min(rho for rho in stands if rho is not None)
    if conditions:
        finding = replace(
            finding,
            verdict=unproved(finding.verdict),
            untied=unproved(finding.untied),
            by_votes={h: unproved(verdict) for h, verdict in finding.by_votes.items()},
        )
    n_items = {h: float(items_k.sum()) for h, items_k in histograms.items()}
    total = sum(n_items.values())
    tied_share = sum(float(items_k[h // 2]) for h, items_k in histograms.items() if h % 2 == 0) / total
    says = main_sizes(histograms)
    return Claim(
        kind="anonymous",
        verdict=finding.verdict,
        why=anonymous_by_counts(finding, level, conditions, tied_share, difficulty=basis.model == DIFFICULTY.model),
        by_votes=finding.by_votes,
        untied=finding.untied if finding.verdict != "void" else None,
        margin=finding.margin,
        handicap=finding.handicap,
        loss=finding.loss,
        tied_share=tied_share,
        tie_loss=finding.tie_loss,
        items_certified=finding.items_certified,
        evidence=finding.evidence,
        model=basis.model,
        gates=tuple(gates),
        assumptions=basis.assumptions,
        not_tested=basis.not_tested,
        conditions=conditions,
        breakdown=breakdown,
        without_say={h: n / total for h, n in n_items.items() if h not in says},
        level=level,
        more_items=finding.more_items,
    )


def unproved(verdict: Verdict) -> Verdict:
    """The verdict where something that it rests on failed a test or was not tested: at most supported."""
    return "supported" if verdict == "proved" else verdict


def as_histograms(histograms: Mapping[int, ArrayLike]) -> dict[int, FloatArray]:
    """Histograms by increasing number of votes, checked; those without items left out."""
    try:
        histograms = dict(histograms)
    except (TypeError, ValueError):
        kind = type(histograms).__name__
        raise ConfigError(f"histograms must be a dict such as {{3: [5, 2, 1, 9]}}, not a {kind}.") from None
    for n_votes in histograms:
        if not isinstance(n_votes, (int, float, np.integer, np.floating)) or n_votes < 1 or n_votes % 1 != 0:
            raise ConfigError(f"histograms: {n_votes!r} is not a number of votes.")
    checked = {int(n_votes): _as_counts(int(n_votes), histograms[n_votes]) for n_votes in sorted(histograms)}
    return {n_votes: items_k for n_votes, items_k in checked.items() if items_k.any()}


def _as_counts(n_votes: int, counts: ArrayLike) -> FloatArray:
    """Items with 0, 1, ..., n_votes votes for class 0."""
    try:
        items_k = np.asarray(counts, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError(f"histograms[{n_votes}]: {counts!r} is not a list of counts.") from None
    if items_k.shape != (n_votes + 1,):
        raise ConfigError(
            f"histograms[{n_votes}] must list the items with 0, 1, ..., {n_votes} votes for class 0, "
            f"{n_votes + 1} counts, not an array of shape {items_k.shape}."
        )
    wrong = ~((items_k >= 0) & (items_k == np.floor(items_k)) & (items_k <= LARGEST_COUNT))
    if wrong.any():
        k = int(wrong.argmax())
        raise ConfigError(
            f"histograms[{n_votes}][{k}] is {items_k[k]:g}: counts are whole numbers, 0 or more and at most 2**53."
        )
    return items_k


class Pooled(NamedTuple):
    """What is found if all votes share one model, that model, whether it fits, and how much correlation it bears."""

    finding: Finding
    theta_3: FloatArray
    gate: AssumptionTest
    breakdown: Breakdown | None


def find_pooled(
    histograms: Histograms, level: float, rng: np.random.Generator, gate_level: float = GATE_LEVEL
) -> Pooled:
    """Independent votes, put to the test, which has tested nothing where it could not have seen dependent ones."""
    finding, theta_3 = find_independent(histograms, level, rng)
    gate = independence_gate(*flatten(histograms), theta_3, rng, gate_level)
    breakdown = None if gate.passed is False else find_breakdown(histograms, finding.verdict, theta_3, level)
    return Pooled(finding, theta_3, weak_gate(gate, breakdown), breakdown)


def find_apart(histograms: Histograms, level: float, rng: np.random.Generator) -> dict[int, Pooled]:
    """Each number of votes with a model of its own, all of them together at the level (Bonferroni).

    The number of votes often goes with difficulty.  The gates share one level.  Numbers of votes that cannot be tested
    alone, or that fewer items hold than count, are left out.
    """
    sizes = [h for h in main_sizes(histograms) if h >= TESTABLE_ALONE]
    each, parts = 1 - (1 - level) / max(len(sizes), 1), {}
    for h in sizes:
        part = find_pooled({h: histograms[h]}, each, rng, GATE_LEVEL / len(sizes))
        gate = replace(part.gate, name=f"{part.gate.name}, {h} votes", text=f"{h} votes: {part.gate.text}")
        parts[h] = part._replace(gate=gate)
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
    df = sum(histograms) - BETA_PARAMETERS
    if df <= 0 or sum(histograms) > MOST_BETA_CELLS:
        return None
    cells, items_c = flatten(histograms)
    psi_5, value = _best(cells, items_c, theta_3)
    p_value = fit_p_value(cells, items_c, BETA_BINOMIALS, psi_5, df, rng)
    text = difficulty_fits(p_value, passed=p_value >= GATE_LEVEL)
    gate = AssumptionTest(name=DIFFICULTY.model, passed=p_value >= GATE_LEVEL, p_value=p_value, text=text)
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
    right = count_accuracy(beta_class_logs(cells, psi_5), cells, cells.totals(items_c))
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
    return np.array([[x, y, c0, c1, z] for c0 in CONCENTRATIONS for c1 in CONCENTRATIONS])


def _best(cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray) -> tuple[FloatArray, float]:
    start_p5 = _starts(theta_3)
    psi, value = beta_climb(cells, np.tile(items_c, (len(start_p5), 1)), everywhere(len(start_p5)), start_p5)
    return psi[value.argmax()], float(value.max())


def _ratios(
    cells: HistogramCells, items_c: FloatArray, null: Sides, psi_5: FloatArray, value: float
) -> tuple[FloatArray, FloatArray]:
    """By how many nats the best model beats each null, and the likeliest model in it."""
    starts = np.concatenate([psi_5[None], _starts(psi_5[[0, 1, 4]])[::4]])
    which, begin = np.repeat(np.arange(len(null)), len(starts)), np.tile(np.arange(len(starts)), len(null))
    psi, value_c = beta_climb(cells, np.tile(items_c, (len(which), 1)), null.take(which), starts[begin])
    value_ps = value_c.reshape(len(null), -1)
    best_p = value_ps.argmax(axis=1)
    rows = np.arange(len(null))
    return np.maximum(value - value_ps[rows, best_p], 0), psi.reshape(len(null), -1, BETA_PARAMETERS)[rows, best_p]


def _loss(
    cells: HistogramCells, items_c: FloatArray, psi_5: FloatArray, others: Sequence[FloatArray], level: float
) -> tuple[Estimate, Estimate]:
    """Over all pairs of beta-binomials that the data allow."""
    total_c = cells.totals(items_c)
    held = HistogramCells(cells.votes_c[items_c > 0], cells.zeros_c[items_c > 0])

    def value(psi: FloatArray) -> FloatArray:
        return BETA_BINOMIALS.log_likelihood(held, items_c[items_c > 0], psi)

    def curvature(psi: FloatArray) -> FloatArray:
        return np.asarray(beta_information(cells, total_c, psi[None])[0])

    def loss(psi: FloatArray) -> Loss:
        return count_loss(beta_class_logs(cells, psi), cells, total_c)

    free = np.array([np.inf, np.inf, MOST_CONCENTRATION, MOST_CONCENTRATION, np.inf])
    low_u = np.array([-np.inf, -np.inf, LEAST_CONCENTRATION, LEAST_CONCENTRATION, -np.inf])
    floor = float(value(psi_5)) - ratio_cut(level)
    return loss_intervals(ConfidenceRegion(value, curvature, floor, low_u, free), [psi_5, *others], loss)
