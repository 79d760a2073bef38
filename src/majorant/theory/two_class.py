"""Two classes and one shared confusion matrix: the handicap, the optimal numbers of votes, and maps of the margin.

Also how different voters may be before majority vote stops being the optimal rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.checks import as_confusion, as_prior, as_vote_count
from majorant.theory.margin import closed_form, log_odds_terms, majority_margin, majority_margins
from majorant.values import FloatArray, safe_log

Span = tuple[int, int | None]  # first and last number of votes; None means no last one
GRID = 601  # points along each axis, ends included; enough for thin parts of the region


@dataclass(frozen=True, slots=True)
class OptimalVotes:
    """The numbers of votes for which majority vote is optimal: a span of odd and one of even numbers, None if empty.

    >>> votes = OptimalVotes(odd=(1, 5), even=(2, None))
    >>> 3 in votes, 7 in votes, 100 in votes
    (True, False, True)
    """

    odd: Span | None
    even: Span | None

    def __contains__(self, n_votes: int) -> bool:
        span = self.odd if n_votes % 2 else self.even
        return span is not None and span[0] <= n_votes and (span[1] is None or n_votes <= span[1])

    def words(self) -> str:
        """Both spans in one phrase.

        >>> OptimalVotes(odd=(1, 5), even=(2, None)).words(), OptimalVotes(None, None).words()
        ('odd 1 to 5, even 2 and more', 'none')
        """
        spans = [f"{name} {_span_words(span)}" for name, span in (("odd", self.odd), ("even", self.even)) if span]
        return ", ".join(spans) or "none"


def handicap(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> float:
    """How many votes class 0 is behind at the start.

    Parameters
    ----------
    prior : array_like of shape (2,)
        Probability of each class.
    confusion : array_like of shape (2, 2)
        `confusion[k, l]` is the probability of a vote for label l on an item of class k, the same for all voters.
    n_votes : int
        Independent votes on an item.

    Returns
    -------
    float
        Majority vote is optimal if and only if this is within 1/2 of 0 (odd numbers of votes) or within 1 (even).

    Notes
    -----
    For two classes and votes that are better than guessing (T00 + T11 > 1); ties are left out. If votes are worse than
    guessing, the number has no meaning; if they carry no information, it is infinite, or 0 if the prior is even too.
    Probabilities of 0 are limits of positive ones, all at the same rate. Proof: docs/theory/majority.md.

    Examples
    --------
    >>> round(handicap([.6, .4], [[.7, .3], [.2, .8]], 3), 3)
    -0.364
    """
    prior_k, confusion_kl = _as_two_class("handicap", prior, confusion)
    votes = as_vote_count(n_votes)
    zero_k, zero_kl = prior_k == 0, confusion_kl == 0
    if zero_k.any() or zero_kl.any():
        # A probability of 0 is the limit of exp(-t): the factors of t decide, unless they cancel.
        lead, step = _lead_and_step(np.where(zero_k, np.exp(-1.0), 1.0), np.where(zero_kl, np.exp(-1.0), 1.0), votes)
        if lead or step:
            return _steps_behind(lead, step)
        prior_k, confusion_kl = np.where(zero_k, 1.0, prior_k), np.where(zero_kl, 1.0, confusion_kl)
    return _steps_behind(*_lead_and_step(prior_k, confusion_kl, votes))


def optimal_votes(prior: ArrayLike, confusion: ArrayLike) -> OptimalVotes:
    """The numbers of votes for which majority vote is optimal, as a span of odd and one of even numbers.

    Parameters
    ----------
    prior, confusion
        As for `handicap`.

    Returns
    -------
    OptimalVotes
        Unless both classes are equally easy, both spans end, because the handicap grows with the number of votes.

    Notes
    -----
    Ties are left out. Proof: docs/theory/majority.md.

    Examples
    --------
    >>> optimal_votes([.6, .4], [[.7, .3], [.2, .8]])
    OptimalVotes(odd=(1, 5), even=(2, 12))
    """
    prior_k, confusion_kl = _as_two_class("optimal_votes", prior, confusion)
    if (prior_k == 0).any() or (confusion_kl == 0).any():
        return OptimalVotes(_span_with_zeros(prior_k, confusion_kl, 1), _span_with_zeros(prior_k, confusion_kl, 2))
    start, skew, beta = log_odds_terms(prior_k, confusion_kl)
    if abs(skew) <= 8 * np.finfo(float).eps * np.abs(safe_log(confusion_kl)).sum():
        skew = np.zeros(())  # equally easy classes, up to rounding
    return OptimalVotes(_span(start, skew, beta, 1), _span(start, skew, beta, 2))


def _as_two_class(name: str, prior: ArrayLike, confusion: ArrayLike) -> tuple[FloatArray, FloatArray]:
    return _two_class_prior(name, prior), as_confusion(confusion, 2)


def _two_class_prior(name: str, prior: ArrayLike) -> FloatArray:
    prior_k = as_prior(prior)
    if len(prior_k) != 2:
        raise ConfigError(f"{name} is for two classes; prior lists {len(prior_k)}.")
    return prior_k


def _lead_and_step(prior_k: FloatArray, confusion_kl: FloatArray, votes: int) -> tuple[float, float]:
    """(c, beta): the log-odds of class 0 at an even split, and how much each vote adds."""
    start, skew, beta = (float(term) for term in log_odds_terms(prior_k, confusion_kl))
    return start + votes / 2 * skew, beta


def _steps_behind(lead: float, step: float) -> float:
    if step:
        return 0.0 - lead / step
    return -np.inf if lead > 0 else np.inf if lead < 0 else 0.0


def _span(start: FloatArray, skew: FloatArray, beta: FloatArray, parity: int) -> Span | None:
    """The H with |start + skew H / 2| < parity beta / 2, for odd H (parity 1) or even H (parity 2)."""

    def optimal(votes: int) -> bool:
        return bool(closed_form(start + votes / 2 * skew, beta, votes) > 0)

    if skew == 0:
        return (parity, None) if optimal(parity) else None
    if beta <= 0:
        return None
    low, high = sorted(float((sign * parity * beta - 2 * start) / skew) for sign in (-1, 1))
    # The ends come from a quotient, so check neighbouring numbers by the margin itself.
    first, last = (max(parity, _at_least(end, parity)) for end in (low, high))
    first = next((votes for votes in range(max(parity, first - 2), first + 4, 2) if optimal(votes)), 0)
    last = next((votes for votes in range(last + 2, max(parity, last - 4) - 1, -2) if optimal(votes)), 0)
    return (first, last) if first and last else None


def _span_with_zeros(prior_k: FloatArray, confusion_kl: FloatArray, parity: int) -> Span | None:
    """The span if a probability is 0: all numbers of votes from 3 on give the same answer (docs/theory/majority.md)."""
    if majority_margin(prior_k, confusion_kl, parity + 2) > 0:
        return parity, None
    return (parity, parity) if majority_margin(prior_k, confusion_kl, parity) > 0 else None


def _at_least(votes: float, parity: int) -> int:
    """The smallest number of that parity that is at least `votes`."""
    whole = int(np.ceil(votes))
    return whole + (whole - parity) % 2


def _span_words(span: Span) -> str:
    first, last = span
    if last is None:
        return f"{first} and more"
    return str(first) if first == last else f"{first} to {last}"


def perturbation_radius(prior: ArrayLike, confusion: ArrayLike, n_votes: int) -> float:
    """How far each voter's accuracies may vary in any direction with majority vote still optimal.

    Parameters
    ----------
    prior, confusion, n_votes
        As for `handicap`.

    Returns
    -------
    float
        The largest sigma such that majority vote is optimal for all voters T_h = T + s_h [[-1, 1], [1, -1]] with
        |s_h| <= sigma for which T_h is a confusion matrix; 0 if it is not optimal for T itself.

    Notes
    -----
    The optimal rule knows every s_h; ties are left out. The result is exact: the worst panel is known, so this is one
    equation, solved by bisection. Proof: docs/theory/perturbation.md.

    Examples
    --------
    >>> round(perturbation_radius([.6, .4], [[.7, .3], [.2, .8]], 3), 4)
    0.0194
    """
    prior_k, confusion_kl = _as_two_class("perturbation_radius", prior, confusion)
    votes = as_vote_count(n_votes)
    if (prior_k == 0).any() or majority_margin(prior_k, confusion_kl, votes) <= 0:
        return 0.0
    low, high = 0.0, float(min(confusion_kl[0, 0], confusion_kl[1, 1]))
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if worst_margin(prior_k, confusion_kl, votes, middle) > 0 else (low, middle)
    return low


def worst_margin(prior_k: FloatArray, confusion_kl: FloatArray, votes: int, sigma: float) -> float:
    """The smallest margin of all panels within sigma > 0 of a shared two-class confusion; both priors are positive.

    Voters for the winner are as weak as possible and the others as strong: the narrowest majority, or unanimity.
    """
    right_k = float(confusion_kl[0, 0]), float(confusion_kl[1, 1])
    worse, better = min(sigma, *right_k), min(sigma, 1 - max(right_k))
    margin = math.inf
    for c, j in ((0, 1), (1, 0)):
        start = math.log(prior_k[c]) - math.log(prior_k[j])
        for_c = _log(right_k[c] - worse) - _log(1 - right_k[j] + worse)
        against_c = _log(1 - right_k[c] - better) - _log(right_k[j] + better)
        narrow, most = (votes - 1) // 2, votes // 2 + 1
        narrowest = start + most * for_c + (narrow * against_c if narrow else 0.0)
        margin = min(margin, narrowest, start + votes * for_c)
    return margin


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Margins in nats over a grid of two quantities, with the user's model as a point on it.

    `margin_yx[i, j]` is for `y_i[i]` and `x_j[j]`; majority vote is optimal where it is positive.
    """

    title: str
    x_name: str
    y_name: str
    x_j: FloatArray
    y_i: FloatArray
    margin_yx: FloatArray
    n_votes: int
    point: tuple[float, float] | None = None
    point_margin: float | None = None

    def __post_init__(self) -> None:
        for name in ("x_j", "y_i", "margin_yx"):
            array = np.array(getattr(self, name), dtype=float)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def share(self) -> float:
        """The share of the grid on which majority vote is optimal."""
        return float((self.margin_yx > 0).mean())


