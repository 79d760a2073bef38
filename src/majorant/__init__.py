"""Is plain majority vote already the best possible rule for your votes?

Public names are imported when they are first used, so that `import majorant` is quick.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from majorant.version import __version__

if TYPE_CHECKING:
    from majorant import datasets as datasets
    from majorant import theory as theory
    from majorant.ask.ask import ask as ask
    from majorant.errors import ConfigError as ConfigError
    from majorant.errors import DataError as DataError
    from majorant.errors import DataNote as DataNote
    from majorant.errors import NotIdentified as NotIdentified
    from majorant.evidence.certificate.anonymous import certify_counts as certify_counts
    from majorant.evidence.certificate.claims import certify as certify
    from majorant.methods import ESTIMATORS as ESTIMATORS
    from majorant.methods import Fit as Fit
    from majorant.methods import load_rule as load_rule
    from majorant.pipeline import aggregate as aggregate
    from majorant.pipeline import check as check
    from majorant.pipeline import workers as workers
    from majorant.read import from_matrix as from_matrix
    from majorant.read import read as read
    from majorant.render.html import figure as figure
    from majorant.render.html import report as report
    from majorant.results.accept import accept as accept
    from majorant.results.agreement import agreement as agreement
    from majorant.results.agreement.scores import scores as scores
    from majorant.results.comparison import compare as compare
    from majorant.results.judges import judges as judges
    from majorant.results.plan import plan as plan
    from majorant.results.rank import rank as rank
    from majorant.results.rates import rate as rate
    from majorant.results.result import Result as Result
    from majorant.simulate import simulate as simulate
    from majorant.votes import Votes as Votes

_HOME = {
    "ConfigError": "errors",
    "DataError": "errors",
    "DataNote": "errors",
    "ESTIMATORS": "methods",
    "Fit": "methods",
    "NotIdentified": "errors",
    "Result": "pipeline",
    "Votes": "votes",
    "accept": "results.accept",
    "aggregate": "pipeline",
    "agreement": "results.agreement",
    "ask": "ask.ask",
    "certify": "evidence.certificate.claims",
    "certify_counts": "evidence.certificate.anonymous",
    "check": "pipeline",
    "compare": "results.comparison",
    "figure": "render.html",
    "from_matrix": "read",
    "judges": "results.judges",
    "load_rule": "methods",
    "plan": "results.plan",
    "rank": "results.rank",
    "rate": "results.rates",
    "read": "read",
    "report": "render.html",
    "scores": "results.agreement.scores",
    "simulate": "simulate",
    "theory": None,
    "workers": "pipeline",
}
__all__ = [*_HOME, "__version__"]


def _late(name: str, home: str | None) -> property:
    """A property that imports a public name when it is used.

    Importing a submodule makes Python assign it to an attribute of the package. A property ignores that, so
    `majorant.simulate` remains the function although a submodule has the same name.
    """

    def fetch(package: ModuleType) -> Any:  # noqa: ARG001
        if home is None:
            return importlib.import_module(f"majorant.{name}")
        value = getattr(importlib.import_module(f"majorant.{home}"), name)
        return _checked(value) if isinstance(value, FunctionType) else value

    def keep(package: ModuleType, module: Any) -> None:
        """Ignore the assignment of a submodule with that name."""

    return property(fetch, keep)


@cache
def _checked(function: FunctionType) -> Any:
    """The function with its arguments checked first."""
    from majorant.arguments import validated

    checked = validated(function)
    checked.__module__ = __name__  # where pickle can find it
    return checked


class _Package(ModuleType):
    """This package, with its public names as properties."""

    def __dir__(self) -> list[str]:
        return sorted(__all__)


for _name, _home in _HOME.items():
    setattr(_Package, _name, _late(_name, _home))
_Package.datasets = _late("datasets", None)  # type: ignore[attr-defined]
sys.modules[__name__].__class__ = _Package

from majorant import display, errors  # noqa: E402 (the package must be complete)


def _render(name: str) -> Any:
    """A function of `render`, such as "html.report"."""
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(f"majorant.render.{module}"), function)


display.find_with(_render)
errors.DataNote.spell = staticmethod(lambda note: display.show("notes.note_text", note))
