"""The anonymous claim for two classes, from counts of votes that are independent given the class.

Likelihood ratios are the evidence for and against, computed for many data sets at once (axis b). Large-sample
statistics support a verdict; a bound that holds for any number of items proves "optimal". Derivations:
docs/theory/certificate.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainccinv, gammaincinv, xlogy

from majorant.defaults import LEVEL
from majorant.errors import ConfigError
from majorant.evidence.certificate.assumption_tests import check_independence, check_sizes
from majorant.evidence.certificate.bootstrap import N_REPLICATES, loss_estimate
from majorant.evidence.certificate.certificate import (
    Certificate,
    Claim,
    Family,
    Model,
    Reason,
    Verdict,
    assume,
    open_reason,
)
from majorant.evidence.certificate.count_models import (
    EVERYWHERE,
    HistogramCells,
    Histograms,
    class_logs,
    contradictions,
    flatten,
    join_sides,
    log_likelihood,
    log_odds,
    log_shares,
    main_sizes,
    narrowest_majority,
    nonempty_cells,
    opposite,
    resampled_models,
    sides,
    suprema,
)
from majorant.evidence.certificate.optimality import SettledCounts
from majorant.evidence.evidence import Assumption, Certainty, Status, Tested
from majorant.limits import sizes_within
from majorant.values import Estimate, FloatArray, Missing, as_generator, as_level


def certify_counts(
    histograms: Mapping[int, ArrayLike], *, level: float = LEVEL, rng: int | np.random.Generator = 0
) -> Certificate:
    """Compare majority vote with all rules that ignore who voted, from histograms of vote counts alone.

    For two classes. Assumes that votes are independent given the class (tested if the data allow it), that workers are
    exchangeable and better than guessing, and that the number of votes on an item is unrelated to the item.
    Statistics and proofs: docs/theory/certificate.md.

    Parameters
    ----------
    histograms : mapping
        `{H: [n_0 .. n_H]}`, where `n_k` of the items with H votes have k votes for class 0.
    level : float
        Confidence level.
    rng : int or numpy.random.Generator
        Random seed.

    Returns
    -------
    Certificate
        A certificate with one claim, `anonymous`.

    Examples
    --------
    >>> claim = certify_counts({5: [155, 197, 141, 139, 191, 177]}).anonymous
    >>> str(claim.verdict), str(claim.certainty), round(claim.margin, 2)
    ('optimal', 'supported', 1.12)
    """
    as_level(level)
    generator = as_generator(rng)
    tests = examine_counts(as_histograms(histograms), generator)
    return Certificate(level=level, anonymous=claim_from_counts(tests, level, generator))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CountTests:
    """Histograms, the most likely pair of binomials, and tests of its assumptions.

    Parameters
    ----------
    histograms : mapping
        Histograms of all numbers of votes, or of the most common ones if all would take too long.
    sizes : tuple of int
        Numbers of votes with at least 1% of the items.
    n_items : int
        Number of all items.
    theta_3 : array or None
        The most likely model; None if no item has three votes, because counts then do not identify one.
    independence : Tested
        Whether votes are independent given the class.
    assumptions : tuple of Tested
        Assumptions of the claim, with their status.
    mirrored : bool
        Whether class 0 is the second label.
    """

    histograms: Histograms
    sizes: tuple[int, ...]
    n_items: int
    theta_3: FloatArray | None
    independence: Tested
    assumptions: tuple[Tested, ...]
    mirrored: bool = False

    def by_label(self) -> tuple[FloatArray, Histograms]:
        """The model and the histograms with the first label as class 0."""
        assert self.theta_3 is not None
        if not self.mirrored:
            return self.theta_3, self.histograms
        a, r, nu = self.theta_3
        return np.array([-r, -a, -nu]), {h: items_k[::-1] for h, items_k in self.histograms.items()}


def examine_counts(histograms: Histograms, rng: np.random.Generator) -> CountTests:
    """Fit two binomials to the histograms, and test their assumptions."""
    totals = {h: float(items_k.sum()) for h, items_k in histograms.items()}
    given = {h: histograms[h] for h in sizes_within(totals)}
    kept = _in_fixed_order(given)
    untested = (Assumption.EXCHANGEABLE_WORKERS, Assumption.BETTER_THAN_GUESSING, Assumption.INDEPENDENT_ITEMS)
    assumptions, theta_3 = tuple(Tested(one, Status.UNTESTED) for one in untested), None
    independence = Tested(Assumption.INDEPENDENT_VOTES, Status.UNTESTABLE)
    if max(kept, default=0) >= 3:
        nonempty, items_c = nonempty_cells(kept)
        theta_3 = suprema(nonempty, items_c[None])[1][0, 0]
        independence, by_size = check_independence(*flatten(kept), theta_3, rng), check_sizes(kept)
        assumptions = (independence, *([] if by_size is None else [by_size]), *assumptions)
    return CountTests(
        histograms=kept,
        sizes=tuple(main_sizes(histograms)),
        n_items=int(sum(totals.values())),
        theta_3=theta_3,
        independence=independence,
        assumptions=assumptions,
        mirrored=kept is not given,
    )


def _in_fixed_order(histograms: Histograms) -> Histograms:
    """The histograms with the two classes in an order that depends on the counts, not on which label came first."""
    mirrored = {h: items_k[::-1].copy() for h, items_k in histograms.items()}
    forward, backward = ([tuple(items_k) for items_k in some.values()] for some in (histograms, mirrored))
    return histograms if forward <= backward else mirrored


def claim_from_counts(
    tests: CountTests, level: float, rng: np.random.Generator, assumptions: tuple[Tested, ...] | None = None
) -> Claim:
    """The anonymous claim from tested counts; a point estimate if one of the assumptions failed.

    The interval of the loss comes from a bootstrap over items. `assumptions` replaces those in `tests` if more is
    known, such as whether workers are exchangeable.
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
    if open_reason(known) == Reason.ASSUMPTION_FAILED:
        return assume(claim, *known)
    nonempty, items_n = nonempty_cells(tests.histograms)
    evidence = weigh(nonempty, items_n[None], sizes)
    verdict = verdict_by_ratios(float(evidence.ratio_b[0]), float(evidence.against_b[0]), level)
    loss_b = count_loss(resampled_models(cells, items_c, theta_3, N_REPLICATES, rng), cells, total_c)
    loss = float(count_loss(theta_3, cells, total_c))
    interval = loss_estimate(loss, loss_b, level, refuted=verdict == Verdict.NOT_OPTIMAL)
    claim = replace(claim, loss=interval, verdict=verdict)
    if verdict == Verdict.OPEN:
        more_items = plan_items(cells, items_c, theta_3, sizes, level)
        return assume(replace(claim, reason=Reason.TOO_FEW_ITEMS, more_items=more_items), *known)
    proved = verdict == Verdict.OPTIMAL and is_proved(tests.histograms, evidence, level)
    certainty = Certainty.PROVED if proved else Certainty.SUPPORTED
    return assume(replace(claim, certainty=certainty, more_items=0), *known)


