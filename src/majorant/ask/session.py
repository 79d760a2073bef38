"""A labelling session in two stages: a rule is learned from some labels, then proved on other items.

The items that teach are drawn in one of two ways.  "teach" draws ten and then five at a time, each with a recorded
chance, where labels change most (`teach`).  "random" takes the first items of a random order: their labels also measure
every rule and every judge.  A rule is learned from these labels (`learn`) and frozen, and the session continues in the
random order with the items on which it differs from majority vote; `race` evaluates these labels.  Given the labels
that taught it, the rule is fixed and the other items are in random order, so the proof is valid at any time, however
the rule was learned and whenever learning stopped.  It says what the rule gains on the items that did not teach it, and
leaves out items with tied votes.

The design stores everything needed: the votes on its items, and the posterior of the weighted vote.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from majorant.ask.question import OPEN, SKIPPED, UNASKED, Codes, Outcome, Verdict, n_answers
from majorant.ask.race import Race, labels_to_decide
from majorant.ask.teach import NEXT_DRAW, Drawn, draw_to_teach, nothing_drawn, sizes_of_rule, sizes_of_votes
from majorant.defaults import LEVEL, MAJORITY, TOLERANCE, WEIGHTED_VOTE
from majorant.evidence.betting import SHARES_F, bounds
from majorant.evidence.drawn import Chances, Measured, accuracy_from_draws, width_at_random
from majorant.evidence.earn import expected_change
from majorant.evidence.gold_sample import LEAST_LABELS
from majorant.evidence.learn import LEARNED, Features, LearnedRule, learn_from_features
from majorant.kernels import row_maxima, shares
from majorant.methods.fit import TIE_TOLERANCE, chances
from majorant.values import Estimate, FloatArray, Missing, lock

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TEACHING = 30  # labels that teach
MOST_JUDGES = 50  # judges whose accuracy is measured by labels drawn to teach
MOST_TEACHING = 40  # the same in a random sample, if the first labels have not earned a claim
# Shares of the allowed error for the claims "the learned rule is better" and "it is worse".  Claims about other rules
# from the random sample use the rest.
BETTER, WORSE = 0.9, 0.05
# Bets on a lead of about .4: typical of learned rules on public panels, on the items where they and majority differ.
BETS_F: FloatArray = np.exp(-0.5 * ((SHARES_F - 0.4) / 0.2) ** 2)
BETS_F /= BETS_F.sum()


def expected_lead(learned: LearnedRule, differ: int, n_items: int) -> float:
    """The lead used for planning: the mean over items on which the learned rule differs from majority vote.

    The lead on 30 held-out labels is mostly noise, so it is shrunk towards .5, which is typical of rules that are
    written, with the weight of 20 labels.  Even so, plans for public and simulated panels are off by a factor of about
    1.8.
    """
    labels = learned.n_labels * differ / max(n_items, 1)
    return float(np.clip((learned.from_majority.gained + 0.5 * 20) / (labels + 20), -1.0, 1.0))


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

    positions: int  # length of the random sample at the start of the order
    rule: str  # the rule to prove
    learned: LearnedRule
    label_d: Codes  # the label that this rule gives each item
    n_drawn: int = 0  # number of items drawn to teach it

    def __post_init__(self) -> None:
        lock(self)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Session:
    """Items in random order: a rule is learned from the labels of some and proved on others."""

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
    draw: str = "random"  # how the items that teach are drawn: "teach" or "random"
    seed: int = 0
    prior_j: FloatArray = field(default_factory=lambda: np.empty(0))  # prior weights of known judges; zeros or empty
    drawn: Drawn = field(default_factory=nothing_drawn)  # the items drawn to teach, first to last
    taught: LearnedStage | None = None

    def __post_init__(self) -> None:
        lock(self)

    @property
    def size(self) -> int:
        """Number of items in the order."""
        return len(self.offset_d) - 1

    @property
    def teaching(self) -> int:
        """Number of labels that teach; if there are few items, some must be left for the proof."""
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
        return self.taught is not None and not self.taught.learned.written and self.contest()[0].expected() == 0

    @property
    def base_dk(self) -> FloatArray:
        """Probabilities by the rule that is used without labels."""
        return self.weighted_dk if self.baseline == WEIGHTED_VOTE else shares(self.count_dk)

    @property
    def teaches_d(self) -> NDArray[np.bool_]:
        """Whether an item was drawn to teach the frozen rule."""
        assert self.taught is not None
        teaches_d = np.arange(self.size) < self.taught.positions
        teaches_d[self.drawn.place_t[: self.taught.n_drawn]] = True
        return teaches_d

    @property
    def is_drawing(self) -> bool:
        """Whether the next items are drawn to teach."""
        return self.draw == "teach" and self.taught is None

    def known(self, answer_d: Codes) -> Codes:
        """Places of the items whose labels teach, in the order in which they were drawn."""
        place_t = self.drawn.place_t if self.draw == "teach" else np.arange(_head(answer_d))
        return np.asarray(place_t[answer_d[place_t] >= 0], dtype=np.int64)

    def draw_next(self, answer_d: Codes, n: int) -> Session:
        """Draw up to n further items to teach, with the help of the labels so far."""
        later = draw_to_teach(self._sizes(answer_d), self.drawn.place_t, n, self.seed)
        return replace(self, drawn=self.drawn.then(later))

    @property
    def has_prior(self) -> bool:
        """Whether the judges are known, so that their weights have a prior."""
        return bool(np.any(self.prior_j))

    def _rated_shares(self) -> FloatArray:
        """Vote shares in which each judge counts as much as the prior says."""
        n_classes = self.weighted_dk.shape[1]
        item_n = np.repeat(np.arange(self.size), np.diff(self.offset_d))
        prior_n = self.prior_j[self.worker_n].astype(float)
        cells = np.bincount(item_n * n_classes + self.label_n, prior_n, minlength=self.size * n_classes)
        return shares(np.asarray(cells.reshape(self.size, n_classes), dtype=float))

    def _sizes(self, answer_d: Codes) -> FloatArray:
        known, share_dk = np.sort(self.known(answer_d)), shares(self.count_dk)
        if len(known) < LEAST_LABELS:
            return sizes_of_votes(self._rated_shares() if self.has_prior else share_dk)
        features = self.features()
        weights = features.regression(known, answer_d[known], self.prior_j if self.has_prior else None).fit()
        return sizes_of_rule(features.predict(weights), share_dk)

    def advance(self, answer_d: Codes) -> Session:
        """Return this session, or its second stage once a rule can be learned.

        When learning stops depends only on labels that teach, so proofs from other labels remain valid.
        """
        known = self.known(answer_d)
        if self.draw == "teach":
            waiting = (answer_d[self.drawn.place_t] == UNASKED).any()
            if self.taught is not None or waiting or len(known) < max(self.teaching, LEAST_LABELS):
                return self
            learned = self.learn(known, answer_d)
            return replace(self, taught=self.freeze(learned)) if learned.earned else self
        most = max(min(MOST_TEACHING, self.size // 2), self.teaching)
        already = 0 if self.taught is None else int((known < self.taught.positions).sum())
        session = self
        for enough in (self.teaching, most, *range(most + 20, len(known) + 1, 20)):
            if (session.taught is not None and not session.is_idle) or len(known) < max(enough, LEAST_LABELS):
                return session
            if enough > already:
                learned = session.learn(known[:enough], answer_d)
                if learned.earned or enough >= most:
                    session = replace(session, taught=session.freeze(learned, int(known[enough - 1]) + 1))
        return session

    def learn(self, known: Codes, answer_d: Codes) -> LearnedRule:
        """Learn a rule from the labels at these places, and judge it by what it changes on all items."""
        known = np.sort(known)
        base_dk, share_dk, features = self.base_dk, shares(self.count_dk), self.features()
        learned = learn_from_features(
            features.take(known),
            known.tolist(),  # the order is random: its positions serve as names
            answer_d[known],
            base_dk[known],
            share_nk=share_dk[known],
            workers=self.workers,
            baseline=self.baseline,
            prior_j=self.prior_j if self.has_prior else None,
        )
        return self.judge(learned)

    def judge(self, learned: LearnedRule) -> LearnedRule:
        """A learned rule with the gain to expect from what it changes on the items of the order."""
        average_dk = learned.posterior(self.features(), self.workers, self.base_dk)
        return learned.judged(
            expected_change(shares(self.count_dk), average_dk),
            expected_change(self.base_dk, average_dk),
            must_earn=not self.has_prior,
        )

    def freeze(self, learned: LearnedRule, positions: int = 0) -> LearnedStage:
        """Freeze the learned rule, or the baseline if that is better and is not majority vote itself."""
        posterior_dk = learned.posterior(self.features(), self.workers, self.base_dk)
        rule = LEARNED
        if not learned.written and self.baseline != MAJORITY:
            rule, posterior_dk = self.baseline, self.weighted_dk
        label_d = untied_labels(posterior_dk, self.count_dk.argmax(axis=1))
        return LearnedStage(
            positions=positions, rule=rule, learned=learned, label_d=label_d, n_drawn=len(self.drawn.place_t)
        )

    def contest(self) -> tuple[Race, Codes]:
        """The race between majority vote and the rule to prove, and the positions of its items."""
        assert self.taught is not None
        plurality_d, tied_d = self.count_dk.argmax(axis=1), self.tied_d
        differs_d = (self.taught.label_d != plurality_d) & ~tied_d
        place = np.flatnonzero(differs_d & ~self.teaches_d)
        lead = expected_lead(self.taught.learned, len(place), int((~self.teaches_d).sum()))
        race = Race(
            rules=(MAJORITY, self.taught.rule),
            label_rd=np.array([plurality_d[place], self.taught.label_d[place]]),
            differ_qr=np.array([[0, len(place)], [len(place), 0]]),
            n_items=self.size,
            tied=int(tied_d.sum()),
            favourite=int(self.taught.learned.written or self.taught.rule != LEARNED),
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
            measured=self.measure(answer_d),
            n_taught=int((answer_d[self.teaches_d] >= 0).sum()),
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
        """Number of skipped items that taught the rule and on which the rules differ: either rule may be right."""
        assert self.taught is not None
        differs_d = self.taught.label_d != self.count_dk.argmax(axis=1)
        return int((differs_d & self.teaches_d & (answer_d == SKIPPED)).sum())

    def _recent_changes(self, known: Codes, answer_d: Codes, learned: LearnedRule | None) -> tuple[int, int]:
        """Number of the last labels, and of labels of the rule that they changed; zeros if that is too early to say."""
        n_recent = 2 * NEXT_DRAW if len(known) >= LEAST_LABELS + 2 * NEXT_DRAW else NEXT_DRAW
        if learned is None or self.draw != "teach" or len(known) < LEAST_LABELS + n_recent:
            return 0, 0
        before = self.learn(known[:-n_recent], answer_d)
        features, base_dk = self.features(), self.base_dk
        now_dk, then_dk = (rule.posterior(features, self.workers, base_dk) for rule in (learned, before))
        return n_recent, int(np.count_nonzero(now_dk.argmax(axis=1) != then_dk.argmax(axis=1)))

    def measure(self, answer_d: Codes) -> tuple[Measured, ...]:
        """The accuracy of majority vote and of each judge who labels all items, from labels drawn to teach."""
        place_t = self.drawn.place_t
        answered = np.flatnonzero(answer_d[place_t] >= 0)
        if self.draw != "teach" or len(answered) < LEAST_LABELS:
            return ()
        until = int(answered[-1]) + 1
        place_t, truth_t = place_t[:until], answer_d[place_t[:until]]
        chances_t = Chances(self.drawn.chance_t[:until], self.drawn.least_t[:until])
        share_dk = shares(self.count_dk)
        item_n = np.repeat(np.arange(self.size), np.diff(self.offset_d))
        by_rule = {MAJORITY: chances(share_dk)}
        if len(self.workers) <= MOST_JUDGES:
            for j, worker in enumerate(self.workers):
                mine = self.worker_n == j
                if mine.sum() == self.size == len(np.unique(item_n[mine])):
                    by_rule[str(worker)] = np.eye(share_dk.shape[1])[self.label_n[mine]]
        measured = []
        for name, label_dk in by_rule.items():
            right_t = np.where(truth_t >= 0, label_dk[place_t, np.maximum(truth_t, 0)], np.nan)
            expected_d = (label_dk * share_dk).sum(axis=1)  # the share of the votes that agree
            accuracy = accuracy_from_draws(
                right_t, expected_d[place_t], float(expected_d.mean()), chances_t, self.size, level=self.level
            )
            measured.append(Measured(name, accuracy, width_at_random(accuracy.value, until, self.size, self.level)))
        return tuple(measured)

    def _teaching_outcome(self, answer_d: Codes) -> Outcome:
        labels, skipped = n_answers(answer_d)
        known = self.known(answer_d)
        learned = self.learn(known, answer_d) if len(known) >= LEAST_LABELS else None
        goal = self.teaching if len(known) < self.teaching else MOST_TEACHING
        if self.draw == "teach" and len(known) >= self.teaching:
            goal = len(known) + NEXT_DRAW
        leads = learned is not None and learned.written
        n_recent, n_changed = self._recent_changes(known, answer_d, learned)
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
            n_recent=n_recent,
            n_changed=n_changed,
            measured=self.measure(answer_d),
            tied=int(self.tied_d.sum()),
        )


def _head(answer_d: Codes) -> int:
    """Number of items at the start of the order that are all answered or skipped."""
    unasked = np.flatnonzero(np.asarray(answer_d) == UNASKED)
    return int(unasked[0]) if len(unasked) else len(answer_d)
