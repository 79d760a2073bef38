"""The map of where majority vote is optimal."""

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.theory import accuracy_region, majority_margin, one_coin_region
from oracles import margins as oracle
from oracles.golden import two_class

CONFUSION = [[0.7, 0.3], [0.2, 0.8]]


@pytest.mark.parametrize("n_votes", [3, 4])
def test_every_cell_is_the_margin_of_its_model(n_votes):
    region = accuracy_region([0.6, 0.4], n_votes, CONFUSION, grid=21)
    for i, t11 in enumerate(region.y_i):
        prior_bk = np.tile([0.6, 0.4], (len(region.x_j), 1))
        confusion_bkl = np.array([two_class(0.5, t00, t11)[1] for t00 in region.x_j])
        np.testing.assert_allclose(
            region.margin_yx[i], oracle.shared_margin(prior_bk, confusion_bkl, n_votes), atol=1e-11
        )
    assert region.point == (0.7, 0.8)
    assert region.point_margin == majority_margin([0.6, 0.4], CONFUSION, n_votes)


def test_one_coin_region_is_a_triangle_for_any_odd_number_of_votes():
    for n_votes in (1, 3, 21):
        region = one_coin_region(n_votes, grid=101)
        nu_yx, noise_yx = np.meshgrid(region.x_j, region.y_i)
        inside_yx = (noise_yx < nu_yx) & (nu_yx < 1 - noise_yx)
        clear_yx = (np.abs(noise_yx - nu_yx) > 1e-9) & (np.abs(nu_yx - 1 + noise_yx) > 1e-9)
        assert ((region.margin_yx > 0) == inside_yx)[clear_yx].all()
    assert one_coin_region(3, [0.6, 0.4], 0.3, grid=11).point == (0.6, 0.3)
    assert one_coin_region(3, grid=11).point is None


def test_regions_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        accuracy_region([0.6, 0.4], 3, grid=11).margin_yx[0, 0] = 1


def test_only_two_classes_have_a_region():
    with pytest.raises(ConfigError, match="two classes"):
        accuracy_region([0.2, 0.3, 0.5], 3)
