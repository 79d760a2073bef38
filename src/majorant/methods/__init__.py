"""Methods that turn votes into labels.

One method, or one family of methods, per file: a frozen dataclass of settings with `fit(votes) -> Fit` and `Traits`.
`em.py` has the EM loop that models share, `tables.py` the pass over the votes, `saved_rule.py` a fit that labels other
votes.
May import theory, votes and kernels; imported by everything above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum

from majorant.errors import ConfigError
from majorant.limits import BASE, LIMITS
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
from majorant.methods.saved_rule import SavedRule, load_rule
from majorant.methods.shared import SharedConfusion
from majorant.methods.two_class import KOS, Spectral, Triplet
from majorant.votes import Votes

__all__ = [
    "ESTIMATORS",
    "Caveat",
    "Estimator",
    "Fit",
    "SavedRule",
    "Traits",
    "fit_anyway",
    "fit_method",
    "load_rule",
    "method_named",
    "runs_in_blocks",
    "unsuited",
]

ESTIMATORS: dict[str, type[Estimator]] = {
    method.name: method
    for method in (
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
}
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


def method_named(method: str, *, extra: Iterable[str] = ()) -> str:
    """The canonical name of a method; `extra` names are also valid, and come first in the error for an unknown name.

    >>> method_named("DawidSkene"), method_named("ds"), method_named("majority_vote")
    ('dawid-skene', 'dawid-skene', 'majority')
    >>> method_named("david-skene")
    Traceback (most recent call last):
    ...
    majorant.errors.ConfigError: There is no method 'david-skene'. Did you mean dawid-skene? ...
    """
    names = [*extra, *ESTIMATORS]
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


class Caveat(StrEnum):
    """Why a method cannot be used on some votes, or a warning about its fit."""

    TWO_CLASSES_ONLY = "for two classes only"
    NEEDS_MATRICES = "needs confusion matrices"
    NEEDS_GOLD = "needs gold labels"
    TOO_LARGE = "too many workers and classes"
    NOT_IDENTIFIED = "not identified by these votes"
    NOT_CONVERGED = "did not converge"


def unsuited(method: str, votes: Votes) -> Caveat | None:
    """Why a method cannot be used on these votes; None if it can.

    >>> votes = Votes.from_codes([0, 1, 2], [0, 0, 0], [0, 1, 2], items="abc", workers="w", labels="xyz")
    >>> unsuited("kos", votes)
    <Caveat.TWO_CLASSES_ONLY: 'for two classes only'>
    """
    traits = ESTIMATORS[method].traits
    _, n_workers, n_classes = votes.shape
    if traits.classes == 2 and n_classes != 2:
        return Caveat.TWO_CLASSES_ONLY
    if traits.needs == "confusion":
        return Caveat.NEEDS_MATRICES
    if traits.needs == "gold" and not votes.n_gold:
        return Caveat.NEEDS_GOLD
    too_large = n_workers * n_classes**2 * traits.tables_per_worker > LIMITS["METHOD_CELLS"]
    return Caveat.TOO_LARGE if too_large else None


def runs_in_blocks(method: str) -> bool:
    """Whether this is a method that can be fitted to blocks of votes on other machines, from the votes alone."""
    traits = ESTIMATORS[method].traits if method in ESTIMATORS else Traits()
    return traits.distributed and not traits.keeps_items and not traits.needs


def fit_method(method: str, votes: Votes, start: Fit | None = None) -> Fit:
    """Fit a method given by name.

    An iterative method continues from `start`, an earlier fit of the same method and workers to other votes.

    >>> votes = Votes.from_codes([0, 0, 0], [0, 1, 2], [1, 1, 0], items="a", workers="xyz", labels=("no", "yes"))
    >>> fit_method("iwmv", votes).labels()
    ['yes']
    """
    if reason := unsuited(method, votes):
        raise ConfigError(f"{method} cannot be used on these votes: {reason}.")
    return fit_anyway(method, votes, start)


def fit_anyway(method: str, votes: Votes, start: Fit | None = None) -> Fit:
    """Fit a method that may not suit these votes, and then raises its own error; see `fit_method`."""
    estimator = ESTIMATORS[method]
    if not estimator.traits.distributed:
        votes.scratch.need(BASE + 100 * votes.n_votes, f"for {method}, which keeps all votes in memory")
    beginning = {"start": start} if start is not None and estimator.traits.iterative else {}
    return estimator().fit(votes, **beginning)
