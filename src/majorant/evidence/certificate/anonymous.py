"""The anonymous claim for two classes, from counts of votes alone, which two binomials explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from majorant.defaults import LEVEL
from majorant.errors import ConfigError
from majorant.evidence.certificate.assumption_tests import check_independence, check_sizes
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
from majorant.evidence.certificate.count_models import Histograms, flatten, held_cells, suprema
from majorant.evidence.certificate.independent import (
    count_margin,
    deciding_sizes,
    is_proved,
    main_sizes,
    plan_items,
    ratio_cut,
    verdict_by_ratios,
    weigh,
)
from majorant.evidence.certificate.likelihood_region import (
    ConfidenceRegion,
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
    """Histograms, the likeliest pair of binomials, and which of its assumptions pass.

    Parameters
    ----------
    histograms : mapping
        Those of the most common numbers of votes, if all would take too long.
    sizes : tuple of int
        The numbers of votes that hold at least 1% of all items.
    n_items : int
        All items.
    theta_3 : array or None
        The likeliest model; None if counts identify none: no item has three votes.
    independence : Tested
        Whether votes are independent given the class.
    assumptions : tuple of Tested
        What the claim assumes.
    """

    histograms: Histograms
    sizes: tuple[int, ...]
    n_items: int
    theta_3: FloatArray | None
    independence: Tested
    assumptions: tuple[Tested, ...]


def examine_counts(histograms: Histograms, rng: np.random.Generator) -> CountTests:
    """Fit two binomials to the histograms, and test what they assume."""
    totals = {h: float(items_k.sum()) for h, items_k in histograms.items()}
    kept = _in_fixed_order({h: histograms[h] for h in sizes_within(totals)})
    untested = (Assumption.EXCHANGEABLE_WORKERS, Assumption.BETTER_THAN_GUESSING, Assumption.INDEPENDENT_ITEMS)
    assumptions, theta_3 = tuple(Tested(one, Status.UNTESTED) for one in untested), None
    independence = Tested(Assumption.INDEPENDENT_VOTES, Status.UNTESTABLE)
    if max(kept, default=0) >= 3:
        held, held_c = held_cells(kept)
        theta_3 = suprema(held, held_c[None])[1][0, 0]
        independence, by_size = check_independence(*flatten(kept), theta_3, rng), check_sizes(kept)
        assumptions = (independence, *([] if by_size is None else [by_size]), *assumptions)
    return CountTests(
        histograms=kept,
        sizes=tuple(main_sizes(histograms)),
        n_items=int(sum(totals.values())),
        theta_3=theta_3,
        independence=independence,
        assumptions=assumptions,
    )


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
    claim = Claim(family=Family.ANONYMOUS, model=Model.INDEPENDENT_VOTES, level=level, n_items=tests.n_items)
    if tests.theta_3 is None:
        return assume(replace(claim, reason=Reason.NOT_IDENTIFIED), *known)
    theta_3, sizes = tests.theta_3, deciding_sizes(tests.sizes)
    cells, items_c = flatten(tests.histograms)
    total_c = cells.totals(items_c)
    tied_c = 2 * cells.zeros_c == cells.votes_c
    claim = replace(
        claim,
        tied_share=float(items_c[tied_c].sum() / items_c.sum()),
        margin=count_margin(theta_3, sizes),
        loss=Estimate(float(count_loss(theta_3, cells, total_c)), reason=Missing.NO_INTERVAL),
        accuracy=count_accuracy(theta_3, cells, total_c),
    )
    if doubt(known) == Reason.ASSUMPTION_FAILED:
        return assume(claim, *known)
    held, held_c = held_cells(tests.histograms)
    evidence = weigh(held, held_c[None], sizes)
    verdict = verdict_by_ratios(float(evidence.ratio_b[0]), float(evidence.against_b[0]), level)
    region = ConfidenceRegion.around(held, held_c, theta_3, ratio_cut(level))
    claim = replace(
        claim,
        loss=loss_interval(
            region, [theta_3, *evidence.nearest_bp3[0]], partial(count_loss, cells=cells, total_c=total_c)
        ),
        verdict=verdict,
    )
    if verdict == Verdict.OPEN:
        more_items = plan_items(cells, items_c, theta_3, sizes, level)
        return assume(replace(claim, reason=Reason.TOO_FEW_ITEMS, more_items=more_items), *known)
    proved = verdict == Verdict.OPTIMAL and is_proved(tests.histograms, evidence, level)
    certainty = Certainty.PROVED if proved else Certainty.SUPPORTED
    return assume(replace(claim, certainty=certainty, more_items=0), *known)


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
