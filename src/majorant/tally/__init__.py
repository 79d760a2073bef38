"""Votes -> counts: per item, per number of votes, per worker, per pair of workers."""

from majorant.tally.items import (
    Patterns,
    Tally,
    by_votes,
    counts,
    distinct_counts,
    histograms,
    label_counts,
    merged_patterns,
    tally,
    tied,
    two_class_histograms,
    votes_by_worker,
)
from majorant.tally.pairs import PairCounts, pair_counts, partner_votes

__all__ = [
    "PairCounts",
    "Patterns",
    "Tally",
    "by_votes",
    "counts",
    "distinct_counts",
    "histograms",
    "label_counts",
    "merged_patterns",
    "pair_counts",
    "partner_votes",
    "tally",
    "tied",
    "two_class_histograms",
    "votes_by_worker",
]
