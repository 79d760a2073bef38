"""Every sentence, unit and number format that a person reads about an answer, in one place.

The functions take plain facts (numbers, names, flags) and import nothing, so that whoever holds facts can say them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

MOST_LISTED = 8

# --- numbers


def count(number: int, thing: str) -> str:
    """1 item, 2 items."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def percent(value: float, digits: int = 1) -> str:
    """0.816 as 81.6 %."""
    return f"{100 * value:.{digits}f} %"


def level_percent(level: float) -> str:
    """A level of confidence with all its digits.

    >>> level_percent(.95), level_percent(.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * level:g} %"


def points(accuracy: float) -> str:
    """A difference of accuracies in percentage points.

    >>> points(.0294), points(-.00001)
    ('2.9', '0.0')
    """
    return f"{100 * accuracy:.1f}".replace("-0.0", "0.0")


def signed(value: float) -> str:
    """A number of percentage points with its sign.

    >>> signed(3.04), signed(-.2), signed(-.001)
    ('+3.0', '-0.2', '0.0')
    """
    text = f"{value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def at_most(value: float) -> str:
    """A bound in percentage points, rounded up, so that the sentence stays true.

    >>> at_most(.31), at_most(1.0), at_most(.004)
    ('0.4', '1.0', '0.1')
    """
    tenths = -int(-10 * round(value, 9) // 1)
    return f"{max(tenths, 1) / 10:.1f}" if value > 0 else "0.0"


def listed(names: Iterable[str]) -> str:
    """The first few, and how many more."""
    every = list(names)
    more = len(every) - MOST_LISTED
    return ", ".join(every[:MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def one_of(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    >>> one_of(["a"]), one_of(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- the answer: keep, switch or ask


def headline(answer: Any) -> str:
    """The decision, as a manager reads it."""
    if answer.action == "switch":
        return f"Switch to {answer.other}."
    if answer.action == "keep":
        return "Keep majority vote."
    labels = count(answer.ask.labels, "item") if answer.ask is not None else "a few items"
    until = f"use {answer.other}, as you asked" if answer.asked_for else "keep majority vote"
    return f"Ask an expert about {labels}; until then {until}."


def gain_line(answer: Any) -> str:
    """What the other rule gains over majority vote, in percentage points, and what ties have to do with it."""
    if not answer.differ:
        return f"None: {answer.other} and majority vote give every item the same label."
    gain = answer.gain
    differ = f"{answer.other} and majority vote differ on {answer.differ:,} of {count(answer.items, 'item')}"
    if answer.basis in ("bound", "votes"):
        text = f"At most {at_most(answer.stake)} percentage points either way: {differ}."
    elif gain.value is None:
        text = f"Between {signed(gain.low)} and {signed(gain.high)} percentage points: {differ}."
    elif gain.low is None or gain.low == gain.high:
        text = f"{signed(gain.value)} percentage points: {differ}."
    else:
        text = f"{signed(gain.value)} percentage points [{signed(gain.low)}, {signed(gain.high)}]: {differ}."
    return f"{text} {tie_sentence(answer)}".rstrip()


def tie_sentence(answer: Any) -> str:
    """The share of the items that majority vote leaves tied, and what a fair draw on them costs."""
    if not answer.tied:
        return ""
    share = f"{count(answer.tied, 'item')} ({percent(answer.tied / answer.items)}) are tied"
    share = share.replace(" are tied", " is tied") if answer.tied == 1 else share
    if answer.tie_gain is None or answer.basis not in ("gold", "model"):
        return f"{share}; majority vote counts as a fair draw there."
    source = "" if answer.basis == "gold" else " by the model"
    cost = f"{signed(answer.tie_gain)} points{source} come from deciding them rather than drawing"
    return f"{share}; {cost}."


def evidence(answer: Any) -> str:
    """What the answer rests on, with its condition in the same sentence."""
    if answer.basis == "gold":
        return _by_gold(answer)
    if answer.basis == "bound" and not answer.differ:
        return "Exact, without labels or model: the two rules give every item the same label."
    if answer.basis == "bound":
        return (
            f"Exact, without labels or model: whichever of the two you use, accuracy changes by at most "
            f"{at_most(answer.stake)} points (tolerance {answer.tolerance:.1f})."
        )
    if answer.basis == "model":
        return _by_model(answer)
    return _votes_cannot_tell(answer)


def _by_gold(answer: Any) -> str:
    gold = answer.gold
    tie = ", a tie by its share" if answer.tied else ""
    moved = f"{gold.wins:.0f} become right and {gold.losses:.0f} wrong{tie}"
    right = f"of the {gold.used:,} where the two rules differ, {moved}"
    if gold.whole:
        text = f"Exact, by gold: every item has a gold label; {right}."
    else:
        text = (
            f"Exact, by gold, if the {count(gold.labels, 'gold item')} are a random sample of the items: {right} "
            f"({level_percent(answer.level)}, however often you look; no model of the votes)."
        )
    return f"{text} {withdrawn_sentence(answer)}".rstrip()


def withdrawn_sentence(answer: Any) -> str:
    """What a model expected and the gold labels exclude."""
    expected = answer.withdrawn
    if expected is None:
        return ""
    low, high, value = answer.gain.low, answer.gain.high, expected.value
    allow = f"at most {signed(high)}" if value > high else f"at least {signed(low)}"
    found = f"the gold labels say {signed(high)}" if low == high else f"the gold labels allow {allow}"
    return f"The model expected {signed(value)} points; {found}."


def _by_model(answer: Any) -> str:
    model = answer.model
    condition = "If votes on an item are independent given its class and each worker keeps one confusion matrix"
    tested = "what of this can be tested was, and passed"
    if model.untested:
        tested = (
            f"not tested: {one_of(model.untested)}; it holds up to a correlation of {model.breakdown:.2g} between votes"
        )
    if answer.action == "keep":
        claim = "no rule gains more than the tolerance over majority vote"
        if model.best:
            claim = "no rule is expected to beat majority vote"
    else:
        claim = f"knowing who voted gains about {signed(answer.gain.value)} points"
    return f"{condition}, {claim} ({level_percent(answer.level)}, {tested})."


def _votes_cannot_tell(answer: Any) -> str:
    model = answer.model
    if model.failed:
        reason = f"the votes contradict the model ({one_of(model.failed)})"
    elif model.untested:
        reason = f"these votes cannot test what a model needs ({one_of(model.untested)})"
    elif model.panel:
        reason = "judges of a panel may err together, which votes do not show"
    else:
        reason = "the model leaves it open"
    return f"None yet: votes alone cannot tell which of the two is right where they differ; {reason}."


def next_move(answer: Any, source: str) -> str:
    """What to do now."""
    file = source or "votes.csv"
    if answer.ask is None:
        return "Use the labels." if answer.action == "switch" else "Nothing: go on with majority vote."
    labels, command = count(answer.ask.labels, "expert label"), f"majorant ask {file} --n {answer.ask.labels}"
    if answer.action == "switch":
        return f"Use the labels; about {labels} would confirm it without a model: {command}"
    return f"About {labels} on the {answer.ask.items:,} items where they differ should settle it: {command}"
