"""The nine methods of Table 2, and the significance tests that compare them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from majorant.methods import ESTIMATORS, Estimator, Fit
from majorant.values import FloatArray
from majorant.votes import IntArray, Votes


@dataclass(frozen=True, slots=True)
class Method:
    """A method of Table 2: its letter, its name in the library, and settings that differ from the defaults."""

    letter: str
    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def estimator(self) -> Estimator:
        """The estimator with these settings."""
        return ESTIMATORS[self.name](**self.settings)

    def fit(self, votes: Votes) -> Fit:
        """The fit to these votes."""
        return self.estimator().fit(votes)


# Dawid-Skene without our smoothing: maximum likelihood, as in the program that the paper used.
METHODS = {
    "DS": Method("a", "dawid-skene", {"smoothing": 1e-10, "min_rise": None}),
    "GLAD": Method("b", "glad", {"min_rise": None}),
    "MACE": Method("c", "mace"),
    "IWMV": Method("d", "iwmv"),
    "BWA": Method("e", "bwa"),
    "LA": Method("f", "la-two-pass"),
    "IAA": Method("g", "iaa"),
    "MV": Method("h", "majority"),
}
LEVEL = 0.05


def mcnemar(right_i: FloatArray, other_right_i: FloatArray) -> float:
    """The exact two-sided McNemar test, on the items that only one of two methods has right.

    >>> round(mcnemar(np.array([1, 1, 1, 1, 1, 1, 0]), np.array([0, 0, 0, 0, 0, 0, 0])), 5)
    0.03125
    """
    from scipy.stats import binomtest

    apart = np.asarray(right_i, dtype=bool) != np.asarray(other_right_i, dtype=bool)
    if not apart.any():
        return 1.0
    return float(binomtest(int(np.asarray(right_i, dtype=bool)[apart].sum()), int(apart.sum())).pvalue)


def wilcoxon_on_labels(code_i: IntArray, other_code_i: IntArray) -> float:
    """The paper's test: Wilcoxon's signed ranks of the differences between two methods' label codes (erratum 36).

    >>> wilcoxon_on_labels(np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1]))
    1.0
    """
    from scipy.stats import wilcoxon

    if (code_i == other_code_i).all():
        return 1.0
    return float(wilcoxon(code_i, other_code_i).pvalue)


def letters(p_values: Mapping[str, float]) -> str:
    """The letters of the methods that are significant after Bonferroni correction, in order; a dash for none.

    >>> letters({"DS": 1e-9, "GLAD": .03, "MV": .005})
    'ah'
    """
    found = [METHODS[name].letter for name, p_value in p_values.items() if p_value * len(p_values) < LEVEL]
    return "".join(sorted(found)) or "-"
