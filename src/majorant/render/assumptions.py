"""The text of each assumption, worded so that it can follow "this assumes that"."""

from __future__ import annotations

from collections.abc import Iterable

from majorant.evidence.evidence import Assumption, Tested

ASSUMPTION_TEXT = {
    Assumption.RANDOM_LABELS: "the labelled items are a random sample",
    Assumption.INDEPENDENT_VOTES: "votes on an item are independent given the truth",
    Assumption.INDEPENDENT_WORKERS: "workers make mistakes independently of each other",
    Assumption.EXCHANGEABLE_WORKERS: "workers are exchangeable",
    Assumption.STABLE_WORKERS: "each worker's error rates are the same on all items",
    Assumption.INDEPENDENT_ITEMS: "items are independent of each other",
    Assumption.VOTES_PER_ITEM: "how many votes an item gets does not depend on the item or on the votes",
    Assumption.BETTER_THAN_GUESSING: "votes are better than guessing",
    Assumption.LARGE_SAMPLE: "there are enough items for large-sample approximations",
    Assumption.NO_COPIES: "no worker repeats another",
    Assumption.LIKE_PUBLIC_SETS: "the data resemble the public data sets",
}


def said_assumptions(tested: Iterable[Tested]) -> str:
    """Join assumptions into the end of a sentence."""
    return " and that ".join(ASSUMPTION_TEXT[one.assumption] for one in tested)