def as_histograms(histograms: Mapping[int, ArrayLike]) -> dict[int, FloatArray]:
    """Validate histograms, sort them by number of votes, and drop those without items."""
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
    """Validate the numbers of items with 0, 1, ..., n_votes votes for class 0."""
    try:
        items_k = np.asarray(counts, dtype=float)
    except (TypeError, ValueError):
        raise ConfigError(f"histograms[{n_votes}]: {counts!r} is not a list of counts.") from None
    if items_k.shape != (n_votes + 1,):
        raise ConfigError(
            f"histograms[{n_votes}] must list the items with 0, 1, ..., {n_votes} votes for class 0, "
            f"{n_votes + 1} counts, not an array of shape {items_k.shape}."
        )
    largest = 2.0**53  # floats represent all whole numbers up to here
    wrong = ~((items_k >= 0) & (items_k == np.floor(items_k)) & (items_k <= largest))
    if wrong.any():
        k = int(wrong.argmax())
        raise ConfigError(
            f"histograms[{n_votes}][{k}] is {items_k[k]:g}: counts are whole numbers, 0 or more and at most 2**53."
        )
    return items_k


# --- verdicts


def deciding_sizes(sizes: Iterable[int]) -> list[int]:
    """The smallest and largest odd and even numbers of votes.

    Majority vote is optimal for all sizes if it is for these, because the log-odds of the narrowest majority are linear
    in the number of votes, separately for odd and for even numbers.

    >>> deciding_sizes([3, 4, 5, 7, 8, 9])
    [3, 4, 8, 9]
    """
    parts = [[h for h in sizes if h % 2 == parity] for parity in (0, 1)]
    return sorted({end for part in parts if part for end in (min(part), max(part))})


