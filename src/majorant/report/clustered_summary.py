"""The facts of a check of votes in a Spark frame: those of the sample, and in their place those of all votes."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from majorant.clustered import ClusterResult
from majorant.decide.workers import worker_table
from majorant.engines.spark.lines import fit_of, rows_of
from majorant.engines.spark.pack import votes_of
from majorant.engines.spark.votes import SparkVotes
from majorant.errors import ConfigError
from majorant.estimate.fit import Fit
from majorant.estimate.majority import Majority
from majorant.kernels import Block
from majorant.output import make_folder, write_files
from majorant.report.decision_summary import flow_counts
from majorant.report.summary import account_summary, counts_summary, label_counts, labels_counted, result_summary
from majorant.report.text import to_json
from majorant.report.workers_summary import confusions_summary, workers_summary


def clustered_summary(
    votes: SparkVotes, found: ClusterResult, *, command: str | None = None, seed: int | None = None
) -> dict[str, Any]:
    """The same fields as of a check in memory, and `sample`: which of the items the others were learned from."""
    summary = result_summary(found.sample, command=command, seed=seed)
    items_s = np.bincount(found.patterns.votes_p, weights=found.patterns.items_p).astype(np.int64)
    some = found.sample.votes
    workers = {
        **workers_summary(some, found.workers, found.fit.method),
        "confusions": confusions_summary(some, found.workers, found.worker_fit),
    }
    return {
        **summary,
        **_labels(votes, found, summary),
        "workers": {**summary["workers"], **workers},
        "input": account_summary(votes.account),
        "votes": counts_summary(votes.shape, items_s, _votes_jl(found), votes.labels),
        "sample": {"items": len(some.items), "of": votes.shape[0]},
    }


def _votes_jl(found: ClusterResult) -> Any:
    share_jl = np.nan_to_num(found.workers.label_share_jl)
    return np.rint(share_jl * found.workers.votes_j[:, None]).astype(np.int64)


def _labels(votes: SparkVotes, found: ClusterResult, summary: dict[str, Any]) -> dict[str, Any]:
    """Labels of majority vote and of the rule, and how the one goes over into the other, counted over all items."""
    told = replace(found.fit, confusion=None, skill=None, learned={}, trace=())
    majority, chosen, flow = votes.engine.map_sum(partial(_block_counts, told, rows_of(found.fit)))
    return labels_counted(summary, found.sample.majority, found.fit, (majority, chosen, flow))


def _block_counts(fit: Fit, of_block: Any, block: Block) -> Any:
    majority, part = Majority().fit(votes_of(block)), fit_of(fit, of_block(block), block)
    return label_counts(majority), label_counts(part), flow_counts(majority, part)


def write_clustered_result(
    votes: SparkVotes, found: ClusterResult, summary: dict[str, Any], folder: str | os.PathLike[str]
) -> list[Path]:
    """Write labels.parquet, a folder that Spark fills, then workers.csv and result.json, both or neither."""
    place = make_folder(folder)
    labels = place / "labels.parquet"
    if labels.is_file():
        raise ConfigError(f"Cannot write {labels}: it is a file, and Spark writes a folder. Move it away.")
    found.labels.write.mode("overwrite").parquet(str(labels))
    some = replace(found.sample.votes, workers=votes.workers)
    files = write_files(
        {
            place / "workers.csv": worker_table(some, found.worker_fit, found.workers),
            place / "result.json": to_json(summary),
        }
    )
    return [labels, *files]
