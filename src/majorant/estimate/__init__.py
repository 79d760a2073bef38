"""From votes to labels: one method a file, all with `fit(votes) -> Fit`."""

from __future__ import annotations

from majorant.estimate.dawid_skene import DawidSkene
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.majority import Majority

ESTIMATORS: dict[str, type[Estimator]] = {estimator.name: estimator for estimator in (Majority, DawidSkene)}

__all__ = ["ESTIMATORS", "Estimator", "Fit"]
