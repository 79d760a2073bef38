"""The simplex takes the steps of SciPy's."""

import numpy as np
import pytest
from scipy.optimize import minimize

from majorant.results.calibrate import least

BOUNDS = [(-2.0, 3.0), (0.0, 0.5)]
FUNCTIONS = {
    "inside": lambda x: (x[0] - 1) ** 2 + 3 * (x[1] - 0.2) ** 2 + x[0] * x[1],
    "on a bound": lambda x: (x[0] - 5) ** 2 + (x[1] + x[0]) ** 2,
    "in a corner": lambda x: -x[0] + x[1],
    "along a valley": lambda x: 100 * (x[1] - x[0] ** 2 / 4) ** 2 + (1 - x[0]) ** 2,
    "flat": lambda x: 0.0,
    "rough": lambda x: np.sin(9 * x[0]) + np.cos(20 * x[1]) + x[0] ** 2,
}


@pytest.mark.parametrize("start", [[0.0, 0.02], [2.95, 0.5], [-1.0, 0.0]])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_end_is_that_of_scipy(name, start):
    seen = []

    def function(x):
        seen.append(np.array(x))
        return FUNCTIONS[name](x)

    found = least(function, start, BOUNDS, precision=1e-3, value_precision=1e-7)
    options = {"xatol": 1e-3, "fatol": 1e-7}
    wanted = minimize(FUNCTIONS[name], start, method="Nelder-Mead", bounds=BOUNDS, options=options)
    np.testing.assert_allclose(found, wanted.x, atol=1e-12)
    assert len(seen) == wanted.nfev
