"""The exact tail of a sum of whole-number weights, and its derivatives, by a finite Fourier sum.

The sum W of all items' weights is a whole number, so `P(W mod M in a run of residues)` is a sum over M frequencies,
with no error but rounding.  It is the probability of an event, which holds `W >= target` but for what lies beyond the
run; nothing is smoothed, truncated or integrated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from majorant.certify.anonymous.tailored.null import Null
from majorant.theory.checks import FloatArray

ABOVE, BELOW = 7.0, 8.0  # standard deviations of W that the run holds above the target, and the cycle below it
FAINT = -40.0  # log of a characteristic function too small to count
ROUNDING, ROUNDING_PER_ITEM = 1e-8, 1e-13  # above what 64-bit arithmetic and faint frequencies can take away


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Residues target .. target + length - 1 of a cycle."""

    target: int
    length: int
    cycle: int  # odd

    @property
    def ends(self) -> tuple[int, int]:
        """The first residue, and the first after the last."""
        return self.target % self.cycle, (self.target + self.length) % self.cycle


def run_from(target: float, spread: float) -> Run:
    """A run from the target on, for a sum of this standard deviation.

    >>> run_from(10, 2.0)
    Run(target=10, length=14, cycle=31)
    """
    length = int(np.ceil(ABOVE * spread))
    return Run(int(target), length, 2 * ((length + int(np.ceil(BELOW * spread))) // 2) + 1)


def run_probability(
    null: Null, cell_bc: FloatArray, score_bic: FloatArray, weight_c: FloatArray, run: Run
) -> tuple[FloatArray, FloatArray]:
    """P(W mod cycle in the run) for the models b, rounded up, and its derivatives in the model's parameters (B, 3)."""
    number_f = np.arange(1, run.cycle // 2 + 1, dtype=np.int64)
    turn_f = np.asarray(2 * np.pi / run.cycle * number_f)
    loud = _audible(null, cell_bc, weight_c, run.cycle)
    number_f, turn_f = number_f[loud], turn_f[loud]
    wave_cf = np.exp(1j * weight_c[:, None] * turn_f)
    total_g, log_bf = null.items_c @ null.group_cg, np.zeros((len(cell_bc), len(turn_f)), dtype=complex)
    pull_bif = np.zeros((*score_bic.shape[:2], len(turn_f)), dtype=complex)
    for g, total in enumerate(total_g):
        mine = null.group_cg[:, g] > 0
        phi_bf = cell_bc[:, mine] @ wave_cf[mine] + 1e-300
        log_bf += total * np.log(phi_bf)
        pull_bif += total * ((cell_bc[:, None] * score_bic)[:, :, mine] @ wave_cf[mine]) / phi_bf[:, None]
    # Whole turns are left out before the multiplication by pi: a large target would cost digits.
    first_f, last_f = (np.exp(-2j * np.pi / run.cycle * (number_f * at % run.cycle)) for at in run.ends)
    run_f = (first_f - last_f) / (1 - np.exp(-1j * turn_f))
    part_bf = np.exp(log_bf) * run_f
    value_b = (run.length + 2 * part_bf.real.sum(axis=1)) / run.cycle
    slope_bi = 2 * np.einsum("bf,bif->bi", part_bf, pull_bif).real / run.cycle
    return value_b + ROUNDING + ROUNDING_PER_ITEM * null.n_items, slope_bi


def _audible(null: Null, cell_bc: FloatArray, weight_c: FloatArray, cycle: int) -> NDArray[np.bool_]:
    """Which frequencies any of the models can have: |phi| differs from that of their mean by at most the distance."""
    mean_c, place_c = cell_bc.mean(axis=0), weight_c.astype(np.int64) % cycle
    loud_f = np.zeros(cycle // 2)
    for g, total in enumerate(null.items_c @ null.group_cg):
        mine = null.group_cg[:, g] > 0
        apart = np.abs(cell_bc[:, mine] - mean_c[mine]).sum(axis=1).max()
        law = np.bincount(place_c[mine], weights=mean_c[mine], minlength=cycle)
        phi_f = np.abs(np.fft.rfft(law)[1:]) + apart
        loud_f += total * np.log(np.minimum(phi_f + 1e-300, 1))
    return np.asarray(loud_f > FAINT)
