"""A model and rng -> votes and the truth; and crews, the confusions of workers who differ."""

from majorant.simulate.crews import grouped_crew, mixed_crew, one_coin_crew, perturbed_crew
from majorant.simulate.crowd import Simulation, simulate

__all__ = ["Simulation", "grouped_crew", "mixed_crew", "one_coin_crew", "perturbed_crew", "simulate"]
