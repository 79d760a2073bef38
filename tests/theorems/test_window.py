"""docs/theory/majority.md: the paper's window f < g < h, for odd and even numbers of votes."""

import numpy as np
import pytest

from majorant.errors import ConfigError
from majorant.theory import window
from oracles import margins as oracle
from sizes import many


@pytest.mark.parametrize("n_votes", range(1, 10))
def test_the_window_holds_iff_no_untied_pattern_is_decided_wrongly(n_votes):
    rng = np.random.default_rng(n_votes)
    prior_bk, confusion_bkl = oracle.draw_models(rng, many(1_000), 2)
    margin_b = oracle.shared_margin(prior_bk, confusion_bkl, n_votes)
    found = [window(prior, confusion, n_votes) for prior, confusion in zip(prior_bk, confusion_bkl, strict=True)]
    clear_b = np.abs(margin_b) > 1e-9
    assert (np.array([one.holds for one in found]) == (margin_b > 0))[clear_b].all()
    with np.errstate(divide="ignore", over="ignore"):
        nearest_b = [np.log(min(one.value / one.lower, one.upper / one.value)) for one in found]
    np.testing.assert_allclose(np.array(nearest_b)[margin_b > 0], margin_b[margin_b > 0], atol=1e-9)


def test_models_that_the_window_divides_by_zero_for_are_refused():
    with pytest.raises(ConfigError, match="majority_margin"):
        window([0.5, 0.5], [[1, 0], [0.2, 0.8]], 3)
    with pytest.raises(ConfigError, match="two classes"):
        window([0.5, 0.3, 0.2], np.eye(3), 3)
