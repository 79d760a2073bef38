"""Several fits of the same votes as one: the mean of what they believe."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from majorant.estimate.fit import Fit
from majorant.kernels import FloatArray

COMBINATION = "combination"


def combine(fits: Sequence[Fit]) -> Fit:
    """The mean of the posteriors, priors and confusion matrices; the method is called `combination`.

    All fits must be of the same votes.  A model that is wrong here is outvoted where the others agree, which is why the
    mean loses less at worst than any of them.

    >>> from majorant.estimate import ESTIMATORS
    >>> from majorant.votes import Votes
    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> combine([ESTIMATORS[method]().fit(votes) for method in ("one-coin", "ibcc")]).labels()
    ['yes']
    """
    first, confusion_jkl = fits[0], [each for fit in fits if (each := _confusion(fit)) is not None]
    return Fit(
        method=COMBINATION,
        posterior=np.mean([fit.posterior for fit in fits], axis=0),
        prior=np.mean([fit.prior for fit in fits], axis=0),
        votes_i=first.votes_i,
        label_values=first.label_values,
        confusion=np.mean(confusion_jkl, axis=0) if confusion_jkl else None,
        converged=all(fit.converged for fit in fits),
        n_iter=max(fit.n_iter for fit in fits),
    )


def _confusion(fit: Fit) -> FloatArray | None:
    """One matrix per worker, as the fit has learned it."""
    return fit.confusion if fit.confusion is not None and fit.confusion.ndim == 3 else None