class CountEvidence(NamedTuple):
    """The most likely model of each data set, and its lead in nats over models of either kind."""

    theta_b3: FloatArray
    ratio_b: FloatArray  # lead over every model in which majority is not optimal for some size
    against_b: FloatArray  # lower bound on the lead over every model in which majority is optimal for all sizes


def weigh(cells: HistogramCells, items_bc: FloatArray, sizes: Sequence[int]) -> CountEvidence:
    """The likelihood ratios for and against majority vote being optimal for all these numbers of votes.

    All models in which it is optimal lie in the opposite of each contradiction, so a lead over one of these opposites
    is a lead over all these models.
    """
    wrong = contradictions(sizes)
    value_bp, theta = suprema(cells, items_bc, join_sides(EVERYWHERE, wrong, opposite(wrong)))
    best_b, n_wrong = value_bp[:, 0], len(wrong)
    return CountEvidence(
        theta_b3=theta[:, 0],
        ratio_b=np.maximum(best_b - value_bp[:, 1 : 1 + n_wrong].max(axis=1), 0),
        against_b=np.maximum(best_b - value_bp[:, 1 + n_wrong :].min(axis=1), 0),
    )


def verdict_by_ratios(ratio: float, against: float, level: float) -> Verdict:
    """The verdict that the likelihood ratios support.

    >>> [str(verdict_by_ratios(*ratios, .95)) for ratios in ((2.5, 0), (0, 2.5), (1.5, 0))]
    ['optimal', 'not optimal', 'open']
    """
    if ratio > ratio_cut(level):
        return Verdict.OPTIMAL
    return Verdict.NOT_OPTIMAL if against > ratio_cut(level) else Verdict.OPEN


def settled_counts(
    histograms: Histograms, sizes: Sequence[int], labels: Sequence[Hashable], level: float
) -> tuple[SettledCounts, ...]:
    """The counts on which majority's label is the most probable at the level, for each number of votes and class.

    The counts of a class are tested from unanimity inwards, up to the first failure: the hypotheses are nested, so each
    test is at the full level. The cut allows for both classes, and for the number of different numbers of votes.

    >>> found = settled_counts({3: np.array([520.0, 480.0, 480.0, 520.0])}, [3], ("no", "yes"), 0.95)
    >>> [(one.label, one.smallest, one.share) for one in found]
    [('no', 2, 0.5), ('yes', 2, 0.5)]
    """
    cells, items_n = nonempty_cells(histograms)
    total = float(items_n.sum())
    tasks = [
        (h, label, [h - k for k in range(h - narrowest_majority(h) + 1)])
        for h in sizes
        for label in (0, 1)  # votes for the label, from unanimity inwards
    ]
    rows = [(h, own, -1) if label == 0 else (h, h - own, 1) for h, label, owns in tasks for own in owns]
    value_p = suprema(cells, items_n[None], join_sides(EVERYWHERE, sides(rows)))[0][0]
    leads, cut, found = iter(value_p[0] - value_p[1:]), float(gammaincinv(0.5, 1 - (1 - level) / len(sizes))), []
    for h, label, owns in tasks:
        passed = [own for own, _ in takewhile(lambda pair: pair[1] > cut, [(own, next(leads)) for own in owns])]
        items_k = histograms[h]
        items = sum(float(items_k[own if label == 0 else h - own]) for own in passed) / total
        smallest = passed[-1] if passed else None
        found.append(SettledCounts(n_votes=h, label=labels[label], smallest=smallest, share=items))
    return tuple(found)


def is_proved(histograms: Histograms, evidence: CountEvidence, level: float) -> bool:
    """Whether majority vote is proved optimal at the level, for any number of items.

    It is if the histograms diverge more from every model in which it is not optimal than they can from the true model.

    >>> histograms = {3: np.array([520.0, 480.0, 480.0, 520.0])}
    >>> cells, items_c = flatten(histograms)
    >>> is_proved(histograms, weigh(cells, items_c[None], [3]), 0.95)
    True
    """
    cells, items_c = flatten(histograms)
    saturated = float((xlogy(items_c, items_c / cells.totals(items_c)) - items_c * cells.log_orders_c).sum())
    nearest = float(log_likelihood(cells, items_c, evidence.theta_b3[0]) - evidence.ratio_b[0])
    return saturated - nearest > divergence_cut(sum(histograms), 1 - level)


