"""Exact mathematics of majority vote and the optimal rule: small arrays in, numbers out."""

from types import FunctionType

from majorant.arguments import validated
from majorant.theory.accuracy import (
    crew_accuracy,
    crew_gap,
    gap,
    majority_accuracy,
    majority_confusion,
    map_accuracy,
    map_confusion,
)
from majorant.theory.approximate import (
    crew_accuracy_bracket,
    estimate_accuracy,
    estimate_crew_accuracy,
    estimate_crew_gap,
    estimate_gap,
)
from majorant.theory.checks import Bracket
from majorant.theory.describe import Description, describe, describe_crew
from majorant.theory.margin import (
    Witness,
    majority_margin,
    majority_margins,
    majority_witness,
    uniform_noise_margin,
    verdict,
)
from majorant.theory.panel import crew_margin, crew_witness
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

__all__ = [
    "Bracket",
    "Description",
    "OptimalVotes",
    "Region",
    "Witness",
    "accuracy_region",
    "central_cells_criterion",
    "crew_accuracy",
    "crew_accuracy_bracket",
    "crew_gap",
    "crew_margin",
    "crew_witness",
    "describe",
    "describe_crew",
    "estimate_accuracy",
    "estimate_crew_accuracy",
    "estimate_crew_gap",
    "estimate_gap",
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
    "perturbation_radius",
    "uniform_noise_margin",
    "verdict",
]

for _name in __all__:
    if isinstance(globals()[_name], FunctionType):
        globals()[_name] = validated(globals()[_name])
        globals()[_name].__module__ = __name__  # where it can be found again, as pickle asks
