"""The statements of "The Majority Vote Paradigm Shift", by number, as printed and as corrected.

A name that ends in `_printed`, `_text` or `_appendix` follows the paper to the letter, one that ends in `_code` its
published code; the name without a suffix is the correct statement.  paper/errata.md explains the differences.
For the exact conditions themselves use `majorant.theory`; this package is for reproducing and checking the paper.
"""

from majorant.theory.paper.appendix import (
    corollary_one_parameter,
    corollary_one_parameter_exceeds,
    expected_majority_rates,
    expected_map_rates,
    lemma_rate_exceeds,
)
from majorant.theory.paper.bounds import (
    anchor_limit,
    chi,
    estimated_map_loss,
    estimated_map_loss_printed,
    lipschitz,
    lipschitz_f_printed,
    lipschitz_h_printed,
    prior_error,
    prior_error_printed,
    prior_from_shares,
    prior_from_shares_printed,
)
from majorant.theory.paper.conditions import (
    multiclass_condition,
    multiclass_condition_printed,
    theorem_3_3,
    theorem_3_4,
    theorem_3_4_code,
)
from majorant.theory.paper.estimated import (
    BoxCheck,
    FalseAsPrinted,
    PrintedCheck,
    theorem_3_5,
    theorem_3_5_confidence,
    theorem_3_5_confidence_code,
    theorem_3_5_confidence_text,
    theorem_3_5_printed,
    theorem_3_5_within,
)
from majorant.theory.paper.lemmas import (
    lemma_3_1,
    lemma_3_2,
    lemma_3_2_appendix,
    lemma_3_2_text,
    two_category_majority,
    two_category_majority_printed,
    two_category_map,
    two_category_map_printed,
)
from majorant.theory.paper.notation import delta, rho, vote_threshold
from majorant.theory.paper.relaxed import (
    perturbed_sigma,
    perturbed_sigma_code,
    perturbed_sigma_mended,
    perturbed_sigma_printed,
    two_category_condition,
    two_category_condition_code,
)
from majorant.theory.window import Window

__all__ = [
    "BoxCheck",
    "FalseAsPrinted",
    "PrintedCheck",
    "Window",
    "anchor_limit",
    "chi",
    "corollary_one_parameter",
    "corollary_one_parameter_exceeds",
    "delta",
    "estimated_map_loss",
    "estimated_map_loss_printed",
    "expected_majority_rates",
    "expected_map_rates",
    "lemma_3_1",
    "lemma_3_2",
    "lemma_3_2_appendix",
    "lemma_3_2_text",
    "lemma_rate_exceeds",
    "lipschitz",
    "lipschitz_f_printed",
    "lipschitz_h_printed",
    "multiclass_condition",
    "multiclass_condition_printed",
    "perturbed_sigma",
    "perturbed_sigma_code",
    "perturbed_sigma_mended",
    "perturbed_sigma_printed",
    "prior_error",
    "prior_error_printed",
    "prior_from_shares",
    "prior_from_shares_printed",
    "rho",
    "theorem_3_3",
    "theorem_3_4",
    "theorem_3_4_code",
    "theorem_3_5",
    "theorem_3_5_confidence",
    "theorem_3_5_confidence_code",
    "theorem_3_5_confidence_text",
    "theorem_3_5_printed",
    "theorem_3_5_within",
    "two_category_condition",
    "two_category_condition_code",
    "two_category_majority",
    "two_category_majority_printed",
    "two_category_map",
    "two_category_map_printed",
    "vote_threshold",
]
