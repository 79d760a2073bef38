"""The methods among which the choice is made, which of them these votes can bear, and how each is fitted."""

from __future__ import annotations

import numpy as np

from majorant.errors import ConfigError
from majorant.estimate import Fit, estimator_named
from majorant.limits import limit
from majorant.votes import Votes


def unsuited(method: str, votes: Votes) -> str:
    """Why these votes cannot be given to the method; empty if they can.

    >>> votes = Votes.from_codes([0, 1, 2], [0, 0, 0], [0, 1, 2], items="abc", workers="w", labels="xyz")
    >>> unsuited("kos", votes)
    'for two classes only'
    """
    estimator = estimator_named(method)
    _, n_workers, n_classes = votes.shape
    if estimator.classes == 2 and n_classes != 2:
        return "for two classes only"
    needs = estimator.needs
    if needs == "confusion":
        return "needs confusion matrices that are given"
    if needs == "gold" and not has_gold(votes):
        return "needs gold labels"
    entries = n_workers * n_classes**2 * estimator.tables_per_worker
    if entries > limit("METHOD_CELLS"):
        return f"too many workers and classes ({entries:,} numbers to learn)"
    return ""


def has_gold(votes: Votes) -> bool:
    """Whether the truth of some item with votes is known."""
    return n_gold(votes) > 0


def n_gold(votes: Votes) -> int:
    """How many items with votes have a gold label."""
    return 0 if votes.gold_i is None else int(((votes.gold_i >= 0) & (votes.votes_i > 0)).sum())


def fit_method(method: str, votes: Votes, seed: int, start: Fit | None = None) -> Fit:
    """The method's fit; one that draws starts from the seed, so that it does not depend on which others ran.

    An iterative method goes on from `start`, a fit of its own to other votes of the same workers.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> fit_method("iwmv", votes, 0).labels()
    ['yes']
    """
    if reason := unsuited(method, votes):
        raise ConfigError(f"{method} cannot be used on these votes: {reason}.")
    estimator = estimator_named(method)
    drawing = {"rng": np.random.default_rng(seed)} if estimator.stochastic else {}
    beginning = {"start": start} if start is not None and estimator.iterative else {}
    return estimator().fit(votes, **drawing, **beginning)
