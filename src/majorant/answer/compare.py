"""All methods side by side on the same votes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from majorant.answer.candidates import fit_method, unsuited
from majorant.answer.choice import Alternative, alternative
from majorant.answer.combine import COMBINATION, Combination, combination
from majorant.errors import ConfigError, NotIdentified
from majorant.estimate import ESTIMATORS
from majorant.estimate.fit import Fit
from majorant.estimate.known_workers import AnchorMap
from majorant.tabular import Records
from majorant.values import LEVEL, as_generator, as_level
from majorant.votes import Votes


def compare(votes: Votes, *, level: float = LEVEL, rng: int | np.random.Generator) -> Records[Alternative]:
    """A row for every method, the combination first; one that these votes cannot bear says why.

    Nothing is chosen here, so the gold accuracy of each method is its own; one that learns from gold judges each gold
    item without that item's label.

    >>> from majorant.simulate import simulate
    >>> votes, _ = simulate([.6, .3, .1], [[.8, .1, .1], [.1, .8, .1], [.2, .2, .6]], 60, 3, n_workers=6, rng=0)
    >>> rows = {row.method: row for row in compare(votes, rng=0)}
    >>> rows["kos"].note, rows["majority"].agreement
    ('for two classes only', 1.0)
    """
    as_level(level)
    seed = int(as_generator(rng).integers(2**32))
    blind = replace(votes, gold_i=None)
    made = combination(blind, seed) if len(votes.labels) > 1 else None
    majority = fit_method("majority", blind, seed)
    known = {"majority": majority} if made is None else {**made.fits, "majority": majority, COMBINATION: made.fit}
    return Records(
        _row(method, votes, known.get(method), majority, made, level=level, seed=seed)
        for method in ([] if made is None else [COMBINATION]) + list(ESTIMATORS)
    )


def _row(
    method: str, votes: Votes, fit: Fit | None, majority: Fit, made: Combination | None, *, level: float, seed: int
) -> Alternative:
    if fit is None:
        if reason := unsuited(method, votes):
            return Alternative(method=method, note=reason)
        try:
            fit = _blind(method, votes, seed)
        except (ConfigError, NotIdentified) as error:  # it finds in the data what it cannot do: too little overlap
            return Alternative(method=method, note=str(error))
    return alternative(method, fit, votes, majority, made, level=level)


def _blind(method: str, votes: Votes, seed: int) -> Fit:
    """The fit of a method; one that learns from gold judges each gold item without its own label."""
    if method == AnchorMap.name:
        return AnchorMap(leave_one_out=True).fit(votes)
    return fit_method(method, votes, seed)
