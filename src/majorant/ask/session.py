"""A labelling session in two stages: a rule is learned from a random sample, then proved on other items.

There is one random order of all items.  The labels of its first items are a random sample: they measure every rule and
every judge, and teach a rule (`learn`).  Then the rule is frozen, and the session goes on, in the same order, with the
items on which it differs from majority vote; `race` judges these labels.  Given the labels that taught it the rule is
fixed, and the rest of the order is a random order of the rest of the items, so the proof is exact at any time, however
the rule was found and whenever the teaching ended.  Items whose votes are tied are no part of the proof.

All that is needed is kept in the design: the votes on its items and what the weighted vote believes of them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from majorant.ask.betting import SHARES_F, bounds
from majorant.ask.learn import LEARNED, LEAST_LABELS, Features, LearnedRule, teach
from majorant.ask.question import OPEN, SKIPPED, UNASKED, Codes, Outcome, Verdict, n_answers
from majorant.ask.race import Race, labels_to_decide
from majorant.defaults import LEVEL, MAJORITY, TOLERANCE, WEIGHTED_VOTE
from majorant.kernels import row_maxima, shares
from majorant.methods.fit import TIE_TOLERANCE
from majorant.values import Estimate, FloatArray, Missing, lock

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TEACHING = 30  # labels of a random sample, first
MOST_TEACHING = 40  # labels, if the first ones taught nothing better than the rule used without labels
# Shares of the allowed error: for "the learned rule is better" and "it is worse"; the rest is for what the random
# sample says about other rules.
BETTER, WORSE = 0.9, 0.05
# Bets on a lead of about .4, as learned rules have on public panels where they differ from majority vote.
BETS_F: FloatArray = np.exp(-0.5 * ((SHARES_F - 0.4) / 0.2) ** 2)
BETS_F /= BETS_F.sum()


def expected_lead(learned: LearnedRule, differ: int, n_items: int) -> float:
    """The lead to plan with, as a mean over the items on which the learned rule differs from majority vote.

    The cross-validated lead of 30 labels is mostly noise, so it is averaged with 20 imaginary labels at a lead of .5,
    which is typical of adopted rules.  Plans are then off by a factor of 1.8 on public and simulated panels.
    """
    labels = learned.n_labels * differ / max(n_items, 1)
    return float(np.clip((learned.lead * learned.n_labels + 0.5 * 20) / (labels + 20), -1.0, 1.0))


def plan_proof(learned: LearnedRule, differ: int, n_items: int, tolerance: float) -> int:
    """About how many labels prove that the learned rule is better than majority vote."""
    if not differ:
        return 0
    return labels_to_decide(expected_lead(learned, differ, n_items), 1.0, differ, tolerance * n_items / differ)


def untied_labels(posterior_ik: FloatArray, plurality_i: Codes) -> Codes:
    """The best class of each item; where a rule is tied the plurality of the votes if it is among the best."""
    rows = np.arange(len(plurality_i))
    best_i = posterior_ik[rows, plurality_i] >= row_maxima(posterior_ik) - TIE_TOLERANCE
    return np.where(best_i, plurality_i, posterior_ik.argmax(axis=1)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Taught:
    """What the first stage of a session found: a rule, frozen, and the items that taught it."""

    positions: int  # the items at the head of the order that taught
    rule: str  # the rule to prove
    learned: LearnedRule
    label_d: Codes  # the labels of the rule to prove

    def __post_init__(self) -> None:
        lock(self)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Session:
    """Items in random order: a rule is learned from the first labels and proved on later ones."""

    kind: ClassVar[str] = "teach"
    workers: tuple[Hashable, ...]
    offset_d: Codes  # the votes on item d are offset_d[d] to offset_d[d + 1]
    worker_n: Codes
    label_n: Codes
    weighted_dk: FloatArray  # the posterior of the weighted vote
    baseline: str  # the rule that would be used without labels
    n_items: int  # that the design stands for; it may hold the first of them only
    tolerance: float = TOLERANCE
    level: float = LEVEL
    taught: Taught | None = None

    def __post_init__(self) -> None:
        lock(self)

    @property
    def size(self) -> int:
        """How many items the order holds."""
        return len(self.offset_d) - 1

    @property
    def teaching(self) -> int:
        """How many labels teach at first: few items must leave some to prove the rule with."""
        return max(min(TEACHING, self.size // 2), min(LEAST_LABELS, self.size))

    @property
    def count_dk(self) -> FloatArray:
        """How many votes each class has on each item."""
        n_classes = self.weighted_dk.shape[1]
        item_n = np.repeat(np.arange(self.size), np.diff(self.offset_d))
        cells = np.bincount(item_n * n_classes + self.label_n, minlength=self.size * n_classes)
        return cells.reshape(self.size, n_classes).astype(float)

    @property
    def tied_d(self) -> NDArray[np.bool_]:
        """Whether the votes on an item are tied."""
        count_dk = self.count_dk
        return np.asarray((count_dk == count_dk.max(axis=1, keepdims=True)).sum(axis=1) > 1)

    def features(self) -> Features:
        """The items as the learned rule sees them."""
        from scipy.sparse import csr_array

        n_classes = self.weighted_dk.shape[1]
        item_n = np.repeat(np.arange(self.size), np.diff(self.offset_d))
        shape = (self.size * n_classes, len(self.workers))
        ones_n = np.ones(len(self.worker_n))
        said: csr_array[Any] = csr_array((ones_n, (item_n * n_classes + self.label_n, self.worker_n)), shape=shape)
        return Features.from_shares(self.weighted_dk, shares(self.count_dk), said)

    def expected(self) -> int | None:
        """About how many labels prove the rule; unknown until labels have taught one."""
        return None if self.taught is None else self.contest()[0].expected()

    @property
    def is_idle(self) -> bool:
        """Whether no better or sufficiently different rule was learned, so that more labels may help."""
        return self.taught is not None and not self.taught.learned.adopted and self.contest()[0].expected() == 0

    def advance(self, answer_d: Codes) -> Session:
        """The same session, or the one that goes on to prove a rule, once enough labels have taught one.

        Which labels teach depends on labels of the sample alone, so what other labels prove holds.
        """
        known = np.flatnonzero(answer_d[: _head(answer_d)] >= 0)
        most = max(min(MOST_TEACHING, self.size // 2), self.teaching)
        already = 0 if self.taught is None else int((known < self.taught.positions).sum())
        session = self
        for enough in (self.teaching, most, *range(most + 20, len(known) + 1, 20)):
            if (session.taught is not None and not session.is_idle) or len(known) < max(enough, LEAST_LABELS):
                return session
            if enough > already:
                learned = session.learn(known[:enough], answer_d)
                if learned.adopted or enough >= most:
                    session = replace(session, taught=session.freeze(learned, int(known[enough - 1]) + 1))
        return session

    def learn(self, known: Codes, answer_d: Codes) -> LearnedRule:
        """The rule that the labels of these positions teach."""
        before_nk = (self.weighted_dk if self.baseline == WEIGHTED_VOTE else shares(self.count_dk))[known]
        truth_n, names = answer_d[known], known.tolist()  # the order is random: its positions serve as names
        return teach(
            self.features().take(known), names, truth_n, before_nk, workers=self.workers, baseline=self.baseline
        )

    def freeze(self, learned: LearnedRule, positions: int) -> Taught:
        """The learned rule, or the baseline where labels taught nothing better and it is not majority vote."""
        posterior_dk = self.features().predict(learned.weights_for(self.workers))
        rule = LEARNED
        if not learned.adopted and self.baseline != MAJORITY:
            rule, posterior_dk = self.baseline, self.weighted_dk
        label_d = untied_labels(posterior_dk, self.count_dk.argmax(axis=1))
        return Taught(positions=positions, rule=rule, learned=learned, label_d=label_d)

    def contest(self) -> tuple[Race, Codes]:
        """Majority vote against the rule to prove, and the positions of the items that it is about."""
        assert self.taught is not None
        plurality_d, tied_d = self.count_dk.argmax(axis=1), self.tied_d
        apart_d = (self.taught.label_d != plurality_d) & ~tied_d
        place = np.flatnonzero(apart_d & (np.arange(self.size) >= self.taught.positions))
        lead = expected_lead(self.taught.learned, len(place), self.size - self.taught.positions)
        race = Race(
            rules=(MAJORITY, self.taught.rule),
            label_rd=np.array([plurality_d[place], self.taught.label_d[place]]),
            differ_qr=np.array([[0, len(place)], [len(place), 0]]),
            n_items=self.size,
            tied=int(tied_d.sum()),
            favourite=int(self.taught.learned.adopted or self.taught.rule != LEARNED),
            tolerance=self.tolerance,
            level=self.level,
            error_r=np.array([BETTER, WORSE]),
            bet_f=BETS_F,
            lead_qr=np.array([[0.0, -lead], [lead, 0.0]]),
            decisive_qr=np.ones((2, 2)),
        )
        return race, place

    def next_items(self, answer_d: Codes) -> Codes:
        """The order from its head while rules are taught, then the items on which the two rules differ."""
        if self.taught is None or self.is_idle:
            return np.flatnonzero(answer_d == UNASKED)
        race, place = self.contest()
        return place[race.next_items(answer_d[place])]

    def evaluate(self, answer_d: Codes) -> Outcome:
        """The outcome of the labels so far."""
        answer_d = np.asarray(answer_d, dtype=np.int64)
        session = self.advance(answer_d)
        if session.taught is None:
            return session._teaching_outcome(answer_d)
        race, place = session.contest()
        return session.judged(race, place, answer_d)

    def judged(self, race: Race, place: Codes, answer_d: Codes) -> Outcome:
        """What labels of the second stage say, with what the first stage found."""
        assert self.taught is not None
        outcome = race.evaluate(answer_d[place])
        labels, skipped = n_answers(answer_d)
        head_d = answer_d[: self.taught.positions]
        if self.n_items > self.size:
            outcome = self._of_all(outcome, race, place, answer_d)
        doubt = self._skipped_apart(answer_d) / self.n_items
        value = outcome.value
        if doubt and value.low is not None and value.high is not None:
            value = Estimate(value.value, value.low - doubt, value.high + doubt, value.reason)
        return replace(
            outcome,
            kind=self.kind,
            value=value,
            labels=labels,
            skipped=skipped,
            learned=self.taught.learned,
            n_taught=int((head_d >= 0).sum()),
            n_proving=outcome.labels,
        )

    def _of_all(self, outcome: Outcome, race: Race, place: Codes, answer_d: Codes) -> Outcome:
        """The outcome for all items, where the order holds the first of them only.

        How many items differ among the others is not known, so the draws are all items of the order after the sample:
        where the rules agree, neither is ahead, and that needs no label.
        """
        assert self.taught is not None
        asked = place[answer_d[place] != UNASKED]
        y_t = np.full(int(asked[-1]) + 1 - self.taught.positions if len(asked) else 0, 0.5)
        before, after = race.label_rd
        right_d = np.where(
            answer_d[place] >= 0, (1.0 + (after == answer_d[place]) - (before == answer_d[place])) / 2, np.nan
        )
        inside = place < self.taught.positions + len(y_t)
        y_t[place[inside] - self.taught.positions] = right_d[inside]
        n_rest, alpha = self.n_items - self.taught.positions, 1 - self.level
        share = n_rest / self.n_items
        low, high = (share * (2 * end - 1) for end in bounds(y_t, n_rest, BETTER * alpha, WORSE * alpha, BETS_F))
        known_t = y_t[np.isfinite(y_t)]
        value = Estimate(share * float(2 * known_t.mean() - 1) if len(known_t) else None, low, high)
        near = -self.tolerance <= low and high <= self.tolerance
        verdict: Verdict = "better" if low > 0 else "worse" if high < 0 else "same" if near else OPEN
        differ = round(len(place) * n_rest / max(self.size - self.taught.positions, 1))
        more = 0 if verdict != OPEN else max(outcome.more or 0, 10)
        return replace(
            outcome,
            verdict=verdict,
            decided=verdict != OPEN,
            value=value,
            n_items=self.n_items,
            n_differ=differ,
            more=more,
        )

    def _skipped_apart(self, answer_d: Codes) -> int:
        """Items that the expert skipped while teaching and on which the rules differ: either may be right."""
        assert self.taught is not None
        head = np.arange(self.taught.positions)
        apart = self.taught.label_d[head] != self.count_dk[head].argmax(axis=1)
        return int((apart & (answer_d[head] == SKIPPED)).sum())

    def _teaching_outcome(self, answer_d: Codes) -> Outcome:
        labels, skipped = n_answers(answer_d)
        known = np.flatnonzero(answer_d[: _head(answer_d)] >= 0)
        learned = self.learn(known, answer_d) if len(known) >= LEAST_LABELS else None
        goal = self.teaching if len(known) < self.teaching else MOST_TEACHING
        leads = learned is not None and learned.adopted
        return Outcome(
            kind=self.kind,
            verdict=OPEN,
            decided=not (answer_d == UNASKED).any(),
            value=Estimate(None, -1.0, 1.0, Missing.NO_DIFFERENCE_LABELLED),
            level=self.level,
            tolerance=self.tolerance,
            n_items=self.size,
            n_differ=0,
            labels=labels,
            skipped=skipped,
            more=min(max(goal - len(known), 0), int((answer_d == UNASKED).sum())),
            rules=(MAJORITY, LEARNED),
            leader=LEARNED if leads else self.baseline,
            learned=learned,
            n_taught=len(known),
            tied=int(self.tied_d.sum()),
        )


def _head(answer_d: Codes) -> int:
    """How many items at the head of the order are answered or skipped, without a gap."""
    unasked = np.flatnonzero(np.asarray(answer_d) == UNASKED)
    return int(unasked[0]) if len(unasked) else len(answer_d)
