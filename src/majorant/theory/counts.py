"""Whether majority vote is optimal, read off the distribution of vote counts with nothing fitted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from majorant.errors import ConfigError


def central_cells_criterion(share: ArrayLike) -> float:
    """Positive iff majority vote is optimal, given how items are spread over 0..H votes for class 0; H odd, >= 3.

    Two classes, independent votes of one shared confusion matrix that inform (T00 + T11 > 1).  Shares or numbers of
    items will do.  Exact for the true distribution; on a sample it is an estimate with no error bar.  Its size is
    the smaller of two log-ratios, not a margin: only the sign says something.  Proof: docs/theory/counts.md.

    >>> share = [.7 * .2**3 + .3 * .9**3, 3 * (.7 * .8 * .2**2 + .3 * .1 * .9**2),
    ...          3 * (.7 * .8**2 * .2 + .3 * .1**2 * .9), .7 * .8**3 + .3 * .1**3]
    >>> round(central_cells_criterion(share), 3)
    0.035
    """
    share_k = np.asarray(share, dtype=float)
    if share_k.ndim != 1 or len(share_k) < 4 or len(share_k) % 2:
        raise ConfigError(
            f"share must list 0..H votes for class 0 with H odd and at least 3, not shape {share_k.shape}."
        )
    bad = np.flatnonzero(~((share_k >= 0) & (share_k < np.inf)))
    if len(bad):
        raise ConfigError(f"share[{bad[0]}] is {share_k[bad[0]]:g}: a share of items must be at least 0 and finite.")
    most = len(share_k) // 2
    # Only the ratio of the outer to the inner binomial coefficients matters, here (m - 1) / (m + 1).
    q0, q1, q2, q3 = share_k[most - 2 : most + 2] / share_k.max(initial=1e-300)
    q0, q3 = (q * (most + 1) / (most - 1) for q in (q0, q3))
    return min(
        _log_ratio(q0 * q2 * q3 + q1 * q2**2, 2 * q1**2 * q3), _log_ratio(q0 * q1 * q3 + q1**2 * q2, 2 * q2**2 * q0)
    )


def _log_ratio(above: float, below: float) -> float:
    """log(above / below), and 0 where both are 0: two empty sides are the boundary."""
    with np.errstate(divide="ignore"):
        return 0.0 if above == below else float(np.log(above) - np.log(below))
