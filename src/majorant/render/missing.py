"""Text that explains why a number, or its interval, is missing."""

from __future__ import annotations

from majorant.evidence.certificate.dependence import ENOUGH_GOLD
from majorant.values import Missing


def missing_text(reason: Missing | None) -> str:
    """Why a number, or its interval, is missing; empty if neither is.

    >>> missing_text(Missing.NO_PAIRED_VOTES)
    'no item has two votes'
    """
    if reason is None:
        return ""
    texts = {
        Missing.NOT_ESTIMATED: "not estimated",
        Missing.NO_VOTES: "no item has a vote",
        Missing.NO_GOLD: "no item has a gold label",
        Missing.ONE_GOLD_ITEM: "fewer than two gold items are labelled by every rule",
        Missing.TOO_FEW_GOLD: f"fewer than {ENOUGH_GOLD} items with gold and two votes",
        Missing.NO_MODEL: "no model was fitted",
        Missing.NO_UNIFORM_LABEL: "no item of the random sample is labelled",
        Missing.NO_DIFFERENCE_LABELLED: "none of the items on which the two disagree has a label",
        Missing.NO_PAIRED_VOTES: "no item has two votes",
        Missing.ONE_PAIRED_ITEM: "fewer than two items have two votes",
        Missing.ONE_LABEL: "all votes are for one label: there is no chance agreement to correct for",
        Missing.NO_VARIANCE: "all votes are the same: there is no variance to explain",
        Missing.NO_ORDER: "labels are not numbers: give order, from lowest to highest",
        Missing.NO_COMMON_ITEM: "no two workers have an item in common",
        Missing.FEW_COMMON_ITEMS: "no two workers have enough items in common, or all of those got the same label",
        Missing.INCOMPLETE_TABLE: "not every worker labelled every item exactly once",
        Missing.FEW_VOTES_PER_ITEM: "too few votes per item",
        Missing.NO_SHARED_ERRORS: "no two workers are wrong on the same gold item",
        Missing.TOO_MANY_WORKERS: "too many pairs of workers",
        Missing.TOO_MANY_PARAMETERS: "too many workers and classes",
        Missing.TOO_MANY_VOTE_PAIRS: "not computed: too many pairs of votes on the same item",
        Missing.MODEL_FIGURE: "estimated by the model",
        Missing.NO_INTERVAL: "no interval",
        Missing.NO_RNG: "no interval: pass rng to draw resamples",
        Missing.GOLD_FOR_INTERVAL: f"no interval: it takes {ENOUGH_GOLD} gold items",
        Missing.CLASSES_NOT_RESAMPLED: "no interval: too many classes to resample",
        Missing.WORKERS_NOT_RESAMPLED: "no interval: too many pairs of workers to resample",
        Missing.PAIRS_NOT_RESAMPLED: "no interval: too many pairs of votes to resample",
        Missing.UNDEFINED_RESAMPLES: "no interval: too many resamples leave the coefficient undefined",
    }
    return texts[reason]