def divergence_cut(n_draws: int, error: float) -> float:
    """Bound in nats that the divergence of histograms from the true model exceeds with probability at most `error`.

    A histogram of H votes is drawn by H binomials, one after the other. The divergence of each exceeds u with
    probability at most 2 exp(-u) (by two Chernoff bounds), so their sum is stochastically smaller than n log 2 plus a
    gamma variable with shape n, where n is the sum of all H.

    >>> round(divergence_cut(3, .05), 2)
    8.38
    """
    return float(n_draws * np.log(2) + gammainccinv(n_draws, error))


def count_margin(theta_3: FloatArray, sizes: Sequence[int]) -> float:
    """The smallest margin over the numbers of votes.

    This is `theory.majority_margin`, computed from logits because probabilities so close to certainty would round to 1.
    """
    return min(
        float(min(log_odds(theta_3, h, narrowest_majority(h)), -log_odds(theta_3, h, h - narrowest_majority(h))))
        for h in sizes
    )


def count_loss(theta: FloatArray, cells: HistogramCells, total_c: FloatArray) -> FloatArray:
    """Loss of majority vote on untied counts under each model, as a share of all items.

    `total_c` is the number of items with as many votes as cell c. The sum is over the cells that the best rule decides
    differently, so there is no cancellation.
    """
    log0, log1 = (log + cells.log_orders_c for log in class_logs(cells, theta))
    lead_c = 2 * cells.zeros_c - cells.votes_c
    odds = np.where(lead_c == 0, 0.0, (log0 - log1) * np.sign(lead_c))
    lost = -np.exp(np.maximum(log0, log1)) * np.expm1(np.minimum(odds, 0))
    return np.asarray(lost @ total_c / (np.exp(np.logaddexp(log0, log1)) @ total_c))


def count_accuracy(theta_3: FloatArray, cells: HistogramCells, total_c: FloatArray) -> float:
    """Accuracy of majority vote, with ties decided by a coin; adding the loss gives that of the best rule."""
    log0, log1 = (log + cells.log_orders_c for log in class_logs(cells, theta_3))
    lead_c = 2 * cells.zeros_c - cells.votes_c
    both = np.exp(np.logaddexp(log0, log1))
    right = np.where(lead_c == 0, both / 2, np.exp(np.where(lead_c > 0, log0, log1))) @ total_c
    return float(right / (both @ total_c))


def plan_items(
    cells: HistogramCells, items_c: FloatArray, theta_3: FloatArray, sizes: Sequence[int], level: float
) -> int | None:
    """Number of new items that would decide on their own with 80% power; None if no feasible number would.

    It follows from the nats per item between the fitted model and the nearest one on the other side. Only new items
    count, because testing the present items again together with others would not control the error.
    """
    expected_c = cells.totals(items_c) * np.exp(log_shares(cells, theta_3))
    wrong, inside = contradictions(sizes), count_margin(theta_3, sizes) > 0
    value, _ = suprema(cells, expected_c[None], wrong if inside else opposite(wrong))
    nearest = float(value.max() if inside else value.min())
    lead = float(log_likelihood(cells, expected_c, theta_3)) - nearest
    return fresh_items(max(lead, 0.0) / float(items_c.sum()), level)


def fresh_items(information: float, level: float) -> int | None:
    """Number of items with which the likelihood ratio decides with 80% power; None if it is too large.

    `information` is the lead of the fitted model over the nearest one on the other side, in nats per item.

    >>> fresh_items(.01, .95), fresh_items(1e-13, .95)
    (393, None)
    """
    if information <= 1e-12:  # in nats per item; smaller values are rounding errors
        return None
    needed = (np.sqrt(2 * ratio_cut(level)) + 0.8416212335729143) ** 2 / 2 / information  # the normal quantile at .8
    return int(np.ceil(needed)) if needed <= 1e9 else None  # more items are out of reach


def ratio_cut(level: float) -> float:
    """The lead in nats that a likelihood ratio must exceed: half the two-sided chi-square quantile.

    Each side is tested separately, so the one-sided quantile would suffice in large samples, but in small ones it is
    too lenient.

    >>> round(ratio_cut(.95), 3)
    1.921
    """
    return float(gammaincinv(0.5, level))
