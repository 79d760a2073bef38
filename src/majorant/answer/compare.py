"""All methods side by side on the same votes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from majorant.answer.candidates import fit_method, unsuited
from majorant.answer.choice import NO_GOLD, NO_MODEL, Alternative, agreement, expected_accuracy
from majorant.answer.combine import COMBINATION, combination
from majorant.answer.gold import gold_accuracy
from majorant.answer.gold_choice import judged_blind
from majorant.errors import ConfigError, NotIdentified
from majorant.estimate import ESTIMATORS
from majorant.estimate.fit import Fit
from majorant.interval import Estimate, as_level
from majorant.randomness import as_generator
from majorant.tabular import Records
from majorant.votes import Votes


def compare(votes: Votes, *, level: float = 0.95, rng: int | np.random.Generator) -> Records[Alternative]:
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
    known = {"majority": majority} if made is None else {"majority": majority, **made.fits, COMBINATION: made.fit}
    truth = None if made is None else made.fit
    return Records(
        _row(method, votes, known.get(method), majority, truth, level=level, seed=seed)
        for method in ([] if made is None else [COMBINATION]) + list(ESTIMATORS)
    )


def _row(
    method: str, votes: Votes, fit: Fit | None, majority: Fit, truth: Fit | None, *, level: float, seed: int
) -> Alternative:
    if fit is None:
        if reason := unsuited(method, votes):
            return Alternative(method=method, note=reason)
        try:
            fit = judged_blind(method, votes) or fit_method(method, votes, seed)
        except (
            ConfigError,
            NotIdentified,
        ) as error:  # a method that finds in the data what it cannot do, as too little overlap
            return Alternative(method=method, note=str(error))
    found = gold_accuracy(votes, fit, level=level)
    return Alternative(
        method=method,
        accuracy=NO_MODEL if truth is None else expected_accuracy(fit, truth),
        agreement=agreement(fit, majority),
        gold=NO_GOLD if found is None else Estimate(found.value, found.low, found.high),
        note="" if fit.converged else "did not converge",
    )
