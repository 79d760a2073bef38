"""Exact mathematics of majority vote and the optimal rule: small arrays in, numbers out."""

from majorant.theory.counts import central_cells_criterion
from majorant.theory.crew import crew_margin, crew_witness
from majorant.theory.margin import majority_margin, majority_margins, majority_witness, uniform_noise_margin
from majorant.theory.perturbation import perturbation_radius
from majorant.theory.region import Region, accuracy_region, one_coin_region
from majorant.theory.two_class import OptimalVotes, handicap, optimal_votes
from majorant.theory.witness import Witness, verdict

__all__ = [
    "OptimalVotes",
    "Region",
    "Witness",
    "accuracy_region",
    "central_cells_criterion",
    "crew_margin",
    "crew_witness",
    "handicap",
    "majority_margin",
    "majority_margins",
    "majority_witness",
    "one_coin_region",
    "optimal_votes",
    "perturbation_radius",
    "uniform_noise_margin",
    "verdict",
]