def accuracy_region(prior: ArrayLike, n_votes: int, confusion: ArrayLike | None = None, grid: int = GRID) -> Region:
    """The margin as a function of the accuracies T00 (x) and T11 (y), for one prior and number of votes.

    Parameters
    ----------
    prior : array_like of shape (2,)
        Probability of each class.
    n_votes : int
        Independent votes on an item.
    confusion : array_like of shape (2, 2), optional
        The point to mark.
    grid : int
        Number of points along each axis.

    Returns
    -------
    Region
        The margins; ties are left out.

    Examples
    --------
    >>> region = accuracy_region([.6, .4], 3, [[.7, .3], [.2, .8]], grid=11)
    >>> region.point, round(region.point_margin, 3), round(region.share, 2)
    ((0.7, 0.8), 0.303, 0.17)
    """
    prior_k, votes = _two_class_prior("the map", prior), as_vote_count(n_votes)
    axis = np.linspace(0, 1, grid)
    t00_yx, t11_yx = np.meshgrid(axis, axis)
    margin_yx = majority_margins(prior_k, _confusions(t00_yx, t11_yx), votes)
    names = (f"prior {prior_k[0]:.3g} : {prior_k[1]:.3g}", "accuracy on class 0", "accuracy on class 1")
    if confusion is None:
        return _region(names, axis, margin_yx, votes)
    confusion_kl = as_confusion(confusion, 2)
    point = float(confusion_kl[0, 0]), float(confusion_kl[1, 1])
    return _region(names, axis, margin_yx, votes, point, majority_margin(prior_k, confusion_kl, votes))


