"""The line on votes in a Spark frame: counts, certificate, labels and workers, by the code that runs in memory.

What adds up over items is exact and equals what the votes would give in memory: counts, the claim about rules that
ignore who voted, every method here, the accuracy of workers.  What looks at pairs of workers or refits hundreds of
times looks at a random sample of the items, as it does in memory where there are very many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from majorant.blocks import in_memory
from majorant.certify.certificate import Certificate
from majorant.certify.gold.cells import GoldCells, cells_of, gold_rows
from majorant.certify.named.claim import typical
from majorant.claims import Inquiry, Material, inquire_from, sampled_items
from majorant.decide.labels import label_table
from majorant.decide.workers import Workers, WorkerSums, worker_sums, worker_table, workers_from
from majorant.engines.counting import merged_patterns
from majorant.engines.spark.engine import Rows, ship
from majorant.engines.spark.frames import Columns, encode
from majorant.engines.spark.pack import PACKED, Places, blocks_of, mapped, votes_of, without_gold
from majorant.engines.spark.votes import SparkVotes
from majorant.errors import ConfigError
from majorant.estimate import ESTIMATORS, Estimator, Fit
from majorant.estimate.fit import Ties
from majorant.interval import as_level
from majorant.kernels import Block, FloatArray
from majorant.randomness import as_generator
from majorant.tally import Patterns, counts, distinct_counts, two_class_histograms, votes_by_worker
from majorant.votes import IntArray, Votes

MOST_SAMPLED = 5_000_000  # votes that the driver takes for claims about workers, however few each worker gave
NOT_HERE = {  # distributed methods that keep a number for each item at the driver, or need more than votes
    "map": "needs confusion matrices",
    "anchor-map": "needs gold labels",
    "weighted-majority": "needs gold labels",
    "glad": "keeps the difficulty of every item at the driver",
    "shared": "keeps the pattern of every item at the driver",
}


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


def tally(votes: Any, columns: Columns | None = None, **settings: Any) -> SparkTally:
    """Counts of a frame of votes, or of votes that are encoded."""
    known = as_votes(votes, columns, settings)
    patterns = count_patterns(known)
    return SparkTally(
        patterns=patterns,
        histograms=two_class_histograms(patterns) if len(known.labels) <= 2 else None,
        votes_jl=known.engine.map_sum(_worker_counts),
        workers=known.workers,
        labels=known.labels,
    )


def certify(
    votes: Any, columns: Columns | None = None, *, level: float = 0.95, rng: int | np.random.Generator, **settings: Any
) -> Certificate:
    """Is majority vote optimal for these votes?  Every claim that they can bear, at one level."""
    return inquire(as_votes(votes, columns, settings), level=level, rng=rng).certificate


def inquire(votes: SparkVotes, *, level: float = 0.95, rng: int | np.random.Generator) -> Inquiry:
    """The certificate together with what it was made from."""
    as_level(level)
    generator = as_generator(rng)
    some = votes.take_items(sample(votes, rng=generator))
    two_classes = len(votes.labels) == 2
    material = Material(
        histograms=two_class_histograms(count_patterns(votes)) if two_classes else None,
        sample=some,
        n_items=votes.shape[0],
        gold=count_gold(votes),
    )
    return inquire_from(material, level=level, rng=generator)


def sample(votes: SparkVotes, *, rng: np.random.Generator) -> IntArray:
    """The codes of the items that claims about workers look at: all, or a random sample where there are very many."""
    n_items, _, n_classes = votes.shape
    votes_j = votes.engine.map_sum(_worker_counts).sum(axis=1)
    chosen = sampled_items(n_items, votes.n_votes, n_classes, typical(votes_j.astype(float)), rng=rng)
    n_most = round(MOST_SAMPLED / max(votes.n_votes / n_items, 1.0))
    if (n_items if chosen is None else len(chosen)) <= n_most:
        return np.arange(n_items) if chosen is None else chosen
    return np.sort(rng.choice(n_items, n_most, replace=False))


def aggregate(
    votes: Any,
    method: str | Estimator = "majority",
    columns: Columns | None = None,
    *,
    rng: int | None = None,
    ties: Ties = "flag",
    progress: Any = None,
    **settings: Any,
) -> SparkFit:
    """The fit of a method that runs on blocks, by name or with its settings; its labels are a frame, a row an item."""
    refuse_method(method if isinstance(method, str) else method.name)
    known = as_votes(votes, columns, settings)
    estimator = ESTIMATORS[method]() if isinstance(method, str) else method
    more: dict[str, Any] = {"rng": rng} if estimator.stochastic else {}
    if estimator.iterative and progress is not None:
        more["progress"] = progress
    # Given an engine, estimators ask votes for their shape, names and counts alone, and SparkVotes has these.
    fit = estimator.fit(cast("Votes", known), engine=known.engine, **more)
    return SparkFit(fit=fit, labels=label_frame(known, fit, ties=ties, rng=rng), workers=known.workers)


def refuse_method(method: str) -> None:
    """Refuse a method that is unknown, or that does not run on a cluster, with those that do."""
    if method in methods():
        return
    if method not in ESTIMATORS:
        raise ConfigError(f"There is no method {method!r}. On Spark choose one of: {', '.join(methods())}.")
    why = NOT_HERE.get(method, "needs all votes in memory")
    raise ConfigError(f"{method} {why}, so it does not run on Spark. Choose one of: {', '.join(methods())}.")


def methods() -> list[str]:
    """The methods that run on Spark."""
    return [name for name, one in ESTIMATORS.items() if one.distributed and name not in NOT_HERE]


def workers(
    votes: Any,
    method: str | Estimator = "hierarchical",
    columns: Columns | None = None,
    *,
    level: float = 0.95,
    **settings: Any,
) -> Any:
    """How good each worker is, as a frame with a row for each: accuracy with its interval, agreement, flags."""
    import pyarrow as pa

    known = as_votes(votes, columns, settings)
    fit = aggregate(known, method, rng=0).fit
    judged = assess(known, fit, level=level)
    table = worker_table(cast("Votes", known), fit, judged)
    arrays = {name: pa.array(values, from_pandas=True) for name, values in table.items()}
    return known.frame.sparkSession.createDataFrame(pa.table(arrays))


def assess(votes: SparkVotes, fit: Fit, *, level: float) -> Workers:
    """Accuracy and agreement of each worker from all votes; habits and twins from the sample of items."""
    of_block = rows_of(fit)
    total = votes.engine.map_sum(partial(_block_sums, replace(fit, trace=()), of_block))
    some = votes.take_items(sample(votes, rng=np.random.default_rng(0)))
    posterior_ik = in_memory(some).rows(of_block)
    return workers_from(total, some, replace(fit, posterior=posterior_ik, votes_i=some.votes_i), level=level)


def count_patterns(votes: SparkVotes) -> Patterns:
    """The distinct rows of counts, and how many items have each."""
    return merged_patterns(Patterns(*part) for part in votes.engine.map_blocks(partial(_block_patterns, counts)))


def count_gold(votes: SparkVotes) -> GoldCells | None:
    """Gold labels by count cell, None where no item with a vote has one."""
    if not votes.places.has_gold:
        return None
    parts = votes.engine.map_blocks(partial(_block_patterns, gold_rows), gold=True)
    rows = merged_patterns(Patterns(*part) for part in parts)
    known = (rows.counts_pk[:, -1] > 0) & (rows.counts_pk[:, :-1].sum(axis=1) > 0)
    return cells_of(rows) if known.any() else None


def label_frame(
    votes: SparkVotes,
    fit: Fit,
    *,
    ties: Ties = "flag",
    rng: int | None = None,
    calibrated: Callable[[Fit], Fit] | None = None,
) -> Any:
    """The labels as a frame, with the columns of labels.csv; nothing is computed before it is asked for.

    `calibrated` gives the fit of a block with the confidence that it should show.
    """
    from pyspark.sql import types as T

    packed, kind = votes.frame.select(*PACKED, "names"), _kind(votes.labels)
    spark_type = {"string": T.StringType, "int64": T.LongType, "double": T.DoubleType, "bool": T.BooleanType}
    kinds = label_kinds(kind)
    item = T.StructField("item", votes.frame.schema["names"].dataType.elementType)
    schema = T.StructType([item, *(T.StructField(name, spark_type[one]()) for name, one in kinds.items())])
    values = tuple(str(v) for v in votes.labels) if kind == "string" else votes.labels
    told = replace(fit, label_values=values, confusion=None, skill=None, learned={}, online=None)
    sent = ship(votes.frame, partial(_block_labels, told, rows_of(fit), ties, rng, calibrated))
    return mapped(packed, partial(_label_rows, sent, votes.places, kind), schema)


def label_kinds(kind: str) -> dict[str, str]:
    """The type of each column of labels beside the item; `kind` is that of a label."""
    named = {"label": kind, "confidence": "double", "runner_up": kind, "margin": "double"}
    return {**named, "votes": "int64", "tied": "bool", "changed": "string"}


def as_votes(votes: Any, columns: Columns | None, settings: dict[str, Any]) -> SparkVotes:
    """Encoded votes, made from a frame unless they are."""
    if not isinstance(votes, SparkVotes):
        return encode(votes, columns, **settings)
    if columns is not None or settings:
        raise ConfigError("These votes are encoded already: columns and settings belong to encode.")
    return votes


def rows_of(fit: Fit) -> Any:
    """The function that gives the probabilities of a block's items."""
    assert isinstance(fit.posterior, Rows), fit.method
    return fit.posterior.of_block


