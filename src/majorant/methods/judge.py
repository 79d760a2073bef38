"""A single judge as a rule: whatever that judge says, and majority vote where the judge is silent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from majorant.methods.fit import Fit
from majorant.methods.majority import Majority
from majorant.votes import Votes


def fit_judge(votes: Votes, judge: int) -> Fit:
    """The rule that follows one judge.

    >>> votes = Votes.from_codes([0, 0, 0, 1], [0, 1, 2, 1], [0, 0, 1, 1], items="ab", workers="xyz", labels="ny")
    >>> fit_judge(votes, 2).labels()
    ['y', 'y']
    """
    majority = Majority().fit(votes)
    posterior_ik = np.array(majority.posterior)
    said = votes.worker_n == judge
    posterior_ik[votes.item_n[said]] = np.eye(len(votes.labels))[votes.label_n[said]]
    return replace(majority, method=str(votes.workers[judge]), posterior=posterior_ik)
