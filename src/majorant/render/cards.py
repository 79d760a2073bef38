"""The three numbers below the answer, in the report and on the local page.

Texts hold addresses of numbers in the summary, `{answer.gain.value:gain}`, which `html.say` fills in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from majorant.defaults import MAJORITY
from majorant.evidence.learn import LEARNED
from majorant.render.answer import rule_name


class Card(NamedTuple):
    """A number, its meaning and its uncertainty."""

    title: str
    number: str
    unit: str
    note: str
    tone: str  # the color of its edge


def answer_cards(summary: Mapping[str, Any]) -> list[Card]:
    """The gain, the number of items the rules disagree on, and the accuracy, where known."""
    return [card for card in (_gain(summary), _differ(summary), _accuracy(summary)) if card is not None]


def _gain(summary: Mapping[str, Any]) -> Card | None:
    answer = summary["answer"]
    gain = answer["gain"]
    if gain["value"] is None:
        if not answer["step"]["labels"]:
            return None
        return Card("Labels needed to learn more", "{answer.step.labels}", "", "votes alone are not enough", "best")
    note = ""
    if answer["other"] == LEARNED and gain["low"] is None:
        note = "cross-validated on {answer.labels} labels"
    elif gain["low"] is not None and gain["low"] != gain["high"]:
        record = " (best guess)" if answer["source"] == "track record" else ""
        note = f"{{answer.gain.low:gain}} to {{answer.gain.high:gain}}{record}"
    return Card(
        f"Gain of switching to {rule_name(answer['other'])}", "{answer.gain.value:gain}", "points", note, "best"
    )


def _differ(summary: Mapping[str, Any]) -> Card | None:
    if summary["answer"]["other"] == MAJORITY:
        return None
    return Card("The two rules disagree on", "{answer.differ}", "", "of {answer.items} items", "ink")


def _accuracy(summary: Mapping[str, Any]) -> Card | None:
    """The accuracy of the rule behind the labels; labels of a design take precedence over the model's estimate."""
    accuracy, answer = summary["accuracy"], summary["answer"]
    found = accuracy["written"]
    if found["value"] is None or (accuracy["source"] == "model" and answer["source"] == "labels"):
        return None
    rule = rule_name(answer["rule"], begins=True)
    number = "{accuracy.written.value:percent}"
    if accuracy["source"] == "model":
        return Card(f"{rule} is right on about", number, "", accuracy["warning"], "majority")
    between = found["low"] is not None and found["low"] != found["high"]
    notes = ["{accuracy.written.low:percent} to {accuracy.written.high:percent}"] if between else []
    if answer["rule"] == LEARNED:
        notes.append("on labels it was not trained on")
    # The gain of a learned rule may be proved on different labels than those that rate it.
    if answer["rule"] != MAJORITY and not (answer["rule"] == LEARNED and answer["gain"]["low"] is not None):
        notes.append("majority vote: {accuracy.majority.value:percent}")
    return Card(f"{rule} is right on, by your labels", number, "", "; ".join(notes), "majority")
