"""The text that `ask` and `label` print: the question, what the labels prove, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from majorant.ask.question import Outcome
from majorant.evidence.learn import LearnedRule
from majorant.render.answer import rule_name
from majorant.render.words import (
    count,
    gain_with_range,
    listed,
    one_decimal,
    one_of,
    percent_of,
    points_range,
    signed_points,
    whole_range,
)

ACCURACY_COSTS = "Measuring accuracy to 3 points takes hundreds of labels; comparing two rules takes tens."


def at_stake(rules: Sequence[str], differ: int, n_items: int, tolerance: float) -> str:
    """How much the choice of rule can matter: only items on which the rules disagree count.

    >>> at_stake(["majority", "weighted-vote"], 72, 800, .01)
    'Majority vote and the weighted vote differ on 72 of 800 items, so at most 9.0 points are at stake.'
    >>> at_stake(["majority", "gpt-4o"], 5, 500, .01)
    'Majority vote and gpt-4o differ on 5 of 500 items (1.0%): whichever you use, accuracy changes by at most that.'
    """
    names = one_of([rule_name(rules[0], begins=True), *(rule_name(rule) for rule in rules[1:])])
    if not differ:
        return f"{names} give all {count(n_items, 'item')} the same labels."
    share = f"{names} differ on {differ:,} of {count(n_items, 'item')}"
    if len(rules) > 2:
        return f"{share}; elsewhere the choice makes no difference."
    if differ <= tolerance * n_items:
        return f"{share} ({percent_of(differ, n_items)}): whichever you use, accuracy changes by at most that."
    return f"{share}, so at most {one_decimal(differ / n_items)} points are at stake."


def labels_planned(expected: int | None, asked: int) -> str:
    """How many labels it will probably take.

    >>> labels_planned(18, 25), labels_planned(40, 25)
    ('About 18 labels should settle it.', 'About 40 labels should settle it; these 25 come first.')
    """
    if expected is None:
        return "These will show how many more are needed."
    if expected == 0:
        return "No labels are needed."
    first = "" if asked >= expected else f"; these {asked:,} come first"
    return f"About {count(expected, 'label')} should settle it{first}."


def labelling_help(labels: Sequence[Any]) -> str:
    """How to fill in the empty column."""
    return (
        "Fill in the label column from the top without looking at the votes "
        f"({listed(map(str, labels))}; ? if you cannot tell). You can stop at any time."
    )


def outcome_sentence(outcome: Outcome) -> str:
    """What the labels of a design prove so far."""
    return QUESTION_TEXTS[outcome.kind].outcome(outcome)


def progress_line(outcome: Outcome) -> str:
    """What labels drawn to teach are worth so far, in one line."""
    if outcome.learned is None:
        return f"{count(outcome.labels, 'label')} so far."
    parts = [earned_sentence(outcome.learned)]
    if outcome.n_recent:
        changed = f"The last {outcome.n_recent} labels changed {outcome.n_changed:,} of {outcome.n_items:,} labels"
        is_little = outcome.n_changed < 0.005 * outcome.n_items
        parts.append(f"{changed}: 10 more are likely worth less than half a point." if is_little else f"{changed}.")
    return " ".join(parts)


def measured_lines(outcome: Outcome) -> list[str]:
    """Accuracies measured by labels that were drawn to teach."""
    lines = []
    for one in outcome.measured:
        low, high = (100 * (end or 0.0) for end in (one.accuracy.low, one.accuracy.high))
        wider = f"{(high - low):.0f} points wide; as many random labels give {100 * one.width_at_random:.0f}"
        lines.append(
            f"{rule_name(one.name, begins=True)} is right on about {100 * (one.accuracy.value or 0.0):.0f}% "
            f"({low:.0f} to {high:.0f}%; {wider})."
        )
    return lines


def _session_sentence(outcome: Outcome) -> str:
    learned = outcome.learned
    if learned is None:
        more = f"; {count(outcome.more or 0, 'more label')} are enough to learn a rule" if outcome.more else ""
        return f"{count(outcome.labels, 'label')} so far{_skipped(outcome)}{more}."
    taught = earned_sentence(learned)
    if outcome.verdict == "open" and outcome.n_recent:
        return progress_line(outcome)
    if outcome.verdict == "open" and not outcome.n_proving:
        left = f" About {count(outcome.more, 'more label')} to go." if outcome.more else ""
        return f"{taught}{left}"
    if outcome.verdict == "better" and not learned.written:
        return f"{_two_rules(outcome)} {count(learned.n_labels, 'label')} trained it.{_weights(learned)}"
    return f"{_two_rules(outcome)} {taught}"


def earned_sentence(learned: LearnedRule, whose: str = "label") -> str:
    """What the labels of a learned rule are expected to gain, and whether that has been earned."""
    gain, n_labels = learned.gain, count(learned.n_labels, whose)
    if gain is None or not learned.written:
        return f"{n_labels} have not taught a better rule yet."
    if learned.earned:
        likely = gain_with_range(gain.value, gain.low, gain.high)
        return f"{n_labels} taught a rule that is likely {likely}.{_weights(learned)}"
    is_open = f"Whether it is better is open ({whole_range(gain.low, gain.high)})."
    return f"{n_labels} taught a rule. {is_open}{_weights(learned)}"


def _weights(learned: LearnedRule) -> str:
    """The judges with the largest weights, for a panel."""
    if not 1 < len(learned.weights) <= 20:
        return ""
    strong = sorted((weight, str(name)) for name, weight in learned.weights.items() if abs(weight) >= 0.3)[::-1]
    if not strong:
        return " All judges count about the same."
    shown = listed([f"{name} {weight:.1f}" for weight, name in strong[:4]])
    others = "; the others are near 0" if len(strong) < len(learned.weights) else ""
    return f" Weights: {shown}{others}."


def _two_rules(outcome: Outcome) -> str:
    present, other = (rule_name(rule) for rule in outcome.rules)
    other_begins = rule_name(outcome.rules[1], begins=True)
    labels = outcome.n_proving if outcome.kind == "teach" else outcome.labels
    if not labels and outcome.decided:
        return at_stake(outcome.rules, outcome.n_differ, outcome.n_items, outcome.tolerance)
    before, after = (outcome.right[rule] for rule in outcome.rules)
    counted = (
        f"on {labels:,} of the {outcome.n_differ:,} items where they differ, {other} was right on {after:,} "
        f"and {present} on {before:,}{_skipped(outcome)}"
    )
    ends = f"{signed_points(outcome.value.low or 0.0)} to {signed_points(outcome.value.high or 0.0)} points"
    if outcome.verdict == "same":
        near = one_decimal(outcome.tolerance)
        return f"{other_begins} and {present} are within {near} points of each other: {counted}."
    if outcome.decided:
        best = rule_name(outcome.rules[outcome.verdict == "better"], begins=True)
        return f"{best} is better: {counted}. {other_begins} gains {points_range(outcome.value)}, {_level(outcome)}."
    return f"Open: {counted}. {other_begins} gains {ends}, {_level(outcome)}. {_more(outcome)}"


def _several_rules(outcome: Outcome) -> str:
    near, best = one_decimal(outcome.tolerance), rule_name(str(outcome.leader))
    same = outcome.same_as
    out = [rule_name(rule) for rule in outcome.rules if rule not in outcome.alive and rule not in same]
    dropped = f" Ruled out: {listed(out)}." if out else ""
    if outcome.decided:
        apart = [rule_name(rule) for rule in outcome.alive if rule != outcome.leader]
        alike = f" Too close to call: {listed([best, *apart])}." if apart else ""
        leader = rule_name(str(outcome.leader), begins=True)
        claim = f"{leader} is within {near} points of the best of these {len(outcome.rules) - len(same)} rules"
        return f"{claim} ({count(outcome.labels, 'label')}{_skipped(outcome)}, {_level(outcome)}).{dropped}{alike}"
    right = [f"{rule_name(rule)} {outcome.right[rule]:,}" for rule in outcome.rules if rule != outcome.leader]
    leads = f"{best} leads: right on {outcome.right[str(outcome.leader)]:,} ({listed(right)})"
    below = f"It may be up to {one_decimal(outcome.below or 0.0)} points below the best."
    return (
        f"After {count(outcome.labels, 'label')}{_skipped(outcome)}, {leads}. {below}{dropped} "
        f"Use {best} now, or continue. {_more(outcome)}"
    )


def _accuracy_sentence(outcome: Outcome) -> str:
    low, high = (100 * (end or 0.0) for end in (outcome.value.low, outcome.value.high))
    text = (
        f"The labels of {rule_name(str(outcome.leader))} are right on {low:.1f}% to {high:.1f}% of these "
        f"{outcome.n_items:,} items "
        f"({count(outcome.labels, 'label')} of a random sample{_skipped(outcome)}, {_level(outcome)})."
    )
    return text if outcome.decided else f"{text} {_more(outcome)}"


def _level(outcome: Outcome) -> str:
    """The confidence level, which holds at any number of labels, so that looking early does no harm."""
    return f"{100 * outcome.level:g}% sure, even if you stop early"


def _skipped(outcome: Outcome) -> str:
    return f", {outcome.skipped:,} skipped" if outcome.skipped else ""


def _more(outcome: Outcome) -> str:
    if outcome.more is None:
        return "It will take hundreds more labels to settle it."
    if not outcome.more:
        return "None of the remaining items could settle it."
    return f"About {count(outcome.more, 'more label')} should settle it."


def answers_notes(outcome: Outcome) -> list[str]:
    """Notes on the labels themselves: which were not counted, and why."""
    notes = [_whose_truth(outcome)] if outcome.truth else []
    if outcome.ignored:
        named = listed(map(str, outcome.ignored))
        notes.append(f"Not counted: {count(len(outcome.ignored), 'labelled item')} outside the design ({named}).")
    if outcome.unknown:
        notes.append(f"Counted as skipped: labels that no worker uses ({listed(map(repr, outcome.unknown))}).")
    if outcome.relabelled:
        named = listed(map(str, outcome.relabelled))
        notes.append(f"The last label counts for {count(len(outcome.relabelled), 'item')} labelled twice: {named}.")
    if outcome.disagreed:
        named = listed(map(str, outcome.disagreed))
        notes.append(
            f"Counted as skipped: {count(len(outcome.disagreed), 'item')} on which experts disagree ({named})."
        )
    return notes


def sample_note(outcome: Outcome) -> str:
    """What else the labels can be used for."""
    if outcome.n_sampled and not outcome.uniform:
        return (
            f"{outcome.n_sampled:,} of the labels are a random sample and measure every rule and judge; the other "
            "items were picked because the rules disagree on them."
        )
    if outcome.uniform:
        return "These items are a random sample, so their labels also measure every rule and every judge."
    if outcome.measured:
        measured = " ".join(measured_lines(outcome)[:1])
        return f"These items were drawn to teach, so they are no random sample. {measured}"
    return (
        "These items were picked because the rules disagree on them: do not use them to estimate accuracy. For that, "
        "draw a random sample with majorant ask --draw random."
    )


def ask_lines(facts: Mapping[str, Any], check: str, learned: LearnedRule | None = None) -> list[str]:
    """The question, how many labels it will take, and what to do with the files.

    `learned` is the rule that was trained on gold labels in the input, if any.
    """
    question, asked, files, labels = (facts[name] for name in ("question", "asked", "files", "labels"))
    if learned is None:
        lines = [QUESTION_TEXTS[question].begins(facts)]
    else:
        stake = at_stake(facts["rules"], facts["differ"], facts["items"], 0.0)
        lines = [earned_sentence(learned, whose="gold label"), stake]
    lines += tie_lines(facts)
    if not asked:
        return [*lines, "There is nothing to label." if question == "accuracy" else "No labels are needed."]
    if question != "teach" or learned is not None:
        lines.append(labels_planned(facts["expected"], asked))
    in_tool = "Label them in order in your tool, then export the labels (to EXPORT in the command below)."
    return [
        *lines,
        f"Wrote    {one_of(files)}: {count(asked, 'item')} in random order, and the design that evaluates the labels.",
        labelling_help(labels) if files[0].endswith(".csv") else in_tool,
        label_next(files[0], check),
    ]


def substitute_lines(outcome: Outcome, files: Sequence[str], check: str) -> list[str]:
    """What the labels of a stand-in expert show, and who that expert is."""
    return [outcome_sentence(outcome), _whose_truth(outcome), f"Wrote    {one_of(files)}.", f"Next     {check}"]


def _whose_truth(outcome: Outcome) -> str:
    return f"{outcome.truth} stands in for an expert: a label counts as right if {outcome.truth} agrees with it."


def tie_lines(facts: Mapping[str, Any]) -> list[str]:
    """How many items are left out because their votes are tied."""
    if not facts.get("ties"):
        return []
    tied = "1 item has tied votes" if facts["ties"] == 1 else f"{facts['ties']:,} items have tied votes"
    return [f"{tied}, which all rules resolve the same way, so they are left out of the comparison."]


def more_lines(added: int, files: Sequence[str], check: str) -> list[str]:
    """What was added to a file of items to label, and what to do with it."""
    wrote = f"Wrote    {one_of(files)}: {count(added, 'more item')}; existing labels are kept."
    return [wrote if added else "There are no items left to label.", label_next(files[0], check)]


def label_next(file: str, check: str) -> str:
    """The command to label items with, and the one that uses the labels."""
    if not file.endswith(".csv"):
        return f"Next     {check}"
    return f"Next     majorant label {shlex.quote(file)}   or fill in the file; then {check}"


def label_line(number: int, n_items: int, shown: Mapping[str, str], keys: Mapping[str, str]) -> list[str]:
    """An item to label in the terminal, and the keys."""
    content = [f"  {name}: {value}" for name, value in shown.items()]
    choices = "   ".join(f"[{key}] {label}" for key, label in keys.items())
    return ["", f"{number} of {n_items}", *content, f"  {choices}   [s] cannot tell   [u] undo   [q] quit"]


def question_words(kind: str, rules: Sequence[str]) -> str:
    """The question that the labels of a design answer.

    >>> question_words("rules", ["majority", "weighted-vote"])
    'Which is right more often, majority vote or the weighted vote?'
    """
    return QUESTION_TEXTS[kind].asks([rule_name(rule) for rule in rules])


def labels_left(more: int | None) -> str:
    """How many labels are still needed.

    >>> labels_left(12), labels_left(None)
    ('about 12 more needed', 'more needed')
    """
    return "more needed" if more is None else f"about {more:,} more needed"


class QuestionText(NamedTuple):
    """The sentences of one question of `ask`."""

    asks: Callable[[Sequence[str]], str]  # the question itself, given the names of the rules
    begins: Callable[[Mapping[str, Any]], str]  # the first line of `majorant ask`, given the facts of the design
    outcome: Callable[[Outcome], str]  # what the labels prove so far


QUESTION_TEXTS = {
    "rules": QuestionText(
        asks=lambda names: f"Which is right more often, {' or '.join(names)}?",
        begins=lambda facts: at_stake(facts["rules"], facts["differ"], facts["items"], facts["tolerance"]),
        outcome=lambda outcome: _two_rules(outcome) if len(outcome.rules) == 2 else _several_rules(outcome),
    ),
    "teach": QuestionText(
        asks=lambda _: "Which judges are right, and how should their votes be combined?",
        begins=lambda facts: (
            f"Label {count(facts['asked'], 'random item')}: they measure each judge and teach a rule. "
            "A few more labels then prove it."
            if facts["draw"] != "teach"
            else f"Label {count(facts['asked'], 'item')} on which the votes differ: they teach a rule. Then five at a "
            "time follow, each chosen for what its label would change."
        ),
        outcome=_session_sentence,
    ),
    "accuracy": QuestionText(
        asks=lambda names: f"How often are the labels of {names[-1]} right?",
        begins=lambda facts: (
            f"How often are the labels of {rule_name(facts['rules'][0])} right on these "
            f"{facts['items']:,} items? {ACCURACY_COSTS}"
        ),
        outcome=_accuracy_sentence,
    ),
}
