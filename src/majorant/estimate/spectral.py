"""Spectral skills: the leading vector of the votes (Ghosh et al. 2011) or of the agreements (Dalvi et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError
from majorant.estimate.binary import (
    PairAgreement,
    agreement,
    item_worker,
    leading_vector,
    require_two_classes,
    sign_shares,
    signs,
)
from majorant.estimate.fit import Estimator, Fit, fit_of
from majorant.estimate.weighted import class_shares, item_weights
from majorant.kernels import FloatArray
from majorant.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Spectral(Estimator):
    """Skill from one eigenvector, for two classes, on sparse matrices alone.

    Worker j is right with probability (1 + theta_j) / 2 whatever the class, so that the matrix of signs, items x
    workers, is the truth times theta, and the mean product of two workers' signs is theta_a theta_b, but for noise.
    `variant="dalvi"` takes the leading eigenvector of the latter, scaled to fit: `skill` is theta.  `"ghosh"` takes the
    leading right singular vector of the former, which also grows with a worker's number of votes.  Votes weigh the
    entries; the crowd as a whole is taken to be right more often than wrong, and where that cannot be told all ties.

    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> Spectral().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "spectral"
    classes: ClassVar[int | None] = 2
    needs: ClassVar[str] = "overlap"

    variant: Literal["ghosh", "dalvi"] = "dalvi"

    def __post_init__(self) -> None:
        if self.variant not in ("ghosh", "dalvi"):
            raise ConfigError(f"variant must be ghosh or dalvi, not {self.variant!r}.")

    def fit(self, votes: Votes, *, weights: ArrayLike | None = None) -> Fit:
        """Skills, and the posterior of each item."""
        require_two_classes(self.name, votes)
        weight_i = item_weights(weights, len(votes.items))
        if self.variant == "dalvi":
            skill_j = agreement_skill(agreement(self.name, votes, weight_i))
        else:
            skill_j = singular_skill(votes, weight_i)
        posterior_ik = sign_shares(votes, skill_j[votes.worker_n])
        return fit_of(
            self.name,
            votes,
            posterior=posterior_ik,
            prior=class_shares(posterior_ik, votes, weights),
            skill=skill_j,
        )


def agreement_skill(found: PairAgreement) -> FloatArray:
    """theta whose products theta_a theta_b fit the agreements, along their leading eigenvector."""
    vector_j = leading_vector(lambda value: found.mean_ab @ value, found.mean_ab.shape[0])
    pairs = found.mean_ab.tocoo()
    product_e = vector_j[pairs.row] * vector_j[pairs.col]
    size = float(product_e @ product_e)
    fitted = max(float(product_e @ pairs.data) / size, 0.0) if size > 0 else 0.0
    return np.asarray(vector_j * np.sqrt(fitted))


def singular_skill(votes: Votes, weight_i: FloatArray) -> FloatArray:
    """The leading right singular vector of the matrix of signs, of length 1."""
    sign_ij = item_worker(votes, signs(votes))

    def square(value: FloatArray) -> FloatArray:
        return np.asarray(sign_ij.T @ (weight_i.reshape(-1, *[1] * (value.ndim - 1)) * (sign_ij @ value)))

    return leading_vector(square, len(votes.workers))
