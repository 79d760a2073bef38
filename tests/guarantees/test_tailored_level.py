"""Tailored linear inversion keeps its level, and proves about as often as the likelihood ratio supports."""

import numpy as np
import pytest

from majorant.evidence.certificate.count_models import contradictions, flatten, suprema
from majorant.evidence.certificate.independent import ratio_cut
from majorant.evidence.certificate.tailored_inversion import is_proved
from oracles.histograms import Crowd, boundary_nu, clopper_pearson, further_crowds, level_crowds, power_rows
from sizes import many

ALPHA = 0.05
GROUPS = 6


def rates(crowd, runs, seed):
    """How often majority is proved optimal for every number of votes, and how often the likelihood ratio says so.

    Best and nearest models are found for all runs at once; a run whose nearest model stands then costs next to nothing.
    """
    drawn = crowd.draw(runs, np.random.default_rng(seed))
    sizes = list(drawn)
    cells, _ = flatten({h: table[0] for h, table in drawn.items()})
    items_bc = np.concatenate([drawn[h] for h in drawn], axis=1).astype(float)
    best_b1, theta = suprema(cells, items_bc)
    null_bp, nearest = suprema(cells, items_bc, contradictions(sizes))
    supported = int((best_b1[:, 0] - null_bp.max(axis=1) > ratio_cut(1 - ALPHA)).sum())
    proved = 0
    for b in range(runs):
        histograms = {h: table[b].astype(float) for h, table in drawn.items()}
        near = nearest[b].reshape(-1, 2, 3)
        by_danger = np.argsort(-null_bp[b].reshape(-1, 2).max(axis=1))
        proved += all(is_proved(histograms, sizes[s], theta[b, 0], ALPHA, near[s]) for s in by_danger)
    return proved, supported


QUICK = (
    Crowd("asymmetric", boundary_nu(0.7, 0.1, 5, 0.355), 0.7, 0.1, {5: 500}),
    Crowd("symmetric", 0.8, 0.8, 0.2, {7: 3000}),
    Crowd("mixed votes", boundary_nu(0.8, 0.2, 5, 0.9), 0.8, 0.2, {3: 600, 5: 600}),
    Crowd("one class", 1.0, 0.8, 0.2, {3: 10_000}),
    Crowd("uninformative", 0.5, 0.5, 0.5, {4: 1000}),
)


def check_level(crowds, runs, report=None):
    found = []
    for seed, crowd in enumerate(crowds):
        proved, _ = rates(crowd, runs, seed)
        found.append(proved)
        if report:
            report(f"{crowd.name} {crowd.n_items}: falsely proved {proved} of {runs}", flush=True)
        assert clopper_pearson(proved, runs)[0] <= ALPHA, (crowd, proved)
    return np.array(found) / runs


def test_false_proofs_are_rare_at_the_hardest_models():
    check_level(QUICK, runs=many(12, quick=6))


def test_the_check_can_fail():
    with pytest.raises(AssertionError):
        check_level([Crowd("optimal", 0.5, 0.8, 0.2, {7: 1000})], runs=6)


def test_good_crowds_are_proved_with_items_that_the_split_e_value_finds_too_few():
    """Of such crowds the split e-value proves a fifth (certificate-power.csv)."""
    proved, supported = rates(Crowd("", 0.5, 0.8, 0.2, {5: 500}), 10, seed=3)
    assert supported >= 8
    assert proved >= 8


@pytest.mark.long
@pytest.mark.parametrize("group", range(GROUPS))
def test_false_proofs_stay_within_the_level_in_every_cell(group):
    crowds = [*level_crowds(), *further_crowds()]
    assert len(crowds) >= 33 + 20
    assert check_level(crowds[group::GROUPS], runs=500, report=print).mean() <= ALPHA


@pytest.mark.long
@pytest.mark.parametrize("group", range(GROUPS))
def test_power_is_near_that_of_the_likelihood_ratio_and_above_that_of_the_split_e_value(group):
    runs, printed_runs = 100, 100
    for seed, (crowd, split_power, _) in list(enumerate(power_rows()))[group::GROUPS]:
        proved, supported = rates(crowd, runs, seed)
        print(crowd.name, crowd.n_items, f"proved {proved}, supported {supported} of {runs}", flush=True)
        # Few items cost inversion more: its bounds of nuisance parameters are wide then.
        share = 0.6 if crowd.n_items[max(crowd.n_items)] < 1000 else 0.85
        assert proved >= share * supported - 2 * np.sqrt(supported * (1 - supported / runs))
        pooled = np.clip((proved + split_power * printed_runs) / (runs + printed_runs), 0.005, 0.995)
        error = np.sqrt(pooled * (1 - pooled) * (1 / runs + 1 / printed_runs))
        assert proved / runs >= split_power - 2 * error, (crowd, proved)
