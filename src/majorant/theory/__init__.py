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
from majorant.theory.approximate import (
    estimate_accuracy,
    estimate_gap,
    estimate_panel_accuracy,
    estimate_panel_gap,
    panel_accuracy_bracket,
)
from majorant.theory.checks import Bracket
from majorant.theory.describe import Description, describe, describe_panel
from majorant.theory.margin import (
    Witness,
    majority_margin,
    majority_margins,
    majority_witness,
    uniform_noise_margin,
    verdict,
)
from majorant.theory.panel import panel_margin, panel_witness
from majorant.theory.patterns import central_cells_criterion
from majorant.theory.two_class import (
    OptimalVotes,
    Region,
    accuracy_region,
    handicap,
    one_coin_region,
    optimal_votes,
    perturbation_radius,
)

# Former names of the panel functions.
crew_accuracy, crew_accuracy_bracket, crew_gap = panel_accuracy, panel_accuracy_bracket, panel_gap
crew_margin, crew_witness, describe_crew = panel_margin, panel_witness, describe_panel
estimate_crew_accuracy, estimate_crew_gap = estimate_panel_accuracy, estimate_panel_gap

__all__ = [
    "Bracket",
    "Description",
    "OptimalVotes",
    "Region",
    "Witness",
    "accuracy_region",
    "central_cells_criterion",
    "describe",
    "describe_panel",
    "estimate_accuracy",
    "estimate_gap",
    "estimate_panel_accuracy",
    "estimate_panel_gap",
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
    "panel_accuracy_bracket",
    "panel_gap",
    "panel_margin",
    "panel_witness",
    "perturbation_radius",
    "uniform_noise_margin",
    "verdict",
]

for _name in __all__:
    if isinstance(globals()[_name], FunctionType):
        globals()[_name] = validated(globals()[_name])
        globals()[_name].__module__ = __name__  # where pickle can find it
