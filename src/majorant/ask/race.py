"""Find the best of several rules from expert labels where they differ: valid at any time, without a model.

Rules 1..R are fixed before any label is seen.  On the n of all N items where q and r differ, let x be 1 where only q
is right, -1 where only r is right, and 0 otherwise.  The lead of q is n / N times the mean of x.  A random order of the
items on which any rules differ is also a random order of those on which a given pair differs, so `betting` bounds every
lead.  q beats r if the capital against "the lead is at most 0" reaches c_r = |Q_r| / alpha, where Q_r holds the rules
that differ from r on more than the tolerance.  This controls the error because only a false claim against the best rule
does harm, and at most |Q_r| claims can be made against rule r.

An item without an answer counts as the worst case, which lowers every capital.  So labels may be chosen and skipped in
any way, even one that depends on earlier labels.  Proofs: docs/theory/ask.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from majorant.ask.question import OPEN, UNASKED, Codes, Outcome, Verdict, n_answers
from majorant.defaults import LEVEL, TOLERANCE
from majorant.evidence.betting import bounds, evidence_above
from majorant.values import Estimate, FloatArray, Missing, lock

Mask = NDArray[np.bool_]
ROUNDING = 1e-9
UNPLANNED = 40  # labels to plan with if nothing suggests how much two rules differ in accuracy


def labels_to_decide(lead: float | None, decisive: float, differ: int, least: float) -> int:
    """Approximate number of labels that show which of two rules is better; the constants were fitted to public data.

    `lead` is the mean of 1[one right] - 1[other right] over the `differ` items on which they differ (None: unknown).
    `decisive` is the mean of its square.  A lead below `least` does not matter.

    >>> labels_to_decide(.6, .9, 200, .1), labels_to_decide(None, 1, 200, .1)
    (21, 40)
    """
    if lead is None:
        return min(UNPLANNED, differ)
    square = max(lead**2, least**2)
    return int(min(np.ceil(9.4 * max(decisive - square, 0) / square + 6), differ))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Race:
    """The rules with their frozen labels on the items where they differ, in a random order.

    The first rule is the one in use, with which the others are compared.  `favourite` is the rule to use before there
    are labels, and when the labels do not show which is better.

    >>> label_rd = np.array([[0, 0, 0, 0, 0, 1, 0, 0], [1, 1, 1, 1, 1, 0, 1, 1]])
    >>> race = Race.of(("majority", "auto"), label_rd, n_items=50)
    >>> outcome = race.evaluate(np.array([1, 1, 1, 1, 1, 1, 1, -2]))
    >>> outcome.verdict, outcome.right["auto"], round(outcome.value.low, 3)
    ('better', 6, 0.08)
    """

    kind: ClassVar[str] = "rules"
    rules: tuple[str, ...]
    label_rd: Codes  # the class that each rule gives each item of the order
    differ_qr: Codes  # number of the N items on which two rules differ; the order may be truncated
    n_items: int
    tied: int = 0  # items with tied votes, left out because every rule decides them the same way
    favourite: int = 0
    tolerance: float = TOLERANCE
    level: float = LEVEL
    error_r: FloatArray | None = None  # share of the error for the claim against each of two rules; None: equal
    bet_f: FloatArray | None = None  # share of the capital of each bettor; None: equal
    lead_qr: FloatArray | None = None  # for planning: expected mean of x where q and r differ
    decisive_qr: FloatArray | None = None  # for planning: expected share of these items where q or r is right

    def __post_init__(self) -> None:
        lock(self)

    @classmethod
    def of(cls, rules: tuple[str, ...], label_rd: Codes, *, n_items: int, **settings: Any) -> Race:
        """A race whose order holds every item on which rules differ."""
        label_rd = np.asarray(label_rd, dtype=np.int64)
        differ_qr = (label_rd[:, None] != label_rd[None]).sum(axis=2)
        return cls(rules=rules, label_rd=label_rd, differ_qr=differ_qr, n_items=n_items, **settings)

    @property
    def size(self) -> int:
        """Number of items in the order."""
        return int(self.label_rd.shape[1])

    @property
    def n_differ(self) -> int:
        """Number of items on which any rules differ; a lower bound if the order was truncated."""
        return max(self.size, int(self.differ_qr.max(initial=0)))

    @property
    def stake(self) -> float:
        """The largest possible difference between two of the rules, as a share of the items."""
        return float(np.max(self.differ_qr, initial=0)) / self.n_items

    @property
    def same_as(self) -> dict[str, str]:
        """Rules that give every item the same label as an earlier rule, by that rule's name."""
        return {
            self.rules[r]: self.rules[int(np.argmax(self.differ_qr[:r, r] == 0))]
            for r in range(1, len(self.rules))
            if (self.differ_qr[:r, r] == 0).any()
        }

    @property
    def _runners(self) -> list[int]:
        return [r for r, rule in enumerate(self.rules) if rule not in self.same_as]

    @property
    def _first_choice(self) -> int:
        name = self.rules[self.favourite]
        return self.rules.index(self.same_as.get(name, name))

    @property
    def _near_qr(self) -> Mask:
        """Pairs that differ on so few items that they are within the tolerance regardless of the labels."""
        return np.asarray(self.differ_qr <= self.tolerance * self.n_items * (1 + ROUNDING))

    @property
    def _price_r(self) -> FloatArray:
        """Log c_r: the log capital that a claim against rule r requires."""
        if self.error_r is not None:
            return np.asarray(-np.log(self.error_r * (1 - self.level)))
        runners = self._runners
        rivals_r = (~self._near_qr[runners]).sum(axis=0)
        # With two rules, either may be claimed to be better; if they are equally good, both claims would be wrong.
        return np.asarray(np.log(np.maximum(rivals_r, 2 if len(self.rules) == 2 else 1) / (1 - self.level)))

    def is_given_by(self, rule: str, posterior_dk: FloatArray) -> bool:
        """Whether a posterior gives the items the labels that were frozen for a rule; in near-ties any label fits."""
        near_tie = 1e-6  # fits in memory and from files differ by less
        label_d = self.label_rd[self.rules.index(rule)]
        believed_d = posterior_dk[np.arange(len(label_d)), label_d]
        return bool((believed_d >= posterior_dk.max(axis=1, initial=0.0) - near_tie).all())

    def expected(self) -> int:
        """Approximate number of labels to settle the question, from the leads that the models expect."""
        return 0 if self._near_qr[np.ix_(self._runners, self._runners)].all() else self._planned(self._first_choice)

    def _planned(self, leader: int, lead_r: FloatArray | None = None, decisive_r: FloatArray | None = None) -> int:
        """Total number of labels needed if the mean of x is lead_r where the leader differs from rule r."""
        lead_r = self._believed(self.lead_qr, leader) if lead_r is None else lead_r
        decisive_r = self._believed(self.decisive_qr, leader) if decisive_r is None else decisive_r
        rivals = [r for r in self._runners if not self._near_qr[leader, r]]
        if len(self._runners) == 2:
            return max(
                (self._pair_labels(float(lead_r[r]), float(decisive_r[r]), leader, r) for r in rivals), default=0
            )
        share_d = np.zeros(self.size)
        for r in rivals:
            n, slack = int(self.differ_qr[leader, r]), self.tolerance * self.n_items / self.differ_qr[leader, r]
            lead, decisive = abs(float(lead_r[r])), float(decisive_r[r])
            labels = float(self._price_r[r]) * 1.2 * max(decisive - lead**2, 0) / (lead + slack) ** 2 + 3
            labels = min(float(UNPLANNED), n) if np.isnan(labels) else min(labels, n)
            differs_d = self.label_rd[leader] != self.label_rd[r]
            share_d = np.maximum(share_d, np.where(differs_d, labels / max(int(differs_d.sum()), 1), 0))
        return int(np.ceil(share_d.sum() - ROUNDING))

    def _pair_labels(self, lead: float, decisive: float, q: int, r: int) -> int:
        n = int(self.differ_qr[q, r])
        known = None if np.isnan(lead) else lead
        return labels_to_decide(known, decisive, n, self.tolerance * self.n_items / n)

    def _believed(self, mean_qr: FloatArray | None, leader: int) -> FloatArray:
        return np.full(len(self.rules), np.nan) if mean_qr is None else np.asarray(mean_qr[leader])

    def advance(self, answer_d: Codes) -> Race:  # noqa: ARG002
        """Return the same race, because it has only one stage."""
        return self

    def next_items(self, answer_d: Codes) -> Codes:
        """First items that separate the leader from rules that may be better, then the rest, each in random order."""
        standing = self.standing(answer_d)
        needed_d = (self.label_rd[standing.open_rules] != self.label_rd[standing.leader]).any(axis=0)
        free = np.flatnonzero(answer_d == UNASKED)
        return np.concatenate([free[needed_d[free]], free[~needed_d[free]]])

    def evaluate(self, answer_d: Codes) -> Outcome:
        """What the labels so far show.

        With two rules the verdict says how the second compares with the first (better, worse, same or open); with more,
        whether the leader is within the tolerance of the best rule (within or open).
        """
        answer_d = np.asarray(answer_d, dtype=np.int64)
        standing = self.standing(answer_d)
        labels, skipped = n_answers(answer_d)
        pair, leader = len(self.rules) == 2, standing.leader
        verdict: Verdict = standing.compare_two() if pair else OPEN if len(standing.open_rules) else "within"
        known_d, decided = answer_d >= 0, verdict != OPEN
        return Outcome(
            kind=self.kind,
            verdict=verdict,
            decided=decided,
            value=self._lead(answer_d, 1 if pair else leader, standing),
            level=self.level,
            tolerance=self.tolerance,
            n_items=self.n_items,
            n_differ=self.n_differ,
            labels=labels,
            skipped=skipped,
            more=0 if decided else self._more(standing, labels, left=int((answer_d == UNASKED).sum())),
            rules=self.rules,
            leader=self.rules[leader],
            alive=tuple(self.rules[r] for r in np.flatnonzero(standing.alive_r)),
            right={
                rule: int((self.label_rd[r, known_d] == answer_d[known_d]).sum()) for r, rule in enumerate(self.rules)
            },
            below=self._below(answer_d, standing),
            same_as=self.same_as,
            stake=self.stake,
            tied=self.tied,
        )

    def standing(self, answer_d: Codes, before: Standing | None = None) -> Standing:
        """Which rules beat each other, which are within the tolerance of each other, and which rule leads.

        `before` is the standing after some of these answers.  Rules that had lost by then are not compared again.
        """
        size, runners = len(self.rules), self._runners
        near_qr, price_r = self._near_qr, self._price_r
        beats_qr, within_qr = np.zeros((size, size), dtype=bool), near_qr.copy()
        estimate_qr, decisive_qr = np.full((size, size), np.nan), np.full((size, size), np.nan)
        in_play = runners
        if before is not None:
            beats_qr, within_qr = before.beats_qr.copy(), within_qr | before.within_qr
            in_play = [int(r) for r in np.flatnonzero(before.alive_r)]
        pairs = [(q, r) for q in in_play for r in in_play if q < r]
        draws = [self._draws(answer_d, q, r) for q, r in pairs]
        evidence = self._evidence(pairs, draws)
        for (q, r), y_t, for_pair in zip(pairs, draws, evidence, strict=True):
            n = int(self.differ_qr[q, r])
            for rule, other, own_t, (ahead, near) in ((q, r, y_t, for_pair[0]), (r, q, 1 - y_t, for_pair[1])):
                estimate_qr[rule, other], decisive_qr[rule, other] = _mean_of_prefix(own_t)
                if not near_qr[rule, other]:
                    price = float(price_r[other])
                    beats_qr[rule, other] = _leads(own_t, n, 0.5, ahead >= price)
                    within_qr[rule, other] |= beats_qr[rule, other] or _leads(own_t, n, self._edge(n), near >= price)
        alive_r: Mask = np.logical_not(np.any(beats_qr, axis=0, keepdims=True))[0]
        alive_r[[r for r in range(size) if r not in runners]] = False
        favourite = self._first_choice
        if not alive_r.any():  # contradictory claims; their probability is below 1 - level
            alive_r[favourite] = True
        lead_qr = np.nan_to_num(estimate_qr) * self.differ_qr / self.n_items
        worst_q = np.where(alive_r[None], lead_qr, np.inf).min(axis=1)
        worst_q[~alive_r] = -np.inf
        ahead = worst_q >= worst_q.max() - ROUNDING
        leader = favourite if ahead[favourite] else int(np.argmax(ahead))
        open_rules = np.flatnonzero(alive_r & ~within_qr[leader] & (np.arange(size) != leader))
        return Standing(leader, alive_r, open_rules, beats_qr, within_qr, estimate_qr, decisive_qr)

    def _edge(self, n: int) -> float:
        """The mean of y at which the lead is minus the tolerance."""
        return 0.5 * (1 - self.tolerance * self.n_items / max(n, 1))

    def _evidence(self, pairs: list[tuple[int, int]], draws: list[FloatArray]) -> FloatArray:
        """Evidence for each pair, with unknown answers counted as the worst case: (pair, direction, claim).

        The directions are (q, r) and (r, q); the claims are a lead above 0 and a lead above minus the tolerance.
        """
        n_p = np.array([self.differ_qr[pair] for pair in pairs], dtype=np.int64)
        mean_pc = np.array([[0.5, self._edge(int(n))] for n in n_p]).reshape(-1, 2)
        worst_pst = np.zeros((len(pairs), 2, max(map(len, draws), default=0)))
        for worst_st, y_t in zip(worst_pst, draws, strict=True):
            known_t = np.isfinite(y_t)
            worst_st[:, : len(y_t)] = np.where(known_t, (y_t, 1 - y_t), 0.0)
        at_once = max(1, (1 << 16) // max(worst_pst[:1].size, 1))  # pairs, limited by memory
        parts = [slice(start, start + at_once) for start in range(0, len(pairs), at_once)]
        evidence = [
            evidence_above(worst_pst[part, :, None], n_p[part, None, None], mean_pc[part, None], self.bet_f)
            for part in parts
        ]
        return np.concatenate(evidence) if evidence else np.zeros((0, 2, 2))

    def _draws(self, answer_d: Codes, q: int, r: int) -> FloatArray:
        """(1 + x) / 2 up to the last answer where q and r differ; NaN for skipped items and -inf for unasked ones."""
        differ = np.flatnonzero(self.label_rd[q] != self.label_rd[r])
        answer_t = answer_d[differ]
        known = np.flatnonzero(answer_t >= 0)
        last = int(known[-1]) + 1 if len(known) else 0
        differ, answer_t = differ[:last], answer_t[:last]
        right_q, right_r = self.label_rd[q, differ] == answer_t, self.label_rd[r, differ] == answer_t
        return np.where(answer_t >= 0, (1.0 + right_q - right_r) / 2, np.where(answer_t == UNASKED, -np.inf, np.nan))

    def wins(self, rule: str, other: str, answer_d: Codes) -> tuple[int, int]:
        """Numbers of labelled items on which only `rule` is right, and on which only `other` is right."""
        right_q, right_r = (self.label_rd[self.rules.index(name)] == answer_d for name in (rule, other))
        return int((right_q & ~right_r).sum()), int((right_r & ~right_q).sum())

    def _lead(self, answer_d: Codes, q: int, standing: Standing) -> Estimate:
        """The lead of rule q over the first rule, with bounds that hold for all rules at once."""
        n = int(self.differ_qr[q, 0])
        if n == 0:
            return Estimate(0.0, 0.0, 0.0)
        tail = (1 - self.level) / 2 / max(len(self._runners) - 1, 1)
        tails = (tail, tail) if self.error_r is None else np.exp(-self._price_r[[0, q]])
        low, high = bounds(_unknown_as_nan(self._draws(answer_d, q, 0)), n, tails[0], tails[1], self.bet_f)
        scale, mean = n / self.n_items, standing.estimate_qr[q, 0]
        value = None if np.isnan(mean) else float(mean) * scale
        reason = Missing.NO_DIFFERENCE_LABELLED if value is None else None
        return Estimate(value, scale * (2 * low - 1), scale * (2 * high - 1), reason)

    def _below(self, answer_d: Codes, standing: Standing) -> float:
        """Upper bound on how far the leader is below the best rule."""
        worst = 0.0
        for r in np.flatnonzero(standing.alive_r):
            n = int(self.differ_qr[standing.leader, r])
            if n:
                # No claim is made about a pair within the tolerance: its bound uses only what the answers make certain.
                alpha = 0.0 if self._near_qr[standing.leader, r] else float(np.exp(-self._price_r[r]))
                y_t = _unknown_as_nan(self._draws(answer_d, standing.leader, int(r)))
                low = bounds(y_t, n, alpha, alpha, self.bet_f)[0] if alpha else float(np.nansum(y_t)) / n
                worst = max(worst, (1 - 2 * low) * n / self.n_items)
        return worst

    def _more(self, standing: Standing, labels: int, left: int) -> int:
        """Planned number of labels minus those given, but at least 5 and at most the number of items left."""
        leader = standing.leader
        enough = labels >= 8  # with fewer labels, plan with the leads that the models expect
        by_labels = (standing.estimate_qr[leader], standing.decisive_qr[leader]) if enough else (None, None)
        return min(max(self._planned(leader, *by_labels) - labels, 5), left)


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Rules that may be the best, the leader, and rules that may be better than it by more than the tolerance."""

    leader: int
    alive_r: Mask
    open_rules: Codes
    beats_qr: Mask
    within_qr: Mask
    estimate_qr: FloatArray  # mean of x where q and r differ
    decisive_qr: FloatArray  # share of these items on which one of the two is right

    def compare_two(self) -> Verdict:
        """How the second of two rules compares with the first."""
        if self.beats_qr[1, 0] or self.beats_qr[0, 1]:
            return "better" if self.beats_qr[1, 0] else "worse"
        return "same" if self.within_qr[0, 1] and self.within_qr[1, 0] else OPEN


def _leads(y_t: FloatArray, n: int, mean: float, shown: bool) -> bool:
    """Whether the mean of the n values is above `mean`: either proven by evidence (`shown`) or certain.

    -inf and inf mark unasked items, and NaN marks skipped ones; all count as the worst case.
    """
    worst_t = np.where(np.isfinite(y_t), y_t, 0.0)
    most = float(np.where(np.isfinite(y_t), y_t, 1.0).sum()) + n - len(y_t)
    certain = mean < 0.5 and float(worst_t.sum()) >= n * mean - ROUNDING * n  # this claim includes equality
    return certain or (shown and most > n * mean + ROUNDING * n)


def _unknown_as_nan(y_t: FloatArray) -> FloatArray:
    return np.where(np.isfinite(y_t), y_t, np.nan)


def _mean_of_prefix(y_t: FloatArray) -> tuple[float, float]:
    """Mean of x and of |x| over the answers before the first unasked item, which are a random sample."""
    unasked = np.flatnonzero(np.isinf(y_t))
    known_t = y_t[: unasked[0]] if len(unasked) else y_t
    x_t = 2 * known_t[np.isfinite(known_t)] - 1
    return (float(x_t.mean()), float(np.abs(x_t).mean())) if len(x_t) else (np.nan, np.nan)
