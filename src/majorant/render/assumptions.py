"""Assumptions in words, as the second half of "this assumes that ..."."""

from __future__ import annotations

from collections.abc import Iterable

from majorant.evidence.evidence import Assumption, Tested

ASSUMPTION_TEXT = {
    Assumption.RANDOM_LABELS: "the labelled items are a random sample",
    Assumption.INDEPENDENT_VOTES: "votes on an item are independent given the truth",
    Assumption.INDEPENDENT_WORKERS: "workers err independently of each other",
    Assumption.EXCHANGEABLE_WORKERS: "workers are exchangeable",
    Assumption.STABLE_WORKERS: "each worker errs the same way on all items",
    Assumption.INDEPENDENT_ITEMS: "items are independent of each other",
    Assumption.VOTES_PER_ITEM: "the number of votes on an item depends neither on the item nor on the votes",
    Assumption.BETTER_THAN_GUESSING: "votes are better than guessing",
    Assumption.LARGE_SAMPLE: "there are enough items for large-sample statistics",
    Assumption.NO_COPIES: "no worker repeats another",
    Assumption.LIKE_PUBLIC_SETS: "the data resemble the public data sets",
}


def said_assumptions(tested: Iterable[Tested]) -> str:
    """Assumptions as the end of a sentence."""
    return " and that ".join(ASSUMPTION_TEXT[one.assumption] for one in tested)
