"""From votes to labels: one method a file, all with `fit(votes) -> Fit`."""

from __future__ import annotations

from majorant.estimate.anchor_map import AnchorMap
from majorant.estimate.dawid_skene import DawidSkene
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.given_map import GivenMap
from majorant.estimate.iaa import Iaa
from majorant.estimate.iwmv import Iwmv
from majorant.estimate.kos import Kos
from majorant.estimate.la_one_pass import LaOnePass
from majorant.estimate.la_two_pass import LaTwoPass
from majorant.estimate.majority import Majority
from majorant.estimate.online import State, load_state, save_state, update
from majorant.estimate.spectral import Spectral
from majorant.estimate.spectral_em import SpectralEm
from majorant.estimate.triplet import Triplet
from majorant.estimate.wawa import Wawa
from majorant.estimate.weighted_majority import WeightedMajority
from majorant.estimate.zero_based_skill import ZeroBasedSkill

ESTIMATORS: dict[str, type[Estimator]] = {
    estimator.name: estimator
    for estimator in (
        GivenMap,
        AnchorMap,
        Majority,
        WeightedMajority,
        DawidSkene,
        Iwmv,
        LaOnePass,
        LaTwoPass,
        Iaa,
        Triplet,
        Kos,
        Spectral,
        SpectralEm,
        Wawa,
        ZeroBasedSkill,
    )
}

__all__ = ["ESTIMATORS", "Estimator", "Fit", "State", "load_state", "save_state", "update"]
