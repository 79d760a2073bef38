"""A full description of one model and number of votes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.theory.accuracy import gap, majority_accuracy, map_accuracy, panel_accuracy, panel_gap
from majorant.theory.checks import as_prior
from majorant.theory.margin import Witness, majority_witness, verdict
from majorant.theory.panel import panel_witness
from majorant.theory.two_class import handicap, perturbation_radius


@dataclass(frozen=True, slots=True)
class Description:
    """Majority vote compared with the optimal rule; fields are None if they do not apply or would take too long."""

    n_votes: int
    verdict: str  # optimal, boundary or not optimal
    margin: float  # nats
    witness: Witness
    majority_accuracy: float | None
    optimal_accuracy: float | None
    gap: float | None
    handicap: float | None  # in votes; only for two classes and a shared confusion matrix
    radius: float | None  # only for two classes and a shared confusion matrix


def describe(prior: ArrayLike, confusion: ArrayLike, n_votes: int, ties: str = "exclude") -> Description:
    """Margin, witness, accuracies, handicap and radius for voters who share a confusion matrix.

    Parameters
    ----------
    prior, confusion, n_votes, ties
        As for `majority_margin`.

    Returns
    -------
    Description
        Handicap and radius leave ties out.

    Examples
    --------
    >>> facts = describe([.6, .4], [[.7, .3], [.2, .8]], 3)
    >>> facts.verdict, round(facts.optimal_accuracy, 4), facts.gap
    ('optimal', 0.8288, 0.0)
    """
    witness = majority_witness(prior, confusion, n_votes, ties)
    two_classes = len(as_prior(prior)) == 2
    return Description(
        n_votes=sum(witness),
        verdict=verdict(witness.margin),
        margin=witness.margin,
        witness=witness,
        majority_accuracy=_if_in_reach(lambda: majority_accuracy(prior, confusion, n_votes, ties)),
        optimal_accuracy=_if_in_reach(lambda: map_accuracy(prior, confusion, n_votes, ties)),
        gap=_if_in_reach(lambda: gap(prior, confusion, n_votes, ties)),
        handicap=handicap(prior, confusion, n_votes) if two_classes else None,
        radius=perturbation_radius(prior, confusion, n_votes) if two_classes else None,
    )


def describe_panel(prior: ArrayLike, confusions: ArrayLike, ties: str = "exclude") -> Description:
    """Margin, witness and accuracies for voters with their own confusion matrices.

    Parameters
    ----------
    prior, confusions, ties
        As for `panel_margin`.

    Returns
    -------
    Description
        Without handicap and radius, which need a shared matrix.

    Examples
    --------
    >>> good, fair = [[.9, .1], [.1, .9]], [[.6, .4], [.4, .6]]
    >>> facts = describe_panel([.5, .5], [good, fair, fair])
    >>> facts.verdict, round(facts.gap, 3)
    ('not optimal', 0.108)
    """
    witness = panel_witness(prior, confusions, ties)
    panel = np.asarray(confusions, dtype=float)
    return Description(
        n_votes=sum(witness),
        verdict=verdict(witness.margin),
        margin=witness.margin,
        witness=witness,
        majority_accuracy=_if_in_reach(lambda: panel_accuracy(prior, panel, "majority", ties)),
        optimal_accuracy=_if_in_reach(lambda: panel_accuracy(prior, panel, "map", ties)),
        gap=_if_in_reach(lambda: panel_gap(prior, panel, ties)),
        handicap=None,
        radius=None,
    )


def _if_in_reach(compute: Callable[[], float]) -> float | None:
    """The number, or None if there are too many patterns, the only error left after the margin's own checks."""
    try:
        return compute()
    except ConfigError:
        return None