def _worker_counts(block: Block) -> NDArray[np.int64]:
    return votes_by_worker(votes_of(block))


def _block_patterns(rows: Any, block: Block) -> tuple[IntArray, IntArray]:
    found = distinct_counts(rows(votes_of(block)))
    return found.counts_pk, found.items_p


def fit_of(fit: Fit, posterior_ik: FloatArray, block: Block) -> Fit:
    """The fit of the items of a block."""
    return replace(fit, posterior=posterior_ik, votes_i=np.diff(block.matrix.indptr))


def _block_sums(fit: Fit, of_block: Any, block: Block) -> WorkerSums:
    return worker_sums(votes_of(block), fit_of(fit, of_block(block), block))


def _block_labels(
    fit: Fit, of_block: Any, ties: Ties, rng: int | None, calibrated: Callable[[Fit], Fit] | None, block: Block
) -> dict[str, Any]:
    generator = None if rng is None else np.random.default_rng([rng, block.index])
    part = fit_of(fit, of_block(block), block)
    return label_table(votes_of(block), part if calibrated is None else calibrated(part), ties=ties, rng=generator)


def _label_rows(sent: Any, places: Places, kind: str, batches: Iterator[Any]) -> Iterator[Any]:
    """On a worker: the labels of each block."""
    import pyarrow as pa

    fn = None
    for batch in batches:
        fn = fn or sent()
        for row, block in enumerate(blocks_of(batch, places)):
            table = fn(without_gold(block))
            kinds = label_kinds(kind)
            columns = {name: pa.array(table[name], pa.type_for_alias(kinds[name]), from_pandas=True) for name in kinds}
            yield pa.record_batch({"item": batch.column("names")[row].values, **columns})


def _kind(labels: tuple[Any, ...]) -> str:
    """The type of a column of labels; labels of several types are written as text."""
    kinds = {type(label) for label in labels}
    if kinds == {int, float}:
        return "double"
    known = {str: "string", int: "int64", float: "double", bool: "bool"}
    return known.get(kinds.pop(), "string") if len(kinds) == 1 else "string"
