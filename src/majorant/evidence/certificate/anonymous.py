"""The anonymous claim for two classes, from counts of votes alone.

Votes are assumed independent given the class unless the histograms contradict it; then items may differ in difficulty.
If neither model fits, the claim keeps its numbers, but its verdict is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from majorant.defaults import LEVEL
from majorant.errors import ConfigError
from majorant.evidence.certificate.assumption_tests import (
    ENOUGH_POWER,
    MOST_BETA_CELLS,
    TEST_LEVEL,
    check_independence,
    check_sizes,
    find_breakdown,
    fit_p_value,
)
from majorant.evidence.certificate.certificate import (
    Certificate,
    Claim,
    Family,
    Model,
    Reason,
    Verdict,
    assume,
    doubt,
)
from majorant.evidence.certificate.count_models import (
    BETA_BINOMIALS,
    LEAST_CONCENTRATION,
    MOST_CONCENTRATION,
    HistogramCells,
    Histograms,
    Sides,
    beta_class_logs,
    beta_climb,
    beta_information,
    beta_log_odds,
    class_logs,
    everywhere,
    flatten,
    held_cells,
    opposite,
    sides,
    suprema,
)
from majorant.evidence.certificate.independent import (
    count_margin,
    deciding_sizes,
    fresh_items,
    is_proved,
    main_sizes,
    plan_items,
    ratio_cut,
    verdict_by_ratios,
    weigh,
)
from majorant.evidence.certificate.likelihood_region import (
    ConfidenceRegion,
    binomial_region,
    count_accuracy,
    count_loss,
    loss_interval,
)
from majorant.evidence.evidence import Assumption, Certainty, Status, Tested
from majorant.limits import sizes_within
from majorant.values import Estimate, FloatArray, Missing, as_generator, as_level


def certify_counts(
    histograms: Mapping[int, ArrayLike], *, level: float = LEVEL, rng: int | np.random.Generator = 0
) -> Certificate:
    """Compare majority vote with all rules that ignore who voted, from histograms of vote counts alone.

    Two classes. Assumes that votes are independent given the class (tested where the data allow it), that workers are
    exchangeable and better than guessing, and that the number of votes on an item is unrelated to the item.
    Statistics and their proofs: docs/theory/certificate.md.

    Parameters
    ----------
    histograms : mapping
        `{H: [n_0 .. n_H]}`: `n_k` items with H votes have k votes for class 0.
    level : float
        Confidence level.
    rng : int or numpy.random.Generator
        Random seed.

    Returns
    -------
    Certificate
        With one claim, `anonymous`.

    Examples
    --------
    >>> claim = certify_counts({5: [155, 197, 141, 139, 191, 177]}).anonymous
    >>> str(claim.verdict), str(claim.certainty), round(claim.margin, 2)
    ('optimal', 'supported', 1.12)
    """
    as_level(level)
    tests = examine_counts(as_histograms(histograms), as_generator(rng))
    return Certificate(level=level, anonymous=claim_from_counts(tests, level))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CountTests:
    """Histograms, the model that explains them best, and which of its assumptions pass.

    Parameters
    ----------
    histograms : mapping
        Those of the most common numbers of votes, if all would take too long.
    sizes : tuple of int
        The numbers of votes that hold at least 1% of all items.
    n_items : int
        All items.
    model : Model or None
        None if counts do not identify any model: no item has three votes.
    best_u : array
        The likeliest model of this kind.
    independence : Tested
        Whether votes are independent given the class, whatever the model.
    assumptions : tuple of Tested
        What the model assumes.
    """

    histograms: Histograms
    sizes: tuple[int, ...]
    n_items: int
    model: Model | None
    best_u: FloatArray
    independence: Tested
    assumptions: tuple[Tested, ...]


def examine_counts(histograms: Histograms, rng: np.random.Generator, *, is_doubted: bool = False) -> CountTests:
    """Find a model that explains the histograms, and test what it assumes.

    Two binomials (independent votes), or two beta-binomials (items that differ in difficulty) if those do not fit. The
    latter are not tried if the claim `is_doubted` anyway, since another of its assumptions failed.
    """
    totals = {h: float(items_k.sum()) for h, items_k in histograms.items()}
    kept = _in_fixed_order({h: histograms[h] for h in sizes_within(totals)})
    untested = (Assumption.EXCHANGEABLE_WORKERS, Assumption.BETTER_THAN_GUESSING, Assumption.INDEPENDENT_ITEMS)
    others = [Tested(one, Status.UNTESTED) for one in untested]
    known = CountTests(
        histograms=kept,
        sizes=tuple(main_sizes(histograms)),
        n_items=int(sum(totals.values())),
        model=None,
        best_u=np.empty(0),
        independence=Tested(Assumption.INDEPENDENT_VOTES, Status.UNTESTABLE),
        assumptions=tuple(others),
    )
    if max(kept, default=0) < 3:
        return known
    held, held_c = held_cells(kept)
    best_u = suprema(held, held_c[None])[1][0, 0]
    model, tested = Model.INDEPENDENT_VOTES, check_independence(*flatten(kept), best_u, rng)
    known = replace(known, independence=tested)
    by_size = check_sizes(kept)
    is_doubted = is_doubted or (by_size is not None and by_size.status == Status.FAILED)
    if tested.status == Status.FAILED and not is_doubted:
        difficulty = _fit_difficulty(kept, best_u, rng)
        if difficulty is not None:
            model, (best_u, tested) = Model.ITEM_DIFFICULTY, difficulty
    assumptions = (tested, *([] if by_size is None else [by_size]), *others)
    return replace(known, model=model, best_u=best_u, assumptions=assumptions)


def _in_fixed_order(histograms: Histograms) -> Histograms:
    """The histograms with the classes in an order that depends on the counts, not on which label came first."""
    mirrored = {h: items_k[::-1].copy() for h, items_k in histograms.items()}
    forward, backward = ([tuple(items_k) for items_k in some.values()] for some in (histograms, mirrored))
    return histograms if forward <= backward else mirrored


def claim_from_counts(tests: CountTests, level: float, assumptions: tuple[Tested, ...] | None = None) -> Claim:
    """The anonymous claim of examined counts; a point estimate if one of its assumptions failed.

    `assumptions` replaces those of the tests if more is known, such as whether workers are exchangeable.
    """
    known = tests.assumptions if assumptions is None else assumptions
    blank = Claim(family=Family.ANONYMOUS, level=level, n_items=tests.n_items)
    if tests.model is None:
        return assume(replace(blank, reason=Reason.NOT_IDENTIFIED, model=Model.INDEPENDENT_VOTES), *known)
    total = sum(float(items_k.sum()) for items_k in tests.histograms.values())
    tied = sum(float(items_k[h // 2]) for h, items_k in tests.histograms.items() if h % 2 == 0)
    blank = replace(blank, model=tests.model, tied_share=tied / total)
    reason = doubt(known)
    with_interval = reason != Reason.ASSUMPTION_FAILED
    if tests.model == Model.ITEM_DIFFICULTY:
        claim = _difficulty_claim(blank, tests, with_interval=with_interval)
    else:
        claim = _independent_claim(blank, tests, with_interval=with_interval, may_prove=reason is None)
    return assume(claim, *known)


def _independent_claim(claim: Claim, tests: CountTests, *, with_interval: bool, may_prove: bool) -> Claim:
    """By two binomials."""
    level, histograms, sizes, theta_3 = claim.level, tests.histograms, deciding_sizes(tests.sizes), tests.best_u
    cells, items_c = flatten(histograms)
    held, held_c = held_cells(histograms)
    total_c = cells.totals(items_c)

    def loss(theta: FloatArray) -> FloatArray:
        return count_loss(class_logs(cells, theta), cells, total_c)

    claim = replace(
        claim,
        margin=count_margin(theta_3, sizes),
        loss=Estimate(float(loss(theta_3)), reason=Missing.NO_INTERVAL),
        accuracy=count_accuracy(class_logs(cells, theta_3), cells, total_c),
    )
    if not with_interval:
        return claim
    evidence = weigh(held, held_c[None], sizes)
    region = binomial_region(held, held_c, theta_3, ratio_cut(level))
    claim = replace(claim, loss=loss_interval(region, [theta_3, *evidence.nearest_bp3[0]], loss))
    verdict = verdict_by_ratios(float(evidence.ratio_b[0]), float(evidence.against_b[0]), level)
    if verdict == Verdict.OPEN:
        return replace(claim, reason=Reason.TOO_FEW_ITEMS, more_items=plan_items(cells, items_c, theta_3, sizes, level))
    breakdown = find_breakdown(histograms, sizes, verdict, theta_3, level)
    # A proof also needs a test of independence that would have seen the dependence with which the verdict is wrong.
    proved = (
        verdict == Verdict.OPTIMAL
        and may_prove
        and breakdown is not None
        and breakdown.power >= ENOUGH_POWER
        and is_proved(histograms, evidence, level)
    )
    return replace(
        claim,
        verdict=verdict,
        certainty=Certainty.PROVED if proved else Certainty.SUPPORTED,
        breakdown=None if breakdown is None else breakdown.correlation,
        more_items=0,
    )


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
    largest = 2.0**53  # up to here every whole number is a float of its own
    wrong = ~((items_k >= 0) & (items_k == np.floor(items_k)) & (items_k <= largest))
    if wrong.any():
        k = int(wrong.argmax())
        raise ConfigError(
            f"histograms[{n_votes}][{k}] is {items_k[k]:g}: counts are whole numbers, 0 or more and at most 2**53."
        )
    return items_k


# --- items that differ in difficulty


def _fit_difficulty(
    histograms: Histograms, theta_3: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, Tested] | None:
    """The likeliest pair of beta-binomials, and its test; None if it does not fit, or if that is unknown.

    `theta_3` is the best pair of binomials, from which the search starts.
    """
    cells, items_c = flatten(histograms)
    df = sum(histograms) - 5  # parameters
    if df <= 0 or len(items_c) > MOST_BETA_CELLS:
        return None
    start_p5 = _difficulty_starts(theta_3)
    psi, value = beta_climb(cells, np.tile(items_c, (len(start_p5), 1)), everywhere(len(start_p5)), start_p5)
    psi_5 = np.asarray(psi[value.argmax()])
    p_value = fit_p_value(cells, items_c, BETA_BINOMIALS, psi_5, df, rng)
    return None if p_value < TEST_LEVEL else (psi_5, Tested(Assumption.ITEM_DIFFICULTY, Status.PASSED, p_value))


def _difficulty_claim(claim: Claim, tests: CountTests, *, with_interval: bool) -> Claim:
    """By two beta-binomials and their likelihood ratio alone, which proves nothing."""
    level, psi_5 = claim.level, tests.best_u
    cells, items_c = flatten(tests.histograms)
    total_c, null = cells.totals(items_c), _patterns(tests.sizes)
    margin_p = -null.sign_p * beta_log_odds(psi_5, null.votes_p, null.zeros_p)

    def loss(psi: FloatArray) -> FloatArray:
        return count_loss(beta_class_logs(cells, psi), cells, total_c)

    claim = replace(
        claim,
        margin=float(margin_p.min()),
        loss=Estimate(float(loss(psi_5)), reason=Missing.NO_INTERVAL),
        accuracy=count_accuracy(beta_class_logs(cells, psi_5), cells, total_c),
    )
    if not with_interval:
        return claim
    null = null.take(np.argsort(margin_p, kind="stable")[:8])  # the counts on which majority vote is least safe
    inside = float(margin_p.min()) > 0
    ratio_p, near_p5 = _ratios(cells, items_c, null if inside else opposite(null), psi_5)
    ratio, against = (float(ratio_p.min()), 0.0) if inside else (0.0, float(ratio_p.max()))
    near_5 = near_p5[ratio_p.argmin()] if inside else near_p5[ratio_p.argmax()]
    verdict = verdict_by_ratios(ratio, against, level)
    is_open = verdict == Verdict.OPEN
    return replace(
        claim,
        loss=loss_interval(_beta_region(cells, items_c, psi_5, level), [psi_5, near_5], loss),
        verdict=verdict,
        certainty=None if is_open else Certainty.SUPPORTED,
        reason=Reason.TOO_FEW_ITEMS if is_open else None,
        more_items=fresh_items((ratio + against) / float(items_c.sum()), level) if is_open else 0,
    )


def _patterns(sizes: Sequence[int]) -> Sides:
    """Every way in which an untied count may be decided wrongly: under difficulty no count is the hardest for sure."""
    return sides([(h, k, -1 if 2 * k > h else 1) for h in sizes for k in range(h + 1) if 2 * k != h])


def _difficulty_starts(theta_3: FloatArray) -> FloatArray:
    x, y, z = np.clip(theta_3, -6, 6)
    return np.array([[x, y, c0, c1, z] for c0 in (0.0, 1.5, 3.0) for c1 in (0.0, 1.5, 3.0)])  # log concentrations


def _ratios(
    cells: HistogramCells, items_c: FloatArray, null: Sides, psi_5: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Log-likelihood lead of the best model over each null, and the likeliest null model."""
    starts = np.concatenate([psi_5[None], _difficulty_starts(psi_5[[0, 1, 4]])[::4]])
    which, begin = np.repeat(np.arange(len(null)), len(starts)), np.tile(np.arange(len(starts)), len(null))
    psi, value_c = beta_climb(cells, np.tile(items_c, (len(which), 1)), null.take(which), starts[begin])
    value_ps, rows = value_c.reshape(len(null), -1), np.arange(len(null))
    best_p, value = value_ps.argmax(axis=1), BETA_BINOMIALS.log_likelihood(cells, items_c, psi_5)
    return np.maximum(value - value_ps[rows, best_p], 0), psi.reshape(len(null), -1, 5)[rows, best_p]


def _beta_region(cells: HistogramCells, items_c: FloatArray, psi_5: FloatArray, level: float) -> ConfidenceRegion:
    """All pairs of beta-binomials that the data allow."""
    held = HistogramCells(cells.votes_c[items_c > 0], cells.zeros_c[items_c > 0])
    total_c = cells.totals(items_c)

    def value(psi: FloatArray) -> FloatArray:
        return BETA_BINOMIALS.log_likelihood(held, items_c[items_c > 0], psi)

    def curvature(psi: FloatArray) -> FloatArray:
        return np.asarray(beta_information(cells, total_c, psi[None])[0])

    high_u = np.array([np.inf, np.inf, MOST_CONCENTRATION, MOST_CONCENTRATION, np.inf])
    low_u = np.array([-np.inf, -np.inf, LEAST_CONCENTRATION, LEAST_CONCENTRATION, -np.inf])
    return ConfidenceRegion(value, curvature, float(value(psi_5)) - ratio_cut(level), low_u, high_u)
