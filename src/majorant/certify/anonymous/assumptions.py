"""What the anonymous claim takes for granted, and which of it counts of votes cannot test."""

from __future__ import annotations

from majorant.certify.anonymous.likelihood import Histograms
from majorant.certify.certificate import ITEMS_APART

TWO_CLASSES = "two classes"
DRAWN_ANEW = "every vote comes from a worker drawn anew: all share one confusion matrix, and no items share workers"
GUESSING = "votes are better than guessing"
SIZES = "the number of votes on an item depends neither on the item nor on the votes seen"
SIZES_APART = "the number of votes on an item does not depend on the votes seen"
INDEPENDENT = "votes on an item are independent given its class"
APART, DIFFICULTY = "independent votes, each number of votes apart", "item difficulty"
HARD_ITEMS = "items of a class differ in difficulty by a beta law; votes are independent given class and difficulty"


def assumptions(model: str) -> tuple[str, ...]:
    """What a verdict under this model takes for granted."""
    sizes = SIZES_APART if model == APART else SIZES
    independent = HARD_ITEMS if model == DIFFICULTY else INDEPENDENT
    return (TWO_CLASSES, DRAWN_ANEW, ITEMS_APART, GUESSING, sizes, independent)


def not_tested(model: str, blind: bool) -> tuple[str, ...]:
    """Those of them that counts alone cannot test; `blind` if independence could not be tested either."""
    tested = {TWO_CLASSES} if blind else {TWO_CLASSES, INDEPENDENT, HARD_ITEMS}
    return tuple(text for text in assumptions(model) if text not in tested)


def untestable(histograms: Histograms) -> str:
    """The condition under which a claim holds where its votes cannot test whether they are independent."""
    sizes = [h for h in histograms if h > 1]
    votes = "3 votes per item" if set(sizes) == {3} else "so few items or votes"
    return f"{INDEPENDENT}, which {votes} cannot test"
