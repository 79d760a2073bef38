"""From votes to labels: one method a file, all with `fit(votes) -> Fit`."""

from __future__ import annotations

from collections.abc import Iterable

from majorant.errors import ConfigError
from majorant.estimate.anchor_map import AnchorMap
from majorant.estimate.bwa import BWA
from majorant.estimate.dawid_skene import DawidSkene
from majorant.estimate.ebcc import EBCC
from majorant.estimate.fit import Estimator, Fit
from majorant.estimate.given_map import GivenMap
from majorant.estimate.glad import GLAD
from majorant.estimate.hierarchical import Hierarchical
from majorant.estimate.iaa import IAA
from majorant.estimate.ibcc import IBCC
from majorant.estimate.iwmv import IWMV
from majorant.estimate.kos import KOS
from majorant.estimate.la_one_pass import LaOnePass
from majorant.estimate.la_two_pass import LaTwoPass
from majorant.estimate.mace import MACE
from majorant.estimate.majority import Majority
from majorant.estimate.one_coin import OneCoin
from majorant.estimate.online import State, polish, update
from majorant.estimate.shared import SharedConfusion
from majorant.estimate.spectral import Spectral
from majorant.estimate.spectral_em import SpectralEm
from majorant.estimate.state_file import load_state, save_state
from majorant.estimate.triplet import Triplet
from majorant.estimate.wawa import Wawa
from majorant.estimate.weighted_majority import WeightedMajority
from majorant.estimate.zero_based_skill import ZeroBasedSkill

METHODS: tuple[type[Estimator], ...] = (
    GivenMap,
    AnchorMap,
    Majority,
    WeightedMajority,
    DawidSkene,
    Hierarchical,
    OneCoin,
    SharedConfusion,
    GLAD,
    MACE,
    IWMV,
    BWA,
    IBCC,
    EBCC,
    LaOnePass,
    LaTwoPass,
    IAA,
    Triplet,
    KOS,
    Spectral,
    SpectralEm,
    Wawa,
    ZeroBasedSkill,
)
ESTIMATORS: dict[str, type[Estimator]] = {method.name: method for method in METHODS}

__all__ = ["ESTIMATORS", "Estimator", "Fit", "State", "estimator_named", "load_state", "polish", "save_state", "update"]


def estimator_named(method: str, *, beside: Iterable[str] = ()) -> type[Estimator]:
    """The estimator of that name; the error lists all, after what the caller takes `beside` them."""
    if method not in ESTIMATORS:
        raise ConfigError(f"There is no method {method!r}. Choose one of: {', '.join([*beside, *ESTIMATORS])}.")
    return ESTIMATORS[method]
