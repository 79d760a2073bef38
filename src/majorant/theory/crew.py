"""How safely majority vote equals the optimal rule when every voter has a confusion matrix of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from majorant.theory.checks import FloatArray, as_crew, as_margin_ties, as_prior, safe_log
from majorant.theory.margin import label_weights, optimal_class
from majorant.theory.witness import Witness

Ballot = NDArray[np.int_]
Found = tuple[float, Ballot, int]  # log-odds, who said what, majority's class


def crew_margin(prior: ArrayLike, confusions: ArrayLike, ties: str = "exclude") -> float:
    """How safely majority vote equals the optimal rule that knows each voter, in nats; they agree iff > 0.

    Independent voters h with `confusions[h, k, l] = P(h says l | class k)`; adversaries are allowed, and the optimal
    rule uses them.  Ties as in `majority_margin`; patterns that cannot happen do not count.  Two classes cost
    O(H log H); more are assignment problems, one for each pair of classes and few vote counts.
    Proof: docs/theory/crew.md.

    >>> good, fair = [[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]]
    >>> round(crew_margin([.5, .5], [fair, fair, fair]), 3), round(crew_margin([.5, .5], [good, fair, fair]), 3)
    (0.405, -1.386)
    """
    return crew_witness(prior, confusions, ties).margin


def crew_witness(prior: ArrayLike, confusions: ArrayLike, ties: str = "exclude") -> Witness:
    """A ballot that attains `crew_margin`: who says what, and what majority and the optimal rule make of it.

    >>> good, fair = [[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]]
    >>> crew_witness([.5, .5], [good, fair, fair]).words(["cat", "dog"], voters=["Ann", "Bob", "Cy"])
    'cat from Bob Cy, dog from Ann: majority says cat, the optimal rule says dog'
    """
    prior_k = as_prior(prior)
    confusion_hkl = as_crew(confusions, len(prior_k))
    policy = as_margin_ties(ties, len(prior_k))
    two_classes = len(prior_k) == 2
    found = _two_class_worst(prior_k, confusion_hkl, policy) if two_classes else _worst(prior_k, confusion_hkl)
    if found is None:  # every class that occurs is always named rightly
        certain = int(prior_k.argmax())
        found = np.inf, np.full(len(confusion_hkl), certain), certain
    margin, ballot_h, c = found
    counts = tuple(np.bincount(ballot_h, minlength=len(prior_k)).tolist())
    joint_k = safe_log(prior_k) + safe_log(confusion_hkl[np.arange(len(ballot_h)), :, ballot_h]).sum(axis=0)
    return Witness(counts, c, optimal_class(joint_k, c, margin), float(margin), tuple(ballot_h.tolist()))


def _two_class_worst(prior_k: FloatArray, confusion_hkl: FloatArray, ties: str) -> Found | None:
    """The worst ballot over both classes as winners, and over the tied ballots if the policy counts them."""
    n_voters = len(confusion_hkl)
    minority = (n_voters - 1) // 2
    tasks = [(c, 0, minority) for c in (0, 1)]
    if n_voters % 2 == 0 and ties != "exclude":
        receivers = {"first": [0], "prior": np.flatnonzero(prior_k == prior_k.max()).tolist(), "random": [0, 1]}[ties]
        tasks += [(c, n_voters // 2, n_voters // 2) for c in receivers]
    found = [_two_class_fill(prior_k, confusion_hkl, *task) for task in tasks]
    return min((one for one in found if one is not None), key=lambda one: one[0], default=None)


def _two_class_fill(prior_k: FloatArray, confusion_hkl: FloatArray, c: int, fewest: int, most: int) -> Found | None:
    """The ballot, with `fewest` to `most` votes against c, that speaks least for c; None if there is none.

    Everyone starts with a vote for c; then those change who take most from c's odds, first those who cannot vote
    for c at all.  Only ballots that the other class j can give count, so a weight is never +inf where it is used.
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
    # Who cannot change must rank behind who only loses by it: both have a gain of inf.
    order_h = np.lexsort((gain_h, ~possible_hl[:, j], possible_hl[:, c]))
    wanted = int(((gain_h < 0) & possible_hl[:, j]).sum())
    changed = min(max(wanted, fewest, forced), most)
    ballot_h = np.full(len(weight_hl), c)
    ballot_h[order_h[:changed]] = j
    odds = safe_log(prior_k[c]) - safe_log(prior_k[j]) + weight_hl[np.arange(len(ballot_h)), ballot_h].sum()
    return float(odds), ballot_h, c


def _worst(prior_k: FloatArray, confusion_hkl: FloatArray) -> Found | None:
    """The worst ballot over all pairs of classes, the pairs with the lowest bound first."""
    n_classes = len(prior_k)
    weight_hcjl = label_weights(confusion_hkl)
    log_prior_k = safe_log(prior_k)
    with np.errstate(invalid="ignore"):
        bound_cj = log_prior_k[:, None] - log_prior_k + weight_hcjl.min(axis=-1).sum(axis=0)
    bound_cj[:, prior_k == 0] = np.inf
    np.fill_diagonal(bound_cj, np.inf)
    best: Found | None = None
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
    """The smallest sum of weights over ballots that c wins; convex in c's votes, so their number is found by halving.

    Impossible votes are priced above everything else, votes that rule c out below: a ballot is judged by the count
    of the former, then of the latter, then by its sum.
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
    """The cheapest ballot with exactly `own` votes for c and fewer for every other class, and its price.

    Each vote that may be cast is a seat: `own` seats of c, made so cheap that all are taken, `own - 1` of the others.
    """
    from scipy.optimize import linear_sum_assignment

    n_voters, n_classes = price_hl.shape
    seat_s = np.repeat(np.arange(n_classes), [own if l == c else own - 1 for l in range(n_classes)])
    lure = 1 + 2 * float(np.abs(price_hl).max(axis=1).sum())
    _, taken_h = linear_sum_assignment(price_hl[:, seat_s] - lure * (seat_s == c))
    ballot_h = seat_s[taken_h]
    return float(price_hl[np.arange(n_voters), ballot_h].sum()), ballot_h
