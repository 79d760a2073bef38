"""What methods that climb share: their settings, and how they are called; a method adds `fit_prepared`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from majorant.blocks import Engine
from majorant.estimate.em import Prepared, Progress, prepare
from majorant.estimate.fit import Estimator, Fit
from majorant.randomness import as_generator
from majorant.votes import Votes


class Iterative(Estimator):
    """A method that goes over the votes until nothing changes, from the votes alone or from an earlier fit."""

    distributed: ClassVar[bool] = True
    iterative: ClassVar[bool] = True

    def prepare(self, votes: Votes, engine: Engine | None, weights: ArrayLike | None) -> Prepared:
        """The votes as the loop sees them."""
        return prepare(votes, engine, weights, clamp_gold=False)

    def fit(
        self,
        votes: Votes,
        *,
        weights: ArrayLike | None = None,
        start: Fit | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """The answer for these votes; `start` continues from an earlier fit, `progress` hears of every step."""
        return self.fit_prepared(votes, self.prepare(votes, engine, weights), start, progress)

    @abstractmethod
    def fit_prepared(self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None) -> Fit:
        """The method's own part."""


@dataclass(frozen=True, kw_only=True)
class EmSettings:
    """Settings of the loop in em.py, whose objective never falls: as many steps, until no parameter moves by more."""

    distributed: ClassVar[bool] = True
    iterative: ClassVar[bool] = True
    monotone: ClassVar[bool] = True

    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True  # by SQUAREM steps
    clamp_gold: bool = False  # the classes of gold items are known

    def prepare(self, votes: Votes, engine: Engine | None, weights: ArrayLike | None) -> Prepared:
        """The votes as the loop sees them."""
        return prepare(votes, engine, weights, clamp_gold=self.clamp_gold)


@dataclass(frozen=True, kw_only=True)
class EmModel(EmSettings, Iterative):
    """A model that climbs from the votes alone, or from an earlier fit."""


@dataclass(frozen=True, kw_only=True)
class DrawnEmModel(EmSettings, Estimator):
    """A model that climbs from starts that `rng` draws, or from an earlier fit."""

    stochastic: ClassVar[bool] = True

    def fit(
        self,
        votes: Votes,
        *,
        rng: int | np.random.Generator,
        weights: ArrayLike | None = None,
        start: Fit | None = None,
        engine: Engine | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """The answer for these votes; `start` continues from an earlier fit instead of drawing."""
        prepared = self.prepare(votes, engine, weights)
        return self.fit_prepared(votes, prepared, start, progress, as_generator(rng))

    @abstractmethod
    def fit_prepared(
        self, votes: Votes, prepared: Prepared, start: Fit | None, progress: Progress | None, rng: np.random.Generator
    ) -> Fit:
        """The method's own part."""
