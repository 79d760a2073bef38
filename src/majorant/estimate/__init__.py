"""From votes to labels: one method a file, all with `fit(votes) -> Fit`."""

from __future__ import annotations

from majorant.estimate.bwa import BWA
from majorant.estimate.dawid_skene import DawidSkene
from majorant.estimate.ebcc import EBCC
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.glad import GLAD
from majorant.estimate.hierarchical import Hierarchical
from majorant.estimate.ibcc import IBCC
from majorant.estimate.mace import MACE
from majorant.estimate.majority import Majority
from majorant.estimate.one_coin import OneCoin
from majorant.estimate.shared import SharedConfusion

METHODS: tuple[type[Estimator], ...] = (
    Majority,
    DawidSkene,
    Hierarchical,
    OneCoin,
    SharedConfusion,
    GLAD,
    MACE,
    BWA,
    IBCC,
    EBCC,
)
ESTIMATORS: dict[str, type[Estimator]] = {method.name: method for method in METHODS}

__all__ = ["ESTIMATORS", "Estimator", "Fit"]
