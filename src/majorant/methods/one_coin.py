"""One coin: each worker is right with one probability, whatever the class, and wrong evenly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from majorant.kernels import shares
from majorant.methods.online import OnlineModel
from majorant.methods.tables import ExpectedCounts, Tables, coin_confusions, confusion_tables
from majorant.values import FloatArray


class CoinParams(NamedTuple):
    """P(right) and P(wrong) of each worker, (J, 2), and the probability of each class, (K,)."""

    coin_j2: FloatArray
    prior_k: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class OneCoin(OnlineModel):
    """Worker j is right with probability `skill[j]` and else gives any wrong label alike; MAP by EM from vote shares.

    `smoothing` imaginary right and wrong votes of each worker and items of each class are a prior; 0 is maximum
    likelihood.  With a symmetric prior this is the model in which weighted majority vote is optimal.

    >>> from majorant.votes import Votes
    >>> votes = Votes.from_codes([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [1, 1, 0, 0, 0, 0], items="ab", workers="xyz",
    ...                          labels=("no", "yes"))
    >>> OneCoin().fit(votes).labels()
    ['yes', 'no']
    """

    name: ClassVar[str] = "one-coin"

    smoothing: float = 0.01

    def tables(self, params: CoinParams) -> Tables:
        """Log-probabilities of each vote under each class."""
        return confusion_tables(coin_confusions(params.coin_j2[:, 0], len(params.prior_k)), params.prior_k)

    def m_step(self, counts: ExpectedCounts, params: CoinParams | None) -> CoinParams:  # noqa: ARG002
        """Shares of the expected right and wrong votes, smoothed."""
        right_j = np.einsum("jkk->j", counts.votes_jgl)
        wrong_j = np.maximum(counts.votes_jgl.sum(axis=(1, 2)) - right_j, 0.0)
        coin_j2 = shares(np.stack([right_j, wrong_j], axis=1) + self.smoothing)
        return CoinParams(coin_j2, shares(counts.items_g + self.smoothing))

    def log_prior(self, params: CoinParams, tables: Tables) -> float:  # noqa: ARG002
        """The log-density of the Beta and Dirichlet priors, up to a constant."""
        if self.smoothing == 0:
            return 0.0
        return self.smoothing * float(np.log(params.coin_j2).sum() + np.log(params.prior_k).sum())

    def learned(self, params: CoinParams) -> dict[str, Any]:
        """What a Fit says of the parameters."""
        skill_j, prior_k = params.coin_j2[:, 0], params.prior_k
        return {"skill": skill_j, "confusion": coin_confusions(skill_j, len(prior_k)), "prior": prior_k}
