"""Votes in a Spark frame: counts, certificate, labels and workers, by the code that runs in memory.

`pip install 'majorant[spark]'`, Java 17, and a frame with a row for each vote.

What adds up over items is exact and equals what the votes would give in memory: counts, the claim about rules that
ignore who voted, every method here, the accuracy of workers.  What looks at pairs of workers or refits hundreds of
times looks at a random sample of the items, as it does in memory where there are very many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.backend.spark.backend import SparkBackend, SparkVotes, label_frame
from majorant.backend.spark.reading import Columns, encode
from majorant.backend.spark.session import spark_session
from majorant.defaults import LEVEL, WORKER_METHOD
from majorant.errors import ConfigError
from majorant.evidence.certificate.certificate import Certificate
from majorant.evidence.certificate.claims import certification, whole_or_sample
from majorant.methods import ESTIMATORS, Estimator, Fit
from majorant.methods.fit import Ties
from majorant.results.labels import label_table
from majorant.results.workers import assess_workers
from majorant.tally import Patterns, two_class_histograms
from majorant.votes import IntArray, Votes

__all__ = [
    "Columns",
    "SparkFit",
    "SparkTally",
    "SparkVotes",
    "aggregate",
    "certify",
    "encode",
    "methods",
    "spark_session",
    "tally",
    "workers",
]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SparkTally:
    """What counting says about votes in a frame."""

    patterns: Patterns
    histograms: dict[int, IntArray] | None  # two classes
    votes_jl: NDArray[np.int64]
    workers: tuple[Any, ...]
    labels: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SparkFit:
    """A fit on the cluster: what it learned is here, the labels stay there as a frame."""

    fit: Fit  # posterior and votes_i are `Rows`, not arrays
    labels: Any  # item, label, confidence, runner_up, margin, votes, tied, changed: computed when they are asked for
    workers: tuple[Any, ...]


def methods() -> list[str]:
    """The methods that run on Spark."""
    return [name for name in ESTIMATORS if not SparkBackend.why_not(name)]


def tally(votes: Any, columns: Columns | None = None, **settings: Any) -> SparkTally:
    """Counts of a frame of votes, or of votes that are encoded."""
    known = as_votes(votes, columns, settings)
    backend = SparkBackend(known)
    patterns = backend.patterns()
    return SparkTally(
        patterns=patterns,
        histograms=two_class_histograms(patterns) if len(known.labels) <= 2 else None,
        votes_jl=backend.votes_by_worker(),
        workers=known.workers,
        labels=known.labels,
    )


def certify(
    votes: Any, columns: Columns | None = None, *, level: float = LEVEL, rng: int | np.random.Generator, **settings: Any
) -> Certificate:
    """Is majority vote optimal for these votes?  Every claim that they can bear, at one level."""
    return certification(SparkBackend(as_votes(votes, columns, settings)), level=level, rng=rng).certificate


def aggregate(
    votes: Any,
    method: str | Estimator = "majority",
    columns: Columns | None = None,
    *,
    rng: int = 0,
    ties: Ties = "flag",
    progress: Any = None,
    **settings: Any,
) -> SparkFit:
    """The fit of a method that runs on blocks, by name or with its settings; its labels are a frame, a row an item."""
    backend = SparkBackend(known := as_votes(votes, columns, settings))
    backend.refuse(method if isinstance(method, str) else method.name)
    fit = backend.fit_with(ESTIMATORS[method]() if isinstance(method, str) else method, progress)
    return SparkFit(fit=fit, labels=label_frame(known, [fit], partial(_labels, ties, rng)), workers=known.workers)


def _labels(ties: Ties, rng: int, votes: Votes, fit: Fit) -> dict[str, Any]:
    """The labels of a block."""
    return label_table(votes, fit, ties=ties, rng=rng)


def workers(
    votes: Any,
    method: str | Estimator = WORKER_METHOD,
    columns: Columns | None = None,
    *,
    level: float = LEVEL,
    **settings: Any,
) -> Any:
    """How good each worker is, as a frame with a row for each: accuracy with its interval, agreement, flags."""
    import pyarrow as pa

    known = as_votes(votes, columns, settings)
    fit, backend = aggregate(known, method, rng=0).fit, SparkBackend(known)
    judged = assess_workers(backend, fit, *whole_or_sample(backend, rng=np.random.default_rng(0)), level=level)
    table = judged.table()
    arrays = {name: pa.array(values, from_pandas=True) for name, values in table.items()}
    return known.session.createDataFrame(pa.table(arrays))


def as_votes(votes: Any, columns: Columns | None, settings: dict[str, Any]) -> SparkVotes:
    """Encoded votes, made from a frame unless they are."""
    if not isinstance(votes, SparkVotes):
        return encode(votes, columns, **settings)
    if columns is not None or settings:
        raise ConfigError("These votes are encoded already: columns and settings belong to encode.")
    return votes
