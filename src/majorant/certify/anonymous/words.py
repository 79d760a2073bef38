"""The sentences of the anonymous claim, for a reader who wants to know what to do."""

from __future__ import annotations

from majorant.certify.anonymous.independent import Finding
from majorant.interval import Estimate

SHARED = (
    "two classes",
    "every vote comes from a worker drawn anew, so all share one confusion matrix",
    "votes are better than guessing",
    "the number of votes on an item does not depend on the votes seen",
)
SETTLES = (
    "some items are hard or workers share errors; enough gold labels, more votes per item or a method that models "
    "this (EBCC) would settle it"
)
NO_LOSS = 5e-6  # of accuracy: rounds to 0.000 points
INDEPENDENT = "votes on an item are independent given its class"
HARD_ITEMS = "items of a class differ in difficulty by a beta law; votes are independent given class and difficulty"


def assumptions(model: str) -> tuple[str, ...]:
    """What a verdict under this model takes for granted."""
    return (*SHARED, HARD_ITEMS if model == "item difficulty" else INDEPENDENT)


def no_votes() -> str:
    """Nothing was voted on."""
    return "There are no votes, so there is nothing to certify."


def too_few_votes() -> str:
    """Two votes cannot tell good voters from a skewed prior."""
    return (
        "No item has three votes, so the data cannot tell how good the voters are: "
        "collect a third vote on some of the items."
    )


def points(loss: Estimate) -> str:
    """A loss with its interval in points of accuracy.

    >>> points(Estimate(.029, .0243, .0341))
    '2.9 points [2.4, 3.4]'
    """
    value, low, high = (100 * (number or 0.0) for number in (loss.value, loss.low, loss.high))
    digits = 1 if high >= 0.1 else 3
    return f"{value:.{digits}f} points [{low:.{digits}f}, {high:.{digits}f}]"


def why_anonymous(finding: Finding, model: str, level: float) -> str:
    """The claim in one sentence."""
    allowing = ", allowing for item difficulty" if model == "item difficulty" else ""
    stamp = f"({finding.verdict}, {100 * level:g} %{allowing})"
    if finding.verdict in ("proved", "supported"):
        return f"Majority vote is as good as any rule that ignores who voted {stamp}."
    if finding.verdict == "refuted":
        return (
            f"Majority vote is not the best rule for these votes {stamp}: "
            f"the best rule that ignores who voted would gain about {points(finding.loss)}."
        )
    if finding.verdict == "undecided":
        return f"These items cannot tell whether majority vote is the best rule {stamp}: {_at_stake(finding)}."
    return (
        f"The votes on an item are not independent given its class, so nothing is certified (void): {SETTLES}. "
        f"{if_independent(finding)}"
    )


def if_independent(finding: Finding) -> str:
    """How far the votes are from independent, and what the numbers of a void claim would mean."""
    best = "would be" if finding.margin > 0 else "would not be"
    loss = f"with a loss of {points(finding.loss)}" if (finding.loss.high or 0.0) >= NO_LOSS else "with no loss"
    return (
        f"Independent votes would look different on {100 * finding.evidence['misplaced_items']:.2g} % of the items. "
        f"If votes were independent, majority vote {best} the best rule, {loss}."
    )


def _at_stake(finding: Finding) -> str:
    high = 100 * (finding.loss.high or 0.0)
    stake = f"at most {high:{'.1f' if high >= 1 else '.2g'}} points" if high >= 0.01 else "less than 0.01 points"
    decide = "no number of items in reach would decide" if finding.more_items is None else ""
    decide = decide or f"about {finding.more_items:,} further items would decide"
    share = finding.items_certified
    proved = "" if share is None else f"{100 * share:.1f} % of the items are provably decided as the best rule would, "
    return f"{stake} of accuracy are at stake, {proved}and {decide}"
