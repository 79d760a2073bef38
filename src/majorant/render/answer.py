"""The answer in words: what to do, how certain it is, the evidence, and what would make it more certain.

`headline` is built by `_switch`, `_keep` or `_keep_for_now`; `evidence_line` by `_basis_text`, with a function for each
source of evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from majorant.ask.ask import usual_question
from majorant.decide import Action, Answer, Step
from majorant.defaults import MAJORITY, MEDIAN, ONE_STEP, WEIGHTED_VOTE
from majorant.evidence.evidence import Assumption, Certainty, Evidence, Source, Status
from majorant.evidence.gold_sample import LEAST_LABELS, Kind
from majorant.evidence.learn import LEARNED
from majorant.evidence.track_record import KNOWN_JUDGES, overstatement, panel_record
from majorant.render.assumptions import said_assumptions
from majorant.render.known import say_judges, say_stake
from majorant.render.notes import note_text
from majorant.render.words import (
    about_points,
    count,
    gain_with_range,
    one_decimal,
    percent_of,
    points_range,
    shown,
    whole_range,
)
from majorant.setting import Case
from majorant.votes import NoteKind

if TYPE_CHECKING:
    from majorant.evidence.learn import LearnedRule
    from majorant.results.result import Result


class AnswerText(NamedTuple):
    """The sentences of an answer, the same on every surface."""

    headline: str  # whether another rule is better than the user's own majority vote
    quality: str  # how good the labels are
    ties: str  # empty if no item is tied
    evidence: str
    next: str  # what to do now, without the command


def say_answer(result: Result) -> AnswerText:
    """All sentences of the answer."""
    return AnswerText(
        headline(result), quality_line(result), ties_line(result), evidence_line(result), next_line(result)
    )


def rule_name(rule: str, *, begins: bool = False) -> str:
    """A rule as a sentence names it, or begins with it.

    >>> rule_name("weighted-vote"), rule_name("majority", begins=True), rule_name("gpt-4o", begins=True)
    ('the weighted vote', 'Majority vote', 'gpt-4o')
    """
    names = {
        MAJORITY: "majority vote",
        WEIGHTED_VOTE: "the weighted vote",
        LEARNED: "the learned rule",
        ONE_STEP: "one step of Dawid-Skene",
        MEDIAN: "the median",
    }
    if rule not in names:
        return shown(rule)
    return names[rule][0].upper() + names[rule][1:] if begins else names[rule]


def headline(result: Result) -> str:
    """Whether another rule is better than majority vote, in one plain sentence."""
    answer = result.answer
    if answer.basis is not None and answer.basis.source is Source.EARNED and not answer.basis.earned:
        basis = answer.basis
        taught = f"These are the labels of a rule learned from your {count(basis.n_labels, 'label')}"
        is_open = f"whether they are better than majority vote is open ({_range(basis)})"
        return f"{taught}; {is_open}. {_labels_to_decide(answer)}".rstrip()
    if answer.action is Action.SWITCH and answer.rule == MEDIAN:
        return "The grade of each item is the median of its votes."
    if answer.action is Action.SWITCH:
        return f"Switch to {rule_name(answer.rule)}: {_switch(result)}"
    if answer.other == MAJORITY and result.setting.case in (Case.CHANCE, Case.ONE_CLASS):
        return f"Keep majority vote: {_no_rule(result)}"
    if answer.other == MAJORITY and answer.next.step is not Step.TEACH:
        return "Keep majority vote: no other rule can be learned from these votes."
    is_settled = answer.certainty is Certainty.SAME and answer.next.step is not Step.TEACH
    if is_settled or answer.certainty in (Certainty.PROVED, Certainty.SUPPORTED):
        return f"Keep majority vote: {_keep(result)}"
    return f"Keep majority vote for now: {_keep_for_now(result)}"


def _no_rule(result: Result) -> str:
    """Why no rule of the votes is better than majority vote."""
    if result.setting.case is Case.ONE_CLASS:
        return "each voter knows one class only, so models of the votes mistake silence for agreement."
    kappa = result.setting.kappa
    if kappa is not None and kappa.high is not None and kappa.high < 0.05:
        return "the votes agree no more often than chance, so they cannot tell good workers from bad."
    return "there are too few votes to tell whether they agree more often than by chance."


def _switch(result: Result) -> str:
    """Why to switch: how much better the other rule is, and how that is known."""
    answer, basis = result.answer, result.answer.basis
    if basis is None or basis.gain.value is None:
        return "it is what crowds like yours gained by."
    if answer.certainty is Certainty.PROVED:
        held_out = basis.other == LEARNED and result.settings.labelled is None  # a session has labels of both kinds
        fresh = " that it was not taught" if held_out else ""
        return f"{points_range(basis.gain)}, proved by {count(basis.n_labels, 'label')}{fresh}."
    if basis.source is Source.EARNED:
        _, low, high = basis.gain.ends
        gains = gain_with_range(basis.gain.value, low or 0.0, high or 0.0)
        return (
            f"learned from your {count(basis.n_labels, 'label')}, likely {gains}. {_labels_to_decide(answer)}".rstrip()
        )
    if basis.source is Source.LABELS:
        return f"it leads on {_right_of(basis)}. {_labels_to_decide(answer)}"
    return (
        f"likely {about_points(basis.gain.value)} better{_gain_by_ties(result)}. {_labels_to_decide(answer)}".rstrip()
    )


def _gain_by_ties(result: Result) -> str:
    """Which part of a forecast gain comes from ties; empty if it is not worth a word."""
    found = result.forecast
    if found is None or not found.ties.value or not found.total.value:
        return ""
    share = found.ties.value / found.total.value
    tied, overturned = result.written_differ.tied, result.written_differ.disagree
    if share < 0.1:
        return ""
    if not overturned:
        return f", all by deciding {count(tied, 'tie')}"
    return f", {one_decimal(found.ties.value)} of it by deciding {count(tied, 'tie')}"


def _range(basis: Evidence) -> str:
    return whole_range(basis.gain.low or 0.0, basis.gain.high or 0.0)


def _right_of(basis: Evidence) -> str:
    right, total = round(basis.wins), round(basis.wins + basis.losses)
    return f"{right} of the {count(total, 'label')} that tell the two apart"


def _labels_to_decide(answer: Answer) -> str:
    """How many labels would make the answer more certain; empty if none would."""
    if answer.next.step is Step.PROVE:
        more = "more label" if answer.basis is not None and answer.basis.n_labels else "label"
        labels = count(answer.next.labels, more)
        if answer.next.labels >= answer.next.most:
            return f"{labels} would settle it."
        return f"{labels} would prove it if the guess is right, {answer.next.most:,} at most."
    if answer.next.step is Step.GO_ON and not answer.next.items:
        return f"{count(answer.next.labels, 'more label')} are enough to learn a rule."
    if answer.next.step is Step.GO_ON:
        return f"About {count(answer.next.labels, 'more label')} would decide."
    if answer.next.step is Step.TEACH and answer.n_labels:
        return f"{answer.next.most} more may find a better rule."
    if answer.next.step is Step.TEACH:
        return f"{count(answer.next.most, 'label')} would tell you more."
    return ""


def _keep(result: Result) -> str:
    """Why to keep majority vote, if that is proved or supported."""
    basis, other = result.answer.basis, rule_name(result.answer.other)
    if basis is None:
        return ""
    if basis.source is Source.IDENTICAL:
        if not result.differ.differ:
            return f"{other} gives the same labels."
        return f"{other} would change only {percent_of(result.differ.differ, result.differ.items)} of the labels."
    if basis.source is Source.LABELS:
        high = basis.gain.high or 0.0
        gains = f"{other} gains at most {one_decimal(high)} points" if high > 0 else f"{other} is no better"
        return f"{gains}, proved by {count(basis.n_labels, 'label')}."
    items = count(result.differ.items, "item")
    return f"no rule can beat it if workers err independently, and {items} show no sign against that."


def _keep_for_now(result: Result) -> str:
    """Why nothing better than majority vote is known yet: the first reason that applies."""
    answer, basis, setting = result.answer, result.answer.basis, result.setting
    decide = _labels_to_decide(answer)
    if basis is not None and basis.source is Source.LABELS:
        total = round(basis.wins + basis.losses)
        right = f"right on only {round(basis.wins)} of the {total} labels that tell the two apart"
        return f"{rule_name(basis.other)} is {right}. {decide}"
    if answer.other == MAJORITY:
        return f"two votes per item cannot show who is right where they differ. {decide}"
    if setting.panel and answer.n_labels and not (answer.next.step is Step.GO_ON and answer.n_labels < LEAST_LABELS):
        return _no_better_rule(answer)
    if setting.panel:
        return f"judges may share mistakes, and votes cannot show that. {decide}"
    if setting.thin:
        return f"with {setting.votes_per_worker:.0f} votes per worker, no rule can tell good workers from bad. {decide}"
    return f"nothing shows that {rule_name(answer.other)} is better. {decide}"


def _no_better_rule(answer: Answer) -> str:
    if answer.n_labels < LEAST_LABELS:
        return f"{count(answer.n_labels, 'label')} cannot teach a better rule; {answer.next.most} could."
    point = f"your {answer.n_labels:,} labels point to no better rule"
    return f"{point} yet; {answer.next.most} more may." if answer.next.labels else f"{point}."


def evidence_line(result: Result) -> str:
    """What the answer is based on, and how the labels were interpreted."""
    notes = [
        note_text(note)
        for note in result.votes.account.notes
        if note.kind in (NoteKind.THRESHOLD, NoteKind.ORDER, NoteKind.SEVERAL)
    ]
    return " ".join([_basis_text(result).strip(), *notes, *gold_sample_lines(result)])


def gold_sample_lines(result: Result) -> list[str]:
    """Why gold labels teach and prove nothing, if they do not."""
    sample = result.gold_sample
    if sample is None or sample.decides:
        return []
    if sample.all_wrong:
        return [
            f"Majority vote is wrong on all {count(sample.n_labels, 'label')}. Is this a list of its errors? If so, it "
            "teaches and proves nothing: label a random sample."
        ]
    if sample.one_label:
        return [
            f"All {count(sample.n_labels, 'label')} are the same, and majority vote often disagrees. Was a column "
            "filled in by accident? If so, they teach and prove nothing; if not, let somebody check a few of them."
        ]
    if sample.is_random:
        return [f"{count(sample.n_labels, 'label')} prove nothing yet: it takes at least {LEAST_LABELS}."]
    assert sample.worst is not None
    of_kind = sample.counts[sample.worst]
    labelled, items = percent_of(of_kind.labelled, sample.n_labels), percent_of(of_kind.items, sample.n_items)
    what = {Kind.SPLIT: "disputed", Kind.TIED: "tied", Kind.OVERTURNED: "items on which the rules differ"}[sample.worst]
    return [
        f"Your labelled items are not a random sample: {labelled} of them are {what}, {items} of all items are. "
        "So they teach and prove nothing."
    ]


def _basis_text(result: Result) -> str:
    """On how many items the two rules differ, and the evidence about them."""
    answer, basis, other = result.answer, result.answer.basis, rule_name(result.answer.other, begins=True)
    if answer.other == MAJORITY:
        return "It takes two classes, and items with three votes, to tell good workers from bad."
    differ = (
        f"{other} and majority vote disagree on {result.differ.disagree:,} of {count(result.differ.items, 'item')}."
    )
    if result.gold is not None and (basis is None or answer.certainty is Certainty.UNKNOWN):
        return f"{differ} Majority vote is right on {100 * result.gold.value:.0f}% of your labels."
    if basis is None:
        return f"{differ} {_no_guess(result)}"
    if basis.source is Source.IDENTICAL:
        return f"{differ} That says nothing about how accurate they are.{_doubts(basis)}"
    if basis.source is Source.CERTIFICATE:
        return f"{differ} The assumptions behind this were tested and passed: see majorant certify."
    if basis.other == LEARNED and result.learned is not None:
        proof = "The gain lies in the range for about 8 of 10 such files. "
        if basis.source is Source.LABELS:
            proof = f"{_by_labels(basis, other)} "
        return f"{differ} {proof}{_by_learning(result.learned)}{_doubts(basis)}"
    if basis.source is Source.LABELS:
        return f"{differ} {_by_labels(basis, other)}{_doubts(basis)}"
    if result.setting.case is Case.KNOWN_JUDGES:
        return f"{differ} {judges_line(result)}"
    return f"{differ} {_by_record(basis)}"


def judges_line(result: Result) -> str:
    """Who the judges are, how much they count, and what the best-rated one would change; empty if none is known."""
    if result.setting.judges is None:
        return ""
    record = KNOWN_JUDGES if result.setting.case is Case.KNOWN_JUDGES else None
    stake = say_stake(result.stake) if record is not None and not result.answer.n_labels else ""
    return f"{say_judges(result.setting.judges, record=record)} {stake}".strip()


def _by_labels(basis: Evidence, other: str) -> str:
    """What labels say about two rules, and how far that can be trusted."""
    total = round(basis.wins + basis.losses)
    if not basis.n_used:
        return f"None of the {count(basis.n_labels, 'label')} is on an item where the two disagree."
    won = (
        f"{round(basis.wins)} of the {total} labels that tell them apart" if total else "no label that tells them apart"
    )
    if basis.gain.low is None:
        sure = "Each label was predicted from the others (cross-validation)."
    elif basis.gain.low == basis.gain.high:
        sure = "Every item on which they disagree has a label, so this is exact."
    else:
        sure = f"The range holds at {100 * basis.level:g}%, even if you stop early."
    return f"{other} is right on {won}: {points_range(basis.gain)}. {sure}"


def _by_learning(learned: LearnedRule) -> str:
    """The largest weights of the learned rule."""
    largest = sorted(learned.weights.items(), key=lambda pair: -abs(pair[1]))[:3]
    listed = ", ".join(f"{worker} {weight:+.1f}" for worker, weight in largest)
    return f"Weights that differ most from one vote: {listed}."


def _by_record(basis: Evidence) -> str:
    """What the other rule gained on similar public data sets."""
    record, gain = basis.record, basis.gain
    if record is None or gain.low is None or gain.high is None:
        return ""
    return (
        f"Best guess {points_range(gain)}: on {record.sets} public crowds like yours the weighted vote was better on "
        f"{record.better} and worse on {record.worse}, {one_decimal(record.mean_gain)} points better on average "
        f"(worst {one_decimal(record.worst_gain)})."
    )


def _no_guess(result: Result) -> str:
    """Why there is no evidence at all."""
    record = panel_record()
    if result.setting.case is not Case.PANEL or not record.sets:
        return ""
    better = f"it was better by half a point on {record.better} and worse on {record.worse}"
    mean = f"{'+' if record.mean_gain > 0 else ''}{one_decimal(record.mean_gain)} points on average"
    return f"On {record.sets} public panels and thin crowds {better}: {mean}, worst {one_decimal(record.worst_gain)}."


def _doubts(basis: Evidence) -> str:
    """Assumptions that failed or could not be tested."""
    parts = []
    if any(one.assumption is Assumption.NO_COPIES for one in basis.with_status(Status.FAILED)):
        parts.append(" Some repeat others.")
    if failed := [one for one in basis.with_status(Status.FAILED) if one.assumption is not Assumption.NO_COPIES]:
        parts.append(f" Tests reject that {said_assumptions(failed)}.")
    if unknown := basis.with_status(Status.UNTESTABLE):
        parts.append(f" Votes alone cannot show that {said_assumptions(unknown)}.")
    if basis.source is Source.LABELS and any(
        tested.assumption is Assumption.RANDOM_LABELS and tested.status is Status.UNTESTED
        for tested in basis.assumptions
    ):
        parts.append(" This assumes that the labelled items are a random sample.")
    return "".join(parts)


def quality_line(result: Result) -> str:
    """How good the labels are: measured on gold labels, or expected, with what happened on public data sets."""
    found = result.written_gold
    if found is not None:
        right = f"Right on {100 * found.value:.0f}% of {count(found.n_items, 'gold item')}"
        if result.answer.rule == LEARNED and result.learned is not None:
            right = f"Right on {100 * result.learned.accuracy:.0f}% of the labels that the rule was not taught"
            return f"{right} (cross-validation)."
        between = "" if found.low == found.high else f" ({100 * found.low:.0f} to {100 * found.high:.0f}% of all items)"
        return f"{right}{between}."
    expected = result.expected_accuracy
    if expected is None:
        return ""
    return f"About {100 * expected:.0f}% right. {accuracy_warning(result.setting.panel)}"


def ties_line(result: Result) -> str:
    """How many items are tied, what decided them, and what would."""
    if not result.tied:
        return ""
    items = int(result.counts.patterns.items_p[result.counts.patterns.votes_p > 0].sum())
    tied = f"{result.tied:,} of {count(items, 'item')} {'is' if result.tied == 1 else 'are'} tied"
    more = "One more vote on each would settle most." if result.tied > 1 else "One more vote would settle it."
    return f"{tied}: the votes do not decide. {_decided_by(result)} {more}"


def _decided_by(result: Result) -> str:
    rule = result.tie_breaker if result.rule == MAJORITY else result.rule
    left = result.undecided
    coin = "a coin fixed by the item's name"
    if rule is None or left == result.tied:
        return f"Their labels come from {coin}."
    rest = f", and from {coin} on {left:,}" if left else ""
    return f"Their labels come from {rule_name(rule)}{rest}."


def next_line(result: Result) -> str:
    """What to do now."""
    step = result.answer.next
    if step.step is Step.NOTHING:
        return "Use the labels."
    if step.step is Step.TEACH:
        if step.labels == step.items:
            return f"Label all {count(step.items, 'item')}: there are too few to leave any out."
        more = " more" if result.answer.n_labels else ""
        later = f", then five at a time: about {step.most} teach a better rule" if step.most > step.labels else ""
        return f"Label {step.labels}{more} items on which the votes differ{later}."
    if step.step is Step.GO_ON and step.waiting:
        return f"Label the {count(step.waiting, 'item')} that {'has' if step.waiting == 1 else 'have'} no label yet."
    if step.step is Step.GO_ON:
        return f"Label about {step.labels} more items."
    some = (
        f"{step.labels} of the {step.items:,} items" if step.labels < step.items else f"the {count(step.items, 'item')}"
    )
    return f"Label {some} on which the two rules disagree."


def accuracy_warning(panel: bool) -> str:
    """How far accuracies estimated without gold were off on public data sets."""
    n_sets, excess = overstatement(panel)
    if not n_sets or excess.low is None or excess.high is None:
        return "Estimated from the votes alone."
    low, high = round(100 * excess.low), round(100 * excess.high)
    off = f"{max(low, 0)} to {high} points lower" if low >= 0 else f"between {-low} points higher and {high} lower"
    return f"Estimated from the votes; on {n_sets} public {'panels' if panel else 'crowds'} the truth was {off}."


def python_command(result: Result) -> str:
    """The call that takes the next step, for a notebook; empty if there is none."""
    step = result.answer.next
    if step.step in (Step.NOTHING, Step.GO_ON):
        return ""
    source = result.votes.account.source
    votes = "df" if "DataFrame" in source else "votes" if "(" in source or " " in source else repr(source)
    named = "" if step.question == usual_question(result.votes, result.setting) else f"question={step.question!r}, "
    if step.between and (step.between != (MAJORITY, WEIGHTED_VOTE) or named):
        named = f"between={step.between!r}, "
    if step.step is Step.TEACH:  # `ask` draws the first ten
        return f"mj.ask({votes}{', ' if named else ''}{named.removesuffix(', ')})"
    return f"mj.ask({votes}, {named}n={step.labels})"