def one_coin_region(
    n_votes: int, prior: ArrayLike | None = None, noise: float | None = None, grid: int = GRID
) -> Region:
    """The margin as a function of the prior of class 0 (x) and one error rate for both classes (y).

    Parameters
    ----------
    n_votes : int
        Independent votes on an item.
    prior : array_like of shape (2,), optional
        With `noise`, the point to mark.
    noise : float, optional
        Probability that a vote is wrong.
    grid : int
        Number of points along each axis.

    Returns
    -------
    Region
        For odd numbers of votes, always the triangle noise < prior < 1 - noise; ties are left out.

    Examples
    --------
    >>> region = one_coin_region(3, [.6, .4], noise=.3, grid=11)
    >>> region.point, round(region.point_margin, 3)
    ((0.6, 0.3), 0.442)
    """
    votes, axis = as_vote_count(n_votes), np.linspace(0, 1, grid)
    nu_yx, noise_yx = np.meshgrid(axis, axis)
    margin_yx = majority_margins(np.stack([nu_yx, 1 - nu_yx], axis=-1), _confusions(1 - noise_yx, 1 - noise_yx), votes)
    names = ("equally noisy on both classes", "prior of class 0", "noise: share of wrong votes")
    if prior is None or noise is None:
        return _region(names, axis, margin_yx, votes)
    prior_k = _two_class_prior("the map", prior)
    confusion_kl = as_confusion([[1 - noise, noise], [noise, 1 - noise]], 2)
    point = float(prior_k[0]), float(noise)
    return _region(names, axis, margin_yx, votes, point, majority_margin(prior_k, confusion_kl, votes))


def _region(
    names: tuple[str, str, str],
    axis: FloatArray,
    margin_yx: FloatArray,
    votes: int,
    point: tuple[float, float] | None = None,
    point_margin: float | None = None,
) -> Region:
    """A region with the same grid on both axes; `names` are what is fixed, the x axis and the y axis."""
    fixed, x_name, y_name = names
    title = f"{votes} vote{'s' * (votes > 1)}, {fixed}"
    return Region(title, x_name, y_name, axis, axis, margin_yx, votes, point, point_margin)


def _confusions(t00: FloatArray, t11: FloatArray) -> FloatArray:
    return np.stack([np.stack([t00, 1 - t00], axis=-1), np.stack([1 - t11, t11], axis=-1)], axis=-2)
