"""The sentences of the anonymous claim, for a reader who wants to know what to do."""

from __future__ import annotations

from collections.abc import Sequence

from majorant.certify.anonymous.independent import Finding
from majorant.certify.anonymous.likelihood import Histograms
from majorant.certify.certificate import ITEMS_APART, Verdict
from majorant.wording import loss_points, ties_cost, under

TWO_CLASSES = "two classes"
DRAWN_ANEW = "every vote comes from a worker drawn anew: all share one confusion matrix, and no items share workers"
GUESSING = "votes are better than guessing"
SIZES = "the number of votes on an item depends neither on the item nor on the votes seen"
SIZES_APART = "the number of votes on an item does not depend on the votes seen"
SETTLES = (
    "some items are hard or workers share errors; enough gold labels, more votes per item or a method that models "
    "this (EBCC) would settle it"
)
NO_LOSS = 5e-6  # of accuracy: rounds to 0.000 points
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


def no_votes() -> str:
    """Nothing was voted on."""
    return "There are no votes, so there is nothing to certify."


def too_few_votes() -> str:
    """Two votes cannot tell good voters from a skewed prior."""
    return (
        "No item has three votes, so the data cannot tell how good the voters are: "
        "collect a third vote on some of the items."
    )


def why_anonymous(finding: Finding, model: str, level: float, conditions: Sequence[str], tied_share: float) -> str:
    """The claim in one sentence, begun by what it rests on."""
    allowing = ", allowing for item difficulty" if model == DIFFICULTY else ""
    stamp = f"({finding.verdict}, {100 * level:g} %{allowing})"
    ties = ties_cost(tied_share, finding.tie_loss)
    if finding.verdict in ("proved", "supported"):
        apart = f", apart from ties {stamp}{ties}" if ties else f" {stamp}"
        return under(conditions, f"Majority vote is as good as any rule that ignores who voted{apart}.")
    if finding.verdict == "refuted":
        gain = f"the best rule that ignores who voted would gain about {loss_points(finding.loss)}"
        good = f"; apart from ties it is as good as any ({finding.untied})" if _good(finding.untied) else ""
        return under(conditions, f"Majority vote is not the best rule for these votes {stamp}: {gain}{ties}{good}.")
    if finding.verdict == "undecided":
        told = f"These items cannot tell whether majority vote is the best rule {stamp}: {_at_stake(finding)}{ties}."
        return under(conditions, told)
    return (
        f"The votes on an item are not independent given its class, so nothing is certified (void): {SETTLES}. "
        f"{if_independent(finding)}"
    )


def _good(verdict: Verdict) -> bool:
    return verdict in ("proved", "supported")


def if_independent(finding: Finding) -> str:
    """How far the votes are from independent, and what the numbers of a void claim would mean."""
    best = "would be" if finding.margin > 0 else "would not be"
    loss = f"with a loss of {loss_points(finding.loss)}" if (finding.loss.high or 0.0) >= NO_LOSS else "with no loss"
    return (
        f"Independent votes would look different on {100 * finding.evidence['misplaced_items']:.2g} % of the items. "
        f"If votes were independent, majority vote {best} the best rule, {loss}."
    )


def _at_stake(finding: Finding) -> str:
    high = 100 * (finding.loss.high or 0.0)
    stake = f"at most {high:{'.1f' if high >= 1 else '.2g'}} points" if high >= 0.01 else "less than 0.01 points"
    decide = "no number of items in reach would decide" if finding.more_items is None else ""
    decide = decide or f"about {finding.more_items:,} fresh items, judged by themselves, would decide"
    share = finding.items_certified
    proved = "" if share is None else f"{100 * share:.1f} % of the items are provably decided as the best rule would, "
    return f"{stake} of accuracy are at stake, {proved}and {decide}"
