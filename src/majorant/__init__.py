"""Is plain majority vote already the best possible rule for your votes?

The public names are imported when they are first used, so that `import majorant` is quick.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from majorant import theory as theory
    from majorant.agreement import agreement as agreement
    from majorant.agreement.scores import scores as scores
    from majorant.answer.judges import judges as judges
    from majorant.ask import ask as ask
    from majorant.certify.anonymous import certify_counts as certify_counts
    from majorant.claims import certify as certify
    from majorant.errors import ConfigError as ConfigError
    from majorant.errors import DataError as DataError
    from majorant.errors import NotIdentified as NotIdentified
    from majorant.estimate import ESTIMATORS as ESTIMATORS
    from majorant.estimate import Fit as Fit
    from majorant.estimate import load_state as load_state
    from majorant.estimate import polish as polish
    from majorant.estimate import save_state as save_state
    from majorant.estimate import update as update
    from majorant.io import from_matrix as from_matrix
    from majorant.io import read as read
    from majorant.pipeline import Result as Result
    from majorant.pipeline import aggregate as aggregate
    from majorant.pipeline import check as check
    from majorant.plan import plan as plan
    from majorant.plan import plan_model as plan_model
    from majorant.report.html import figure as figure
    from majorant.report.html import report as report
    from majorant.simulate import simulate as simulate
    from majorant.votes import Votes as Votes

__version__ = "0.1.0"

_HOME = {
    "ConfigError": "errors",
    "DataError": "errors",
    "ESTIMATORS": "estimate",
    "Fit": "estimate",
    "NotIdentified": "errors",
    "Result": "pipeline",
    "Votes": "votes",
    "aggregate": "pipeline",
    "agreement": "agreement",
    "ask": "ask",
    "certify": "claims",
    "certify_counts": "certify.anonymous",
    "check": "pipeline",
    "figure": "report.html",
    "from_matrix": "io",
    "judges": "answer.judges",
    "load_state": "estimate",
    "plan": "plan",
    "plan_model": "plan",
    "polish": "estimate",
    "read": "io",
    "report": "report.html",
    "save_state": "estimate",
    "scores": "agreement.scores",
    "simulate": "simulate",
    "theory": None,
    "update": "estimate",
}
__all__ = [*_HOME, "__version__"]


def _late(name: str, home: str | None) -> property:
    """A public name, fetched from its home on use.

    Python binds a submodule to its package when it is first imported; a property keeps `majorant.simulate` the
    function, though a submodule has the same name.
    """

    def fetch(package: ModuleType) -> Any:  # noqa: ARG001
        if home is None:
            return importlib.import_module(f"majorant.{name}")
        return getattr(importlib.import_module(f"majorant.{home}"), name)

    def keep(package: ModuleType, module: Any) -> None:
        """Let the import of a submodule of that name pass."""

    return property(fetch, keep)


class _Package(ModuleType):
    """This package, with its public names as properties."""

    def __dir__(self) -> list[str]:
        return sorted(__all__)


for _name, _home in _HOME.items():
    setattr(_Package, _name, _late(_name, _home))
sys.modules[__name__].__class__ = _Package
