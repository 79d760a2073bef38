"""Randomness is an argument: a seed or a generator; what users call takes seed 0 unless it is given."""

from __future__ import annotations

import numpy as np

from majorant.errors import ConfigError


def as_generator(rng: int | np.random.Generator) -> np.random.Generator:
    """The generator itself, or one from a seed; a missing seed is refused, so that every result can be repeated."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise ConfigError(f"rng must be a whole number of at least 0 or a numpy Generator, not {rng!r}.")
    return np.random.default_rng(rng)


def as_seed(rng: int | np.random.Generator) -> int:
    """One seed for several steps that each start anew: the given one, or one drawn from the generator."""
    generator = as_generator(rng)
    return int(rng) if isinstance(rng, int | np.integer) else int(generator.integers(2**32))
