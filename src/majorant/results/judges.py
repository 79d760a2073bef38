"""Compare judges with gold labels: accuracy, shared mistakes, and whether they are good enough to gate on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from majorant.defaults import LEVEL, MAJORITY
from majorant.evidence.certificate.dependence import effective_panel_size, gold_items, label_matrix
from majorant.evidence.copies import Copies, find_copies
from majorant.evidence.labels import known_items, right_share
from majorant.methods.majority import Majority
from majorant.read import Reading, as_votes
from majorant.results.positions import Position, find_position, one_verdict_each
from majorant.results.sub_panels import SubPanel, best_sub_panels
from majorant.tabular import Tabular
from majorant.values import Estimate, Missing, as_level, clopper_pearson, lock
from majorant.votes import Votes

MOST_PAIRED = 100  # with more judges, pairs are not compared


class Gate(StrEnum):
    """Whether a judge or the panel's majority vote is accurate enough to gate on."""

    MET = "met"
    NOT_MET = "not met"  # all intervals are below the bar
    OPEN = "open"  # too few gold labels
    NO_GOLD = "no gold"  # votes alone do not show the accuracy of judges who may share mistakes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Judge:
    """Accuracy of a judge, or of the panel's majority vote, on the items with a gold label."""

    name: Hashable
    right: float  # number of right labels; ties of the panel count by their share
    judged: int  # number of labelled gold items
    tied: int = 0  # number of these on which the panel is tied
    accuracy: Estimate  # the interval is exact, and holds for all judges at once
    kappa: float | None  # Cohen's kappa with gold
    confusion_kl: NDArray[np.int64]  # items by gold class and given label, without ties
    wrong: tuple[Hashable, ...]  # the first items on which it is wrong

    def __post_init__(self) -> None:
        lock(self)


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often two judges agree, and on how many gold items both or either of them are wrong."""

    first: Hashable
    second: Hashable
    common: int
    agreed: float
    both_wrong: int
    either_wrong: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Judges(Tabular):
    """Judges compared with gold, majority vote, copies, agreement of pairs, and which judges to keep.

    Attributes
    ----------
    judges : tuple of Judge
        The judges with enough gold items, the best first; empty without gold.
    left_out : tuple of Hashable
        Judges with too few gold items.
    panel : Judge or None
        The majority vote of all judges.
    gate : Gate
        Whether `best`, a judge or the panel, meets `bar`.
    sub_panels : tuple of SubPanel
        The best one, three and five judges, compared with all judges; empty if there are too few labels.
    copies : Copies
        Judges who copy another.
    repeats : tuple of Repeats
        All pairs of judges, those who agree most first.
    worth : Estimate
        Number of independent judges that would be as precise, according to gold.
    """

    judges: tuple[Judge, ...]
    left_out: tuple[Hashable, ...]
    panel: Judge | None
    gate: Gate
    best: Judge | None
    sub_panels: tuple[SubPanel, ...]
    copies: Copies
    repeats: tuple[Repeats, ...]
    positions: tuple[Position, ...]
    worth: Estimate
    labels: tuple[Hashable, ...]
    n_judges: int
    n_gold: int
    bar: float
    level: float

    def table(self) -> dict[str, Any]:
        """One row for each judge, the best first, and one for majority vote."""
        every = [*self.judges, *([self.panel] if self.panel else [])]
        return {
            "judge": [one.name for one in every],
            "right": [one.right for one in every],
            "judged": [one.judged for one in every],
            "accuracy": [one.accuracy.value for one in every],
            "low": [one.accuracy.low for one in every],
            "high": [one.accuracy.high for one in every],
            "kappa": [one.kappa for one in every],
        }


def judges(
    votes: Any, *, bar: float = 0.9, level: float = LEVEL, position: str | None = None, **reading: Unpack[Reading]
) -> Judges:
    """Compare judges with gold labels: accuracy, which to keep, and whether they are good enough to gate on.

    Parameters
    ----------
    votes : Any
        Anything `mj.read` accepts, with the same keyword arguments.
    bar : float
        The accuracy that the gate requires.
    level : float
        Confidence level at which the intervals of all judges hold at once (Bonferroni).
    position : str, optional
        Column that says which of two candidates was shown first, if pairs were judged in both orders; columns called
        order, position or swapped are detected.

    Returns
    -------
    Judges
        The results assume that the gold items are a random sample, and nothing about the errors of judges.

    Examples
    --------
    >>> table = {"item": [1, 1, 2, 2], "judge": ["a", "b"] * 2, "verdict": [1, 0, 0, 0], "gold": [1, 1, 0, 0]}
    >>> found = judges(table)
    >>> [(one.name, one.right, one.judged) for one in found.judges], found.gate.value
    ([('a', 2.0, 2), ('b', 1.0, 2)], 'open')
    """
    as_level(level)
    if position is None and not isinstance(votes, Votes):
        position = find_position(votes, reading)
    table = one_verdict_each(votes, position, reading) if position else None
    known = as_votes(votes, **reading) if table is None else table[0]
    positions = () if table is None else table[1]
    if known is None:  # no verdict holds in both orders
        known = Votes.from_codes([], [], [], items=(), workers=(), labels=())
    copies = find_copies(known)
    each, left_out = _each_judge(known, level)
    panel = _panel(known, 1 - (1 - level) / (len(each) + 1)) if each else None
    every = [*each, *([panel] if panel else [])]
    gate, best = _gate(every, bar)
    return Judges(
        judges=tuple(sorted(each, key=lambda one: -(one.accuracy.value or 0.0))),
        left_out=left_out,
        panel=panel,
        gate=gate,
        best=best,
        sub_panels=best_sub_panels(known, copies, level=level),
        copies=copies,
        repeats=_repeats(known),
        positions=positions,
        worth=(
            _worth(known, level)
            if each and len(known.workers) <= MOST_PAIRED
            else Estimate(None, reason=Missing.TOO_FEW_GOLD)
        ),
        labels=known.labels,
        n_judges=len(known.workers),
        n_gold=known.n_gold,
        bar=bar,
        level=level,
    )


def _gate(every: Sequence[Judge], bar: float) -> tuple[Gate, Judge | None]:
    """Whether the interval of a judge or the panel is above the bar, and which of them is best."""
    if not every:
        return Gate.NO_GOLD, None
    good = [one for one in every if one.accuracy.low is not None and one.accuracy.low >= bar]
    if good:
        return Gate.MET, max(good, key=lambda one: one.accuracy.low or 0.0)
    best = max(every, key=lambda one: one.accuracy.value or 0.0)
    below = all(one.accuracy.high is not None and one.accuracy.high < bar for one in every)
    return (Gate.NOT_MET if below else Gate.OPEN), best


def _worth(votes: Votes, level: float) -> Estimate:
    """Number of independent judges that the votes on an item are equivalent to, from errors on gold items."""
    label_ij = label_matrix(votes)
    gold = gold_items(label_ij, votes.gold_i, np.ones(len(label_ij)), len(votes.labels))
    return Estimate(None, reason=Missing.TOO_FEW_GOLD) if gold is None else effective_panel_size(gold, level)


def _each_judge(votes: Votes, level: float) -> tuple[list[Judge], tuple[Hashable, ...]]:
    """Judges with at least ten gold items (if nobody has ten, those with the most), and the names of the others."""
    if votes.gold_i is None:
        return [], ()
    known = np.flatnonzero(votes.truth_i[votes.item_n] >= 0)
    known = known[np.argsort(votes.worker_n[known], kind="stable")]
    judged_j = np.bincount(votes.worker_n[known], minlength=len(votes.workers))
    enough_j = judged_j >= min(10, judged_j.max(initial=1))
    own_j = np.split(known, np.cumsum(judged_j)[:-1])
    share = 1 - (1 - level) / (int(enough_j.sum()) + 1)
    each = [
        _against(votes, votes.workers[j], votes.item_n[own_j[j]], votes.label_n[own_j[j]], share)
        for j in np.flatnonzero(enough_j)
    ]
    return each, tuple(votes.workers[j] for j in np.flatnonzero(~enough_j))


def _panel(votes: Votes, level: float) -> Judge:
    """Majority vote on the gold items; a tie counts by its share."""
    fit, item_p = Majority().fit(votes), known_items(votes)
    clear_p = ~fit.tied_i[item_p]
    tied = item_p[~clear_p]
    shared = float(right_share(fit.posterior[tied], votes.truth_i[tied]).sum()) if len(tied) else 0.0
    clear = item_p[clear_p]
    return _against(votes, MAJORITY, clear, fit.codes()[clear], level, tied=len(tied), shared=shared)


def _against(
    votes: Votes, name: Hashable, item_p: Any, label_p: Any, level: float, *, tied: int = 0, shared: float = 0.0
) -> Judge:
    n_classes = len(votes.labels)
    confusion_kl = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(confusion_kl, (votes.truth_i[item_p], label_p), 1)
    right, judged = float(np.trace(confusion_kl)) + shared, int(confusion_kl.sum()) + tied
    accuracy = (
        Estimate(right / judged, *clopper_pearson(right, judged, level))
        if judged
        else Estimate(None, reason=Missing.NO_GOLD)
    )
    wrong = item_p[votes.truth_i[item_p] != label_p][:5]
    return Judge(
        name=name,
        right=right,
        judged=judged,
        tied=tied,
        accuracy=accuracy,
        kappa=_kappa(confusion_kl),
        confusion_kl=confusion_kl,
        wrong=tuple(votes.items[i] for i in wrong),
    )


def _kappa(confusion_kl: NDArray[np.int64]) -> float | None:
    total = confusion_kl.sum()
    if not total:
        return None
    chance = float(confusion_kl.sum(axis=0) @ confusion_kl.sum(axis=1)) / total**2
    return None if chance >= 1 else float((np.trace(confusion_kl) / total - chance) / (1 - chance))


def _repeats(votes: Votes) -> tuple[Repeats, ...]:
    """Pairs of judges with at least two common items, those who agree most first."""
    if len(votes.workers) > MOST_PAIRED:
        return ()
    given = np.full((len(votes.workers), len(votes.items)), -1, dtype=np.int64)
    given[votes.worker_n, votes.item_n] = votes.label_n
    pairs = []
    for a in range(len(given)):
        for b in range(a + 1, len(given)):
            both = (given[a] >= 0) & (given[b] >= 0)
            if both.sum() < 2:
                continue
            wrong_a, wrong_b = (both & (votes.truth_i >= 0) & (given[judge] != votes.truth_i) for judge in (a, b))
            agreed = float((given[a][both] == given[b][both]).mean())
            pairs.append(
                Repeats(
                    votes.workers[a], votes.workers[b], int(both.sum()), agreed,
                    int((wrong_a & wrong_b).sum()), int((wrong_a | wrong_b).sum()),
                )
            )  # fmt: skip
    return tuple(sorted(pairs, key=lambda pair: -pair.agreed))
