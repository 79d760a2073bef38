"""All that a reader sees, as plain data: text and JSON are made from it, so their numbers cannot differ."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from majorant import __version__
from majorant.agreement import Agreement
from majorant.answer.labels import LabelCounts
from majorant.answer.map import MapPanel
from majorant.answer.path import Path
from majorant.backend import Backend
from majorant.claims import Counts
from majorant.estimate.fit import Fit
from majorant.pipeline import Result
from majorant.report.certificate_summary import certificate_summary
from majorant.report.decision_summary import (
    accuracy_summary,
    alternative_summary,
    answer_summary,
    confidence_summary,
    confusions_summary,
    decision_summary,
    dependence_summary,
    flow_summary,
    review_summary,
    slice_summary,
    workers_summary,
)
from majorant.report.plain import plain
from majorant.report.plan import plan_summary
from majorant.report.theory import finite
from majorant.votes import Account

SCHEMA = 3  # rises when a field changes its meaning or goes
COEFFICIENTS = ("percent", "krippendorff", "krippendorff_ordinal", "fleiss", "cohen", "gwet")
PAIRS_SHOWN = 10
ABOUT = ("threshold", "order", "several")  # notes that say what all claims are about


def result_summary(
    result: Result, *, command: str | None = None, seed: int | None = None, with_map: bool = True
) -> dict[str, Any]:
    """The facts of a check, and how they were come by; without the map, which only pages and files show."""
    backend, outcome = result.backend, result.outcome
    moved = {"labels_changed": outcome.changed, "ties_settled": outcome.settled}
    switched = result.answer.rule == result.answer.other
    written = outcome.rule if switched else outcome.majority
    facts: dict[str, Any] = {
        "majorant": __version__,
        "schema": SCHEMA,
        "command": command,
        "versions": versions(),
        "level": result.level,
        "seed": seed,
        "tolerance": result.tolerance,
        "answer": answer_summary(result.answer),
        "input": account_summary(backend.votes.account),
        "votes": votes_summary(backend, result.counts),
        "agreement": agreement_summary(result.agreement, backend.votes.workers),
        "certificate": certificate_summary(result.certificate),
        "majority": labels_summary(result.majority, outcome.majority),
        "labels": {
            **labels_summary(result.fit, written),
            "changed": outcome.changed if switched else 0,
            "ties_settled": outcome.settled if switched else 0,
        },
        "accuracy": accuracy_summary(result),
        "decision": {**decision_summary(result.decision), **moved},
        "flow": flow_summary(outcome.flow_kl, backend.votes.labels),
        "gold": None if result.gold is None else asdict(result.gold),
        "confidence": confidence_summary(result.labels),
        "workers": {
            **workers_summary(backend.votes.workers, result.workers, result.worker_fit.method),
            "removal": None if result.removal is None else asdict(result.removal),
            "confusions": confusions_summary(backend.votes.workers, result.workers, result.worker_fit),
            "dependence": dependence_summary(result.certification.certificate.dependence),
        },
        "review": review_summary(result.reviewed),
        "plan": None if result.plan is None else plan_summary(result.plan),
        "map": map_summary(result.map if with_map else ()),
        "path": path_summary(result.path),
        "slices": [slice_summary(one) for one in result.slices],
        "comparison": [alternative_summary(one) for one in result.comparison],
    }
    if about := " ".join(note.text for note in backend.votes.account.notes if note.kind in ABOUT):
        facts["certificate"]["sentence"] = f"{about} {facts['certificate']['sentence']}"
        facts["answer"]["why"] = f"{facts['answer']['why']} {about}"
    if backend.whole is None:  # which of the items the others were learned from
        facts["sample"] = {"items": len(result.votes.items), "of": backend.votes.shape[0]}
    return facts


def versions() -> dict[str, str]:
    """What computed the numbers."""
    import platform

    import scipy

    return {
        "majorant": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def account_summary(account: Account) -> dict[str, Any]:
    """What became of the rows of the input."""
    return {
        "source": account.source,
        "format": account.format,
        "columns": dict(account.columns),
        "ignored": list(account.ignored),
        **{name: getattr(account, name) for name in ("rows", "votes", "abstained", "merged", "dropped", "repeats")},
        "notes": [{"kind": note.kind, "text": note.text} for note in account.notes],
    }


def votes_summary(backend: Backend, counts: Counts) -> dict[str, Any]:
    """How many votes there are, and how they spread over items, workers and labels."""
    votes_jl, (n_items, n_workers, n_classes) = counts.votes_jl, backend.votes.shape
    items_s = np.bincount(counts.patterns.votes_p, weights=counts.patterns.items_p).astype(np.int64)
    least, middle, most = np.quantile(votes_jl.sum(axis=1), [0, 0.5, 1]) if n_workers else (0, 0, 0)
    return {
        "votes": int(votes_jl.sum()),
        "items": n_items,
        "workers": n_workers,
        "classes": n_classes,
        "votes_per_item": [{"votes": int(s), "items": int(items_s[s])} for s in np.flatnonzero(items_s)],
        "votes_per_worker": {"least": int(least), "median": float(middle), "most": int(most)},
        "label_votes": [
            {"label": plain(label), "votes": int(n)}
            for label, n in zip(backend.votes.labels, votes_jl.sum(axis=0), strict=True)
        ],
    }


def agreement_summary(agreement: Agreement, workers: Sequence[Hashable]) -> dict[str, Any]:
    """Each coefficient with its interval, and the pairs of workers with the most items in common."""
    pairs = agreement.pairs
    rows = range(0) if pairs is None else np.argsort(-pairs.items_p, kind="stable")[:PAIRS_SHOWN]
    return {
        **{name: asdict(getattr(agreement, name)) for name in COEFFICIENTS},
        "classes": agreement.n_classes,
        "level": agreement.level,
        "items": agreement.n_items,
        "items_with_two_votes": agreement.n_paired,
        "intervals": agreement.resampling,
        "n_pairs": None if pairs is None else pairs.n_pairs,
        "pairs": [
            {
                "workers": [plain(workers[pairs.worker_a_p[p]]), plain(workers[pairs.worker_b_p[p]])],
                "items": int(pairs.items_p[p]),
                "agreed": float(pairs.agreed_p[p]),
                "cohen": float(pairs.kappa_p[p]) if pairs.defined_p[p] else None,
            }
            for p in rows
            if pairs is not None
        ],
    }


def labels_summary(fit: Fit, counts: LabelCounts) -> dict[str, Any]:
    """How many items got which label, and how many none."""
    return {
        "method": fit.method,
        "converged": fit.converged,
        "steps": fit.n_iter,
        "labelled": int(counts.items_k.sum()),
        "tied": counts.tied,
        "without_votes": counts.without_votes,
        "by_label": [
            {"label": plain(label), "items": int(n)} for label, n in zip(fit.label_values, counts.items_k, strict=True)
        ],
    }


def map_summary(panels: Sequence[MapPanel]) -> list[dict[str, Any]]:
    """The planes of the map; lines as two lists."""
    return [
        {
            "title": panel.title,
            "x_name": panel.x_name,
            "y_name": panel.y_name,
            "point": list(panel.point),
            "point_margin": finite(panel.point_margin),
            "note": panel.note,
            "model": {
                "prior": list(panel.prior),
                "confusion": [list(row) for row in panel.confusion],
                "votes": panel.n_votes,
            },
            "optimal": _line(panel.optimal),
            "region": None if panel.region is None else _line(panel.region),
        }
        for panel in panels
    ]


def path_summary(path: Path) -> dict[str, Any]:
    """The questions, both answers, the one given, and where it all ends."""
    return {"steps": [asdict(step) for step in path.steps], "end": path.end, "outcome": path.outcome}


def _line(line: tuple[tuple[float, ...], tuple[float, ...]]) -> dict[str, list[float]]:
    return {"x": list(line[0]), "y": list(line[1])}
