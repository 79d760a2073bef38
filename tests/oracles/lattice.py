"""The law of a sum of whole-number weights, by convolution; and all histograms of a few items."""

from itertools import combinations
from math import lgamma

import numpy as np
from scipy.fft import next_fast_len


def one_item(cell_c, weight_c):
    """Lowest value and probabilities of the weight of one item."""
    weight_c = np.asarray(weight_c).astype(int)
    law = np.zeros(weight_c.max() - weight_c.min() + 1)
    np.add.at(law, weight_c - weight_c.min(), cell_c)
    return int(weight_c.min()), law


def law_of_sum(groups):
    """Lowest value and probabilities of the sum over independent items: groups of (cell_c, weight_c, n_items).

    Convolution by FFT over the whole range of the sum: nothing wraps around.
    """
    ones = [(*one_item(cell_c, weight_c), int(n_items)) for cell_c, weight_c, n_items in groups]
    length = 1 + sum((len(law) - 1) * n for _, law, n in ones)
    padded = next_fast_len(length)
    wave = np.prod([np.fft.rfft(law, padded) ** n for _, law, n in ones], axis=0)
    return sum(low * n for low, _, n in ones), np.fft.irfft(wave, padded)[:length]


def tail_of_sum(groups, target):
    """P(sum >= target)."""
    lowest, law = law_of_sum(groups)
    return float(law[max(int(np.ceil(target)) - lowest, 0) :].sum())


def all_histograms(n_items, n_cells):
    """Every way in which n_items items can fall into n_cells cells, one row each."""
    bars = np.array(list(combinations(range(n_items + n_cells - 1), n_cells - 1)))
    edges = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n_items + n_cells - 1)], axis=1)
    return np.diff(edges, axis=1) - 1


def multinomial(histogram_bc, cell_c):
    """The probability of each histogram."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_c = np.where(histogram_bc > 0, histogram_bc * np.log(cell_c), 0.0)
    n_items = histogram_bc[0].sum()
    ways = np.array([lgamma(n_items + 1) - sum(lgamma(n + 1) for n in row) for row in histogram_bc])
    return np.exp(ways + log_c.sum(axis=1))
