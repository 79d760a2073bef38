"""A labelling session in two stages: a rule is learned from a random sample, then proved on other items.

All items are put in one random order.  The first items are a random sample: their labels measure every rule and every
judge, and a rule is learned from them (`learn`).  Then the rule is frozen, and the session continues in the same order
with the items on which the rule differs from majority vote; `race` evaluates these labels.  Given the sample, the rule
is fixed and the other items are in random order, so the proof is valid at any time, however the rule was learned and
whenever learning stopped.  The proof leaves out items with tied votes.

The design stores everything needed: the votes on its items, and the posterior of the weighted vote.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from majorant.ask.betting import SHARES_F, bounds
from majorant.ask.learn import LEARNED, LEAST_LABELS, Features, LearnedRule, learn_from_features
from majorant.ask.question import OPEN, SKIPPED, UNASKED, Codes, Outcome, Verdict, n_answers
from majorant.ask.race import Race, labels_to_decide
from majorant.defaults import LEVEL, MAJORITY, TOLERANCE, WEIGHTED_VOTE
from majorant.kernels import row_maxima, shares
from majorant.methods.fit import TIE_TOLERANCE
from majorant.values import Estimate, FloatArray, Missing, lock

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TEACHING = 30  # labels in the random sample
MOST_TEACHING = 40  # the same, if the first labels gave no better rule than the one used without labels
# Shares of the allowed error for the claims "the learned rule is better" and "it is worse".  Claims about other rules
# from the random sample use the rest.
BETTER, WORSE = 0.9, 0.05
# Bets on a lead of about .4: typical of learned rules on public panels, on the items where they and majority differ.
BETS_F: FloatArray = np.exp(-0.5 * ((SHARES_F - 0.4) / 0.2) ** 2)
BETS_F /= BETS_F.sum()


def expected_lead(learned: LearnedRule, differ: int, n_items: int) -> float:
    """The lead used for planning: the mean over items on which the learned rule differs from majority vote.

    The cross-validated lead of 30 labels is mostly noise, so it is shrunk towards .5, which is typical of adopted
    rules, with the weight of 20 labels.  Even so, plans for public and simulated panels are off by a factor of about
    1.8.
    """
    labels = learned.n_labels * differ / max(n_items, 1)
    return float(np.clip((learned.lead * learned.n_labels + 0.5 * 20) / (labels + 20), -1.0, 1.0))


def plan_proof(learned: LearnedRule, differ: int, n_items: int, tolerance: float) -> int:
    """Approximate number of labels needed to prove the learned rule better than majority vote."""
    if not differ:
        return 0
    return labels_to_decide(expected_lead(learned, differ, n_items), 1.0, differ, tolerance * n_items / differ)


def untied_labels(posterior_ik: FloatArray, plurality_i: Codes) -> Codes:
    """The most probable class of each item; if several are tied, the plurality class if it is among them."""
    rows = np.arange(len(plurality_i))
    best_i = posterior_ik[rows, plurality_i] >= row_maxima(posterior_ik) - TIE_TOLERANCE
    return np.where(best_i, plurality_i, posterior_ik.argmax(axis=1)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LearnedStage:
    """Result of the first stage of a session: a frozen rule, and how many items it was learned from."""

    positions: int  # length of the sample at the start of the order
    rule: str  # the rule to prove
    learned: LearnedRule
    label_d: Codes  # the label that this rule gives each item

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
    n_items: int  # number of items with votes; the order may be truncated
    tolerance: float = TOLERANCE
    level: float = LEVEL
    taught: LearnedStage | None = None

    def __post_init__(self) -> None:
        lock(self)

    @property
    def size(self) -> int:
        """Number of items in the order."""
        return len(self.offset_d) - 1

    @property
    def teaching(self) -> int:
        """Size of the random sample; if there are few items, some must be left for the proof."""
        return max(min(TEACHING, self.size // 2), min(LEAST_LABELS, self.size))

    @property
    def count_dk(self) -> FloatArray:
        """Number of votes for each class of each item."""
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
        """Features of the items for the learned rule."""
        from scipy.sparse import csr_array

        n_classes = self.weighted_dk.shape[1]
        item_n = np.repeat(np.arange(self.size), np.diff(self.offset_d))
        shape = (self.size * n_classes, len(self.workers))
        ones_n = np.ones(len(self.worker_n))
        votes_rj: csr_array[Any] = csr_array((ones_n, (item_n * n_classes + self.label_n, self.worker_n)), shape=shape)
        return Features.from_shares(self.weighted_dk, shares(self.count_dk), votes_rj)

    def expected(self) -> int | None:
        """Approximate number of labels for the proof; unknown until a rule is learned."""
        return None if self.taught is None else self.contest()[0].expected()

    @property
    def is_idle(self) -> bool:
        """Whether no better or sufficiently different rule was learned, so that a larger sample may help."""
        return self.taught is not None and not self.taught.learned.adopted and self.contest()[0].expected() == 0

    def advance(self, answer_d: Codes) -> Session:
        """Return this session, or its second stage once a rule can be learned from the sample.

        When learning stops depends only on labels in the sample, so proofs from other labels remain valid.
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
        """Learn a rule from the labels at these positions."""
        before_nk = (self.weighted_dk if self.baseline == WEIGHTED_VOTE else shares(self.count_dk))[known]
        truth_n, names = answer_d[known], known.tolist()  # the order is random: its positions serve as names
        return learn_from_features(
            self.features().take(known), names, truth_n, before_nk, workers=self.workers, baseline=self.baseline
        )

    def freeze(self, learned: LearnedRule, positions: int) -> LearnedStage:
        """Freeze the learned rule, or the baseline if that is better and is not majority vote itself."""
        posterior_dk = self.features().predict(learned.weights_for(self.workers))
        rule = LEARNED
        if not learned.adopted and self.baseline != MAJORITY:
            rule, posterior_dk = self.baseline, self.weighted_dk
        label_d = untied_labels(posterior_dk, self.count_dk.argmax(axis=1))
        return LearnedStage(positions=positions, rule=rule, learned=learned, label_d=label_d)

    def contest(self) -> tuple[Race, Codes]:
        """The race between majority vote and the rule to prove, and the positions of its items."""
        assert self.taught is not None
        plurality_d, tied_d = self.count_dk.argmax(axis=1), self.tied_d
        differs_d = (self.taught.label_d != plurality_d) & ~tied_d
        place = np.flatnonzero(differs_d & (np.arange(self.size) >= self.taught.positions))
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
        """Unlabelled items in random order while learning, then those on which the two rules differ."""
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
        """Outcome of the second stage, including the result of the first."""
        assert self.taught is not None
        outcome = race.evaluate(answer_d[place])
        labels, skipped = n_answers(answer_d)
        head_d = answer_d[: self.taught.positions]
        if self.n_items > self.size:
            outcome = self._extend_to_all_items(outcome, race, place, answer_d)
        doubt = self._count_skipped_where_rules_differ(answer_d) / self.n_items
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

    def _extend_to_all_items(self, outcome: Outcome, race: Race, place: Codes, answer_d: Codes) -> Outcome:
        """Outcome for all items if the order was truncated.

        The number of other items on which the rules differ is unknown.  So every item after the sample is a draw; where
        the rules agree, the draw is a tie and needs no label.
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

    def _count_skipped_where_rules_differ(self, answer_d: Codes) -> int:
        """Number of skipped items in the sample on which the rules differ: either rule may be right."""
        assert self.taught is not None
        head = np.arange(self.taught.positions)
        differs = self.taught.label_d[head] != self.count_dk[head].argmax(axis=1)
        return int((differs & (answer_d[head] == SKIPPED)).sum())

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
    """Number of items at the start of the order that are all answered or skipped."""
    unasked = np.flatnonzero(np.asarray(answer_d) == UNASKED)
    return int(unasked[0]) if len(unasked) else len(answer_d)
