"""Panels as tables of patterns: every way the workers can vote is one item, and `copies` says how often it came up."""

from itertools import product

import numpy as np

from majorant.evidence.certificate.bootstrap import Case
from majorant.evidence.certificate.dependence import GoldItems, label_matrix
from majorant.items import take_items
from majorant.methods.dawid_skene import DawidSkene
from majorant.votes import Votes


def all_patterns(n_workers, n_classes=2):
    """One item for every ballot of the panel."""
    ballot_ph = np.array(list(product(range(n_classes), repeat=n_workers)))
    n_patterns = len(ballot_ph)
    return Votes.from_codes(
        np.repeat(np.arange(n_patterns), n_workers),
        np.tile(np.arange(n_workers), n_patterns),
        ballot_ph.ravel(),
        items=range(n_patterns),
        workers=range(n_workers),
        labels=range(n_classes),
    )


def pattern_joint(prior, confusions):
    """P(class k and pattern p), (P, K), in the order of `all_patterns`."""
    prior, confusions = np.asarray(prior), np.asarray(confusions)
    ballots = product(range(len(prior)), repeat=len(confusions))
    return np.array([prior * np.prod(confusions[np.arange(len(b)), :, list(b)], axis=0) for b in ballots])


def seen(patterns, copies_p):
    """The patterns that came up, and how often."""
    kept = np.flatnonzero(copies_p)
    return take_items(patterns, kept), copies_p[kept].astype(float)


def fit_panel(votes, copies):
    return DawidSkene(smoothing=0.01, min_rise=None, max_iter=5_000).fit(votes, weights=copies)


def case_of(votes, fit, copies=None):
    """What claims are made from."""
    return Case(votes=votes, fit=fit, copies=copies)


def boundary_pool(rng, n_workers, low=0.65, high=0.85):
    """A prior and a crew at which majority's margin is exactly 0, drawn at random.

    With log-odds w of the prior apart, the margin is min(lo + w, -hi - w), see docs/theory/panel.md.
    """
    while True:
        right_h2 = rng.uniform(low, high, size=(n_workers, 2))
        crew = np.array([[[a, 1 - a], [1 - b, b]] for a, b in right_h2])
        beta = np.sort([np.log(a * b / ((1 - a) * (1 - b))) for a, b in right_h2])
        most = n_workers // 2 + 1
        base = -sum(np.log(b / (1 - a)) for a, b in right_h2)
        lo, hi = base + beta[:most].sum(), base + beta[most:].sum()
        if lo <= hi + 0.1:
            continue  # no prior makes majority optimal, or hardly
        odds = -lo if rng.random() < 0.5 else -hi
        prior_0 = 1 / (1 + np.exp(-odds))
        if 0.1 < prior_0 < 0.9:
            return np.array([prior_0, 1 - prior_0]), crew


def gold_of(simulated):
    """All items of simulated votes, their truth known."""
    votes, truth = simulated
    return GoldItems(label_matrix(votes), truth.astype(np.int64), np.ones(len(truth)), len(votes.labels))
