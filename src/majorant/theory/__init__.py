"""Exact mathematics of majority vote and the optimal rule, from small arrays to numbers.

May import `errors`, `values`, `defaults` and `arguments`; anything may import it.
"""

from types import FunctionType

from majorant.arguments import validated
from majorant.theory.accuracy import (
    gap,
    majority_accuracy,
    majority_confusion,
    map_accuracy,
    map_confusion,
    panel_accuracy,
    panel_gap,
)
from majorant.theory.describe import Description, describe, describe_panel
from majorant.theory.margin import (
    Witness,
    majority_margin,
    majority_margins,
    majority_witness,
    verdict,
)
from majorant.theory.panel import panel_margin, panel_witness
from majorant.theory.stopping import stopping_margin
from majorant.theory.two_class import (
    OptimalVotes,
    Region,
    accuracy_region,
    handicap,
    one_coin_region,
    optimal_votes,
    perturbation_radius,
)
from majorant.theory.window import Window, window

__all__ = [
    "Description",
    "OptimalVotes",
    "Region",
    "Window",
    "Witness",
    "accuracy_region",
    "describe",
    "describe_panel",
    "gap",
    "handicap",
    "majority_accuracy",
    "majority_confusion",
    "majority_margin",
    "majority_margins",
    "majority_witness",
    "map_accuracy",
    "map_confusion",
    "one_coin_region",
    "optimal_votes",
    "panel_accuracy",
    "panel_gap",
    "panel_margin",
    "panel_witness",
    "perturbation_radius",
    "stopping_margin",
    "verdict",
    "window",
]

for _name in __all__:
    if isinstance(globals()[_name], FunctionType):
        globals()[_name] = validated(globals()[_name])
        globals()[_name].__module__ = __name__  # where pickle can find it
