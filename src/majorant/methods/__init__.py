"""Methods that turn votes into labels.

One method, or one family, per file: a frozen dataclass of settings with `fit(votes) -> Fit` and its `Traits`. `em.py`
is the loop that the models share, `tables.py` the pass over the votes, `online.py` the update of a fit by new votes.
May import theory, votes and kernels; imported by backends and everything above them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from majorant.errors import ConfigError
from majorant.methods.agreement_weights import IWMV, Wawa, ZeroBasedSkill
from majorant.methods.bwa import BWA
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.ebcc import EBCC
from majorant.methods.fit import Estimator, Fit, Traits
from majorant.methods.glad import GLAD
from majorant.methods.hierarchical import Hierarchical
from majorant.methods.iaa import IAA
from majorant.methods.ibcc import IBCC
from majorant.methods.known_workers import AnchorMap, GivenMap, NitzanParoush
from majorant.methods.la import LaOnePass, LaTwoPass
from majorant.methods.mace import MACE
from majorant.methods.majority import Majority
from majorant.methods.one_coin import OneCoin
from majorant.methods.online import State, update
from majorant.methods.shared import SharedConfusion
from majorant.methods.state_file import load_state, save_state
from majorant.methods.two_class import KOS, Spectral, Triplet

__all__ = [
    "ESTIMATORS",
    "Estimator",
    "Fit",
    "State",
    "Traits",
    "estimator_named",
    "load_state",
    "method_named",
    "save_state",
    "update",
]

METHODS: tuple[type[Estimator], ...] = (
    GivenMap,
    AnchorMap,
    Majority,
    NitzanParoush,
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
    Wawa,
    ZeroBasedSkill,
)
ESTIMATORS: dict[str, type[Estimator]] = {method.name: method for method in METHODS}
METHOD_ALIASES = {
    "mv": "majority",
    "vote": "majority",
    "majorityvote": "majority",
    "majorityvoting": "majority",
    "ds": "dawid-skene",
    "dawidandskene": "dawid-skene",
    "em": "dawid-skene",
    "weightedmajority": "nitzan-paroush",
    "wmv": "nitzan-paroush",
    "onecoindawidskene": "one-coin",
    "zc": "one-coin",
    "zencrowd": "one-coin",
    "zbs": "zero-based-skill",
    "hds": "hierarchical",
    "mmsr": "spectral",
    "worker": "hierarchical",
    "workeragreementwithaggregate": "wawa",
}


def estimator_named(method: str, *, beside: Iterable[str] = ()) -> type[Estimator]:
    """Look up a method by name. The error for an unknown name lists all methods after the names in `beside`."""
    return ESTIMATORS[method_named(method, beside=beside)]


def method_named(method: str, *, beside: Iterable[str] = ()) -> str:
    """Canonical name of a method.

    >>> method_named("DawidSkene"), method_named("ds"), method_named("majority_vote")
    ('dawid-skene', 'dawid-skene', 'majority')
    >>> method_named("david-skene")
    Traceback (most recent call last):
    ...
    majorant.errors.ConfigError: There is no method 'david-skene'. Did you mean dawid-skene? ...
    """
    names = [*beside, *ESTIMATORS]
    if method in names:
        return method
    known = {_bare(name): name for name in names} | {n: m for n, m in METHOD_ALIASES.items() if m in ESTIMATORS}
    if _bare(str(method)) in known:
        return known[_bare(str(method))]
    close = get_close_matches(_bare(str(method)), known, n=1)
    hint = f"Did you mean {known[close[0]]}? " if close else ""
    raise ConfigError(f"There is no method {method!r}. {hint}Choose one of: {', '.join(names)}.")


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()
