"""Chance-corrected agreement equals irrCAC 0.4.4 (values and standard errors) and statsmodels on small tables."""

import numpy as np
import pytest

from majorant.errors import ConfigError, DataError
from majorant.results.agreement import chance_corrected

RATINGS = """
4 3 2 -
- 1 1 1
3 1 1 4
1 1 3 1
4 1 1 4
3 4 4 -
4 3 4 3
2 4 2 3
2 2 1 2
1 1 1 -
2 3 2 2
2 2 2 -
3 4 3 1
- 2 2 3
2 2 3 1
2 1 - 1
3 3 1 3
3 3 2 2
2 1 1 3
1 3 1 1
1 4 2 2
2 2 2 2
4 1 4 4
3 3 4 -
2 4 2 2
"""
VOTES = [
    (i, f"r{j}", int(label))
    for i, row in enumerate(RATINGS.split("\n")[1:-1])
    for j, label in enumerate(row.split())
    if label != "-"
]
EXPECTED = {
    "unweighted": {
        "fleiss": (0.23239, 0.07246),
        "gwet": (0.30508, 0.07228),
        "krippendorff": (0.22832, 0.06801),
        "conger": (0.23704, None),
        "brennan_prediger": (0.29167, 0.07217),
    },
    "linear": {
        "fleiss": (0.25142, 0.08264),
        "gwet": (0.50709, 0.06914),
        "krippendorff": (0.23052, 0.07773),
        "conger": (0.25248, None),
        "brennan_prediger": (0.45, 0.06949),
    },
    "quadratic": {
        "fleiss": (0.26485, 0.11622),
        "gwet": (0.66441, 0.07207),
        "krippendorff": (0.22911, 0.11114),
        "conger": (0.26216, None),
        "brennan_prediger": (0.58667, 0.07898),
    },
    "ordinal": {
        "fleiss": (0.26024, 0.10314),
        "gwet": (0.62257, 0.0709),
        "krippendorff": (0.2296, 0.09808),
        "conger": (0.25883, None),
        "brennan_prediger": (0.54762, 0.07521),
    },
    "radical": {
        "fleiss": (0.24226, 0.07297),
        "gwet": (0.40892, 0.06757),
        "krippendorff": (0.22981, 0.0683),
        "conger": (0.24519, None),
        "brennan_prediger": (0.37131, 0.06695),
    },
    "ratio": {
        "fleiss": (0.28786, 0.11641),
        "gwet": (0.49634, 0.0997),
        "krippendorff": (0.24878, 0.10988),
        "conger": (0.28557, None),
        "brennan_prediger": (0.39982, 0.10996),
    },
}


@pytest.mark.parametrize("weights", EXPECTED)
def test_values_and_standard_errors_are_those_of_irrcac(weights):
    found = chance_corrected(VOTES, weights=weights, classes=[1, 2, 3, 4, 5])
    for name, (value, se) in EXPECTED[weights].items():
        coefficient = getattr(found, name)
        assert coefficient.value == pytest.approx(value, abs=6e-6)
        if se is not None:
            assert coefficient.se == pytest.approx(se, abs=6e-6)
            assert coefficient.low < coefficient.value < coefficient.high
            assert 0 <= coefficient.p < 0.06


def test_a_table_of_counts_gives_what_the_votes_give():
    counts = {
        label: [sum(i == n and said == label for n, _, said in VOTES) for i in range(25)] for label in (1, 2, 3, 4)
    }
    by_counts, by_votes = chance_corrected(counts, weights="linear"), chance_corrected(VOTES, weights="linear")
    assert by_counts.fleiss == by_votes.fleiss
    assert by_counts.conger.value is None


def test_conger_is_cohen_for_two_workers():
    both = [vote for vote in VOTES if vote[1] in ("r0", "r1")]
    items = {i for i, worker, _ in both if worker == "r0"} & {i for i, worker, _ in both if worker == "r1"}
    both = [vote for vote in both if vote[0] in items]
    sklearn = pytest.importorskip("sklearn.metrics")
    first, second = ([label for i, w, label in sorted(both) if w == worker] for worker in ("r0", "r1"))
    for weights in ("unweighted", "linear", "quadratic"):
        expected = sklearn.cohen_kappa_score(first, second, weights=None if weights == "unweighted" else weights)
        assert chance_corrected(both, weights=weights).conger.value == pytest.approx(expected)


def test_own_weights_and_invalid_ones():
    own = chance_corrected(VOTES, weights=np.eye(4))
    assert own.gwet == chance_corrected(VOTES).gwet
    with pytest.raises(ConfigError, match="1 on its diagonal"):
        chance_corrected(VOTES, weights=np.zeros((4, 4)))
    with pytest.raises(ConfigError, match="one of unweighted, linear"):
        chance_corrected(VOTES, weights="cubic")
    with pytest.raises(ConfigError, match="every label"):
        chance_corrected(VOTES, classes=[1, 2, 3])
    with pytest.raises(DataError, match="no item has two votes"):
        chance_corrected([("a", "u", 1), ("b", "u", 2)])
