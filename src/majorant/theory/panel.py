"""The margin of majority vote: how safely it agrees with the optimal rule if voters differ in their confusion matrices.

Also computes the margins of many panels drawn from the same voters, under many models at once.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.theory.checks import as_margin_ties, as_models, as_panel, as_prior
from majorant.theory.margin import Witness, label_weights, optimal_class
from majorant.values import FloatArray, safe_log

Ballot = NDArray[np.int_]
WorstBallot = tuple[float, Ballot, int]  # log-odds, who said what, the majority class


def panel_margin(prior: ArrayLike, confusions: ArrayLike, ties: str = "exclude") -> float:
    """The margin, in nats, by which majority vote agrees with the optimal rule that knows each voter.

    Parameters
    ----------
    prior : array_like of shape (K,)
        Probability of each class.
    confusions : array_like of shape (H, K, K)
        The confusion matrix of each voter: `confusions[h, k, l] = P(voter h says l | class k)`.
        Voters may be worse than chance; the optimal rule makes use of them.
    ties : {"exclude", "random", "first", "prior"}
        What happens to tied votes: left out, drawn, given to class 0, or to the class with the larger prior. With more
        than two classes only "exclude".

    Returns
    -------
    float
        Above 0 if the two rules always agree. Impossible patterns do not count.

    Notes
    -----
    Two classes take O(H log H) time; more classes, an assignment problem per pair of classes and a few vote counts.
    Proof: docs/theory/panel.md.

    Examples
    --------
    >>> good, fair = [[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]]
    >>> round(panel_margin([.5, .5], [fair, fair, fair]), 3), round(panel_margin([.5, .5], [good, fair, fair]), 3)
    (0.405, -1.386)
    """
    return panel_witness(prior, confusions, ties).margin


def panel_witness(prior: ArrayLike, confusions: ArrayLike, ties: str = "exclude") -> Witness:
    """A ballot that attains `panel_margin`: who says what, and what both rules conclude.

    Parameters
    ----------
    prior, confusions, ties
        As for `panel_margin`.

    Returns
    -------
    Witness
        The ballot with the least support for the majority class.

    Examples
    --------
    >>> good, fair = [[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]]
    >>> panel_witness([.5, .5], [good, fair, fair]).words(["cat", "dog"], voters=["Ann", "Bob", "Cy"])
    'cat from Bob Cy, dog from Ann: majority says cat, the optimal rule says dog'
    """
    prior_k = as_prior(prior)
    confusion_hkl = as_panel(confusions, len(prior_k))
    policy = as_margin_ties(ties, len(prior_k))
    two_classes = len(prior_k) == 2
    worst = _two_class_worst(prior_k, confusion_hkl, policy) if two_classes else _worst(prior_k, confusion_hkl)
    if worst is None:  # every class that occurs is always named rightly
        certain = int(prior_k.argmax())
        worst = np.inf, np.full(len(confusion_hkl), certain), certain
    margin, ballot_h, c = worst
    counts = tuple(np.bincount(ballot_h, minlength=len(prior_k)).tolist())
    joint_k = safe_log(prior_k) + safe_log(confusion_hkl[np.arange(len(ballot_h)), :, ballot_h]).sum(axis=0)
    return Witness(counts, c, optimal_class(joint_k, c, margin), float(margin), tuple(ballot_h.tolist()))


def _two_class_worst(prior_k: FloatArray, confusion_hkl: FloatArray, ties: str) -> WorstBallot | None:
    """The worst ballot with either class as the winner, or tied if the policy counts ties."""
    n_voters = len(confusion_hkl)
    minority = (n_voters - 1) // 2
    tasks = [(c, 0, minority) for c in (0, 1)]
    if n_voters % 2 == 0 and ties != "exclude":
        receivers = {"first": [0], "prior": np.flatnonzero(prior_k == prior_k.max()).tolist(), "random": [0, 1]}[ties]
        tasks += [(c, n_voters // 2, n_voters // 2) for c in receivers]
    fills = [_two_class_fill(prior_k, confusion_hkl, *task) for task in tasks]
    return min((fill for fill in fills if fill is not None), key=lambda fill: fill[0], default=None)


def _two_class_fill(
    prior_k: FloatArray, confusion_hkl: FloatArray, c: int, fewest: int, most: int
) -> WorstBallot | None:
    """The ballot, with `fewest` to `most` votes against c, with the least evidence for c; None if there is none.

    Start with everyone voting for c, then change the votes that reduce c's odds most, beginning with voters who cannot
    vote for c at all.  Only ballots that the other class j can produce count, so no weight that is used is +inf.
    """
    j = 1 - c
    if prior_k[j] == 0:
        return None
    weight_hl = label_weights(confusion_hkl)[:, c, j]
    possible_hl = weight_hl < np.inf
    forced, free = int((~possible_hl[:, c]).sum()), int(possible_hl[:, j].sum())
    if forced > most or free < fewest:
        return None
    with np.errstate(invalid="ignore"):
        gain_h = np.where(possible_hl[:, c], weight_hl[:, j] - weight_hl[:, c], -np.inf)
    # Voters who cannot change must come after those whose change only helps c: both have a gain of inf.
    order_h = np.lexsort((gain_h, ~possible_hl[:, j], possible_hl[:, c]))
    wanted = int(((gain_h < 0) & possible_hl[:, j]).sum())
    changed = min(max(wanted, fewest, forced), most)
    ballot_h = np.full(len(weight_hl), c)
    ballot_h[order_h[:changed]] = j
    odds = safe_log(prior_k[c]) - safe_log(prior_k[j]) + weight_hl[np.arange(len(ballot_h)), ballot_h].sum()
    return float(odds), ballot_h, c


def _worst(prior_k: FloatArray, confusion_hkl: FloatArray) -> WorstBallot | None:
    """The worst ballot over all pairs of classes, trying those with the lowest bounds first."""
    n_classes = len(prior_k)
    weight_hcjl = label_weights(confusion_hkl)
    log_prior_k = safe_log(prior_k)
    with np.errstate(invalid="ignore"):
        bound_cj = log_prior_k[:, None] - log_prior_k + weight_hcjl.min(axis=-1).sum(axis=0)
    bound_cj[:, prior_k == 0] = np.inf
    np.fill_diagonal(bound_cj, np.inf)
    best: WorstBallot | None = None
    for pair in np.argsort(bound_cj, axis=None):
        c, j = divmod(int(pair), n_classes)
        if bound_cj[c, j] >= (best[0] if best else np.inf):
            break
        start = float(log_prior_k[c] - log_prior_k[j])
        value, ballot_h = _pair_worst(weight_hcjl[:, c, j], c)
        if start + value < (best[0] if best else np.inf):
            best = start + value, ballot_h, c
    return best


def _pair_worst(weight_hl: FloatArray, c: int) -> tuple[float, Ballot]:
    """The smallest sum of weights over ballots that c wins, by bisection, since it is convex in c's votes.

    Impossible votes get a price above everything else, and votes that rule out c a price below: ballots are compared
    first by the number of the former, then of the latter, then by their sum.
    """
    n_voters, n_classes = weight_hl.shape
    finite_hl = np.where(np.isfinite(weight_hl), weight_hl, 0.0)
    ruling_out = 1 + 2 * float(np.abs(finite_hl).max(axis=1).sum())
    impossible = (n_voters + 1) * ruling_out
    price_hl = finite_hl + impossible * np.isposinf(weight_hl) - ruling_out * np.isneginf(weight_hl)
    known: dict[int, tuple[float, Ballot]] = {}

    def priced(own: int) -> float:
        if own not in known:
            known[own] = _assign(price_hl, c, own)
        return known[own][0]

    low, high = -(-(n_voters + n_classes - 1) // n_classes), n_voters
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if priced(middle) <= priced(middle + 1) else (middle + 1, high)
    priced(low)
    ballot_h = known[low][1]
    chosen_h = weight_hl[np.arange(n_voters), ballot_h]
    return (np.inf if np.isposinf(chosen_h).any() else float(chosen_h.sum())), ballot_h


def _assign(price_hl: FloatArray, c: int, own: int) -> tuple[float, Ballot]:
    """The cheapest ballot, and its price, with exactly `own` votes for c and fewer for every other class.

    An assignment of voters to seats: `own` seats for c, so cheap that all are taken, and `own - 1` per other class.
    """
    from scipy.optimize import linear_sum_assignment

    n_voters, n_classes = price_hl.shape
    seat_s = np.repeat(np.arange(n_classes), [own if l == c else own - 1 for l in range(n_classes)])
    lure = 1 + 2 * float(np.abs(price_hl).max(axis=1).sum())
    _, taken_h = linear_sum_assignment(price_hl[:, seat_s] - lure * (seat_s == c))
    ballot_h = seat_s[taken_h]
    return float(price_hl[np.arange(n_voters), ballot_h].sum()), ballot_h


PANEL_ELEMENTS = 100_000  # models x panels (x ballots) per step, so that arrays fit in the cache


def panel_margins(prior: ArrayLike, confusions: ArrayLike, panels: ArrayLike) -> FloatArray:
    """`panel_margin` of each panel under each model, (..., S), ties left out.

    prior (..., K) and confusions (..., J, K, K) hold the models, panels (S, H) the voters of each panel.  With two
    classes, all are sorted at once; with more, all ballots are enumerated if there are few.  Larger panels with more
    classes, and models with probabilities of 0, are computed one by one.

    >>> voter = [[[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]], [[.6, .4], [.4, .6]]]
    >>> panel_margins([.5, .5], voter, [[1, 2, 3], [0, 1, 2]]).round(3).tolist()
    [0.405, -1.386]
    """
    prior_bjk, confusion_bjkl = as_models(np.expand_dims(np.asarray(prior, dtype=float), -2), confusions)
    panel_sh = np.asarray(panels, dtype=np.intp)
    batch, n_classes = confusion_bjkl.shape[:-3], confusion_bjkl.shape[-1]
    prior_bk = prior_bjk[..., 0, :].reshape(-1, n_classes)
    confusion_bjkl = confusion_bjkl.reshape(-1, *confusion_bjkl.shape[-3:])
    if n_classes == 2:
        margin_bs = _two_class_margins(prior_bk, confusion_bjkl, panel_sh)
    elif can_enumerate_ballots(n_classes, panel_sh.shape[1]):
        margin_bs = _ballot_margins(prior_bk, confusion_bjkl, panel_sh)
    else:
        margin_bs = np.full((len(prior_bk), len(panel_sh)), np.nan)
    for b, s in np.argwhere(np.isnan(margin_bs)):
        margin_bs[b, s] = panel_margin(prior_bk[b], confusion_bjkl[b, panel_sh[s]])
    return margin_bs.reshape(*batch, len(panel_sh))


def ballot_work(n_classes: int, n_voters: int) -> float:
    """Roughly how many steps it takes to compute the margin of one panel with more than two classes.

    >>> ballot_work(3, 3), ballot_work(4, 20)
    (243.0, 20000.0)
    """
    if not can_enumerate_ballots(n_classes, n_voters):
        return 20_000.0  # the assignment problems of one margin cost about as much
    return float(n_classes ** (n_voters + 1) * n_voters)


def can_enumerate_ballots(n_classes: int, n_voters: int) -> bool:
    """Whether a panel has few enough possible ballots to enumerate them."""
    most_ballots = 2_500  # with more, assignment problems are faster
    return n_voters * log(n_classes) <= log(most_ballots)


def _two_class_margins(
    prior_bk: FloatArray, confusion_bjkl: FloatArray, panel_sh: NDArray[np.integer[Any]]
) -> FloatArray:
    """Margins by the sorted sums of docs/theory/panel.md; NaN if a probability is 0."""
    log_jklb, log_prior_kb = safe_log(confusion_bjkl).transpose(1, 2, 3, 0), safe_log(prior_bk).T
    with np.errstate(invalid="ignore"):
        none_jb = log_jklb[:, 0, 1] - log_jklb[:, 1, 1]  # what a vote for class 1 adds to the log-odds of class 0
        beta_jb = log_jklb[:, 0, 0] - log_jklb[:, 1, 0] - none_jb
        start_b = log_prior_kb[0] - log_prior_kb[1]
    zero_jb = ~(np.isfinite(beta_jb) & np.isfinite(none_jb) & np.isfinite(start_b))
    beta_jb, none_jb = np.where(zero_jb, np.nan, beta_jb), np.where(zero_jb, np.nan, none_jb)
    margin_bs = np.empty((len(prior_bk), len(panel_sh)))
    size = max(1, PANEL_ELEMENTS // max(1, len(prior_bk)))
    for first in range(0, len(panel_sh), size):
        voters_hs = panel_sh[first : first + size].T
        base_sb = np.where(np.isfinite(start_b), start_b, np.nan) + sum(none_jb[voter_s] for voter_s in voters_hs)
        beta_hsb = np.sort(beta_jb[voters_hs], axis=0)
        most = len(voters_hs) // 2 + 1
        low_sb = base_sb + sum(beta_hsb[:most])
        for beta_sb in beta_hsb[most:]:
            low_sb += np.minimum(beta_sb, 0)
            base_sb += np.maximum(beta_sb, 0)
        margin_bs[:, first : first + size] = np.minimum(low_sb, -base_sb).T
    return margin_bs


def _ballot_margins(prior_bk: FloatArray, confusion_bjkl: FloatArray, panel_sh: NDArray[np.integer[Any]]) -> FloatArray:
    """The smallest log-odds of the winner over all ballots that have one; NaN if a probability is 0."""
    (n_models, n_classes), n_voters = prior_bk.shape, panel_sh.shape[1]
    ballot_ph = np.indices([n_classes] * n_voters).reshape(n_voters, -1).T
    count_pk = (ballot_ph[:, :, None] == np.arange(n_classes)).sum(axis=1)
    top_pk = count_pk == count_pk.max(axis=1, keepdims=True)
    log_bjlk, log_prior_bk = safe_log(confusion_bjkl).transpose(0, 1, 3, 2), safe_log(prior_bk)
    margin_bs = np.full((n_models, len(panel_sh)), np.inf)
    size = max(1, PANEL_ELEMENTS // max(1, n_models * len(ballot_ph)))
    for first in range(0, len(panel_sh), size):
        part = slice(first, first + size)
        for c in range(n_classes):
            won_hq = ballot_ph[(top_pk.sum(axis=1) == 1) & top_pk[:, c]].T
            score_bsqk = log_prior_bk[:, None, None]
            for voter_s, label_q in zip(panel_sh[part].T, won_hq, strict=True):
                score_bsqk = score_bsqk + log_bjlk[:, voter_s[:, None], label_q]
            with np.errstate(invalid="ignore"):
                odds_bsq = score_bsqk[..., c] - np.delete(score_bsqk, c, axis=3).max(axis=3)
            margin_bs[:, part] = np.minimum(margin_bs[:, part], odds_bsq.min(axis=2))
    impossible_bj = (confusion_bjkl == 0).any(axis=(2, 3)) | (prior_bk == 0).any(axis=1, keepdims=True)
    margin_bs[impossible_bj[:, panel_sh].any(axis=2)] = np.nan
    return margin_bs


def count_distribution(confusions: ArrayLike) -> tuple[FloatArray, NDArray[np.int_]]:
    """P(vote counts | class) of a panel, (..., K, C), and the counts, (K, C), adding one voter at a time.

    The leading axes of confusions, (..., H, K, K), are different models of the panel.

    >>> given, counts = count_distribution([[[.9, .1], [.2, .8]], [[.6, .4], [.4, .6]]])
    >>> counts.tolist(), given.round(2).tolist()
    ([[0, 1, 2], [2, 1, 0]], [[0.04, 0.42, 0.54], [0.48, 0.44, 0.08]])
    """
    confusion_hkl = np.asarray(confusions, dtype=float)
    batch, (n_voters, n_classes) = confusion_hkl.shape[:-3], confusion_hkl.shape[-3:-1]
    confusion_bhkl = confusion_hkl.reshape(-1, n_voters, n_classes, n_classes)
    axes = [n_voters + 1] * (n_classes - 1)  # the numbers of votes for each class but the last
    column = (-1, n_classes, *[1] * len(axes))
    given = np.zeros((len(confusion_bhkl), n_classes, *axes))
    given.reshape(len(given), n_classes, -1)[..., 0] = 1
    for h in range(n_voters):
        before, given = given, given * confusion_bhkl[:, h, :, -1].reshape(column)
        for l in range(n_classes - 1):
            to, of = [slice(None)] * given.ndim, [slice(None)] * given.ndim
            to[l + 2], of[l + 2] = slice(1, None), slice(None, -1)
            given[tuple(to)] += before[tuple(of)] * confusion_bhkl[:, h, :, l].reshape(column)
    count_lc = np.indices(axes).reshape(n_classes - 1, -1)
    last_c = n_voters - count_lc.sum(axis=0)
    count_lc = np.vstack([count_lc, last_c])[:, last_c >= 0]
    return given.reshape(*batch, n_classes, -1)[..., last_c >= 0], count_lc
