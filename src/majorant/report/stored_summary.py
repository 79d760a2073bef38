"""The facts of a check of stored votes: those of the sample, and in their place those of all votes where there are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from majorant.blocks import add_up
from majorant.decide.review import review_table
from majorant.decide.workers import worker_table
from majorant.engines.spill import Report, silent
from majorant.engines.store import StoredVotes
from majorant.estimate.fit import Fit
from majorant.estimate.majority import Majority
from majorant.output import make_folder, write_files
from majorant.report.decision_summary import flow_counts, review_rows
from majorant.report.html import render
from majorant.report.summary import (
    account_summary,
    counts_summary,
    label_counts,
    labels_counted,
    labels_from,
    result_summary,
)
from majorant.report.text import to_json
from majorant.report.workers_summary import confusions_summary, workers_summary
from majorant.stored import StoredResult, fit_parts, label_tables, parts
from majorant.votes import Votes


def stored_summary(
    stored: StoredVotes, found: StoredResult, *, command: str | None = None, seed: int | None = None
) -> dict[str, Any]:
    """The same fields as of a check in memory, and `sample`: which of the items the others were learned from."""
    summary = result_summary(found.sample, command=command, seed=seed)
    items_s = np.bincount(found.patterns.votes_p, weights=found.patterns.items_p).astype(np.int64)
    return {**summary, **_labels(stored, found, summary), **_workers(stored, found, summary),
        "input": account_summary(stored.account),
        "votes": counts_summary(stored.shape, items_s, found.votes_jl, stored.labels),
        "review": review_rows(found.reviewed, found.reviewed_fit, found.review),
        "sample": {"items": len(found.sample.votes.items), "of": len(stored.items)},
    }  # fmt: skip


def stored_labels_summary(stored: StoredVotes, fit: Fit) -> dict[str, Any]:
    """How many items got which label, and how many none."""
    return labels_from(fit, add_up(label_counts(part) for part in fit_parts(stored, fit)))


def _labels(stored: StoredVotes, found: StoredResult, summary: dict[str, Any]) -> dict[str, Any]:
    """Labels of majority vote and of the rule, and how the one goes over into the other, counted over all items."""

    def counts() -> Any:
        for votes, part in parts(stored, found.fit):
            majority = Majority().fit(votes)
            yield label_counts(majority), label_counts(part), flow_counts(majority, part)

    majority, chosen, flow = add_up(counts())
    return labels_counted(summary, found.sample.majority, found.fit, (majority, chosen, flow))


def _workers(stored: StoredVotes, found: StoredResult, summary: dict[str, Any]) -> dict[str, Any]:
    """Who is good, from all votes; what removing the flagged would change only where the sample is all of them."""
    votes, workers = found.sample.votes, found.workers
    sampled = len(votes.items) < len(stored.items)
    return {
        "workers": {
            **summary["workers"],
            **workers_summary(votes, workers, found.fit.method),
            "confusions": confusions_summary(votes, workers, found.worker_fit),
            "removal": None if sampled else summary["workers"]["removal"],
        }
    }


def write_stored_result(
    stored: StoredVotes,
    found: StoredResult,
    summary: dict[str, Any],
    folder: str | os.PathLike[str],
    *,
    report: Report = silent,
) -> list[Path]:
    """Write labels.csv, workers.csv, review.csv, result.json and report.html, all or none; the labels in a stream."""
    place = make_folder(folder)
    votes: Votes = found.sample.votes
    return write_files(
        {
            place / "labels.csv": label_tables(stored, found.fit, calibrated=found.calibrated, report=report),
            place / "workers.csv": worker_table(votes, found.worker_fit, found.workers),
            place / "review.csv": review_table(found.reviewed, found.reviewed_fit, found.review),
            place / "result.json": to_json(summary),
            place / "report.html": render(summary),
        }
    )
