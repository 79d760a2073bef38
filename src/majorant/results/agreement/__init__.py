"""Agreement of workers beyond chance, from counts per item and from tables of pairs of workers.

May import what `results` may; imported by the pipeline and rendering.
"""

from majorant.results.agreement.chance import ChanceCorrected, Coefficient, chance_corrected
from majorant.results.agreement.coefficients import Agreement, PairKappas
from majorant.results.agreement.measure import agreement
from majorant.values import Estimate

__all__ = [
    "Agreement",
    "ChanceCorrected",
    "Coefficient",
    "Estimate",
    "PairKappas",
    "agreement",
    "chance_corrected",
]
