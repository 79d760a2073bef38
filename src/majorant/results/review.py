"""Where one more vote, or an expert, pays most.

The gain of an expert, who is right, is the doubt about the label.  The gain of one more vote is what it is expected to
add to the probability of the label, since it may change the label: docs/review.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from majorant.backend import Backend, Part, fit_of_items, rows_alone
from majorant.items import take_items
from majorant.kernels import row_maxima, shares
from majorant.methods.fit import NO_LABEL, Fit, leaders
from majorant.methods.majority import Majority
from majorant.methods.tables import coin_confusions
from majorant.results.calibrate import Calibration, as_calibrated
from majorant.results.labels import FILE_DIGITS, two_best
from majorant.tabular import Tabular
from majorant.values import FloatArray, lock
from majorant.votes import IntArray, Votes

GAINS_AT_ONCE = 1 << 16
MOST_TO_REVIEW = 100
SLIGHT_LEAD = 0.1  # lead in probability
Resource = Literal["vote", "expert"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Review(Tabular):
    """The items where a look pays most, best first; axis p.  Gains are in expected right labels, an item each."""

    item_p: NDArray[np.int64]
    gain_vote_p: FloatArray
    gain_expert_p: FloatArray
    reason: tuple[str, ...]
    resource: Resource  # what the order is by
    gain: float  # points of accuracy, over all items with votes, if that resource goes to the items listed
    text: tuple[str | None, ...] = ()  # of each item, where the votes were read with one
    columns: Mapping[str, Any] = field(default_factory=dict)  # those of `review_table`
    label_type: Any = None

    def __post_init__(self) -> None:
        lock(self)

    def table(self) -> dict[str, Any]:
        """A row for each item, with its label, votes, gains and the reason."""
        return dict(self.columns)

    @property
    def _label_type(self) -> Any:
        return self.label_type


def review(
    votes: Votes,
    fit: Fit,
    *,
    most: int = MOST_TO_REVIEW,
    resource: Resource = "expert",
    good: NDArray[np.bool_] | None = None,
    crowd: FloatArray | None = None,
    n_items: int | None = None,
) -> Review:
    """The `most` items that gain most from the resource, with the reason; equal gains in the order of the items.

    `fit` should be calibrated: a gain is only as good as the confidence.  One more vote comes from a typical worker of
    this crowd, independent of the votes that are there.  `good` says which workers (J,) are, for the reasons.  Where
    `votes` are but the doubtful ones of `n_items` items, `crowd` says how a typical vote falls, (K, K).
    """
    posterior_ik = np.where((fit.votes_i > 0)[:, None], fit.posterior, fit.prior)
    expert_i = 1 - row_maxima(posterior_ik)
    vote_i = vote_gain(posterior_ik, crowd_confusion(votes, fit) if crowd is None else crowd)
    gain_i = expert_i if resource == "expert" else vote_i
    item_p = np.argsort(-gain_i.round(FILE_DIGITS), kind="stable")[:most]
    item_p = item_p[gain_i[item_p].round(FILE_DIGITS) > 0]
    listed = Review(
        item_p=item_p,
        gain_vote_p=vote_i[item_p],
        gain_expert_p=expert_i[item_p],
        reason=_reasons(votes, fit, item_p, good),
        resource=resource,
        gain=float(gain_i[item_p].sum() / max(len(votes.items) if n_items is None else n_items, 1)),
        text=() if votes.text is None else tuple(votes.text([votes.items[i] for i in item_p])),
        label_type=votes.label_type,
    )
    return replace(listed, columns=review_table(votes, fit, listed))


class Reviewed(NamedTuple):
    """The votes and the fit of some items, or of all, and which of them to look at."""

    votes: Votes
    fit: Fit
    review: Review


def review_all(
    backend: Backend, fit: Fit, calibration: Calibration | None, *, good: NDArray[np.bool_], crowd: FloatArray
) -> Reviewed:
    """The review of all items, wherever they lie: the most doubtful are found part by part, and taken into memory."""
    rule = rows_alone(fit)

    def doubtful(part: Part) -> tuple[IntArray, FloatArray]:
        judged = as_calibrated(calibration, part.votes, part.of(rule))
        doubt_i = 1 - np.where((judged.votes_i > 0)[:, None], judged.posterior, judged.prior).max(axis=1)
        return _most(np.arange(len(doubt_i)) + part.start, doubt_i.round(FILE_DIGITS))

    parts = list(backend.map(doubtful, doing="judging"))
    item_p, _ = _most(*(np.concatenate([part[n] for part in parts]) for n in (0, 1)))
    votes = backend.take(item_p)
    some = as_calibrated(calibration, votes, fit_of_items(backend, fit, item_p))
    return Reviewed(votes, some, review(votes, some, good=good, crowd=crowd, n_items=backend.votes.shape[0]))


def _most(item: IntArray, doubt: FloatArray) -> tuple[IntArray, FloatArray]:
    """The items with the greatest doubt, equal ones by their order; in order."""
    first = np.sort(np.argsort(-doubt, kind="stable")[:MOST_TO_REVIEW])
    return item[first], doubt[first]


def vote_gain(posterior: FloatArray, confusion: FloatArray) -> FloatArray:
    """What one more vote is expected to add to the probability that an item's label is right, for each item.

    Sum over labels l of max_k P(k) confusion[k, l], less max_k P(k): the label may be changed once the vote is known.

    >>> vote_gain(np.array([[.5, .5], [.9, .1]]), np.array([[.8, .2], [.2, .8]])).round(3).tolist()
    [0.3, 0.0]
    """
    gain_i = np.empty(len(posterior))
    for start in range(0, len(posterior), GAINS_AT_ONCE):
        part_ik = posterior[start : start + GAINS_AT_ONCE]
        best_i = np.zeros(len(part_ik))
        for l in range(confusion.shape[1]):
            best_i += row_maxima(part_ik * confusion[:, l])
        gain_i[start : start + GAINS_AT_ONCE] = best_i - row_maxima(part_ik)
    return np.maximum(gain_i, 0.0)


def crowd_confusion(votes: Votes, fit: Fit) -> FloatArray:
    """How a typical vote of this crowd falls given the class, (K, K): all votes against the labels as believed."""
    n_classes = len(votes.labels)
    counts_kl = np.zeros((n_classes, n_classes))
    for k in range(n_classes):
        counts_kl[k] = np.bincount(votes.label_n, weights=fit.posterior[votes.item_n, k], minlength=n_classes)
    right = float(np.trace(counts_kl) / max(counts_kl.sum(), 1.0))
    return shares(counts_kl + coin_confusions(np.array([right]), n_classes)[0])


def review_table(votes: Votes, fit: Fit, listed: Review) -> dict[str, Any]:
    """Columns item, label, confidence, runner_up, votes, gain_vote, gain_expert and reason, a row for each item.

    Where the votes were read with the items' text, it is the last column.
    """
    rows = listed.item_p
    label_p = fit.codes()[rows]
    first_p, second_p = two_best(fit.posterior[rows], label_p)
    voted_p, next_p = fit.votes_i[rows] > 0, fit.posterior[rows, second_p]
    return {
        "item": [votes.items[i] for i in rows],
        "label": fit.values(label_p),
        "confidence": np.where(voted_p, fit.posterior[rows, first_p].round(FILE_DIGITS), np.nan),
        "runner_up": fit.values(np.where(voted_p & (second_p != first_p) & (next_p > 0), second_p, NO_LABEL)),
        "votes": fit.votes_i[rows],
        "gain_vote": listed.gain_vote_p.round(FILE_DIGITS),
        "gain_expert": listed.gain_expert_p.round(FILE_DIGITS),
        "reason": list(listed.reason),
        **({"text": list(listed.text)} if any(listed.text) else {}),
    }


def _reasons(votes: Votes, fit: Fit, item_p: NDArray[np.int64], good_j: NDArray[np.bool_] | None) -> tuple[str, ...]:
    """Why the confidence is low, the most telling reason of each item."""
    listed = take_items(votes, item_p)
    shares_pk = Majority().fit(listed).posterior
    most_p, n_most_p = leaders(shares_pk)
    label_p, votes_p = fit.codes()[item_p], listed.votes_i
    best_pk = np.sort(fit.posterior[item_p], axis=1)
    lead_p = best_pk[:, -1] - best_pk[:, -2] if best_pk.shape[1] > 1 else np.ones(len(item_p))
    reasons = (
        (votes_p == 0, "no votes"),
        (fit.tied_i[item_p], "tie"),
        (votes_p == 1, "only 1 vote"),
        ((n_most_p == 1) & (label_p >= 0) & (most_p != label_p), "rule overturns majority"),
        (_good_split(listed, good_j), "good workers disagree"),
        (n_most_p > 1, "votes are tied"),
        (lead_p < SLIGHT_LEAD, "near-tie"),
        (votes_p == 2, "only 2 votes"),
        (shares_pk.max(axis=1, initial=0.0) < 1, "votes disagree"),
    )
    reason = np.full(len(item_p), "weak workers", dtype=object)  # they agree, and still it is doubtful
    for here_p, text in reversed(reasons):
        reason[here_p] = text
    return tuple(reason.tolist())


def _good_split(votes: Votes, good_j: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Items on which good workers give different labels."""
    if good_j is None:
        return np.zeros(len(votes.items), dtype=bool)
    kept = good_j[votes.worker_n]
    count_ik = np.zeros((len(votes.items), len(votes.labels)), dtype=bool)
    count_ik[votes.item_n[kept], votes.label_n[kept]] = True
    return np.asarray(count_ik.sum(axis=1) > 1)
